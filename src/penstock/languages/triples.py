"""Triples to triple patterns (SPARQL 1.1, sections 4.2 and 18.2.2)."""

from __future__ import annotations

from itertools import groupby

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.facts import placed
from penstock.languages.paths import PathTranslator, verbs_and_objects
from penstock.languages.text import tokens_of
from penstock.terms import RDF, BlankNode

UNIT = a.BGP(())


def join(left: a.Pattern, right: a.Pattern) -> a.Pattern:
    """Join, without the unit."""
    if left == UNIT:
        return right
    return left if right == UNIT else a.Join(left, right)


class Block:
    """A basic graph pattern in the making: the scope of its blank node labels."""

    def __init__(self) -> None:
        self.parts: list[a.TriplePattern | a.PathPattern] = []

    def pattern(self) -> a.Pattern:
        """Adjacent triples make one BGP; a path that is left stands on its own (18.2.2.5)."""
        result: a.Pattern = UNIT
        for plain, parts in groupby(self.parts, lambda part: isinstance(part, a.TriplePattern)):
            if plain:
                result = join(result, a.BGP(tuple(parts)))
            else:
                for path in parts:
                    result = join(result, path)
        return result


class TripleTemplate(Block):
    """The triples of CONSTRUCT: blank nodes stay blank nodes, and paths are refused."""

    def __init__(self, tree: Tree | None) -> None:
        super().__init__()
        tokens = tokens_of(tree) if tree is not None else ()
        self._taken = {t[2:] for t in tokens if t.type == "BLANK_NODE_LABEL"}
        self._count = 0

    def anonymous(self) -> BlankNode:
        while True:
            self._count += 1
            if f"b{self._count}" not in self._taken:
                return BlankNode(f"b{self._count}")


class TripleTranslator(PathTranslator):
    """Triples with their abbreviations: `;`, `,`, `[ … ]`, `( … )` and paths."""

    def __init__(self, *args, **keywords) -> None:
        super().__init__(*args, **keywords)
        self._blank_home: dict[str, Block] = {}

    def triples_block(self, tree: Tree, block: Block) -> None:
        for triples in tree.children:
            subject_node, *properties = triples.children
            subject = self._head(subject_node, block)
            self._describe(subject, subject_node, block)
            if properties:
                self._property_list(subject, properties[0], block, subject_node)

    def _property_list(
        self, subject: a.TermOrVar, tree: Tree, block: Block, subject_node: Tree | Token | None = None
    ) -> None:
        begin = subject_node
        for verb, objects in verbs_and_objects(tree):
            for node in objects:
                object_ = self._head(node, block)
                already = len(block.parts)
                self._link(subject, verb, object_, block)
                span = self.source.span(_start(begin or verb), _end(node))
                for part in block.parts[already:]:
                    placed(part, span)
                self._describe(object_, node, block)
                begin = None

    def _head(self, node: Tree | Token, block: Block) -> a.TermOrVar:
        """The term that a node of a triple stands for."""
        if isinstance(node, Tree):
            if node.data == "rdf_literal":
                return self.constant(node)
            return self._anonymous(block)
        if node.type == "VAR":
            return self.var(node)
        if node.type == "ANON":
            return self._anonymous(block)
        if node.type == "BLANK_NODE_LABEL":
            return self._labelled(node, block)
        return self.constant(node)

    def _describe(self, head: a.TermOrVar, node: Tree | Token, block: Block) -> None:
        """The triples inside `[ … ]` and `( … )`."""
        if not isinstance(node, Tree):
            return
        if node.data == "blank_node_property_list":
            self._property_list(head, node.children[0], block)
        elif node.data == "collection":
            last = len(node.children) - 1
            for index, item in enumerate(node.children):
                value = self._head(item, block)
                block.parts.append(a.TriplePattern(head, RDF.first, value))
                self._describe(value, item, block)
                rest = RDF.nil if index == last else self._anonymous(block)
                block.parts.append(a.TriplePattern(head, RDF.rest, rest))
                head = rest

    def _anonymous(self, block: Block) -> a.TermOrVar:
        return block.anonymous() if isinstance(block, TripleTemplate) else self.fresh("b")

    def _labelled(self, token: Token, block: Block) -> a.TermOrVar:
        self.names.check_name(token)
        label = str(token[2:])
        if isinstance(block, TripleTemplate):
            return BlankNode(label)
        if self._blank_home.setdefault(label, block) is not block:
            raise self.source.error(
                f"the blank node {token} is used in two different basic graph patterns",
                token,
                "a blank node label holds for one group of triples only; use a variable instead",
            )
        return a.Var(f".b_{label}")

    # --- paths ----------------------------------------------------------------------------

    def _link(self, subject: a.TermOrVar, verb: Tree | Token, object_: a.TermOrVar, block: Block) -> None:
        if isinstance(verb, Token):
            predicate = self.var_or_iri(verb)
            block.parts.append(a.TriplePattern(subject, predicate, object_))
        elif isinstance(block, TripleTemplate):
            raise self.source.error(
                "a property path cannot stand in a template",
                verb,
                "a template says which triples to make: write one triple for each step",
            )
        else:
            path = self.path(verb)
            if a.is_nested(path):
                block.parts.append(a.PathPattern(subject, path, object_))
            else:
                self._path_triples(subject, path, object_, block)

    def _path_triples(self, subject: a.TermOrVar, path: a.Path, object_: a.TermOrVar, block: Block) -> None:
        """Section 18.2.2.4: links and sequences become triples with fresh variables."""
        match path:
            case a.Sequence():
                steps = _steps(path)
                here = subject
                for step in steps[:-1]:
                    there = self.fresh("p")
                    self._path_triples(here, step, there, block)
                    here = there
                self._path_triples(here, steps[-1], object_, block)
            case a.Inverse(path=inner) if not isinstance(inner, _COMPLEX_PATHS):
                block.parts.append(a.TriplePattern(object_, inner, subject))
            case _ if isinstance(path, _COMPLEX_PATHS):
                block.parts.append(a.PathPattern(subject, path, object_))
            case _:
                block.parts.append(a.TriplePattern(subject, path, object_))


_COMPLEX_PATHS = (
    a.Inverse,
    a.Sequence,
    a.Alternative,
    a.ZeroOrMore,
    a.OneOrMore,
    a.ZeroOrOne,
    a.NegatedSet,
)


def _start(node: Tree | Token) -> int:
    return node.start_pos if isinstance(node, Token) else node.meta.start_pos


def _end(node: Tree | Token) -> int:
    return node.end_pos if isinstance(node, Token) else node.meta.end_pos


def _steps(path: a.Path) -> list[a.Path]:
    """The parts of a sequence path, in their order."""
    steps: list[a.Path] = []
    waiting = [path]
    while waiting:
        part = waiting.pop()
        if isinstance(part, a.Sequence):
            waiting += (part.right, part.left)
        else:
            steps.append(part)
    return steps

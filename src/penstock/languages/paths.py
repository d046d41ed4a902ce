"""Property paths with axes and tests to path expressions (SPARQL 1.1, section 9; decision 0014)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced
from penstock.languages.leaves import TermTranslator, number
from penstock.terms import RDF, XSD, Literal, Term

_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]-?[0-9]+)?")
_NO_VARIABLES = (
    "a path is free of variables; what is to be bound stands in triples of its own, "
    "with a variable for the node between two paths"
)


def verbs_and_objects(tree: Tree) -> Iterator[tuple[Tree | Token, list[Tree | Token]]]:
    """The verbs of a property list, each with its objects; a bracket that no object follows is one."""
    children = iter(tree.children)
    for verb in children:
        if isinstance(verb, Tree) and verb.data == "path_to_node":
            path, *others = verb.children
            path, bracket = _parted(path)
            yield path, [bracket, *others]
        else:
            yield verb, next(children).children


def _parted(path: Tree) -> tuple[Tree | Token, Tree]:
    """A path that ends in a bracket, without it; and the bracket."""
    way = []
    while path.data != "path_element_to":
        way.append(path)
        path = path.children[-1]
    rest, bracket = path.children
    for around in reversed(way):
        rest = Tree(around.data, [*around.children[:-1], rest], around.meta)
    return rest, bracket


class PathTranslator(TermTranslator):
    """Path expressions (18.2.2.3), and what decision 0014 adds."""

    def path(self, node: Tree | Token) -> a.Path:
        if isinstance(node, Token):
            return self.iri(node)
        children = node.children
        match node.data:
            case "alternative_path":
                return balanced(self._paths(node), a.Alternative)
            case "sequence_path":
                return balanced(self._paths(node), a.Sequence)
            case "inverse_path":
                return a.Inverse(self.path(children[0]))
            case "zero_or_more_path":
                return a.ZeroOrMore(self.path(children[0]))
            case "one_or_more_path":
                return a.OneOrMore(self.path(children[0]))
            case "zero_or_one_path":
                return a.ZeroOrOne(self.path(children[0]))
            case "axis":
                return self._axis(node)
            case "path_test":
                return a.Nested("self", self._test(node))
            case "tested_path":
                return a.Sequence(self.path(children[0]), a.Nested("self", self._test(children[1])))
            case _:
                return self._negated_set(node)

    def _paths(self, tree: Tree) -> list[a.Path]:
        """The parts of `p/q/…` or `p|q|…`, which the grammar nests to the left."""
        parts = []
        node: Tree | Token = tree
        while isinstance(node, Tree) and node.data == tree.data:
            parts.append(self.path(node.children[1]))
            node = node.children[0]
        return [self.path(node), *reversed(parts)]

    def _negated_set(self, tree: Tree) -> a.NegatedSet:
        members = [child for child in tree.children if getattr(child, "type", None) != "NIL"]
        forward = tuple(self.iri(child) for child in members if isinstance(child, Token))
        backward = tuple(self.iri(c.children[0]) for c in members if isinstance(c, Tree))
        return a.NegatedSet(forward if forward or not backward else None, backward or None)

    # --- axes -------------------------------------------------------------------------------

    def _axis(self, tree: Tree) -> a.Path:
        token, *others = tree.children
        axis, colons, name = token.partition("::")
        if colons and axis in self.names.prefixes:
            raise self.source.error(
                f"{axis}:: is an axis, and {axis}: is declared as a prefix",
                token,
                f"give the prefix another name; or write the name {axis}:… that was meant as an IRI in full",
            )
        axis, _, inverse = axis.partition("-")
        if others and isinstance(others[0], Tree) and others[0].data == "path_test":
            step: a.Path = a.Nested(axis, self._test(others[0]))
        elif others:
            [node] = others
            is_a = isinstance(node, Token) and node.type == "A"
            step = a.Axis(axis, RDF.type if is_a else self.constant(node))
        else:
            step = a.Axis(axis, self._named(token, name) if name else None)
        return a.Inverse(step) if inverse else step

    def _named(self, token: Token, name: str) -> Term:
        """What is written behind `axis::`, where that is no IRI in full and no quoted literal."""
        if name == "a":
            return RDF.type
        if name in ("true", "false"):
            return Literal(name, datatype=XSD.boolean)
        if _NUMBER.fullmatch(name):
            return number(name)
        text = name if ":" in name else f":{name}"
        start = token.end_pos - len(name)
        within = Token("PNAME_LN", text, start, token.line, end_pos=token.end_pos)
        return self.names.iri(within)

    # --- tests ------------------------------------------------------------------------------

    def _test(self, tree: Tree) -> a.Path:
        """The path of a test: of `[path]`, or of `[path object; …]`."""
        [inner] = tree.children
        if isinstance(inner, Tree) and inner.data == "blank_node_property_list":
            return self._conditions(inner)
        return self.path(inner)

    def _conditions(self, tree: Tree) -> a.Path:
        """`path object; …`: all of these conditions, as one path that can begin where they hold."""
        conditions = []
        for verb, objects in verbs_and_objects(tree.children[0]):
            if isinstance(verb, Token) and verb.type == "VAR":
                raise self.source.error("a test in a path cannot have a variable", verb, _NO_VARIABLES)
            path = self.path(verb)
            conditions += [self._condition(path, node) for node in objects]
        if len(conditions) == 1:
            return conditions[0]
        return balanced([a.Nested("self", each) for each in conditions], a.Sequence)

    def _condition(self, path: a.Path, node: Tree | Token) -> a.Path:
        if isinstance(node, Tree) and node.data == "blank_node_property_list":
            return a.Sequence(path, a.Nested("self", self._conditions(node)))
        if isinstance(node, Tree) and node.data == "collection":
            raise self.source.error(
                "a list cannot stand in a test of a path",
                node,
                "follow rdf:rest and rdf:first: [:p/rdf:rest*/rdf:first :member]",
            )
        if isinstance(node, Token) and node.type == "ANON":
            return path
        if isinstance(node, Token) and node.type in ("VAR", "BLANK_NODE_LABEL"):
            kind = "a variable" if node.type == "VAR" else "a blank node label"
            raise self.source.error(f"a test in a path cannot have {kind}", node, _NO_VARIABLES)
        return a.Sequence(path, a.Axis("self", self.constant(node)))

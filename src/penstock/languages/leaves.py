"""Leaves of the syntax tree to terms: variables, IRIs, literals."""

from __future__ import annotations

import re
from collections import Counter

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.facts import placed
from penstock.languages.names import Names
from penstock.languages.text import QueryText
from penstock.terms import RDF, XSD, Literal, NamedNode

_STRING_ESCAPE = re.compile(r"\\(.)", re.S)
_STRING_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}

IRI_TOKENS = ("IRIREF", "PNAME_LN", "PNAME_NS")


class TermTranslator:
    """The leaves of the syntax tree; the base of the translation to the algebra."""

    def __init__(self, source: QueryText, names: Names) -> None:
        self.source = source
        self.names = names
        self._fresh: Counter[str] = Counter()

    def fresh(self, kind: str) -> a.Var:
        """A new hidden variable: `.p1`, `.p2`, … for kind `p`."""
        self._fresh[kind] += 1
        return a.Var(f".{kind}{self._fresh[kind]}")

    def var(self, token: Token) -> a.Var:
        self.names.check_name(token)
        return placed(a.Var(str(token[1:])), self.source.span_of(token))

    def iri(self, token: Token) -> NamedNode:
        return RDF.type if token.type == "A" else self.names.iri(token)

    def var_or_iri(self, token: Token) -> a.Var | NamedNode:
        return self.var(token) if token.type == "VAR" else self.iri(token)

    def constant(self, node: Token | Tree) -> NamedNode | Literal:
        """An IRI or literal."""
        if isinstance(node, Tree):
            return self._rdf_literal(node)
        kind = node.type
        if kind in IRI_TOKENS:
            return self.names.iri(node)
        if kind in ("TRUE", "FALSE"):
            return Literal(kind.lower(), datatype=XSD.boolean)
        if kind == "NIL":
            return RDF.nil
        return number(str(node))

    def _rdf_literal(self, tree: Tree) -> Literal:
        value = string(tree.children[0])
        if len(tree.children) == 1:
            return Literal(value)
        qualifier = tree.children[1]
        if qualifier.type != "LANGTAG":
            return Literal(value, datatype=self.names.iri(qualifier))
        try:
            return Literal(value, language=str(qualifier)[1:])
        except ValueError as problem:
            raise self.source.error(f"{qualifier} is not a language tag: {problem}", qualifier) from None


def number(text: str) -> Literal:
    """A numeric literal with the datatype that its form implies."""
    if "e" in text or "E" in text:
        return Literal(text, datatype=XSD.double)
    return Literal(text, datatype=XSD.decimal if "." in text else XSD.integer)


def string(token: Token) -> str:
    """The value of a quoted string."""
    body = token[3:-3] if token.type == "LONG_STRING" else token[1:-1]
    if "\\" not in body:
        return str(body)
    return _STRING_ESCAPE.sub(lambda match: _STRING_ESCAPES.get(match[1], match[1]), body)

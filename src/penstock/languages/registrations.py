"""Registrations: what a query is called, and the stream that it gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.languages.leaves import IRI_TOKENS
from penstock.languages.names import resolve
from penstock.languages.queries import SparqlTranslator
from penstock.terms import NamedNode

_LAST_PART = re.compile(r"[^/#:]*\Z")


@dataclass(frozen=True)
class Registration:
    """What stands before AS, and the query behind it."""

    query: Tree
    kind: Token | None = None
    more: tuple[Tree, ...] = ()
    stream: NamedNode | None = None
    about: dict = field(default_factory=dict)


class RegistrationTranslator(SparqlTranslator):
    """SPARQL with `REGISTER STREAM <…> AS` before a query."""

    def registration(self, tree: Tree) -> Registration:
        """A statement taken apart; prefixes that stand behind AS are declared."""
        if tree.data != "register":
            return Registration(tree)
        kind, name, *others, query = tree.children
        more = tuple(part for part in others if not self.names.declare(part))
        about = {"name": self._called(name), "prefixes": self.names.in_force}
        return Registration(query, kind, more, None if kind.type == "QUERY" else self._stream(name), about)

    def registered(self, parsed: a.ParsedQuery, stream: NamedNode | None) -> a.ParsedQuery:
        """The query, giving that stream if it makes triples."""
        if stream is None:
            return parsed
        query = parsed.query
        if isinstance(query, a.Construct):
            query = replace(query, target=stream)
        return replace(parsed, query=query, stream=stream)

    def _called(self, name: Token) -> str:
        """What messages and outputs call a query that is registered."""
        if name.type not in IRI_TOKENS:
            return str(name)
        value = self.iri(name).value
        return _LAST_PART.search(value.rstrip("/#:"))[0] or value

    def _stream(self, name: Token) -> NamedNode | None:
        """The stream that others read what is constructed from; a bare name needs a base to be one."""
        if name.type in IRI_TOKENS:
            return self.iri(name)
        return None if self.names.base is None else NamedNode(resolve(str(name), self.names.base))

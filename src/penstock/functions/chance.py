"""Random functions that a restart repeats: RAND, UUID, STRUUID, BNODE and the blank nodes of templates.

Each draw is a hash of the solution's seed, the place of the expression in the query and the
position of the call in the expression (docs/decisions/0001-timed-semantics.md).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from hashlib import blake2b

from penstock.algebra.nodes import Extend, Filter, OrderBy, Pattern, Query
from penstock.algebra.printing import to_sexpr
from penstock.functions.values import text_literal
from penstock.terms import XSD, BlankNode, Literal, NamedNode, Term


def solution_seed(
    bindings: Iterable[tuple[str, Term | None]], start: int | None = None, end: int | None = None
) -> int:
    """The seed of a solution ⟨μ, [start, end]⟩: equal solutions have equal seeds."""
    bound = sorted((name, str(term)) for name, term in bindings if term is not None)
    return int.from_bytes(_digest("solution", start, end, *bound)[:8], "big")


def extended(pattern: Pattern) -> frozenset[str]:
    """The variables that BIND and SELECT expressions have added to the solutions of a pattern.

    They are no part of a solution's seed: BNODE("a") in two expressions of one SELECT is the
    same node, although the second one's solution has a variable more.
    """
    names = set()
    while isinstance(pattern, (Extend, Filter, OrderBy)):
        if isinstance(pattern, Extend):
            names.add(pattern.var.name)
        pattern = pattern.pattern
    return frozenset(names)


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=16).digest()


def rand(*place: object) -> Literal:
    """A double in [0, 1)."""
    drawn = int.from_bytes(_digest("RAND", *place)[:8], "big") >> 11
    return Literal(repr(drawn / 2**53), datatype=XSD.double)


def uuid_text(*place: object) -> str:
    return str(uuid.UUID(bytes=_digest("UUID", *place), version=4))


def uuid_iri(*place: object) -> NamedNode:
    return NamedNode("urn:uuid:" + uuid_text(*place))


def uuid_string(*place: object) -> Literal:
    return text_literal(uuid_text(*place))


def fresh_blank(*place: object) -> BlankNode:
    return BlankNode("b" + _digest("BNODE", *place).hex())


def labelled_blank(seed: int, label: str) -> BlankNode:
    """BNODE(label): the same blank node for the same label within one solution."""
    return BlankNode("b" + _digest("label", seed, label).hex())


def rule_name(rule: Query) -> str:
    """What names the blank nodes of a rule's template; the same for equal rules."""
    return _digest("rule", to_sexpr(rule)).hex()


def template_blank(rule: str, label: str, seed: int) -> BlankNode:
    """The blank node for a label of a CONSTRUCT template and a solution with this seed."""
    return BlankNode("c" + _digest("template", rule, label, seed).hex())

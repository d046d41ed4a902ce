"""The partition key: the variable by which the solutions of a query can be kept apart.

A variable v is the key of a pattern if rows with different v never meet. That is so if
every triple pattern or path that may read a stream contains v as its subject or object, and
every operator keeps v: a projection names it, GROUP BY has it among its keys, nothing looks
at all solutions of an instant (ORDER BY, LIMIT, aggregates without GROUP BY, ASK), no path
wanders from node to node. A side that reads no stream is free: each partition has it whole.
Timed solutions then all have v bound. Timeless ones that an operator spreads over the
instants must have it bound too; the partition that owns that value answers for them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.algebra.nodes import (
    Ask,
    Construct,
    Describe,
    PathPattern,
    Pattern,
    Query,
    Select,
    TriplePattern,
    Var,
    is_nested,
)
from penstock.plan.analysis.leaves import query_leaves
from penstock.plan.analysis.reads import LookUps, can_be_timeless, expands_timeless, inside, reads_stream
from penstock.plan.analysis.unification import LeafPattern, LookUp, has_closure, look_ups
from penstock.plan.analysis.variables import certain
from penstock.plan.analysis.walk import children, exists_patterns
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import timed
from penstock.plan.system_columns import ELEMENT
from penstock.plan.wording import leaf_text
from penstock.terms import BlankNode


@dataclass(frozen=True, slots=True)
class Key:
    """Solutions with different values of this variable never meet."""

    variable: Var

    @property
    def column(self) -> str | None:
        return self.variable.name


ELEMENT_KEY = Key(Var(ELEMENT))
"""The key of a query that looks at one element at a time: the element itself."""


@dataclass(frozen=True, slots=True)
class NoKey:
    """The query runs in one partition, and why, in words."""

    reason: str
    column: ClassVar[str | None] = None


def leaf_key_position(leaf: TriplePattern | LookUp, key: Var) -> str | None:
    """Where a triple pattern has the key: `subject`, else `object`, else None."""
    if leaf.subject == key:
        return "subject"
    return "object" if leaf.object == key else None


def find_key(query: Query, dataset: ActiveDataset, derived: LookUps = frozenset()) -> Key | NoKey:
    """The best key of a query, or the reason why it has none."""
    if not reads_timed(query, dataset):
        return NoKey("the query reads no stream, so there is nothing to distribute")
    candidates = _candidates(query, dataset)
    if not candidates:
        return NoKey("no triple pattern that reads a stream has a variable as its subject or object")
    reasons = [_query_obstacle(query, var, dataset, derived) for var in candidates]
    for var, reason in zip(candidates, reasons, strict=True):
        if reason is None:
            return Key(var)
    return NoKey(reasons[0])


def possible_keys(query: Query, dataset: ActiveDataset, derived: LookUps = frozenset()) -> tuple[Key, ...]:
    """All keys of a query, the best one first."""
    return tuple(
        Key(var)
        for var in _candidates(query, dataset)
        if _query_obstacle(query, var, dataset, derived) is None
    )


def reads_timed(query: Query, dataset: ActiveDataset) -> bool:
    return any(timed(leaf.sources) for leaf in query_leaves(query, dataset))


def _candidates(query: Query, dataset: ActiveDataset) -> list[Var]:
    """The variables of leaves that may read a stream; most often the subject comes first."""
    subjects: Counter[Var] = Counter()
    everywhere: Counter[Var] = Counter()
    for leaf in query_leaves(query, dataset):
        if not timed(leaf.sources):
            continue
        ends = (leaf.pattern.subject, leaf.pattern.object)
        for var in dict.fromkeys(end for end in ends if isinstance(end, Var)):
            everywhere[var] += 1
            subjects[var] += var == leaf.pattern.subject
    # Only variables in every leaf can be keys; the rest serve the explanation. Stable order.
    return sorted(everywhere, key=lambda var: (-everywhere[var], -subjects[var]))


def _query_obstacle(query: Query, key: Var, dataset: ActiveDataset, derived: LookUps) -> str | None:
    """Why a variable is not the key of a query; None if it is."""
    if isinstance(query, Ask):
        return "ASK looks at all solutions of an instant"
    if isinstance(query, Describe):
        return "DESCRIBE looks for the triples of its resources in the whole stream"
    pattern = query.pattern
    if isinstance(query, Select) and pattern.shows is not None:
        [pattern] = children(pattern)  # nothing meets above the last projection
    obstacle = _obstacle(pattern, key, dataset, derived)
    if obstacle is not None:
        return obstacle
    if isinstance(query, Construct):
        for triple in query.template:
            if key not in triple and not any(isinstance(term, BlankNode) for term in triple):
                return (
                    f"the template triple `{leaf_text(triple)}` has no {key}, "
                    f"so solutions with different {key} can make the same triple"
                )
    return None


def _obstacle(
    pattern: Pattern, key: Var, dataset: ActiveDataset, derived: LookUps, *, in_exists: bool = False
) -> str | None:
    """Why solutions of a pattern with different values of the variable meet; None if never."""
    if not reads_stream(pattern, dataset):
        return None
    for leaf in pattern.leaves:
        if has_closure(leaf):
            length = "" if is_nested(leaf.path) else " without a fixed length"
            return f"the path `{leaf_text(leaf)}` goes from node to node{length}"
        if any(leaf_key_position(look_up, key) is None for look_up in look_ups(_apart(leaf))):
            return _misses(leaf, key)
    obstacle = _own_obstacle(pattern, key, dataset, derived, in_exists)
    if obstacle is not None:
        return obstacle
    for seen in inside(pattern, dataset):
        for parts, below in ((children(pattern), in_exists), (exists_patterns(pattern), True)):
            for part in parts:
                obstacle = _obstacle(part, key, seen, derived, in_exists=below)
                if obstacle is not None:
                    return obstacle
    return None


def _apart(leaf: LeafPattern) -> LeafPattern:
    """A path back to where it begins is walked between two columns, and only the first is spread by."""
    if isinstance(leaf, PathPattern) and leaf.subject == leaf.object:
        return replace(leaf, object=Var(".end"))
    return leaf


def _own_obstacle(
    pattern: Pattern, key: Var, dataset: ActiveDataset, derived: LookUps, in_exists: bool
) -> str | None:
    """Why the operator itself lets solutions with different values of the variable meet."""
    mixed = pattern.mixes(key)
    if mixed is not None:
        return mixed
    if pattern.drops_intervals and can_be_timeless(pattern, dataset, derived, in_exists=in_exists):
        return "solutions of the stream that have no interval are answered by the first partition"
    if expands_timeless(pattern, dataset, derived, in_exists=in_exists):
        if key not in certain(pattern.required):
            return f"static solutions without {key} are compared with those of every {key}"
    return None


def _misses(leaf: LeafPattern, key: Var) -> str:
    return f"`{leaf_text(leaf)}` may match a stream and does not have {key} as subject or object"

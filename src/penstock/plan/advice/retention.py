"""What each stateful operator keeps in memory, and for how long, in words for `explain`.

An operator forgets a solution when no partner can come any more. The watermark alone lets
it forget where the partner must end at the same time or earlier (EQUALS, the later side of
SEQ, the required side of OPTIONAL). Elsewhere only a bound on getDURATION() does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.nodes import (
    BGP,
    Graph,
    Join,
    Minus,
    OuterJoin,
    PathPattern,
    Pattern,
)
from penstock.algebra.relations import ANY, HULL, Meeting, Side
from penstock.plan.analysis.bounds import Bound, inherit, own_bound
from penstock.plan.analysis.matching import look_ups
from penstock.plan.analysis.reads import reads_stream
from penstock.plan.analysis.walk import children, exists_patterns, operator_name, required_and_other
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import Stream, timed
from penstock.plan.wording import leaf_text
from penstock.timeline import format_duration

ONE_STREAM = ActiveDataset(frozenset((Stream(0),)))


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing that an operator keeps: `bound` microseconds long, or for ever."""

    node: Pattern
    operator: str
    keeps: str  # its left side, both sides, …
    bound: Bound
    kept: Pattern  # the pattern whose solutions it keeps
    absence: bool = False  # kept to know of absence: a filter above cannot bound it

    def __str__(self) -> str:
        if self.bound is not None:
            return f"{self.operator} remembers {self.keeps} for {format_duration(self.bound)}"
        return f"{self.operator} remembers {self.keeps} for ever (no getDURATION bound)"


def memories(pattern: Pattern, bound: Bound = None, dataset: ActiveDataset = ONE_STREAM) -> Iterator[Memory]:
    """What the operators of a pattern keep beyond the watermark, top down."""
    own = own_bound(pattern)
    if isinstance(pattern, Join):
        yield from _of_join(pattern, bound, dataset)
    elif isinstance(pattern, OuterJoin):
        side = pattern.optional
        optional = required_and_other(pattern)[1]
        if not Meeting(pattern.relation).latest_end(side) and reads_stream(optional, dataset):
            keeps = f"its optional {side.value} side"
            yield Memory(pattern, pattern.name, keeps, own, optional, absence=True)
    elif isinstance(pattern, Minus):
        if reads_stream(pattern.right, dataset):
            yield Memory(pattern, "Minus", "its right side", None, pattern.right, absence=True)
    elif isinstance(pattern, BGP) and len(pattern.triples) > 1 and timed(dataset.default):
        yield Memory(pattern, "BGP", f"matches of its {len(pattern.triples)} triples", bound, pattern)
    elif isinstance(pattern, PathPattern) and timed(dataset.default):
        if _is_long(pattern):
            yield Memory(pattern, "Path", f"the steps of `{leaf_text(pattern)}`", bound, pattern)
    for inner in exists_patterns(pattern):
        if reads_stream(inner, dataset):
            yield Memory(pattern, "EXISTS", "the solutions of its pattern", None, inner, absence=True)
    inside = dataset.within(pattern.name) if isinstance(pattern, Graph) else dataset
    for child, below in zip(children(pattern), inherit(pattern, bound), strict=True):
        yield from memories(child, below, inside)
    for inner in exists_patterns(pattern):
        yield from memories(inner, None, inside)


def _of_join(pattern: Join, bound: Bound, dataset: ActiveDataset) -> Iterator[Memory]:
    """The sides whose partners may end as late as they like, if nothing bounds the combination."""
    if not all(reads_stream(side, dataset) for side in children(pattern)):
        return
    meeting = Meeting(pattern.relation, pattern.interval)
    within = bound if pattern.interval is HULL else None
    match [side for side in Side if not meeting.latest_end(side)]:
        case [Side.LEFT, Side.RIGHT]:
            yield Memory(pattern, pattern.name, "both sides", within, pattern)
        case [side]:
            kept = pattern.left if side is Side.LEFT else pattern.right
            yield Memory(pattern, pattern.name, f"its {side.value} side", within, kept)


def _is_long(pattern: PathPattern) -> bool:
    """Whether a path composes several triples, and so waits for some of them."""
    ends = (pattern.subject, pattern.object)
    return any(look_up.subject not in ends or look_up.object not in ends for look_up in look_ups(pattern))


def describe_memory(
    pattern: Pattern, bound: Bound = None, dataset: ActiveDataset = ONE_STREAM
) -> tuple[str, ...]:
    """A line for each stateful operator: what it remembers and for how long."""
    return tuple(str(memory) for memory in memories(pattern, bound, dataset))


def author_name(memory: Memory) -> str:
    """The operator as the author of the query wrote it."""
    if memory.operator == "EXISTS":
        return "EXISTS"
    if isinstance(memory.node, BGP):
        return "the group of triples"
    if isinstance(memory.node, PathPattern):
        return "the path"
    if isinstance(memory.node, Join) and memory.node.relation == ANY:
        return "the join of two groups"
    return operator_name(memory.node)

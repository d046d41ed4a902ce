"""What each operator of a pattern keeps beyond the watermark, and for how long: `penstock check` warns of it.

`explain` asks the operators of the plan themselves (`engine/remembering.py`); tests compare the two.

An operator forgets a solution when no partner can come any more. The watermark alone lets
it forget where the partner must end at the same time or earlier (EQUALS, the later side of
SEQ, the required side of OPTIONAL). Elsewhere only a bound on getDURATION() does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.base import StateNeed
from penstock.algebra.nodes import Pattern
from penstock.algebra.scopes import STREAM
from penstock.plan.analysis.bounds import Bound, inherit, longest, own_bound
from penstock.plan.analysis.reads import reads_stream
from penstock.plan.analysis.unification import LeafPattern, look_ups
from penstock.plan.analysis.walk import children, exists_patterns
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import Stream, timed
from penstock.plan.wording import leaf_text

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


def memories(pattern: Pattern, bound: Bound = None, dataset: ActiveDataset = ONE_STREAM) -> Iterator[Memory]:
    """What the operators of a pattern keep beyond the watermark, top down."""
    parts = children(pattern)
    kept = pattern.remembers(bound, own_bound(pattern), tuple(map(longest, parts)))
    for each in kept:
        if _depends_on_stream(pattern, each, dataset):
            of = pattern if each.part is None else parts[each.part]
            yield Memory(pattern, pattern.operator, each.words, each.bound, of, each.absence)
    if any(map(_is_long, pattern.leaves)) and pattern.scope == STREAM and timed(dataset.default):
        yield Memory(pattern, "Path", f"the steps of `{leaf_text(pattern)}`", bound, pattern)
    for inner in exists_patterns(pattern):
        if reads_stream(inner, dataset):
            yield Memory(pattern, "EXISTS", "the solutions of its pattern", None, inner, absence=True)
    inside = dataset if pattern.graph is None else dataset.within(pattern.graph)
    for child, below in zip(parts, inherit(pattern, bound), strict=True):
        yield from memories(child, below, inside)
    for inner in exists_patterns(pattern):
        yield from memories(inner, None, inside)


def _depends_on_stream(pattern: Pattern, kept: StateNeed, dataset: ActiveDataset) -> bool:
    """Whether what is kept grows with a stream, and is kept for something that a stream may still give."""
    if kept.absence:
        return reads_stream(children(pattern)[kept.part], dataset)
    parts = children(pattern)
    beside = parts if kept.beside is None else [parts[place] for place in kept.beside]
    return reads_stream(pattern, dataset) and all(reads_stream(part, dataset) for part in beside)


def _is_long(pattern: LeafPattern) -> bool:
    """Whether a path composes several triples, and so waits for some of them."""
    ends = (pattern.subject, pattern.object)
    return any(look_up.subject not in ends or look_up.object not in ends for look_up in look_ups(pattern))


def author_name(memory: Memory) -> str:
    """The operator as the author of the query wrote it."""
    return "EXISTS" if memory.operator == "EXISTS" else memory.node.title

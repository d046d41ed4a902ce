"""Paths over static triples beside other patterns: found from what these bind, not for all pairs of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.algebra.relations import ANY, HULL, INTERSECTS, IntervalRule, Relation
from penstock.plan import steps
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.steps import Expand, Step
from penstock.plan.steps.walks import Transitions
from penstock.plan.system_columns import is_variable

X, Y = ".x", ".y"


def all_pairs(labels: tuple[Step, ...], transitions: Transitions, accepting: frozenset[int]) -> Expand:
    """The pairs (columns `.x` and `.y`) of an automaton over static triples."""
    return Expand(_starts(labels, transitions), labels, transitions, accepting, X, Y)


def _starts(labels: tuple[Step, ...], transitions: Transitions) -> Step:
    """All nodes at which a walk can begin."""
    first = dict.fromkeys(label for source, label, _ in transitions if source == 0)
    return steps.Unique(merged([columns_of(labels[label], (X,)) for label in first]))


def _pairs(step: Step) -> tuple[Expand, str, str] | None:
    """The pairs of a static path that a step is, and its columns for where walks begin and end."""
    names = dict(zip(step.vars, step.vars, strict=True))
    while isinstance(step, steps.Rename | steps.Columns):
        if isinstance(step, steps.Rename):
            columns = zip(step.input.vars, step.vars, strict=True)
            names = {below: names[column] for below, column in columns if column in names}
        step = step.input
    if not isinstance(step, Expand) or names.keys() != {X, Y}:
        return None
    whole = step.input == _starts(step.labels, step.transitions)
    return (step, names[X], names[Y]) if whole else None


def join(
    left: Step,
    right: Step,
    relation: Relation = ANY,
    interval: IntervalRule = HULL,
    within: int | None = None,
) -> Step:
    """The join of two steps; if one is the pairs of a static path, they are found from what the other binds.

    These pairs are timeless, so solutions keep the other side's interval.
    """
    if (relation, interval) in ((ANY, HULL), (INTERSECTS, IntervalRule.INTERSECTION)):
        for rows, path in ((left, right), (right, left)):
            if (found := _expanded(rows, path)) is not None:
                return found
    return steps.Join(left, right, relation, interval, within)


def _expanded(rows: Step, path: Step) -> Step | None:
    """The rows with the pairs of a path of which they bind an end, or both; None if that is not certain."""
    pairs = _pairs(path)
    if pairs is None:
        return None
    step, x, y = pairs
    if x in rows.certain and (y not in rows.vars or y in rows.certain):
        return replace(step, input=rows, begin=x, end=y)
    if y in rows.certain and x not in rows.vars:
        return replace(step, input=rows, begin=y, end=x, backwards=True)
    return None


def joined_in_turn(
    parts: Sequence[Step],
    relation: Relation = ANY,
    interval: IntervalRule = HULL,
    within: int | None = None,
) -> Step:
    """The join of all parts, beginning with what reads a stream: it binds less than what is known.

    Next comes the part that shares most variables. Pairs of a static path of which only one end is bound
    come last of those that share any: what binds the other end leaves few of them.
    """
    left = list(parts)
    step = min(left, key=lambda part: (not part.reads_stream, _pairs(part) is not None))
    left.remove(step)
    while left:
        bound = frozenset(filter(is_variable, step.vars))
        part = max(left, key=lambda part: _rank(part, bound))
        left.remove(part)
        step = join(step, part, relation, interval, within)
    return step


def _rank(part: Step, bound: frozenset[str]) -> tuple[bool, bool, int]:
    shared = len(bound.intersection(part.vars))
    narrow = shared > 1 or _pairs(part) is None
    return shared > 0, narrow, shared

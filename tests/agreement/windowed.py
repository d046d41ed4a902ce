"""Plans in which some streams are read as windows, whose rows leave: no language says so yet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

from penstock.algebra.windows import Kind, WindowSpec
from penstock.plan import steps
from penstock.plan.planning import Plan
from penstock.plan.sources import RuleGraph, Source, Stream, WindowSource
from penstock.plan.steps import Step

_ANY = WindowSpec(Kind.LANDMARK)  # when its rows come and leave is told with them


def with_windows(plan: Plan, changing: Collection[int]) -> Plan:
    """The plan over streams of which those with these numbers change."""
    derived = False
    while True:
        made: dict[Step, Step] = {}
        queries = tuple(
            replace(query, step=_rewritten(query.step, changing, derived, made)) for query in plan.queries
        )
        feeding = (step for step in made.values() if isinstance(step, steps.Constructed) and step.feeds)
        if derived or not any(step.retractable for step in feeding):
            return replace(plan, queries=queries)
        derived = True


def _rewritten(step: Step, changing: Collection[int], derived: bool, made: dict[Step, Step]) -> Step:
    if step not in made:
        if isinstance(step, steps.Scan):
            made[step] = _window(step, changing, derived)
        else:
            values = {field.name: getattr(step, field.name) for field in fields(step)}
            again = {
                name: _value(value, changing, derived, made)
                for name, value in values.items()
                if isinstance(value, (Step, tuple))
            }
            made[step] = replace(step, **again)
    return made[step]


def _value(value, *surroundings):
    if isinstance(value, tuple):
        return tuple(_value(each, *surroundings) if isinstance(each, Step) else each for each in value)
    return _rewritten(value, *surroundings)


def _window(scan: steps.Scan, changing: Collection[int], derived: bool) -> steps.Scan:
    return replace(scan, sources=frozenset(_changing(each, changing, derived) for each in scan.sources))


def _changing(source: Source, changing: Collection[int], derived: bool) -> Source:
    if isinstance(source, Stream) and source.place in changing:
        return WindowSource(frozenset((source,)), _ANY)
    if isinstance(source, RuleGraph):
        return replace(source, retractable=derived)
    return source

"""What the operators of a plan remember, and for how long: asked of the operators themselves, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from penstock.columns.terms import TermTable
from penstock.engine.choice import operator_of
from penstock.engine.expressions import Evaluator
from penstock.engine.operators import Operator, OperatorContext, may_grow
from penstock.engine.store import Retention, Store, while_present
from penstock.plan.steps import Step
from penstock.timeline import format_duration

# What a store of this name holds; others are called as they are.
_SIDES = {
    "left": "its left side",
    "right": "its right side",
    "optional": "its optional side",
    "absent": "which bindings its right side has had",
    "sought": "which bindings its pattern has had",
    "seen": "what it has given",
    "edges": "the steps that it goes along",
    "walks": "the walks that it has found",
    "repetition": "what can be in a repetition",
    "members": "what can be in a run",
    "chosen": "what lies around a run",
    "milestones": "when its windows last reported",
    "content": "the rows in its windows",
    "changes": "the rows that came and left since the last report",
    "changes-passed": "the rows that came and left since the last report",
    "placed": "the last triples",
    "required": "the rows that something absent may hide",
    "waiting": "rows that wait for the watermark",
    "rows": "the rows in its window",
    "done": "its left side",
    "labels": "what tests along the way find",
}
_BOUNDED = ("left", "done", "right", "optional", "edges", "walks", "repetition")
"""What is needed as long as combinations may be."""


def remembered(found: Iterable[Step]) -> dict[Step, tuple[str, ...]]:
    """Of each step that remembers something of a stream beyond the watermark: what, and how long."""
    terms = TermTable()
    context = OperatorContext(terms, Evaluator(terms, 0))
    operators = (operator_of(step)(step, "", context) for step in found)
    return {operator.step: said for operator in operators if (said := _described(operator))}


def _described(operator: Operator) -> tuple[str, ...]:
    by_time: dict[str, list[str]] = {}
    for side, store in _growing(operator):
        if how_long := _in_words(store.until):
            if store.until is not while_present and not store.until.limit and side in _BOUNDED:
                how_long += " (no getDURATION bound)"
            by_time.setdefault(how_long, []).append(_SIDES.get(side, f"its {side}"))
    said = []
    for how_long, sides in by_time.items():
        both = sides == [_SIDES["left"], _SIDES["right"]]
        said.append(f"{'both sides' if both else ' and '.join(dict.fromkeys(sides))} {how_long}")
    return tuple(said)


def _growing(operator: Operator) -> Iterator[tuple[str, Store]]:
    """The stores into which rows come again and again."""
    for store in operator.stores:
        side = re.sub(r"\d+$", "", store.name.rpartition(".")[2])
        rows = getattr(operator.step, side, None)
        sources = (
            (rows,) if isinstance(rows, Step) else rows if isinstance(rows, tuple) else operator.step.inputs
        )
        if any(map(may_grow, sources)):
            yield side, store


def _in_words(until: Retention) -> str | None:
    """How long a row is remembered; None if not longer than until the watermark has passed its end."""
    if until is while_present:
        return "until they leave"
    limit = until.limit
    if not limit:
        return "for ever"
    if any(after is not None and after <= 0 for after in (limit.after_start, limit.after_end)):
        return None
    parts = []
    if limit.after_start is not None:
        parts.append(f"for {format_duration(limit.after_start)}")
    if limit.after_end is not None:
        parts.append(f"for {format_duration(limit.after_end)} after its end")
    return ", at most ".join(parts)

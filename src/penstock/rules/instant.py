"""NOW() in rules that the kernel runs: the instant at which the run began, as in its queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.algebra.nodes import Call
from penstock.rules.expressions import rebuilt
from penstock.rules.rule import Rule
from penstock.terms import XSD, Literal
from penstock.timeline import format_instant


def at_instant(rules: Sequence[Rule], now: int) -> tuple[Rule, ...]:
    """The rules, with an instant (µs) for NOW(); the very same ones where none asks for it."""
    literal = Literal(format_instant(now), datatype=XSD.dateTime)

    def said(part):
        return literal if isinstance(part, Call) and part.name == "NOW" else rebuilt(part, said)

    def of(rule: Rule) -> Rule:
        inserts = [(each, said(each.insert)) for each in rule.inserts]
        checks = [(each, said(each.query)) for each in rule.checks]
        if all(each.insert is made for each, made in inserts) and all(
            each.query is made for each, made in checks
        ):
            return rule
        return replace(
            rule,
            inserts=tuple(replace(each, insert=made) for each, made in inserts),
            checks=tuple(replace(each, query=made) for each, made in checks),
        )

    return tuple(map(of, rules))

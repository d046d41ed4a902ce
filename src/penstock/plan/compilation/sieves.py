"""Which rows of a scan no reader can use, because each compares them with constants.

Such rows go no further than the task that decoded them. The filters still decide: a sieve
lets through what the bits of an id do not tell (`engine/thresholds.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from penstock.algebra.comparisons import MIRRORED
from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns import ids
from penstock.plan.steps import Filter, Scan, Step
from penstock.terms import Literal

MOST = 64
"""More tests of a row than this cost more than they save."""


@dataclass(frozen=True)
class ConstantComparison:
    """`var comparison constant`, with an integer or decimal constant that has an inline id."""

    var: str
    comparison: str
    constant: Literal

    def __str__(self) -> str:
        return f"?{self.var} {self.comparison} {self.constant.value}"

    @property
    def value(self) -> Fraction:
        return Fraction(self.constant.value)

    @property
    def weakness(self) -> tuple[Fraction, bool]:
        """Of two comparisons in the same direction the one with the larger weakness lets more through."""
        return (self.value if self.comparison[0] == "<" else -self.value, len(self.comparison) == 2)


Sieve = tuple[tuple[ConstantComparison, ...], ...]
"""A row may be of use if for one of these all comparisons may hold."""


@lru_cache(maxsize=1024)
def constant_comparison(expression: Expression) -> ConstantComparison | None:
    """The comparison of a variable with a constant number that an expression is, if it is."""
    if not isinstance(expression, Call) or expression.name not in MIRRORED:
        return None
    name, (one, other) = expression.name, expression.args
    if isinstance(other, Var):
        one, other, name = other, one, MIRRORED[name]
    if not isinstance(one, Var) or not isinstance(other, Literal):
        return None
    tag = ids.TAG_OF_DATATYPE.get(other.datatype.value)
    if tag not in (ids.INTEGER, ids.DECIMAL) or not ids.inline_id(other.value, tag):
        return None
    return ConstantComparison(one.name, name, other)


def sieves(results: Iterable[Step]) -> dict[Scan, Sieve]:
    """The scans below these steps of which all readers filter by constants, and their sieves."""
    results = tuple(results)
    readers: dict[Step, dict[Step, None]] = {result: {} for result in results}
    for result in results:
        for step in result.walk():
            for below in step.inputs:
                readers.setdefault(below, {})[step] = None
    found = {}
    for scan in readers:
        if isinstance(scan, Scan) and readers[scan] and scan not in results:
            tests = [tuple(_tests(reader, readers, results)) for reader in readers[scan]]
            if all(tests) and sum(map(len, sieve := _weakest(tests))) <= MOST:
                found[scan] = sieve
    return found


def _tests(step: Step, readers: dict[Step, dict[Step, None]], results: tuple[Step, ...]) -> Iterator:
    """The comparisons that all rows must pass which leave a filter, or the filters that follow it."""
    while isinstance(step, Filter):
        test = constant_comparison(step.condition)
        if test is not None:
            yield test
        if len(readers[step]) != 1 or step in results:
            return
        [step] = readers[step]


def _weakest(readers: list[tuple[ConstantComparison, ...]]) -> Sieve:
    """The same for less work: of single comparisons in one direction the weakest says it all."""
    alone: dict[tuple[str, str], ConstantComparison] = {}
    others = []
    for reader in readers:
        if len(reader) > 1 or reader[0].comparison in ("=", "!="):
            others.append(reader)
            continue
        [test] = reader
        side = (test.var, test.comparison[0])
        alone[side] = max(alone.get(side, test), test, key=lambda each: each.weakness)
    return (*dict.fromkeys(others), *((test,) for test in alone.values()))

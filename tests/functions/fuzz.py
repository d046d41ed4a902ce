"""Random expressions over odd values: ours row by row, ours by columns, and pyoxigraph's.

Where two values differ, the innermost call is looked for that differs although its arguments do not;
a rule of `differences` must explain it. `python -m functions.fuzz 100000` (in `tests`) runs many.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from functions.differences import LEXICAL, explained
from functions.second_opinion import (
    ALL,
    BINARY,
    BOOLEANS,
    CASTS,
    DECIMALS,
    DOUBLES,
    DURATIONS,
    FLOATS,
    INTEGERS,
    MOMENTS,
    NAMES,
    STRINGS,
    TAGGED,
    TERNARY,
    UNARY,
    Row,
    Written,
    by_columns,
    ours,
    same,
    text,
    theirs,
)
from penstock.terms import Term

_ROWS = 8


@dataclass
class Outcome:
    """What a run of random expressions found."""

    expressions: int = 0
    evaluations: int = 0
    values: int = 0  # evaluations that are no error with us
    rules: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


_LOGIC = ("=", "!=", "<", ">", "<=", ">=", "&&", "||", "!", "IF", "COALESCE", "IN", "NOTIN", "SAMETERM")
_PROFILES = {
    "numbers": (
        [*INTEGERS, *DECIMALS, *DOUBLES, *FLOATS, *BOOLEANS],
        ("+", "-", "*", "/", "ABS", "CEIL", "FLOOR", "ROUND", "UMINUS", "STR", "xsd:integer",
        "xsd:decimal", "xsd:float",
         "xsd:double", "xsd:boolean", "xsd:string"),
    ),
    "strings": (
        [*STRINGS, *STRINGS, *TAGGED, *INTEGERS[:4]],
        ("CONCAT", "SUBSTR", "UCASE", "LCASE", "STRLEN", "STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE",
        "STRAFTER",
         "REGEX", "REPLACE", "ENCODE_FOR_URI", "LANG", "STR", "STRLANG", "LANGMATCHES", "MD5", "xsd:string"),
    ),
    "times": (
        [*MOMENTS, *DURATIONS, *DURATIONS, *INTEGERS[:4], *DECIMALS[2:4]],
        ("+", "-", "*", "/", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ",
        "STR", "UMINUS",
         *(f"xsd:{cast}" for cast in CASTS)),
    ),
    "anything": (ALL, (*UNARY, *BINARY, *TERNARY)),
}  # fmt: skip


def _widths(name: str) -> list[int]:
    return [width for width, names in ((1, UNARY), (2, BINARY), (3, TERNARY)) if name in names]


def expression(random: Random, functions: tuple[str, ...], depth: int) -> Written:
    if depth == 0 or random.random() < 0.15:
        return f"?{random.choice(NAMES)}"
    name = random.choice(functions if random.random() < 0.7 else _LOGIC)
    if name == "BOUND":
        return (name, f"?{random.choice(NAMES)}")
    width = random.choice(_widths(name))
    return (name, *(expression(random, functions, depth - 1) for _ in range(width)))


def rows(random: Random, values: list[Term | None]) -> list[Row]:
    return [
        tuple(random.choice(values if random.random() < 0.95 else ALL) for _ in NAMES) for _ in range(_ROWS)
    ]


def cause(written: Written, row: Row, one: Term | None, other: Term | None) -> str | None:
    """The rule that explains why the two values differ; None if there is none."""
    if isinstance(written, str):
        return LEXICAL
    name, *arguments = written
    own: list[Term | None] = []
    for argument in arguments:
        [mine], [yours] = ours(argument, [row]), theirs(argument, [row])
        if not same(mine, yours):
            return cause(argument, row, mine, yours)
        own.append(mine)
    if len(own) > len(NAMES) or name == "BOUND":
        return None
    call = (name, *(f"?{each}" for each in NAMES[: len(own)]))
    [mine], [yours] = ours(call, [tuple(own)]), theirs(call, [tuple(own)])
    if same(mine, yours):
        return LEXICAL  # only how an argument is written can be the cause
    return explained(name, tuple(own), mine, yours)


def run(seeds: Iterable[int]) -> Outcome:
    outcome = Outcome()
    for seed in seeds:
        random = Random(seed)
        values, functions = _PROFILES[random.choice(list(_PROFILES))]
        written = expression(random, functions, random.randint(1, 4))
        if isinstance(written, str):
            continue
        table = rows(random, values)
        exact, second = ours(written, table), theirs(written, table)
        columns, _ = by_columns(written, table)
        outcome.expressions += 1
        outcome.evaluations += len(table)
        for row, one, other, column in zip(table, exact, second, columns, strict=True):
            outcome.values += one is not None
            shown = f"seed {seed}: {text(written)} with {', '.join(map(str, row))}"
            if column != one:
                outcome.unexplained.append(f"{shown}: {one}, by columns {column}")
            if not same(one, other):
                rule = cause(written, row, one, other)
                outcome.rules[str(rule)] += 1
                if rule is None:
                    outcome.unexplained.append(f"{shown}: ours {one}, theirs {other}")
    return outcome


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    result = run(range(first, first + count))
    print(
        f"{result.expressions:,} expressions, {result.evaluations:,} evaluations, {result.values:,} "
        f"with a value"
    )
    for rule, number in result.rules.most_common():
        print(f"{number:8,} {rule}")
    print(f"{len(result.unexplained):,} unexplained")
    for line in result.unexplained[:40]:
        print(line)

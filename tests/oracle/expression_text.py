"""Random conditions and values as text, for FILTER, BIND, SELECT and HAVING."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from oracle.vocabulary import CLASSES, EPOCH, RESOURCES, TICK
from penstock.timeline import format_instant

_KINDS = {"x": "resource", "y": "resource", "z": "resource", "l": "label", "c": "class"}


def kind_of(name: str) -> str:
    """What a variable holds, as its name says: n, m, k and nb… are numbers."""
    if name in ("n", "m", "k") or name.startswith("nb"):
        return "number"
    return _KINDS.get(name.rstrip("0123456789"), "any")


def condition(random: Random, names: Sequence[str], *, temporal: bool = True) -> str:
    """Something to be true or false of a solution over these variables."""
    roll = random.random()
    if roll < 0.12:
        sides = [condition(random, names, temporal=temporal) for _ in range(2)]
        return f"({sides[0]}) {random.choice(('&&', '||'))} ({sides[1]})"
    if roll < 0.17:
        return f"!({condition(random, names, temporal=temporal)})"
    if temporal and roll < 0.40:
        return time_condition(random)
    if not names:
        return "1 < 2"
    name = random.choice(names)
    kind = kind_of(name)
    if random.random() < 0.12:
        return f"{random.choice(('', '!'))}BOUND(?{name})"
    if kind == "number":
        return number_condition(random, name, [n for n in names if kind_of(n) == "number"])
    if kind == "label":
        return random.choice((f"STRLEN(?{name}) = 1", f'REGEX(?{name}, "^x")', f'LANG(?{name}) = "en"'))
    if kind == "class":
        return f"?{name} {random.choice(('=', '!='))} {random.choice(CLASSES)}"
    if kind == "resource":
        others = [n for n in names if kind_of(n) == "resource" and n != name]
        other = f"?{random.choice(others)}" if others else random.choice(RESOURCES)
        return random.choice(
            (
                f"?{name} != {other}",
                f"?{name} = {other}",
                f"?{name} IN ({RESOURCES[0]}, {RESOURCES[1]})",
                f"?{name} NOT IN ({RESOURCES[2]})",
                f"isIRI(?{name})",
            )
        )
    return random.choice((f"isLiteral(?{name})", f"isIRI(?{name})", f"BOUND(?{name})"))


def number_condition(random: Random, name: str, numbers: Sequence[str]) -> str:
    operator = random.choice(("<", "<=", ">", ">=", "=", "!="))
    other = f"?{random.choice(numbers)}" if random.random() < 0.6 else str(random.randint(1, 3))
    scale = random.choice(("", "", " * 0.7", " + 1", " / 2", " * 1.5e0"))
    return f"?{name} {operator} {other}{scale}"


def time_condition(random: Random) -> str:
    """A condition on the interval of the group that it stands in."""
    kind = random.choice(("duration", "duration", "duration", "start", "end", "point"))
    if kind == "duration":
        datatype = random.choice(("xsd:duration", "xsd:dayTimeDuration"))
        operator, most = random.choice((("<", 7), ("<=", 6), ("<", 5), (">", 2), (">=", 2), ("=", 3)))
        return f'getDURATION() {operator} "PT{random.randint(1, most)}S"^^{datatype}'
    if kind == "point":
        return "getSTARTTIME() = getENDTIME()"
    function = "getSTARTTIME()" if kind == "start" else "getENDTIME()"
    instant = format_instant(EPOCH + random.randint(1, 8) * TICK)
    return f'{function} {random.choice(("<", "<=", ">", ">="))} "{instant}"^^xsd:dateTime'


def value(random: Random, names: Sequence[str], *, temporal: bool = True) -> tuple[str, str]:
    """An expression with a value, and the kind of the value."""
    numbers = [name for name in names if kind_of(name) == "number"]
    if temporal and random.random() < 0.35:
        return (
            random.choice(
                (
                    "getSTARTTIME()",
                    "getENDTIME()",
                    "getDURATION()",
                    "getENDTIME() - getSTARTTIME()",
                    'getSTARTTIME() + "PT1S"^^xsd:dayTimeDuration',
                )
            ),
            "any",
        )
    if numbers and random.random() < 0.7:
        one, other = random.choice(numbers), random.choice(numbers)
        return (
            random.choice(
                (
                    f"?{one} + 1",
                    f"?{one} * ?{other}",
                    f"?{one} - ?{other}",
                    f"IF(?{one} > 2, 1, 0)",
                    f"COALESCE(?{one}, 0)",
                    f"?{one} / 2",
                )
            ),
            "number",
        )
    if not names:
        return "1", "number"
    name = random.choice(names)
    return (
        random.choice((f"STR(?{name})", f"?{name}", f"COALESCE(?{name}, 7)", f'CONCAT(STR(?{name}), "!")')),
        "any",
    )


def having(random: Random, names: Sequence[str]) -> str:
    numbers = [name for name in names if kind_of(name) == "number"]
    if numbers and random.random() < 0.4:
        return f"SUM(?{random.choice(numbers)}) > {random.randint(1, 4)}"
    return f"COUNT(*) {random.choice(('>', '<=', '='))} {random.randint(1, 2)}"

"""Random nested regular expressions as text, in both ways of writing them."""

from __future__ import annotations

from random import Random

from oracle.vocabulary import LABELS, NUMBERS, PREDICATES, RESOURCES

STEPS = (":knows", ":near", ":knows", ":near", ":kind", ":price", ":label")
NAMES = (*RESOURCES, *PREDICATES, ":K", ":nowhere")


def nested_text(random: Random, depth: int) -> str:
    """An expression that has an axis or a test somewhere, mostly in several places."""
    while True:
        text = _expression(random, depth)
        if "[" in text or any(axis in text for axis in ("self", "next", "edge", "node")):
            return text


def _expression(random: Random, depth: int) -> str:
    if depth <= 0:
        return _step(random)

    def inner() -> str:
        return _expression(random, depth - 1)

    match random.choice("//||^+*?[[!:::s"):
        case "/" | "|" as operator:
            return f"({operator.join(inner() for _ in range(random.choice((2, 2, 3))))})"
        case "^":
            return f"^({inner()})"
        case "+" | "*" | "?" as repeated:
            return f"({inner()}){repeated}"
        case "[":
            before = random.choice(("", f"({inner()})", _step(random)))
            return f"({before}[{_test(random, depth)}])"
        case "!":
            step = random.choice(STEPS)
            negated = (step, f"({step}|:price|:load)", f"^{step}", f"(:kind|^{step})", "()")
            return "!" + random.choice(negated)
        case ":":
            return f"{_axis(random)}::[{_test(random, depth)}]"
    return _step(random)


def _test(random: Random, depth: int) -> str:
    text = _expression(random, depth - 1)
    roll = random.random()
    if roll < 0.2:
        text += " " + _term(random)
    elif roll < 0.25:
        text += f" {_term(random)}, {_term(random)}; {_expression(random, depth - 2)} []"
    elif roll < 0.3:
        text += f" [ {_expression(random, depth - 2)} {_term(random)} ]"
    return text


def _term(random: Random) -> str:
    return random.choice((*NAMES, random.choice(NUMBERS), random.choice(LABELS)))


def _axis(random: Random) -> str:
    return random.choice(("self", "next", "next", "next-1", "edge", "edge-1", "node", "node-1"))


def _step(random: Random) -> str:
    roll = random.random()
    if roll < 0.4:
        return random.choice(STEPS)
    axis = _axis(random)
    if roll < 0.6:
        return axis
    return f"{axis}::{_named(random, axis)}"


def _named(random: Random, axis: str) -> str:
    """A term that can stand in the place which an axis leaves, mostly."""
    if random.random() < 0.1:
        return _term(random)
    if axis.startswith("next"):
        name = random.choice(STEPS)
    elif axis.startswith("node"):
        name = random.choice(RESOURCES)
    else:
        name = _term(random)
    return random.choice((name, name.removeprefix(":"))) if name.startswith(":") else name

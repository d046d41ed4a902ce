"""Random queries that stack a few operators over patterns which often match: each alone, and combined.

The queries of `oracle.query_text` have everything in them and few answers. Here one operator
stands over another, so that what one takes back is what the next one has to follow.
"""

from __future__ import annotations

from random import Random

from oracle.vocabulary import PROLOGUE

LEAVES = (
    ("?x :price ?n .", "x n"),
    ("?x :load ?m .", "x m"),
    ("?x :knows ?y .", "x y"),
    ("?y :near ?z .", "y z"),
    ("?x :knows ?y . ?y :price ?n .", "x y n"),
    ("?x ?p ?o .", "x o"),
    ("?x :knows+ ?y .", "x y"),
    ("?x (:knows|:near)+ ?z .", "x z"),
    ("?x :knows* ?y .", "x y"),
    (":a (:knows/:near)* ?y .", "y"),
)

Part = tuple[str, tuple[str, ...]]
"""The text of a pattern without its braces, and its variables."""


class OperatorWriter:
    """Writes queries with operators up to some depth."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.fresh = 0

    def leaf(self) -> Part:
        text, names = self.random.choice(LEAVES)
        return text, tuple(names.split())

    def pattern(self, depth: int) -> Part:
        if depth == 0:
            return self.leaf()
        write = self.random.choice(
            (
                self.joined, self.joined, self.optional, self.optional, self.minus, self.exists, self.exists,
                self.exists_anew, self.distinct, self.grouped, self.grouped, self.limited, self.limited,
                self.union, self.filtered, self.optional_if, self.implicit, self.bound,
            )
        )  # fmt: skip
        return write(depth - 1)

    def two(self, depth: int) -> tuple[Part, Part]:
        other = self.random.randint(0, depth)
        pair = [self.pattern(depth), self.pattern(other)]
        self.random.shuffle(pair)
        return pair[0], pair[1]

    def joined(self, depth: int) -> Part:
        (left, one), (right, other) = self.two(depth)
        word = self.random.choice(("", "SEQ", "SEQ", "EQUALS"))
        return f"{{ {left} }} {word} {{ {right} }}", _both(one, other)

    def union(self, depth: int) -> Part:
        (left, one), (right, other) = self.two(depth)
        return f"{{ {left} }} UNION {{ {right} }}", _both(one, other)

    def optional(self, depth: int) -> Part:
        (left, one), (right, other) = self.two(depth)
        word = self.random.choice(("OPTIONAL", "OPTIONAL", "EQUALSOPTIONAL", "OPTIONALSEQ"))
        return f"{{ {left} }} {word} {{ {right} }}", _both(one, other)

    def optional_if(self, depth: int) -> Part:
        """A condition of OPTIONAL, with EXISTS in it."""
        (left, one), (right, other) = self.two(depth)
        sought, _ = self.pattern(0)
        word = self.random.choice(("EXISTS", "NOT EXISTS"))
        condition = self.random.choice((f"{word} {{ {sought} }}", f"{self.condition(one + other)}"))
        return f"{{ {left} }} OPTIONAL {{ {right} FILTER ({condition}) }}", _both(one, other)

    def minus(self, depth: int) -> Part:
        (left, one), (right, _) = self.two(depth)
        return f"{{ {left} }} MINUS {{ {right} }}", one

    def exists(self, depth: int) -> Part:
        (left, one), (right, _) = self.two(depth)
        word = self.random.choice(("EXISTS", "NOT EXISTS"))
        return f"{{ {left} }} FILTER {word} {{ {right} }}", one

    def exists_anew(self, depth: int) -> Part:
        """EXISTS with a pattern that must be evaluated for each outer solution."""
        left, one = self.pattern(depth)
        right, other = self.leaf()
        name = self.random.choice(one)
        inner = self.random.choice(
            (
                f"{{ {right} }} MINUS {{ ?{name} :knows ?w . }}",
                f"SELECT ?{name} WHERE {{ {{ {right} }} {{ ?{name} ?q ?w }} }} ORDER BY ?w LIMIT 1 OFFSET 1",
                f"{{ {right} FILTER (BOUND(?{name})) }}",
                f"{{ ?v :price ?u . }} OPTIONAL {{ {right} FILTER (?{name} != ?v) }}",
                f"SELECT (COUNT(*) AS ?count) WHERE {{ {right} }} HAVING (COUNT(*) > 1)",
            )
        )
        word = self.random.choice(("EXISTS", "NOT EXISTS"))
        return f"{{ {left} }} FILTER {word} {{ {inner} }}", one

    def distinct(self, depth: int) -> Part:
        inner, names = self.pattern(depth)
        kept = self.some(names)
        return f"{{ SELECT DISTINCT {_listed(kept)} WHERE {{ {inner} }} }}", kept

    def grouped(self, depth: int) -> Part:
        inner, names = self.pattern(depth)
        keys = self.some(names)
        result = self.name()
        having = self.random.choice(("", "", "HAVING (COUNT(*) > 1)"))
        text = (
            f"{{ SELECT {_listed(keys)} ({self.aggregate(names)} AS ?{result}) WHERE {{ {inner} }} "
            f"GROUP BY {_listed(keys)} {having} }}"
        )
        return text, (*keys, result)

    def implicit(self, depth: int) -> Part:
        """The group that is there without members."""
        inner, names = self.pattern(depth)
        result = self.name()
        return f"{{ SELECT ({self.aggregate(names)} AS ?{result}) WHERE {{ {inner} }} }}", (result,)

    def limited(self, depth: int) -> Part:
        inner, names = self.pattern(depth)
        kept = self.some(names)
        key = self.random.choice(names)
        order = self.random.choice(
            (f"ORDER BY ?{key}", f"ORDER BY DESC(?{key})", "", f"ORDER BY STR(?{key})")
        )
        distinct = self.random.choice(("", "", "DISTINCT"))
        cut = self.random.choice(("LIMIT 1", "LIMIT 2", "LIMIT 3 OFFSET 1", "OFFSET 1"))
        return f"{{ SELECT {distinct} {_listed(kept)} WHERE {{ {inner} }} {order} {cut} }}", kept

    def filtered(self, depth: int) -> Part:
        inner, names = self.pattern(depth)
        return f"{{ {inner} FILTER ({self.condition(names)}) }}", names

    def bound(self, depth: int) -> Part:
        inner, names = self.pattern(depth)
        result = self.name()
        value = self.random.choice((f"STR(?{names[0]})", "getDURATION()", f"?{names[-1]}"))
        return f"{{ {inner} BIND ({value} AS ?{result}) }}", (*names, result)

    def condition(self, names: tuple[str, ...]) -> str:
        name, other = self.random.choice(names), self.random.choice(names)
        return self.random.choice(
            (
                'getDURATION() <= "PT3S"^^xsd:dayTimeDuration', f"?{name} != ?{other}", f"BOUND(?{name})",
                f"isIRI(?{name})", f"?{name} < 3",
            )
        )  # fmt: skip

    def aggregate(self, names: tuple[str, ...]) -> str:
        name = self.random.choice(names)
        function = self.random.choice(
            ("COUNT(*)", "COUNT(?{})", "COUNT(DISTINCT ?{})", "SUM(?{})", "MIN(?{})", "MAX(?{})")
        )
        return function.format(name)

    def some(self, names: tuple[str, ...]) -> tuple[str, ...]:
        chosen = [name for name in names if self.random.random() < 0.6]
        return tuple(chosen or [self.random.choice(names)])

    def name(self) -> str:
        self.fresh += 1
        return f"r{self.fresh}"

    def queries(self) -> tuple[str, ...]:
        """One query, sometimes with a rule that it reads."""
        depth = self.random.choice((1, 1, 2, 2, 3, 3, 4))
        text, names = self.pattern(depth)
        form = self.random.random()
        if form < 0.72:
            return (f"{PROLOGUE}SELECT {_listed(names)} WHERE {{ {text} }}",)
        if form < 0.8:
            return (f"{PROLOGUE}ASK {{ {text} }}",)
        if form < 0.86:
            return (f"{PROLOGUE}DESCRIBE ?{names[0]} WHERE {{ {text} }}",)
        blank = self.random.choice(("", f"[] :of ?{names[-1]} ."))
        rule = f"{PROLOGUE}CONSTRUCT {{ ?{names[0]} :made ?{names[-1]} . {blank} }} WHERE {{ {text} }}"
        other, more = self.pattern(1)
        reading = f"{PROLOGUE}SELECT * WHERE {{ {{ ?{names[0]} :made ?made . }} {{ {other} }} }}"
        return rule, reading


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _listed(names: tuple[str, ...]) -> str:
    return " ".join(f"?{name}" for name in names)


def operator_queries(random: Random) -> tuple[str, ...]:
    return OperatorWriter(random).queries()

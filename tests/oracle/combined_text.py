"""Random queries of CQELS-CEP with OPTIONAL, UNION, MINUS, EXISTS, BIND and sub-queries over windows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from oracle.expression_text import time_condition, value
from oracle.sequence_text import SequenceWriter, Written, joined, parsed_pattern, put_in
from oracle.vocabulary import PROLOGUE
from oracle.window_model import EventSequence, InWindow, Member
from penstock.algebra import Call, Exists, Extend, Filter, Minus, OuterJoin, Pattern, Query, Union_, Var
from penstock.algebra.relations import INTERSECTS, IntervalRule
from penstock.languages import parse_query
from penstock.terms import NamedNode

KINDS = ("optional", "union", "minus", "exists", "bind", "filter", "query")


class CombiningWriter(SequenceWriter):
    """Some of its queries go on from event clauses; `more` is where what it adds comes from."""

    def __init__(
        self,
        random: Random,
        static: Sequence[NamedNode | None],
        further: Random,
        paths: Random,
        more: Random,
    ) -> None:
        super().__init__(random, static, further, paths)
        self.more = more

    def selected(
        self, pattern: Pattern, where: str, names: list[str]
    ) -> tuple[Query, str, Sequence[NamedNode]]:
        before, self.random = self.random, self.more
        if self.chance(0.5):
            for kind in self.random.choices(KINDS, k=self.random.choice((1, 1, 2))):
                pattern, where, names = getattr(self, f"_{kind}")(pattern, where, names)
        self.random = before
        return super().selected(pattern, where, names)

    def _optional(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        other = self.event_clause()
        condition, text = None, ""
        if self.chance(0.4):
            text = time_condition(self.random)
            condition, text = _condition(text), f" FILTER ({text})"
        found = OuterJoin(
            pattern, other.pattern, INTERSECTS, condition=condition, interval=IntervalRule.INTERSECTION
        )
        return found, f"{{ {where} }} OPTIONAL {{ {other.text}{text} }}", _both(names, other.names)

    def _union(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        other = self.event_clause()
        text = f"{{ {where} }} UNION {{ {other.text} }}"
        return Union_(pattern, other.pattern), text, _both(names, other.names)

    def _minus(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        other = self.event_clause()
        return Minus(pattern, other.pattern), f"{{ {where} }} MINUS {{ {other.text} }}", names

    def _exists(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        other, condition = self.event_clause(), ""
        inside = other.pattern
        if self.chance(0.4):
            condition = time_condition(self.random)
            inside, condition = Filter(_condition(condition), inside), f" FILTER ({condition})"
        sought, word = Exists(inside), "EXISTS"
        if self.chance(0.5):
            sought, word = Call("!", (sought,)), "NOT EXISTS"
        text = f"{{ {where} }} FILTER {word} {{ {other.text}{condition} }}"
        return Filter(sought, pattern), text, names

    def _bind(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        name = self.new_name("n")
        text, _ = value(self.random, names)
        expression = parsed_pattern(f"?x :p ?y BIND ({text} AS ?{name})").expression
        return (
            Extend(pattern, Var(name), expression),
            f"{{ {where} }} BIND ({text} AS ?{name})",
            [*names, name],
        )

    def _filter(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        text = time_condition(self.random)
        return Filter(_condition(text), pattern), f"{{ {where} }} FILTER ({text})", names

    def _query(self, pattern: Pattern, where: str, names: list[str]) -> tuple[Pattern, str, list[str]]:
        """A sub-query, joined with another event clause."""
        names = names or ["x"]
        kept = self.random.sample(names, self.random.randint(1, len(names)))
        head = "SELECT " + self.random.choice(("", "DISTINCT ")) + " ".join(f"?{name}" for name in kept)
        tail = ""
        match self.random.choice(("plain", "group", "limit")):
            case "group":
                kept, tail = [kept[0], self.new_name("n")], f" GROUP BY ?{kept[0]}"
                head = f"SELECT ?{kept[0]} (COUNT(*) AS ?{kept[1]})"
            case "limit":
                tail = f" ORDER BY ?{kept[0]} LIMIT {self.random.randint(1, 3)}"
        stand_in = " . ".join(f"?{name} ?{name} ?{name}" for name in names)
        query = parse_query(f"{PROLOGUE}{head} WHERE {{ {stand_in} }}{tail}").query
        inner = f"{{ {head} WHERE {{ {where} }}{tail} }}"
        found = put_in(query.pattern, pattern)
        if self.chance(0.3):
            return found, inner, kept
        other = self.event_clause()
        return joined(found, other.pattern), f"{inner} {other.text}", _both(kept, other.names)


class BoundedWriter(CombiningWriter):
    """`SEQ(!:w1, :w2)` and the like, with a bound on the whole; what is absent mostly is a sequence."""

    def event_clause(self) -> Written:
        clauses, specs = [], []
        negated = self.random.choice((0, 0, 1, 1, 2))
        for place in range(self.random.choice((2, 2, 3))):
            name, inside = self.window(), self.triples()
            if place == negated and self.chance(0.8):
                parts = [self.triples() for _ in range(2)]
                text = ", ".join(f"{{ {part.text} }}" for part in parts)
                pattern = EventSequence(tuple(Member(part.pattern) for part in parts))
                inside = Written(pattern, f"SEQ({text})", ())
            specs.append(f"WINDOW {self.short(name)} {{ {inside.text} }}")
            sign = "!" if place == negated else ""
            clauses.append((Member(InWindow(name, inside.pattern), negated=place == negated), sign, inside))
        names = [name for member, _, inside in clauses if not member.negated for name in inside.names]
        members = ", ".join(f"{sign}{self.short(member.pattern.name)}" for member, sign, _ in clauses)
        sequence = EventSequence(tuple(member for member, _, _ in clauses))
        return Written(sequence, " ".join([*specs, f"SEQ({members})"]), tuple(dict.fromkeys(names)))

    def selected(
        self, pattern: Pattern, where: str, names: list[str]
    ) -> tuple[Query, str, Sequence[NamedNode]]:
        if self.chance(0.9):
            text = f'getDURATION() <= "PT{self.random.randint(0, 2)}S"^^xsd:duration'
            pattern, where = Filter(_condition(text), pattern), f"{{ {where} }} FILTER ({text})"
        return super().selected(pattern, where, names)


def _condition(text: str):
    return parsed_pattern(f"?x :p ?y FILTER ({text})").condition


def _both(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*names, *others)))

"""Random queries of CQELS-CEP: event clauses over windows, background patterns, aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from oracle.evaluate import with_scope
from oracle.expression_text import condition
from oracle.query_text import CONSTANTS, POOLS
from oracle.vocabulary import PREDICATES, PROLOGUE, WEIGHTS, iri
from oracle.window_model import Background, EventSequence, InWindow, Member
from penstock.algebra import BGP, ELEMENT, STREAM, Aggregate, Filter, Join, Pattern, Query, Var
from penstock.algebra.relations import INTERSECTS, IntervalRule
from penstock.languages import parse_query
from penstock.terms import NamedNode

BODY = "{{ {0} }}"
PATHS = (":knows+", "^:near", ":knows/:near", ":knows?", "(:near|:knows)*")
ALONGSIDE = (":knows+", "^:knows?", ":near|:knows/:near", "(:near|:knows)*", "!(:price|^:near)")
"""Paths that SPARQL does not make triples of."""
NESTED = (":knows/[:near]", "(:knows[:price]|^:near)+", "next::[self:::near]/:knows?")
RUN_AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST")


@dataclass(frozen=True)
class Written:
    """A pattern as algebra and as text, with the variables it binds."""

    pattern: object
    text: str
    names: tuple[str, ...]


def parsed_pattern(text: str) -> Pattern:
    """The pattern of a group, as the parser makes it."""
    return parse_query(f"{PROLOGUE}SELECT * WHERE {{ {text} }}").query.pattern.pattern


def joined(one: Pattern, other: Pattern) -> Pattern:
    """JOIN of paper 001: compatible solutions, the intersection of their intervals."""
    return Join(one, other, INTERSECTS, IntervalRule.INTERSECTION)


class SequenceWriter:
    """Writes one query from a source of randomness, both ways at once."""

    def __init__(
        self,
        random: Random,
        static: Sequence[NamedNode | None],
        further: Random | None = None,
        paths: Random | None = None,
        *,
        repeating: bool = False,
    ) -> None:
        self.random = random
        self.further = further  # of FILTERs in members and of more background: the rest is the same without
        self.paths = paths  # of paths beside triples, likewise
        self.static = static  # the names of the static graphs
        self.repeating = repeating  # sequences mostly have repetitions
        self.windows: list[NamedNode] = []
        self.fresh = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def new_name(self, kind: str) -> str:
        self.fresh += 1
        return f"{kind}{self.fresh}"

    # --- triples of one element ---------------------------------------------------------------

    def triple(self, subject: str = "x", own: str | None = None) -> Written:
        """`?x :price ?n`; `own` is a variable for the object that nothing else has."""
        predicate = self.random.choices(list(WEIGHTS), [weight**2 for weight in WEIGHTS.values()])[0]
        kind = PREDICATES[predicate]
        if own is not None:
            return Written(None, f"?{subject} {predicate} ?{own}", (subject, own))
        if self.chance(0.1):
            return Written(None, f"?{subject} {predicate} {self.random.choice(CONSTANTS[kind])}", (subject,))
        if self.chance(0.6):
            object_ = self.new_name("n" if kind == "number" else "o")
        else:
            object_ = self.random.choice([name for name in POOLS[kind] if name != subject])
        return Written(None, f"?{subject} {predicate} ?{object_}", (subject, object_))

    def triples(self) -> Written:
        """A TriplesTemplate: one or two triples that an element must have together."""
        parts = [self.triple("x" if self.chance(0.95) else "y") for _ in range(1 + self.chance(0.08))]
        parts = self.with_paths(parts)
        text = " . ".join(part.text for part in parts)
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        return self.filtered(Written(with_scope(parsed_pattern(text), ELEMENT), text, names), 0.15)

    def with_paths(self, parts: list[Written]) -> list[Written]:
        """Sometimes with paths that the same element must have, before the triples, behind or between."""
        random = self.paths
        if random is None or random.random() >= 0.08:
            return parts
        for _ in range(random.choice((1, 1, 2))):
            begin, end = random.choice("xxxyz"), random.choice(("y", "z", self.new_name("o")))
            path = Written(None, f"?{begin} {random.choice((*ALONGSIDE, *NESTED))} ?{end}", (begin, end))
            parts.insert(random.randrange(len(parts) + 1), path)
        return parts

    def filtered(self, part: Written, probability: float) -> Written:
        """Sometimes with a FILTER; it sees what the part binds, and nothing of what others bind."""
        if self.further is None or self.further.random() >= probability:
            return part
        seen = (*part.names, "y") if self.further.random() < 0.1 else part.names
        text = condition(self.further, seen, temporal=False)
        pattern = Filter(parsed_pattern(f"?x :p ?y FILTER ({text})").condition, part.pattern)
        return Written(pattern, f"{part.text} FILTER ({text})", part.names)

    # --- sequences --------------------------------------------------------------------------------

    def sequence(self) -> Written:
        """A triple sequence pattern: one member, or SEQ with at most one negated and some repeated."""
        if self.repeating:
            count = self.random.choice((2, 2, 3, 3, 3, 4))
            return self.seq([self.triples() for _ in range(count)])
        if self.chance(0.2):
            return self.triples()
        return self.seq([self.triples() for _ in range(self.random.choice((2, 2, 3, 3)))])

    def seq(self, parts: list[Written], braces: str = BODY) -> Written:
        """SEQ over members that are given, of which one may be negated, and others repeated."""
        count = len(parts)
        negated = self.random.randrange(count) if count > 1 and self.chance(0.4) else None
        repeated: set[int] = set()
        if braces == BODY:
            for place in range(count):
                positive = [n for n in range(count) if n != negated]
                others = [n for n in positive if n not in repeated | {place}]
                index = positive.index(place) if place in positive else None
                beside = index is not None and any(
                    abs(positive.index(other) - index) == 1 for other in repeated
                )
                wanted = 0.6 if self.repeating else 0.2
                if place != negated and others and not beside and self.chance(wanted):
                    repeated.add(place)
        members, texts, names = [], [], []
        for place, part in enumerate(parts):
            if place in repeated:
                part, member, text, bound = self.repetition()
                names += bound
            else:
                member = Member(part.pattern, negated=place == negated)
                text = ("!" if place == negated else "") + braces.format(part.text)
                names += [] if place == negated else part.names
            members.append(member)
            texts.append(text)
        pattern = EventSequence(tuple(members))
        return Written(pattern, f"SEQ({', '.join(texts)})", tuple(dict.fromkeys(names)))

    def repetition(self) -> tuple[Written, Member, str, list[str]]:
        """`{ ?x :price ?m1 }+ (AVG(?m1) AS ?nb2)`: only aggregates see what is its own."""
        own = self.new_name("m")
        part = self.triple("x", own=own)
        if self.repeating and self.chance(0.3):
            more = self.triple("x", own=f"{own}b") if self.chance(0.5) else self.triple("y", own=f"{own}b")
            part = Written(None, f"{part.text} . {more.text}", (*part.names, *more.names))
        part = self.filtered(replace(part, pattern=replace(parsed_pattern(part.text), scope=ELEMENT)), 0.1)
        aggregates, texts, names = [], [], []
        for _ in range(self.random.choice((0, 1, 1, 2))):
            if self.repeating and self.chance(0.3):
                names.append(self.new_name("nb"))
                aggregate, text = self.other_aggregate(own)
                aggregates.append((Var(names[-1]), aggregate))
                texts.append(f" ({text} AS ?{names[-1]})")
                continue
            function = self.random.choice(RUN_AGGREGATES)
            star = function == "COUNT" and self.chance(0.5)
            name = self.new_name("nb")
            aggregates.append((Var(name), Aggregate(function, None if star else Var(own), False)))
            texts.append(f" ({function}({'*' if star else f'?{own}'}) AS ?{name})")
            names.append(name)
        member = Member(part.pattern, repeated=True, aggregates=tuple(aggregates))
        return part, member, "{ " + part.text + " }+" + "".join(texts), names

    def other_aggregate(self, own: str) -> tuple[Aggregate, str]:
        """Those with DISTINCT, over expressions, and what SPARQL leaves open."""
        match self.random.randrange(5):
            case 0:
                return Aggregate("COUNT", None, True), "COUNT(DISTINCT *)"
            case 1:
                function = self.random.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
                return Aggregate(function, Var(own), True), f"{function}(DISTINCT ?{own})"
            case 2:
                return Aggregate("SAMPLE", Var(own), False), f"SAMPLE(?{own})"
            case 3:
                text = f'GROUP_CONCAT(?{own} ; SEPARATOR = ",")'
                return Aggregate("GROUP_CONCAT", Var(own), False, ","), text
        twice = parsed_pattern(f"?x :p ?y FILTER (?{own} * 2)").condition
        function = self.random.choice(("SUM", "FIRST", "LAST"))
        return Aggregate(function, twice, False), f"{function}(?{own} * 2)"

    # --- event clauses --------------------------------------------------------------------------------

    def window(self) -> NamedNode:
        self.windows.append(iri(f":w{len(self.windows) + 1}"))
        return self.windows[-1]

    def event_clause(self) -> Written:
        """WINDOW with a sequence, or SEQ over windows."""
        if self.chance(0.85 if self.repeating else 0.65):
            name, inside = self.window(), self.sequence()
            text = f"WINDOW {self.short(name)} {{ {inside.text} }}"
            return Written(InWindow(name, inside.pattern), text, inside.names)
        clauses, specs = [], []
        for _ in range(self.random.choice((2, 3, 3))):
            name = self.window()
            inside = self.sequence() if self.chance(0.25) else self.triples()
            specs.append(f"WINDOW {self.short(name)} {{ {inside.text} }}")
            clauses.append(Written(InWindow(name, inside.pattern), self.short(name), inside.names))
        whole = self.seq(clauses, braces="{0}")
        return replace(whole, text=" ".join([*specs, whole.text]))

    def short(self, name: NamedNode) -> str:
        return ":" + name.value.rsplit("/", 1)[-1]

    def query(self) -> tuple[Query, str, Sequence[NamedNode]]:
        """(algebra, text without its prologue and windows, the names of the windows)."""
        clauses = [self.event_clause() for _ in range(self.random.choice((1, 1, 1, 1, 2)))]
        pattern, texts = clauses[0].pattern, [each.text for each in clauses]
        for each in clauses[1:]:
            pattern = joined(pattern, each.pattern)
        names = list(dict.fromkeys(name for each in clauses for name in each.names))
        if self.static and self.chance(0.5):
            static = [self.background(), *self.more_background()]
            text = " ".join(each.text for each in static)
            pattern = joined(pattern, Background(parsed_pattern(text)))
            texts.append(text)
            names = list(dict.fromkeys((*names, *(name for each in static for name in each.names))))
        if self.chance(0.2):
            text = condition(self.random, names, temporal=True)
            pattern = Filter(parsed_pattern(f"?x :p ?y FILTER ({text})").condition, pattern)
            texts.append(f"FILTER ({text})")
        return self.selected(pattern, " ".join(texts), names)

    def background(self) -> Written:
        """A triple or a path in a static graph."""
        inside = self.triple("x")
        if self.chance(0.25):
            inside = Written(None, f"?x {self.random.choice(PATHS)} ?z", ("x", "z"))
        name = self.random.choice(self.static)
        return self.known_in(name, inside.text, inside.names)

    def known_in(self, name: NamedNode | None, text: str, names: tuple[str, ...]) -> Written:
        text = f"{text} ." if name is None else f"GRAPH {self.short(name)} {{ {text} }}"
        return Written(None, text, names)

    def more_background(self) -> list[Written]:
        """Further patterns of static graphs: about the same thing, what it leads to, or another one."""
        if self.further is None or self.further.random() >= 0.4:
            return []
        found = []
        for _ in range(self.further.choice((1, 1, 2))):
            subject, predicate = self.further.choice("xxyz"), self.further.choice((*WEIGHTS, *PATHS, *NESTED))
            object_ = self.further.choice(("y", "z", self.new_name("o")))
            if PREDICATES.get(predicate, "resource") != "resource":
                object_ = self.new_name("o")
            name, text = self.further.choice(self.static), f"?{subject} {predicate} ?{object_}"
            found.append(self.known_in(name, text, (subject, object_)))
        return found

    def in_ep_sparql(self) -> tuple[Query, str]:
        """(algebra, text) of `{ … } SEQ { … }+ SEQ { … }`: triples of the whole stream, no negation."""
        members, texts, names = [], [], []
        for place in range(self.random.choice((3, 3, 3, 5))):
            if place % 2:
                _, member, text, bound = self.repetition()
                names += bound
            else:
                part = self.triples()
                member, text = Member(part.pattern), "{ " + part.text + " }"
                names += part.names
            members.append(replace(member, pattern=replace(member.pattern, scope=STREAM)))
            texts.append(text)
        query, body, _ = self.selected(EventSequence(tuple(members)), " SEQ ".join(texts), names)
        return query, PROLOGUE + body

    def selected(
        self, pattern: Pattern, where: str, names: list[str]
    ) -> tuple[Query, str, Sequence[NamedNode]]:
        """SELECT, DISTINCT, aggregates, CONSTRUCT, DESCRIBE or ASK over the pattern."""
        shape = self.random.choices(("plain", "distinct", "aggregates", "construct", "ask"), (8, 2, 4, 1, 1))[
            0
        ]
        names = names or ["x"]
        some = self.random.sample(names, self.random.randint(1, len(names)))
        columns = " ".join(f"?{name}" for name in some)
        match shape:
            case "plain":
                head = f"SELECT {columns}"
            case "distinct":
                head = f"SELECT DISTINCT {columns}"
            case "construct" if None in self.static and Random(where).random() < 0.5:
                head = "DESCRIBE ?x"
            case "construct":
                head = f"CONSTRUCT {{ ?x :made ?{some[0]} }}"
            case "ask":
                head = "ASK"
            case _:
                function = self.random.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
                head = f"SELECT ?x ({function}(?{some[0]}) AS ?total)"
        tail = " GROUP BY ?x" if shape == "aggregates" and self.chance(0.6) else ""
        if shape == "aggregates" and not tail:
            head = head.replace("SELECT ?x ", "SELECT ")
        placed = "" if shape == "ask" else " WHERE"
        stand_in = " . ".join(f"?{name} ?{name} ?{name}" for name in dict.fromkeys(("x", *names)))
        query = parse_query(f"{PROLOGUE}{head}{placed} {{ {stand_in} }}{tail}").query
        return put_in(query, pattern), f"{head}{placed} {{ {where} }}{tail}", tuple(self.windows)


def put_in(node, pattern: Pattern):
    """The query with its only basic graph pattern replaced."""
    if isinstance(node, BGP):
        return pattern
    return replace(node, pattern=put_in(node.pattern, pattern))

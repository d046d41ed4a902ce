"""Rules: who feeds whom, in which order, and does it come to an end?

A rule feeds every query with a leaf that one of its template triples can match, in a graph that
it writes and the leaf reads. Queries that are linked that way form a *program*. Decision 0001:
absence that depends on its own result at the same instant has no least closure, and a recursion
that makes new terms while time stands still would never end; both are refused. A cycle in which
time moves on, because it passes the earlier side of a SEQ, is fine: every step of it uses what
ended strictly before.

All of it takes time in proportion to the rules: they meet their readers at junctions, which are
places of the graphs here as the queries are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.algebra.nodes import Construct, Query, TriplePattern, Var, is_rule
from penstock.errors import QueryError
from penstock.plan.analysis.components import Edge, components, linked
from penstock.plan.analysis.junctions import Junction, junctions
from penstock.plan.analysis.leaves import Leaf, query_leaves
from penstock.plan.analysis.new_terms import made_variables
from penstock.plan.analysis.reads import LookUps, can_be_timeless
from penstock.plan.analysis.rule_graphs import target_of
from penstock.plan.analysis.unification import LookUp, look_ups
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import rule_graphs, written_graphs
from penstock.plan.steps import Scan, Step
from penstock.plan.wording import in_words, leaf_text
from penstock.terms import BlankNode


@dataclass(frozen=True, slots=True)
class Made:
    """A template triple of a rule; both by their places."""

    rule: int
    triple: int

    @property
    def owner(self) -> int:
        return self.rule


@dataclass(frozen=True, slots=True)
class Sought:
    """A look-up that a leaf of a query makes in a graph that rules write."""

    query: int
    leaf: Leaf
    look_up: LookUp

    @property
    def owner(self) -> int:
        return self.query

    @property
    def absent(self) -> bool:
        """One more derived triple may take an answer of the query away."""
        return self.leaf.absent

    @property
    def later(self) -> bool:
        """What the query makes of the triple ends strictly later than the triple."""
        return self.leaf.later


@dataclass(frozen=True)
class Feeding:
    """How the rules among some queries feed queries.

    `junctions` speak of places in `made` and `sought`. `timeless` has for each query the look-ups
    of it that find a triple which a rule makes without an interval, from static knowledge. `notified` are
    rules and queries to which it matters when a rule gives something, whatever it is.
    """

    queries: tuple[Query, ...]
    made: tuple[Made, ...]
    sought: tuple[Sought, ...]
    junctions: tuple[Junction, ...]
    timeless: tuple[LookUps, ...]
    notified: tuple[Edge, ...] = ()

    def edges(self, *, standing: bool = False) -> Iterator[Edge]:
        """From rules to junctions, and on to queries; the junctions' places come after the queries'.

        `standing`: without those through which time moves on.
        """
        yield from self.notified
        for place, junction in enumerate(self.junctions, len(self.queries)):
            for made in junction.made:
                yield self.made[made].rule, place
            for sought in reversed(junction.sought):  # so that they keep their order in components
                if not (standing and self.sought[sought].later):
                    yield place, self.sought[sought].query

    @property
    def places(self) -> int:
        return len(self.queries) + len(self.junctions)


def feeding(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> Feeding:
    """All ways in which rules among the queries feed queries."""
    rules = [(place, rule) for place, rule in enumerate(queries) if is_rule(rule)]
    made = [Made(place, triple) for place, rule in rules for triple in range(len(rule.template))]
    triples = [(target_of(rule), triple) for _, rule in rules for triple in rule.template]
    written = {graph for graph, _ in triples}
    asked: list[tuple[int, int, LookUp]] = []  # query, leaf, look-up
    graphs: list[str | None] = []
    for place, (query, dataset) in enumerate(zip(queries, datasets, strict=True)):
        for number, leaf in enumerate(query_leaves(query, dataset) if written else ()):
            for graph in sorted(written_graphs(leaf.sources) & written, key=str):
                for look_up in look_ups(leaf.pattern):
                    asked.append((place, number, look_up))
                    graphs.append(graph)
    met = junctions(triples, [(graph, each[2]) for graph, each in zip(graphs, asked, strict=True)])
    timeless = _timeless(queries, datasets, made, asked, met)
    leaves = {
        place: list(query_leaves(queries[place], datasets[place], timeless[place]))
        for place in {place for place, _, _ in asked}
    }
    sought = [Sought(place, leaves[place][number], look_up) for place, number, look_up in asked]
    return Feeding(tuple(queries), tuple(made), tuple(sought), tuple(met), timeless)


def nothing_fed(queries: Sequence[Query]) -> Feeding:
    """Queries each of which stands alone."""
    return Feeding(tuple(queries), (), (), (), (frozenset(),) * len(queries))


def _timeless(
    queries: Sequence[Query],
    datasets: Sequence[ActiveDataset],
    made: Sequence[Made],
    asked: Sequence[tuple[int, int, LookUp]],
    met: Sequence[Junction],
) -> tuple[LookUps, ...]:
    """For each query the look-ups that find triples without an interval: the smallest solution."""
    found: list[LookUps] = [frozenset() for _ in queries]
    meetings: dict[int, list[Junction]] = {}  # of each rule
    for junction in met:
        for rule in {made[each].rule for each in junction.made}:
            meetings.setdefault(rule, []).append(junction)
    waiting = [place for place, query in enumerate(queries) if is_rule(query)]
    timeless: set[int] = set()
    passed: set[int] = set()  # the junctions, by identity, that a timeless rule has reached
    while waiting:
        rule = waiting.pop()
        if rule in timeless or queries[rule].continuous is not None:
            continue
        if not can_be_timeless(queries[rule].pattern, datasets[rule], found[rule]):
            continue
        timeless.add(rule)
        for junction in meetings.get(rule, ()):
            if id(junction) in passed:
                continue
            passed.add(id(junction))
            more: dict[int, set[tuple[str | None, LookUp]]] = {}
            for place in junction.sought:
                query, _, look_up = asked[place]
                more.setdefault(query, set()).add((junction.graph, look_up))
            for query, new in more.items():
                found[query] |= new
                if is_rule(queries[query]):
                    waiting.append(query)
    return tuple(found)


def rules_and_scans(network: Sequence[Step]) -> list[tuple[list[int], list[int]]]:
    """The same for steps: rules that feed the same scans, and these, each pair of both once."""
    rules: list[int] = []
    made: list[tuple[str | None, TriplePattern]] = []
    scans: list[int] = []
    sought: list[tuple[str | None, LookUp]] = []
    for place, step in enumerate(network):
        if step.feeds:
            rules += [place] * len(step.template)
            made += [(step.target, triple) for triple in step.template]
        elif isinstance(step, Scan):
            terms = (step.subject, step.predicate, step.object)
            look_up = LookUp(*(Var(term) if isinstance(term, str) else term for term in terms))
            for graph in rule_graphs(step.sources):
                scans.append(place)
                sought.append((graph, look_up))
    join_bounds: dict[int, dict[int, None]] = {}  # the junctions of each rule
    met = junctions(made, sought)
    for number, junction in enumerate(met):
        for each in junction.made:
            join_bounds.setdefault(rules[each], {})[number] = None
    alike: dict[tuple[int, ...], list[int]] = {}
    for rule, numbers in join_bounds.items():
        alike.setdefault(tuple(numbers), []).append(rule)
    return [
        (fed_by, sorted({scans[each] for number in numbers for each in met[number].sought}))
        for numbers, fed_by in alike.items()
    ]


# --- programs ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RuleProgram:
    """Queries that rules link, in an order in which rules come before what they feed.

    `strata` gives each of them, in that order, its stratum: what depends on the absence of a
    rule's results at the same instant is in a higher one than the rule. `circles` are those that
    feed themselves or each other; `meetings` say which rules feed which queries, all of the ones
    all of the others.
    """

    queries: tuple[int, ...]
    strata: tuple[int, ...]
    circles: tuple[tuple[int, ...], ...] = ()
    meetings: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    @property
    def recursive(self) -> bool:
        return bool(self.circles)


def programs(fed: Feeding, names: Sequence[str] | None = None) -> tuple[RuleProgram, ...]:
    """The queries as programs of linked ones; a recursion without end or sense is refused.

    `names` are what messages call the queries (their files); else `query 1`, `query 2`, …
    """
    count = len(fed.queries)
    names = names or [f"query {place + 1}" for place in range(count)]
    standing = components(fed.places, fed.edges(standing=True))
    check_recursion(fed, standing, names)
    strata = _strata(fed, standing)
    group = linked(fed.places, fed.edges())
    # Rules stay before what they feed where the strata are the same.
    order = [place for members in standing for place in members if place < count]
    order.sort(key=strata.__getitem__)
    members: dict[int, list[int]] = {first: [] for first in dict.fromkeys(group[:count])}
    for place in order:
        members[group[place]].append(place)
    circles: dict[int, list[tuple[int, ...]]] = {first: [] for first in members}
    for circle in components(fed.places, fed.edges()):
        if len(circle) > 1:  # it has a junction in it
            circles[group[circle[0]]].append(tuple(place for place in circle if place < count))
    meetings: dict[int, list] = {first: [] for first in members}
    for place, junction in enumerate(fed.junctions, count):
        rules = dict.fromkeys(fed.made[each].rule for each in junction.made)
        readers = dict.fromkeys(fed.sought[each].query for each in junction.sought)
        meetings[group[place]].append((tuple(rules), tuple(readers)))
    for rule, reader in fed.notified:
        meetings[group[rule]].append(((rule,), (reader,)))
    return tuple(
        RuleProgram(
            tuple(places),
            tuple(strata[place] for place in places),
            tuple(circles[first]),
            tuple(dict.fromkeys(meetings[first])),
        )
        for first, places in members.items()
    )


def _strata(fed: Feeding, standing: Sequence[Sequence[int]]) -> list[int]:
    """The stratum of each place. `standing` are the components, each before those it feeds."""
    count = len(fed.queries)
    component = {place: number for number, members in enumerate(standing) for place in members}
    level = [0] * len(standing)
    reaching: list[list[tuple[int, bool]]] = [[] for _ in standing]  # from which component, through absence
    for place, junction in enumerate(fed.junctions, count):
        here = component[place]
        for rule in {fed.made[each].rule for each in junction.made}:
            reaching[here].append((component[rule], False))
        for each in junction.sought:
            sought = fed.sought[each]
            if not sought.later:
                reaching[component[sought.query]].append((here, sought.absent))
    for number, sources in enumerate(reaching):
        level[number] = max((level[one] + absent for one, absent in sources if one != number), default=0)
    return [level[component[place]] for place in range(fed.places)]


_LET_TIME_PASS = (
    "put the part that reads derived triples on the earlier side of a SEQ, with a later side "
    "that only a stream can match"
)
_SOME = 5
"""As many rules of a circle are named."""


def check_recursion(fed: Feeding, standing: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    """Refuse recursion through absence, or with new terms, in which time does not move on.

    `standing` are the components by edges through which it does not.
    """
    for members in standing:
        if len(members) == 1:  # a circle has a junction in it
            continue
        rules = [place for place in members if place < len(fed.queries)]
        inside = set(rules)
        met = [fed.junctions[place - len(fed.queries)] for place in members if place >= len(fed.queries)]
        who = in_words((f"`{names[place]}`" for place in rules), most=_SOME)
        subject = f"the rule {who} feeds itself" if len(rules) == 1 else f"{who} feed each other"
        for place in sorted({each for junction in met for each in junction.sought}):
            sought = fed.sought[place]
            if sought.absent and not sought.later and sought.query in inside:
                raise QueryError(
                    f"{subject} through an absence: `{leaf_text(sought.leaf.pattern)}` in "
                    f"`{names[sought.query]}` stands where one more match can take an answer away "
                    "(OPTIONAL, MINUS, EXISTS, UNLESS, NEXT, a repetition, GROUP BY, ORDER BY or LIMIT), "
                    "and the answer would be derived from its own absence at the same instant",
                    hint=f"{_LET_TIME_PASS}, so that it speaks of what was derived before; or "
                    "give the derived triples a predicate of their own",
                )
        for place in sorted({each for junction in met for each in junction.made}):
            made = fed.made[place]
            rule = fed.queries[made.rule]
            if made.rule not in inside:
                continue
            assert isinstance(rule, Construct)
            template = rule.template[made.triple]
            new = _new_in(template, made_variables(rule.pattern))
            if new is not None:
                raise QueryError(
                    f"this recursion would never end: {subject}, and {new} in "
                    f"`{leaf_text(template)}` of `{names[made.rule]}` is a new term each time "
                    "round while time stands still",
                    hint=f"{_LET_TIME_PASS}, so that each round needs a later stream element",
                )


def _new_in(template: TriplePattern, made: frozenset[Var]) -> str | None:
    """The part of a template triple that is a new term in each solution, in words."""
    for term in template:
        if isinstance(term, BlankNode):
            return "the blank node"
        if term in made:
            return f"the computed {term}"
    return None

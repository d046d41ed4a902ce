"""CONSTRUCT queries as rules: who feeds whom, in which order, and does it come to an end?

A rule feeds every query with a leaf that one of its template triples can match. Queries that
are linked that way form a *program*. Decision 0001: absence that depends on its own result
at the same instant has no least closure, and a recursion that makes new terms while time
stands still would never end; both are refused. A cycle in which time moves on, because it
passes the earlier side of a SEQ, is fine: every step of it uses what ended strictly before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.nodes import (
    Aggregate,
    Call,
    Construct,
    Describe,
    Exists,
    Expression,
    Extend,
    Group,
    Pattern,
    Query,
    TermOrVar,
    TriplePattern,
    Var,
)
from penstock.errors import QueryError
from penstock.plan.analysis.leaves import Leaf, query_leaves
from penstock.plan.analysis.matching import LookUp, can_match, can_match_look_up, look_ups
from penstock.plan.analysis.reads import Templates, can_be_timeless, sources_read
from penstock.plan.analysis.variables import of_expression
from penstock.plan.analysis.walk import children
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.sources import RuleGraph, Source, Sources, changing, rule_graphs, streams, timed
from penstock.plan.wording import in_words, leaf_text
from penstock.terms import BlankNode, NamedNode

__all__ = [
    "Connection",
    "RuleProgram",
    "can_match",
    "check_recursion",
    "connections",
    "instant_streams",
    "made_variables",
    "programs",
    "timeless_templates",
    "with_rules",
]


@dataclass(frozen=True, slots=True)
class Connection:
    """A template triple of one query that can match a leaf of another (or the same) one.

    `rule` and `query` are places in the list of queries, `triple` one in the template;
    `step` is the look-up of the leaf that it matches.
    """

    rule: int
    triple: int
    query: int
    leaf: Leaf
    look_up: LookUp

    @property
    def absent(self) -> bool:
        """One more derived triple may take an answer of the query away."""
        return self.leaf.absent

    @property
    def later(self) -> bool:
        """What the query makes of the triple ends strictly later than the triple."""
        return self.leaf.later


@dataclass(frozen=True, slots=True)
class RuleProgram:
    """Queries that rules link, in an order in which rules come before what they feed.

    `strata` gives each of them, in that order, its stratum: what depends on the absence of a
    rule's results at the same instant is in a higher one than the rule.
    """

    queries: tuple[int, ...]
    strata: tuple[int, ...]
    connections: tuple[Connection, ...] = ()
    recursive: bool = False


def connections(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> tuple[Connection, ...]:
    """All ways in which rules among the queries feed queries."""
    rules = [(i, rule) for i, rule in enumerate(queries) if isinstance(rule, Construct)]
    targets = {i: target_of(rule) for i, rule in rules}
    found: dict[Connection, None] = {}
    if not rules:
        return ()
    timeless = timeless_templates(queries, datasets)
    templates = [
        (rule, triple, template)
        for rule, construct in rules
        for triple, template in enumerate(construct.template)
    ]
    by_predicate: dict[TermOrVar, list[tuple[int, int, TriplePattern]]] = {}
    for each in templates:
        by_predicate.setdefault(each[2].predicate, []).append(each)
    any_predicate = [each for each in templates if isinstance(each[2].predicate, Var)]
    for place, (query, dataset) in enumerate(zip(queries, datasets, strict=True)):
        for leaf in query_leaves(query, dataset, timeless):
            written = rule_graphs(leaf.sources)
            if not written:
                continue
            for look_up in look_ups(leaf.pattern):
                candidates = templates
                if isinstance(look_up.predicate, NamedNode):
                    candidates = [*by_predicate.get(look_up.predicate, ()), *any_predicate]
                for rule, triple, template in candidates:
                    if targets[rule] in written and can_match_look_up(template, look_up):
                        found[Connection(rule, triple, place, leaf, look_up)] = None
    return tuple(found)


def timeless_templates(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> Templates:
    """The template triples that rules can make without an interval, from static knowledge."""
    found: dict[tuple[str | None, TriplePattern], None] = {}
    waiting = [
        (query, dataset)
        for query, dataset in zip(queries, datasets, strict=True)
        if isinstance(query, Construct)
    ]
    grown = True
    while grown:
        grown = False
        for pair in tuple(waiting):
            query, dataset = pair
            if can_be_timeless(query.pattern, dataset, tuple(found)):
                found.update(dict.fromkeys((target_of(query), triple) for triple in query.template))
                waiting.remove(pair)
                grown = True
    return tuple(found)


def with_rules(catalog: Catalog, queries: Sequence[Query]) -> Catalog:
    """The catalog with the graphs that the rules among the queries write, as they are."""
    bare = catalog.with_targets(queries)
    origins = _origins(queries, [bare.active(query.dataset) for query in queries])
    graphs = (
        RuleGraph(graph.iri, timed(origins.get(graph.iri, ())), changing(origins.get(graph.iri, ())))
        for graph in bare.rules
    )
    return replace(bare, rules=tuple(graphs))


def _origins(queries: Sequence[Query], datasets: Sequence[ActiveDataset]) -> dict[str | None, Sources]:
    """For each graph that rules write the streams and static graphs that it comes from in the end."""
    found: defaultdict[str | None, set[Source]] = defaultdict(set)
    readers: defaultdict[str | None, set[str | None]] = defaultdict(set)
    for query, dataset in zip(queries, datasets, strict=True):
        if isinstance(query, Construct):
            target = target_of(query)
            for source in sources_read(query.pattern, dataset):
                if isinstance(source, RuleGraph):
                    readers[source.iri].add(target)
                else:
                    found[target].add(source)
    waiting = list(found)
    while waiting:
        graph = waiting.pop()
        for reader in readers[graph]:
            if not found[graph] <= found[reader]:
                found[reader] |= found[graph]
                waiting.append(reader)
    return {graph: frozenset(sources) for graph, sources in found.items()}


def target_of(rule: Construct) -> str | None:
    """The name of the graph that a rule writes."""
    return None if rule.target is None else rule.target.value


def instant_streams(
    queries: Sequence[Query], datasets: Sequence[ActiveDataset]
) -> tuple[frozenset[int], ...]:
    """For each query the streams whose elements' ends are its instants.

    Those it reads; and if it reads a graph that rules write, those that this comes from.
    """
    written = {graph: streams(sources) for graph, sources in _origins(queries, datasets).items()}
    found = []
    for query, dataset in zip(queries, datasets, strict=True):
        sources = sources_read(query.pattern, dataset)
        if isinstance(query, Describe):
            sources |= dataset.default
        by_rules = (written.get(graph, frozenset()) for graph in rule_graphs(sources))
        found.append(streams(sources).union(*by_rules))
    return tuple(found)


# --- programs ------------------------------------------------------------------------------


def programs(
    queries: Sequence[Query], catalog: Catalog, names: Sequence[str] | None = None
) -> tuple[RuleProgram, ...]:
    """The queries as programs of linked ones; a recursion without end or sense is refused.

    `names` are what messages call the queries (their files); else `query 1`, `query 2`, …
    """
    catalog = with_rules(catalog, queries)
    datasets = [catalog.active(query.dataset) for query in queries]
    names = names or [f"query {place + 1}" for place in range(len(queries))]
    edges = connections(queries, datasets)
    check_recursion(queries, edges, names)
    strata, order = _strata(len(queries), edges)
    group = _linked(len(queries), edges)
    feeds = [(edge.rule, edge.query) for edge in edges]
    in_cycle = {
        place
        for members in cycles(len(queries), feeds)
        for place in members
        if len(members) > 1 or (place, place) in feeds
    }
    result = []
    for representative in dict.fromkeys(group):
        members = tuple(place for place in order if group[place] == representative)
        result.append(
            RuleProgram(
                members,
                tuple(strata[place] for place in members),
                tuple(edge for edge in edges if group[edge.query] == representative),
                any(place in in_cycle for place in members),
            )
        )
    return tuple(result)


_LET_TIME_PASS = (
    "put the part that reads derived triples on the earlier side of a SEQ, with a later side "
    "that only a stream can match"
)


def check_recursion(queries: Sequence[Query], edges: Sequence[Connection], names: Sequence[str]) -> None:
    """Refuse recursion through absence, or with new terms, in which time does not move on."""
    standing = [edge for edge in edges if not edge.later]
    for members in cycles(len(queries), [(edge.rule, edge.query) for edge in standing]):
        within = [e for e in standing if e.rule in members and e.query in members]
        who = in_words(f"`{names[place]}`" for place in sorted(members))
        subject = f"the rule {who} feeds itself" if len(members) == 1 else f"{who} feed each other"
        for edge in within:
            if edge.absent:
                raise QueryError(
                    f"{subject} through an absence: `{leaf_text(edge.leaf.pattern)}` in "
                    f"`{names[edge.query]}` stands where one more match can take an answer "
                    "away (OPTIONAL, MINUS, EXISTS, GROUP BY, ORDER BY or LIMIT), and the "
                    "answer would be derived from its own absence at the same instant",
                    hint=f"{_LET_TIME_PASS}, so that it speaks of what was derived before; or "
                    "give the derived triples a predicate of their own",
                )
        for edge in within:
            rule = queries[edge.rule]
            assert isinstance(rule, Construct)
            template = rule.template[edge.triple]
            new = _new_in(template, made_variables(rule.pattern))
            if new is not None:
                raise QueryError(
                    f"this recursion would never end: {subject}, and {new} in "
                    f"`{leaf_text(template)}` of `{names[edge.rule]}` is a new term each time "
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


# --- terms that rules make -----------------------------------------------------------------

# Their results are few, or parts of what they are given: no end of new terms comes from them.
_FINITE = frozenset(
    "= != < > <= >= && || ! IN NOTIN BOUND EXISTS SAMETERM ISIRI ISURI ISBLANK ISLITERAL "
    "ISNUMERIC LANGMATCHES CONTAINS STRSTARTS STRENDS REGEX LANG DATATYPE".split()
)
_CHOOSING = frozenset(("IF", "COALESCE", "STR", "UCASE", "LCASE"))
_FRESH_EACH_TIME = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))


def made_variables(pattern: Pattern) -> frozenset[Var]:
    """The variables whose values are computed and may be terms that occurred nowhere before."""
    made = frozenset().union(*(made_variables(child) for child in children(pattern)))
    if isinstance(pattern, Extend) and _makes(pattern.expression, made):
        made |= {pattern.var}
    elif isinstance(pattern, Group):
        named = pattern.keys + pattern.aggregates
        made |= {var for var, expression in named if _makes(expression, made)}
    return made


def _makes(expression: Expression, made: frozenset[Var]) -> bool:
    if isinstance(expression, Var):
        return expression in made
    if isinstance(expression, Exists):
        return False
    if isinstance(expression, Aggregate):
        if expression.name in ("MIN", "MAX", "SAMPLE") and expression.argument is not None:
            return _makes(expression.argument, made)
        return True
    if not isinstance(expression, Call) or expression.name in _FINITE:
        return False
    if expression.name in _FRESH_EACH_TIME:
        return True
    if expression.name in _CHOOSING:
        return any(_makes(argument, made) for argument in expression.args)
    # From constants and the solution's interval alone only finitely many values come.
    return bool(of_expression(expression)) or any(_makes(argument, made) for argument in expression.args)


# --- the graph of queries --------------------------------------------------------------------


def _linked(count: int, edges: Sequence[Connection]) -> list[int]:
    """For each query the first one of those it is linked with."""
    first = list(range(count))

    def root(place: int) -> int:
        while first[place] != place:
            place = first[place]
        return place

    for edge in edges:
        one, other = sorted((root(edge.rule), root(edge.query)))
        first[other] = one
    return [root(place) for place in range(count)]


def components(count: int, feeds: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan), a component before those it feeds."""
    following: list[list[int]] = [[] for _ in range(count)]
    for rule, query in dict.fromkeys(feeds):
        following[rule].append(query)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    found: list[list[int]] = []
    way: list[tuple[int, Iterator[int]]] = []  # from where we began, each with what is to be visited

    def enter(place: int) -> None:
        index[place] = low[place] = len(index)
        stack.append(place)
        stacked.add(place)
        way.append((place, iter(following[place])))

    for first in reversed(range(count)):
        if first not in index:
            enter(first)
        while way:
            place, remaining = way[-1]
            after = next(remaining, None)
            if after is None:
                way.pop()
                if way:
                    before = way[-1][0]
                    low[before] = min(low[before], low[place])
                if low[place] == index[place]:
                    members = [stack.pop()]
                    while members[-1] != place:
                        members.append(stack.pop())
                    stacked.difference_update(members)
                    found.append(sorted(members))
            elif after not in index:
                enter(after)
            elif after in stacked:
                low[place] = min(low[place], index[after])
    return found[::-1]


def cycles(count: int, feeds: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The components in which something feeds itself."""
    return [
        members
        for members in components(count, feeds)
        if len(members) > 1 or (members[0], members[0]) in feeds
    ]


def _strata(count: int, edges: Sequence[Connection]) -> tuple[list[int], list[int]]:
    """Each query's stratum, and all queries in the order of evaluation within an instant."""
    standing = [edge for edge in edges if not edge.later]
    strata = [0] * count
    order: list[int] = []
    for members in components(count, [(edge.rule, edge.query) for edge in standing]):
        level = 0
        for edge in standing:
            if edge.query in members and edge.rule not in members:
                level = max(level, strata[edge.rule] + edge.absent)
        for place in members:
            strata[place] = level
        order += members
    order.sort(key=lambda place: strata[place])  # stable: rules stay before what they feed
    return strata, order

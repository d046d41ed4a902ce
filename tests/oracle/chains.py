"""Random chains of queries in different languages: each reads what some before it give. Beside them run
others, some of which are equal, or ask each element anew; from elements something may follow by rules.

case = make_chain(17)
print(case)                                # reproducible, to be put into a bug report
everything(case.queries, case.data, case.follows)        # what each of them gives
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from oracle.cases import Case, StreamData
from oracle.consequences import follows
from oracle.expression_text import kind_of
from oracle.query_text import QueryWriter, Style
from oracle.shrink import shrunk
from oracle.stream_data import delayed, random_graphs, random_streams
from oracle.vocabulary import PREDICATES, RESOURCES, STREAM_NAMES, WEIGHTS, iri
from oracle.window_generator import denser, of_elements, of_graphs
from oracle.window_text import short
from oracle.windows import Consequences
from penstock.algebra import ELEMENT, Ask, Construct, Dataset, Describe, Query, TriplePattern, Var
from penstock.algebra.printing import to_sexpr
from penstock.languages import parse_query
from penstock.terms import NamedNode

LANGUAGES = ("C-SPARQL", "RSP-QL", "CQELS-CEP", "EP-SPARQL")
EVENTS = "event mode"


@dataclass(frozen=True)
class Chain:
    """Streams, static graphs and the order of arrival (`data`), and queries, producers first.

    `ruled`: elements have what follows from them by the rules of `oracle.consequences`, too.
    """

    data: Case
    queries: tuple[Query, ...]
    languages: tuple[str, ...]
    ruled: bool = False
    chained: int = 2  # so many of the queries are the chain

    @property
    def seed(self) -> int:
        return self.data.seed

    @property
    def follows(self) -> Consequences | None:
        return follows if self.ruled else None

    def __str__(self) -> str:
        lines = [f"chain {self.seed}: make_chain({self.seed})", *str(self.data).splitlines()[1:]]
        lines += ["with rules for elements"] if self.ruled else []
        for language, query in zip(self.languages, self.queries, strict=True):
            lines += [f"in {language}", *("  " + line for line in to_sexpr(query).splitlines())]
        return "\n".join(lines)


def make_chain(seed: int, size: int = 16) -> Chain:
    """Two or three queries one after the other, sometimes with two that give the same stream."""
    random = Random(f"chain {seed}")
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    streams = [
        StreamData(iri(STREAM_NAMES[n]), tuple(denser(random, element) for element in each.elements))
        for n, each in enumerate(streams)
    ]
    graphs = random_graphs(random, max(2, size // 3))
    data = Case(seed, tuple(streams), tuple(graphs), (), lateness, tuple(batches))
    if random.random() < 0.33:
        data = delayed(data)
    length = random.choice((2, 2, 3))
    targets = [iri(f":o{place + 1}") for place in range(length - 1)]
    given = streams[:1] if len(streams) > 1 and random.random() < 0.15 else streams
    if len(given) < len(streams):  # the first query gives a stream that others give, too
        targets[0] = streams[1].name
    places = [*range(length)]
    if random.random() < 0.2:  # another one gives the first stream, too
        places.insert(1, 0)
    wanted: list[str] = []  # predicates that queries look for: what is given should have them
    found = []
    for place in reversed(places):
        language = random.choice(LANGUAGES)
        before = [StreamData(name, ()) for name in reversed(targets[:place])]
        readable = before + [each for each in given if not before or random.random() < 0.4]
        query = _short(random, replace(data, streams=tuple(readable)), language, giving=place < length - 1)
        if place < length - 1:
            query = _giving(random, query, targets[place], wanted)
        wanted += [name for name in PREDICATES if iri(name).value in to_sexpr(query)]
        found.append((query, language))
    found.reverse()
    return _in_company(Chain(data, *zip(*found, strict=True), chained=len(found)), given)


def _in_company(case: Chain, given: Sequence[StreamData]) -> Chain:
    """Often with other queries beside it, and with rules for elements."""
    random = Random(f"company {case.seed}")
    data = case.data
    beside: list[tuple[Query, str]] = []
    readable = replace(data, streams=tuple(given))
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        language = random.choice((*LANGUAGES, EVENTS, EVENTS))
        query = _short(random, readable, LANGUAGES[-1] if language == EVENTS else language, giving=False)
        if language == EVENTS:
            query, language = replace(query, scope=ELEMENT), LANGUAGES[-1]
        beside.append((query, language))
    if beside:
        beside += random.choices(beside, k=random.choice((0, 0, 1, 2)))
    ruled = random.random() < 0.2
    if ruled:  # by which nothing follows from what is known besides
        data = replace(data, graphs=tuple(replace(graph, triples=()) for graph in data.graphs))
    together = [*zip(case.queries, case.languages, strict=True), *beside]
    queries, languages = zip(*together, strict=True)
    return replace(case, data=data, queries=queries, languages=languages, ruled=ruled)


def _short(random: Random, data: Case, language: str, *, giving: bool) -> Query:
    """The shortest of a few random queries: most of the long ones have no answers."""
    found: list[Query] = []
    most = random.choice((1, 3, 4))
    while len(found) < most:
        query = _query(random, data, language)
        if not (giving and isinstance(query, (Ask, Describe))):
            found.append(query)
    return min(found, key=lambda each: len(to_sexpr(each.pattern)))


def _query(random: Random, data: Case, language: str) -> Query:
    if language == "EP-SPARQL":
        names = [each.name for each in data.streams]
        static = [graph.name for graph in data.graphs if graph.name is not None]
        style = Style(graphs=[*map(short, names)], depth=random.choice((0, 0, 1)))
        query = parse_query(QueryWriter(random, style).query()).query
        return replace(query, dataset=Dataset(tuple(names), (*names, *dict.fromkeys(static))))
    make = of_elements if language == "CQELS-CEP" else of_graphs
    return make(random, data, language)[0].registered


def _giving(random: Random, query: Query, target: NamedNode, wanted: list[str]) -> Construct:
    """The query as one that constructs a stream of things that others look for."""
    if isinstance(query, Construct):
        names = [term.name for triple in query.template for term in triple if isinstance(term, Var)]
    else:
        names = [var.name for var in query.vars]
    subjects = [name for name in names if kind_of(name) == "resource"]
    template = []
    wanted = wanted or list(WEIGHTS)
    for _ in range(random.choice((1, 2, 2))):
        subject = Var(random.choice(subjects)) if subjects else iri(random.choice(RESOURCES))
        made = random.choice(names or ["x"])
        fitting = [each for each in wanted if PREDICATES[each] == kind_of(made)] or wanted
        template.append(TriplePattern(subject, iri(random.choice(fitting)), Var(made)))
    return Construct(
        query.pattern, tuple(template), query.dataset, target=target, continuous=query.continuous
    )


def shrunk_chain(case: Chain, fails: Callable[[Chain], bool]) -> Chain:
    """The case with as few elements, triples and batches as still fail."""
    return replace(case, data=shrunk(case.data, lambda data: fails(replace(case, data=data))))

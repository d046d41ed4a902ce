"""Random continuous queries over random streams, and what they give by the oracle.

case = make_window_case(17)
print(case)                  # reproducible, to be put into a bug report
given_by(case)               # a multiset of (instant, row)

One in two cases sees windows as graphs (RSP-QL, C-SPARQL), the others as elements (CQELS-CEP).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

from oracle.canonical import Row, canonical
from oracle.cases import Case, Element
from oracle.combined_text import BoundedWriter, CombiningWriter
from oracle.evaluate import Effort, TooManySolutions
from oracle.model import StaticGraph, TimedDataset
from oracle.queries import evaluate_query
from oracle.query_text import Part, QueryWriter, Style
from oracle.sequence_text import SequenceWriter
from oracle.shrink import shrunk
from oracle.stream_data import delayed, random_graphs, random_streams, random_triple
from oracle.vocabulary import EPOCH, PREDICATES, PROLOGUE, STREAM_NAMES, TICK, VALUES, iri
from oracle.window_model import (
    CONVENTIONS,
    NOW,
    ContinuousQuery,
    Convention,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    Timestamp,
    View,
    Window,
    WindowSpec,
    last,
    sliding,
    triples,
)
from oracle.window_text import Said, said_in, short
from oracle.windows import Clock, Consequences, Knowledge, given, refused
from penstock.algebra import Project, Select, Var
from penstock.languages import parse_query
from penstock.terms import NamedNode

LONGEST = 80
"""More evaluations than this, and a case is not worth the oracle's time."""


REPEATED = 2_000_000_000
"""Cases from this number on have sequences with repetitions."""


def is_bounded(seed: int) -> bool:
    """Some of the cases bound how long sequences of windows last."""
    return Random(f"bounded {seed}").random() < 0.06


@dataclass(frozen=True)
class WindowCase:
    """Streams, static graphs and the order of arrival (`data`), and one continuous query."""

    data: Case
    query: ContinuousQuery
    body: str  # the query without windows, as text
    said: tuple[Said, ...] = ()

    @property
    def seed(self) -> int:
        return self.data.seed

    @property
    def streams(self) -> dict[NamedNode, list[Element]]:
        return streams_of(self.data)

    @property
    def knowledge(self) -> Knowledge:
        return knowledge_of(self.data)

    def __str__(self) -> str:
        lines = [f"window case {self.seed}: make_window_case({self.seed})", *str(self.data).splitlines()[1:]]
        for window in self.query.windows:
            lines.append(f"window {window.name or '(default graph)'} on {window.stream}: {window.spec}")
        lines.append(f"{self.query.report}, {self.query.operator.value}, view {self.query.view.value}")
        lines += ["query", f"  {self.body}"]
        for said in self.said:
            lines.append(f"in {said.language}")
            lines += ["  " + line for line in said.text.splitlines()]
        return "\n".join(lines)


def streams_of(data: Case) -> dict[NamedNode, list[Element]]:
    """The elements of each stream that are in time."""
    return {
        stream.name: [e for place, e in enumerate(stream.elements) if (number, place) not in data.late]
        for number, stream in enumerate(data.streams)
    }


def knowledge_of(data: Case) -> Knowledge:
    """The static graphs, as continuous queries see them."""
    named: dict = {}
    default: list = []
    for each in data.graphs:
        graph = StaticGraph(frozenset(each.triples))
        if each.name is None:
            default.append(graph)
        else:
            named[each.name] = (*named.get(each.name, ()), graph)
    return Knowledge(((None, TimedDataset(tuple(default), named)),))


def make_window_case(seed: int, size: int = 20) -> WindowCase:
    """The case with this number; in one in three some elements are late."""
    random = Random(f"windows {seed}")
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    streams = [replace(each, name=iri(STREAM_NAMES[n])) for n, each in enumerate(streams)]
    graphs = random_graphs(random, max(2, size // 3))
    streams = [
        replace(each, elements=tuple(denser(random, element) for element in each.elements))
        for each in streams
    ]
    if seed >= REPEATED or is_bounded(seed):
        streams = [
            replace(each, elements=tuple(_about_one(random, element) for element in each.elements))
            for each in streams
        ]
    data = Case(seed, tuple(streams), tuple(graphs), (), lateness, tuple(batches))
    data = _ending(Random(f"ending {seed}"), data)
    if random.random() < 0.33:
        data = delayed(data)
    language = random.choice(("C-SPARQL", "RSP-QL", "CQELS-CEP", "CQELS-CEP"))
    if seed >= REPEATED or is_bounded(seed):
        language = "CQELS-CEP"
    case = _over(random, data, language)
    return _with_long_runs(random, case) if seed >= REPEATED and seed % 2 else case


def _over(random: Random, data: Case, language: str) -> WindowCase:
    """A query in the manner of a language, over the data of a case."""
    make = of_elements if language == "CQELS-CEP" else of_graphs
    query, body = make(random, data, language)
    said = (said_in(each, query, body) for each in CONVENTIONS)
    return WindowCase(data, query, body, tuple(each for each in said if each is not None))


def cases_together(
    seed: int, suits: Callable[[WindowCase], bool], *, each: int = 3, size: int = 20
) -> list[WindowCase]:
    """Queries of each language over the same streams, all of which they read: they can run together.

    For every other seed many elements come late. What does not suit is left out.
    """
    random = Random(f"together {seed}")
    data = make_window_case(seed, size).data
    if seed % 2:
        data = replace(delayed(data), lateness=0)
    names = {stream.name for stream in data.streams}
    found = []
    for language in each * tuple(CONVENTIONS):
        for _ in range(20):
            case = _over(random, data, language)
            if case.said and {window.stream for window in case.query.windows} == names and suits(case):
                found.append(case)
                break
    return found


def _ending(random: Random, data: Case) -> Case:
    """In some cases with an element more, after the others, and mostly in a gap: often without triples."""
    if random.random() > 0.2:
        return data
    number = random.randrange(len(data.streams))
    ends = [each.end for stream in data.streams for each in stream.elements]
    end = max(ends, default=EPOCH) + random.randint(1, 9) * TICK
    triples = (random_triple(random),) if random.random() < 0.5 else ()
    streams = list(data.streams)
    elements = streams[number].elements
    streams[number] = replace(streams[number], elements=(*elements, Element(triples, end, end)))
    *batches, last_batch = data.batches
    batches += [(*last_batch, (number, len(elements)))]
    return replace(data, streams=tuple(streams), batches=tuple(batches))


def denser(random: Random, element: Element) -> Element:
    """With some triples more, mostly about the same thing: sequences are of one thing."""
    if not element.triples:
        return element
    more = [random_triple(random) for _ in range(random.choice((0, 1, 2)))]
    about = [(element.triples[0][0], p, o) if random.random() < 0.6 else (s, p, o) for s, p, o in more]
    return replace(element, triples=tuple(dict.fromkeys((*element.triples, *about))))


def _about_one(random: Random, element: Element) -> Element:
    """Mostly about the same thing as all others: a run has several members."""
    if random.random() < 0.3:
        return element
    return replace(
        element, triples=tuple(dict.fromkeys((VALUES["resource"][0], p, o) for _, p, o in element.triples))
    )


def _with_long_runs(random: Random, case: WindowCase) -> WindowCase:
    """Most elements say one thing that the query asks for, of the same thing; some lie inside others."""
    asked = [predicate for predicate in PREDICATES if f"{predicate} " in case.body] or list(PREDICATES)

    def another(element: Element) -> Element:
        if random.random() < 0.15 or not element.triples:
            return element
        predicate = random.choice(asked)
        triple = VALUES["resource"][0], iri(predicate), random.choice(VALUES[PREDICATES[predicate]])
        lasts = random.randint(1, 5) * TICK if random.random() < 0.2 else 0
        return Element((triple,), element.end - lasts, element.end)

    streams = tuple(
        replace(each, elements=tuple(another(element) for element in each.elements))
        for each in case.data.streams
    )
    return replace(case, data=replace(case.data, streams=streams))


# --- windows and reports -----------------------------------------------------------------------


def random_spec(random: Random, convention: Convention) -> WindowSpec:
    """A window of any kind, mostly over time; mostly as the language would show it."""
    shows = convention.shows if random.random() < 0.85 else random.choice(list(Shows))
    start = None if random.random() < 0.93 else EPOCH + random.randint(-2, 4) * TICK
    weights = (6, 5, 1, 1, 0.3, 3, 1) if convention.view is View.GRAPH else (4, 2, 0.5, 8, 0.5, 3, 1)
    kinds = ("slide", "tumble", "gap", "last", "now", "triples", "landmark")
    match random.choices(kinds, weights)[0]:
        case "slide":
            width = random.randint(2, 9)
            return sliding(width * TICK, random.randint(1, width - 1) * TICK, start, shows)
        case "tumble":
            width = random.randint(2, 6) * TICK
            return sliding(width, width, start, shows)
        case "gap":
            width = random.randint(1, 3)
            return sliding(width * TICK, (width + random.randint(1, 2)) * TICK, start, shows)
        case "last":
            return last(random.randint(2, 12) * TICK)
        case "now":
            return NOW
        case "triples":
            return triples(random.randint(3, 20), random.choice((1, 1, 2, 3)))
    slide = random.choice((1, TICK, 2 * TICK))
    return WindowSpec(Kind.LANDMARK, slide=slide, start=start)


def random_report(random: Random, convention: Convention, windows: Iterable[Window]) -> Report:
    """Mostly that of the language, if it does not mean every instant."""
    roll = random.random()
    continuous = any(window.spec.continuous for window in windows)
    report = convention.report
    if roll < 0.1:
        report = Report(period=random.randint(1, 4) * TICK, non_empty=random.random() < 0.3)
    elif roll < 0.25:
        report = replace(report, non_empty=True)
    elif roll < 0.4:
        report = Report(change=not report.change, close=not report.close)
    elif roll < 0.5:
        report = Report(change=random.random() < 0.7, non_empty=True, tick=Tick.TUPLE)
    elif roll < 0.55:
        report = Report(change=True, close=True)
    if report.close and continuous and not report.change:
        report = replace(report, close=False, change=True)
    return report


def other_report(seed: int, windows: Iterable[Window]) -> Report | None:
    """In some cases any conditions together, in which no language reports by itself."""
    random = Random(f"report {seed}")
    if random.random() > 0.15:
        return _ending_report(Random(f"period {seed}"))
    while True:
        close, change, non_empty, periodic, tuples = (random.random() < 0.5 for _ in range(5))
        period = random.randint(1, 4) * TICK if periodic else None
        report = Report(close, change, non_empty, period, Tick.TUPLE if tuples else Tick.TIME)
        try:
            for window in windows:
                refused(report, window.spec)
        except ValueError:
            continue
        return report


def _ending_report(random: Random) -> Report | None:
    """In some cases a period that may be longer than what windows show."""
    if random.random() > 0.08:
        return None
    return Report(period=random.randint(1, 13) * TICK, close=random.random() < 0.2)


def random_windows(
    random: Random, data: Case, convention: Convention, names: Iterable[NamedNode | None]
) -> tuple[Window, ...]:
    windows = []
    for name in names:
        stream = random.choice((data.streams[0], *data.streams)).name
        windows.append(Window(name, stream, random_spec(random, convention)))
    return tuple(windows)


def random_operator(random: Random, convention: Convention) -> StreamOperator:
    if convention.operator is not None and random.random() < 0.7:
        return convention.operator
    return random.choice(list(StreamOperator))


# --- windows as graphs ----------------------------------------------------------------------------


class BodyWriter(QueryWriter):
    """Plain SPARQL; windows and static graphs are named graphs, and never looked for by a variable."""

    def dataset_clause(self) -> str:
        return ""

    def graph(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, known, ())
        name = self.random.choice(self.style.graphs)
        return Part(f"GRAPH {name} {inside.braced()}", inside.names)


def of_graphs(random: Random, data: Case, language: str) -> tuple[ContinuousQuery, str]:
    convention = CONVENTIONS[language]
    static = [short(graph.name) for graph in data.graphs if graph.name is not None]
    count = random.choice((1, 1, 2))
    names = [None] * count if language == "C-SPARQL" else [iri(f":w{n + 1}") for n in range(count)]
    windows = random_windows(random, data, convention, names)
    of_windows = [short(name) for name in names if name is not None]
    writer = BodyWriter(
        random, Style(temporal=False, graphs=of_windows + static, depth=random.choice((0, 1, 1, 2)))
    )
    body = writer.query().removeprefix(PROLOGUE)
    if of_windows:
        body = _inside_windows(random, body, of_windows)
    query = parse_query(PROLOGUE + body).query
    if language == "C-SPARQL" and random.random() < 0.15:
        query, body = _with_timestamps(random, writer)
    return (
        ContinuousQuery(
            query,
            windows,
            other_report(data.seed, windows) or random_report(random, convention, windows),
            random_operator(random, convention),
            View.GRAPH,
        ),
        body,
    )


def _inside_windows(random: Random, body: str, windows: list[str]) -> str:
    """Most of the patterns of a query in windows: its outermost group, and sometimes the first one in it."""
    opening = body.index("{", body.index(" WHERE ") if " WHERE " in body else 0)
    if random.random() < 0.1:
        return body
    inside = body[opening + 1 : _closing(body, opening)]
    rest = body[_closing(body, opening) :]
    return f"{body[: opening + 1]} GRAPH {random.choice(windows)} {{{inside}}} {rest}"


def _closing(text: str, opening: int) -> int:
    """Where the brace that opens there is closed; strings of the vocabulary have no braces."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError("a brace that is not closed")


def _with_timestamps(random: Random, writer: QueryWriter) -> tuple[Select, str]:
    """When triples were last stated: as columns, or the one compared with the other."""
    parts = [_plain_triple(writer, "y" if n else "x") for n in range(2)]
    where = " . ".join(part.text for part in parts)
    calls = [f"f:timestamp({', '.join(part.text.split(' '))})" for part in parts]
    columns = " ".join(dict.fromkeys(f"?{name}" for part in parts for name in part.names))
    ordered = random.random() < 0.5
    tail = " FILTER (?at0 < ?at1)" if ordered else ""
    inner = parse_query(f"{PROLOGUE}SELECT {columns} ?at0 ?at1 WHERE {{ {where}{tail} }}").query
    found = inner.pattern.pattern
    pattern = stated = found.pattern if ordered else found
    for place, triple in enumerate(stated.triples):
        pattern = Timestamp(pattern, Var(f"at{place}"), triple)
    if ordered:
        pattern = replace(found, pattern=pattern)
        shown = tuple(var for var in inner.vars if not var.name.startswith("at"))
        query = Select(Project(pattern, shown), shown)
        return query, f"SELECT {columns} WHERE {{ {where} FILTER ({calls[0]} < {calls[1]}) }}"
    query = replace(inner, pattern=replace(inner.pattern, pattern=pattern))
    given_as = " ".join(f"({call} AS ?at{place})" for place, call in enumerate(calls))
    return query, f"SELECT {columns} {given_as} WHERE {{ {where} }}"


def _plain_triple(writer: QueryWriter, subject: str) -> Part:
    """`?x :price ?n`, with nothing that is not a term or a variable."""
    while True:
        part = writer.triple((subject,))
        if re.fullmatch(r"\?\w+ :\w+ \?\w+", part.text):
            return part


# --- windows as elements ------------------------------------------------------------------------------


def of_elements(random: Random, data: Case, language: str) -> tuple[ContinuousQuery, str]:
    convention = CONVENTIONS[language]
    words = ("further", "paths", "combined")
    further, paths, more = (Random(f"{word} {data.seed}") for word in words)
    static = [graph.name for graph in data.graphs]
    if data.seed >= REPEATED:
        writer = SequenceWriter(random, static, further, paths, repeating=True)
    else:
        kind = BoundedWriter if is_bounded(data.seed) else CombiningWriter
        writer = kind(random, static, further, paths, more)
    query, body, names = writer.query()
    windows = random_windows(random, data, convention, names)
    return (
        ContinuousQuery(
            query,
            windows,
            other_report(data.seed, windows) or random_report(random, convention, windows),
            random_operator(random, convention),
            View.ELEMENT,
        ),
        body,
    )


# --- answers ---------------------------------------------------------------------------------------------

GivenRow = tuple[int, Row]


def given_by(
    case: WindowCase, watermark: int | None = None, follows: Consequences | None = None
) -> Counter[GivenRow]:
    """What the query gives, by the oracle: a multiset of (instant, canonical row).

    With a `watermark` the streams are not over: they live on in silence, and time has come so far.
    """
    until = max((each.end for elements in case.streams.values() for each in elements), default=None)
    if len(Clock(case.query, case.streams, watermark, until).evaluations()) > LONGEST:
        raise TooManySolutions(f"more than {LONGEST} evaluations")
    by_instant: dict[int, list] = {}
    how = {"follows": follows, "now": case.data.now, "effort": Effort()}
    found = given(case.query, case.streams, case.knowledge, watermark=watermark, until=until, **how)
    for instant, row, count in found:
        by_instant.setdefault(instant, []).extend(count * [(row.bindings, row.start, row.end)])
    return Counter(
        {
            (instant, row): count
            for instant, rows in by_instant.items()
            for row, count in canonical(rows).items()
        }
    )


def window_cases(seeds: Iterable[int], size: int = 20) -> Iterator[tuple[WindowCase, Counter[GivenRow]]]:
    """Each case with what it gives, leaving out the few that the oracle finds too large."""
    for seed in seeds:
        case = make_window_case(seed, size)
        try:
            yield case, given_by(case)
        except TooManySolutions:
            continue


def shrunk_window_case(case: WindowCase, fails: Callable[[WindowCase], bool]) -> WindowCase:
    """The case with as few elements, triples and batches as still fail."""
    return replace(case, data=shrunk(case.data, lambda data: fails(replace(case, data=data))))


# --- repetitions in EP-SPARQL --------------------------------------------------------------------


@dataclass(frozen=True)
class RepetitionCase:
    """Streams and graphs, and a query of EP-SPARQL with a repetition, as algebra and as text."""

    data: Case
    query: Select
    text: str

    def __str__(self) -> str:
        return "\n".join([str(self.data), f"make_repetition_case({self.data.seed})", self.text])


def make_repetition_case(seed: int, size: int = 20) -> RepetitionCase:
    """`{ … } SEQ { … }+ SEQ { … }` over random streams; in one in three some elements are late."""
    random = Random(f"repetitions {seed}")
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    graphs = random_graphs(random, max(2, size // 3))
    data = Case(seed, tuple(streams), tuple(graphs), (), lateness, tuple(batches))
    if random.random() < 0.33:
        data = delayed(data)
    return RepetitionCase(data, *SequenceWriter(random, ()).in_ep_sparql())


def repetition_answers(case: RepetitionCase) -> Counter[Row]:
    """The oracle's answers as a canonical multiset."""
    rows = evaluate_query(case.query, case.data.dataset, now=case.data.now).rows
    return canonical((row.bindings, row.start, row.end) for row in rows)

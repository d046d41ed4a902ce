"""`penstock bench windows`: what a slide costs, whatever the window's size.

A stream of readings of a million sensors is joined with a static graph that says in which room each sensor
is, and the average of each room is asked for at every slide. The window is 1 to 1,000 slides long. The peer
evaluates the same query over the whole window at each slide, as pyoxigraph does it, with the window's content
at hand: what has left is removed from its store and what has come is added. It does so at some slides, at
which its answers must be ours, and its figure is extrapolated from these.

Another query joins what came in the last slide with averages over longer windows. Its peer is pandas, which
makes all of it anew at each slide.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from penstock import pipeline as stages
from penstock.bench import sensors
from penstock.bench.figures import Figure, figure, scale, timed, used
from penstock.columns.frame import Frame
from penstock.columns.ids import parse_term
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.engine.program_shard import ProgramShard
from penstock.engine.tuning import TUNING, Tuning
from penstock.knowledge.graphs import StaticGraph
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import NamedNode

RATIOS = (1, 10, 100, 1_000)
"""How many slides a window is long."""
EQUAL = (1, 2, 10)
"""How many queries with equal windows run together."""
SHORT, LONG = 60, 300
"""How many slides the windows of averages are long."""
SAMPLES = 5
"""At how many slides the peer is measured, and answers are compared."""
FILES = 8
STREAM = "http://example.org/readings"
_MILLISECOND = 1_000
_EX = "http://example.org/"
_MEGABYTE = 1 << 20

_QUERY = """REGISTER QUERY Means AS
PREFIX ex: <http://example.org/>
SELECT ?room (AVG(?value) AS ?mean)
FROM STREAM <{stream}> [RANGE {width}ms STEP {slide}ms]
WHERE {{ ?sensor ex:reads ?value . ?sensor ex:in ?room }}
GROUP BY ?room
"""
_AVERAGES = """REGISTER RSTREAM <http://example.org/averages> AS
PREFIX ex: <http://example.org/>
SELECT ?sensor ?value ?short ?long
FROM NAMED WINDOW ex:now ON <{stream}> [RANGE PT{now}S STEP PT{now}S]
FROM NAMED WINDOW ex:short ON <{stream}> [RANGE PT{short}S STEP PT{now}S]
FROM NAMED WINDOW ex:long ON <{stream}> [RANGE PT{long}S STEP PT{now}S]
WHERE {{
  WINDOW ex:now {{ ?sensor ex:reads ?value }}
  {{ SELECT ?sensor (AVG(?v) AS ?short) {{ WINDOW ex:short {{ ?sensor ex:reads ?v }} }} GROUP BY ?sensor }}
  {{ SELECT ?sensor (AVG(?v) AS ?long) {{ WINDOW ex:long {{ ?sensor ex:reads ?v }} }} GROUP BY ?sensor }}
}}
"""
_PEER = """PREFIX ex: <http://example.org/>
SELECT ?room (AVG(?value) AS ?mean)
WHERE { GRAPH ex:window { ?sensor ex:reads ?value } ?sensor ex:in ?room }
GROUP BY ?room
"""


@dataclass(frozen=True)
class Sizes:
    """How much there is of everything. An element comes every millisecond, a slide has some of them."""

    elements: int = 10_000_000
    sensors: int = 1_000_000  # each with one static triple
    rooms: int = 100
    slide: int = 1_000  # elements
    batch: int = 100_000

    def scaled(self, factor: float) -> Sizes:
        """So many times as much of everything, so that there are as many slides."""
        sizes = (self.elements, self.sensors, self.rooms, self.slide, self.batch)
        return Sizes(*(max(2, int(size * factor)) for size in sizes))

    @property
    def slides(self) -> int:
        return self.elements // self.slide

    def query(self, ratio: int, above: int | None = None) -> str:
        """The query over a window of some slides; `above`: only averages above that."""
        text = _QUERY.format(stream=STREAM, width=ratio * self.slide, slide=self.slide)
        return text if above is None else f"{text}HAVING (AVG(?value) > {above})"


def windows() -> Iterator[Figure]:
    sizes = Sizes().scaled(scale()) if scale() != 1 else Sizes()
    yield from kernel(sizes)
    yield from sharing(sizes)
    yield from averages(sizes)
    yield from pipeline(sizes)


# --- the stream and the static graph ---


class Rooms:
    """Readings, and in which room each sensor is."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        data = sensors.readings(sizes.elements, sizes.sensors)
        # The first is at a millisecond after the full second at which everything begins.
        instant = sensors.BEGIN + _MILLISECOND * np.arange(1, sizes.elements + 1)
        self.readings = replace(data, instant=instant)

    def closes(self) -> np.ndarray:
        """When windows close, as long as there are elements."""
        slide = self.sizes.slide * _MILLISECOND
        first = -(-self.readings.instant[0] // slide) * slide
        return np.arange(first, self.readings.instant[-1] + 1, slide)

    def window(self, close: int, ratio: int) -> slice:
        """The elements of the window that closes then."""
        opening = close - ratio * self.sizes.slide * _MILLISECOND
        return slice(*np.searchsorted(self.readings.instant, [opening, close], "right").tolist())

    def graph(self) -> StaticGraph:
        table = TermTable()
        subject = table.add_texts(self._sensors())
        room = table.add_texts([_room(i).encode() for i in range(self.sizes.rooms)])
        predicate = np.full(len(subject), table.add(NamedNode(f"{_EX}in")), np.int64)
        triples = np.stack([subject, predicate, room[np.arange(len(subject)) % len(room)]])
        return StaticGraph.of(None, triples, table)

    def graph_lines(self) -> str:
        rooms = self.sizes.rooms
        return "".join(f"{_sensor(i)} <{_EX}in> {_room(i % rooms)} .\n" for i in range(self.sizes.sensors))

    def _sensors(self) -> list[bytes]:
        return [_sensor(i).encode() for i in range(self.sizes.sensors)]

    def occurrences(self, *, named: bool = False) -> list[Occurrences]:
        """The elements batch by batch, as decoded; the texts are those of the static graph, or with them."""
        data = self.readings
        table = TermTable()
        subject = (table if named else TermTable()).add_texts(self._sensors())[data.sensor]
        value = sensors.decimals(data.hundredths)
        predicate = table.add(NamedNode(f"{_EX}reads"))
        terms, predicates = table.chunk(), np.full(self.sizes.batch, predicate, np.int64)
        batches = []
        for first in range(0, len(data), self.sizes.batch):
            rows = slice(first, first + self.sizes.batch)
            times, number = data.instant[rows], np.arange(first + 1, first + 1 + len(data.instant[rows]))
            batches.append(
                Occurrences(
                    subject[rows],
                    predicates[: len(times)],
                    value[rows],
                    times,
                    times,
                    instants=times,
                    terms=terms,
                    elements=len(times),
                    element=number,
                )  # fmt: skip
            )
        return batches


def _sensor(number: int) -> str:
    return f"<{_EX}sensor/{number}>"


def _room(number: int) -> str:
    return f"<{_EX}room/{number}>"


# --- the engine alone ---


Answers = dict[int, dict[str, Decimal]]
"""By instant, the average of each room."""


def kernel(sizes: Sizes) -> Iterator[Figure]:
    """Each ratio in a process of its own, so that what it holds can be told."""
    rooms = Rooms(sizes)
    sampled = samples(rooms)
    peer = Peer(rooms)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for ratio in RATIOS:
            seconds, megabytes, given, answers = pool.apply(measured, (sizes, ratio, sampled))
            each, expected = peer.slides(ratio, sampled)
            compare(answers, expected)
            window = min(sizes.elements, ratio * sizes.slide)
            case = f"ratio {ratio:,}: {window:,} in the window"
            yield figure(
                "windows", case, seconds / sizes.elements * 1e6, "µs/element",
                f"pyoxigraph, {len(sampled)} of {sizes.slides:,} slides", each / sizes.slide * 1e6,
            )  # fmt: skip
            yield figure("windows", f"ratio {ratio:,}: answers", given, "rows")
            yield figure("windows", f"ratio {ratio:,}: memory", megabytes, "MB")


def samples(rooms: Rooms) -> list[int]:
    """Some slides, the last among them."""
    closes = rooms.closes()
    return closes[np.linspace(0, len(closes) - 1, SAMPLES + 1).astype(int)[1:]].tolist()


def measured(sizes: Sizes, ratio: int, sampled: list[int]) -> tuple[float, float, int, Answers]:
    """Seconds of CPU, megabytes that were needed for it, how many answers there were, and some of them."""
    small = sizes.scaled(20_000 / sizes.elements) if sizes.elements > 20_000 else sizes
    run(Rooms(small), [small.query(2)])  # compiles
    rooms = Rooms(sizes)
    program = opened([sizes.query(ratio)], rooms)
    run_of, batches = MeasuredShard(program), rooms.occurrences()
    before = resident()
    seconds, given = used(lambda: run_of.through(batches, sampled))
    return seconds, resident() - before, given, run_of.answers


def opened(
    texts: Sequence[str], rooms: Rooms, tuning: Tuning = TUNING, language: str = "c-sparql"
) -> Program:
    queries = [parse_query(text, language=language) for text in texts]
    return stages.program(queries, [StreamName(STREAM)], [rooms.graph()], shards=1, now=0, tuning=tuning)


def run(rooms: Rooms, texts: Sequence[str], tuning: Tuning = TUNING) -> tuple[float, int]:
    """Seconds of CPU and number of answers of queries over all elements."""
    run_of, batches = MeasuredShard(opened(texts, rooms, tuning)), rooms.occurrences()
    return used(lambda: run_of.through(batches))


class MeasuredShard:
    """A shard, and what it has answered at some instants."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.shard: ProgramShard = program.open(0)
        self.answers: Answers = {}

    def through(self, batches: Sequence[Occurrences], sampled: Sequence[int] = ()) -> int:
        """Takes in all elements; how many answers there were."""
        shard, given = self.shard.shard, 0
        for batch in batches:
            payloads = [payload for _, payload in self.program.route(0, batch)]
            for answers in shard.step(payloads, int(batch.end[-1]), False).values():
                given += self._taken(answers, sampled)
            shard.changes()  # a run stores what has changed after each batch; until then it is kept
        for answers in shard.step([], 0, True).values():
            given += self._taken(answers, sampled)
        return given

    def _taken(self, answers: Frame, sampled: Sequence[int]) -> int:
        """Puts all columns of the answers together, as a reader would need them."""
        terms = self.shard.shard.terms
        for row in np.flatnonzero(np.isin(answers.since, sampled)).tolist():
            room, *_, mean = (parse_term(text) for text in terms.texts(answers.ids[:, row]).to_pylist())
            self.answers.setdefault(int(answers.since[row]), {})[room.value] = Decimal(mean.value)
        return min(answers.ids.shape[1], len(answers.start), len(answers.end))


def sharing(sizes: Sizes) -> Iterator[Figure]:
    """Queries with equal windows and different conditions; the peer is as many runs of one."""
    rooms = Rooms(replace(sizes, elements=max(2, sizes.elements // 5)))
    ratio, alone = 100, None
    run(rooms, [sizes.query(ratio, above=49)])  # compiles
    for count in EQUAL:
        seconds, given = run(rooms, [sizes.query(ratio, above=49 + i) for i in range(count)])
        alone = alone or seconds
        case = f"{count} equal windows, ratio {ratio}, {given:,} answers"
        each = seconds / rooms.sizes.elements * 1e6
        one = alone / rooms.sizes.elements * 1e6
        yield figure("windows", case, each, "µs/element", f"{count} runs of one", one * count)


def averages(sizes: Sizes) -> Iterator[Figure]:
    """What a slide brought, with two averages of its sensor: of as many sensors as a slide has elements."""
    sizes = replace(sizes, elements=max(2, sizes.elements // 50), sensors=sizes.slide)
    rooms = Rooms(sizes)
    sampled = samples(rooms)
    run_of, batches = averaging(rooms), rooms.occurrences(named=True)
    averaging(rooms).through(batches[:1])  # compiles
    seconds, given = used(lambda: run_of.through(batches, sampled))
    peer_seconds, (wanted, expected) = used(lambda: averages_anew(rooms, sampled))
    if given != wanted:
        raise AssertionError(f"{given:,} answers, but pandas has {wanted:,}")
    compare(run_of.answers, expected, "pandas")
    case = f"averages over {SHORT} and {LONG} slides, {sizes.sensors:,} sensors, {given:,} answers"
    each = peer_seconds / sizes.elements * 1e6
    yield figure("windows", case, seconds / sizes.elements * 1e6, "µs/element", "pandas, anew", each)


def averaging(rooms: Rooms, tuning: Tuning = TUNING) -> MeasuredShard:
    """A run of the query that joins a slide with averages."""
    now, short, long = (ratio * rooms.sizes.slide / 1_000 for ratio in (1, SHORT, LONG))
    text = _AVERAGES.format(stream=STREAM, now=now, short=short, long=long)
    return MeasuredShard(opened([text], rooms, tuning, "rsp-ql"))


def averages_anew(rooms: Rooms, sampled: Sequence[int]) -> tuple[int, Answers]:
    """How many answers there are by pandas, and at some slides the longer averages."""
    import pandas as pd

    data, answers, count = rooms.readings, {}, 0
    for close in rooms.closes().tolist():
        windows = []
        for ratio in (1, SHORT, LONG):
            rows = rooms.window(close, ratio)
            content = pd.DataFrame({"sensor": data.sensor[rows], "value": data.hundredths[rows]})
            windows.append(content.drop_duplicates())
        now, *longer = windows
        short, long = (each.groupby("sensor")["value"].agg(["sum", "count"]) for each in longer)
        joined = now.join(short, on="sensor").join(long, on="sensor", rsuffix=" long")
        count += len(joined)
        if close in sampled:
            columns = zip(joined["sensor"], joined["sum long"], joined["count long"], strict=True)
            answers[close] = {
                f"{_EX}sensor/{sensor}": Decimal(int(total)) / int(times) / 100
                for sensor, total, times in columns
            }
    return count, answers


# --- the whole way ---


def pipeline(sizes: Sizes) -> Iterator[Figure]:
    """From N-Quads files through Spark; in time by the clock, as all of its processes need it."""
    from penstock.api.engine import Engine

    rooms = Rooms(sizes)

    def on_spark(paths: list[Path], graph: Path, ratio: int) -> int:
        engine, found = Engine(master="local[2]"), 0
        engine.add_stream(paths, iri=STREAM)
        engine.add_graph(graph)
        engine.add_query(sizes.query(ratio), language="c-sparql")

        def take(batch) -> None:
            nonlocal found
            found += sum(table.num_rows for table in batch.tables.values())

        engine.run(on_batch=take)
        return found

    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        paths = sensors.write_nquads(rooms.readings, Path(scratch), FILES)
        graph = Path(scratch) / "rooms.nt"
        graph.write_text(rooms.graph_lines())
        on_spark(paths[:1], graph, 1)  # starts Spark, compiles, fills caches
        for ratio in RATIOS:
            seconds, given = timed(lambda: on_spark(paths, graph, ratio))  # noqa: B023
            case = f"Spark, ratio {ratio:,}, {given:,} answers"
            yield figure("windows", case, seconds / sizes.elements * 1e6, "µs/element")


def resident() -> float:
    """Megabytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE


# --- the peer ---


class Peer:
    """pyoxigraph with the static graph, and the content of a window in a named graph."""

    def __init__(self, rooms: Rooms) -> None:
        from pyoxigraph import RdfFormat, Store

        self.rooms = rooms
        self.store = Store()
        self.store.bulk_load(rooms.graph_lines().encode(), RdfFormat.N_TRIPLES)

    def slides(self, ratio: int, closes: Sequence[int]) -> tuple[float, Answers]:
        """Seconds of CPU that a slide takes, on average over some of them, and the answers then."""
        seconds, answers = 0.0, {}
        for close in closes:
            each, answers[close] = self._slide(ratio, close)
            seconds += each
        return seconds / len(closes), answers

    def _slide(self, ratio: int, close: int) -> tuple[float, dict[str, Decimal]]:
        from pyoxigraph import NamedNode as Node
        from pyoxigraph import RdfFormat

        graph = Node(f"{_EX}window")
        slide = self.rooms.sizes.slide * _MILLISECOND
        before, now = self.rooms.window(close - slide, ratio), self.rooms.window(close, ratio)
        self.store.clear_graph(graph)
        self.store.bulk_load(self._lines(before).encode(), RdfFormat.N_TRIPLES, to_graph=graph)
        left = self._quads(slice(before.start, now.start), graph)
        came = self._quads(slice(before.stop, now.stop), graph)
        content = set(self._triples(now))
        left = [quad for quad in left if (quad.subject.value, quad.object.value) not in content]

        def slid() -> dict[str, Decimal]:
            for quad in left:
                self.store.remove(quad)
            self.store.extend(came)
            return {row["room"].value: Decimal(row["mean"].value) for row in self.store.query(_PEER)}

        return used(slid)

    def _triples(self, rows: slice) -> Iterator[tuple[str, str]]:
        data = self.rooms.readings
        for sensor, value in zip(data.sensor[rows].tolist(), data.hundredths[rows].tolist(), strict=True):
            yield f"{_EX}sensor/{sensor}", f"{value // 100}.{value % 100:02d}"

    def _lines(self, rows: slice) -> str:
        return "".join(
            f'<{sensor}> <{_EX}reads> "{value}"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n'
            for sensor, value in self._triples(rows)
        )

    def _quads(self, rows: slice, graph) -> list:
        from pyoxigraph import Literal, Quad
        from pyoxigraph import NamedNode as Node

        reads, decimal = Node(f"{_EX}reads"), Node("http://www.w3.org/2001/XMLSchema#decimal")
        return [
            Quad(Node(sensor), reads, Literal(value, datatype=decimal), graph)
            for sensor, value in self._triples(rows)
        ]


def compare(answers: Answers, expected: Answers, peer: str = "pyoxigraph") -> None:
    """Both must have the same averages, as far as the peer's decimals reach."""
    for instant, rooms in expected.items():
        mine = answers.get(instant, {})
        if mine.keys() != rooms.keys():
            raise AssertionError(f"at {instant}: {len(mine)} rooms, but {peer} has {len(rooms)}")
        for room, mean in rooms.items():
            if abs(mine[room] - mean) > Decimal("1e-12"):
                raise AssertionError(f"at {instant}: {room} has {mine[room]}, but {peer} {mean}")

"""The Python interface: an engine that takes streams, graphs and queries, and gives answers.

import penstock

engine = penstock.Engine()
engine.add_stream("prices.nq")
engine.add_query("SELECT ?s ?v WHERE { ?s <http://example.org/reads> ?v }", name="readings")
for solution in engine.solutions("readings"):
    print(solution["s"], solution.end)
engine.answers("readings").to_pandas()
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock import pipeline
from penstock.algebra.naming import names_of
from penstock.algebra.nodes import ParsedQuery
from penstock.arguments import (
    iri_or_none,
    length_of_time,
    place_or_none,
    positive_or_none,
    shown,
    text_or_none,
)
from penstock.batches import Batch, batch_of
from penstock.decode.limits import LIMITS
from penstock.decode.mapping.document import read_document, read_map
from penstock.decode.mapping.suggest import suggested, suggested_text
from penstock.decode.tables import check_columns
from penstock.engine.diagnosis import Diagnosis
from penstock.engine.program import Program
from penstock.errors import Finding, PenstockWarning, UsageError
from penstock.knowledge.files import GraphFile, GraphFiles
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.languages import ENDINGS, parse
from penstock.plan.advice.overview import Input
from penstock.results import Answers, Solution, concat
from penstock.runtime.contract import RunStatistics
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.once import run_once
from penstock.runtime.recovery.checkpoint import (
    check_checkpoint,
    stored_changing,
    stored_key,
    stored_partition_keys,
    stored_shards,
    stored_start,
)
from penstock.runtime.recovery.continuing import Continued
from penstock.runtime.run import RunOptions, check_inputs, input_findings, run
from penstock.runtime.session.session import default_shards
from penstock.sources.elements import write_elements
from penstock.sources.frames import is_frame, reader_of, write_frame
from penstock.sources.streams import STANDARD_INPUT, StreamSpec
from penstock.terms import triple_of

OnBatch = Callable[[Batch], None]
TRIPLE_COLUMNS = {"s", "p", "o", "start"}  # a table of triples needs no map


class Engine:
    """Streams, static graphs and queries that run together on Spark.

    `master` is the Spark to run on (default: all cores of this machine), `lateness` how long
    to wait for elements out of order (text such as "30s", a timedelta, microseconds), `checkpoint` a
    directory that remembers how far a run is, `strict` stops at the first broken line. Without `feed`,
    what CONSTRUCT queries derive is only given, not read by queries. `idle`,
    `ahead` and `tick` say what time does on live streams, as in `penstock run` (docs/streams.md).
    """

    def __init__(
        self,
        *,
        master: str | None = None,
        lateness: int | str | timedelta = 0,
        idle: int | str | timedelta | None = None,
        ahead: int | str | timedelta | None = None,
        tick: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        strict: bool = False,
        feed: bool = True,
        batch_bytes: int | None = None,
        shards: int | None = None,
    ) -> None:
        self.master = text_or_none(master, "master")
        lateness = length_of_time(lateness, "lateness")
        idle = None if idle is None else length_of_time(idle, "idle")
        ahead = None if ahead is None else length_of_time(ahead, "ahead")
        if tick and idle is None:
            raise UsageError(
                "tick needs idle: for how long the streams must be silent before time goes on",
                hint="give both, as in --idle 30s --tick",
            )
        self.timing = Timing(lateness, idle, ahead, tick)
        self.checkpoint = place_or_none(checkpoint, "checkpoint")
        self.shards = positive_or_none(shards, "shards")
        self.options = RunOptions(strict=strict, batch_bytes=positive_or_none(batch_bytes, "batch_bytes"))
        self.feed = feed
        self._key = secrets.randbits(62)
        self.streams: list[StreamSpec] = []
        self.knowledge = GraphFiles([])
        self._graph_places: list[Input] = []
        self.queries: list[ParsedQuery] = []
        self._scratch: tempfile.TemporaryDirectory | None = None
        self.diagnosis: dict[str, Diagnosis] = {}  # of the latest run: why queries have no answers
        self.continued: tuple[Continued, ...] = ()  # what becomes of the queries of the checkpoint
        self._told: set[tuple[str | None, Finding]] = set()

    # --- what runs ---

    def add_stream(
        self,
        source: Any,
        *,
        iri: str | None = None,
        format: str | None = None,
        start_predicate: str | None = None,
        end_predicate: str | None = None,
        base: str | None = None,
        max_line: int = LIMITS.line,
        max_document: int = LIMITS.document,
        map: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    ) -> Engine:
        """Registers a stream: a file, a directory, several of them, `-` for standard input, a
        DataFrame (pandas, Polars, Arrow, Spark), or an iterable of elements (triples, instant) or
        (triples, start, end).

        Triples may be pyoxigraph's or rdflib's, or an rdflib graph; instants are datetimes with
        a time zone or ISO 8601 texts. `map` says what the columns of a table mean (a dictionary or
        a file, see docs/tables.md); a row is then an element.

        Relative IRIs (TriG, JSON-LD) are resolved against `base`; without it, elements that have
        one are rejected. So are lines and cells of more than `max_line` bytes, and what can only be
        read whole (TriG, a JSON document over several lines) of more than `max_document`.
        """
        iri = iri_or_none(iri, "the iri of a stream")
        start_predicate = iri_or_none(start_predicate, "start_predicate")
        end_predicate = iri_or_none(end_predicate, "end_predicate")
        base = iri_or_none(base, "base")
        format = text_or_none(format, "format")
        document = None
        if map is not None:
            read_map(map)
            document = json.dumps(read_document(map)[0])
        if is_frame(source):
            paths: tuple[str, ...] = (str(self._kept(source, document)),)
            format = "parquet"
        elif isinstance(source, (str, os.PathLike)):
            paths = (_place(source),)
        else:
            items = _listed(source, _A_STREAM)
            if items and all(isinstance(item, (str, os.PathLike)) for item in items):
                paths = tuple(_place(item) for item in items)
            else:
                paths = (str(self._spooled(items)),)
        self.streams.append(
            StreamSpec(
                iri,
                paths,
                format,
                start_predicate,
                end_predicate,
                base=base,
                max_line=max_line,
                max_document=max_document,
                map=document,
            )
        )
        return self

    def _place_for(self, name: str) -> Path:
        """Where something that was made in Python is kept for the workers."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="penstock-elements-")
        return Path(self._scratch.name) / name

    def _spooled(self, elements: Iterable) -> Path:
        path = self._place_for(f"stream-{len(self.streams)}.nq")
        write_elements(path, elements)
        return path

    def _kept(self, frame: Any, document: str | None) -> Path:
        batches = reader_of(frame)
        if document is None and not TRIPLE_COLUMNS <= set(batches.schema.names):
            guess = suggested_text(suggested(batches.read_all()))
            raise UsageError(
                "a DataFrame needs a map, which says what its columns mean",
                hint=f"correct this guess, and give it as map= (a file, or a dictionary)\n{guess}",
            )
        if document is not None:
            check_columns(json.loads(document), batches.schema)
        path = self._place_for(f"stream-{len(self.streams)}")
        write_frame(batches, path)
        return path

    def add_graph(self, source: Any, *, iri: str | None = None, base: str | None = None) -> Engine:
        """Registers static knowledge: a file, or an iterable of triples (an rdflib graph, …).

        A run that follows its streams also follows the file: see docs/streams.md.

        Relative IRIs in a file are resolved against `base`, by default the file's own address.
        """
        iri = iri_or_none(iri, "the iri of a graph")
        base = iri_or_none(base, "base")
        if isinstance(source, (str, os.PathLike)):
            part, place = GraphFile(source, iri, base, key=self.key), os.fspath(source)
            found = part.graphs
        else:
            triples = map(triple_of, _listed(source, _A_GRAPH))
            part, place = graph_of(triples, iri, key=self.key), "made in Python"
            found = [part]
        self.knowledge.parts.append(part)
        self._graph_places += [Input(graph.iri, place) for graph in found]
        return self

    @property
    def graphs(self) -> list[StaticGraph]:
        """The static graphs as they were read last."""
        return self.knowledge.graphs

    def add_query(
        self, query: str | os.PathLike[str], *, name: str | None = None, language: str | None = None
    ) -> Engine:
        """Registers a query: a file (a path object or a name that ends in .rq), or its text.

        A file or text may hold several queries and rules, one after the other; they are then called
        name, name-2 and so on. `language` is ep-sparql or sparql; without it the ending tells.
        """
        if not isinstance(query, (str, os.PathLike)):
            raise UsageError(
                f"a query is its text or a file, and {shown(query)} is neither",
                hint='as in add_query("falls.rq") or add_query("SELECT …", name="falls")',
            )
        name = text_or_none(name, "the name of a query")
        language = text_or_none(language, "language")
        if isinstance(query, os.PathLike) or _names_file(query):
            self.queries += pipeline.parse([query], language=language, name=name)
        else:
            self.queries += parse(query, language=language, origin=name, name=name).queries
        return self

    @property
    def names(self) -> list[str]:
        """What the queries are called: as given, after their files, or `query-1`."""
        return names_of(self.queries)

    def _number(self, query: int | str) -> int:
        """The place of a query that is named or numbered."""
        if isinstance(query, str) and query in self.names:
            return self.names.index(query)
        if isinstance(query, int) and -len(self.queries) <= query < len(self.queries):
            return query % len(self.queries)
        raise UsageError(
            f"there is no query {query!r}", hint=f"there are: {', '.join(self.names) or 'none yet'}"
        )

    @property
    def key(self) -> int:
        """What the ids of terms are made with: drawn at random, and then kept in the checkpoint."""
        kept = stored_key(self.checkpoint) if self.checkpoint is not None else None
        return self._key if kept is None else kept

    # --- running ---

    def ready(self, *, follow: bool = False) -> Program:
        """The queries as a program; what cannot run is refused here, and nothing is written yet."""
        if not self.queries:
            raise UsageError("there is no query to run", hint="add one with add_query")
        if not self.streams:
            self._check_static(follow)
        check_inputs(self.streams, follow=follow)
        shards = self.shards if self.streams else 1
        if shards is None and self.checkpoint is not None:
            shards = stored_shards(self.checkpoint)
        shards = shards or default_shards(self.master)
        now = stored_start(self.checkpoint) if self.checkpoint is not None else None
        changing = stored_changing(self.checkpoint) if self.checkpoint is not None else None
        if now is None:
            now = int(datetime.now(timezone.utc).timestamp() * 1_000_000)
        program = pipeline.program(
            self.queries,
            self.streams,
            self.graphs,
            shards=shards,
            now=now,
            feed=self.feed,
            key=self.key,
            keys=stored_partition_keys(self.checkpoint) if self.checkpoint is not None else {},
            changing=follow if changing is None else changing,
        )
        if self.checkpoint is not None:
            _, _, self.continued = check_checkpoint(
                self.checkpoint, program, tuple(self.streams), self.timing
            )
        return program

    def _check_static(self, follow: bool) -> None:
        """Refuse what only streams give a sense to, in a run that has none."""
        if not self.graphs:
            raise UsageError(
                "there is no stream to read, and no graph",
                hint="add one with --stream or add_stream; --graph alone is answered once",
            )
        for given, option, why in (
            (follow, "--follow", "waits for more of a stream"),
            (self.checkpoint is not None, "--checkpoint", "remembers how far streams are read"),
        ):
            if given:
                raise UsageError(
                    f"{option} {why}, and this run has no stream",
                    hint="graphs alone are answered once: leave it out, or add a --stream",
                )

    def run(self, *, follow: bool = False, on_batch: OnBatch, stop: threading.Event | None = None):
        """Runs until the streams end (with `follow`, until `stop` or Ctrl-C); batch by batch.

        Without streams the graphs are answered once, in this process: one batch.
        """
        if not callable(on_batch):
            raise UsageError(f"on_batch is a function that takes a batch, and {shown(on_batch)} is none")
        program = self.ready(follow=follow)
        for query, finding in self.untold():
            text, origin = (query.text, query.origin) if query is not None else (None, None)
            warnings.warn(finding.located(text, origin), PenstockWarning, stacklevel=2)
        if follow and self.knowledge.watched and not program.changing:
            warnings.warn(self._fixed(program), PenstockWarning, stacklevel=2)
        latest = RunStatistics()

        def progressed(statistics: RunStatistics) -> None:
            nonlocal latest
            latest = statistics

        def take(number: int, results: list[tuple[int, bytes]]) -> None:
            on_batch(batch_of(number, self.queries, results, latest))

        if self.streams:
            statistics = run(
                program,
                self.streams,
                on_batch=take,
                follow=follow,
                timing=self.timing,
                checkpoint=self.checkpoint,
                master=self.master,
                on_progress=progressed,
                stop=stop,
                options=self.options,
                knowledge=self.knowledge,
            )
        else:
            statistics = run_once(program, take)
            statistics.known = sum(map(len, self.graphs))
        counts = statistics.row_counts
        self.diagnosis = {
            name: found
            for number, name in enumerate(self.names)
            if (found := program.diagnose(number, counts, statistics.predicates))
        }
        return statistics

    @staticmethod
    def _fixed(program: Program) -> str:
        """Why files of static knowledge are read once, though a run follows its streams."""
        if program.fixed:
            names = ", ".join(program.fixed)
            return (
                "changes of --graph files are not followed: an EXISTS within the OPTIONAL of"
                f" {names} asks for more than a look-up"
            )
        return "changes of --graph files are not followed: the checkpoint was begun without --follow"

    def answers(self, query: int | str = 0) -> Answers:
        """Runs to the end of the streams; all answers of a query (its name or number) as a table."""
        name = self.names[self._number(query)] if self.queries else ""
        return self.all_answers()[name]

    def all_answers(self) -> dict[str, Answers]:
        """Runs to the end of the streams once; the answers of every query by its name."""
        found: dict[int, list[pa.Table]] = {i: [] for i in range(len(self.queries))}

        def take(batch: Batch) -> None:
            for index, table in batch.tables.items():
                found[index].append(table)

        self.run(on_batch=take)
        tables = (concat(parts, self.queries[i]) for i, parts in found.items())
        return dict(zip(self.names, tables, strict=True))

    def solutions(self, query: int | str = 0, *, follow: bool = False) -> Iterator[Solution]:
        """The solutions of a query as they are found; leaving the loop ends the run."""
        number = self._number(query)
        return self._arriving(number, follow)

    def _arriving(self, number: int, follow: bool) -> Iterator[Solution]:
        arriving: queue.Queue = queue.Queue()
        stop = threading.Event()

        def take(batch: Batch) -> None:
            if number in batch.tables:
                arriving.put(concat([batch.tables[number]], self.queries[number]))

        def work() -> None:
            try:
                self.run(follow=follow, on_batch=take, stop=stop)
                arriving.put(None)
            except BaseException as problem:  # noqa: BLE001 — raised again where the loop is
                arriving.put(problem)

        worker = threading.Thread(target=work, name="penstock-run", daemon=True)
        worker.start()
        try:
            while (item := arriving.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield from item
        finally:
            stop.set()
            worker.join()

    def check(self) -> list:
        """The findings about the registered queries, without running them."""
        return [
            finding for _, finding in pipeline.check(self.queries, self.streams, self.graphs, feed=self.feed)
        ]

    def untold(self) -> list[tuple[ParsedQuery | None, Finding]]:
        """The findings that nobody was told yet, with the query that each is about; now they are."""
        catalog = pipeline.catalog_of(self.streams, self.graphs)
        found = []
        of_inputs = [(None, finding) for finding in input_findings(self.streams)]
        for query, finding in [*pipeline.findings(self.queries, catalog), *of_inputs]:
            key = (query.text if query is not None else None, finding)
            if key not in self._told:
                self._told.add(key)
                found.append((query, finding))
        return found

    def explain(self, query: int | str | None = None, stage: str = "plan") -> str:
        """What a stage (algebra, plan or spark) makes of this run, or of one query (name or number) in it.

        Without streams, one is assumed, and one for each IRI that the queries name; it is told.
        """
        check_inputs(self.streams, follow=True)
        return pipeline.explain(
            self.queries,
            self.streams,
            self.graphs,
            stage=stage,
            feed=self.feed,
            only=None if query is None else [self._number(query)],
            inputs=([self._input(spec) for spec in self.streams], self._graph_places),
        )

    def _input(self, spec: StreamSpec) -> Input:
        made = self._scratch is not None and all(path.startswith(self._scratch.name) for path in spec.paths)
        return Input(spec.iri, "made in Python" if made else ", ".join(map(_shown_path, spec.paths)))

    def __repr__(self) -> str:
        return (
            f"<penstock.Engine: {len(self.queries)} queries, {len(self.streams)} streams,"
            f" {len(self.graphs)} graphs>"
        )


def _place(path: str | os.PathLike[str]) -> str:
    """A path that means the same in the workers, which keep a working directory of their own."""
    text = os.fspath(path)
    return text if text == STANDARD_INPUT else os.path.abspath(text)


def _shown_path(path: str) -> str:
    """A path as short as it can be said here."""
    below = os.path.relpath(path) if path != STANDARD_INPUT else "standard input"
    return below if len(below) < len(path) else path


def _names_file(query: str) -> bool:
    """Whether a text is the name of a file: it ends like one, or is a single word."""
    if "\n" in query or "{" in query:
        return False
    return query.endswith(tuple(ENDINGS)) or (bool(query) and not re.search(r"\s", query))


_A_STREAM = "a stream is a file, a directory, several of them, or elements (triples, instant)"
_A_GRAPH = "a graph is a file or an iterable of triples, such as an rdflib graph"


def _listed(source: Any, expected: str) -> list:
    """What an iterable holds; anything else is told."""
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        return list(source)
    raise UsageError(f"{expected}, and {shown(source)} is none of these")

"""What an engine is given: streams, static graphs, rules and queries."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from penstock import pipeline
from penstock.algebra.naming import names_of
from penstock.algebra.nodes import ParsedQuery
from penstock.api.arguments import iri_or_none, shown, text_or_none
from penstock.decode.limits import LIMITS
from penstock.decode.mapping.document import read_document, read_map
from penstock.decode.mapping.suggest import suggested, suggested_text
from penstock.decode.tables import check_columns
from penstock.errors import InputError, UsageError
from penstock.knowledge.files import GraphFile, GraphFiles
from penstock.knowledge.graphs import StaticGraph, graph_of, graph_of_frame
from penstock.languages import ENDINGS
from penstock.plan.advice.overview import Input
from penstock.rules.library import ruleset
from penstock.rules.reading import RuleText, read_rules
from penstock.rules.rule import Rule
from penstock.runtime.recovery.checkpoint import stored_key
from penstock.sources.elements import write_elements
from penstock.sources.frames import ROWS_IN_A_FILE, is_frame, reader_of, write_frame
from penstock.sources.streams import STANDARD_INPUT, StreamSpec
from penstock.terms import triple_of

Map = Mapping[str, Any] | str | os.PathLike[str]
TRIPLE_COLUMNS = {"s", "p", "o", "start"}  # a table of triples needs no map


class Registrations:
    """Streams, static graphs, rules and queries, as they are registered one after the other."""

    def __init__(self, checkpoint: str | os.PathLike[str] | None = None) -> None:
        self.checkpoint = checkpoint
        self._key = secrets.randbits(62)
        self.streams: list[StreamSpec] = []
        self.knowledge = GraphFiles([])
        self._graph_places: list[Input] = []
        self.queries: list[ParsedQuery] = []
        self.query_scope: str | None = None  # what queries look at, if not what their language says
        self._rules: list[str | Path] = []  # regimes, files, directories
        self._rule_texts: list[RuleText] = []  # of query files, and of Python
        self._scratch: tempfile.TemporaryDirectory | None = None

    @property
    def key(self) -> int:
        """What the ids of terms are made with: drawn at random, and then kept in the checkpoint."""
        kept = stored_key(self.checkpoint) if self.checkpoint is not None else None
        return self._key if kept is None else kept

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
        map: Map | None = None,
    ) -> Self:
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
            raise _without_map(batches.read_all(), static=False)
        check_columns(json.loads(document) if document is not None else None, batches.schema)
        path = self._place_for(f"stream-{len(self.streams)}")
        write_frame(batches, path)
        return path

    def add_graph(
        self, source: Any, *, iri: str | None = None, base: str | None = None, map: Map | None = None
    ) -> Self:
        """Registers static knowledge: a file, a DataFrame (pandas, Polars, Arrow, Spark), or an iterable of
        triples (an rdflib graph, …).

        A run that follows its streams also follows the file: see docs/streams.md. Of a table (a CSV, Parquet
        or JSON lines file, or a DataFrame) `map` says what its columns mean (a dictionary or a file, see
        docs/tables.md); it has no time.

        Relative IRIs in a file are resolved against `base`, by default the file's own address.
        """
        iri = iri_or_none(iri, "the iri of a graph")
        base = iri_or_none(base, "base")
        described = None if map is None else read_map(map, static=True)
        if isinstance(source, (str, os.PathLike)):
            part, place = GraphFile(source, iri, base, key=self.key, map=described), os.fspath(source)
            found = part.graphs
        elif is_frame(source):
            frame = reader_of(source).read_all()
            if described is None:
                raise _without_map(frame, static=True)
            name = f"the DataFrame of graph {len(self.knowledge.parts) + 1}"
            part, place = graph_of_frame(frame, described, iri, name=name, key=self.key), "made in Python"
            found = [part]
        else:
            if map is not None:
                raise UsageError(
                    f"a map is for tables, and {shown(source)} is none",
                    hint="triples need no map: leave it out",
                )
            triples = (triple_of(each) for each in _listed(source, _A_GRAPH))
            part, place = graph_of(triples, iri, key=self.key), "made in Python"
            found = [part]
        self.knowledge.parts.append(part)
        self._graph_places += [Input(graph.iri, place) for graph in found]
        return self

    @property
    def graphs(self) -> list[StaticGraph]:
        """The static graphs as they were read last."""
        return self.knowledge.graphs

    def add_ontology(self, source: Any, *, base: str | None = None, map: Map | None = None) -> Self:
        """Registers an ontology: static knowledge of the default graph, as `add_graph` without an IRI."""
        return self.add_graph(source, base=base, map=map)

    def add_rules(self, *rules: str | os.PathLike[str]) -> Self:
        """Adds rules: a regime, a file or directory (a path object or a name), or the text of some.

        A rule with the name of one that is there takes its place; `# drop: NAME` in a text takes one away.
        """
        for each in rules:
            if not isinstance(each, (str, os.PathLike)):
                raise UsageError(
                    f"rules are a regime, a file or their text, and {shown(each)} is none of these",
                    hint='as in add_rules("rdfs") or add_rules("my.rq")',
                )
            if isinstance(each, str) and any(sign in each for sign in "{#\n"):
                self._rule_texts.append(read_rules(each, address=_here(), name="rule", only_rules=True))
            else:
                self._rules.append(each if isinstance(each, str) else Path(each))
        return self

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of this run: those of regimes and files, and the INSERTs among the queries."""
        return tuple(ruleset(self._rules, self._rule_texts))

    def add_query(
        self,
        query: str | os.PathLike[str],
        *,
        name: str | None = None,
        language: str | None = None,
        base: str | None = None,
    ) -> Self:
        """Registers a query: a file (a path object or a name that ends in .rq), or its text.

        A file or text may hold several queries and rules, one after the other; they are then called
        name, name-2 and so on, whatever REGISTER calls them; a stream that it names keeps its IRI. A name
        that another query has is refused. INSERT …
        WHERE … is a rule as in `add_rules`. `language` is one of ep-sparql, sparql, cqels-cep, c-sparql and
        rsp-ql; without it the ending tells, or the text.

        Relative IRIs are completed by BASE in the text, otherwise by `base`: by default the file's own
        address, and of a text that of the current directory.
        """
        if not isinstance(query, (str, os.PathLike)):
            raise UsageError(
                f"a query is its text or a file, and {shown(query)} is neither",
                hint='as in add_query("falls.rq") or add_query("SELECT …", name="falls")',
            )
        name = text_or_none(name, "the name of a query")
        language = text_or_none(language, "language")
        base = iri_or_none(base, "base")
        if isinstance(query, os.PathLike) or _names_file(query):
            found = pipeline.read(query, language=language, name=name, base=base)
        else:
            found = read_rules(query, language=language, origin=name, address=base or _here(), name=name)
        queries = pipeline.in_scope(found.queries, self.query_scope)
        if queries and name in self.names:
            raise UsageError(
                f"there is a query {name!r} already",
                hint="give this one another name, or none: answers go by it",
            )
        self.queries += queries if name is None else [replace(query, name=name) for query in queries]
        self._rule_texts.append(found)
        return self

    @property
    def names(self) -> list[str]:
        """What the queries are called: as given, after their files, or `query-1`."""
        return names_of(self.queries)

    def name_made(self, record: dict[str, Any]) -> None:
        """Names what was made in Python by its stream, and not by the file that it is kept in."""
        source = record.get("source")
        if self._scratch is None or not source or not source.startswith(self._scratch.name):
            return
        number, *part = os.path.relpath(source, self._scratch.name).removeprefix("stream-").split(os.sep)
        stream = int(number.removesuffix(".nq"))
        named = self.streams[stream].iri
        which = f"<{named}>" if named else f"{stream + 1}"
        record["source"] = f"the {'DataFrame' if part else 'elements'} of stream {which}"
        if part and record.get("line"):  # rows count on in the next part
            record["line"] += ROWS_IN_A_FILE * int(part[0].removeprefix("part-").removesuffix(".parquet"))

    @contextlib.contextmanager
    def made_named(self) -> Iterator[None]:
        """Errors about what was made in Python name it so."""
        try:
            yield
        except InputError as problem:
            record = {"source": problem.origin}
            self.name_made(record)
            problem.origin = record["source"]
            raise

    def _input(self, spec: StreamSpec) -> Input:
        made = self._scratch is not None and all(path.startswith(self._scratch.name) for path in spec.paths)
        return Input(spec.iri, "made in Python" if made else ", ".join(map(_shown_path, spec.paths)))


def _without_map(frame: pa.Table, *, static: bool) -> UsageError:
    guess = suggested_text(suggested(frame, static=static))
    return UsageError(
        "a DataFrame needs a map, which says what its columns mean",
        hint=f"correct this guess, and give it as map= (a file, or a dictionary)\n{guess}",
    )


def _place(path: str | os.PathLike[str]) -> str:
    """A path that means the same in the workers, which keep a working directory of their own."""
    text = os.fspath(path)
    return text if text == STANDARD_INPUT else os.path.abspath(text)


def _here() -> str:
    """The address of the current directory, which completes relative IRIs of texts that have no file."""
    return f"{Path.cwd().as_uri().rstrip('/')}/"


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
_A_GRAPH = "a graph is a file or an iterable of triples, such as an rdflib graph, or a DataFrame with a map"


def _listed(source: Any, expected: str) -> list:
    """What an iterable holds; anything else is told."""
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        return list(source)
    raise UsageError(f"{expected}, and {shown(source)} is none of these")

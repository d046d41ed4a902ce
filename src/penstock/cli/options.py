"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.errors import InputError, UsageError, is_there
from penstock.timeline import parse_duration

if TYPE_CHECKING:
    from penstock.api.engine import Engine

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
STANDARD_INPUT = "-"
INTERRUPTED = 130
"""The exit code that shells use for Ctrl-C."""

Queries = Annotated[
    list[Path],
    typer.Argument(
        metavar="QUERY", help="Files of queries and rules, one or several in each.", show_default=False
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="NAME",
        help="What the queries are written in: ep-sparql, cqels-cep, c-sparql, rsp-ql, or sparql if what is"
        " not plain SPARQL 1.1 shall be an error. [default: as the files' endings say, or what the text looks"
        " like]",
        show_default=False,
    ),
]
Streams = Annotated[
    list[str],
    typer.Option(
        "--stream",
        "-s",
        metavar="[IRI=]SOURCE",
        help="A stream to read: a file, a directory, or - for standard input (N-Quads, TriG,"
        " JSON-LD lines, Parquet, CSV; also .gz and .zst). With an IRI, queries address it by"
        " GRAPH or FROM. May be given several times.",
    ),
]
Graphs = Annotated[
    list[str],
    typer.Option(
        "--graph",
        "-g",
        metavar="[IRI=]FILE",
        help="Background knowledge: a file in Turtle, N-Triples, N-Quads, TriG, RDF/XML or"
        " JSON-LD, or a table with a --map (CSV, Parquet, JSON lines)."
        " With --follow, changes of the file hold for what comes later. May be given several times.",
    ),
]
Ontologies = Annotated[
    list[str],
    typer.Option(
        "--ontology",
        metavar="FILE",
        help="An ontology: background knowledge without an IRI, as --graph. May be given several times.",
    ),
]
Rules = Annotated[
    list[str],
    typer.Option(
        "--rules",
        metavar="REGIME|FILE|DIR",
        help="Rules by which more follows from static knowledge and from stream elements: rdf, rdfs, rhodf,"
        " dstar, p, owl2-rl, swclos2, owl2-direct, or rules by their names, or files of your own. May be"
        " given several times. INSERT … WHERE … in query files are rules, too. Of all these, such are used as"
        " can contribute to answers; penstock explain lists them.",
    ),
]
AllRules = Annotated[
    bool,
    typer.Option(
        "--all-rules", help="Use also those rules that can change no answer of the queries, to compare."
    ),
]
RuleScope = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="element|stream",
        help="Where the premises of a rule come from, besides static knowledge: from one element, or from"
        " several (then the interval is their hull).",
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="DURATION",
        help="With --scope stream, how far apart the premises of a rule may be. [default: any distance]",
        show_default=False,
    ),
]
Idle = Annotated[
    str | None,
    typer.Option(
        "--idle",
        metavar="DURATION",
        help="Of several live streams the slowest one says how far time is, until it has had nothing"
        " new for so long. [default: it always does]",
        show_default=False,
    ),
]
Ahead = Annotated[
    str | None,
    typer.Option(
        "--ahead",
        metavar="DURATION",
        help="Reject elements that end further ahead of this machine's clock. [default: none are]",
        show_default=False,
    ),
]
Behind = Annotated[
    str | None,
    typer.Option(
        "--behind",
        metavar="DURATION",
        help="Reject elements that ended longer before the run (with its --checkpoint) began."
        " [default: none are]",
        show_default=False,
    ),
]
Tick = Annotated[
    bool,
    typer.Option(
        "--tick",
        help="When all live streams have been silent for --idle, time goes on by the clock, so that"
        " absence is decided in silence, too.",
    ),
]
MapFiles = Annotated[
    list[Path],
    typer.Option(
        "--map",
        metavar="FILE",
        help="What the columns mean of streams or graphs that are tables (CSV, Parquet, JSON lines) and not"
        " RDF: a small CSVW document. `penstock map TABLE` suggests one. One with a time is for streams, one"
        " without for graphs. May be given several times; of several for streams, or for graphs, the one"
        " whose url is the table's file name.",
    ),
]
StreamFormat = Annotated[
    str | None,
    typer.Option(
        "--stream-format",
        metavar="FORMAT",
        help="The format of the streams where file names do not tell: nquads, trig, jsonld,"
        " parquet or csv (standard input: nquads).",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="IRI",
        help="What relative IRIs in queries, streams and graphs are resolved against. Without it, elements"
        " that have one are rejected; in a graph, and in a query without BASE, the file's own address is"
        " the base.",
    ),
]
Feed = Annotated[
    bool,
    typer.Option(
        "--feed/--no-feed",
        help="Whether queries read what CONSTRUCT queries derive, as rules of EP-SPARQL, or it is"
        " only written, as in plain SPARQL.",
    ),
]


QueryScope = Annotated[
    str | None,
    typer.Option(
        "--query-scope",
        metavar="element|stream",
        help="What queries look at: the whole stream, or one element at a time, with the graphs (event"
        " mode: nothing is remembered, and answers have the element's interval). [default: as the"
        " language says: the stream]",
        show_default=False,
    ),
]
CheckpointDirectory = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Remember here how far the run is. The same command then goes on where it"
        " stopped, also after a crash, and writes no answer twice to files.",
    ),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Keep watching the sources instead of ending.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True)
class Named:
    """A source, and the IRI it is given (None: it is part of the default graph)."""

    iri: str | None
    source: str
    repeats: bool | None = None  # of a stream: whether two elements may state the same triple

    @property
    def place(self) -> str:
        """The source for processes that may stand in another directory than this one."""
        return self.source if self.source == STANDARD_INPUT else os.path.abspath(self.source)


def read_named(text: str, option: str) -> Named:
    """Reads `[IRI=]SOURCE`. IRIs and file names may hold `=` themselves.

    Of several ways to cut it, the one whose file exists is meant, otherwise the first one.
    """
    if not text:
        raise UsageError(f"{option} is empty", hint="is a variable of your shell unset?")
    if text == STANDARD_INPUT or is_there(text):
        return Named(None, text)
    cuts = [at for at, sign in enumerate(text) if sign == "="]
    ways = [Named(text[:at], text[at + 1 :]) for at in cuts if _ABSOLUTE_IRI.fullmatch(text[:at])]
    if not ways:
        if cuts:
            raise UsageError(
                f"{option} {text}: {text[: cuts[0]]!r} is not an absolute IRI, and there is no such file",
                hint=f"write it as {option} http://example.org/name={text[cuts[0] + 1 :]}",
            )
        raise UsageError(f"{option} {text}: there is no such file or directory")
    for way in ways:
        if way.source == STANDARD_INPUT or (way.source and is_there(way.source)):
            return way
    raise UsageError(f"{option} {text}: there is no such file or directory: {ways[0].source or '(empty)'}")


def read_duration(text: str, option: str) -> int:
    """Reads a length of time, in microseconds."""
    try:
        duration = parse_duration(text)
    except InputError as problem:
        raise UsageError(f"{option}: {problem.message}", hint=problem.hint) from None
    if duration < 0:
        raise UsageError(f"{option} {text}: a negative duration has no meaning here")
    return duration


def existing_queries(paths: list[Path]) -> list[Path]:
    """The query files; a UsageError names the first that is not there."""
    for path in paths:
        if not is_there(path):
            raise UsageError(f"there is no query file {path}")
        if path.is_dir():
            raise UsageError(f"{path} is a directory, and a query is a file", hint=f"try {path}/*.rq")
    return paths


class Maps:
    """The maps of a command: those with a time are for its streams, those without for its graphs."""

    def __init__(self, paths: list[Path], graphs: list[Named], streams: list[str]) -> None:
        from penstock.decode.formats import is_table
        from penstock.decode.mapping.document import TIME, read_document

        self.tables = [named for named in graphs if is_table(named.source)]
        documents = [(path, read_document(path)[0]) for path in paths]
        static = [isinstance(document, dict) and TIME not in document for _, document in documents]
        self.timed = [each for each, without in zip(documents, static, strict=True) if not without]
        self.timeless = [each for each, without in zip(documents, static, strict=True) if without]
        if self.timeless and not self.tables and not streams:
            [path, _], *_ = self.timeless
            raise UsageError(f"{path} has no time, and so is for a table among the graphs: there is none")

    def of_stream(self, stream: Named) -> Path | None:
        # Where no graph is a table, the time was forgotten, which is told when the map is read.
        return _fitting(self.timed if self.timed or self.tables else self.timeless, stream)

    def of_graph(self, graph: Named) -> Path | None:
        if graph not in self.tables:
            return None
        if self.timed and not self.timeless:
            [path, _], *_ = self.timed
            raise UsageError(
                f"the graph {graph.source} is a table without a map: {path} has a time, so it is for streams",
                hint=f"`penstock map --static {graph.source}` suggests one, for another --map",
            )
        return _fitting(self.timeless, graph)


def _fitting(maps: list[tuple[Path, Any]], table: Named) -> Path | None:
    """The map for a table: the only one, or the one that names it."""
    if len(maps) > 1:
        name = Path(table.source).name
        named = [each for each in maps if Path(str(each[1].get("url", ""))).name == name]
        if len(named) != 1:
            paths = ", ".join(str(path) for path, _ in maps)
            raise UsageError(
                f"{len(named) or 'none'} of the maps {paths} {'are' if named else 'is'} for {table.source}",
                hint=f'name the table in its map: "url": "{name}"',
            )
        maps = named
    return maps[0][0] if maps else None


def add_inputs(
    engine: Engine,
    queries: list[Path],
    streams: list[str],
    graphs: list[str],
    ontologies: list[str],
    language: str | None,
    base: str | None,
    map: list[Path],
    **reading: Any,
) -> list[str | Path]:
    """Lets an engine have what a command names, streams read as `reading` says; the places of all of it."""
    known = [read_named(text, "--graph") for text in graphs]
    known += [Named(None, read_named(text, "--ontology").source) for text in ontologies]
    inputs: list[str | Path] = [*queries, *map, *(named.source for named in known)]
    maps = Maps(map, known, streams)
    for text in streams:
        named = read_named(text, "--stream")
        inputs.append(named.source)
        engine.add_stream(named.place, iri=named.iri, base=base, map=maps.of_stream(named), **reading)
    for named in known:
        engine.add_graph(named.source, iri=named.iri, base=base, map=maps.of_graph(named))
    for path in queries:
        engine.add_query(path, language=language, base=base)
    return inputs

"""`penstock run` and `penstock try`: queries on streams, answers as they are found; on graphs alone, once."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.monitoring import Monitor, open_metrics
from penstock.cli.options import (
    INTERRUPTED,
    Ahead,
    AllRules,
    Base,
    Behind,
    CheckpointDirectory,
    Debug,
    Feed,
    Follow,
    Graphs,
    Idle,
    Language,
    MapFiles,
    Ontologies,
    Queries,
    QueryScope,
    Quiet,
    Rules,
    RuleScope,
    StreamFormat,
    Streams,
    Tick,
    Within,
    add_inputs,
    existing_queries,
    read_duration,
)
from penstock.cli.showing import (
    ProgressLine,
    log_as_json,
    show_continued,
    show_diagnosis,
    show_event,
    show_finding,
    show_note,
    show_progress,
    show_summary,
    show_waiting,
    warnings_shown,
)
from penstock.errors import StorageError, UsageError, is_there, storing
from penstock.sources.segments import files_below
from penstock.sources.streams import StreamSpec

if TYPE_CHECKING:
    from penstock.runtime.contract import RunStatistics


class AnswerFormat(StrEnum):
    """How answers are written."""

    table = "table"
    csv = "csv"
    json = "json"
    nquads = "nquads"
    trig = "trig"
    parquet = "parquet"


class Log(StrEnum):
    """How a run writes what it says on standard error."""

    text = "text"
    json = "json"


def answer(
    context: typer.Context,
    spark: str | None,
    queries: Queries,
    stream: Streams = [],  # noqa: B006
    graph: Graphs = [],  # noqa: B006
    ontology: Ontologies = [],  # noqa: B006
    rules: Rules = [],  # noqa: B006
    scope: RuleScope = "element",
    within: Within = None,
    all_rules: AllRules = False,
    follow: Follow = False,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DEST",
            help="Where answers go: - for standard output, a file, or a directory (its name ends"
            " in /), which gets a file per batch. What is there already is only touched with"
            " --overwrite or --append, or by the --checkpoint that wrote it.",
        ),
    ] = "-",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is in DEST (and in the three files below).")
    ] = False,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the file DEST, if it has the same columns.")
    ] = False,
    format: Annotated[
        AnswerFormat | None,
        typer.Option(
            "--format",
            help="How answers are written; by default as the name of DEST says, or as a table."
            " nquads and trig are for CONSTRUCT, and can be read as a stream again.",
            show_default=False,
        ),
    ] = None,
    lateness: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="How long to wait for elements out of order, as in 30s, 5m or PT1H.",
        ),
    ] = "0s",
    idle: Idle = None,
    ahead: Ahead = None,
    behind: Behind = None,
    tick: Tick = False,
    checkpoint: CheckpointDirectory = None,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The Spark to run on, as in local[4], local-cluster[2,1,1024] or spark://host:7077.",
        ),
    ] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where input that cannot be read goes, as JSON lines. [default: beside DEST]",
        ),
    ] = None,
    late: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where elements go that came too late, as JSON lines. [default: beside DEST]",
        ),
    ] = None,
    inconsistent: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where contradictions in elements go that rules find, as JSON lines. [default: beside DEST]",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at the first line that cannot be read, and at the first contradiction."
        ),
    ] = False,
    feed: Feed = True,
    query_scope: QueryScope = None,
    stream_format: StreamFormat = None,
    start_predicate: Annotated[
        str | None,
        typer.Option(
            metavar="IRI",
            help="States an element's instant or start instead of prov:generatedAtTime and"
            " prov:startedAtTime.",
        ),
    ] = None,
    end_predicate: Annotated[
        str | None,
        typer.Option(metavar="IRI", help="States an element's end, beside --start-predicate."),
    ] = None,
    base: Base = None,
    max_line: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="The longest line of N-Quads or JSON lines, and the largest cell of a table, as in"
            " 512k or 8M; longer ones are rejected.",
        ),
    ] = "8M",
    max_document: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="The most that is read in one piece: a TriG file, a JSON document over several lines,"
            " the lines of an element whose time is stated.",
        ),
    ] = "256M",
    max_state: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS|SIZE",
            help="The most that all queries may remember: rows as in 1000000, or bytes as in 512M or 2G."
            " Beyond it the run ends, and says where. [default: what the machine has]",
            show_default=False,
        ),
    ] = None,
    max_answers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The most answers that a query may give in one batch; beyond it the run ends."
            " [default: any number]",
            show_default=False,
        ),
    ] = None,
    map: MapFiles = [],  # noqa: B006
    language: Language = None,
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="Write numbers, Booleans, timestamps and plain texts instead of RDF terms (Parquet and"
            " JSON). A column whose values fit no one type stays text, and is named.",
        ),
    ] = False,
    log: Annotated[
        Log,
        typer.Option("--log", help="How progress and messages are written: text, or each as a line of JSON."),
    ] = Log.text,
    progress: Annotated[
        str,
        typer.Option(
            "--progress",
            metavar="DURATION",
            help="Without a terminal, how often a line says how far the run is, from the first batch on;"
            " 0s: never.",
        ),
    ] = "10s",
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="FILE|PORT",
            help="The run's figures in the text format of Prometheus: in a file that is replaced whole,"
            " or at http://127.0.0.1:PORT/metrics (0: any port that is free).",
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Runs queries, on Spark or (`spark` None) in this process; the command line of both."""
    from penstock.api.engine import Engine
    from penstock.decode.limits import parse_size
    from penstock.runtime.recovery.checkpoint import Checkpoint
    from penstock.sinks import Existing, SideOutputs, is_standard_output, open_sink

    log_as_json(log is Log.json)
    existing_queries(queries)
    interval = read_duration(progress, "--progress") / 1_000_000
    if not out:
        raise UsageError("--out is empty", hint="name a file or a directory, or - for standard output")
    if checkpoint is not None and not checkpoint.name:
        raise UsageError("--checkpoint needs a directory of its own", hint="as in --checkpoint state/")
    if overwrite and append:
        raise UsageError("--overwrite and --append exclude each other")
    existing = Existing.OVERWRITE if overwrite else Existing.APPEND if append else Existing.REFUSE
    engine = Engine(
        spark=spark,
        master=master,
        lateness=read_duration(lateness, "--lateness"),
        idle=None if idle is None else read_duration(idle, "--idle"),
        ahead=None if ahead is None else read_duration(ahead, "--ahead"),
        behind=None if behind is None else read_duration(behind, "--behind"),
        tick=tick,
        checkpoint=checkpoint,
        strict=strict,
        feed=feed,
        rules=rules,
        scope=scope,
        within=None if within is None else read_duration(within, "--within"),
        all_rules=all_rules,
        query_scope=query_scope,
        max_state=max_state,
        max_answers=max_answers,
    )
    reading = {
        "format": stream_format,
        "start_predicate": start_predicate,
        "end_predicate": end_predicate,
        "max_line": parse_size(max_line),
        "max_document": parse_size(max_document),
    }
    inputs = add_inputs(engine, queries, stream, graph, ontology, language, base, map, **reading)
    inputs += (path for path in rules if is_there(path))
    engine.ready(follow=follow)  # what cannot run is refused before an output is touched

    beside = None if is_standard_output(out) else out.rstrip("/")
    rejected = rejected or (Path(f"{beside}.rejected.jsonl") if beside else None)
    late = late or (Path(f"{beside}.late.jsonl") if beside else None)
    inconsistent = inconsistent or (Path(f"{beside}.inconsistent.jsonl") if beside else None)
    gauge_file = Path(metrics) if metrics is not None and not metrics.isdigit() else None
    written = [Path(out) if beside else None, rejected, late, inconsistent, checkpoint, gauge_file]
    keep_apart([each for each in written if each is not None], inputs)

    def latest() -> RunStatistics:
        return engine.statistics

    metrics_file = open_metrics(metrics, latest, context.call_on_close, quiet)
    with restartable(checkpoint), storing(out if beside else "standard output"):
        finished = None if checkpoint is None else Checkpoint(checkpoint).last_committed()
        sides = SideOutputs(rejected, late, checkpoint, existing, inconsistent, finished)
        chosen = format.value if format else None
        sink = open_sink(chosen, out, engine.queries, checkpoint, existing, native, finished)
        sides.leave_before()
    for query, finding in engine.new_findings():
        show_finding(finding, *((query.text, query.origin) if query is not None else (None, None)))
    if sink.moved is not None:
        show_note(f"{out} stays as it is: it has other columns. Answers go to {sink.moved} from now on")
    if not quiet:
        show_continued(engine.continued)
    if follow and not quiet:
        show_waiting(engine.streams)
    on_spark = bool(stream) and spark is not None
    once = not (follow or checkpoint or master)
    if on_spark and once and not quiet and sys.stderr.isatty() and is_small(engine.streams):
        show_note("hint: the streams are small: `penstock try` answers them at once, without Spark")
    line = ProgressLine(quiet, opening="starting Spark" if on_spark else "answering", latest=latest)
    tell = None if quiet or line.status is not None else show_progress
    monitor = Monitor(latest, interval, tell, metrics_file)
    found, knowledge = 0, None

    def take(batch) -> None:
        nonlocal found, knowledge
        line.aside()
        with storing("what was rejected, late or inconsistent"):
            sides.write(batch.id, batch.rejected, batch.late, batch.inconsistent)
        with storing(out if beside else "standard output"):
            sink.write(batch.id, batch.tables)
        found += sum(table.num_rows for table in batch.tables.values())
        if not quiet and knowledge not in (None, batch.statistics.knowledge):
            show_note(f"the static knowledge has changed: it holds from batch {batch.id} on")
        knowledge = batch.statistics.knowledge
        line.back()
        if metrics_file is not None:
            metrics_file.write(batch.statistics)

    with restartable(checkpoint), warnings_shown():
        try:
            statistics = engine.run(follow=follow, on_batch=take)
        except KeyboardInterrupt:
            # From here on Ctrl-C is the run's own business; this one came before.
            line.close()
            when = "while Spark was starting: nothing was read" if on_spark else "before there was an answer"
            show_note(f"stopped {when}")
            raise typer.Exit(INTERRUPTED) from None
        finally:
            monitor.close()
            line.close()
            with storing(out if beside else "standard output"):
                sink.close()
                sides.close()
    if metrics_file is not None:
        metrics_file.write(statistics)
    if not quiet:
        if log is Log.json:
            ended = {"interrupted": statistics.interrupted, "seconds": round(statistics.seconds, 3)}
            show_event("end", **statistics.progress.to_json(), **ended)
        kept_in = {"rejected": rejected, "late": late, "inconsistent": inconsistent}
        show_summary(statistics, found, kept_in, time.monotonic() - context.obj)
        read = statistics.elements or statistics.known
        if read and (follow or not statistics.interrupted):
            show_diagnosis(list(engine.diagnosis.values()))
    if statistics.interrupted and not follow:
        raise typer.Exit(INTERRUPTED)  # there is more in the streams than was answered


PANELS = {
    "What is read": (
        "stream graph ontology map stream_format start_predicate end_predicate base follow language"
    ),
    "What queries see": "rules scope within all_rules feed query_scope",
    "Where answers go": "out format native overwrite append rejected late inconsistent strict",
    "Time": "lateness idle tick ahead behind",
    "Restart, Spark and limits": "checkpoint master max_state max_answers max_line max_document",
    "What it says": "progress log metrics quiet debug",
}
"""The options of `penstock run --help`, in groups."""


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    """An option in its group of the help; other commands, which may share it, have no groups."""
    for panel, names in PANELS.items():
        if parameter.name in names.split():
            option = copy(parameter.annotation.__metadata__[0])
            option.rich_help_panel = panel
            kind = parameter.annotation.__origin__
            return parameter.replace(annotation=Annotated[kind, option])
    return parameter


def _command(name: str, spark: str | None, help: str, without: Sequence[str] = ()) -> Callable[..., None]:
    """A command whose options are those of `answer`, but for some."""

    def command(context: typer.Context, **options: Any) -> None:
        answer(context, spark, **options)

    whole = inspect.signature(answer, eval_str=True)
    kept = [_in_panel(each) for each in whole.parameters.values() if each.name not in ("spark", *without)]
    command.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in kept}
    command.__name__, command.__doc__ = name, help
    return command


run = _command(
    "run",
    "embedded",
    """Runs one or many queries together on Spark.

    Files and directories are read to their end, and then the command ends; with --follow it
    keeps watching until Ctrl-C. CONSTRUCT queries are rules: all queries see what they derive.
    Without --stream, queries over the --graph files are answered once, in process.

    Input that cannot be read (a broken line, an element without time, the rest of a truncated
    file) is left out, counted in the summary and kept in the --rejected file; the exit code
    stays 0. With --strict the run stops there instead, with exit code 1. Ctrl-C or SIGTERM is the way to
    end --follow (exit code 0); without it, it leaves a run unfinished (exit code 130).

    With --rules (and INSERTs in query files) all queries see what follows from static knowledge and from
    each element; contradictions are told, or stop the run with --strict.

    Exit codes: 0 fine, 1 the input is at fault (a query, a stream, a checkpoint), 2 the call is at
    fault (an option, a file that is not there), 74 a disk is full or a place cannot be written,
    130 stopped before the end, 70 a fault in Penstock.

        penstock run fall.rq --stream prices.nq
        penstock run *.rq --stream prices/ --graph companies.ttl --out answers.csv
        zcat prices.nq.gz | penstock run fall.rq --stream - --out answers.json
        penstock run fall.rq --stream prices/ --follow --checkpoint state/
        penstock run sectors.rq --graph companies.ttl
        penstock run staff.rq --stream staff.nq --ontology univ-bench.owl --rules owl2-rl
    """,
)
try_ = _command(
    "try",
    None,
    """Runs one or many queries in this process, without Spark: a first answer at once.

    Files are read to their end. Options, answers and messages are those of `penstock run`, which is for
    streams that are large or go on, for restarts and for clusters.

        penstock try fall.rq --stream prices.nq
        penstock try *.rq --stream prices/ --graph companies.ttl --out answers.csv
    """,
    ("follow", "idle", "tick", "checkpoint", "master"),
)


SMALL = 16 << 20
"""Bytes of streams that are answered sooner than Spark starts."""


def is_small(streams: Sequence[StreamSpec]) -> bool:
    """Whether all streams are files, and these are small; compressed ones are larger than they look."""
    if any(spec.from_standard_input for spec in streams):
        return False
    files = [
        each
        for spec in streams
        for path in map(Path, spec.paths)
        for each in (files_below(path, spec.format) if path.is_dir() else [path])
    ]
    sizes = [Path(each).stat().st_size * (8 if str(each).endswith((".gz", ".zst")) else 1) for each in files]
    return sum(sizes) <= SMALL


@contextlib.contextmanager
def restartable(checkpoint: Path | None) -> Iterator[None]:
    """When a disk fails, say what the work so far is worth."""
    try:
        yield
    except StorageError as problem:
        again = (
            "then run the same command again: it goes on where it stopped"
            if checkpoint is not None
            else "then run it again; with --checkpoint DIR a run goes on where it stopped"
        )
        problem.hint = f"{problem.hint}; {again}" if problem.hint else again
        raise


def keep_apart(outputs: list[Path], inputs: Sequence[str | Path]) -> None:
    """Refuse to write over what is read, or into a directory that is read as a stream."""
    from penstock.sinks import is_device

    outputs = [output for output in outputs if not is_device(output)]
    for number, output in enumerate(outputs):
        place = output.resolve()
        if place in [other.resolve() for other in outputs[:number]]:
            raise UsageError(f"{output} cannot take two outputs", hint="give each a name of its own")
        for text in inputs:
            source = Path(text).resolve()
            if place == source:
                raise UsageError(f"{output} is read by this run and cannot be written as well")
            if source.is_dir() and source in place.parents:
                raise UsageError(
                    f"{output} is in the directory {text}, which is read as a stream",
                    hint="what is written there would be taken for elements: name a place outside",
                )

"""The command line: try · check · explain · run · reason · rules · map · demo · lubm · bench.

A thin layer: options in, the pipeline called, answers and messages out. README.md lists the
exit codes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from penstock import __version__
from penstock.cli import bench, check, demo, explain, lubm, mapping, reason, rules, run
from penstock.cli.options import INTERRUPTED
from penstock.cli.showing import log_as_json, show_error, show_note
from penstock.errors import InternalError, PenstockError, storage_error


class Interrupted(Exception):
    """Ctrl-C, past click, which would call it `Aborted.` and exit with 1."""


class Commands(TyperGroup):
    """The commands; what click would take for its own business comes out as it is."""

    def invoke(self, ctx: typer.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
        except EOFError as problem:
            raise InternalError("a process that the run needs has ended") from problem


app = typer.Typer(
    name="penstock",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Finds complex events in RDF streams with EP-SPARQL, on Spark.

A query says what must happen and in which order; a stream says what happens and when.

    penstock demo                            see it at work
    penstock try fall.rq --stream prices.nq  your query on your file, at once
    penstock run fall.rq --stream prices.nq  the same on Spark: large, live, restartable
    penstock check fall.rq                   is the query right?
    penstock explain fall.rq                 what becomes of it?
    penstock reason data.ttl --rules rdfs --out closed.nt
                                             what follows from a graph?

Exit codes: 0 fine, 1 the input is at fault, 2 the call is at fault, 74 a disk is full or a
place cannot be written, 130 stopped by Ctrl-C or SIGTERM, 70 a fault in Penstock.
""",
)
app.command("try")(run.try_)
app.command("run")(run.run)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("reason")(reason.reason)
app.add_typer(rules.app, name="rules")
app.command("map")(mapping.map_)
app.command("demo")(demo.demo)
app.add_typer(lubm.app, name="lubm")
app.command("bench")(bench.bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        python = ".".join(map(str, sys.version_info[:3]))
        typer.echo(f"penstock {__version__} (Python {python}, PySpark {version('pyspark')})")
        raise typer.Exit


@app.callback()
def penstock(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the `penstock` command."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a service manager's word for Ctrl-C
    raise SystemExit(call(arguments, process_start()))


def process_start() -> float:
    """When this process began, on the monotonic clock: where /proc does not tell, now."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    return time.monotonic() - age


def call(arguments: list[str], started: float | None = None) -> int:
    """Runs one command and gives its exit code; what went wrong is said on stderr.

    `started` is when the user began to wait, on the monotonic clock.
    """
    debug = "--debug" in arguments
    log_as_json(False)
    try:
        app(arguments, obj=started if started is not None else time.monotonic())
        return 0
    except SystemExit as exit_:  # wrong options, --help, and commands that end with a code
        return exit_.code if isinstance(exit_.code, int) else 1
    except Interrupted:
        show_note("stopped")
        return INTERRUPTED
    except PenstockError as problem:
        if debug:
            traceback.print_exc()
        show_error(problem.render())
        return problem.exit_code
    except BrokenPipeError:
        # The reader of our output has seen enough (as in `penstock run … | head`).
        sys.stderr.close()
        return 0
    except OSError as problem:
        # Mostly a place for temporary files, which every part of a run needs.
        if debug:
            traceback.print_exc()
        failure = storage_error(problem, problem.filename or "what the run needs")
        show_error(failure.render())
        return failure.exit_code
    except Exception as problem:
        if debug:
            traceback.print_exc()
        show_error(
            f"Penstock failed: {type(problem).__name__}: {problem}\n"
            "  hint: this is a fault in Penstock; --debug shows where"
        )
        return InternalError.exit_code

"""`penstock lubm generate`: the data of the Lehigh University Benchmark."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penstock.cli.options import Debug, Quiet
from penstock.cli.showing import ProgressLine, count, show_note

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="LUBM, the Lehigh University Benchmark."
)


@app.callback()
def lubm() -> None:
    pass


@app.command()
def generate(
    universities: Annotated[
        int, typer.Option("--universities", "-n", metavar="N", help="How many universities.")
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="SEED", help="Another seed makes other universities.")] = 0,
    index: Annotated[int, typer.Option(metavar="INDEX", help="The number of the first university.")] = 0,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE|DIR|-",
            help="A file whose name ends in .nt or .nq (also with .gz or .zst), a new directory, which gets a"
            " file for each university, or - for standard output.",
        ),
    ] = "-",
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="N-Quads, with a department as an element, one per second. Each says all that it needs,"
            " so some triples come in several of them.",
        ),
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Generates the benchmark's data: LUBM(N, SEED), the same as its own generator does, to the triple.

    With --stream, every department is an element of a stream: a named graph
    with its instant.

        penstock lubm generate --universities 1 --out lubm1.nt
        penstock lubm generate --universities 100 --stream --out departments.nq
        penstock run chairs.rq --stream departments.nq --query-scope element
    """
    from penstock.scenarios.lubm.generating import Lubm
    from penstock.scenarios.lubm.writing import write

    begun = time.monotonic()
    data = Lubm(universities, seed, index, stream)
    wanted = count(universities, "university", "universities")
    progress = ProgressLine(quiet, "generating")

    def advance(done: int, triples: int) -> None:
        progress.line = (
            f"{done:,} of {count(universities, 'university', 'universities')}, {triples:,} triples"
        )

    try:
        triples = write(data, out, advance)
    finally:
        progress.close()
    if not quiet:
        place = "" if out == "-" else f" in {out}"
        show_note(f"{count(triples, 'triple')} of {wanted}{place} ({time.monotonic() - begun:.1f} s)")

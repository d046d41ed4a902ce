"""`penstock reason`: graphs with all that follows from them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import Base, Debug, Quiet
from penstock.cli.run import keep_apart
from penstock.cli.showing import ProgressLine, count, show_error, show_finding, show_note, show_warning
from penstock.errors import UsageError, is_there

if TYPE_CHECKING:
    from penstock.api.materialisation import Materialised

_SHOWN = 10  # contradictions, unless they were asked for


def reason(
    context: typer.Context,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="Graphs: files in Turtle, N-Triples, N-Quads, TriG, RDF/XML or JSON-LD (also .gz and .zst),"
            " or directories of such files.",
            show_default=False,
        ),
    ],
    rules: Annotated[
        list[str],
        typer.Option(
            "--rules",
            metavar="REGIME|FILE|DIR",
            help="By which rules: rdf, rdfs, rhodf, dstar, p, owl2-rl, swclos2, owl2-direct, or rules by"
            " their names, or files of your own. May be given several times: a later rule replaces"
            " an earlier one of its name.",
        ),
    ] = [],  # noqa: B006
    ontology: Annotated[
        list[Path],
        typer.Option(
            "--ontology", metavar="FILE", help="An ontology, read like DATA. May be given several times."
        ),
    ] = [],  # noqa: B006
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the triples go: a file that ends in .nt, .nq, .ttl or .trig (also .gz and .zst), or -"
            " for standard output.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE if it is there.")] = False,
    only_new: Annotated[
        bool, typer.Option("--only-new", help="Write only what was inferred, and not what was given.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Tell all contradictions; exit code 1 if there are any. --out may be missing."
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if there is a contradiction; exit code 1.")
    ] = False,
    base: Base = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Materialises: writes graphs with all that follows from them under rules. Without Spark.

    Rules apply to the default graph: what all files say together. Named graphs are passed through. What
    contradicts itself is told with the rule that found it and the triples; it is written nevertheless,
    unless --strict. What an ontology imports is read only if it is given, too.

        penstock reason people.ttl --rules rdfs --out closed.nt
        penstock reason data.nt.gz --ontology univ-bench.owl --rules owl2-rl --only-new --out new.nt.gz
        penstock reason data.ttl --rules owl2-rl --rules my-rules.rq --check
        penstock rules list

    Exit codes: 0 fine, 1 the input is at fault, or inconsistent with --check or --strict, 2 the call is at
    fault, 74 a place cannot be written.
    """
    if out is None and not check:
        raise UsageError(
            "there is no place to write to",
            hint="say --out FILE, --out - for standard output, or --check alone",
        )
    if not rules:
        raise UsageError(
            "there are no rules", hint="name a regime, as in --rules rdfs; `penstock rules list` has all"
        )
    for path in (*data, *ontology):
        if not is_there(path):
            raise UsageError(f"there is no file {path}")
    from penstock.api.materialisation import materialised, read_all, refuse_conflicts
    from penstock.rules.library import ruleset
    from penstock.sinks.graphs import GraphOutput

    file = None if out is None else GraphOutput(out, overwrite=overwrite)
    if file is not None and file.path is not None:
        keep_apart([file.path], [*data, *ontology])
    chosen = ruleset(rules)
    progress = ProgressLine(quiet, "reading")
    try:
        graphs, addresses = read_all([*ontology, *data], base, progress.say)
        if file is not None and not only_new:
            file.check(graph.iri for graph in graphs)
        found = materialised(graphs, chosen, addresses=addresses, tell=progress.say)
        if strict:
            refuse_conflicts(found)
        if file is not None:
            progress.say(f"writing {out}")
            found.write_to(file, only_new=only_new)
    finally:
        progress.close()
    for finding in found.findings:
        show_finding(finding, None, None)
    _show_conflicts(found, None if check else _SHOWN, show_error if check else show_warning)
    for rule, times in found.dropped.items():
        show_warning(f"the rule {rule} derived {count(times, 'triple')} with a literal as subject: left out")
    if not quiet:
        _show_summary(found, time.monotonic() - context.obj)
    if check and not found.consistent:
        raise typer.Exit(1)


def _show_conflicts(found: Materialised, most: int | None, show) -> None:
    from penstock.reason.conflicts import conflict_text

    for conflict in found.conflicts[:most]:
        show(f"contradiction: {conflict_text(conflict, found.rules)}")
    if most is not None and len(found.conflicts) > most:
        show_note(f"… and {count(len(found.conflicts) - most, 'contradiction')} more; --check tells all")


def _show_summary(found: Materialised, seconds: float) -> None:
    new = found.inferred.shape[1]
    rules = count(len(found.derived), "rule")
    line = (
        f"{count(found.given, 'triple')} and {new:,} inferred by {rules} of {len(found.rules)}"
        f" in {seconds:.1f} s, {found.seconds:.1f} s of it to close"
    )
    if found.named:
        line += f"; {count(len(found.named), 'named graph')} passed through"
    if not found.consistent:
        line += f"; inconsistent: {count(len(found.conflicts), 'contradiction')}"
    show_note(line)

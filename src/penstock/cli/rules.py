"""`penstock rules`: look at rules, copy them, check one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Debug, Language, Quiet
from penstock.cli.showing import count, show_error, show_finding, show_note
from penstock.errors import InputError, UsageError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Looks at entailment rules, copies them, checks files of one's own.",
)


@app.command("check")
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Files with rules, or directories of such files.", show_default=False
        ),
    ],
    language: Language = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reads files with rules, and says what is wrong with them.

    An error names the file, the line and the rule. Warnings tell what can never be added: a variable that
    WHERE does not bind, a literal as a subject.

        penstock rules check my.rq
        penstock rules check my-rules/

    Exit code 1 if a rule has an error; warnings alone are fine.
    """
    from penstock.rules.reading import files_at, read_file
    from penstock.rules.restrictions import findings

    for path in files:
        if not path.exists():
            raise UsageError(f"there is no file with rules {path}")
    rules, queries, errors, warnings = 0, 0, 0, 0
    for path in (each for given in files for each in files_at(given)):
        try:
            found = read_file(path, language=language)
        except InputError as problem:
            errors += 1
            show_error(problem.render())
            continue
        rules += len(found.rules)
        queries += len(found.queries)
        for rule in found.rules:
            for statement, finding in findings(rule):
                warnings += 1
                show_finding(finding, statement.text, statement.origin)
    if not quiet:
        read = count(rules, "rule") + (f" and {count(queries, 'query', 'queries')}" if queries else "")
        show_note(f"{read}: {count(errors, 'error')}, {count(warnings, 'warning')}")
    if errors:
        raise typer.Exit(1)

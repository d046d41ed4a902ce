"""`penstock rules`: look at rules, copy them, check one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Debug, Language, Quiet
from penstock.cli.showing import count, show_error, show_finding, show_note
from penstock.errors import InputError, UsageError, is_there, storing

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Looks at entailment rules, copies them, checks files of one's own.",
)


@app.command("list")
def list_(
    regime: Annotated[
        str | None, typer.Argument(metavar="REGIME", help="The rules of this regime.", show_default=False)
    ] = None,
    debug: Debug = False,
) -> None:
    """Lists the regimes, or the rules of one: what it calls them, their names here, what they mean.

    Each of the names can be given to --rules,
    and to `penstock rules show`.

        penstock rules list
        penstock rules list rdfs
    """
    from penstock.rules.library import DESCRIPTIONS, entries_of, natural

    if regime is None:
        wide = max(map(len, DESCRIPTIONS))
        for name, description in DESCRIPTIONS.items():
            found = entries_of(name)
            checks = sum(entry.is_check for entry in found)
            rules = count(len(found) - checks, "rule") + (f", {count(checks, 'check')}" if checks else "")
            typer.echo(f"{name:{wide}}  {rules:19}  {description}")
        return
    rows = []
    for entry in entries_of(regime):
        called = entry.called(regime)[0]
        own = "" if called == entry.name else entry.name
        rows.append((entry.is_check, natural(called), called, own, entry.meaning))
    wide = max(len(called) for _, _, called, _, _ in rows)
    wide_own = max(len(own) for _, _, _, own, _ in rows)
    for is_check, _, called, own, meaning in sorted(rows):
        names = f"{called:{wide}}  {own:{wide_own}}" if wide_own else f"{called:{wide}}"
        typer.echo(f"{names}  {'contradiction: ' if is_check else ''}{meaning}")


@app.command("show")
def show(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME", help="Rules, by their names or what a regime calls them.", show_default=False
        ),
    ],
    debug: Debug = False,
) -> None:
    """Shows the text of rules, as it runs.

    A rule is found by its name,
    and by what a regime calls it.

        penstock rules show cax-sco
        penstock rules show rdfs9
    """
    from penstock.rules.library import named

    texts = dict.fromkeys(rule.text for name in names for rule in named(name))
    typer.echo("\n".join(texts), nl=False)


@app.command("copy")
def copy(
    wanted: Annotated[
        list[str],
        typer.Argument(
            metavar="REGIME… DIR",
            help="Regimes (or rules by name), and the directory for their files.",
            show_default=False,
        ),
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Copies the rules of regimes into a directory, a file for each, to be edited and used instead.

    What is deleted there is not used,
    and what is changed is used as it is then.

        penstock rules copy owl2-rl my-rules
        rm my-rules/eq-ref.rq
        penstock run fall.rq --stream prices.nq --rules my-rules
    """
    from penstock.rules.library import ruleset

    *regimes, place = wanted
    if not regimes:
        raise UsageError(
            f"copy needs a regime and a directory, and {place} is only one of them",
            hint="as in penstock rules copy owl2-rl my-rules",
        )
    directory = Path(place)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    rules = ruleset(regimes)
    there = [rule.name for rule in rules if (directory / f"{rule.name}.rq").exists()]
    if there and not force:
        raise UsageError(
            f"{directory} has {count(len(there), 'file')} of these rules already: {', '.join(there[:3])}"
            + (", …" if len(there) > 3 else ""),
            hint="they may be edited: choose another directory, or overwrite them with --force",
        )
    with storing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for rule in rules:
            (directory / f"{rule.name}.rq").write_text(rule.text, encoding="utf-8")
    if not quiet:
        show_note(f"{count(len(rules), 'rule')} in {directory}")


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
    from penstock.rules.library import unknown_drops
    from penstock.rules.reading import files_at, read_file
    from penstock.rules.restrictions import findings

    for path in files:
        if not is_there(path):
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
        for finding in unknown_drops(found.drops):
            warnings += 1
            show_finding(finding, found.drops[0].text, str(path))
        for rule in found.rules:
            for statement, finding in findings(rule):
                warnings += 1
                show_finding(finding, statement.text, statement.origin)
    if not quiet:
        read = count(rules, "rule") + (f" and {count(queries, 'query', 'queries')}" if queries else "")
        show_note(f"{read}: {count(errors, 'error')}, {count(warnings, 'warning')}")
    if errors:
        raise typer.Exit(1)

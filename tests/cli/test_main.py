"""Exit codes and messages: what went wrong is said in words, never as a traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import penstock
from penstock import cli
from penstock.cli.options import INTERRUPTED
from penstock.cli.run import PANELS
from penstock.cli.showing import count, show_finding
from penstock.errors import Finding, InputError, PenstockError, QueryError, Span, UsageError
from penstock.runtime.progress import Rate


@pytest.fixture
def failing(monkeypatch):
    """Makes every command raise an error."""

    def install(problem: BaseException):
        def app(_, **options):
            raise problem

        monkeypatch.setattr(cli, "app", app)

    return install


def test_help_teaches(capsys):
    assert cli.call(["--help"]) == 0
    shown = capsys.readouterr().out
    for word in ("run", "check", "explain", "demo", "bench", "penstock run fall.rq", "Exit codes"):
        assert word in shown


@pytest.mark.parametrize("command", ["run", "check", "explain", "demo", "bench"])
def test_every_command_has_an_example_in_its_help(capsys, command):
    assert cli.call([command, "--help"]) == 0
    assert f"penstock {command}" in capsys.readouterr().out


def test_every_example_has_a_line_of_its_own_in_the_help(capsys):
    found = 0
    for path, command in _commands(typer.main.get_command(cli.app)):
        assert cli.call([*path, "--help"]) == 0
        shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
        for example in re.findall(r"^ *(penstock .*)$", command.help, re.M):
            found += 1
            assert any(line and example.startswith(line) for line in shown), example
    assert found > 20


def _commands(command, path=()):
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


@pytest.mark.parametrize("arguments", [["frob"], ["run"], ["check", "--frob"],
                                       ["explain", "a.rq", "--stage", "moon"]])  # fmt: skip
def test_a_wrong_call_is_2(capsys, arguments):
    assert cli.call(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_file_that_is_not_there_is_2(capsys):
    assert cli.call(["check", "nowhere.rq"]) == 2
    assert "there is no query file nowhere.rq" in capsys.readouterr().err


def test_bad_input_is_1_with_place_caret_and_hint(capsys, failing):
    failing(QueryError("unknown prefix x:", hint="declare it", span=Span(2, 9, 3),
                       text="SELECT *\n{ ?s a  x:y }", origin="q.rq"))  # fmt: skip
    assert cli.call(["check", "q.rq"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: q.rq:2:9: unknown prefix x:",
        "  | { ?s a  x:y }",
        "  |         ^^^",
        "  hint: declare it",
    ]


def test_square_brackets_are_no_markup(capsys, failing):
    failing(InputError("expected [bold] or [/red]"))
    assert cli.call([]) == 1
    assert "expected [bold] or [/red]" in capsys.readouterr().err


def test_long_lines_keep_their_caret(capsys, failing):
    text = "SELECT * { " + "?s ?p ?o . " * 30 + "x:y }"
    failing(QueryError("unknown prefix", span=Span(1, text.index("x:y") + 1, 3), text=text))
    cli.call([])
    lines = capsys.readouterr().err.splitlines()
    assert lines[2].index("^") == lines[1].index("x:y")


@pytest.mark.parametrize(
    ("problem", "code"), [(UsageError("no"), 2), (InputError("no"), 1), (ZeroDivisionError(), 70)]
)
def test_tracebacks_are_for_debugging_only(capsys, failing, problem, code):
    failing(problem)
    assert cli.call([]) == code
    assert "Traceback" not in capsys.readouterr().err
    assert cli.call(["--debug"]) == code
    assert "Traceback" in capsys.readouterr().err


def test_findings_are_shown_with_their_place(capsys):
    finding = Finding("never-bound", "?x can never be bound", "is it ?y?", Span(1, 8, 2))
    show_finding(finding, "SELECT ?x {}", "q.rq")
    assert capsys.readouterr().err.splitlines() == [
        "warning: q.rq:1:8: ?x can never be bound (never-bound)",
        "  | SELECT ?x {}",
        "  |        ^^",
        "  hint: is it ?y?",
    ]


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_rule_that_feeds_itself_without_end_may_run_alone(capsys, command, tmp_path):
    rule = tmp_path / "rule.rq"
    rule.write_text("CONSTRUCT { [] <urn:p> ?o } WHERE { ?s <urn:p> ?o }")
    assert cli.call([command, str(rule)], 0.0) == 1
    assert "feeds itself" in capsys.readouterr().err
    assert cli.call([command, "--no-feed", str(rule)], 0.0) == 0


def test_the_version(capsys):
    assert cli.call(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"penstock {penstock.__version__} (Python 3.")


def test_every_exit_code_is_documented(capsys):
    codes = {kind.exit_code for kind in (PenstockError, *_below(PenstockError))} | {0, INTERRUPTED}
    assert codes == {0, 1, 2, 70, 74, 130}
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)} == codes
    for command in ([], ["run"]):
        assert cli.call([*command, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert codes <= set(map(int, re.findall(r"\d+", shown.partition("Exit codes:")[2])))


def _below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def test_the_rate_is_of_the_last_seconds():
    now = [100.0]
    rate = Rate(clock=lambda: now[0], window=10.0)
    seen = []
    for second, elements in [(0, 1000), (1, 3000), (2, 5000), (30, 5000), (31, 5400), (32, 5800)]:
        now[0] = 100.0 + second
        rate.note(elements)
        seen.append(rate.now())
    assert seen == [None, 2000, 2000, 0, 40, 80]
    now[0] += 11
    assert rate.now() == 0  # a stream that has fallen silent


def test_numbers_are_counted_in_words():
    assert [count(1, "match", "matches"), count(0, "answer"), count(12345, "answer")] == [
        "1 match", "0 answers", "12,345 answers",
    ]  # fmt: skip


COUNTED = """PREFIX : <http://e/>
SELECT ?room (AVG(?v) AS ?mean) FROM STREAM :s [RANGE 1m] WHERE { ?x :v ?v ; :in ?room } GROUP BY ?room"""
MAP = (
    '{{"tableSchema": {{{}"columns": [{{"name": "v", "propertyUrl": "http://e/v"}}]}}, "penstock:time": "t"}}'
)


@pytest.mark.parametrize("about, warned", [("", False), ('"aboutUrl": "http://e/{x}", ', True)])
def test_check_without_streams_knows_what_the_map_says(tmp_path, monkeypatch, capsys, about, warned):
    monkeypatch.chdir(tmp_path)
    Path("described.csparql").write_text(COUNTED)  # who knows nothing takes ?x for a reading
    Path("alone.csparql").write_text(COUNTED.replace(" ; :in ?room", "").replace("?room", "?x"))
    Path("map.json").write_text(MAP.format(about))
    for query in ("described.csparql", "alone.csparql"):
        assert cli.call(["check", query, "--map", "map.json"]) == 0
        assert ("(equal-readings)" in capsys.readouterr().err) is warned


@pytest.mark.parametrize("known", [True, False])
def test_check_knows_what_graphs_say(tmp_path, monkeypatch, capsys, known):
    monkeypatch.chdir(tmp_path)
    Path("q.csparql").write_text(COUNTED)
    Path("rooms.ttl").write_text(f"<http://e/x> <http://e/{'in' if known else 'of'}> <http://e/r> .")
    assert cli.call(["check", "q.csparql", "--graph", "rooms.ttl"]) == 0
    assert ("(equal-readings)" in capsys.readouterr().err) is known


@pytest.mark.parametrize("command", ["run", "try"])
def test_the_options_of_a_run_are_in_groups(capsys, command):
    """Each option is in one group of the help; what other commands share has none there."""
    shared = typer.main.get_command(cli.app).commands
    options = {each.name: each for each in shared[command].params if each.param_type_name == "option"}
    grouped = " ".join(PANELS.values()).split()
    assert len(grouped) == len(set(grouped)) and set(options) - {"help"} <= set(grouped)
    assert cli.call([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f" {panel} " in shown for panel in PANELS)
    assert cli.call(["explain", "--help"]) == 0
    assert not any(f" {panel} " in capsys.readouterr().out for panel in PANELS)

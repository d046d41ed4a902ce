"""The commands on a real Spark: what the README and `make demo` promise."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from docs.page import read_answers
from docs.test_examples import README
from penstock import Engine, cli
from penstock.cli.demo import play
from penstock.scenarios import find_scenario
from penstock.scenarios.vienna import Vienna
from penstock.timeline import format_instant
from scenarios.city_by_hand import ByHand
from scenarios.test_answers import NAMES, expected

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def first_query(tmp_path, monkeypatch):
    """The README's files."""
    (example,) = README
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loss.rq").write_text(example.queries[0])
    (tmp_path / "pumps.trig").write_text(example.stream)
    return example


def test_the_first_own_query(first_query, tmp_path, capfd):
    assert cli.call("run loss.rq --stream pumps.trig --out found.csv".split()) == 0
    assert read_answers((tmp_path / "found.csv").read_text()) == first_query.expected()
    assert "1 answer from 4 elements (6 triples)" in capfd.readouterr().err


def test_a_run_that_is_done_goes_on_without_repeating(first_query, tmp_path):
    command = "run loss.rq --stream pumps.trig --out found.json --checkpoint state --quiet".split()
    assert cli.call(command) == 0
    once = (tmp_path / "found.json").read_bytes()
    assert cli.call(command) == 0
    assert (tmp_path / "found.json").read_bytes() == once
    assert len(json.loads(once)["results"]["bindings"]) == 1


def test_broken_lines_are_kept_aside_with_their_number(first_query, tmp_path, capfd):
    lines = [
        f'<http://example.org/p{i}> <http://example.org/pressure> "4"'
        f" <urn:e{i}#t=2026-05-01T08:00:{i:02d}Z> .\n"
        for i in range(20)
    ]
    lines[7] = "<http://example.org/p7> this is no N-Quads\n"
    (tmp_path / "pumps.nq").write_text("".join(lines))
    assert cli.call("run loss.rq --stream pumps.nq --out found.csv".split()) == 0
    assert "1 rejected line, see found.csv.rejected.jsonl" in capfd.readouterr().err
    (record,) = map(json.loads, (tmp_path / "found.csv.rejected.jsonl").read_text().splitlines())
    assert record["line"] == 8 and "this is no N-Quads" in record["text"]


def test_check_and_explain(first_query, tmp_path, capsys):
    assert cli.call(["check", "loss.rq"]) == 0
    assert "1 query: 0 errors, 0 warnings" in capsys.readouterr().err
    assert cli.call(["explain", "loss.rq"]) == 0
    assert "?pump" in capsys.readouterr().out
    (tmp_path / "bad.rq").write_text("SELECT ?x WHERE { ?x x:y ?z ")
    assert cli.call(["check", "bad.rq", "loss.rq"]) == 1
    shown = capsys.readouterr().err
    assert "error: bad.rq:1:" in shown and "^" in shown and "hint: " in shown


def test_the_demo_finds_what_it_should(tmp_path):
    scenario = find_scenario("stock-market")
    shown = io.StringIO()
    play(scenario, scenario.write(tmp_path), Console(file=shown, width=200))
    text = shown.getvalue()
    for path, seeks in scenario.queries:
        assert f"{path.stem}  {seeks}" in text
    counts = {name: expected(name).total() - 1 for name in NAMES}
    assert ", ".join(f"{name}: {times}" for name, times in counts.items()) in text


CITY = {"stops": 60, "lines": 10, "minutes": 40, "passengers": 200, "seed": 3}


def city_by_hand() -> dict[str, Counter]:
    """The answers to each query as CSV has them."""
    hand, answers = ByHand(Vienna(**CITY)), {}
    for name in ("officer", "passenger"):
        answers[name] = Counter()
        for (_, *terms, start, end), times in getattr(hand, name)().items():
            answers[name][*(term[1:-1] for term in terms), format_instant(start), format_instant(end)] += (
                times
            )
        assert answers[name].total() > 5
    return answers


def test_the_demo_of_city_traffic_tells_what_it_finds(tmp_path):
    scenario = find_scenario("vienna", **CITY)
    shown = io.StringIO()
    play(replace(scenario, batch_bytes=40_000), scenario.write(tmp_path), Console(file=shown, width=300))
    text, counts = shown.getvalue(), {name: rows.total() for name, rows in city_by_hand().items()}
    assert f"(officer: {counts['officer']}, passenger: {counts['passenger']})" in text
    for path, seeks in scenario.queries:
        assert text.count(f"{path.stem}  {seeks}") == 1
    told = Counter(re.findall(r"^(\w+) +\d\d:\d\d:\d\d–\d\d:\d\d:\d\d  \w", text, re.MULTILINE))
    assert set(told) == set(counts) and all(told[name] <= counts[name] for name in counts)


def test_city_traffic_as_files_of_ones_own(tmp_path, capsys):
    """What --write writes runs with the command that it names, and gives what is found by hand."""
    write = ["demo", "vienna", "--write", f"{tmp_path}/a city"]
    options = [part for name, value in CITY.items() for part in (f"--{name}", str(value))]
    assert cli.call([*write, *options]) == 0
    said = capsys.readouterr().out.partition("penstock run ")[2]
    command = shlex.split(said.replace("\\\n", ""))
    assert cli.call(write) == 2
    assert cli.call(["run", *command, "--out", f"{tmp_path}/found/", "--format", "csv", "--quiet"]) == 0
    for name, wanted in city_by_hand().items():
        found: Counter = Counter()
        for part in (tmp_path / "found" / name).glob("part-*.csv"):
            with part.open(newline="") as file:
                found.update(map(tuple, list(csv.reader(file))[1:]))
        assert found == wanted, name


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_city_traffic_has_the_same_answers_in_any_number_of_partitions(tmp_path, shards):
    scenario = find_scenario("vienna", **CITY)
    data = scenario.write(tmp_path)
    engine = Engine(shards=shards, batch_bytes=60_000)
    for path, _ in scenario.queries:
        engine.add_query(path)
    for iri, path in data.streams:
        engine.add_stream(path, iri=iri)
    for iri, path in data.graphs:
        engine.add_graph(path, iri=iri)
    found = engine.all_answers()
    for name, wanted in city_by_hand().items():
        given: Counter = Counter()
        for row in found[name]:
            instants = (f"{each:%Y-%m-%dT%H:%M:%S}.000Z" for each in (row.start, row.end))
            given[*(term.value for term in row.values()), *instants] += 1
        assert given == wanted, name


def test_the_six_queries_on_spark(tmp_path):
    scenario = find_scenario("stock-market")
    scenario.write(tmp_path)
    queries = [str(path) for path, _ in scenario.queries]
    command = ["run", *queries, "--stream", str(tmp_path / "stream"), "--quiet", "--format", "csv"]
    assert cli.call([*command, "--out", f"{tmp_path}/found/"]) == 0
    for name in NAMES:
        rows: Counter = Counter()
        for part in (tmp_path / "found" / name).glob("part-*.csv"):
            with part.open(newline="") as file:
                header, *found = csv.reader(file)
            rows.update(tuple("_:" if cell.startswith("_:") else cell for cell in row) for row in found)
        assert Counter([tuple(header)]) + rows == expected(name), name

"""`penstock run` hands its options to the engine, and the engine's batches to the sinks."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from penstock import cli
from penstock.errors import InputError
from penstock.languages import parse
from penstock.runtime.contract import RunStatistics

QUERY = "PREFIX : <http://example.org/> SELECT ?pump WHERE { ?pump :state :failed }"
FOUND = pa.table({"pump": ["<http://example.org/p1>"], "start": [0], "end": [1_000_000]})


class RecordingEngine:
    """An engine that notes what it is told and answers two batches."""

    made: RecordingEngine
    rejected: list[dict] = []
    late: list[dict] = []
    problem: Exception | None = None
    refusal: Exception | None = None
    interrupted = False

    def __init__(self, **options) -> None:
        RecordingEngine.made = self
        self.options = options
        self.streams, self.graphs, self.queries = [], [], []

    def add_stream(self, source, **options):
        self.streams.append((source, {k: v for k, v in options.items() if v is not None}))

    def add_graph(self, source, **options):
        self.graphs.append((source, options))

    def add_query(self, path):
        self.queries.append(parse(path.read_text(), origin=str(path)))

    def ready(self):
        if self.refusal:
            raise self.refusal

    def run(self, *, follow, on_batch):
        self.follow = follow
        statistics = RunStatistics(elements=5, occurrences=7, seconds=1.0, ended=True)
        for number in (0, 1):
            on_batch(
                SimpleNamespace(
                    id=number,
                    answers={0: FOUND},
                    rejected=self.rejected,
                    late=self.late,
                    statistics=statistics,
                )
            )
        if self.problem:
            raise self.problem
        statistics.interrupted = self.interrupted
        return statistics


@pytest.fixture(autouse=True)
def engine(tmp_path, monkeypatch):
    module = ModuleType("penstock.api")
    module.Engine = RecordingEngine
    monkeypatch.setitem(sys.modules, "penstock.api", module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "s.nq").touch()
    (tmp_path / "g.ttl").touch()


def test_options_reach_the_engine(tmp_path):
    code = cli.call(
        "run q.rq --stream urn:s=s.nq --graph g.ttl --follow --lateness 5m --master local[1]"
        " --strict --checkpoint state --stream-format nquads --quiet --format csv".split()
    )
    assert code == 0
    made = RecordingEngine.made
    assert made.options["lateness"] == 300_000_000
    assert made.options["master"] == "local[1]" and made.options["strict"] is True
    assert str(made.options["checkpoint"]) == "state" and made.follow is True
    assert made.streams == [(f"{tmp_path}/s.nq", {"iri": "urn:s", "format": "nquads"})]
    assert made.graphs == [("g.ttl", {"iri": None})]


def test_answers_go_to_standard_output_and_the_summary_beside_it(capfdbinary):
    assert cli.call("run q.rq --stream s.nq --format csv".split()) == 0
    out, err = capfdbinary.readouterr()
    row = b"http://example.org/p1,1970-01-01T00:00:00.000Z,1970-01-01T00:00:01.000Z\r\n"
    assert out == b"pump,start,end\r\n" + 2 * row
    assert err == b"2 answers from 5 elements (7 triples) in 1.0 s\n"


@pytest.mark.parametrize(("options", "code"), [("", 130), ("--follow", 0)])
def test_ctrl_c_is_how_following_ends(monkeypatch, capfd, options, code):
    monkeypatch.setattr(RecordingEngine, "interrupted", True)
    assert cli.call(f"run q.rq --stream s.nq --format csv {options}".split()) == code
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 3 and err.endswith("in 1.0 s; stopped by Ctrl-C\n")


def test_quiet_is_quiet(capfdbinary):
    assert cli.call("run q.rq --stream s.nq --format csv --quiet".split()) == 0
    assert capfdbinary.readouterr().err == b""


def test_the_format_follows_the_name_of_the_file(tmp_path):
    assert cli.call("run q.rq --stream s.nq --out found.json".split()) == 0
    document = json.loads((tmp_path / "found.json").read_text())
    assert len(document["results"]["bindings"]) == 2


def test_what_was_rejected_is_counted_and_kept(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "rejected", [{"source": "s.nq", "line": 3}])
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 0
    assert len((tmp_path / "found.csv.rejected.jsonl").read_text().splitlines()) == 2
    assert "2 rejected lines, see found.csv.rejected.jsonl" in capfd.readouterr().err
    assert not (tmp_path / "found.csv.late.jsonl").exists()


def test_what_came_late_is_counted_and_kept_with_what_to_do(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "late", [{"graph": "<urn:g>", "triples": []}])
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 0
    assert len((tmp_path / "found.csv.late.jsonl").read_text().splitlines()) == 2
    said = capfd.readouterr().err
    assert "2 late elements, see found.csv.late.jsonl" in said
    assert "hint: --lateness" in said and "its own --stream" in said


def test_what_was_rejected_is_told_where_there_is_no_file(monkeypatch, capfd):
    record = {"source": "s.nq", "line": 3, "reason": "no dot", "text": "<a> <b>"}
    monkeypatch.setattr(RecordingEngine, "rejected", [record])
    assert cli.call("run q.rq --stream s.nq --format csv".split()) == 0
    assert capfd.readouterr().err.splitlines()[1] == (
        "warning: 2 rejected lines (the first one: s.nq, line 3: no dot); keep such with --rejected FILE"
    )


def test_a_run_that_fails_keeps_what_it_found(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "problem", InputError("the gzip is truncated"))
    assert cli.call("run q.rq --stream s.nq --out found.json".split()) == 1
    document = json.loads((tmp_path / "found.json").read_text())
    assert len(document["results"]["bindings"]) == 2
    assert capfd.readouterr().err == "error: the gzip is truncated\n"


def test_what_is_refused_touches_no_output(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "refusal", InputError("the checkpoint belongs to other queries"))
    for name in ("found.csv", "found.csv.rejected.jsonl", "found.csv.late.jsonl"):
        (tmp_path / name).write_text("of an earlier run")
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 1
    assert [path.read_text() for path in tmp_path.glob("found.*")] == ["of an earlier run"] * 3


def test_side_outputs_of_an_earlier_run_do_not_survive(tmp_path):
    for name in ("found.csv.rejected.jsonl", "found.csv.late.jsonl"):
        (tmp_path / name).write_text('{"of": "an earlier run"}')
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 0
    assert [path.name for path in tmp_path.glob("found.*")] == ["found.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run q.rq --stream nowhere.nq", "no such file or directory"),
        ("run q.rq --stream s.nq --lateness soon", "is not a duration"),
        ("run q.rq --stream s.nq --format nquads", "the format nquads is for triples"),
        ("run q.rq --stream s.nq --format parquet", "standard output"),
        ("run nowhere.rq --stream s.nq", "there is no query file"),
    ],
)
def test_wrong_calls_are_told_before_anything_runs(capfd, arguments, message):
    code = cli.call(arguments.split())
    assert message in " ".join(capfd.readouterr().err.split())
    assert code == 2

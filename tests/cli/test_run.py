"""`penstock run` hands its options to the engine, and the engine's batches to the sinks."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from penstock import cli
from penstock.errors import Finding, InputError, Span
from penstock.languages import parse, parse_query
from penstock.runtime.contract import RunStatistics
from penstock.runtime.recovery.continuing import Continued, Fate
from penstock.runtime.unused import KINDS
from penstock.sinks import journal
from penstock.sources.streams import StreamSpec

QUERY = "PREFIX : <http://example.org/> SELECT ?pump WHERE { ?pump :state :failed }"
FOUND = pa.table({"pump": ["<http://example.org/p1>"], "start": [0], "end": [1_000_000]})


class RecordingEngine:
    """An engine that notes what it is told and answers two batches."""

    made: RecordingEngine
    rejected: list[dict] = []
    late: list[dict] = []
    inconsistent: list[dict] = []
    problem: BaseException | None = None
    refusal: BaseException | None = None
    interrupted = False
    batches = 2
    findings: list[tuple] = []
    diagnosis: dict[str, object] = {}
    continued: tuple[Continued, ...] = ()
    statistics = RunStatistics()

    def __init__(self, **options) -> None:
        RecordingEngine.made = self
        self.options = options
        self.streams, self.graphs, self.queries = [], [], []

    def add_stream(self, source, *, iri, format, **options):
        self.streams.append(StreamSpec(iri, (source,), format))

    def add_graph(self, source, **options):
        self.graphs.append((source, options))

    def add_ontology(self, source, **options):
        self.graphs.append((source, options))

    def add_query(self, path, language=None, **options):
        self.queries += parse(path.read_text(), origin=str(path), language=language).queries

    def new_findings(self):
        return self.findings

    def ready(self, **_):
        if self.refusal:
            raise self.refusal

    def run(self, *, follow, on_batch):
        self.follow = follow
        statistics = RunStatistics(elements=5, occurrences=7, seconds=1.0, ended=True)
        for number in range(self.batches):
            statistics.rejects += len(self.rejected)
            statistics.late += len(self.late)
            statistics.inconsistent += len(self.inconsistent)
            for kind in KINDS:
                for record in getattr(self, kind)[:1]:
                    statistics.first.setdefault(kind, record)
            on_batch(
                SimpleNamespace(
                    id=number,
                    tables={0: FOUND},
                    rejected=self.rejected,
                    late=self.late,
                    inconsistent=self.inconsistent,
                    statistics=statistics,
                )
            )
        if self.problem:
            raise self.problem
        statistics.interrupted = self.interrupted
        return statistics


@pytest.fixture(autouse=True)
def engine(tmp_path, monkeypatch):
    module = ModuleType("penstock.api.engine")
    module.Engine = RecordingEngine
    monkeypatch.setitem(sys.modules, "penstock.api.engine", module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "s.nq").touch()
    (tmp_path / "g.ttl").touch()


def test_options_reach_the_engine(tmp_path):
    code = cli.call(
        "run q.rq --stream urn:s=s.nq --graph g.ttl --follow --lateness 5m --master local[1]"
        " --strict --checkpoint state --stream-format nquads --quiet --format csv"
        " --ontology g.ttl --rules rdfs --rules q.rq --scope stream --within 5s --all-rules".split()
    )
    assert code == 0
    made = RecordingEngine.made
    assert made.options["lateness"] == 300_000_000
    assert made.options["master"] == "local[1]" and made.options["strict"] is True
    assert str(made.options["checkpoint"]) == "state" and made.follow is True
    assert made.streams == [StreamSpec("urn:s", (f"{tmp_path}/s.nq",), "nquads")]
    assert made.graphs == [("g.ttl", {"iri": None, "base": None, "map": None})] * 2
    told = {name: made.options[name] for name in ("rules", "scope", "within", "all_rules")}
    assert told == {"rules": ["rdfs", "q.rq"], "scope": "stream", "within": 5_000_000, "all_rules": True}


def test_a_file_of_several_queries(tmp_path, capfd):
    (tmp_path / "q.rq").write_text(QUERY + " ASK {} " + QUERY)
    assert cli.call("run q.rq --stream s.nq --format csv --quiet".split()) == 0
    row = "q,http://example.org/p1,,1970-01-01T00:00:00.000Z,1970-01-01T00:00:01.000Z\r\n"
    assert capfd.readouterr().out == "query,pump,answer,start,end\n".replace("\n", "\r\n") + 2 * row


def test_the_language_of_the_queries(tmp_path, capfd):
    (tmp_path / "q.rq").write_text("SELECT * { { ?s ?p ?o } SEQ { ?s ?p ?o } }")
    assert cli.call("run q.rq --stream s.nq --quiet --language ep-sparql".split()) == 0
    for command in ("run q.rq --stream s.nq", "check q.rq", "explain q.rq"):
        assert cli.call(f"{command} --language sparql".split()) == 1
        assert "SEQ is an operator of EP-SPARQL, not of SPARQL" in capfd.readouterr().err
        assert cli.call(f"{command} --language ep_sparql".split()) == 2
        assert "did you mean ep-sparql?" in capfd.readouterr().err


def test_answers_go_to_standard_output_and_the_summary_beside_it(capfdbinary):
    assert cli.call("run q.rq --stream s.nq --format csv".split()) == 0
    out, err = capfdbinary.readouterr()
    row = b"http://example.org/p1,1970-01-01T00:00:00.000Z,1970-01-01T00:00:01.000Z\r\n"
    assert out == b"pump,start,end\r\n" + 2 * row
    seconds = r"\d+\.\d s"
    assert re.fullmatch(
        rf"2 answers from 5 elements \(7 triples\) in {seconds}: {seconds} to start,"
        rf" {seconds} to read and answer\n",
        err.decode(),
    )


def test_the_time_is_the_users(monkeypatch, capfd):
    """From when the command was typed, not from when Spark was ready."""
    monkeypatch.setattr(time, "monotonic", lambda: 1005.5)
    assert cli.call("run q.rq --stream s.nq --format csv".split(), started=1000.0) == 0
    assert "in 5.5 s: 4.5 s to start, 1.0 s to read and answer" in capfd.readouterr().err


@pytest.mark.parametrize("when", ["ready", "run"])
def test_ctrl_c_during_the_start_says_so(monkeypatch, capfd, when):
    monkeypatch.setattr(RecordingEngine, "refusal" if when == "ready" else "problem", KeyboardInterrupt())
    monkeypatch.setattr(RecordingEngine, "batches", 0)
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 130
    said = "while Spark was starting: nothing was read" if when == "run" else ""
    assert f"stopped {said}".strip() in capfd.readouterr().err


def test_a_helper_process_that_ends_is_not_taken_for_ctrl_c(monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "problem", EOFError())
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 70
    assert "a process that the run needs has ended" in capfd.readouterr().err


def test_an_empty_directory_is_told_at_once(tmp_path, monkeypatch, capfd):
    """Where a run waits for files; otherwise the engine refuses it."""
    for name in ("empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "a.nq").touch()
    monkeypatch.setattr(RecordingEngine, "problem", InputError("the start failed"))
    monkeypatch.setattr(RecordingEngine, "batches", 0)
    assert cli.call("run q.rq --stream empty --stream full --follow --format csv".split()) == 1
    assert capfd.readouterr().err == (
        f"warning: there is no file to read in {tmp_path}/empty yet; the run waits for some\n"
        "error: the start failed\n"
    )


@pytest.mark.parametrize(("options", "code"), [("", 130), ("--follow", 0)])
def test_ctrl_c_is_how_following_ends(monkeypatch, capfd, options, code):
    monkeypatch.setattr(RecordingEngine, "interrupted", True)
    assert cli.call(f"run q.rq --stream s.nq --format csv {options}".split()) == code
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 3 and err.endswith(" to read and answer; stopped\n")


def test_what_check_knows_is_said_before_the_run(monkeypatch, capfd):
    finding = Finding("unbounded-state", "SEQ remembers for ever", "bound it", Span(1, 8))
    parsed = parse_query(QUERY, origin="q.rq")
    monkeypatch.setattr(RecordingEngine, "findings", [(parsed, finding), (None, finding)])
    monkeypatch.setattr(RecordingEngine, "problem", InputError("the start failed"))
    assert cli.call("run q.rq --stream s.nq --format csv --quiet".split()) == 1
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "warning: q.rq:1:8: SEQ remembers for ever (unbounded-state)"
    assert lines[3:] == [
        "  hint: bound it",
        "warning: query:1:8: SEQ remembers for ever (unbounded-state)",
        "  hint: bound it",
        "error: the start failed",
    ]


@pytest.mark.parametrize(("interrupted", "options"), [(False, ""), (True, ""), (True, "--follow")])
def test_queries_without_answers_are_explained(monkeypatch, capfd, interrupted, options):
    found = {f"q{number}": f"q{number} has no answers" for number in range(8)}
    monkeypatch.setattr(RecordingEngine, "diagnosis", found)
    monkeypatch.setattr(RecordingEngine, "interrupted", interrupted)
    cli.call(f"run q.rq --stream s.nq --format csv {options}".split())
    lines = capfd.readouterr().err.splitlines()[1:]
    if interrupted and not options:  # the streams have not been read to their end
        assert lines == []
    else:
        assert lines == [*list(found.values())[:5], "… and 3 queries more without answers"]


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


def test_contradictions_are_counted_and_kept(tmp_path, monkeypatch, capfd):
    record = {"rule": "cax-dw", "meaning": "Two disjoint classes.", "bindings": {"x": "<urn:x>"}}
    monkeypatch.setattr(RecordingEngine, "inconsistent", [record])
    assert cli.call("run q.rq --stream s.nq --out a.csv".split()) == 0
    kept = (tmp_path / "a.csv.inconsistent.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == [record, record]
    assert "2 contradictions, see a.csv.inconsistent.jsonl" in capfd.readouterr().err
    assert cli.call("run q.rq --stream s.nq --inconsistent why.jsonl --quiet".split()) == 0
    assert (tmp_path / "why.jsonl").read_text().splitlines() == kept
    assert cli.call("run q.rq --stream s.nq".split()) == 0
    told = capfd.readouterr().err
    assert "(the first one: cax-dw: Two disjoint classes. ?x = <urn:x>)" in told
    assert "--inconsistent FILE" in told


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


def test_what_becomes_of_queries_is_told_unless_they_simply_go_on(monkeypatch, capfd):
    fates = (Continued("a", Fate.GOES_ON), Continued("b", Fate.STARTS), Continued("c", Fate.REMOVED))
    monkeypatch.setattr(RecordingEngine, "continued", fates)
    assert cli.call("run q.rq --stream s.nq --out found.csv --checkpoint state".split()) == 0
    said = capfd.readouterr().err.splitlines()
    assert said[:2] == ["b starts now", "c was removed, its state is dropped"]
    assert cli.call("run q.rq --stream s.nq --out other.csv --quiet".split()) == 0
    assert "starts now" not in capfd.readouterr().err


def test_what_is_refused_touches_no_output(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RecordingEngine, "refusal", InputError("the checkpoint belongs to other streams"))
    for name in ("found.csv", "found.csv.rejected.jsonl", "found.csv.late.jsonl"):
        (tmp_path / name).write_text("of an earlier run")
    assert cli.call("run q.rq --stream s.nq --out found.csv".split()) == 1
    assert [path.read_text() for path in tmp_path.glob("found.*")] == ["of an earlier run"] * 3


@pytest.mark.parametrize("name", ["found.csv", "found.csv.rejected.jsonl", "found.csv.late.jsonl"])
def test_what_is_there_is_not_touched_unasked(tmp_path, capfd, name):
    (tmp_path / name).write_text("dear to somebody")
    for _ in range(2):  # refusing leaves nothing behind that would let the next try pass
        assert cli.call("run q.rq --stream s.nq --out found.csv --checkpoint state".split()) == 2
        said = capfd.readouterr().err
        assert f"{name} exists already" in said and "--overwrite" in said and "--append" in said
    assert [path.name for path in tmp_path.glob("found.*")] == [name]
    assert (tmp_path / name).read_text() == "dear to somebody"
    assert cli.call("run q.rq --stream s.nq --out found.csv --overwrite".split()) == 0
    assert [path.name for path in tmp_path.glob("found.*")] == ["found.csv"]
    assert len((tmp_path / "found.csv").read_text().splitlines()) == 3
    assert cli.call("run q.rq --stream s.nq --out found.csv --append --quiet".split()) == 0
    assert len((tmp_path / "found.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out s.nq --format csv --overwrite", "s.nq is read by this run"),
        ("--out q.rq --format csv --overwrite", "q.rq is read by this run"),
        ("--graph g.ttl --rejected g.ttl --overwrite", "g.ttl is read by this run"),
        ("--stream urn:d=d --out d/sub/found.csv", "is in the directory d, which is read as a stream"),
        ("--stream d --checkpoint d/state", "is in the directory d, which is read as a stream"),
        ("--rejected a.jsonl --late a.jsonl", "a.jsonl cannot take two outputs"),
        ("--out found.csv --overwrite --append", "exclude each other"),
        ("--out found.xml", "the ending .xml of found.xml names no format"),
        ("--out found.csv.gz", "known endings are .txt, .csv, .json, .srj, .nq, .trig, .parquet"),
        ("--out found", "found has no ending"),
    ],
)
def test_outputs_that_cannot_be_meant_are_refused(tmp_path, capfd, options, message):
    (tmp_path / "d").mkdir()
    (tmp_path / "g.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    assert cli.call(f"run q.rq --stream s.nq {options}".split()) == 2
    assert message in " ".join(capfd.readouterr().err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "g.ttl", "q.rq", "s.nq"]
    assert (tmp_path / "q.rq").read_text() == QUERY and not list((tmp_path / "d").iterdir())


@pytest.mark.parametrize(
    ("options", "again"),
    [("", "with --checkpoint DIR a run goes on"), ("--checkpoint state", "it goes on where it stopped")],
)
@pytest.mark.parametrize("which", ["found.csv", "found.csv.rejected.jsonl"])
def test_a_full_disk_is_no_fault_of_ours(tmp_path, monkeypatch, capfd, which, options, again):
    """The disk is full at the third write; a part of it has got there."""
    monkeypatch.setattr(RecordingEngine, "rejected", [{"line": 3}])
    monkeypatch.setattr(RecordingEngine, "batches", 3)
    real = journal.to_disk
    whole = {}

    def to_disk(file):
        size = os.fstat(file.fileno()).st_size
        real(file)
        grown = os.fstat(file.fileno()).st_size
        if Path(file.name).name == which and grown > size:
            if len(whole) == 2:
                os.ftruncate(file.fileno(), grown - 5)
                raise OSError(errno.ENOSPC, "No space left on device")
            whole[grown] = (tmp_path / which).read_bytes()

    monkeypatch.setattr(journal, "to_disk", to_disk)
    assert cli.call(f"run q.rq --stream s.nq --out found.csv {options}".split()) == 74
    said = capfd.readouterr().err
    assert "No space left on device" in said and "hint: make room" in said and again in said
    assert "fault in Penstock" not in said
    assert (tmp_path / which).read_bytes() == list(whole.values())[-1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--out afile/found.csv", "a part of the path is a file"),
        ("--checkpoint afile/state --out found.csv", "a part of the path is a file"),
        (f"--out {'x' * 300}.csv", "choose a shorter name"),
        ("--out /proc/found.csv", "cannot write /proc/found.csv"),
    ],
)
def test_places_that_cannot_be_written_say_so(tmp_path, capfd, options, reason):
    (tmp_path / "afile").touch()
    assert cli.call(f"run q.rq --stream s.nq {options}".split()) == 74
    said = capfd.readouterr().err
    assert "error: cannot write" in said and reason in said and "fault in Penstock" not in said


def test_a_closed_standard_output_is_told(monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.call("run q.rq --stream s.nq --format csv".split()) == 2
    assert "standard output is closed" in capfd.readouterr().err


def test_devices_take_answers(capfd):
    assert (
        cli.call("run q.rq --stream s.nq --out /dev/null --rejected /dev/null --late /dev/null".split()) == 0
    )
    assert "2 answers" in capfd.readouterr().err
    assert cli.call("run q.rq --stream s.nq --out /dev/full --rejected r --late l --format csv".split()) == 74
    assert "cannot write /dev/full: No space left on device" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run q.rq --stream nowhere.nq", "no such file or directory"),
        ("run q.rq --stream s.nq --lateness soon", "is not a duration"),
        ("run q.rq --stream s.nq --format nquads", "the format nquads is for triples"),
        ("run q.rq --stream s.nq --format parquet", "standard output"),
        ("run nowhere.rq --stream s.nq", "there is no query file"),
        ("run q.rq --stream=", "--stream is empty"),
        ("run q.rq --stream s.nq --graph=", "--graph is empty"),
        ("run q.rq --stream s.nq --out=", "--out is empty"),
        ("run q.rq --stream s.nq --checkpoint=", "--checkpoint needs a directory of its own"),
    ],
)
def test_wrong_calls_are_told_before_anything_runs(capfd, arguments, message):
    code = cli.call(arguments.split())
    assert message in " ".join(capfd.readouterr().err.split())
    assert code == 2


def test_a_checkpoint_may_change_its_outputs(tmp_path, capfd):
    command = "run q.rq --stream s.nq --checkpoint state --quiet".split()
    assert cli.call([*command, "--out", "a.csv"]) == 0
    before = (tmp_path / "a.csv").read_bytes()
    commits = tmp_path / "state" / "spark" / "commits"
    commits.mkdir(parents=True)
    (commits / "1").touch()  # both batches are done
    assert cli.call([*command, "--out", "b.csv"]) == 0
    (tmp_path / "q.rq").write_text(QUERY + " ASK {}")
    capfd.readouterr()
    assert cli.call([*command, "--out", "b.csv"]) == 0
    assert "b.csv stays as it is" in capfd.readouterr().err and (tmp_path / "b-2.csv").exists()
    assert (tmp_path / "a.csv").read_bytes() == before == (tmp_path / "b.csv").read_bytes()
    assert cli.call([*command, "--out", "a.csv"]) == 2, "it is there, and not the checkpoint's any more"
    assert "a.csv exists already" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", True),
        ("--follow", False),
        ("--quiet", False),
        ("--checkpoint state", False),
        ("--master local[1]", False),
        ("large", False),
    ],
)
def test_on_a_terminal_small_input_is_shown_the_way_without_spark(monkeypatch, capfd, options, told):
    terminal = SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("penstock.cli.run.sys", terminal)
    if options == "large":
        monkeypatch.setattr("penstock.cli.run.SMALL", -1)
        options = ""
    assert cli.call(f"run q.rq --stream s.nq --format csv {options}".split()) == 0
    assert ("`penstock try` answers them at once" in capfd.readouterr().err) == told
    assert cli.call("try q.rq --stream s.nq --format csv".split()) == 0
    assert "penstock try" not in capfd.readouterr().err


def test_without_a_terminal_small_input_is_no_news(capfd):
    assert cli.call("run q.rq --stream s.nq --format csv".split()) == 0
    assert "penstock try" not in capfd.readouterr().err

"""The engine object on a real Spark: abandoned, used again, followed, and fed with odd streams."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest

import penstock
from penstock import cli
from penstock.api import engine as api
from penstock.api.engine import Engine
from penstock.errors import InputError

pytestmark = pytest.mark.usefixtures("spark")
READS = "http://example.org/reads"
QUERY = f"SELECT ?s ?v WHERE {{ ?s <{READS}> ?v }}"


def line(number: int, value: str = '"1"') -> str:
    return f"<urn:s{number}> <{READS}> {value} <urn:e{number}#t=2026-05-01T08:{number:02d}:00Z> .\n"


def runs() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name == "penstock-run"}


def test_an_abandoned_loop_ends_its_run_and_the_engine_runs_again(tmp_path):
    path = tmp_path / "growing.nq"
    path.write_text("".join(map(line, range(3))))
    engine = penstock.Engine().add_stream(path).add_query(QUERY)
    found = []
    for solution in engine.solutions(follow=True):
        found.append(str(solution["s"]))
        if len(found) == 1:
            with path.open("a") as file:
                file.write(line(5) + line(6))
        if "<urn:s5>" in found:
            break
    assert not runs()
    assert len(engine.answers()) == 5
    assert engine.answers().to_spark().count() == 5


def test_odd_streams_run_and_say_so(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(f"SELECT ?s (?v + 1 AS ?w) WHERE {{ ?s <{READS}> ?v }}")
    (tmp_path / "empty").mkdir()
    assert cli.call("run q.rq --stream empty --format csv".split()) == 2
    assert "empty has no file of a stream: it is empty" in capfd.readouterr().err
    (tmp_path / "empty.nq").touch()
    assert cli.call("run q.rq --stream empty.nq --format csv".split()) == 0
    out, err = capfd.readouterr()
    assert out == "s,w,start,end\r\n" and "warning: there was nothing in the streams" in err

    wrong = '"abc"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    (tmp_path / "odd.nq").write_text(line(1, wrong) + line(2, wrong.replace("abc", "1.5")))
    assert cli.call("run q.rq --stream odd.nq --format csv".split()) == 0
    rows = sorted(row.split(",")[:2] for row in capfd.readouterr().out.splitlines()[1:])
    assert rows == [["urn:s1", ""], ["urn:s2", "2.5"]]


def test_strict_stops_and_names_line_and_reason(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "s.nq").write_text(line(1) + "<urn:x> no N-Quads\n" + line(2))
    assert cli.call("run q.rq --stream s.nq --strict --out found.csv".split()) == 1
    err = capfd.readouterr().err
    assert "s.nq: line 2: " in err and "| <urn:x> no N-Quads" in err and "without --strict" in err


def test_an_element_that_comes_too_late_is_kept_whole_and_counted_once(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(f"SELECT * WHERE {{ ?s <{READS}> ?v }} SEQ {{ ?t <{READS}> ?w }}")
    (tmp_path / "s.nq").write_text(line(9))
    run, stop = Engine.run, threading.Event()
    late = line(1) + line(1, '"2"').replace(READS, "urn:unread") + line(3).replace(READS, "urn:unread")
    pieces = iter([late + line(30)])

    def going_on(self, *, on_batch, **options):
        """Goes on with the stream, once its first element was read: minutes 1 and 3 are too late."""

        def take(batch):
            on_batch(batch)
            if batch.late:
                stop.set()
            elif batch.statistics.elements:
                with (tmp_path / "s.nq").open("a") as file:
                    file.write(next(pieces, ""))

        return run(self, on_batch=take, **options, stop=stop)

    monkeypatch.setattr(Engine, "run", going_on)
    assert cli.call("run q.rq --stream s.nq --follow --lateness 5m --out found.csv".split()) == 0
    records = [json.loads(text) for text in (tmp_path / "found.csv.late.jsonl").read_text().splitlines()]
    assert records == [
        {
            "source": str(tmp_path / "s.nq"),
            "graph": f"<urn:e{minute}#t=2026-05-01T08:0{minute}:00Z>",
            "start": f"2026-05-01T08:0{minute}:00.000Z",
            "end": f"2026-05-01T08:0{minute}:00.000Z",
            "triples": triples,
        }
        for minute, triples in (
            (1, [f'<urn:s1> <{READS}> "1" .', '<urn:s1> <urn:unread> "2" .']),
            (3, ['<urn:s3> <urn:unread> "1" .']),  # no query reads anything of it
        )
    ]
    assert "warning: 2 late elements, see found.csv.late.jsonl" in capfd.readouterr().err


def test_a_stray_time_in_the_past_is_rejected_and_what_waited_for_a_restart_is_not(tmp_path, monkeypatch):
    stream, today = tmp_path / "s.nq", datetime.now(timezone.utc)

    def a_month_ago() -> int:
        return int((today - timedelta(days=30)).timestamp() * 1_000_000)

    def life(*ages: int) -> tuple[set[str], list[str]]:
        """Which elements are answered, and why others are not; they are so many days old.

        The batch with the last one may not be finished then, and is given again in the next life.
        """
        with stream.open("a") as file:
            for age in ages:
                at = (today - timedelta(days=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
                file.write(f'<urn:s> <{READS}> "{age}" <urn:e{age}#t={at}> .\n')
        engine = (
            penstock.Engine(behind="2d", checkpoint=tmp_path / "state").add_stream(stream).add_query(QUERY)
        )
        found, reasons, stop = set(), [], threading.Event()

        def take(batch):
            found.update(row["v"].strip('"') for row in batch.answers["query-1"].to_pylist())
            reasons.extend(record["reason"] for record in batch.rejected)
            if str(ages[-1]) in found:
                stop.set()

        engine.run(on_batch=take, follow=True, stop=stop)
        return found, reasons

    monkeypatch.setattr(api, "current_instant", a_month_ago)
    found, reasons = life(20_000, 31)
    assert found == {"31"}
    assert len(reasons) == 1 and "further before the run began than --behind allows" in reasons[0]
    monkeypatch.undo()
    found, _ = life(29, 10)  # the machine was off for a month: what waited is not too old
    assert {"29", "10"} <= found


def test_every_element_is_either_answered_or_reported_late(tmp_path):
    random = Random(3)
    minutes = sorted(range(60), key=lambda minute: minute + random.choice((0, 0, 0, 25)))
    stream = tmp_path / "s.nq"
    stream.write_text("".join(line(minute) + line(minute, '"also"') for minute in minutes))
    engine = penstock.Engine(lateness="2m", shards=3, batch_bytes=1500).add_stream(stream)
    engine.add_query(QUERY, name="reads").add_query(QUERY.replace("reads", "writes"), name="writes")
    answered, late, schemas = [], [], set()

    def take(batch):
        assert list(batch.answers) == ["reads", "writes"] and not batch.answers["writes"].num_rows
        answered.extend(str(row["s"]) for row in batch.answers["reads"].to_pylist())
        schemas.update(table.schema for table in batch.answers.values())
        late.extend(batch.late)

    statistics = engine.run(on_batch=take)
    reported = [record["triples"][0].split(" ")[0] for record in late]
    assert reported, "some come late"
    assert all(len(record["triples"]) == 2 for record in late)
    assert sorted(answered + 2 * reported) == sorted(2 * [f"<urn:s{minute}>" for minute in range(60)])
    assert statistics.late == len(late)
    assert len(schemas) == 1  # a table without rows is like one with some


def test_where_a_query_dried_up_is_told_of_the_whole_run_also_after_a_restart(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(
        f"SELECT * WHERE {{ ?s <{READS}> ?v }} SEQ {{ ?s <{READS}> ?w }} SEQ {{ ?s <{READS}s> ?x }}"
    )
    (tmp_path / "in.nq").write_text("".join(map(line, range(20))))
    seen = []

    def fail_once(batch):
        seen.append(batch.id)
        if seen == [0, 1, 2]:
            raise InputError("a crash")

    engine = penstock.Engine(shards=3, batch_bytes=400, checkpoint="state").add_stream("in.nq")
    engine.add_query(Path("q.rq")).add_query(QUERY, name="all")
    with pytest.warns(penstock.PenstockWarning, match="unbounded-state"), pytest.raises(InputError):
        engine.run(on_batch=fail_once)
    engine.run(on_batch=fail_once)
    assert seen[:4] == [0, 1, 2, 2]  # a batch was repeated, and it counts once
    misspelt = f"`?s <{READS}s> ?x` matched nothing: <{READS}s> does not occur; did you mean <{READS}>?"
    (found,) = engine.diagnosis.values()
    assert sorted(found.patterns) == [
        (0, f"?s <{READS}s> ?x"), (20, f"?s <{READS}> ?v"), (20, f"?s <{READS}> ?w"),
    ]  # fmt: skip
    assert found.query == "q" and found.reasons[-1] == misspelt
    assert found.reasons[0].startswith(f"SEQ let nothing through: 20 rows of `?s <{READS}> ?v` and 20 rows")
    assert cli.call("run q.rq --stream in.nq --format csv".split()) == 0
    said = capfd.readouterr().err
    assert "warning: q.rq:" in said and "(unbounded-state)" in said
    assert "\nq has no answers\n" in said and f"  {misspelt}\n" in said

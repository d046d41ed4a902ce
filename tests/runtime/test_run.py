"""A program on Spark: exact answers, side outputs, checkpoints, errors, and live input."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from tests.runtime.toy import FaultyProgram, ToyProgram, expected_answers, rows_of, toy_decoder

from penstock.api.engine import Engine
from penstock.errors import InputError, InternalError, UsageError
from penstock.runtime import run as run_module
from penstock.runtime.contract import RunOptions
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.messages import LATE, REJECTS
from penstock.runtime.run import run
from penstock.sources.spool import Spool
from penstock.sources.streams import StreamSpec
from penstock.timeline import FOREVER


class Collected:
    """Results by batch; a repeated batch replaces itself, as in the file sinks."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[int, bytes]]] = {}

    def __call__(self, batch: int, results: list[tuple[int, bytes]]) -> None:
        self.batches[batch] = results

    def rows(self, query: int) -> list[tuple[int, ...]]:
        return sorted(
            row
            for results in self.batches.values()
            for index, payload in results
            if index == query
            for row in rows_of(payload)
        )

    def answers(self) -> list[tuple[int, ...]]:
        return self.rows(0)


def some_events(count: int, seed: int = 1, keys: int = 11) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    return [(draw.randrange(keys), t * 10 + draw.randrange(10)) for t in range(count)]


def write_events(path, events, mode="w") -> None:
    with open(path, mode) as out:
        out.writelines(f"{key} {end}\n" for key, end in events)


def go(program, paths, collected, **more):
    streams = [StreamSpec(None, (str(path),)) for path in paths]
    options = RunOptions(batch_bytes=more.pop("batch_bytes", 4000), strict=more.pop("strict", False))
    return run(program, streams, decoder=toy_decoder, on_batch=collected, options=options, **more)


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_answers_are_exact_and_the_end_flushes_what_is_pending(spark, tmp_path, shards):
    events = some_events(1500)
    write_events(tmp_path / "a.nq", events)
    collected = Collected()
    statistics = go(ToyProgram(shards), [tmp_path / "a.nq"], collected)
    assert collected.answers() == expected_answers(events)
    assert statistics.elements == len(events)
    assert statistics.batches == len(collected.batches) >= 3
    assert statistics.watermark == FOREVER
    assert statistics.ended


def test_disorder_within_the_lateness_changes_nothing_and_beyond_it_is_told(spark, tmp_path):
    events = some_events(1500)
    shuffled = sorted(events, key=lambda event: event[1] + random.Random(event[1]).randrange(300))
    write_events(tmp_path / "a.nq", shuffled)
    collected = Collected()
    go(ToyProgram(2), [tmp_path / "a.nq"], collected, timing=Timing(300))
    assert collected.answers() == expected_answers(events)
    assert collected.rows(LATE) == []

    write_events(tmp_path / "a.nq", [*events, (3, 5)])
    collected = Collected()
    statistics = go(ToyProgram(2), [tmp_path / "a.nq"], collected)
    assert collected.rows(LATE) == [(str(tmp_path / "a.nq"), "3", 5, 5, [])]
    assert statistics.late == 1
    assert collected.answers() == expected_answers(events)


def test_a_slow_stream_does_not_become_late(spark, tmp_path):
    early, late = some_events(2000, seed=2), some_events(200, seed=3)
    write_events(tmp_path / "long.nq", early)
    write_events(tmp_path / "short.nq", late)
    collected = Collected()
    go(ToyProgram(2), [tmp_path / "long.nq", tmp_path / "short.nq"], collected)
    assert collected.rows(LATE) == []
    assert collected.answers() == expected_answers(early + late)


def test_times_before_1970_are_times_like_others(spark, tmp_path):
    events = [(key, end - 10**15) for key, end in some_events(300)]
    write_events(tmp_path / "a.nq", events)
    collected = Collected()
    go(ToyProgram(2), [tmp_path / "a.nq"], collected, batch_bytes=1000)
    assert collected.answers() == expected_answers(events)
    assert collected.rows(LATE) == []


def test_an_empty_stream_ends_without_answers(spark, tmp_path):
    (tmp_path / "a.nq").write_text("")
    collected = Collected()
    statistics = go(ToyProgram(2), [tmp_path / "a.nq"], collected)
    assert (collected.answers(), statistics.elements, statistics.ended) == ([], 0, True)


def test_broken_input_goes_to_the_side_output_and_strict_stops(spark, tmp_path):
    write_events(tmp_path / "a.nq", some_events(10))
    with open(tmp_path / "a.nq", "a") as out:
        out.write("broken\n")
    write_events(tmp_path / "a.nq", [(1, 1000)], mode="a")
    collected = Collected()
    statistics = go(ToyProgram(2), [tmp_path / "a.nq"], collected)
    [rejects] = [
        pa.ipc.open_stream(payload).read_all().to_pylist()
        for results in collected.batches.values()
        for index, payload in results
        if index == REJECTS
    ]
    assert [(reject["line"], reject["text"]) for reject in rejects] == [(11, "broken")]
    assert (statistics.rejects, len(collected.answers())) == (1, 11)
    with pytest.raises(InputError, match="'broken' is broken") as caught:
        go(ToyProgram(2), [tmp_path / "a.nq"], Collected(), strict=True)
    assert caught.value.hint == "mend it"


def test_an_error_of_the_engine_arrives_as_itself(spark, tmp_path):
    write_events(tmp_path / "a.nq", [(1, 1), (99, 2)])
    with pytest.raises(InputError, match="^the key is forbidden") as caught:
        go(ToyProgram(2, fail_on=99), [tmp_path / "a.nq"], Collected())
    assert caught.value.hint == "choose another one"


@pytest.mark.parametrize(
    ("where", "doing"),
    [
        ("route", r"matching the bytes 0 to 8 of .*/a\.nq: AttributeError: "),
        ("step", "deciding batch 0 in shard [01]: (AttributeError|TypeError): "),
    ],
)
def test_a_fault_says_what_it_ended_and_what_can_be_done(spark, tmp_path, where, doing):
    write_events(tmp_path / "a.nq", [(1, 1), (2, 2)])
    assert os.stat(tmp_path / "a.nq").st_size == 8
    with pytest.raises(InternalError, match=f"^a fault in Penstock while {doing}") as caught:
        go(FaultyProgram(where), [tmp_path / "a.nq"], Collected())
    assert "repeats this batch" in caught.value.hint


def test_an_error_of_the_sink_arrives_as_itself(spark, tmp_path):
    write_events(tmp_path / "a.nq", [(1, 1)])

    def full(batch, results):
        raise UsageError("the disk is full")

    with pytest.raises(UsageError, match="^the disk is full$"):
        go(ToyProgram(2), [tmp_path / "a.nq"], full)


def test_a_missing_file_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(UsageError, match="no file or directory"):
        go(ToyProgram(2), [tmp_path / "nothing.nq"], Collected())


def test_a_run_that_fails_goes_on_from_its_checkpoint(spark, tmp_path):
    events = some_events(1500)
    write_events(tmp_path / "a.nq", events)
    checkpoint = tmp_path / "checkpoint"
    collected = Collected()

    def breaks(batch, results):
        if batch == 2:
            raise UsageError("out of order")
        collected(batch, results)

    with pytest.raises(UsageError):
        go(ToyProgram(2), [tmp_path / "a.nq"], breaks, checkpoint=checkpoint)
    assert set(collected.batches) == {0, 1}
    before = dict(collected.batches)
    go(ToyProgram(2), [tmp_path / "a.nq"], collected, checkpoint=checkpoint)
    assert collected.answers() == expected_answers(events)
    assert {batch: collected.batches[batch] for batch in before} == before

    again = Collected()
    go(ToyProgram(2), [tmp_path / "a.nq"], again, checkpoint=checkpoint)
    assert again.batches == {}


def test_a_checkpoint_of_another_run_is_refused(spark, tmp_path):
    write_events(tmp_path / "a.nq", [(1, 1)])
    checkpoint = tmp_path / "checkpoint"
    go(ToyProgram(2), [tmp_path / "a.nq"], Collected(), checkpoint=checkpoint)
    with pytest.raises(InputError, match="another number of shards: 2 there, 3 now"):
        go(ToyProgram(3), [tmp_path / "a.nq"], Collected(), checkpoint=checkpoint)
    write_events(tmp_path / "a.nq", [(1, 2)], mode="a")
    with pytest.raises(InputError, match="read to their end"):
        go(ToyProgram(2), [tmp_path / "a.nq"], Collected(), checkpoint=checkpoint)


def test_follow_answers_while_files_grow_and_new_ones_come(spark, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    events = some_events(300)
    write_events(data / "a.nq", events[:100])
    stop = threading.Event()
    collected = Collected()
    fed = [100]

    def feed(batch, results):
        collected(batch, results)
        if fed[0] == 100:
            fed[0] = 200
            write_events(data / "a.nq", events[100:200], mode="a")
        elif fed[0] == 200:
            fed[0] = 300
            write_events(data / "b.nq", events[200:])

    def enough(statistics):
        if statistics.elements == 300:
            stop.set()

    statistics = go(ToyProgram(2), [data], feed, follow=True, stop=stop, on_progress=enough)
    # Everything before the watermark is answered; the last instant may still get company.
    last = max(end for _, end in events)
    assert collected.answers() == expected_answers(e for e in events if e[1] < last)
    assert not statistics.ended


def test_a_directory_that_is_followed_may_be_empty_at_first(spark, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    events = some_events(50)
    stop, collected = threading.Event(), Collected()
    writer = threading.Timer(3, lambda: write_events(data / "a.nq", events))

    def enough(statistics):
        if not writer.ident:
            writer.start()  # the run has begun, and looks for files from now on
        if statistics.elements == 50:
            stop.set()

    statistics = go(ToyProgram(1), [data], collected, follow=True, stop=stop, on_progress=enough)
    assert statistics.elements == 50


def test_a_live_shard_is_not_restored_from_batch_to_batch(spark, tmp_path):
    write_events(tmp_path / "a.nq", some_events(1500))
    statistics = go(ToyProgram(3), [tmp_path / "a.nq"], Collected(), batch_bytes=2500)
    assert statistics.batches >= 4
    assert statistics.restored == 0


def test_standard_input_is_answered_while_it_comes_and_flushed_at_its_end(spark, tmp_path, monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(run_module, "Spool", functools.partial(Spool, descriptor=reading))
    events = some_events(200)
    collected = Collected()

    def feed(part) -> None:
        os.write(writing, "".join(f"{key} {end}\n" for key, end in part).encode())

    def more(batch, results) -> None:
        collected(batch, results)
        if batch == 0:
            feed(events[100:])
            os.close(writing)

    feed(events[:100])
    statistics = run(ToyProgram(2), [StreamSpec(None, ("-",))], decoder=toy_decoder, on_batch=more)
    assert collected.answers() == expected_answers(events)
    assert statistics.ended
    assert statistics.batches >= 2


@pytest.mark.slow
def test_an_interrupt_ends_a_run_that_follows(tmp_path):
    write_events(tmp_path / "a.nq", some_events(100))
    script = f"""
from penstock.runtime.run import run
from penstock.sources.streams import StreamSpec
from tests.runtime.toy import FaultyProgram, ToyProgram, toy_decoder
statistics = run(
    ToyProgram(2), [StreamSpec(None, ({str(tmp_path / "a.nq")!r},))], decoder=toy_decoder,
    on_batch=lambda batch, results: print("batch", flush=True), follow=True, master="local[2]",
)
print(statistics.interrupted, statistics.elements, flush=True)
"""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
        start_new_session=True,
    )
    assert process.stdout.readline() == "batch\n"
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to the whole group
    out, err = process.communicate(timeout=120)
    assert (out, err, process.returncode) == ("True 100\n", "", 0)


def test_in_silence_time_goes_on_if_asked_and_a_silent_stream_holds_nothing_back(spark, tmp_path):
    """Two followed files: one has nothing, the other falls silent; all is answered nevertheless."""
    events = some_events(50)
    write_events(tmp_path / "a.nq", events)
    (tmp_path / "b.nq").touch()
    stop, collected = threading.Event(), Collected()

    def enough(statistics):
        if len(collected.answers()) == len(events):
            stop.set()

    timing = Timing(lateness=1000, idle=200_000, tick=True)
    paths = [tmp_path / "a.nq", tmp_path / "b.nq"]
    go(ToyProgram(2), paths, collected, follow=True, stop=stop, on_progress=enough, timing=timing)
    assert collected.answers() == expected_answers(events)


def test_standard_input_that_is_done_is_deleted_while_the_run_goes_on(spark, tmp_path, monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(run_module, "Spool", functools.partial(Spool, descriptor=reading, part=300))
    engine = Engine(checkpoint=tmp_path / "checkpoint", batch_bytes=400, shards=1)
    engine.add_stream("-").add_query("SELECT ?s WHERE { ?s <x:p> ?o }", name="all")
    found, kept = [], []

    def feed(first: int) -> None:
        lines = [
            f"<x:s{n}> <x:p> <x:o> <x:{n}#t=2026-01-01T00:00:{n:02d}Z> .\n" for n in range(first, first + 8)
        ]
        os.write(writing, "".join(lines).encode())

    def take(batch) -> None:
        found.extend(batch.answers["all"].column("s").to_pylist())
        kept.append(len(list((tmp_path / "checkpoint" / "source" / "stdin-0").glob("input-*"))))
        if len(kept) <= 4:
            feed(8 * len(kept))
        elif len(kept) == 5:
            os.close(writing)

    feed(0)
    engine.run(on_batch=take)
    assert sorted(found) == sorted(f"<x:s{n}>" for n in range(40))
    parts = sorted((tmp_path / "checkpoint" / "source" / "stdin-0").glob("input-*"))
    last = int(parts[-1].stem.removeprefix("input-"))
    assert last >= 4, "there were parts"
    assert len(parts) < last, "the first ones are gone"

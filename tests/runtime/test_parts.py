"""The parts of the runtime that need no Spark: placement, time, errors, checkpoints, keeping."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from dataclasses import fields, replace

import pytest
from tests.runtime.toy import ToyProgram, rows_of, toy_decoder

from penstock.engine.digests import QueryIdentity
from penstock.errors import InputError, InternalError, QueryError, UsageError
from penstock.runtime.detection.placement import shard_keys, spark_hash
from penstock.runtime.detection.shards import ShardCache
from penstock.runtime.detection.watermark import Timing, Watermark
from penstock.runtime.failures import WorkerFailure, carried, errors_located, reason_of, recovered
from penstock.runtime.job import JOB_FILE, Job, publish
from penstock.runtime.recovery.checkpoint import Checkpoint, check_checkpoint, open_checkpoint, stored_shards
from penstock.runtime.recovery.continuing import continued
from penstock.sources.streams import StreamSpec
from penstock.timeline import FOREVER, NEVER


class TestPlacement:
    def test_the_hash_is_sparks(self, spark):
        from pyspark.sql import functions as f

        numbers = spark.range(-500, 500).select(f.col("id").cast("int").alias("n"))
        for row in numbers.select("n", f.hash("n").alias("hash")).collect():
            assert spark_hash(row.n) == row.hash

    @pytest.mark.parametrize("shards", [1, 2, 3, 8, 64])
    def test_every_shard_has_a_partition_of_its_own(self, shards):
        assert [spark_hash(key) % shards for key in shard_keys(shards)] == list(range(shards))


class TestClock:
    def test_the_watermark_is_the_largest_end_less_the_lateness_and_never_goes_back(self):
        clock = Watermark(lateness=10)
        assert clock.watermark == NEVER
        assert clock.advance({0: 100}, [0]) == 90
        assert clock.advance({0: 50}, [0]) == 90
        assert clock.advance({0: NEVER}, [0]) == 90
        assert clock.advance({0: 130}, [0]) == 120

    def test_the_slowest_stream_that_counts_holds_time_back(self):
        clock = Watermark(lateness=0)
        assert clock.advance({0: 100}, [0, 1]) == NEVER
        assert clock.advance({0: 200, 1: 50}, [0, 1]) == 50
        assert clock.advance({1: 60}, [0]) == 200
        assert clock.advance({1: 70}, [1]) == 200

    def test_where_no_stream_counts_the_fastest_says_and_silence_adds_to_it(self):
        clock = Watermark(lateness=0)
        clock.advance({0: 100, 1: 50}, [0, 1])
        assert clock.advance({}, []) == 100
        assert clock.advance({}, [], [3, 70]) == 120

    def test_the_end_is_later_than_everything(self):
        assert Watermark(lateness=10).advance({}, [], [], True) == FOREVER

    def test_it_comes_back_as_it_was(self):
        clock = Watermark(lateness=1)
        clock.advance({0: 5, 1: -7}, [0, 1])
        assert Watermark.restored(1, clock.watermark, clock.ends_text()) == clock


class TestFailures:
    @pytest.mark.parametrize("kind", [InputError, UsageError, QueryError])
    def test_an_error_survives_the_way_through_sparks_traces(self, kind):
        with pytest.raises(WorkerFailure) as caught, carried():
            raise kind("line 7 is broken: “ä”", hint="mend it", origin="a.nq")
        text = f"Job aborted\n  at x.scala\nTraceback …\n{caught.value}\n\n\tat y.scala"
        back = recovered(text)
        assert type(back) is kind
        assert (back.message, back.hint, back.origin) == ("line 7 is broken: “ä”", "mend it", "a.nq")

    def test_other_errors_pass_and_are_told_in_one_line(self):
        with pytest.raises(ZeroDivisionError), carried():
            _ = 1 / 0
        trace = "Job aborted\nTraceback (most recent call last):\n  x\nValueError: no\n\tat y.scala"
        assert recovered(trace) is None
        assert reason_of(trace) == "ValueError: no"
        assert reason_of("Connection refused\n\tat x") == "Connection refused"

    def test_want_of_memory_is_told_as_such(self):
        with pytest.raises(InternalError, match="while x: MemoryError") as raised, errors_located("x"):
            raise MemoryError
        assert "more memory" in raised.value.hint

    def test_a_job_that_is_not_there_names_the_machine_and_the_way_out(self, tmp_path):
        reference = publish(Job("gone", ToyProgram(1), (), toy_decoder, False), tmp_path)
        (tmp_path / JOB_FILE).unlink()
        with pytest.raises(InputError, match=f"is not on {socket.gethostname()}") as raised:
            reference.load()
        assert "all machines" in raised.value.hint


def opened(*arguments) -> Checkpoint:
    with open_checkpoint(*arguments) as (checkpoint, *_):
        return checkpoint


def fates(*arguments) -> list[str]:
    with open_checkpoint(*arguments) as (*_, found):
        return list(map(str, found))


class TestCheckpoint:
    STREAMS = (StreamSpec("http://s", ("a.nq",)),)

    def test_the_same_run_goes_on(self, tmp_path):
        first = opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        assert opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5)) == first
        assert stored_shards(tmp_path / "c") == 3
        assert stored_shards(tmp_path / "other") is None

    def test_the_state_of_a_batch_that_was_not_finished_is_deleted(self, tmp_path):
        """It is of the queries that ran then, and Spark would keep it though others repeat the batch."""
        run = (tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        spark = opened(*run).spark
        state = spark / "state" / "0" / "1"
        state.mkdir(parents=True)
        (spark / "commits").mkdir()
        (spark / "commits" / "0").touch()
        for name in ("1.changelog", "1.zip", "2.changelog", "2.zip", "000008-5ae8.sst"):
            (state / name).touch()
        opened(*run)
        assert sorted(each.name for each in state.iterdir()) == ["000008-5ae8.sst", "1.changelog", "1.zip"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"program": ToyProgram(4)}, "another number of shards: 3 there, 4 now"),
            ({"iri": "http://t"}, "other streams: http://s=a.nq there, http://t=a.nq now"),
            ({"paths": ("b.nq",)}, "other streams: http://s=a.nq there, http://s=b.nq now"),
            ({"format": "trig"}, "another format of the stream http://s=a.nq: none there, trig now"),
            ({"start_predicate": "x:at"}, "another start predicate of the stream .*: none there, x:at now"),
            ({"end_predicate": "x:to"}, "another end predicate of the stream"),
            ({"lateness": 6_000_000}, "another lateness: PT5S there, PT6S now"),
            ({"idle": 1_000_000}, "another idle: none there, PT1S now"),
            ({"ahead": 1_000_000}, "another ahead: none there, PT1S now"),
            ({"behind": 1_000_000}, "another behind: none there, PT1S now"),
            ({"tick": True}, "another tick: False there, True now"),
        ],
    )
    def test_another_run_is_refused_and_told_what_differs(self, tmp_path, change, said):
        opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5_000_000))
        of_stream = {f.name for f in fields(StreamSpec)} & change.keys()
        streams = (replace(self.STREAMS[0], **{name: change[name] for name in of_stream}),)
        of_time = {f.name for f in fields(Timing)} & change.keys()
        timing = replace(Timing(5_000_000), **{name: change[name] for name in of_time})
        with pytest.raises(InputError, match=said):
            opened(tmp_path / "c", change.get("program", ToyProgram(3)), streams, timing)

    def test_one_of_another_version_is_refused(self, tmp_path):
        place = opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        stored = json.loads(place.identity.read_text())
        for change in ({"version": "0.0.0"}, {"layout": 4}):
            place.identity.write_text(json.dumps(stored | change))
            with pytest.raises(InputError, match="another version of Penstock"):
                opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))

    def test_other_queries_go_on_from_the_batches_that_are_finished(self, tmp_path):
        """What a life has begun and not finished left nothing behind."""

        def run(*queries: str) -> list[str]:
            program = ToyProgram(3)
            program.queries = tuple(QueryIdentity(q, q, q) for q in queries)
            return fates(tmp_path / "c", program, self.STREAMS, Timing(5))

        def generations() -> dict[str, int]:
            life = json.loads((tmp_path / "c" / "checkpoint.json").read_text())["generations"][-1]
            return {query["name"]: query["generation"] for query in life["queries"]}

        commits = tmp_path / "c" / "spark" / "commits"
        assert run("a", "b") == []
        assert run("b", "c") == [], "nothing was finished, so nothing goes on"
        commits.mkdir(parents=True)
        (commits / "0").touch()
        for _ in range(2):  # killed before its first batch was finished
            assert run("b", "d") == ["b goes on", "d starts now", "c was removed, its state is dropped"]
            assert generations() == {"b": 0, "d": 1}
        (commits / "1").touch()
        (commits / ".1.crc").touch()
        assert run("b", "d") == ["b goes on", "d goes on"]
        assert run("b", "c") == [
            "b goes on",
            "c starts now",
            "d was removed, its state is dropped",
        ]
        assert run("b", "d") == ["b goes on", "d goes on"], "no batch ran without it"
        assert generations() == {"b": 0, "d": 1}
        (commits / "2").touch()
        assert run("other", "e", "d") == [
            "other starts now",
            "e starts now",
            "d goes on",
            "b was removed, its state is dropped",
        ]
        assert generations() == {"other": 3, "e": 3, "d": 1}

    def test_what_becomes_of_queries(self):
        def fates(before: dict[str, str], now: dict[str, str]) -> list[str]:
            """Queries by name: a letter for the algebra, and one for what its last step computes."""
            sides = ([QueryIdentity(name, *said) for name, said in each.items()] for each in (before, now))
            return list(map(str, continued(*sides)))

        assert fates({"q": "ab"}, {"q": "ab"}) == ["q goes on"]
        assert fates({"q": "ab"}, {"q": "cd"}) == ["q starts now: its text changed"]
        assert fates({"q": "ab"}, {"q": "ac"}) == [
            "q starts now: static graphs or rules changed that its plan depends on"
        ]
        assert fates({"q": "ab"}, {"r": "ab"}) == ["r goes on; it was called q"]
        assert fates({"q": "ab"}, {"q": "ab", "r": "ab"}) == ["q goes on", "r starts now"]
        assert fates({"f": "aa", "f-2": "bc"}, {"f": "aa", "f-2": "bd", "f-3": "bc"}) == [
            "f goes on",
            "f-2 starts now",
            "f-3 goes on; it was called f-2",
        ]
        assert fates({"q": "ab", "r": "cd"}, {"q": "cd"}) == [
            "q goes on; it was called r",
            "q was removed, its state is dropped",
        ]

    def test_a_second_run_is_refused_and_told_who_has_it(self, tmp_path):
        run = (tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        with open_checkpoint(*run):
            for second in (opened, check_checkpoint):
                with pytest.raises(
                    InputError, match=f"in use by process {os.getpid()} on {socket.gethostname()}"
                ):
                    second(*run)
        opened(*run)

    def test_a_run_that_was_killed_holds_nothing(self, tmp_path):
        run = (tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        opened(*run)
        script = (
            "import fcntl, sys, time; file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX);"
            " print('held', flush=True); time.sleep(600)"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "c" / "lock")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(InputError, match="is in use by"):
                check_checkpoint(*run)
            other.kill()
        opened(*run)

    def test_a_damaged_one_and_a_foreign_directory_are_refused(self, tmp_path):
        place = opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        place.identity.write_text("{")
        with pytest.raises(InputError, match="damaged"):
            opened(tmp_path / "c", ToyProgram(3), self.STREAMS, Timing(5))
        (tmp_path / "d" / "spark").mkdir(parents=True)
        with pytest.raises(InputError, match="not a checkpoint"):
            opened(tmp_path / "d", ToyProgram(3), self.STREAMS, Timing(5))


def payload(*rows: tuple[int, int]) -> bytes:
    import numpy as np

    return np.array(rows, np.int64).tobytes()


class TestShardKeeper:
    """A kept shard goes on only from the state that it left in the store."""

    @pytest.fixture
    def job(self, tmp_path):
        return publish(Job("run", ToyProgram(1), (), toy_decoder, False), tmp_path)

    def step(self, shard_cache, job, stamp, stored, rows, watermark, ended=False, batch=1, shard=0):
        payloads = [payload(*rows)] if rows else []
        step = shard_cache.step(job, shard, batch, stamp, list(stored.items()), payloads, watermark, ended)
        changed = {k: v for k, v in stored.items() if k not in step.deletes} | dict(step.puts)
        answers = [row for query, data in step.results if query == 0 for row in rows_of(data)]
        return step, changed, answers

    def test_it_keeps_what_it_committed(self, job):
        shard_cache = ShardCache()
        step, stored, _ = self.step(shard_cache, job, None, {}, [(1, 10), (1, 20)], 15)
        assert shard_cache.at("run", 0) == step.stamp
        step, _, answers = self.step(shard_cache, job, step.stamp, stored, [(1, 30)], 25)
        assert (step.restored, answers) == (False, [(1, 20, 2)])

    def test_a_step_that_was_not_committed_is_forgotten(self, job):
        shard_cache = ShardCache()
        first, stored, _ = self.step(shard_cache, job, None, {}, [(1, 10), (1, 20)], 15)
        self.step(shard_cache, job, first.stamp, stored, [(1, 22)], 25)  # its batch fails elsewhere
        step, _, answers = self.step(shard_cache, job, first.stamp, stored, [(1, 22)], 25)
        assert (step.restored, answers) == (True, [(1, 20, 2), (1, 22, 3)])

    def test_another_process_restores(self, job):
        first, stored, _ = self.step(ShardCache(), job, None, {}, [(1, 10), (1, 20)], 15)
        step, _, answers = self.step(ShardCache(), job, first.stamp, stored, [], FOREVER, True)
        assert (step.restored, answers) == (True, [(1, 20, 2)])

    def test_a_step_that_fails_leaves_no_shard_behind(self, job):
        shard_cache = ShardCache()
        step, stored, _ = self.step(shard_cache, job, None, {}, [(1, 10)], 5)
        with pytest.raises(InternalError, match="deciding batch 1 in shard 0: ValueError: ") as raised:
            shard_cache.step(job, 0, 1, step.stamp, None, [b"not a payload"], 6, False)
        assert shard_cache.at("run", 0) is None
        # As it goes from a host to its worker, and from there through Spark.
        other = pickle.loads(pickle.dumps(raised.value))
        assert "Traceback" in other.__notes__[0]
        with pytest.raises(WorkerFailure) as carried_on, carried():
            raise other
        back = recovered(str(carried_on.value))
        assert (type(back), back.message, back.hint) == (InternalError, other.message, other.hint)
        assert "repeats this batch" in back.hint and "new checkpoint directory" in back.hint

    def test_the_first_step_restores_nothing(self, job):
        step, _, _ = self.step(ShardCache(), job, None, {}, [(1, 10)], 5)
        assert not step.restored

    def test_a_shard_that_was_elsewhere_in_the_last_batch_is_let_go(self, job):
        """A process that has no host besides must not keep all shards that it has ever seen."""
        shard_cache = ShardCache()
        self.step(shard_cache, job, None, {}, [(1, 10)], 5, batch=7, shard=0)
        self.step(shard_cache, job, None, {}, [(1, 10)], 5, batch=8, shard=1)
        assert shard_cache.at("run", 0) is not None, "it may yet come in this batch"
        self.step(shard_cache, job, None, {}, [(1, 10)], 5, batch=9, shard=2)
        assert (shard_cache.at("run", 0), shard_cache.at("run", 1) is None) == (None, False)


class _Trap:
    """Unpickling it runs code: it makes a directory."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_what_others_put_into_a_checkpoint_is_not_run(tmp_path):
    reference = publish(Job("trapped", ToyProgram(1), (), toy_decoder, False), tmp_path)
    (tmp_path / JOB_FILE).write_bytes(pickle.dumps(_Trap(tmp_path / "ran")))
    with pytest.raises(InputError, match="not what this run has written"):
        reference.load()
    assert not (tmp_path / "ran").exists()


def test_the_identity_of_a_checkpoint_is_readable(tmp_path):
    place = opened(tmp_path / "c", ToyProgram(2), TestCheckpoint.STREAMS, Timing(5))
    [stream] = json.loads(place.identity.read_text())["streams"]
    assert (stream["iri"], stream["paths"]) == ("http://s", ["a.nq"])

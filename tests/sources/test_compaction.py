"""The log of segments is compacted: what batches can still ask for stays as it is, and files stay known."""

from __future__ import annotations

import json
import os
import random

import pytest

from penstock.errors import InputError
from penstock.sources import segment_file
from penstock.sources import splits as splits_module
from penstock.sources.segments import SegmentLog
from penstock.sources.splits import SplitPlanner
from penstock.sources.streams import StreamSpec
from runtime.reading import read_split


@pytest.fixture(autouse=True)
def look_at_once(monkeypatch):
    monkeypatch.setattr(splits_module, "LOOK_AGAIN", 0.0)


def log_of(tmp_path, *paths, compact_after=2, **options) -> SegmentLog:
    spec = StreamSpec(None, tuple(map(str, paths)), "jsonl")
    return SegmentLog(
        spec, tmp_path / "log" / "segments.log", tmp_path / "spool", compact_after=compact_after, **options
    )


def lines_in(path) -> int:
    return len(path.read_bytes().splitlines())


class World:
    """Writers, and a run over what they write; it plays Spark, which logs offsets and repeats batches."""

    def __init__(self, directory, compact_after: int, draw: random.Random) -> None:
        self.data = directory / "data"
        self.data.mkdir()
        self.place = directory / "checkpoint"
        self.compact_after = compact_after
        self.draw = draw
        self.written: list[str] = []
        self.files = 0
        self.start_planner()
        self.offsets = [self.planner.initial()]  # of the batches: the last one may not be committed
        self.read: list[str] = []

    def start_planner(self) -> None:
        self.planner = SplitPlanner(
            [StreamSpec(None, (str(self.data),), "jsonl")],
            self.place,
            follow=True,
            batch_bytes=40,
            parallelism=2,
            compact_after=self.compact_after,
        )

    def write(self) -> None:
        way = self.draw.choice(["append", "append", "rotate", "file", "tidy"])
        some = [f"{len(self.written) + i}\n" for i in range(self.draw.randrange(1, 12))]
        if way in ("append", "rotate"):
            with open(self.data / "log.jsonl", "a") as out:
                out.writelines(some)
            self.written += some
            if way == "rotate":
                self.files += 1
                os.rename(self.data / "log.jsonl", self.data / f"log.{self.files:04d}.jsonl")
        elif way == "file":
            self.files += 1
            (self.data / f"part-{self.files:04d}.jsonl").write_text("".join(some))
            self.written += some
        elif not self.planner.logs[0].remaining(tuple(self.offsets[-1]["at"][0])):
            for old in sorted(self.data.iterdir())[: self.draw.randrange(3)]:
                if old.name != "log.jsonl":
                    old.unlink()

    def batch(self) -> bool:
        """Plan and read a batch; the process may be killed after any step of it."""
        start = self.offsets[-1]
        end = json.loads(json.dumps(self.planner.latest(start)))
        if end == start:
            return False
        self.offsets.append(end)  # Spark has logged it: from now on this batch comes again
        self.perhaps_killed()
        self.planner.done(start)
        self.perhaps_killed()
        content = self.content(start, end)
        self.perhaps_killed()
        assert self.content(start, end) == content, "a batch that comes again reads the same"
        self.read += content
        return True

    def content(self, start, end) -> list[str]:
        tasks = self.planner.tasks(start, end)
        parts = sorted((split for task in tasks for split in task.splits), key=lambda split: split.order)
        return b"".join(map(read_split, parts)).decode().splitlines(keepends=True)

    def perhaps_killed(self) -> None:
        if self.draw.random() < 0.2:
            self.start_planner()


@pytest.mark.sample(3)
@pytest.mark.parametrize("compact_after", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_every_line_comes_once_over_many_batches_and_restarts(tmp_path, seed, compact_after):
    world = World(tmp_path, compact_after, random.Random(seed))
    log = tmp_path / "checkpoint" / "segments-0.log"
    for _ in range(150):
        world.write()
        while world.batch():
            # Known, dropped since, and to be read: more than that is never in the file.
            known = len(world.planner.logs[0]._known)
            assert lines_in(log) <= 2 + 2 * max(known, compact_after) + len(list(world.data.iterdir())) + 1
    assert sorted(world.read, key=int) == world.written
    assert world.planner.logs[0].first > 50, "nothing was compacted"


@pytest.mark.parametrize("moment", range(6))
def test_a_kill_within_a_compaction_loses_nothing(tmp_path, monkeypatch, moment):
    """Every call that reaches the disk may be the last one."""
    file = tmp_path / "a.jsonl"
    log = log_of(tmp_path, file)
    for n in range(4):
        with open(file, "a") as out:
            out.write(f"{n}\n")
        log.discover(follow=True)
    expected = log.segments[3:]
    calls = 0

    class Killed(BaseException):
        pass

    def mortal(call):
        def called(*arguments):
            nonlocal calls
            calls += 1
            if calls > moment:
                raise Killed
            return call(*arguments)

        return called

    with monkeypatch.context() as patched:
        patched.setattr(segment_file.os, "fsync", mortal(os.fsync))
        patched.setattr(segment_file.os, "replace", mortal(os.replace))
        patched.setattr(segment_file.json, "dumps", mortal(json.dumps))
        try:
            log.trim((3, 0))
        except Killed:
            pass
    again = log_of(tmp_path, file)
    assert again.discover(follow=True) == 0
    assert [r.segment for r in again.ranges((3, 0), (4, 0))] == expected
    again.trim((3, 0))
    assert log_of(tmp_path, file).first == 3


def test_a_thousand_batches_leave_a_short_log(tmp_path):
    """A file that grows, and a new one in each batch, which somebody tidies away."""
    now = 1_000_000.0
    data = tmp_path / "data"
    data.mkdir()
    log = log_of(tmp_path, data, compact_after=10, forget_after=60.0, now=lambda: now)
    largest = 0
    for n in range(1_200):
        with open(data / "log.jsonl", "a") as out:
            out.write(f"{n}\n")
        (data / f"part-{n:05d}.jsonl").write_text(f'"part {n}"\n')
        if n >= 5:
            (data / f"part-{n - 5:05d}.jsonl").unlink()
        now += 1.0
        assert log.discover(follow=True) == 2
        log.trim((log.first + len(log.segments), 0))
        largest = max(largest, lines_in(log.log))
    assert log.first >= 2_200
    # The files of some minutes, of 1,201, and the segments since the log was last compacted, of 2,400.
    assert largest < 400
    assert max(map(len, (log._known, log._by_inode, log._names, log._missing))) < 250
    assert log_of(tmp_path, data).segments == log.segments


def test_a_file_that_comes_back_soon_is_known_and_later_a_new_one(tmp_path):
    now = 1_000_000.0
    data, away = tmp_path / "data", tmp_path / "away.jsonl"
    data.mkdir()

    def some(n: int) -> None:
        """Enough for two compactions, and a restart."""
        nonlocal log
        for i in range(4 * (n + 2)):
            with open(data / "log.jsonl", "a") as out:
                out.write(f'"{n} {i}"\n')
            log.discover(follow=True)
            log.trim((log.first + len(log.segments), 0))
        log = log_of(tmp_path, data, forget_after=60.0, now=lambda: now)

    log = log_of(tmp_path, data, forget_after=60.0, now=lambda: now)
    (data / "a.jsonl").write_text("0\n")
    some(0)
    os.rename(data / "a.jsonl", away)
    some(1)
    now += 30.0
    some(2)
    os.rename(away, data / "a.jsonl")
    assert log.discover(follow=True) == 0, "it was away for half a minute"
    some(3)
    os.rename(data / "a.jsonl", away)
    some(4)
    now += 61.0
    some(5)
    os.rename(away, data / "a.jsonl")
    assert log.discover(follow=True) == 1, "after a minute it is forgotten"


def test_a_named_file_that_is_gone_is_known_for_good(tmp_path):
    gone, grows = tmp_path / "gone.jsonl", tmp_path / "grows.jsonl"
    gone.write_text("1\n")
    grows.write_text("1\n")
    log = log_of(tmp_path, gone, grows, forget_after=0.0)
    log.discover(follow=True)
    gone.unlink()
    for _ in range(20):
        with open(grows, "a") as out:
            out.write("2\n")
        assert log.discover(follow=True) == 1
        log.trim((log.first + len(log.segments), 0))
    again = log_of(tmp_path, gone, grows, forget_after=0.0)
    assert again.first > 10 and again.discover(follow=True) == 0, "it was there once: nothing is wrong"


def test_a_position_that_was_dropped_is_refused(tmp_path):
    file = tmp_path / "a.jsonl"
    log = log_of(tmp_path, file)
    for n in range(3):
        with open(file, "a") as out:
            out.write(f"{n}\n")
        log.discover(follow=True)
    log.trim((3, 0))
    for ask in (log.remaining, lambda at: log.advance(at, 1), lambda at: list(log.ranges(at, (3, 0)))):
        with pytest.raises(InputError, match="begins with segment 3, and segment 0 is asked for") as raised:
            ask((0, 0))
        assert "new checkpoint directory" in raised.value.hint


def test_a_log_that_was_cut_is_refused(tmp_path):
    file = tmp_path / "a.jsonl"
    log = log_of(tmp_path, file)
    for n in range(3):
        with open(file, "a") as out:
            out.write(f"{n}\n")
        log.discover(follow=True)
    log.trim((3, 0))
    log.log.write_bytes(log.log.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(InputError, match="is damaged"):
        log_of(tmp_path, file)

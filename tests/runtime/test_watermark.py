"""How far time is on live streams: the planner and the shards' clock against the definition."""

from __future__ import annotations

import json
import random

import pytest
from tests.runtime.watermark_definition import Look, watermark

from penstock.runtime.detection.watermark import Watermark
from penstock.sources import splits as splits_module
from penstock.sources.splits import SplitPlanner
from penstock.sources.streams import StreamSpec
from penstock.timeline import FOREVER, NEVER

from .reading import read_split

SECOND = 1_000_000


class World:
    """Growing files, a clock that stands still until it is moved, and a run that may stop."""

    def __init__(self, directory, streams: int, *, follow=True, batch_bytes=10**6, lateness=0, **pace):
        self.directory = directory
        self.streams = streams
        self.lateness = lateness
        self.pace = pace
        self.more = {"follow": follow, "batch_bytes": batch_bytes}
        self.now = 10**15
        self.clock = Watermark(lateness)
        self.looks: list[Look] = []
        for stream in range(streams):
            self.path(stream).touch()
        self.start()
        self.offset = self.planner.initial()

    def path(self, stream: int):
        return self.directory / f"{stream}.jsonl"

    def start(self) -> None:
        """Begin to listen; the second time it is a restart."""
        self.planner = SplitPlanner(
            [StreamSpec(None, (str(self.path(s)),)) for s in range(self.streams)],
            self.directory / "log",
            parallelism=2,
            clock=lambda: self.now,
            **self.more,
            **self.pace,
        )
        self.first = True

    def append(self, stream: int, *ends: int) -> None:
        with open(self.path(stream), "a") as out:
            out.writelines(f"[{end}]\n" for end in ends)

    def look(self) -> bool:
        """Let the planner look, and run the batch that it asks for; whether there was one."""
        latest = json.loads(json.dumps(self.planner.latest(self.offset)))
        made = latest != self.offset
        read: dict[int, list[int]] = {}
        if made:
            tasks = self.planner.tasks(self.offset, latest)
            for split in (split for task in tasks for split in task.splits):
                lines = read_split(split).decode().split()
                read.setdefault(split.stream, []).extend(json.loads(line)[0] for line in lines)
            control = tasks[0].control
            seen = {stream: max(ends, default=NEVER) for stream, ends in read.items()}
            self.clock.advance(seen, control.counts, control.silence, control.ended)
            self.offset = latest
        unread = [i for i, log in enumerate(self.planner.logs) if log.remaining(tuple(latest["at"][i]))]
        over = () if self.more["follow"] else set(range(self.streams)) - set(unread)
        self.looks.append(Look(self.now, read, frozenset(unread), frozenset(over), made, self.first))
        self.first = False
        return made

    def settle(self) -> int:
        """Look until there is nothing more to do; the watermark."""
        while self.look():
            pass
        return self.clock.watermark

    def expected(self) -> int:
        pace = {name: self.pace[name] for name in ("idle", "tick") if name in self.pace}
        return watermark(self.looks, self.streams, lateness=self.lateness, **pace)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(splits_module, "LOOK_AGAIN", 0.0)


@pytest.mark.parametrize("seed", range(60))
def test_planner_and_clock_are_what_the_definition_says(tmp_path, seed):
    chance = random.Random(seed)
    streams = chance.randint(1, 3)
    idle = chance.choice([None, 0, 5 * SECOND, 30 * SECOND])
    world = World(
        tmp_path,
        streams,
        follow=chance.random() < 0.8,
        batch_bytes=chance.choice([15, 40, 10**6]),
        lateness=chance.choice([0, 3]),
        idle=idle,
        tick=idle is not None and chance.random() < 0.5,
    )
    moved = 0
    if not world.more["follow"]:  # a run that ends reads what is there
        for stream in range(streams):
            world.append(stream, *(chance.randrange(100) for _ in range(chance.randrange(20))))
    for _ in range(60):
        if world.more["follow"] and chance.random() < 0.4:
            world.append(chance.randrange(streams), *(chance.randrange(10**4) for _ in range(3)))
        if chance.random() < 0.1:
            world.start()
        world.now += chance.choice([0, 0, SECOND // 3, SECOND, 7 * SECOND, 40 * SECOND])
        before = world.clock.watermark
        if world.look():
            assert world.clock.watermark == world.expected()
            moved += world.clock.watermark != before
        if world.clock.watermark == FOREVER:
            break
    assert moved


def test_the_slowest_live_stream_counts_until_it_is_idle(tmp_path):
    world = World(tmp_path, 2, idle=10 * SECOND)
    world.append(0, 1000)
    world.append(1, 100)
    assert world.settle() == 100
    world.now += 9 * SECOND
    world.append(0, 2000)
    assert world.settle() == 100, "stream 1 is only slow"
    world.now += SECOND
    assert world.settle() == 2000, "now it is idle, and no data is needed to find out"
    world.append(1, 2100)
    world.append(0, 3000)
    assert world.settle() == 2100, "it counts again"


def test_without_idle_a_silent_stream_holds_time_back_for_ever(tmp_path):
    world = World(tmp_path, 2)
    world.append(0, 1000)
    world.now += 10**6 * SECOND
    assert world.settle() == NEVER


def test_silence_lets_time_go_on_only_if_asked(tmp_path):
    for tick, reached in ((False, 1000), (True, 1000 + 50 * SECOND)):
        (tmp_path / str(tick)).mkdir()
        world = World(tmp_path / str(tick), 1, idle=10 * SECOND, tick=tick)
        world.append(0, 1000)
        assert world.settle() == 1000
        world.now += 60 * SECOND
        assert world.settle() == reached


def test_time_goes_on_in_steps_not_in_every_look(tmp_path):
    world = World(tmp_path, 1, idle=8 * SECOND, tick=True)
    world.append(0, 1000)
    world.settle()
    world.now += 20 * SECOND
    assert world.look()
    world.now += SECOND
    assert not world.look(), "a batch costs something: the next one after a quarter of idle"
    world.now += SECOND
    assert world.look()


def test_a_run_that_was_stopped_has_not_heard_silence(tmp_path):
    world = World(tmp_path, 2, idle=10 * SECOND)
    world.append(0, 1000)
    world.append(1, 100)
    world.settle()
    world.now += 3600 * SECOND
    world.start()
    world.append(0, 2000)
    assert world.settle() == 100, "nobody has listened to stream 1 in that hour"
    world.now += 10 * SECOND
    assert world.settle() == 2000


def test_a_repeated_batch_decides_what_was_recorded(tmp_path):
    world = World(tmp_path, 2, idle=10 * SECOND, tick=True, ahead=5 * SECOND)
    world.append(0, 1000)
    world.settle()
    start = world.offset
    world.now += 60 * SECOND
    end = json.loads(json.dumps(world.planner.latest(start)))
    assert end != start
    first = world.planner.tasks(start, end)
    world.now += 10**9 * SECOND
    world.start()
    assert world.planner.tasks(start, end) == first


def test_the_clock_does_not_go_back(tmp_path):
    world = World(tmp_path, 1, idle=SECOND, tick=True, ahead=0)
    world.append(0, 1000)
    world.settle()
    begun = world.now
    world.now -= 50 * SECOND
    world.append(0, 1001)
    world.look()
    assert world.offset["clock"] == begun


def test_a_run_that_ends_waits_for_all_that_is_unread(tmp_path):
    """Two files that cover the same time, one ten times as long: neither makes the other late."""
    world = World(tmp_path, 2, follow=False, batch_bytes=60)
    world.append(0, *range(1000, 1200))
    world.append(1, *range(1000, 1020))
    while world.look():
        read = world.looks[-1].read
        before = world.looks[:-1]
        lowest = watermark(before, 2, lateness=0) if before else NEVER
        assert all(end >= lowest for ends in read.values() for end in ends)
    assert world.clock.watermark == FOREVER


def test_standard_input_beside_a_file_counts_until_it_ends(tmp_path):
    """A file that is read to its end does not make late what comes from standard input."""
    file = tmp_path / "a.jsonl"
    file.write_text("[1000]\n[2000]\n")
    streams = [StreamSpec(None, (str(file),)), StreamSpec(None, ("-",), "jsonld")]
    planner = SplitPlanner(streams, tmp_path / "log", follow=False, batch_bytes=10**6, parallelism=1)
    offset = planner.latest(planner.initial())
    [task] = planner.tasks(planner.initial(), offset)
    assert (task.control.counts, task.control.ended) == ((1,), False)

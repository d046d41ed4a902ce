"""Planning batches: every line is read exactly once, whatever the sizes of batches and splits."""

from __future__ import annotations

import gzip
import json
import os
import random
import time

import pyarrow as pa
import pytest
from tests.decode.facts import facts

from penstock.decode.decoder import decode_file
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import concat
from penstock.errors import InputError
from penstock.sources import splits as module
from penstock.sources.splits import SplitPlanner
from penstock.sources.spool import Spool
from penstock.sources.streams import StreamSpec
from runtime.reading import read_split


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST_TASK", 1)
    monkeypatch.setattr(module, "LARGEST_SPLIT", 37)
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.0)


def planner(tmp_path, *paths, follow=False, batch_bytes=50, parallelism=3) -> SplitPlanner:
    specs = [StreamSpec(None, (str(path),)) for path in paths]
    return SplitPlanner(
        specs, tmp_path / "log", follow=follow, batch_bytes=batch_bytes, parallelism=parallelism
    )


def all_batches(plan: SplitPlanner, offset=None):
    """Play Spark: offsets go through JSON, a batch is planned from two of them."""
    offset = offset or plan.initial()
    while True:
        latest = json.loads(json.dumps(plan.latest(offset)))
        if latest == offset:
            return
        yield latest, plan.tasks(offset, latest)
        offset = latest


def content(tasks, stream=0) -> bytes:
    ordered = sorted((s for t in tasks for s in t.splits), key=lambda s: s.order)
    return b"".join(read_split(s) for s in ordered if s.stream == stream)


@pytest.mark.parametrize("seed", range(10))
def test_lines_come_once_and_in_order_for_any_sizes(tmp_path, small_pieces, seed):
    draw = random.Random(seed)
    lines = [f"{i} {'x' * draw.randrange(60)}\n" for i in range(120)]
    (tmp_path / "a.nq").write_text("".join(lines))
    plan = planner(
        tmp_path,
        tmp_path / "a.nq",
        batch_bytes=draw.randrange(1, 900),
        parallelism=draw.randrange(1, 5),
    )
    batches = list(all_batches(plan))
    assert b"".join(content(tasks) for _, tasks in batches) == "".join(lines).encode()
    assert [offset["ended"] for offset, _ in batches] == [False] * (len(batches) - 1) + [True]
    assert all(t.control is not None for _, tasks in batches for t in tasks[:1])
    assert sum(t.control is not None for _, tasks in batches for t in tasks) == len(batches)


def test_work_is_shared_evenly_between_tasks(tmp_path, small_pieces):
    (tmp_path / "a.nq").write_text("123456789\n" * 100)
    plan = planner(tmp_path, tmp_path / "a.nq", batch_bytes=1000, parallelism=2)
    [(_, tasks)] = all_batches(plan)
    assert [len(content([task])) for task in tasks] == pytest.approx([500, 500], abs=20)


def test_streams_of_different_length_reach_their_ends_together(tmp_path, small_pieces):
    (tmp_path / "long.nq").write_text("123456789\n" * 90)
    (tmp_path / "short.nq").write_text("123456789\n" * 10)
    plan = planner(tmp_path, tmp_path / "long.nq", tmp_path / "short.nq", batch_bytes=100)
    batches = list(all_batches(plan))
    assert len(batches) == pytest.approx(10, abs=1)
    assert all(len(content(tasks, 1)) <= 20 for _, tasks in batches)
    assert batches[0][0]["counts"] == [0, 1]
    assert batches[-1][0]["counts"] == []
    assert b"".join(content(tasks, 1) for _, tasks in batches) == b"123456789\n" * 10


def test_an_empty_stream_still_has_one_batch_that_ends_it(tmp_path):
    (tmp_path / "a.nq").write_text("")
    [(offset, tasks)] = all_batches(planner(tmp_path, tmp_path / "a.nq"))
    assert offset["ended"]
    assert [task.splits for task in tasks] == [()]
    assert tasks[0].control.ended


def test_follow_waits_for_more_and_never_ends(tmp_path, small_pieces):
    file = tmp_path / "a.jsonl"
    file.write_text("111\n22")
    plan = planner(tmp_path, file, follow=True)
    [(offset, tasks)] = all_batches(plan)
    assert (content(tasks), offset["ended"]) == (b"111\n", False)
    with open(file, "a") as out:
        out.write("2\n")
    [(offset, tasks)] = all_batches(plan, offset)
    assert (content(tasks), offset["ended"]) == (b"222\n", False)


def test_replanning_after_a_restart_gives_the_same_splits(tmp_path, small_pieces):
    (tmp_path / "a.nq").write_text("".join(f"{i}\n" for i in range(100)))
    first = planner(tmp_path, tmp_path / "a.nq")
    batches = list(all_batches(first))
    again = planner(tmp_path, tmp_path / "a.nq", batch_bytes=7)
    start = first.initial()
    for end, tasks in batches:
        assert again.tasks(start, end) == tasks
        start = end


def test_what_has_ended_cannot_go_on(tmp_path):
    file = tmp_path / "a.nq"
    file.write_text("one\n")
    [(offset, _)] = all_batches(planner(tmp_path, file))
    assert planner(tmp_path, file).latest(offset) == offset
    file.write_text("one\ntwo\n")
    with pytest.raises(InputError, match="read to their end"):
        planner(tmp_path, file).latest(offset)


def test_standard_input_is_followed_until_it_ends(tmp_path, small_pieces):
    reading, writing = os.pipe()
    spec = StreamSpec(None, ("-",))
    plan = SplitPlanner([spec], tmp_path / "log", follow=False, batch_bytes=99, parallelism=1)
    spool = Spool(spec, tmp_path / "log" / "stdin-0", reading)
    assert list(all_batches(plan)) == []
    os.write(writing, b"one\ntwo\nthr")
    os.write(writing, b"ee")
    os.close(writing)
    spool.run()
    batches = list(all_batches(plan))
    assert b"".join(content(tasks) for _, tasks in batches) == b"one\ntwo\nthree"
    assert batches[-1][0]["ended"]


SECONDS = range(8)
MAP = json.dumps(
    {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {
            "aboutUrl": "x:{id}",
            "columns": [{"name": "v", "propertyUrl": "x:p", "datatype": "integer"}],
        },
        "penstock:time": {"instant": "at"},
    }
)
AT = "2026-01-01T00:00:0{0}Z"
FORMATS = {  # format, whether by the map, the beginning, and what stands for each second
    "N-Quads": ("nquads", False, "", f"<x:{{0}}> <x:p> {{1}} <x:g#t={AT}> .\n"),
    "TriG": ("trig", False, "@prefix : <x:> .\n", f"<x:g#t={AT}> {{{{ <x:{{0}}> :p {{0}} }}}}\n"),
    "JSON-LD": (
        "jsonld",
        False,
        "",
        f'{{{{"@id":"x:g#t={AT}","@graph":[{{{{"@id":"x:{{0}}","x:p":{{0}}}}}}]}}}}\n',
    ),
    "CSV": ("csv", False, "s,p,o,start\n", f"x:{{0}},x:p,{{2}},{AT}\n"),
    "CSV by a map": ("csv", True, "id,v,at\n", f"{{0}},{{0}},{AT}\n"),
    "JSON by a map": ("jsonl", True, "", f'{{{{"id":{{0}},"v":{{0}},"at":"{AT}"}}}}\n'),
}


def packed(data: bytes, how: str) -> bytes:
    if how == "gzip":
        middle = data.index(b"\n", len(data) // 2) + 1
        return gzip.compress(data[:middle]) + gzip.compress(data[middle:])  # two members
    return pa.compress(data, codec="zstd", asbytes=True) if how == "zstd" else data


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("kind", FORMATS)
def test_standard_input_may_have_any_format_and_be_compressed(tmp_path, small_pieces, kind, packing):
    form, mapped, head, each = FORMATS[kind]
    integer = "{}^^<http://www.w3.org/2001/XMLSchema#integer>"
    rows = [each.format(n, integer.format(f'"{n}"'), '"' + integer.format(f'""{n}""') + '"') for n in SECONDS]
    data = packed((head + "".join(rows)).encode(), packing)
    spec = StreamSpec(None, ("-",), format=form, map=MAP if mapped else None)
    reading, writing = os.pipe()
    spool = Spool(spec, tmp_path / "log" / "stdin-0", reading, part=100)
    spool.start()
    for at in range(0, len(data), 3):  # so that the first piece is shorter than what tells the packing
        os.write(writing, data[at : at + 3])
    os.close(writing)
    spool.join()
    plan = SplitPlanner([spec], tmp_path / "log", follow=False, batch_bytes=99, parallelism=2)
    parts = [
        part
        for _, tasks in all_batches(plan)
        for task in tasks
        for split in task.splits
        for part in decode_file(
            split.place(),
            format=spec.format,
            map=read_map(json.loads(MAP)) if mapped else None,
            begin=split.start,
            end=split.end,
            within=(split.segment_start, split.segment_end),
        )
    ]
    found = concat(parts)
    assert not found.rejects
    assert facts(found) == [
        f"<x:{n}> <x:p> {integer.format(chr(34) + str(n) + chr(34))} @ 2026-01-01T00:00:0{n}.000Z"
        for n in SECONDS
    ]


def stated(n: int) -> bytes:
    """An element of two lines, whose time stands in the first."""
    at = "<http://www.w3.org/ns/prov#generatedAtTime>"
    instant = f'"2026-01-01T00:00:{n % 60:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return f"<x:{n}> {at} {instant} .\n<x:s> <x:p> <x:o> <x:{n}> .\n".encode()


@pytest.mark.parametrize("piece", [17, 150, 4000])
def test_standard_input_is_kept_in_parts_and_parts_that_are_done_are_deleted(tmp_path, small_pieces, piece):
    spec = StreamSpec(None, ("-",))
    log = tmp_path / "log"
    data = b"".join(map(stated, range(60)))
    reading, writing = os.pipe()
    spool = Spool(spec, log / "stdin-0", reading, part=500)
    spool.start()
    for at in range(0, len(data), piece):
        os.write(writing, data[at : at + piece])
        time.sleep(0.001)  # so that the spool gets more than one piece; any pieces are right
    os.close(writing)
    spool.join()
    parts = sorted((log / "stdin-0").glob("input-*"))
    assert b"".join(part.read_bytes() for part in parts) == data
    assert all(part.read_bytes().startswith(b"<x:") for part in parts)
    assert all(
        part.read_bytes().count(b"generatedAtTime") * 2 == part.read_bytes().count(b"\n") for part in parts
    )
    plan = SplitPlanner([spec], log, follow=False, batch_bytes=300, parallelism=1)
    read, before = b"", None
    for offset, tasks in all_batches(plan):
        read += content(tasks)
        if before is not None:  # as Spark does: when the next batch is planned, the one before is done
            plan.done(before)
            again = SplitPlanner([spec], log, follow=False, batch_bytes=300, parallelism=1)
            assert again.tasks(before, offset) == tasks
            assert content(tasks) == content(again.tasks(before, offset))
        before = offset
    assert read == data
    left = sorted((log / "stdin-0").glob("input-*"))
    assert len(left) <= 2
    assert left[-1] == parts[-1]
    number = Spool(spec, log / "stdin-0", 0)._next_file().name
    assert number == f"input-{len(parts) + 1:06d}.nq", "the name of a deleted part is not used again"


def test_standard_input_is_on_the_disk_before_an_offset_refers_to_it(tmp_path, monkeypatch, small_pieces):
    synced = []
    sync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(os.readlink(f"/proc/self/fd/{handle}")), sync(handle))
    )
    place = tmp_path / "log" / "stdin-0"
    place.mkdir(parents=True)
    (place / "input-000001.nq").write_bytes(stated(1))
    (place / ".ended").touch()
    plan = SplitPlanner(
        [StreamSpec(None, ("-",))], tmp_path / "log", follow=False, batch_bytes=99, parallelism=1
    )
    plan.latest(plan.initial())
    assert synced == [str(place / "input-000001.nq"), str(place), str(tmp_path / "log" / "segments-0.log")]


def test_a_version_of_static_knowledge_is_in_the_offset(tmp_path):
    """It is recorded before the batch; a batch without data says it too; what no batch can ask for goes."""
    (tmp_path / "a.nq").write_text("")
    plan = SplitPlanner(
        [StreamSpec(None, (str(tmp_path / "a.nq"),))],
        tmp_path / "c",
        follow=True,
        batch_bytes=100,
        parallelism=1,
    )
    first = plan.initial()
    assert plan.latest(first) == first
    place = tmp_path / "c" / "knowledge"
    place.mkdir(parents=True)
    for version in (0, 1, 2):
        (place / f"{version}.arrow").touch()
    (place / ".3.arrow.123").touch()  # being written
    second = plan.latest(first)
    assert second["knowledge"] == 2
    [task] = plan.tasks(first, second)
    assert (task.splits, task.knowledge, task.control.knowledge) == ((), 2, 2)
    assert plan.latest(second) == second
    plan.done(second)
    assert sorted(path.name for path in place.iterdir()) == [".3.arrow.123", "2.arrow"]

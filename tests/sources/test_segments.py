"""The log of segments: what of a stream's files is taken, in which order, for good."""

from __future__ import annotations

import os

import pytest

from penstock.errors import UsageError
from penstock.sources.growth import end_of_last_line
from penstock.sources.segments import SETTLED, SegmentLog
from penstock.sources.streams import StreamSpec


def log_of(tmp_path, *paths, format=None) -> SegmentLog:
    spec = StreamSpec(None, tuple(map(str, paths)), format)
    return SegmentLog(spec, tmp_path / "log" / "segments.log", tmp_path / "spool")


def taken(log: SegmentLog) -> list[tuple[str, int, int]]:
    return [(os.path.basename(s.path), s.start, s.end) for s in log.segments]


def test_a_directory_is_read_by_name_and_other_files_are_left_alone(tmp_path):
    data = tmp_path / "data"
    (data / "b").mkdir(parents=True)
    for name in ("b/2.nq", "a.nq", "c.jsonl", ".hidden.nq", "_marker.nq", "notes.txt"):
        (data / name).write_text("x\n")
    log = log_of(tmp_path, data)
    log.discover(follow=False)
    assert taken(log) == [("a.nq", 0, 2), ("2.nq", 0, 2), ("c.jsonl", 0, 2)]


def test_growth_becomes_a_new_segment_up_to_the_last_complete_line(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("111\n22")
    log = log_of(tmp_path, file)
    log.discover(follow=True)
    assert taken(log) == [("a.jsonl", 0, 4)]
    assert log.discover(follow=True) == 0
    with open(file, "a") as out:
        out.write("2\n33333\n44")
    log.discover(follow=True)
    assert taken(log) == [("a.jsonl", 0, 4), ("a.jsonl", 4, 14)]


AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
INSTANT = '"2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def element(name: str) -> str:
    return f"<{name}> {AT} {INSTANT} .\n<x:s> <x:p> <x:o> <{name}> .\n"


def test_an_element_that_may_go_on_waits_for_what_follows_it(tmp_path):
    file = tmp_path / "a.nq"
    first, second = element("x:1"), element("x:2")
    file.write_text(first + second)
    log = log_of(tmp_path, file)
    log.discover(follow=True)
    assert taken(log) == [("a.nq", 0, len(first))]
    with open(file, "a") as out:
        out.write("<x:s> <x:p> <x:more> <x:2> .\n")
    before = os.stat(file).st_size
    with open(file, "a") as out:
        out.write("<x:s> <x:p> <x:o> <x:3#t=2026-01-01T00:00:00Z> .\n")
    log.discover(follow=True)
    assert taken(log)[1:] == [("a.nq", len(first), before)]


def test_the_last_element_is_taken_when_its_file_has_been_left_alone(tmp_path):
    file = tmp_path / "a.nq"
    file.write_text(element("x:1"))
    log = log_of(tmp_path, file)
    assert log.discover(follow=True) == 0
    past = os.stat(file).st_mtime - 2 * SETTLED
    os.utime(file, (past, past))
    log.discover(follow=True)
    assert taken(log) == [("a.nq", 0, os.stat(file).st_size)]


def test_without_follow_a_last_line_without_newline_counts(tmp_path):
    file = tmp_path / "a.nq"
    file.write_text("one\ntwo")
    log = log_of(tmp_path, file)
    log.discover(follow=False)
    assert taken(log) == [("a.nq", 0, 7)]


def test_a_restart_knows_the_same_segments_and_drops_a_torn_last_entry(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("111\n")
    first = log_of(tmp_path, file)
    first.discover(follow=True)
    with open(first.log, "a") as out:
        out.write('["torn", 0')
    second = log_of(tmp_path, file)
    assert second.segments == first.segments
    file.write_text("111\n222\n")
    second.discover(follow=True)
    assert log_of(tmp_path, file).segments == second.segments
    assert taken(second) == [("a.jsonl", 0, 4), ("a.jsonl", 4, 8)]


def test_a_file_that_is_not_there_is_the_calls_fault(tmp_path):
    with pytest.raises(UsageError, match="no file or directory"):
        log_of(tmp_path, tmp_path / "nothing.nq").discover(follow=False)


def test_the_last_line_is_found_across_blocks(tmp_path):
    file = tmp_path / "long.nq"
    file.write_bytes(b"a\n" + b"x" * 200_000)
    assert end_of_last_line(str(file), 0, 200_002) == 2
    assert end_of_last_line(str(file), 2, 200_002) == 2

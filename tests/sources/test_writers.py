"""What writers may do to files that are followed: every element is read exactly once."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from penstock.runtime.intake.decoding import file_decoder
from penstock.sources import segments as segments_module
from penstock.sources.segments import SETTLED, SegmentLog
from penstock.sources.splits import Split
from penstock.sources.streams import StreamSpec
from penstock.timeline import format_instant

EX = "http://example.org/"
AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
DATETIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"


class World:
    """A stream that is followed, and everything that was decoded of it."""

    def __init__(self, directory: Path, *paths: Path, format: str | None = None) -> None:
        self.directory = directory
        self.spec = StreamSpec(None, tuple(map(str, paths)), format)
        self.now = 0.0
        self.found: list[str] = []
        self.rejects: list[str] = []
        self.read = 0
        self.restart()

    def restart(self) -> None:
        place = self.directory / ".checkpoint"
        # Most of these tests take a few segments: they are compacted all the time.
        self.log = SegmentLog(
            self.spec, place / "segments.log", place / "spool", now=lambda: self.now, compact_after=2
        )

    def look(self, follow: bool = True) -> None:
        self.log.discover(follow=follow)
        decoder = file_decoder(self.spec, None, False)
        for segment in self.log.segments[self.read - self.log.first :]:
            split = Split(
                0, 0, segment.path, segment.start, segment.end, segment.start, segment.end,
                segment.whole, None, segment.mark, segment.number,
            )  # fmt: skip
            found = decoder.decode(Split.from_json(json.loads(json.dumps(split.to_json()))))
            texts = decoder.late(split, 2**62).column("triples").to_pylist()
            self.found += [text for triples in texts for text in triples]
            self.rejects += [f"{reject.line}: {reject.reason}" for reject in found.rejects]
        self.read = self.log.first + len(self.log.segments)
        self.log.trim((self.read, 0))

    def pause(self) -> None:
        """Long enough that what was written counts as left alone."""
        latest = max((p.stat().st_mtime for p in self.directory.rglob("*") if p.is_file()), default=0)
        self.now = max(self.now, latest) + 1.5 * SETTLED
        self.look()

    def blink(self) -> None:
        """Too short for that."""
        self.now += SETTLED / 10
        self.look()


def triple(n: int) -> str:
    return f'<{EX}s{n}> <{EX}p> "ümlaut 🌊 {{ . \\" {n}" .'


def expected(count: int) -> list[str]:
    return [triple(n) for n in range(count)]


def instant(n: int) -> str:
    return format_instant(1_760_000_000_000_000 + n * 1_000_000)


def compact(count: int) -> list[bytes]:
    return [f"{triple(n)[:-1]}<{EX}g{n}#t={instant(n)}> .\n".encode() for n in range(count)]


def stated(count: int) -> list[bytes]:
    return [
        f'<{EX}g{n}> {AT} "{instant(n)}"^^{DATETIME} .\n{triple(n)[:-1]}<{EX}g{n}> .\n'.encode()
        for n in range(count)
    ]


def trig(count: int) -> list[bytes]:
    head = f"@prefix ex: <{EX}> . # a comment {{\nPREFIX g: <{EX}g>\n".encode()
    graphs = [
        f'<{EX}g{n}#t={instant(n)}> {{\n ex:s{n} ex:p "ümlaut 🌊 {{ . \\" {n}"\n}}\n'.encode()
        for n in range(count)
    ]
    return [head, *graphs]


def csv(count: int) -> list[bytes]:
    rows = [f'{EX}s{n},{EX}p,"""ümlaut 🌊 {{ . \\"" {n}""",{instant(n)}\n'.encode() for n in range(count)]
    return [b"s,p,o,start\n", *rows]


def json_lines(count: int) -> list[bytes]:
    return [
        json.dumps(
            {
                "@id": f"{EX}g{n}#t={instant(n)}",
                "@graph": [{"@id": f"{EX}s{n}", f"{EX}p": f'ümlaut 🌊 {{ . " {n}'}],
            },
            ensure_ascii=False,
        ).encode()
        + b"\n"
        for n in range(count)
    ]


TEXTS = {"a.nq": compact, "a.trig": trig, "a.csv": csv, "a.jsonl": json_lines}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", range(6))
def test_a_text_that_is_written_in_pieces_with_pauses_between(tmp_path, name, seed):
    """Cut anywhere: in lines, in characters, in graphs, in quoted cells."""
    chance = random.Random(f"{seed} {name}")
    data = b"".join(TEXTS[name](12))
    world = World(tmp_path, tmp_path)
    (tmp_path / name).touch()
    at = 0
    while at < len(data):
        step = chance.choice([1, 7, 40, 200])
        with open(tmp_path / name, "ab") as out:
            out.write(data[at : at + step])
        at += step
        chance.choice([world.pause, world.pause, world.blink])()
        if chance.random() < 0.2:
            world.restart()
    world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(12)), [])
    assert world.read > 1


def test_elements_with_stated_times_are_not_cut_between_their_lines(tmp_path):
    world = World(tmp_path, tmp_path)
    for element in stated(8):
        half = element.index(b"\n") + 9
        for piece in (element[:half], element[half:]):
            with open(tmp_path / "a.nq", "ab") as out:
                out.write(piece)
            world.now = os.stat(tmp_path / "a.nq").st_mtime
            world.blink()
        world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(8)), [])


@pytest.mark.parametrize(("name", "text"), [("a.nq", compact), ("a.trig", trig), ("a.jsonl", json_lines)])
@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize("seed", range(4))
def test_compressed_members_that_are_appended_and_cut(tmp_path, name, text, compression, seed):
    """Members end in the middle of lines, and writers rest in the middle of members."""
    chance = random.Random(f"{seed} {name} {compression}")
    data = b"".join(text(20))
    compress = gzip.compress if compression == "gz" else zstandard.ZstdCompressor().compress
    members, at = [], 0
    while at < len(data):
        step = chance.choice([30, 100, 900])
        members.append(compress(data[at : at + step]))
        at += step
    written = b"".join(members)
    path = tmp_path / f"{name}.{compression}"
    path.touch()
    world = World(tmp_path, tmp_path)
    at = 0
    while at < len(written):
        step = chance.choice([10, 60, 500])
        with open(path, "ab") as out:
            out.write(written[at : at + step])
        at += step
        chance.choice([world.pause, world.blink])()
        if chance.random() < 0.2:
            world.restart()
    world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(20)), [])


def test_a_last_line_without_line_break_in_a_compressed_file_counts(tmp_path):
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress(b"".join(compact(3)).rstrip()))
    world = World(tmp_path, tmp_path)
    world.pause()
    assert world.found == expected(3)


def test_parquet_waits_for_its_end_however_long_that_takes(tmp_path):
    columns = {
        "s": [f"{EX}s{n}" for n in range(9)],
        "p": [f"{EX}p"] * 9,
        "o": [f'"ümlaut 🌊 {{ . \\" {n}"' for n in range(9)],
        "start": [instant(n) for n in range(9)],
    }
    pq.write_table(pa.table(columns), tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    world = World(tmp_path, tmp_path)
    for at in range(0, len(data), len(data) // 7):
        with open(tmp_path / "a.parquet", "ab") as out:
            out.write(data[at : at + len(data) // 7])
        world.pause()
        world.pause()
    assert (world.found, world.rejects) == (expected(9), [])


def test_files_that_are_renamed_into_place(tmp_path):
    world = World(tmp_path, tmp_path)
    for n, line in enumerate(compact(6)):
        aside = tmp_path / f".part-{n}.tmp"
        aside.write_bytes(line)
        world.pause()
        aside.rename(tmp_path / f"part-{n}.nq")
        world.look()
    assert world.found == expected(6)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("rotated", ["log.nq.{}", "log.{}.nq"])
@pytest.mark.parametrize("of_directory", [False, True])
def test_a_log_that_is_rotated(tmp_path, of_directory, rotated, restart):
    """log.nq → log.1.nq → log.2.nq: what was written last before the rename, and after it by a
    writer that has the file still open, is read; nothing is read twice."""
    lines = compact(30)
    path = tmp_path / "log.nq"
    path.write_bytes(lines[0])
    world = World(tmp_path, tmp_path if of_directory else path)
    world.pause()
    for n in range(1, 30, 3):
        old = open(path, "ab")
        old.write(lines[n])
        old.flush()
        if n % 2:
            world.look()
        for number in range(n, 0, -1):
            if (tmp_path / rotated.format(number)).exists():
                os.rename(tmp_path / rotated.format(number), tmp_path / rotated.format(number + 1))
        os.rename(path, tmp_path / rotated.format(1))
        if n % 4:
            world.look()
        if restart:
            world.restart()
        old.write(lines[n + 1])
        old.close()
        if n + 2 < 30:
            path.write_bytes(lines[n + 2])
        world.look()
    world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(30)), [])


@pytest.mark.parametrize("longer", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("restart", [False, True])
def test_a_file_that_is_replaced_under_its_name(tmp_path, longer, in_place, restart):
    """By renaming another one over it, or by cutting it and writing it anew."""
    lines = compact(10)
    path = tmp_path / "a.nq"
    path.write_bytes(b"".join(lines[:4]))
    world = World(tmp_path, path)
    world.pause()
    new = b"".join(lines[4:10] if longer else lines[4:6])
    if in_place:
        with open(path, "r+b") as out:
            out.truncate(0)
            out.write(new)
    else:
        (tmp_path / "new").write_bytes(new)
        os.replace(tmp_path / "new", path)
    if restart:
        world.restart()
    world.pause()
    assert world.found == expected(10 if longer else 6)


def test_a_copy_with_more_in_it_is_the_same_file(tmp_path):
    """As editors and copying tools write: another inode, but what was read is at its beginning."""
    lines = compact(5)
    path = tmp_path / "a.nq"
    path.write_bytes(b"".join(lines[:2]))
    world = World(tmp_path, path)
    world.pause()
    shutil.copy(path, tmp_path / "copy")
    with open(tmp_path / "copy", "ab") as out:
        out.write(b"".join(lines[2:]))
    os.replace(tmp_path / "copy", path)
    world.pause()
    assert world.found == expected(5)


def test_bytes_that_are_gone_before_they_are_read_are_told(tmp_path):
    path = tmp_path / "a.nq"
    path.write_bytes(b"".join(compact(3)))
    world = World(tmp_path, path)
    world.log.discover(follow=True)
    path.write_bytes(b"<x:other> <x:content> <x:entirely> .\n")
    world.look()
    assert world.found == []
    [told] = world.rejects
    assert "replaced or removed before they were read" in told


def test_a_broken_graph_does_not_hold_back_what_follows_it(tmp_path):
    """TriG that can never be right is rejected, not waited for."""
    path = tmp_path / "a.trig"
    head, *graphs = trig(4)
    broken = f'<{EX}b#t={instant(1)}> {{ ex:s ex:p "no end\n}}\n'.encode()
    world = World(tmp_path, path)
    for piece in (head + graphs[0] + graphs[1], broken, graphs[2] + graphs[3]):
        with open(path, "ab") as out:
            out.write(piece)
        world.pause()
    assert sorted(world.found) == expected(4)
    assert [reject.split(":")[0] for reject in world.rejects] == ["9"]


def test_the_lines_of_rejects_count_from_the_beginning_of_the_file(tmp_path):
    names = {"a.nq": (compact, b"broken\n"), "a.csv": (csv, b"x:s,x:p,x:o,yesterday\n")}
    for name, (text, broken) in names.items():
        for number, ending in enumerate(("", ".gz")):
            place = tmp_path / f"{name}{number}"
            place.mkdir()
            path = place / (name + ending)
            world = World(place, path)
            first = text(3)
            for piece in (b"".join(first), broken):
                with open(path, "ab") as out:
                    out.write(gzip.compress(piece) if ending else piece)
                world.pause()
            assert [reject.split(":")[0] for reject in world.rejects] == [str(len(first) + 1)], path


@pytest.mark.parametrize("new", [False, True])
def test_a_log_that_is_rotated_while_it_is_looked_at(tmp_path, monkeypatch, new):
    """Between finding what is complete and taking it, the name may lead nowhere or elsewhere."""
    lines = compact(6)
    path = tmp_path / "log.nq"
    path.write_bytes(b"".join(lines[:2]))
    world = World(tmp_path, path)
    world.pause()
    with open(path, "ab") as out:
        out.write(b"".join(lines[2:4]))
    mark_of = segments_module.mark_of

    def rotate_first(where: str, end: int):
        if end and not (tmp_path / "log.nq.1").exists():
            os.rename(path, tmp_path / "log.nq.1")
            if new:
                path.write_bytes(b"".join(lines[4:]) + b"# long enough\n" * 100)
        return mark_of(where, end)

    monkeypatch.setattr(segments_module, "mark_of", rotate_first)
    world.look()
    if not new:
        path.write_bytes(b"".join(lines[4:]))
    world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(6)), [])


@pytest.mark.parametrize("rotated", ["log-1.nq", "log.nq.1", "old.nq"])
def test_a_log_that_is_rotated_before_anything_of_it_was_taken(tmp_path, rotated):
    """It is the same file under its new name, whichever of the two names comes first in a look."""
    lines = compact(4)
    path = tmp_path / "log.nq"
    path.write_bytes(lines[0][:10])
    world = World(tmp_path, tmp_path)
    world.look()
    with open(path, "ab") as out:
        out.write(lines[0][10:] + lines[1])
    os.rename(path, tmp_path / rotated)
    path.write_bytes(b"".join(lines[2:]))
    world.pause()
    assert (sorted(world.found), world.rejects) == (sorted(expected(4)), [])

"""Elements at the end of a file that grows: whole while somebody writes, and numbered for good."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from penstock.decode.occurrences import Occurrences
from penstock.runtime.intake.decoding import file_decoder
from penstock.sources.segments import PAUSE, SETTLED, SegmentLog
from penstock.sources.splits import Split, SplitPlanner
from penstock.sources.streams import StreamSpec

AT = "<http://www.w3.org/ns/prov#generatedAtTime>"


def rows_by_element(found: Occurrences) -> dict[int, Counter]:
    columns = (found.subject, found.predicate, found.object, found.start, found.end)
    elements: dict[int, Counter] = {}
    for element, *row in zip(*(column.tolist() for column in (found.element, *columns)), strict=True):
        elements.setdefault(element, Counter())[tuple(row)] += 1
    return elements


def text_of(dice: random.Random, sizes: list[int], *, stated: bool) -> bytes:
    """Elements of so many lines, some of them odd; names come again after others."""
    text = ""
    for n, size in enumerate(sizes):
        name = f"<urn:e{n % 2}>" if stated else f"<urn:e{n % 2}#t=2026-01-01T12:00:0{n % 2}Z>"
        lines = [
            f'<urn:s{n}> <urn:p> "{i}" {name} .' + dice.choice(("\n", "\n", " # odd\n", "\n\n"))
            for i in range(size)
        ]
        if stated:
            at = f'{name} {AT} "2026-01-01T12:00:{n:02d}Z" .\n'
            lines.insert(dice.randrange(len(lines) + 1), at)
        text += "".join(lines)
    return text.encode()


class Followed:
    """A file that is followed, and what each look at it brings, by element."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = StreamSpec(None, (str(path),))
        self.now = 0.0
        self.read = 0
        self.found: list[dict[int, Counter]] = []
        self.counted = 0
        self.restart()

    def restart(self) -> None:
        place = self.path.parent / ".checkpoint"
        self.log = SegmentLog(
            self.spec, place / "segments.log", place / "spool", now=lambda: self.now, compact_after=2
        )

    def decoded(self, start: int, end: int, segment) -> Occurrences:
        split = Split(
            0, 0, segment.path, start, end, start, end, segment.whole, None, segment.mark, segment.number
        )
        return file_decoder(self.spec, None, False).decode(
            Split.from_json(json.loads(json.dumps(split.to_json())))
        )

    def look(self, seconds: float) -> None:
        self.now += seconds
        self.log.discover(follow=True)
        for segment in self.log.segments[self.read - self.log.first :]:
            found = self.decoded(segment.start, segment.end, segment)
            assert not found.rejects
            self.found.append(rows_by_element(found))
            self.counted += found.elements
            self.last = segment
        self.read = self.log.first + len(self.log.segments)

    def whole(self) -> Occurrences:
        return self.decoded(0, self.path.stat().st_size, self.last)


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize(
    ("sizes", "most"), [([1, 1, 1, 1], 3), ([1, 2, 5, 1, 3], 9), ([2, 3000, 1, 1500, 4], 9000)]
)
@pytest.mark.parametrize("seed", range(3))
def test_while_somebody_writes_no_element_is_cut(tmp_path, stated, sizes, most, seed):
    dice = random.Random(f"{seed} {sizes} {stated}")
    path = tmp_path / "a.nq"
    data = text_of(dice, sizes, stated=stated)
    path.touch()
    followed = Followed(path)
    at = 0
    while at < len(data):
        step = dice.randint(1, most)
        with open(path, "ab") as out:
            out.write(data[at : at + step])
        at += step
        followed.look(PAUSE * 0.9)
        if dice.random() < 0.05:
            followed.restart()
    assert len(followed.found) > 1, "what was complete was read before the end"
    followed.look(0)
    followed.look(2 * SETTLED)
    whole = followed.whole()
    found: dict[int, Counter] = {}
    for part in followed.found:
        assert not part.keys() & found.keys(), "an element is cut"
        found |= part
    assert found == rows_by_element(whole) and len(found) == len(sizes)
    assert followed.counted == whole.elements == len(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_a_writer_that_pauses_in_an_element_does_not_change_its_number(tmp_path, seed):
    dice = random.Random(seed)
    path = tmp_path / "a.nq"
    data = text_of(dice, [1, 4, 2, 6, 3], stated=False)
    path.touch()
    followed = Followed(path)
    for line in data.splitlines(keepends=True):
        with open(path, "ab") as out:
            out.write(line)
        followed.look(dice.choice((PAUSE / 2, PAUSE, 2 * SETTLED)))
    followed.look(2 * SETTLED)
    found: dict[int, Counter] = {}
    for part in followed.found:
        for element, rows in part.items():
            found.setdefault(element, Counter()).update(rows)
    assert found == rows_by_element(followed.whole())
    assert followed.counted == 5


def test_one_line_elements_wait_for_the_next_or_for_a_moment(tmp_path):
    path = tmp_path / "a.nq"
    line = b"<urn:s> <urn:p> <urn:o> <urn:e%d#t=2026-01-01T12:00:00Z> .\n"
    path.touch()
    followed = Followed(path)
    for n in range(3):
        with open(path, "ab") as out:
            out.write(line % n)
        followed.look(0.01)
    assert followed.counted == 2, "all but the last are known to be complete"
    followed.look(PAUSE / 2)
    assert followed.counted == 2
    followed.look(PAUSE)
    assert followed.counted == 3
    with open(path, "ab") as out:
        out.write(line % 3 + b"<urn:s> <urn:p>")
    followed.look(0.01)
    followed.look(2 * PAUSE)
    assert followed.counted == 3, "the line that is cut may be of the same element"
    followed.look(SETTLED)
    assert followed.counted == 4


def test_a_file_that_is_replaced_has_other_elements(tmp_path):
    path = tmp_path / "a.nq"
    line = "<urn:s> <urn:p> <urn:o> <urn:e#t=2026-01-01T12:00:00Z> .\n"
    path.write_text(line)
    followed = Followed(path)
    followed.look(0)
    followed.look(2 * SETTLED)
    path.write_text("# another\n" + line.replace("urn:o", "urn:q"))
    followed.look(2 * SETTLED)
    followed.restart()
    followed.look(0)
    followed.look(2 * SETTLED)
    moved = tmp_path / "b.nq"
    moved.write_text("# another\n" + line.replace("urn:o", "urn:r"))
    moved.rename(path)
    followed.look(2 * SETTLED)
    followed.look(2 * SETTLED)
    numbers = [number for part in followed.found for number in part]
    assert len(numbers) == len(set(numbers)) == 3


@pytest.mark.parametrize("batch_bytes", [1, 7, 150, 1000])
def test_batches_of_any_size_have_whole_elements(tmp_path, batch_bytes):
    path = tmp_path / "a.nq"
    path.write_bytes(text_of(random.Random(batch_bytes), [1, 3, 2, 40, 1, 7], stated=False))
    spec = StreamSpec(None, (str(path),))
    planner = SplitPlanner([spec], tmp_path / "c", follow=False, batch_bytes=batch_bytes, parallelism=2)
    decoder = file_decoder(spec, None, False)
    found: dict[int, Counter] = {}
    batches, offset = 0, planner.initial()
    while not offset["ended"]:
        offset, before = planner.latest(offset), offset
        batches += 1
        for task in planner.tasks(before, offset):
            for split in task.splits:
                part = rows_by_element(decoder.decode(split))
                assert not part.keys() & found.keys(), "an element is cut"
                found |= part
    assert sorted(sum(rows.values()) for rows in found.values()) == [1, 1, 2, 3, 7, 40]
    assert batches > 2


def one(n: int) -> bytes:
    return f"<urn:s{n}> <urn:p> <urn:o> <urn:e{n}#t=2026-01-01T12:00:{n:02d}Z> .\n".encode()


def numbers_found(followed: Followed) -> list[list[int]]:
    """The instants that each segment brought."""
    return [sorted({row[4] for rows in found.values() for row in rows}) for found in followed.found]


@pytest.mark.parametrize("names", [("a.nq", "b.nq", "c.nq"), ("c.nq", "b.nq", "a.nq")])
def test_who_goes_on_in_a_new_file_has_finished_the_element_before(tmp_path, names):
    """The last element of a file comes before the first one of the next, which would make it late."""
    folder = tmp_path / "stream"
    folder.mkdir()
    followed = Followed(folder)
    for part, name in enumerate(names):
        (folder / name).write_bytes(b"".join(one(3 * part + i) for i in range(3)))
        followed.look(PAUSE / 10)
    for _ in range(30):
        followed.look(PAUSE / 2)
    instants = [instant for found in numbers_found(followed) for instant in found]
    assert len(instants) == 9
    assert instants == sorted(instants)


def test_a_file_that_is_always_written_holds_no_other_back(tmp_path):
    folder = tmp_path / "stream"
    folder.mkdir()
    followed = Followed(folder)
    busy, other = folder / "busy.nq", folder / "other.nq"
    busy.write_bytes(one(0))
    followed.look(PAUSE / 10)
    other.write_bytes(one(50) + one(51))
    for n in range(1, 40):
        with open(busy, "ab") as out:
            out.write(one(n))
        followed.look(PAUSE / 10)
        if any(segment.path == str(other) for segment in followed.log.segments):
            return
    raise AssertionError("the other file was never begun")

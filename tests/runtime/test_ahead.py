"""Elements too far ahead of the clock or behind it: rejected, counted, and nothing else is late for them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import InputError
from penstock.runtime.intake.decoding import file_decoder
from penstock.sources.splits import Split, SplitPlanner
from penstock.sources.streams import StreamSpec
from penstock.timeline import parse_instant

NOW = parse_instant("2026-01-01T00:00:10Z")
INSTANTS = ["2026-01-01T00:00:10Z", "9000-01-01T00:00:00Z", "2026-01-01T00:00:09Z", "2026-01-01T00:00:11Z"]


def nquads() -> bytes:
    lines = [f"<x:s> <x:p> <x:o{i}> <x:{i}#t={at}> .\n" for i, at in enumerate(INSTANTS)]
    return "".join(lines).encode()


def write(directory: Path, name: str) -> Path:
    path = directory / name
    if name.endswith(".trig"):
        blocks = [f"<x:{i}#t={at}> {{ <x:s> <x:p> <x:o{i}> }}\n" for i, at in enumerate(INSTANTS)]
        path.write_text("".join(blocks))
    elif name.endswith(".parquet"):
        objects = [f"x:o{i}" for i in range(4)]
        columns = {"s": ["x:s"] * 4, "p": ["x:p"] * 4, "o": objects, "start": INSTANTS}
        pq.write_table(pa.table(columns), path)
    else:
        path.write_bytes(gzip.compress(nquads()) if name.endswith(".gz") else nquads())
    return path


def split_of(path: Path, not_after: int | None, not_before: int | None = None) -> Split:
    size = path.stat().st_size
    whole = not path.name.endswith(".nq")
    return Split(0, 0, str(path), 0, size, 0, size, whole, not_after, not_before=not_before)


@pytest.mark.parametrize(
    ("name", "lines"),
    [("a.nq", [2, 4]), ("a.trig", [2, 4]), ("a.parquet", [0, 0]), ("a.nq.gz", [0, 0])],
)
def test_what_ends_later_than_allowed_is_rejected(tmp_path, name, lines):
    path = write(tmp_path, name)
    decoder = file_decoder(StreamSpec(None, (str(path),)), None, False)
    assert decoder.decode(split_of(path, None)).elements == 4
    found = decoder.decode(split_of(path, NOW))
    assert found.elements == 2
    assert found.end.tolist() == [NOW, NOW - 1_000_000]
    assert found.instants.tolist() == [NOW - 1_000_000, NOW]
    assert [reject.line for reject in found.rejects] == lines
    assert "9000-01-01T00:00:00.000Z, further ahead of the clock" in found.rejects[0].reason
    assert "<x:o1>" in found.rejects[0].text


@pytest.mark.parametrize(
    ("name", "lines"), [("a.nq", [2, 3]), ("a.trig", [2, 3]), ("a.parquet", [0, 0]), ("a.nq.gz", [0, 0])]
)
def test_what_ended_earlier_than_allowed_is_rejected(tmp_path, monkeypatch, name, lines):
    monkeypatch.setitem(globals(), "INSTANTS", [INSTANTS[0], "1970-01-01T00:00:00Z", *INSTANTS[2:]])
    path = write(tmp_path, name)
    decoder = file_decoder(StreamSpec(None, (str(path),)), None, False)
    found = decoder.decode(split_of(path, None, NOW))
    assert found.elements == 2
    assert found.end.tolist() == [NOW, NOW + 1_000_000] and found.instants.tolist() == [NOW, NOW + 1_000_000]
    assert [reject.line for reject in found.rejects] == lines
    assert "1970-01-01T00:00:00.000Z, further before the run began than --behind" in found.rejects[0].reason
    both = decoder.decode(split_of(path, NOW, NOW))
    assert both.elements == 1 and both.end.tolist() == [NOW]
    assert [reject.reason.rsplit(" ", 2)[-2] for reject in both.rejects] == [
        "--behind",
        "--behind",
        "--ahead",
    ]


def test_the_limit_is_in_every_split_and_does_not_move_with_the_clock(tmp_path):
    clock = NOW
    path = write(tmp_path, "a.nq")
    spec = StreamSpec(None, (str(path),))
    more = {"follow": True, "batch_bytes": 1 << 20, "parallelism": 1, "clock": lambda: clock}
    offset = None
    for _ in range(2):  # the second time is a restart, long after
        planner = SplitPlanner([spec], tmp_path / "log", not_before=NOW - 5, **more)
        end = planner.latest(offset or planner.initial())
        splits = [split for task in planner.tasks(offset or planner.initial(), end) for split in task.splits]
        assert {split.not_before for split in splits} == {NOW - 5}
        assert Split.from_json(splits[0].to_json()) == splits[0]
        clock, offset = NOW + 10**15, end
        with path.open("ab") as file:
            file.write(nquads())
        os.utime(path, (0, 0))


def test_an_element_is_rejected_or_late_but_not_both(tmp_path):
    path = write(tmp_path, "a.nq")
    decoder = file_decoder(StreamSpec(None, (str(path),)), None, False)
    late = decoder.late(split_of(path, NOW), parse_instant("9999-01-01T00:00:00Z"))
    assert late.num_rows == 2
    late = decoder.late(split_of(path, NOW, NOW), parse_instant("9999-01-01T00:00:00Z"))
    assert late.num_rows == 1


def test_strict_stops_there(tmp_path):
    path = write(tmp_path, "a.nq")
    decoder = file_decoder(StreamSpec(None, (str(path),)), None, True)
    with pytest.raises(InputError, match="line 2: the element ends at 9000"):
        decoder.decode(split_of(path, NOW))

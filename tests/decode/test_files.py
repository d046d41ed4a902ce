"""Files: formats by name, compression, damage, byte ranges."""

from __future__ import annotations

import gzip
import mmap
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import facts, reasons, stated
from tests.decode.test_lines import streams

from penstock.decode.decoder import Decoder, decode_file, warm_up
from penstock.decode.formats import Compression, Format, format_of, is_stream_file
from penstock.decode.jsonld import is_json
from penstock.decode.occurrences import concat
from penstock.decode.splitting import align, lines_before
from penstock.errors import InputError, UsageError

LINE = "<a:s{0}> <a:p> <a:o> <a:g#t=2026-01-01T12:00:00.{0:06d}Z> .\n"


def split_plan(path: Path, target_bytes: int) -> list[tuple[int, int]]:
    """The pieces (offset, length) in which a file can be decoded on its own: cut about every so many bytes.

    Only uncompressed N-Quads and JSON lines are cut.
    """
    format_, compression = format_of(os.fspath(path), None)
    size = os.stat(path).st_size
    if size == 0:
        return []
    cuttable = compression is Compression.NONE and format_ in (Format.NQUADS, Format.JSONLD)
    if not cuttable or size < 2 * target_bytes:
        return [(0, size)]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = data.find(b"\n")
        if format_ is Format.JSONLD and not (end >= 0 and is_json(data[:end])):
            return [(0, size)]
        begins = [0]
        for wanted in range(target_bytes, size - target_bytes // 2, target_bytes):
            if wanted > begins[-1]:
                begin = align(data, wanted, format_, None)
                if begins[-1] < begin < size:
                    begins.append(begin)
    return [(a, b - a) for a, b in zip(begins, [*begins[1:], size], strict=True)]


def lines(n: int) -> bytes:
    return "".join(LINE.format(i) for i in range(n)).encode()


def read(path, **options):
    return concat(decode_file(path, source="s", **options))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.nq", (Format.NQUADS, Compression.NONE)),
        ("dir.x/a.NQ.gz", (Format.NQUADS, Compression.GZIP)),
        ("a.b.trig.zst", (Format.TRIG, Compression.ZSTD)),
        ("a.jsonl", (Format.JSONLD, Compression.NONE)),
        ("a.ndjsonld.gz", (Format.JSONLD, Compression.GZIP)),
        ("a.parquet", (Format.PARQUET, Compression.NONE)),
        ("a.csv.zst", (Format.CSV, Compression.ZSTD)),
    ],
)
def test_the_name_tells_the_format(name, expected):
    assert format_of(name) == expected
    assert is_stream_file(name)


def test_a_format_may_be_forced_and_must_be_known():
    assert format_of("data.txt.gz", "nquads") == (Format.NQUADS, Compression.GZIP)
    assert format_of("data.txt", "nq") == (Format.NQUADS, Compression.NONE)
    with pytest.raises(UsageError, match="not known from its name"):
        format_of("data.txt")
    with pytest.raises(UsageError, match="no stream format"):
        format_of("data.nq", "word")
    assert not is_stream_file("data.txt") and not is_stream_file("_SUCCESS.nq")


def compress(data: bytes, name: str) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(data[:1000]) + gzip.compress(data[1000:])
    return zstandard.compress(data[:1000]) + zstandard.compress(data[1000:])


@pytest.mark.parametrize("name", ["s.nq.gz", "s.nq.zst"])
def test_compressed_files_also_of_several_members(tmp_path, name):
    data, path = lines(2000), tmp_path / name
    path.write_bytes(compress(data, name))
    for piece_bytes in (500, 1 << 24):
        found = read(path, piece_bytes=piece_bytes)
        assert len(found) == found.elements == 2000 and not found.rejects


@pytest.mark.parametrize("name", ["s.nq.gz", "s.nq.zst"])
def test_a_cut_off_stream_yields_what_came_before_and_one_reject(tmp_path, name):
    path = tmp_path / name
    # Lines that differ enough to spread over many compressed blocks.
    data = b"".join(
        LINE.format(i * 7919 % 999_983).encode() for i in range(20_000)
    )  # fmt: skip
    whole = compress(data, name)
    path.write_bytes(whole[: len(whole) * 2 // 3])
    found = read(path)
    assert 0 < len(found) < 20_000
    ((line, reason),) = reasons(found)
    kind = "gzip" if name.endswith(".gz") else "zstd"
    assert reason == f"the {kind} stream is cut off after {len(found)} lines"
    assert line == len(found) + 1
    with pytest.raises(InputError, match="is cut off"):
        read(path, strict=True)


@pytest.mark.parametrize("name", ["s.nq.gz", "s.nq.zst"])
def test_a_file_that_is_not_compressed_at_all(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(lines(3))
    ((_, reason),) = reasons(read(path))
    assert reason.startswith("this is no ")


def test_empty_and_missing_files(tmp_path):
    path = tmp_path / "s.nq"
    path.write_bytes(b"")
    assert len(read(path)) == 0 and split_plan(path, 100) == []
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / "none.nq")


def test_compressed_tables_and_documents(tmp_path):
    csv = b"s,p,o,start\na:s,a:p,a:o,2026-01-01T12:00:00Z\n"
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(csv))
    trig = b"<a:g#t=2026-01-01T12:00:00Z> { <a:s> <a:p> <a:o> }"
    (tmp_path / "s.trig.zst").write_bytes(zstandard.compress(trig))
    expected = ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert facts(read(tmp_path / "s.csv.gz")) == expected
    assert facts(read(tmp_path / "s.trig.zst")) == expected


def test_a_plan_covers_the_file_and_cuts_at_lines(tmp_path):
    path = tmp_path / "s.nq"
    data = lines(500)
    path.write_bytes(data)
    plan = split_plan(path, 4000)
    assert len(plan) > 5
    assert sum(length for _, length in plan) == len(data)
    assert all(data[offset - 1 : offset] in (b"", b"\n") for offset, _ in plan)
    found = concat(
        part for offset, length in plan for part in decode_file(path, begin=offset, end=offset + length)
    )
    assert facts(found) == facts(read(path))


def test_what_cannot_be_cut_is_one_piece(tmp_path):
    for name, data in [
        ("s.trig", b"# x\n" * 99),
        ("s.nq.gz", b"x" * 99),
        ("s.jsonl", b"{\n}" * 99),
    ]:
        (tmp_path / name).write_bytes(data)
        assert split_plan(tmp_path / name, 10) == [(0, len(data))]


@settings(max_examples=150, deadline=None)
@given(streams(), st.lists(st.integers(0, 2000), max_size=6))
def test_cutting_a_file_anywhere_gives_every_element_once(tmp_path_factory, data, cuts):
    path = tmp_path_factory.mktemp("cut") / "s.nq"
    path.write_bytes(data)
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [
        part
        for begin, end in zip(bounds, bounds[1:], strict=False)
        for part in decode_file(path, begin=begin, end=end)
    ]
    whole = concat(decode_file(path))
    joined = concat(parts)
    assert facts(joined) == facts(whole)
    assert joined.instants.tolist() == whole.instants.tolist()
    assert joined.rejects == whole.rejects


def test_alignment_finds_the_next_block_and_the_next_compact_line():
    first = stated("<a:g>", "2026-01-01T12:00:00Z") + "<a:s> <a:p> <a:o> <a:g> .\n# note\n"
    second = "<a:s> <a:p> <a:o> <a:h> .\n" + stated("<a:h>", "2026-01-01T12:00:00Z")
    data = (first + second + first).encode()
    assert align(data, 0) == 0
    for offset in (1, 30, len(first) - 1, len(first)):
        assert align(data, offset) == len(first)
    assert align(data, len(first) + 1) == len(first + second)
    assert align(data, len(data) - 1) == len(data)
    compact = lines(3)
    assert align(compact, 1) == compact.index(b"\n") + 1
    assert Decoder("nquads").align(compact, 1) == compact.index(b"\n") + 1


def test_rejects_of_a_range_tell_the_line_of_the_file(tmp_path):
    path = tmp_path / "s.nq"
    data = lines(50) + b"broken\n" + lines(50)
    path.write_bytes(data)
    found = concat(decode_file(path, begin=2000, end=len(data)))
    assert [line for line, _ in reasons(found)] == [51]
    assert lines_before(path, len(data)) == 101
    with pytest.raises(InputError, match="line 51"):
        list(decode_file(path, begin=2000, end=len(data), strict=True))


def test_an_element_larger_than_the_buffer_is_read_whole(tmp_path):
    path = tmp_path / "s.nq"
    quads = b"".join(b"<a:s%d> <a:p> <a:o> <a:g> .\n" % i for i in range(300))
    path.write_bytes(quads + stated("<a:g>", "2026-01-01T12:00:00Z").encode() + lines(5))
    found = read(path, piece_bytes=256)
    assert len(found) == 305 and not found.rejects
    assert facts(found) == facts(read(path))


def test_warming_up_leaves_nothing_behind():
    before = facts(Decoder("nquads").decode(lines(2))[0])
    warm_up()
    assert facts(Decoder("nquads").decode(lines(2))[0]) == before and len(before) == 2


def test_the_number_of_elements_does_not_depend_on_where_a_file_is_cut(tmp_path):
    lines = [
        f"<x:s{line}> <x:p> <x:o> <x:e{number}#t=2026-01-01T00:00:{number:02d}Z> .\n"
        for number in range(6)
        for line in range(number % 3 + 1)
    ]
    path = tmp_path / "many.nq"
    path.write_text("".join(lines))
    size = path.stat().st_size
    for cut in range(0, size + 1, 7):
        parts = [*decode_file(path, begin=0, end=cut), *decode_file(path, begin=cut, end=size)]
        assert (sum(part.elements for part in parts), sum(map(len, parts))) == (6, len(lines)), cut

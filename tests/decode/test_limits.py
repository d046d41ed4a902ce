"""Hostile sizes: lines, documents, cells and expansions over the limit are rejects, whatever the rest is."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import facts, reasons

from penstock.decode import portions as portions_
from penstock.decode.compression import CompressedReader
from penstock.decode.decoder import Decoder, decode_file
from penstock.decode.documents import EXPANSION
from penstock.decode.formats import Compression
from penstock.decode.limits import DEEPEST, InputLimits, in_bytes, parse_size
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import concat
from penstock.decode.portions import portions
from penstock.decode.splitting import STATEMENT
from penstock.errors import UsageError

SMALL = InputLimits(line=120, document=1000)


def quad(text: str, n: int = 0) -> str:
    return f'<x:s> <x:p> "{text}" <x:g{n}#t=2026-01-01T00:00:{n % 60:02d}Z> .\n'


def read(path, data: bytes, limits: InputLimits = SMALL, **options):
    path.write_bytes(data)
    return concat(decode_file(path, limits=limits, source="s", **options))


def packed(suffix: str, data: bytes) -> bytes:
    return {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[suffix](data)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("piece", [1, 7, 64, 119, 120, 121, 300, 5000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_over_the_limit_are_rejected_and_the_others_are_read(tmp_path, suffix, piece, end):
    exact = "e" * (120 - len(quad("")) + 1)  # a line of just the limit, without its line break
    texts = ["a", exact, exact + "e", "b", "x" * 5000, "y" * 5000, "", "c", "z" * 200]
    data = "".join(quad(text, n) for n, text in enumerate(texts)).rstrip("\n") + end
    found = read(tmp_path / f"a.nq{suffix}", packed(suffix, data.encode()), piece_bytes=piece)
    assert [fact.split('"')[1] for fact in facts(found)] == ["", "a", "b", "c", exact]
    assert [line for line, _ in reasons(found)] == [3, 5, 6, 9]
    assert all("120 bytes; --max-line" in reason for _, reason in reasons(found))
    assert all(len(reject.text) <= 500 for reject in found.rejects)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 60) | st.integers(0, 300), max_size=12),
    st.integers(1, 400),
    st.lists(st.integers(0, 3000), max_size=4),
)
def test_which_lines_are_over_the_limit_does_not_depend_on_cuts(tmp_path_factory, sizes, piece, cuts):
    path = tmp_path_factory.mktemp("cuts") / "a.nq"
    lines = [quad("v" * size, n % 3) for n, size in enumerate(sizes)]
    data = "".join(lines).encode()
    path.write_bytes(data)
    bounds = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    found = concat(
        part
        for begin, end in zip(bounds, bounds[1:], strict=False)
        for part in decode_file(path, limits=SMALL, source="s", begin=begin, end=end, piece_bytes=piece)
    )
    long = [n for n, line in enumerate(lines, 1) if len(line) - 1 > SMALL.line]
    assert sorted(line for line, _ in reasons(found)) == long
    assert len(found) == len(lines) - len(long)


def test_a_long_line_inside_an_element_does_not_cut_it(tmp_path):
    stated = '<x:e> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:00Z" .\n'
    lines = [
        "<x:s> <x:p> <x:a> <x:e> .\n",
        f'<x:s> <x:p> "{"x" * 500}" <x:e> .\n',
        "<x:s> <x:p> <x:b> <x:e> .\n",
    ]
    data = ("".join(lines) + stated).encode()
    for piece in (1, 50, 200, 5000):
        found = read(tmp_path / "a.nq", data, piece_bytes=piece)
        assert len(found) == 2 and found.elements == 1 and [line for line, _ in reasons(found)] == [2]


def test_a_block_of_stated_times_without_an_end_is_not_held(tmp_path):
    lines = b"".join(b"<x:s> <x:p> <x:o%d> <x:e> .\n" % n for n in range(200))
    after = quad("good").encode()
    found = read(tmp_path / "a.nq", lines + after, piece_bytes=100)
    assert [fact.split('"')[1] for fact in facts(found)] == ["good"]
    assert found.rejects and all("has no time" in reason for _, reason in reasons(found))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_documents_over_the_limit_are_one_reject(tmp_path, suffix):
    trig = "".join(f"<x:g#t=2026-01-01T00:00:00Z> {{ <x:s> <x:p> {n} }}\n" for n in range(40))
    found = read(tmp_path / f"a.trig{suffix}", packed(suffix, trig.encode()))
    assert len(found) == 0 and "1,000 bytes; --max-document" in found.rejects[0].reason
    node = {"@id": "x:g#t=2026-01-01T00:00:00Z", "@graph": [{"@id": "x:s", "x:p": n} for n in range(40)]}
    pretty = json.dumps(node, indent=1).encode()
    for piece in (10, 5000):
        found = read(tmp_path / f"a.jsonld{suffix}", packed(suffix, pretty), piece_bytes=piece)
        assert len(found) == 0 and len(found.rejects) == 1
        found = read(
            tmp_path / f"a.jsonld{suffix}",
            packed(suffix, pretty),
            InputLimits(120, 10_000),
            piece_bytes=piece,
        )
        assert len(found) == 40 and not found.rejects
    lines = (json.dumps({**node, "@graph": node["@graph"][:2]}) + "\n").encode() * 30
    found = read(tmp_path / f"b.jsonl{suffix}", packed(suffix, b"{broken\n" * 3 + lines), piece_bytes=200)
    assert len(found) == 60 and [line for line, _ in reasons(found)] == [1, 2, 3]


def test_json_lines_over_the_limit_are_rejected(tmp_path):
    def line(size):
        node = {"@id": "x:s", "x:p": "v" * size}
        return json.dumps({"@id": "x:g#t=2026-01-01T00:00:00Z", "@graph": [node]}) + "\n"

    found = read(tmp_path / "a.jsonl", (line(900) + line(10) + line(300) + line(11)).encode(), piece_bytes=64)
    assert len(found) == 2 and [n for n, _ in reasons(found)] == [1, 3]


def test_cells_over_the_limit_are_rejected():
    rows = {
        "s": ["x:" + "s" * 200, "x:s", "x:s", "x:s"],
        "p": ["x:p"] * 4,
        "o": ['"a"', f'"{"o" * 200}"', '"b"', '"c"'],
        "start": ["2026-01-01T00:00:00Z"] * 2 + ["2" * 200, "2026-01-01T00:00:00Z"],
    }
    table = pa.table(rows)
    parquet, csv = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    pa.csv.write_csv(table, csv)
    for form, data in (("parquet", parquet.getvalue()), ("csv", csv.getvalue())):
        found, _ = Decoder(form, source="s", limits=SMALL).decode(data)
        assert [fact.split('"')[1] for fact in facts(found)] == ["c"]
        assert len(found.rejects) == 3 and all(len(r.reason) < 300 for r in found.rejects)
        assert sum("120 bytes" in reason for _, reason in reasons(found)) == 3


@pytest.mark.parametrize("most", [1, 10, 100, 10**6])
def test_rows_that_share_a_long_text_are_written_out_some_at_a_time(most):
    texts = pa.array(["a" * 40, "b", None, "c" * 9])
    codes = [0, 1, 0, 2, 3, 3, None, 1, 0]
    batch = pa.record_batch(
        {
            "o": pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), texts),
            "n": pa.array(range(9)).dictionary_encode(),
        }
    )
    parts = list(portions(batch, most))
    assert [row for part in parts for row in part.to_pylist()] == batch.to_pylist()
    sizes = [sum(len(text or "") for text in part.column("o").to_pylist()) for part in parts]
    assert all(size <= most or len(part) == 1 for size, part in zip(sizes, parts, strict=True))


MAP = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {"aboutUrl": "x:{id}", "columns": [{"name": "v", "propertyUrl": "x:p"}]},
    "penstock:time": {"instant": "at"},
}


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonld"])
def test_cells_over_the_limit_are_rejected_in_mapped_tables(form):
    rows = {
        "id": ["a", "b", "c" * 121, "d"],
        "v": ["w" * 121, "w" * 120, "x", "y"],
        "at": ["2026-01-01T00:00:00Z"] * 4,
    }
    table, file = pa.table(rows), io.BytesIO()
    if form == "jsonld":
        file.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    else:
        {"csv": pa.csv.write_csv, "parquet": pq.write_table}[form](table, file)
    found, _ = Decoder(form, source="s", limits=SMALL, map=read_map(MAP)).decode(file.getvalue())
    assert [fact.split(" ")[0] for fact in facts(found)] == ["<x:b>", "<x:d>"]
    assert sum("120 bytes" in reason for _, reason in reasons(found)) == 2


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("piece", [64, 1 << 20])
def test_rows_that_repeat_long_texts_without_end_are_rejected(tmp_path, monkeypatch, piece, mapped):
    monkeypatch.setattr(portions_, "LONG", 50)
    long, count = "l" * 100, 200
    texts = pa.array([f'"{long}"', '"short"'])
    codes = [0 if i % 2 else 1 for i in range(count)]
    rows = {
        "s": [f"x:s{i}" for i in range(count)],
        "p": ["x:p"] * count,
        "o": pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), texts),
        "start": ["2026-01-01T00:00:00Z"] * count,
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(rows), path, compression="none")
    stored = pq.read_metadata(path).row_group(0).total_byte_size
    limits = InputLimits(line=120, document=1000)
    map_ = {
        "@context": "http://www.w3.org/ns/csvw",
        "tableSchema": {"aboutUrl": "{+s}", "columns": [{"name": "o", "propertyUrl": "x:p"}]},
        "penstock:time": {"instant": "start"},
    }
    options = {"map": read_map(map_)} if mapped else {}
    found = concat(decode_file(path, limits=limits, source="s", piece_bytes=piece, **options))
    used = (stored + 1000) // 102
    assert 0 < used < count // 2
    assert sum(long in fact for fact in facts(found)) == used
    assert sum("short" in fact for fact in facts(found)) == count // 2
    assert [line for line, _ in reasons(found)] == list(range(2 * used + 2, count + 1, 2))
    whole = concat(
        decode_file(path, limits=InputLimits(line=120, document=10**6), piece_bytes=piece, **options)
    )
    assert len(whole) == count and not whole.rejects


@pytest.mark.parametrize("kind", ["arrays", "objects", "lists", "graphs"])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 5000, 200_000])
def test_json_that_would_overflow_the_parsers_stack_is_rejected(kind, depth):
    text = {
        "arrays": "[" * depth + "]" * depth,
        "objects": '{"x:p":' * depth + "1" + "}" * depth,
        "lists": '{"@id":"x:s","x:p":' + '{"@list":[' * depth + "1" + "]}" * depth + "}",
        "graphs": '{"@graph":' * depth + "{}" + "}" * depth,
    }[kind]
    found, _ = Decoder("jsonld", source="s").decode(f"{text}\n".encode())
    assert [line for line, _ in reasons(found)] == [1] and "nested" in found.rejects[0].reason


def test_nesting_inside_strings_and_many_brackets_side_by_side_are_fine():
    nodes = [{"@id": "x:s", "x:p": ["[{" * 300, n]} for n in range(300)]
    document = {"@id": "x:g#t=2026-01-01T00:00:00Z", "@graph": nodes}
    found, _ = Decoder("jsonld", source="s").decode(json.dumps(document).encode())
    assert len(found) == 600 and not found.rejects


def test_documents_that_expand_without_bound_are_rejected():
    long = "http://e/" + "a" * 200_000
    keys = {f"k{n}": n for n in range(20_000)}
    name = "x:g#t=2026-01-01T00:00:00Z"
    for document in (
        {"@context": {"@vocab": long}, "@id": name, "@graph": [{"@id": "x:s", **keys}]},
        {"@context": {"@vocab": "x:"}, "@id": name, "@graph": [{"@id": long, **keys}]},
        {"@context": {"@vocab": "x:", "id": "@id"}, "@id": name, "@graph": [{"id": long, **keys}]},
        {
            "@context": {"@vocab": "x:"},
            "@id": long + "#t=2026-01-01T00:00:00Z",
            "@graph": [{"@id": "x:s", **keys}],
        },
    ):
        found, _ = Decoder("jsonld", source="s").decode(json.dumps(document).encode())
        assert len(found) == 0 and "written out" in found.rejects[0].reason
    pairs = " ; ".join(f":k{n} {n}" for n in range(20_000))
    trig = f"@prefix : <{long}> .\n<{name}> {{ <x:s> <x:p> 1 }}\n<{name}> {{ :s {pairs} }}\n".encode()
    assert EXPANSION * len(trig) < 20_000 * 200_000
    found, _ = Decoder("trig", source="s").decode(trig)
    assert reasons(found) == [(3, "prefixes make the document too long; the rest of it is lost")]
    assert len(found) > 0


@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.ZSTD])
def test_a_little_that_unpacks_to_a_lot_is_not_held(compression):
    size = 400 << 20
    if compression is Compression.GZIP:
        data = b"".join([gzip.compress(b"a" * (size // 4), 9)] * 4)
    else:
        compressor = zstandard.ZstdCompressor().compressobj()
        data = (
            b"".join([compressor.compress(b"a" * (1 << 20)) for _ in range(size >> 20)]) + compressor.flush()
        )
    reader = CompressedReader(io.BytesIO(data), compression)
    room = memoryview(bytearray(1 << 16))
    tracemalloc.start()
    total = 0
    while some := reader.read_into(room):
        total += some
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == size and reader.damage is None
    assert peak < 100 << 20, f"{len(data)} bytes took {peak >> 20} MB"


def test_looking_for_an_elements_name_takes_no_time_on_hostile_lines():
    n = 400_000
    for line in (
        b"<x:s> <x:p> <x:o>" + b" " * n,
        b" " * n,
        b"_:" + b"_:" * n,
        b"<x:s> <x:p> _:" + b"_:" * n,
        b"<x:s> <x:p> _:" + b"<" * n,
        b'<x:s> <x:p> "' + b"\\a" * n,
        b"<x:s> <x:p> " + b"<" * n,
    ):
        STATEMENT.match(line)  # quadratic: hours
    tracemalloc.start()
    assert STATEMENT.match(b'<x:s> <x:p> "' + b"a" * n + b'" <x:g> .')[3] == b"<x:g>"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * n


def test_sizes_are_written_as_people_write_them():
    assert [parse_size(text) for text in ("17", "64k", "8M", "8MiB", "1 G")] == [
        17,
        65536,
        1 << 23,
        1 << 23,
        1 << 30,
    ]
    assert [in_bytes(size) for size in (17, 1 << 16, 1 << 23, 3 << 30, 1025)] == [
        "17 bytes",
        "64 KiB",
        "8 MiB",
        "3 GiB",
        "1,025 bytes",
    ]
    for text in ("", "8X", "-1", "1.5M"):
        with pytest.raises(UsageError):
            parse_size(text)
    for line, document in ((0, 1), (1 << 40, 1 << 50), (100, 99)):
        with pytest.raises(UsageError):
            InputLimits(line, document)

"""What an element is, and its number: the same whatever is cut where, in every format."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, RdfFormat, parse
from tests.decode.facts import stated
from tests.decode.test_cuts import lines_of

from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.decode.canonical import SaltedLabels, Unusable, canonical_line
from penstock.decode.decoder import Decoder, decode_file
from penstock.decode.limits import InputLimits
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import Occurrences, concat
from penstock.decode.times import TimePredicates
from penstock.terms import NamedNode
from penstock.timeline import parse_instant

TIMES = TimePredicates()


def rows_by_element(found: Occurrences) -> dict[int, Counter]:
    """The rows of each element: name, triple and interval."""
    table = TermTable(found.terms)
    ids = (found.graph, found.subject, found.predicate, found.object)
    columns = [table.texts(column).to_pylist() for column in ids]
    elements: dict[int, Counter] = {}
    rows = zip(found.element.tolist(), *columns, found.start.tolist(), found.end.tolist(), strict=True)
    for element, *row in rows:
        if row[1] is not None:  # in place of an element without triples
            elements.setdefault(element, Counter())[tuple(row)] += 1
    return elements


def in_order(found: Occurrences) -> list[list]:
    return sorted((sorted(rows.items(), key=repr) for rows in rows_by_element(found).values()), key=repr)


# --- the definition, literally ---------------------------------------------------------------


def by_definition(data: bytes, source: str) -> tuple[list[list], int]:
    """The elements of an N-Quads text with their rows, and how many there are: runs of one name."""
    label = SaltedLabels(source)
    runs: list[tuple[str, list]] = []
    for line in data.decode().replace("\r", "\n").split("\n"):
        try:
            for quad in parse(line.encode(), RdfFormat.N_QUADS):
                canonical_line(quad, label, TIMES)  # what is not usable is in no element
                about = isinstance(quad.graph_name, DefaultGraph)
                if about and quad.predicate not in TIMES:
                    continue
                name = quad.subject if about else quad.graph_name
                name = label(name) if str(name).startswith("_:") else str(name)
                if not runs or runs[-1][0] != name:
                    runs.append((name, []))
                runs[-1][1].append((quad, about))
        except (SyntaxError, Unusable):
            continue
    found, count = [], 0
    for name, quads in runs:
        times = {parse_instant(quad.object.value) for quad, about in quads if about}
        if "#t=" in name:
            times = {parse_instant(name.split("#t=")[1][:-1])}
        if len(times) != 1:
            continue
        count += 1
        rows: Counter = Counter()
        for quad, about in quads:
            if not about:
                terms = [label(term) if str(term).startswith("_:") else str(term) for term in quad]
                interval = (*times, *times)
                rows[(name.encode(), *(term.encode() for term in terms[:3]), *interval)] += 1
        if rows:
            found.append(sorted(rows.items(), key=repr))
    return sorted(found, key=repr), count


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 40))
def test_an_element_is_a_run_of_lines_with_one_name(seed, count):
    data = "".join(lines_of(seed, count)).encode().replace(b"\r\n", b"\n")
    found, _ = Decoder("nquads", source="s", named=True).decode(data)
    assert (in_order(found), found.elements) == by_definition(data, "s")


# --- cuts --------------------------------------------------------------------------------------


def numbered(parts: list[Occurrences]) -> dict[int, Counter]:
    """The elements of parts, each of which is in one part only."""
    elements: dict[int, Counter] = {}
    for part in parts:
        mine = rows_by_element(part)
        assert not mine.keys() & elements.keys(), "an element is cut"
        elements |= mine
    return elements


@pytest.mark.sample(0)
@pytest.mark.parametrize("seed", range(6))
def test_wherever_a_file_is_cut_each_element_is_whole_in_one_part(tmp_path, seed):
    path = tmp_path / "a.nq"
    dice = random.Random(seed)
    data = "".join(lines_of(seed, 14)).encode()
    path.write_bytes(data)
    whole = rows_by_element(concat(decode_file(path, named=True)))
    assert len(whole) > 2
    for cut in range(len(data) + 1):
        bounds = sorted({0, cut, dice.randrange(len(data) + 1), len(data)})
        parts = [
            concat(decode_file(path, named=True, begin=begin, end=end, piece_bytes=dice.randrange(1, 300)))
            for begin, end in zip(bounds, bounds[1:], strict=False)
        ]
        assert numbered(parts) == whole, cut


@pytest.mark.sample(1)
@pytest.mark.parametrize(("lines", "step"), [(1, 1), (2, 1), (3000, 37_117)])
@pytest.mark.parametrize("form", ["compact", "stated"])
def test_elements_of_any_size_cross_cuts(tmp_path, lines, step, form):
    path = tmp_path / "a.nq"
    text = ""
    for n in range(4):
        name = f"<urn:e{n}#t=2026-01-01T12:00:{n:02d}Z>" if form == "compact" else f"<urn:e{n}>"
        text += "".join(f'<urn:s> <urn:p> "{i}" {name} .\n' for i in range(lines))
        if form == "stated":
            text += stated(name, f"2026-01-01T12:00:{n:02d}Z")
    path.write_text(text)
    whole = rows_by_element(concat(decode_file(path, named=True)))
    assert [sum(rows.values()) for rows in whole.values()] == [lines] * 4
    for cut in range(0, len(text), step):
        ends = [cut, min(cut + 211, len(text)), len(text)]
        begins = [0, *ends]
        parts = [
            concat(decode_file(path, named=True, begin=begin, end=end, piece_bytes=1000))
            for begin, end in zip(begins, ends, strict=False)
        ]
        assert numbered(parts) == whole, cut


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 40), st.sets(st.integers(0, 2)), st.integers(1, 300))
def test_what_is_kept_of_elements_does_not_change_their_numbers(tmp_path_factory, seed, count, kept, piece):
    path = tmp_path_factory.mktemp("kept") / "a.nq"
    path.write_text("".join(lines_of(seed, count)))
    predicates = np.array([id_of(NamedNode(f"http://e/p{n}")) for n in kept], np.int64)
    everything = concat(decode_file(path, named=True))
    some = concat(decode_file(path, keep_predicates=predicates, piece_bytes=piece))
    columns = ("subject", "predicate", "object", "start", "end", "element")
    wanted = np.isin(everything.predicate, predicates)
    expected = Counter(zip(*(getattr(everything, name)[wanted].tolist() for name in columns), strict=True))
    assert Counter(zip(*(getattr(some, name).tolist() for name in columns), strict=True)) == expected
    assert some.elements == everything.elements


def test_lines_that_are_left_out_shift_no_number(tmp_path):
    path = tmp_path / "a.nq"
    line = "<urn:s> <urn:p> <urn:o> <urn:e{}#t=2026-01-01T12:00:0{}Z> .\n"
    long = '<urn:s> <urn:p> "' + "x" * 500 + '" <urn:e0#t=2026-01-01T12:00:00Z> .\n'
    text = line.format(1, 1) + long + line.format(2, 2) + long + line.format(3, 3)
    path.write_text(text)
    limits = InputLimits(line=200, document=10_000)
    whole = rows_by_element(concat(decode_file(path, named=True, limits=limits)))
    assert len(whole) == 3
    for cut in range(0, len(text), 13):
        parts = [
            concat(decode_file(path, named=True, begin=a, end=b, piece_bytes=70, limits=limits))
            for a, b in ((0, cut), (cut, len(text)))
        ]
        assert numbered(parts) == whole, cut


# --- all formats -------------------------------------------------------------------------------

MAP = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {
        "aboutUrl": "http://e/{id}",
        "columns": [
            {"name": "id", "suppressOutput": True},
            {"name": "when", "suppressOutput": True},
            {"name": "v", "propertyUrl": "http://e/v", "datatype": "integer"},
            {"name": "w", "propertyUrl": "http://e/w"},
        ],
    },
    "penstock:time": {"instant": "when"},
}


def second(n: int) -> str:
    return f"2026-01-01T12:00:{n:02d}Z"


TRIG = "@prefix : <urn:> .\n" + "".join(
    f'<urn:e{n}> {{ :s{n} :p {n}, "a" }} <urn:f{n}#t={second(n)}> {{ :s :p {n} }}\n'
    f'<urn:e{n}> <http://www.w3.org/ns/prov#generatedAtTime> "{second(n)}" .\n\n'
    for n in range(6)
)
JSONL = "".join(
    json.dumps(
        {"@graph": [{"@id": f"urn:e{k}#t={second(n)}", "@graph": {"@id": "urn:s", "urn:p": [n, k]}}
                    for k in range(2)]}
    ) + "\n"
    for n in range(6)
)  # fmt: skip
TRIPLES = "s,p,o,start,graph\n" + "".join(
    f'urn:s,urn:p,"""{i}""",{second(n)},urn:e{n % 2}\n' for n in range(4) for i in range(3)
)
ROWS = "id,when,v,w\n" + "".join(f"{n % 3},{second(n)},{n},x{n}\n" for n in range(8))
JSON_ROWS = "".join(json.dumps({"id": n % 3, "when": second(n), "v": n, "w": "x"}) + "\n" for n in range(8))


def sample(name: str) -> tuple[bytes, dict, int, int]:
    """A file's bytes, what it is read with, and how many elements and triples it has."""
    mapped = {"map": read_map(MAP)}
    return {
        "a.trig": (TRIG.encode(), {}, 12, 18),
        "a.jsonl": (JSONL.encode(), {}, 12, 24),
        "a.csv": (TRIPLES.encode(), {}, 4, 12),
        "m.csv": (ROWS.encode(), mapped, 8, 16),
        "m.jsonl": (JSON_ROWS.encode(), mapped, 8, 16),
    }[name]


NAMES = ["a.trig", "a.jsonl", "a.csv", "m.csv", "m.jsonl"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_elements_of_all_formats_have_numbers(tmp_path, name):
    data, options, elements, triples = sample(name)
    (tmp_path / name).write_bytes(data)
    whole = concat(decode_file(tmp_path / name, named=True, source="s", **options))
    assert (whole.elements, len(whole), len(set(whole.element.tolist()))) == (elements, triples, elements)
    assert (whole.element < 0).all()
    for piece in (1, 7, 50, 10_000):
        parts = concat(decode_file(tmp_path / name, source="s", piece_bytes=piece, **options))
        assert parts.elements == elements
        assert sorted(parts.element.tolist()) == sorted(whole.element.tolist())
    none = np.array([1], np.int64)
    assert (
        concat(decode_file(tmp_path / name, source="s", keep_predicates=none, **options)).elements == elements
    )
    first = np.array([id_of(NamedNode("http://e/v" if options else "urn:p"))])
    kept = concat(decode_file(tmp_path / name, source="s", keep_predicates=first, **options))
    assert set(kept.element.tolist()) <= set(whole.element.tolist()) and len(kept)


def parts_of(data: bytes, name: str) -> list[int]:
    """Where a file of a format may end while it grows."""
    if name == "a.trig":
        return [at + 2 for at in range(len(data)) if data[at : at + 2] == b"\n\n"]
    ends = [at + 1 for at in range(len(data)) if data[at : at + 1] == b"\n"]
    return ends[3::3] if name == "a.csv" else ends[1:]  # an element of a.csv has three rows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pack", [None, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_file_that_grows_has_the_same_elements_as_one_that_is_there(tmp_path, name, pack):
    data, options, _, _ = sample(name)
    ends = [0, *parts_of(data, name)]
    texts = [data[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    assert b"".join(texts) == data and len(texts) > 3
    packed = [pack(text) if pack else text for text in texts]
    path = tmp_path / (name if pack is None else name + (".gz" if pack is gzip.compress else ".zst"))
    path.write_bytes(b"".join(packed))
    bounds = np.cumsum([0, *map(len, packed)]).tolist()
    whole = rows_by_element(concat(decode_file(path, named=True, source="s", **options)))
    for middle in bounds[1:-1]:
        parts = [
            concat(decode_file(path, named=True, source="s", begin=a, end=b, within=(a, b), **options))
            for a, b in ((0, middle), (middle, bounds[-1]))
        ]
        assert numbered(parts).keys() == whole.keys(), middle


def test_parquet_rows_are_numbered_by_their_place(tmp_path):
    table = pa.table(
        {"s": ["urn:s"] * 6, "p": ["urn:p"] * 6, "o": ["urn:o"] * 6,
         "start": [second(0)] * 4 + [second(1)] * 2,
         "graph": ["urn:a", "urn:a", "urn:b", "urn:a", "urn:a", None]}
    )  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    for piece in (1, 64, 128, 10_000):
        found = concat(decode_file(tmp_path / "a.parquet", source="s", piece_bytes=piece))
        numbers = list(dict.fromkeys(found.element.tolist()))
        assert [numbers.index(each) for each in found.element.tolist()] == [0, 0, 1, 2, 3, 4]
        assert found.elements == 5
    mapped = concat(decode_file(tmp_path / "a.parquet", source="other"))
    assert not set(mapped.element.tolist()) & set(numbers)


def test_a_name_that_comes_again_in_a_document_is_the_same_element():
    graph = "<urn:{}#t=2026-01-01T12:00:00Z> {{ <urn:s> <urn:p> {} }}\n"
    text = graph.format("a", 1) + graph.format("b", 1) + graph.format("a", 2)
    found, _ = Decoder("trig").decode(text.encode())
    assert found.elements == 2 and len(set(found.element.tolist())) == 2


def test_numbers_depend_on_the_key_of_the_run_and_on_the_source(tmp_path):
    line = b"<urn:s> <urn:p> <urn:o> <urn:e#t=2026-01-01T12:00:00Z> .\n"
    numbers = {
        int(Decoder("nquads", source=source, key=key, identity=identity).decode(line)[0].element[0])
        for source, key, identity in (("s", 0, None), ("s", 1, None), ("t", 0, None), ("s", 0, "t 2"))
    }
    assert len(numbers) == 4


def test_statements_about_a_name_that_tells_its_time_belong_to_its_element():
    name = "<urn:e#t=2026-01-01T12:00:00Z>"
    quad = f"<urn:s> <urn:p> <urn:o> {name} .\n"
    text = quad + stated(name, second(0)) + quad + stated(name, second(0), "startedAtTime") + quad
    found, _ = Decoder("nquads").decode(text.encode())
    assert (found.elements, len(found), len(set(found.element.tolist())), found.rejects) == (1, 3, 1, [])
    alone, _ = Decoder("nquads", named=True).decode(stated(name, second(0)).encode())
    assert (alone.elements, len(alone), alone.subject.tolist()) == (1, 1, [0])

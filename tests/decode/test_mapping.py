"""Tables by a map: the same data in any format is the same facts, and odd tables cost only themselves."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import XSD, facts, reasons
from tests.decode.mapped import NOON, SIMPLE, STATION, a_map, decoded, objects, of_csv, of_table

from penstock.columns.ids import hash_text
from penstock.columns.terms import TermTable
from penstock.decode.csv_rows import CsvRows
from penstock.decode.decoder import decode_file
from penstock.decode.mapping.document import Dialect, read_map
from penstock.decode.occurrences import concat
from penstock.errors import InputError, UsageError
from penstock.sources.streams import StreamSpec

ROWS = [
    ("a", "1.5", "1", "true", 'say "hi"\nthere, ö', "x y", "2026-01-01T12:00:00Z"),
    ("b", "-0.25", None, "false", None, "é/1", "2026-01-01T14:00:00+01:00"),
    ("a", None, "12345678901234567890", None, "\ttab \\ back", None, "2026-01-01T13:30:00.5Z"),
]
HEADER = ("id", "temp", "n", "ok", "note", "at", "when")


def as_csv(rows=ROWS, end="\r\n"):
    quoted = [["" if v is None else '"' + v.replace('"', '""') + '"' for v in row] for row in rows]
    return end.join([",".join(HEADER), *(",".join(row) for row in quoted), ""])


def as_json(rows=ROWS, **options):
    lines = []
    for row in rows:
        value = dict(zip(HEADER, row, strict=True))
        value["temp"] = None if value["temp"] is None else float(value["temp"])
        value["n"] = None if value["n"] is None else int(value["n"])
        value["ok"] = None if value["ok"] is None else value["ok"] == "true"
        lines.append(json.dumps(value, **options) + "\n")
    return "".join(lines)


def as_arrow(rows=ROWS):
    columns = dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))
    decimals = [None if v is None else Decimal(v) for v in columns["temp"]]
    return pa.table(
        {
            **columns,
            "id": pa.array(columns["id"]).dictionary_encode(),
            "temp": pa.array(decimals, pa.decimal128(20, 2)).cast(pa.float64()),
            "n": pa.array([None if v is None else Decimal(v) for v in columns["n"]], pa.decimal128(20, 0)),
            "ok": pa.array([None if v is None else v == "true" for v in columns["ok"]]),
            "when": pa.array(
                [datetime.fromisoformat(v) for v in columns["when"]], pa.timestamp("ns", "Europe/Vienna")
            ),
        }
    )


def as_nquads(rows=ROWS):
    """The same by hand."""
    lines = []
    for number, (id_, temp, n, ok, note, at, when) in enumerate(rows):
        triples = ["<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Reading>"]
        triples += [f'<http://e/temp> "{temp}"^^<{XSD}decimal>'] if temp else []
        triples += [f'<http://e/n> "{n}"^^<{XSD}integer>'] if n else []
        triples += [f'<http://e/ok> "{ok}"^^<{XSD}boolean>'] if ok else []
        triples += [f"<http://e/note> {json.dumps(note, ensure_ascii=False)}@de"] if note else []
        quoted = {"x y": "x%20y", "é/1": "%C3%A9%2F1"}.get(at)
        triples += [f"<http://e/at> <http://e/place/{quoted}>"] if at else []
        lines += [f"<http://e/{id_}> {each} <urn:{number}#t={when}> .\n" for each in triples]
    return "".join(lines)


@pytest.mark.parametrize("piece", [1, 7, 50, 1 << 24])
def test_the_same_data_in_every_format(tmp_path, piece):
    path = tmp_path / "t.nq"
    path.write_text(as_nquads())
    expected = facts(concat(decode_file(path, source="s")))
    assert len(expected) == 13
    written = {
        "a.csv": as_csv().encode(),
        "b.csv": b"\xef\xbb\xbf" + as_csv(end="\n").encode(),
        "c.csv.gz": gzip.compress(as_csv().encode()),
        "d.csv.zst": zstandard.compress(as_csv().encode()),
        "e.jsonl": as_json().encode(),
        "f.jsonl": as_json(ensure_ascii=False).replace("\n", "\r\n").encode(),
        "g.jsonl.gz": gzip.compress(as_json().encode()),
    }
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
    pq.write_table(as_arrow(), tmp_path / "h.parquet", row_group_size=2)
    for name in [*written, "h.parquet"]:
        found = decoded(tmp_path / name, STATION, piece_bytes=piece)
        assert facts(found) == expected, name
        assert found.elements == 3 and not found.rejects, name


def test_lines_of_json_may_be_cut_anywhere(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(as_json(ROWS * 3) + "{broken\n")
    whole = decoded(path, STATION)
    size = path.stat().st_size
    for at in range(0, size, 11):
        parts = [decoded(path, STATION, begin=0, end=at), decoded(path, STATION, begin=at, end=size)]
        assert facts(concat(parts)) == facts(whole)
        assert [reason for part in parts for reason in reasons(part)] == reasons(whole)
    assert [line for line, _ in reasons(whole)] == [10]


def test_predicates_that_nobody_asks_for_are_left_out_and_time_goes_on(tmp_path):
    found = of_csv(tmp_path, as_csv(), STATION, keep_predicates=[hash_text(b"<http://e/ok>")])
    assert len(found) == 2 and found.elements == 3 and len(found.instants) == 3


def test_rows_have_names_for_the_report_of_late_ones(tmp_path):
    document = a_map({"name": "id", "suppressOutput": True}, {"name": "n"})
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"id": "a", "n": n, "when": NOON}) + "\n" for n in [[1, 2], None])
    )
    found = decoded(tmp_path / "t.jsonl", document, named=True)
    assert sorted(found.subject == 0) == [False, False, True]  # the second row has no triple
    assert len(set(found.graph.tolist())) == 2


# --- odd tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 3, 1 << 24])
def test_a_faulty_row_or_cell_costs_only_itself(tmp_path, piece):
    text = (
        "id,v,when\n"
        f"a,1,{NOON}\n"
        "\n"
        f"b,abc,{NOON}\n"  # line 4: no integer
        f'"c\nd",2,{NOON}\n'  # lines 5 and 6
        "e,3\n"  # line 7: ragged
        f"f,4,{NOON},more\n"
        "g,5,\n"  # line 9: no time
        "h,6,yesterday\n"
        f",7,{NOON}\n"  # line 11: no subject
        f"i, 8 ,{NOON}"
    )
    found = of_csv(tmp_path, text, SIMPLE, piece_bytes=piece)
    assert sorted(objects(found)) == [f'"{n}"^^<{XSD}integer>' for n in (1, 2, 8)]
    assert sorted(reasons(found)) == [
        (4, "column 'v': 'abc' is not an integer; the cell is left out"),
        (7, "the row has 2 cells, and the table 3 columns"),
        (8, "the row has 4 cells, and the table 3 columns"),
        (9, "the row has no time in the column 'when'"),
        (10, "when: 'yesterday' is not an instant in ISO 8601"),
        (11, "the row has no subject: id is empty"),
    ]
    with pytest.raises(InputError, match="line 4"):
        decoded(tmp_path / "t.csv", SIMPLE, strict=True)


def test_a_quote_that_is_never_closed_costs_its_line(tmp_path):
    rows = "".join(f"r{n},{n},{NOON}\n" for n in range(50))
    found = of_csv(tmp_path, f'id,v,when\na,1,{NOON}\n"b,2,{NOON}\n{rows}', SIMPLE, piece_bytes=64)
    assert len(found) == 51
    assert reasons(found) == [(3, "a quoted cell of the row is never closed")]


def test_a_huge_row_is_rejected_and_the_next_ones_are_read():
    reader = CsvRows(Dialect(), longest=100)

    class File:
        left = [b"a,b\n1,2\n", b"3,", *[b"x" * 40] * 20, b"\n5,6\n", b'7,"', b"y\n" * 200]

        def read(self, size):
            return self.left.pop(0) if self.left else b""

    found = [table.to_pylist() for table, *_ in reader.tables(File(), lambda names: names)]
    rows = [row for rows in found for row in rows]
    assert {"a": "1", "b": "2"} in rows and {"a": "5", "b": "6"} in rows
    assert any("more than 100 bytes" in reason for _, reason, _ in reader.rejected)
    assert all(len(text) <= 2000 for _, _, text in reader.rejected)


def test_bytes_that_are_no_text(tmp_path):
    found = of_csv(
        tmp_path, b"id,v,when\na,1," + NOON.encode() + b"\n\xff,2," + NOON.encode() + b"\n", SIMPLE
    )
    assert len(found) == 1 and reasons(found) == [(3, "the row is not UTF-8 text")]
    (tmp_path / "t.jsonl").write_bytes(b'{"id": "\xff", "v": 1, "when": "%s"}\n' % NOON.encode())
    assert [reason for _, reason in reasons(decoded(tmp_path / "t.jsonl", SIMPLE))] == [
        "the line is not UTF-8 text"
    ]


def test_dialects(tmp_path):
    dialect = {"delimiter": ";", "quoteChar": "'", "commentPrefix": "#", "skipRows": 2, "encoding": "latin-1"}
    text = f"a report\nof 'today\n# and\nid;v;when\n'x;ö';1;{NOON}\n#no\ny;2;{NOON}\n"
    found = of_csv(tmp_path, text.encode("latin-1"), SIMPLE | {"dialect": dialect})
    assert not found.rejects
    assert [fact.split(" ")[0] for fact in facts(found)] == ["<http://e/x%3B%C3%B6>", "<http://e/y>"]
    headless = a_map(
        {"name": "id", "suppressOutput": True}, {"name": "v"}, {"name": "when", "suppressOutput": True},
        dialect={"header": False, "quoteChar": None},
    )  # fmt: skip
    assert objects(of_csv(tmp_path, f'a,"1,{NOON}\n', headless)) == ['"\\"1"']
    backslash = SIMPLE | {"dialect": {"doubleQuote": False}}
    assert "<http://e/a%22%2Cb>" in facts(of_csv(tmp_path, f'id,v,when\n"a\\",b",1,{NOON}\n', backslash))[0]


def test_a_part_of_a_file_that_has_grown(tmp_path):
    """It has the header of the file, also behind lines that are skipped, and its own lines."""
    dialect = {"skipRows": 1, "commentPrefix": "#", "quoteChar": "'"}
    first = f"a 'report\n# a comment\nid,v,when\na,1,{NOON}\n"
    text = f"{first}b,x,{NOON}\n'c\nd',3,{NOON}\ne\n"
    path = tmp_path / "t.csv"
    path.write_text(text)
    document = SIMPLE | {"dialect": dialect}
    parts = [decoded(path, document, end=len(first)), decoded(path, document, begin=len(first))]
    assert facts(concat(parts)) == facts(decoded(path, document)) and len(concat(parts)) == 2
    assert reasons(concat(parts)) == reasons(decoded(path, document))
    assert [line for line, _ in reasons(parts[1])] == [5, 8]
    late = decoded(path, document, begin=len(first), named=True)
    assert {name for name in facts_of_graphs(late)} == {f"<urn:penstock:row:s:{line}>" for line in (5, 6)}


@pytest.mark.parametrize("skip", [0, 2])
def test_csv_without_quotes_may_be_cut_anywhere(tmp_path, skip):
    dialect = {"quoteChar": None, "commentPrefix": "#", "skipRows": skip}
    rows = "".join(f'r"{n},{n},{NOON}\r\n' for n in range(6))
    path = tmp_path / "t.csv"
    path.write_text("\ufeff" + "skipped, too\n" * skip + f"# no\nid,v,when\n{rows}ragged\n")
    document = SIMPLE | {"dialect": dialect}
    whole, size = decoded(path, document), path.stat().st_size
    assert len(whole) == 6 and [line for line, _ in reasons(whole)] == [9 + skip]
    for at in range(0, size + 1, 3):
        for then in range(at, size + 1, 40):
            cuts = [(0, at), (at, then), (then, size)]
            parts = [decoded(path, document, begin=a, end=b, within=(0, size)) for a, b in cuts]
            assert facts(concat(parts)) == facts(whole), cuts
            assert reasons(concat(parts)) == reasons(whole), cuts
    spec = StreamSpec(None, (str(path),), map=json.dumps(document))
    assert spec.cut_by_lines(str(path)) and spec.quote is None
    assert not StreamSpec(None, (str(path),), map=json.dumps(SIMPLE)).cut_by_lines(str(path))


def facts_of_graphs(found):
    table = TermTable(found.terms)
    return [str(table.term(graph)) for graph in found.graph.tolist()]


def test_empty_tables_and_headers(tmp_path):
    for text in ("", "id,v,when\n", "id,v,when", "\n\n", "\ufeffid,v,when\r\n"):
        found = of_csv(tmp_path, text, SIMPLE)
        assert len(found) == 0 and not found.rejects
    with pytest.raises(InputError, match=r"no column 'v'(.|\n)*did you mean 'V'"):
        of_csv(tmp_path, f"id,V,when\na,1,{NOON}\n", SIMPLE)
    with pytest.raises(InputError, match="two columns called 'v'"):
        of_csv(tmp_path, f"id,v,v,when\na,1,1,{NOON}\n", SIMPLE)
    assert len(of_csv(tmp_path, f"x,id,x,v,when\n0,a,0,1,{NOON}\n", SIMPLE)) == 1  # nobody reads x


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.text('ab," \n\r#ö', max_size=4)] * 3), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 9),
)
def test_rows_of_csv_are_those_of_another_reader(rows, end, piece):
    import csv
    import io

    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("x", "y", "z"), *rows])
    reader = CsvRows(Dialect())
    found = []
    lines = []
    file = io.BytesIO(out.getvalue().encode())
    for table, numbers, _ in reader.tables(file, lambda names: names, piece=piece):
        found += [tuple(row.values()) for row in table.to_pylist()]
        lines += numbers.tolist()
    assert found == rows and not reader.rejected
    assert lines[0] == 2 and len(lines) == len(rows)


# --- types --------------------------------------------------------------------------------


def test_types_of_parquet_columns(tmp_path):
    columns = {
        "id": ["a"],
        "when": pa.array([datetime(2026, 1, 1, 12)], pa.timestamp("ms", "UTC")),
        "i": pa.array([-7], pa.int16()),
        "u": pa.array([2**64 - 1], pa.uint64()),
        "f": pa.array([1e-7]),
        "g": pa.array([0.1], pa.float32()),
        "nan": pa.array([float("nan")]),
        "inf": pa.array([float("-inf")]),
        "dec": pa.array([Decimal("1.50")]),
        "day": pa.array([date(2026, 1, 2)]),
        "clock": pa.array([time(8, 30, 0, 500_000)]),
        "stamp": pa.array([datetime(2026, 1, 1, 12, 0, 0, 250_000)], pa.timestamp("us")),
        "zoned": pa.array([datetime(2026, 1, 1, 12)], pa.timestamp("ns", "Europe/Vienna")),
        "lasts": pa.array([timedelta(days=1, seconds=90)]),
        "raw": pa.array([b"\x0f\xff"]),
        "many": pa.array([[1, None, 2]]),
        "in": pa.array([{"x": {"y": "deep"}, "z": 1}]),
        "word": pa.array(["w"]).dictionary_encode(),
    }
    names = [name for name in columns if name not in ("id", "when", "in")] + ["in.x.y"]
    found = of_table(tmp_path, columns, a_map({"name": "id", "suppressOutput": True}, *(
        {"name": name, "propertyUrl": f"http://e/{name}"} for name in names
    )))  # fmt: skip
    assert not found.rejects
    said = sorted(fact.split(" ", 1)[1].rsplit(" @ ", 1)[0].replace(XSD, "") for fact in facts(found))
    assert said == sorted([
        '<http://e/i> "-7"^^<integer>', '<http://e/u> "18446744073709551615"^^<integer>',
        '<http://e/f> "1e-7"^^<double>', '<http://e/g> "0.1"^^<float>', '<http://e/nan> "NaN"^^<double>',
        '<http://e/inf> "-INF"^^<double>', '<http://e/dec> "1.50"^^<decimal>',
        '<http://e/day> "2026-01-02"^^<date>', '<http://e/clock> "08:30:00.5"^^<time>',
        '<http://e/stamp> "2026-01-01T12:00:00.25"^^<dateTime>',
        '<http://e/zoned> "2026-01-01T12:00:00Z"^^<dateTime>',
        '<http://e/lasts> "P1DT1M30S"^^<dayTimeDuration>', '<http://e/raw> "0FFF"^^<hexBinary>',
        '<http://e/many> "1"^^<integer>', '<http://e/many> "2"^^<integer>', '<http://e/in.x.y> "deep"',
        '<http://e/word> "w"',
    ])  # fmt: skip


def test_int96_timestamps_need_a_zone(tmp_path):
    table = pa.table(
        {"id": ["a"], "v": [1], "when": pa.array([datetime(2026, 7, 1, 12)], pa.timestamp("ns"))}
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    with pytest.raises(InputError, match=r"without a time zone(.|\n)*timezone"):
        decoded(path, SIMPLE)
    document = SIMPLE | {"penstock:time": {"instant": "when", "timezone": "Europe/Vienna"}}
    assert facts(decoded(path, document))[0].endswith("@ 2026-07-01T10:00:00.000Z")


@pytest.mark.parametrize(
    ("datatype", "cell", "expected"),
    [
        ("integer", "007", f'"007"^^<{XSD}integer>'),
        ("integer", "1.0", None),
        ("decimal", "1e3", None),
        ("double", "1e3", f'"1e3"^^<{XSD}double>'),
        ("number", "INF", f'"INF"^^<{XSD}double>'),
        ("double", "inf", None),
        ("boolean", "yes", None),
        ({"base": "boolean", "format": "yes|no"}, "no", f'"false"^^<{XSD}boolean>'),
        ({"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}}, "1.234,5",
         f'"1234.5"^^<{XSD}decimal>'),
        ("date", "2026-13-01", None),
        ({"base": "date", "format": "d.M.yyyy"}, "3.2.2026", f'"2026-02-03"^^<{XSD}date>'),
        ({"base": "date", "format": "d.M.yyyy"}, "31.2.2026", None),
        ({"base": "datetime", "format": "yyyy/MM/dd HH:mm"}, "2026/02/03 04:05",
         f'"2026-02-03T04:05:00"^^<{XSD}dateTime>'),
        ({"base": "dateTime", "format": "dd MMM yy hh:mm a X"}, "03 Feb 26 12:30 AM +01:00",
         f'"2026-02-02T23:30:00Z"^^<{XSD}dateTime>'),
        ("duration", "PT", None),
        ("duration", "P1DT2H", f'"P1DT2H"^^<{XSD}duration>'),
        ("string", " x ", '" x "'),
        ("http://e/own", "x", '"x"^^<http://e/own>'),
        ({"@id": "http://e/deg", "base": "decimal"}, "x", None),
        ("anyURI", "http://e/", f'"http://e/"^^<{XSD}anyURI>'),
    ],
)  # fmt: skip
def test_datatypes(tmp_path, datatype, cell, expected):
    document = a_map({"name": "id", "suppressOutput": True}, {"name": "v", "datatype": datatype})
    found = of_csv(tmp_path, f'id,v,when\na,"{cell}",{NOON}\n', document)
    assert objects(found) == ([expected] if expected else [])
    assert [line for line, _ in reasons(found)] == ([] if expected else [2])


def test_integers_that_pandas_has_as_floats(tmp_path):
    table = {"id": ["a", "b", "c"], "v": [1.0, None, 2.5], "when": [NOON] * 3}
    found = of_table(tmp_path, table, SIMPLE)
    assert objects(found) == [f'"1"^^<{XSD}integer>'] and reasons(found)[0][0] == 3


def test_a_number_of_json_does_not_depend_on_its_neighbours(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        "".join(f'{{"id": "a", "v": {v}, "when": "{NOON}"}}\n' for v in ("7", "7.10", "1e2", '"x"', "true"))
    )
    found = decoded(tmp_path / "t.jsonl", a_map({"name": "id", "suppressOutput": True}, {"name": "v"}))
    assert sorted(objects(found)) == sorted(
        [f'"7"^^<{XSD}integer>', f'"7.10"^^<{XSD}decimal>', f'"1e2"^^<{XSD}double>', '"x"',
         f'"true"^^<{XSD}boolean>']
    )  # fmt: skip


numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text('ab"\\\nö\U0001f600{}[],:', max_size=5)
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a.b", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a", "b", "a.b", "ab", "x"]), json_values, max_size=4),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_members_are_found_as_json_finds_them(value, indent, ascii_only):
    """The compiled pass and `json` see the same members; columns are `a`, `b` and `a.b`."""
    from penstock.decode import json_rows

    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).replace("\n", " ")
    names = ["a", "b", "a.b"]
    import numpy as np

    data = text.encode()
    columns, faults = json_rows.read_lines(data, np.array([0]), np.array([len(data)]), names)
    assert not faults
    if isinstance(value.get("a"), dict) and "b" in value["a"] and "a.b" in value:
        return  # two members of one name: which one counts is not said
    loaded = json_rows.load(text)
    for name in names:
        expected = [
            (member.kind, member.text) for member in json_rows._members(json_rows._at_path(loaded, name))
        ]
        cells = columns[name]
        assert list(zip(cells.kinds.tolist(), cells.values.to_pylist(), strict=True)) == expected


# --- terms --------------------------------------------------------------------------------


def test_templates_and_prefixes(tmp_path):
    document = {
        "@context": ["http://www.w3.org/ns/csvw", {"@base": "http://base/", "ex": "http://ex/"}],
        "tableSchema": {
            "aboutUrl": "thing/{a}/{b}",
            "columns": [
                {"name": "iri", "titles": ["The IRI", "URL"], "propertyUrl": "ex:see", "valueUrl": "{+iri}"},
                {"name": "tags", "propertyUrl": "ex:tag", "separator": ";", "valueUrl": "ex:t/{tags}{#b}"},
                {"name": "a", "aboutUrl": "ex:other/{b}", "propertyUrl": "schema:name", "null": ["NA", "-"]},
            ],
        },
        "penstock:time": {"start": "from", "end": "to"},
    }
    text = (
        "a,b,URL,tags,from,to\n"
        "1,ß,http://x/é?q=1#f,u; v;,2026-01-01T12:00:00Z,2026-01-01T13:00:00Z\n"
        "2,y z,not an iri,,2026-01-01T12:00:00Z,\n"
        "NA,,,,2026-01-01T12:00:00Z,2026-01-01T11:00:00Z\n"
    )
    found = of_csv(tmp_path, text, document)
    assert facts(found) == sorted(
        f"{fact} @ 2026-01-01T12:00:00.000Z" + (" … 2026-01-01T13:00:00.000Z" if "%C3" in fact else "")
        for fact in [
            "<http://base/thing/1/%C3%9F> <http://ex/see> <http://x/é?q=1#f>",
            "<http://base/thing/1/%C3%9F> <http://ex/tag> <http://ex/t/u#ß>",
            "<http://base/thing/1/%C3%9F> <http://ex/tag> <http://ex/t/%20v#ß>",
            '<http://ex/other/%C3%9F> <http://schema.org/name> "1"',
            '<http://ex/other/y%20z> <http://schema.org/name> "2"',
        ]
    )
    assert [line for line, _ in reasons(found)] == [3, 4]
    assert "is no term" in reasons(found)[0][1] and "ends before it starts" in reasons(found)[1][1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tableschema": {}}, "did you mean 'tableSchema'"),
        ({"tableSchema": {"columns": []}}, "must be a list"),
        ({"tableSchema": {"columns": [{"name": "a", "propertyUrl": "http://e/p"}]},
          "penstock:time": {"instant": "t", "ambiguous": "second"}}, "first, last or reject"),
        ({"tableSchema": {"columns": [{"nme": "a"}]}}, "did you mean 'name'"),
        ({"tableSchema": {"columns": [{"name": "a"}]}}, "has no propertyUrl"),
        ({"tableSchema": {"aboutUrl": "x{a}", "columns": [{"name": "a", "propertyUrl": "http://e/p"}]}},
         "not an absolute IRI"),
        ({"tableSchema": {"aboutUrl": "http://e/{_row}", "columns": [{"name": "a", "propertyUrl": "x:p"}]}},
         "rows have no numbers"),
        ({"tableSchema": {"aboutUrl": "http://e/{a", "columns": [{"name": "a", "propertyUrl": "x:p"}]}},
         "brace without its partner"),
        ({"penstock:time": None}, "where the time stands"),
        ({"penstock:time": {"instant": "a", "start": "b"}}, "either"),
        ({"penstock:time": {"instant": "a", "format": "epoch-m"}}, "did you mean 'epoch-ms'"),
        ({"penstock:time": {"instant": "a", "format": "dd/QQ"}}, "'QQ', which is not known"),
        ({"penstock:time": {"instant": "a", "timezone": "Europe/Wien"}}, "no time zone"),
        ({"dialect": {"delimiter": ",,"}}, "one ASCII character"),
        ({"dialect": {"delimeter": ","}}, "did you mean 'delimiter'"),
        ({"@context": "http://example.org/"}, "@context"),
    ],
)  # fmt: skip
def test_a_wrong_map_is_refused(change, said):
    with pytest.raises(InputError) as problem:
        read_map({**SIMPLE, **change})
    assert said in problem.value.render()


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"datatype": "intger"}, "did you mean 'integer'"),
        ({"virtual": True}, "virtual, so it needs"),
        ({"valueUrl": "http://e/{id}", "datatype": "integer"}, "makes IRIs"),
        ({"propertyUrl": "http://e/{id}"}, "same for all rows"),
        ({"virtual": "yes"}, "must be true or false"),
    ],
)
def test_a_wrong_column_is_refused(column, said):
    with pytest.raises(InputError) as problem:
        read_map(a_map({"name": "id", "suppressOutput": True}, {"name": "v", **column}))
    assert said in problem.value.render()


def test_a_map_file_that_is_no_json_shows_the_place(tmp_path):
    path = tmp_path / "m.json"
    path.write_text('{\n  "tableSchema": {,\n}')
    with pytest.raises(InputError, match=r"m.json:2:19"):
        read_map(path)
    with pytest.raises(UsageError, match="cannot read the map"):
        read_map(tmp_path / "none.json")
    with pytest.raises(UsageError, match="a map is for tables"):
        decoded(tmp_path / "x.nq", SIMPLE)

"""The scanner accepts nothing that pyoxigraph rejects, and gives every term its one id."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, RdfFormat, parse

from penstock.columns import ids
from penstock.columns.ids import HASHED, term_text
from penstock.decode.canonical import SaltedLabels
from penstock.decode.nquads import (
    AT,
    BREAK,
    COMPACT,
    ENDED,
    LOOSE,
    ODD,
    STARTED,
    STATED,
    UNASKED,
    keep_table,
    scan,
)
from penstock.decode.times import TimePredicates, compact_times, is_compact
from penstock.terms import BlankNode, Literal, NamedNode
from penstock.timeline import parse_instant

TIMES = TimePredicates()
KEY = 0x2718281828459045
hash_text, id_of = partial(ids.hash_text, key=KEY), partial(ids.id_of, key=KEY)
STATED_IDS = TIMES.ids(KEY)
KEEP_ALL = keep_table(None)
LABEL = SaltedLabels("s.nq")
XSD = "http://www.w3.org/2001/XMLSchema#"

PLAIN = [
    f'<http://example.org/sensor/12> <http://example.org/reads> "21.53"^^<{XSD}decimal> '
    "<http://example.org/g/123#t=2026-01-01T00:00:00.123Z> .",
    "<urn:a:b> <http://h:80/p?q=1> <mailto:x@y.z> <x:g#t=2026-02-28T23:59:59+05:30> .",
    '<http://e.org/ü%41> <a:p> "grün 😀 \\"x\\" \\\\ \\n"@de <a:g#t=0001-01-01T00:00:00Z,'
    "2026-01-01T00:00:00Z> .",
    f'<a:s> <a:p> "-0.50"^^<{XSD}double> <a:g> .',
    f'<a:s> <a:p> "2024-02-29T12:30:00.5Z"^^<{XSD}dateTime> <a:g> .',
    f'<a:s> <a:p> "true"^^<{XSD}boolean> <a:g> .',
    f'<a:s> <a:p> "12"^^<{XSD}integer> <a:g> .',
    f'<a:s> <a:p> "1e5"^^<{XSD}float> <a:g> .',
    '<a:s> <a:p> "POINT(1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral> <a:g> .',
    '<a:s> <a:p> "plain text"@en-us <a:g> .',
    f'<a:g> {TIMES.at} "2026-01-01T00:00:00.5-08:00"^^<{XSD}dateTime> .',
    f'<a:g> {TIMES.started} "2026-01-01T00:00:00Z"^^<{XSD}dateTimeStamp> .',
    f'<a:g> {TIMES.ended} "2026-01-01T00:00:00Z" .',
    "<a:s> <a:p> <a:o> .",
    "_:b1 <a:p> _:x-Y_0 _:g .",
    f'_:g {TIMES.at} "2026-01-01T00:00:00Z" .',
    "_:b1 <a:p> _:b1 <a:g#t=2026-01-01T00:00:00Z> .",
]
ODDITIES = [
    '_:b.c <a:p> "x" <a:g> .',
    "_:-b <a:p> <a:o> <a:g> .",
    "_:b _:p <a:o> <a:g> .",
    "<a:s>  <a:p> <a:o> <a:g> .",
    '<a:s> <a:p> "\\u0041" <a:g> .',
    '<a:s> <a:p> "x"@EN <a:g> .',
    f'<a:s> <a:p> "x"^^<{XSD}string> <a:g> .',
    '<a:s> <a:p> "a\tb" <a:g> .',
    "<a:s> <a:p> <a:o> <a:g> . # note",
    "<<( <a:s> <a:p> <a:o> )>> <a:p> <a:o> <a:g> .",
    "<s> <p> <o> <g> .",
    "<a:s> <a:p> <a:o> <a:g>",
    "<a:s> <a:p> <a:o> <a:g#t=2026-13-01T00:00:00Z> .",
    "<a:s> <a:p> <a:o> <a:g#t=2026-01-01T24:00:00Z> .",
    "<a:s> <a:p> <a:o> <a:g#t=2026-01-02T00:00:00Z,2026-01-01T00:00:00Z> .",
    "<http://a:x/> <a:p> <a:o> <a:g> .",
    "<a:%4> <a:p> <a:o> <a:g> .",
    "<a:#b#c> <a:p> <a:o> <a:g> .",
    "<a:[> <a:p> <a:o> <a:g> .",
]


def salted(term):
    """The term as the scanner names it: blank nodes with the salt of their file."""
    return BlankNode(LABEL(term)[2:]) if isinstance(term, BlankNode) else term


def scanned(line: bytes):
    rows = scan(line, keep=KEEP_ALL, stated=STATED_IDS, key=KEY)
    assert len(rows) == 1
    return rows


def check_against_pyoxigraph(line: bytes) -> int:
    """Compares the scanner's row for a line with pyoxigraph's quad; the kind of the row."""
    rows = scan(line, keep=KEEP_ALL, stated=STATED_IDS, key=KEY, salt=LABEL.suffix)
    for i in range(len(rows)):
        kind = int(rows.kind[i])
        if kind == ODD:
            continue
        (quad,) = parse(line, RdfFormat.N_QUADS)
        terms = tuple(map(salted, (quad.subject, quad.predicate, quad.object)))
        ids = (rows.subject[i], rows.predicate[i], rows.object[i])
        assert tuple(map(int, ids)) == tuple(map(id_of, terms))
        graph = salted(quad.graph_name)
        if isinstance(graph, DefaultGraph):
            statements = {TIMES.at: AT, TIMES.started: STARTED, TIMES.ended: ENDED}
            assert kind == statements.get(quad.predicate, LOOSE)
            if kind != LOOSE:
                assert int(rows.start[i]) == parse_instant(quad.object.value)
                assert int(rows.graph[i]) == id_of(salted(quad.subject))
        elif isinstance(graph, NamedNode) and is_compact(graph.value):
            assert kind == COMPACT
            assert (int(rows.start[i]), int(rows.end[i])) == compact_times(graph.value)
            assert rows.instants.tolist() == [int(rows.end[i])]
        else:
            assert kind == STATED
            assert int(rows.graph[i]) == id_of(graph)
        if kind in (COMPACT, STATED):
            hashed = {hash_text(text): text for text in map(term_text, terms)}
            expected = sorted(id_ for id_ in hashed if id_ in map(id_of, terms))
            assert rows.terms.ids.tolist() == expected
            for j, id_ in enumerate(expected):
                assert rows.terms.text(j) == hashed[id_]
    return int(rows.kind[0]) if len(rows) else ODD


@pytest.mark.parametrize("line", PLAIN)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_plain_lines_need_no_second_parser(line, end):
    assert check_against_pyoxigraph((line + end).encode()) != ODD


@pytest.mark.parametrize("line", ODDITIES)
def test_unusual_lines_are_left_to_the_full_parser(line):
    assert scanned(line.encode()).kind[0] == ODD


SNIPPETS = [
    b"<", b">", b'"', b"\\", b" ", b"  ", b"\t", b".", b"#", b"#t=", b"%", b"%zz", b"@", b"@en",
    b"^^", b"_:b", b"_:", b"_", b":", b"//", b"[", b"]", b"\r", b"\n", b"\0", b"\x7f", b"\xc2\x85",
    b"\xff",
    b"\xef\xbf\xbe", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xee\x80\x80", b"0", b"-", b"+",
    b"Z", b",", b"T24:00:00", b"e", b"\\n", b"\\u0041", b"\\t", b"{", b"|", b"`", b"^", b"?",
    b"<a:b>", b"string", b"1", b"9999", b"--ltr", b"http://", b"\xc3\xa9", b"\xe2\x80\xa8",
]  # fmt: skip


@st.composite
def mutated_lines(draw):
    line = bytearray(draw(st.sampled_from(PLAIN + ODDITIES)).encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line)))
        cut = draw(st.sampled_from([0, 0, 0, 1, 1, 2, 8]))
        line[at : at + cut] = draw(st.sampled_from(SNIPPETS) | st.binary(max_size=2))
    return bytes(line)


@settings(max_examples=800, deadline=None)
@given(mutated_lines())
@example(b'<a:s> <a:p> "x"@en--ltr <a:g> .')
@example(b"<a:s> <a:p> <a:o> <a:g#t=2026-01-01T00:00:00Z>  .")
def test_no_mutation_of_a_line_makes_the_scanner_disagree_with_pyoxigraph(line):
    for part in line.split(b"\n"):
        if b"\r" not in part.rstrip(b"\r"):
            check_against_pyoxigraph(part)


lexical_forms = (
    st.from_regex(r"-?[0-9]{1,17}(\.[0-9]{0,17})?", fullmatch=True)
    | st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,8})?"
                    r"(Z|[+-][01][0-9]:[0-9]{2})?", fullmatch=True)
    | st.sampled_from(["true", "false", "1", "0", "", "-", "NaN", "+1", "00", "0.0", "-0"])
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    lexical_forms,
    st.sampled_from(["integer", "decimal", "double", "float", "dateTime", "boolean", "date"]),
)
@example("9007199254740992.0", "decimal")
@example("4503599627370495", "integer")
@example("4503599627370496", "integer")
@example("2540-01-01T00:00:00Z", "dateTime")
@example("1399-01-01T00:00:00Z", "dateTime")
def test_inline_values_have_the_id_of_their_term(lexical, datatype):
    term = Literal(lexical, datatype=NamedNode(XSD + datatype))
    rows = scanned(f"<a:s> <a:p> {term} <a:g> .".encode())
    assert rows.kind[0] == STATED
    assert int(rows.object[0]) == id_of(term)


def test_distinct_texts_of_a_piece_are_collected_once():
    line = "<a:s{0}> <a:p> <a:s{1}> <a:g#t=2026-01-01T00:00:0{0}Z> .\n"
    data = "".join(line.format(i % 7, i % 10) for i in range(20_000)).encode()
    rows = scan(data, keep=KEEP_ALL, stated=STATED_IDS, key=KEY)
    assert len(rows) == rows.lines == 20_000
    texts = {text.as_py() for text in rows.terms.texts()}
    assert texts == {b"<a:p>", *(b"<a:s%d>" % i for i in range(10))}
    assert rows.terms.ids.tolist() == sorted(map(hash_text, texts))
    assert set(np.unique(rows.subject)) | set(np.unique(rows.object)) < set(rows.terms.ids)


def test_rows_beyond_the_first_estimate_are_scanned_too():
    data = b"x\n" * 5000 + b"<a:s> <a:p> <a:o> <a:g#t=2026-01-01T00:00:00Z> .\n"
    rows = scan(data, keep=KEEP_ALL, stated=STATED_IDS, key=KEY)
    assert rows.kind.tolist() == [ODD] * 5000 + [BREAK, COMPACT]
    assert rows.lines == 5001


def test_unasked_predicates_leave_their_instants_but_no_rows():
    data = b"".join(
        b"<a:s%d> <a:p%d> <a:o> <a:g#t=2026-01-01T00:00:0%dZ> .\n" % (i, i % 2, i) for i in range(4)
    ) + b"<a:s> <a:p1> <a:o> <a:h> .\n"  # fmt: skip
    asked = np.array([hash_text(b"<a:p0>"), HASHED + 1])
    rows = scan(data, keep=keep_table(asked), stated=STATED_IDS, key=KEY)
    assert rows.kind.tolist() == [COMPACT, COMPACT, UNASKED]
    assert rows.elements == 4 and len(rows.instants) == 4
    texts = {text.as_py() for text in rows.terms.texts()}
    assert texts == {b"<a:s0>", b"<a:s2>", b"<a:p0>", b"<a:o>"}


def test_no_predicates_asked_for_is_not_all_of_them():
    data = b"<a:s> <a:p> <a:o> <a:g#t=2026-01-01T00:00:00Z> .\n"
    rows = scan(data, keep=keep_table(np.array([], np.int64)), stated=STATED_IDS, key=KEY)
    assert len(rows) == 0 and len(rows.instants) == 1

"""N-Quads: odd lines, stated times, rejects with their line, and pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import XSD, facts, instants, reasons, stated

from penstock.columns.ids import hash_text
from penstock.decode.decoder import Decoder
from penstock.decode.occurrences import concat
from penstock.decode.times import TimePredicates
from penstock.errors import InputError
from penstock.terms import NamedNode

NOON = "2026-01-01T12:00:00Z"


def decode(text: str | bytes, **options):
    data = text if isinstance(text, bytes) else text.encode()
    found, taken = Decoder("nquads", source="s.nq", **options).decode(data)
    assert taken == len(data)
    return found


def test_the_time_in_a_graph_name():
    found = decode(
        f"<a:s> <a:p> <a:o> <a:g#t={NOON}> .\n"
        "<a:s> <a:p> <a:o2> <a:g#t=2026-01-01T12:00:00+01:00,2026-01-01T12:00:00.0005Z> .\n"
        "<a:s> <a:p> <a:o3> <a:g#t=2026-01-01T24:00:00Z> .\n"
    )
    assert facts(found) == [
        "<a:s> <a:p> <a:o2> @ 2026-01-01T11:00:00.000Z … 2026-01-01T12:00:00.000500Z",
        "<a:s> <a:p> <a:o3> @ 2026-01-02T00:00:00.000Z",
        "<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z",
    ]
    assert found.elements == 3 and len(found.instants) == 3 and not found.rejects


def test_odd_but_valid_lines_give_the_same_terms_as_plain_ones():
    found = decode(
        "# a comment\n\n"
        f"  <a:s>\t<a:p>   <a:o><a:g#t={NOON}>.   # note\r\n"
        f'<a:s> <a:p> "\\u0041"^^<{XSD}string> <a:g#t={NOON}> .\n'
        f'<a:s> <a:p> "x"@EN <a:g#t={NOON}> .'
    )
    assert facts(found) == [
        '<a:s> <a:p> "A" @ 2026-01-01T12:00:00.000Z',
        '<a:s> <a:p> "x"@en @ 2026-01-01T12:00:00.000Z',
        "<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z",
    ]
    assert not found.rejects


def test_blank_nodes_differ_between_files_and_not_between_runs():
    line = f"_:b <a:p> _:c <a:g#t={NOON}> .\n".encode()
    again = [Decoder("nquads", source=name).decode(line)[0] for name in ("x.nq", "x.nq", "y.nq")]
    subjects = [found.subject[0] for found in again]
    assert subjects[0] == subjects[1] != subjects[2]
    assert again[0].subject[0] != again[0].object[0]
    joined = facts(again[0])[0]
    assert joined.startswith("_:b_") and " _:c_" in joined


def test_stated_times_in_any_order_inside_a_block():
    found = decode(
        "<a:s> <a:p> <a:o1> <a:g1> .\n"
        + stated("<a:g1>", NOON)
        + "<a:s> <a:p> <a:o2> <a:g1> .\n"
        + stated("_:g2", "2026-01-01T13:00:00+01:00", "endedAtTime")
        + "<a:s> <a:p> <a:o3> _:g2 .\n"
        + stated("_:g2", "2026-01-01T10:00:00Z", "startedAtTime")
    )
    assert facts(found) == [
        "<a:s> <a:p> <a:o1> @ 2026-01-01T12:00:00.000Z",
        "<a:s> <a:p> <a:o2> @ 2026-01-01T12:00:00.000Z",
        "<a:s> <a:p> <a:o3> @ 2026-01-01T10:00:00.000Z … 2026-01-01T12:00:00.000Z",
    ]
    assert found.elements == 2 and not found.rejects


def test_an_empty_element_is_an_instant():
    found = decode(stated("<a:g>", NOON))
    assert len(found) == 0 and found.elements == 1
    assert instants(found) == ["2026-01-01T12:00:00.000Z"]


def test_other_time_predicates():
    times = TimePredicates(at=NamedNode("a:when"))
    text = f'<a:g> <a:when> "{NOON}" .\n<a:s> <a:p> <a:o> <a:g> .\n'
    assert facts(decode(text, times=times)) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert len(decode(text)) == 0


QUAD = "<a:s> <a:p> <a:o> <a:g> .\n"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (QUAD, 1, "the element <a:g> has no time"),
        ("<a:s> <a:p> <a:o> .\n", 1, "belongs to no element"),
        (QUAD + stated("<a:g>", "2026-01-01T12:00:00"), 1, "not an instant with a time zone"),
        (QUAD + stated("<a:g>", "noon"), 1, "<a:g> is not an instant"),
        (stated("<a:g>", NOON) + stated("<a:g>", "2027-01-01T00:00:00Z"), 1, "two different"),
        (stated("<a:g>", NOON, "startedAtTime"), 1, "has a start but no end"),
        (stated("<a:g>", NOON, "endedAtTime") + QUAD, 1, "has an end but no start"),
        (
            stated("<a:g>", NOON, "startedAtTime")
            + stated("<a:g>", "2025-01-01T00:00:00Z", "endedAtTime"),
            1,
            "ends before it starts",
        ),
        ("<a:s> <a:p> <a:o> <a:g#t=2026-01-01T12:00:00> .\n", 1, "is not an instant"),
        (f"<a:s> <a:p> <a:o> <a:g#t={NOON},2026-01-01T11:00:00Z> .\n", 1, "ends before it starts"),
        (f"<a:s> <a:p> <a:o> <a:g#t={NOON},{NOON},{NOON}> .\n", 1, "more than two instants"),
        (stated(f"<a:g#t={NOON}>", "2027-01-01T00:00:00Z"), 1, "another time in its name"),
        ("<a:s> <a:p> <a:o> <a:g#t=2026-01-01T12:00:00Z>\n", 1, "dot"),
        (f"<s> <a:p> <a:o> <a:g#t={NOON}> .\n", 1, "IRI"),
        (f"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> <a:g#t={NOON}> .\n", 1, "triple terms"),
        (f"<a:s> <a:p> \"\udcff\" <a:g#t={NOON}> .\n", 1, "UTF-8"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_rejected_with_its_line_and_reason(text, line, reason):
    good = f"<a:s> <a:p> <a:good> <a:ok#t={NOON}> .\n"
    data = (good + text + good).encode(errors="surrogateescape")
    found = decode(data)
    assert {fact.split()[2] for fact in facts(found)} == {"<a:good>"} and len(found) == 2
    assert len(found.rejects) == 1
    reject = found.rejects[0]
    assert reject.line == line + 1 and reject.source == "s.nq"
    assert reason in reject.reason
    assert reject.text == data.split(b"\n")[1].decode(errors="replace")
    with pytest.raises(InputError, match=f"line {line + 1}: "):
        decode(data, strict=True)


def test_one_broken_line_does_not_harm_its_block():
    found = decode(stated("<a:g>", NOON) + "broken\n<a:x> <a:y> <a:z> .\n" + QUAD + stated("<a:h>", NOON))
    assert facts(found) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert [line for line, _ in reasons(found)] == [2, 3]
    assert found.elements == 2


def test_predicates_nobody_asked_for_still_need_a_time():
    asked = [hash_text(b"<a:p>")]
    found = decode(
        "<a:s> <a:other> <a:o> <a:g> .\n"
        + stated("<a:g>", NOON)
        + QUAD
        + f"<a:s> <a:other> <a:o> <a:c#t={NOON}> .\n<a:s> <a:other> <a:o> <a:lost> .\n",
        keep_predicates=asked,
    )
    assert facts(found) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert found.elements == 2 and [line for line, _ in reasons(found)] == [5]


def test_a_name_that_tells_its_time_may_be_confirmed_by_a_statement():
    found = decode(stated(f"<a:g#t={NOON}>", NOON) + f"<a:s> <a:p> <a:o> <a:g#t={NOON}> .\n")
    assert facts(found) == ["<a:s> <a:p> <a:o> @ 2026-01-01T12:00:00.000Z"]
    assert not found.rejects and instants(found) == ["2026-01-01T12:00:00.000Z"]


@st.composite
def streams(draw):
    """Lines of compact elements, stated blocks, odd lines and rejects."""
    lines = []
    for i in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["compact", "stated", "stated", "odd", "broken", "loose"]))
        if kind == "compact":
            lines.append(f"<a:s{i}> <a:p> <a:o> <a:g#t=2026-01-01T12:00:0{i}Z> .\n")
        elif kind == "odd":
            lines.append(f"_:b <a:p> <a:o{i}> <a:g#t=2026-01-01T12:00:0{i}Z> . # x\n")
        elif kind == "broken":
            lines.append("broken\n")
        elif kind == "loose":
            lines.append("<a:x> <a:y> <a:z> .\n")
        else:
            block = [f"<a:s> <a:p> <a:o{n}> <a:h{i}> .\n" for n in range(draw(st.integers(0, 3)))]
            if draw(st.integers(0, 4)):
                block.append(stated(f"<a:h{i}>", f"2026-01-01T12:00:0{i}Z"))
            lines += draw(st.permutations(block))
    return "".join(lines).encode()


@settings(max_examples=150, deadline=None)
@given(streams(), st.lists(st.integers(1, 120), min_size=1, max_size=10))
def test_pieces_of_any_size_give_what_the_whole_gives(data, sizes):
    whole = Decoder("nquads").decode(data)[0]
    decoder, parts, rest, at, n = Decoder("nquads"), [], b"", 0, 0
    while at < len(data):
        size = sizes[n % len(sizes)]
        rest += data[at : at + size]
        at, n = at + size, n + 1
        found, taken = decoder.decode(rest, final=False)
        parts.append(found)
        rest = rest[taken:]
    parts.append(decoder.decode(rest)[0])
    joined = concat(parts)
    assert facts(joined) == facts(whole)
    assert joined.instants.tolist() == whole.instants.tolist()
    assert joined.rejects == whole.rejects


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("@prefix : <http://e/> .", "trig"),
        ("PREFIX : <http://e/>", "trig"),
        ("<x:g> { <x:s> <x:p> <x:o> }", "trig"),
        ("GRAPH <x:g> {", "trig"),
        ('{"@id": "x:g", "@graph": []}', "jsonld"),
        ("[", "jsonld"),
    ],
)
def test_lines_of_another_format_get_the_option_that_names_it(text, option):
    found, _ = Decoder("nquads", source="-").decode(f"{text}\n".encode())
    assert f"--stream-format {option}" in found.rejects[0].reason


@pytest.mark.parametrize("text", ["<x:s> <x:p> <x:o>", "garbage", '<x:s> <x:p> "{" <x:g'])
def test_broken_lines_are_not_taken_for_another_format(text):
    found, _ = Decoder("nquads", source="-").decode(f"{text} ^\n".encode())
    assert "--stream-format" not in found.rejects[0].reason

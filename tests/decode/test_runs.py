"""Elements are counted once, wherever their lines are cut; and given whole, with their names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import stated

from penstock.columns.terms import TermTable
from penstock.decode.decoder import Decoder, decode_file
from penstock.decode.occurrences import Occurrences, concat
from penstock.timeline import NEVER

NAME = "<urn:e{}#t=2026-01-01T12:00:{:02d}Z>"
LINE = "<urn:s> <urn:p> <urn:o> {} .\n"


def line(element: int, odd: bool = False) -> str:
    text = LINE.format(NAME.format(element, element))
    return text.replace("<urn:o>", '"\\u0041"').replace("> .", "> . # odd") if odd else text


def runs(elements: list[int]) -> int:
    return sum(before != after for before, after in zip([None, *elements], elements, strict=False))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12))
def test_lines_for_the_full_parser_do_not_cut_an_element(lines):
    text = "".join(line(*each) for each in lines)
    found, _ = Decoder("nquads").decode(text.encode())
    assert found.elements == runs([element for element, _ in lines])
    assert len(found) == len(lines)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12), st.integers(50, 400))
def test_neither_do_the_borders_of_pieces(lines, size):
    data = "".join(line(*each) for each in lines).encode()
    decoder, rest, elements = Decoder("nquads"), b"", 0
    for at in range(0, len(data), size):
        piece = rest + data[at : at + size]
        found, taken = decoder.decode(piece, final=at + size >= len(data))
        rest, elements = piece[taken:], elements + found.elements
    assert elements == runs([element for element, _ in lines])


def test_an_element_that_is_longer_than_many_splits_is_in_one_of_them(tmp_path):
    path = tmp_path / "long.nq"
    path.write_text(line(1) + line(2) * 5000 + line(3))
    bounds = [*range(0, path.stat().st_size, 10_000), path.stat().st_size]
    parts = [concat(decode_file(path, begin=a, end=b)) for a, b in zip(bounds, bounds[1:], strict=False)]
    assert [len(part) for part in parts if len(part)] == [5001, 1]
    assert sum(part.elements for part in parts) == 3


def named(found: Occurrences) -> list[str]:
    table = TermTable(found.terms)
    columns = (found.graph, found.subject, found.predicate, found.object)
    texts = zip(*(table.texts(column).to_pylist() for column in columns), strict=True)
    return sorted(" ".join("-" if text is None else text.decode() for text in row) for row in texts)


def test_every_triple_has_its_elements_name_and_an_empty_element_has_a_row():
    at = "2026-01-01T12:00:00Z"
    text = line(1) + stated("<urn:e2>", at) + LINE.format("<urn:e2>") + stated("_:e3", at) + line(4, True)
    found, _ = Decoder("nquads", source="s", keep_predicates=[1], named=True).decode(text.encode())
    rows = named(found)
    assert rows[:2] == ["<urn:e1#t=2026-01-01T12:00:01Z> <urn:s> <urn:p> <urn:o>",
                        "<urn:e2> <urn:s> <urn:p> <urn:o>"]  # fmt: skip
    assert rows[2] == '<urn:e4#t=2026-01-01T12:00:04Z> <urn:s> <urn:p> "A"'
    assert rows[3].startswith("_:e3_") and rows[3].endswith(" - - -")
    assert found.elements == 4


def test_only_what_ended_before_an_instant_is_taken():
    text = line(1) + line(5) + line(3, True)
    found, _ = Decoder("nquads", named=True).decode(text.encode())
    early = found.ended_within(NEVER, int(found.instants[-1]) - 1)
    assert [row.split("#")[0] for row in named(early)] == ["<urn:e1", "<urn:e3"]
    assert len(early.terms) < len(found.terms)
    assert not len(found.ended_within(NEVER, int(found.instants[0]) - 1))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.trig",
            "<urn:e#t=2026-01-01T12:00:00Z> { <urn:s> <urn:p> 1, 2 }\n"
            '<urn:f> { } <urn:f> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T12:00:00Z" .',
            ["<urn:e#t=2026-01-01T12:00:00Z>"] * 2 + ["<urn:f>"],
        ),
        (
            "a.jsonl",
            '{"@id": "urn:e#t=2026-01-01T12:00:00Z", "@graph": {"@id": "urn:s", "urn:p": 1}}\n',
            ["<urn:e#t=2026-01-01T12:00:00Z>"],
        ),
        (
            "a.csv",
            "s,p,o,start,graph\nurn:s,urn:p,urn:o,2026-01-01T12:00:00Z,urn:e\n"
            "urn:s,urn:p,urn:o,2026-01-01T12:00:00Z,\n",
            ["-", "<urn:e>"],
        ),
    ],
)
def test_all_formats_tell_the_names(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    rows = named(concat(decode_file(tmp_path / name, named=True)))
    assert [row.split(" ")[0] for row in rows] == expected

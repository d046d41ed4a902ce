"""However a file is cut and however small the buffers are: it decodes as in one piece, as by pyoxigraph."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse
from tests.decode.facts import facts, instants, reasons

from penstock.columns import terms
from penstock.columns.terms import TermTable
from penstock.decode import nquads
from penstock.decode.decoder import Decoder, decode_file
from penstock.decode.occurrences import concat
from penstock.timeline import format_instant

PROV = "http://www.w3.org/ns/prov#"
XSD = "http://www.w3.org/2001/XMLSchema#"


def lines_of(seed: int, count: int) -> list[str]:
    """Lines of a stream: canonical, odd and broken ones, of elements with both kinds of times."""
    dice = random.Random(seed)
    lines: list[str] = []
    while len(lines) < count:
        second, n = dice.randrange(60), dice.randrange(5)
        time = f"2026-01-01T00:00:{second:02d}Z"
        stated = dice.random() < 0.4
        # Few names, so that elements are interrupted, go on and come again.
        name = dice.choice([f"<x:e{n % 2}>", f"_:e{n % 2}"]) if stated else f"<http://e/g{n}#t={time}>"
        block = []
        for _ in range(dice.randrange(4)):
            subject = dice.choice(["<http://e/s1>", "<http://e/ü>", "_:b1", "_:b.x", "<http://e/s\\u0041>"])
            text = "t" * dice.randrange(60) + str(dice.randrange(9))
            numbers = [f'"{dice.randrange(40)}"^^<{XSD}integer>', f'"{dice.randrange(4)}.50"^^<{XSD}decimal>']
            value = dice.choice(
                ["<http://e/o>", "_:b1", '"a\\u0042"', '"x"@EN', '"é"', f'"{text}"', *numbers]
            )
            end = dice.choice(["\n", "\n", "\n", "\r\n", " # remark\n", "\n\n"])
            block.append(f"{subject} <http://e/p{dice.randrange(3)}> {value} {name} .{end}")
        if stated and dice.random() < 0.9:
            at = f'{name} <{PROV}generatedAtTime> "{time}"^^<{XSD}dateTime> .\n'
            block.insert(dice.randrange(len(block) + 1), at)
        if dice.random() < 0.2:
            about = f'<{PROV}generatedAtTime> "{time}"^^<{XSD}dateTime> .\n'
            broken = ["garbage\n", '<x:s> <x:p> "open\n', "<x:s> <x:p> <x:o> .\n", "# remark\n", "\n"]
            # What reads as a statement about another element and is none; the same name written otherwise;
            # two statements on a line; a time that is stated twice.
            broken += ["<x:s> <x:p> <no iri> <x:e0> .\n", '<x:s> <x:p> "a"@1 <x:e1> .\n']
            broken += ["<x:s> <x:p> <x:o> <http://e/g1#t=soon> .\n", "<x:s> <x:p> <x:o> <x:\\u00650> .\n"]
            broken += ["<x:s> <x:p> <x:o> <x:e0> .\r<x:s> <x:p> <x:o> <x:e1> .\n"]
            broken += [f"<http://e/g{n}#t={time}> {about}", f"<x:e0> {about}", f"<x:e1> {about}"]
            block.insert(dice.randrange(len(block) + 1), dice.choice(broken))
        lines += block
    return lines


def rows(found) -> list[tuple]:
    """The occurrences with their elements' names; those of elements without triples have none."""
    table = TermTable(found.terms)
    columns = [
        table.texts(ids).to_pylist() for ids in (found.subject, found.predicate, found.object, found.graph)
    ]
    return sorted(zip(*columns, found.start.tolist(), found.end.tolist(), strict=True), key=repr)


def told(found) -> tuple:
    return facts(found), sorted(reasons(found)), instants(found), found.elements


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**9), st.integers(1, 40), st.integers(1, 900), st.lists(st.integers(0, 4000), max_size=5)
)
def test_cuts_and_small_pieces_change_nothing(tmp_path_factory, seed, count, piece, cuts):
    path = tmp_path_factory.mktemp("cuts") / "a.nq"
    data = "".join(lines_of(seed, count)).encode()
    path.write_bytes(data)
    whole, _ = Decoder("nquads", source=str(path)).decode(data)
    bounds = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [
        part
        for begin, end in zip(bounds, bounds[1:], strict=False)
        for part in decode_file(path, begin=begin, end=end, piece_bytes=piece)
    ]
    assert told(concat(parts)) == told(whole)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 60), st.integers(1, 500))
def test_tables_that_begin_tiny_and_grow_change_nothing(tmp_path_factory, seed, count, piece):
    path = tmp_path_factory.mktemp("tiny") / "a.nq"
    data = "".join(lines_of(seed, count)).encode()
    path.write_bytes(data)
    expected = told(concat(decode_file(path))), rows(concat(decode_file(path, named=True)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nquads, "LEAST_TERMS", 1)
        patch.setattr(nquads, "LEAST_ROWS", 1)
        patch.setattr(nquads, "LEAST_LINE", 10**9)
        patch.setattr(terms, "LEAST_TERMS", 1)
        patch.setattr(terms, "LEAST_BYTES", 1)
        assert told(concat(decode_file(path, piece_bytes=piece))) == expected[0]
        assert rows(concat(decode_file(path, piece_bytes=piece, named=True))) == expected[1]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 30), st.sampled_from(["nquads", "trig", "jsonld"]))
def test_compact_elements_decode_as_pyoxigraph_parses_them(seed, count, form):
    dice = random.Random(seed)
    texts, quads = [], []
    for _ in range(count):
        name = f"http://e/g{dice.randrange(9)}#t=2026-01-01T00:00:{dice.randrange(60):02d}Z"
        object_ = dice.choice(
            ["<http://e/ö>", '"a\\u00e9\\n"', '"x"@de-ch', '"1.50"', f'"7"^^<{XSD}integer>']
        )
        text = f"<http://e/s{dice.randrange(3)}> <http://e/p> {object_} <{name}> .\n"
        [quad] = parse(text.encode(), RdfFormat.N_QUADS)
        quads.append(quad)
        if form == "nquads":
            texts.append(text)
        elif form == "trig":
            texts.append(f"<{name}> {{ {quad.subject} {quad.predicate} {quad.object} }}\n")
        else:
            texts.append(json.dumps({"@id": name, "@graph": [node_of(quad)]}) + "\n")
    found, _ = Decoder(form, source="s").decode("".join(texts).encode())
    expected = []
    for quad in quads:
        second = int(quad.graph_name.value[-3:-1])
        time = format_instant(1_767_225_600_000_000 + second * 1_000_000)
        expected.append(f"{quad.subject} {quad.predicate} {quad.object} @ {time}")
    assert facts(found) == sorted(expected) and not found.rejects


def node_of(quad) -> dict:
    value = {"@id": quad.object.value}
    if not hasattr(quad.object, "language"):
        pass
    elif quad.object.language:
        value = {"@value": quad.object.value, "@language": quad.object.language}
    else:
        value = {"@value": quad.object.value, "@type": quad.object.datatype.value}
    return {"@id": quad.subject.value, quad.predicate.value: value}


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 10**9),
    st.sampled_from(["nquads", "trig", "jsonld"]),
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=4)), max_size=6),
)
def test_no_bytes_end_a_run(seed, form, changes):
    data = bytearray("".join(lines_of(seed, 8)).encode())
    if form == "jsonld":
        name = "x:g#t=2026-01-01T00:00:00Z"
        data = (
            bytearray(json.dumps({"@id": name, "@graph": [{"@id": "x:s", "x:p": [1, "a"]}]}).encode() + b"\n")
            * 3
        )
    elif form == "trig":
        data = bytearray(
            b'@prefix : <x:> .\n<x:g#t=2026-01-01T00:00:00Z> { :s :p 1 , "a"@en ; :q [ :r () ] }\n' * 2
        )
    for at, some in changes:
        at %= len(data)
        data[at : at + len(some)] = some
    Decoder(form, source="s").decode(bytes(data))

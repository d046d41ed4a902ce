"""Graphs as files: what is written is what is read again."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
import zstandard
from pyoxigraph import RdfFormat, parse

from penstock.columns.terms import TermTable
from penstock.errors import StorageError, UsageError
from penstock.knowledge.graphs import graph_of
from penstock.sinks.graphs import GraphColumns, GraphOutput, lines_of
from penstock.terms import XSD, BlankNode, Literal, NamedNode

TRIPLES = [
    (NamedNode("http://e/a"), NamedNode("http://e/p"), value)
    for value in (
        Literal("1", datatype=XSD.integer),
        Literal("-12.30", datatype=XSD.decimal),
        Literal("2026-05-01T08:00:00Z", datatype=XSD.dateTime),
        Literal("true", datatype=XSD.boolean),
        Literal('a "quoted"\ntext \\ with ä and 👪', language="en"),
        Literal(""),
        NamedNode("http://e/ö"),
        BlankNode("n"),
    )
] + [(BlankNode("n"), NamedNode("http://e/q"), NamedNode("http://e/a"))]


def columns(name: str | None = None, triples=TRIPLES) -> GraphColumns:
    graph = graph_of(triples, name)
    return GraphColumns(name, graph.triples, TermTable(graph.terms))


def quads(data: bytes, form: RdfFormat) -> set:
    return {
        (str(quad.graph_name), *("_" if isinstance(term, BlankNode) else str(term) for term in quad.triple))
        for quad in parse(data, form)
    }


def told(*names: str | None) -> set:
    return {
        (
            "DEFAULT" if name is None else f"<{name}>",
            *("_" if isinstance(t, BlankNode) else str(t) for t in triple),
        )
        for name in names
        for triple in TRIPLES
    }


@pytest.mark.parametrize(
    ("ending", "form"),
    [
        (".nt", RdfFormat.N_TRIPLES),
        (".nq", RdfFormat.N_QUADS),
        (".ttl", RdfFormat.TURTLE),
        (".trig", RdfFormat.TRIG),
    ],
)
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("portion", [2, 1000])
def test_what_is_written_can_be_read(tmp_path, ending, form, compression, portion):
    path = tmp_path / "new" / f"out{ending}{compression}"
    GraphOutput(path).write([columns()], portion=portion)
    data = path.read_bytes()
    if compression == ".gz":
        data = gzip.decompress(data)
    elif compression == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert quads(data, form) == told(None)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(("ending", "form"), [(".nq", RdfFormat.N_QUADS), (".trig", RdfFormat.TRIG)])
def test_named_graphs(tmp_path, ending, form):
    path = tmp_path / f"out{ending}"
    file = GraphOutput(path)
    file.check([None, "http://e/g"])
    file.write([columns(), columns("http://e/g")], portion=3)
    assert quads(path.read_bytes(), form) == told(None, "http://e/g")


def test_a_graph_that_is_named_by_a_blank_node():
    graph = columns()
    [lines] = lines_of(GraphColumns("_:g1", graph.triples, graph.terms))
    assert all(line.endswith(b" _:g1 .") for line in lines.tobytes().splitlines())


def test_lines_are_triples_of_the_columns_in_their_order():
    graph = columns()
    lines = b"".join(lines_of(graph, 2)).splitlines()
    assert len(lines) == len(TRIPLES)
    expected = [" ".join(str(graph.terms.term(i)) for i in row) + " ." for row in graph.triples.T.tolist()]
    assert [line.decode() for line in lines] == expected


def test_nothing_is_a_file_without_triples(tmp_path):
    GraphOutput(tmp_path / "out.nt").write([GraphColumns(None, np.empty((3, 0), np.int64), TermTable())])
    assert (tmp_path / "out.nt").read_bytes() == b""


def test_standard_output(capfdbinary):
    GraphOutput("-").write([columns("http://e/g")])
    assert quads(capfdbinary.readouterr().out, RdfFormat.N_QUADS) == told("http://e/g")


def test_a_device_takes_what_it_gets():
    GraphOutput("/dev/null").write([columns("http://e/g")])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.csv", "the ending of .*out.csv names no format for triples"),
        ("out", "the ending of .*out names no format"),
        ("out.gz", "names no format"),
        ("there.nt", "there.nt exists already"),
        (".", "is a directory"),
    ],
)
def test_places_that_are_refused_before_any_work(tmp_path, name, message):
    (tmp_path / "there.nt").write_text("<http://a> <http://b> <http://c> .\n")
    with pytest.raises(UsageError, match=message):
        GraphOutput(tmp_path / name)
    GraphOutput(tmp_path / "there.nt", overwrite=True)


@pytest.mark.parametrize("ending", [".nt", ".ttl"])
def test_formats_without_names_refuse_named_graphs(tmp_path, ending):
    with pytest.raises(UsageError, match="there is a named graph, <http://e/g>"):
        GraphOutput(tmp_path / f"out{ending}").check([None, "http://e/g"])


def test_what_was_there_stays_until_the_new_file_is_complete(tmp_path):
    path = tmp_path / "out.nt"
    path.write_text("old\n")

    def breaking():
        yield columns()
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        GraphOutput(path, overwrite=True).write(breaking())
    assert path.read_text() == "old\n" and os.listdir(tmp_path) == ["out.nt"]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        GraphOutput(tmp_path / "file" / "out.nt").write([columns()])


def test_the_same_triples_are_the_same_bytes(tmp_path):
    for name in ("a.nt.gz", "b.nt.gz"):
        GraphOutput(tmp_path / name).write([columns()])
    assert (tmp_path / "a.nt.gz").read_bytes() == (tmp_path / "b.nt.gz").read_bytes()

"""Static graphs: every format gives the same quads, and errors tell their place."""

from __future__ import annotations

import gzip

import pytest
import zstandard
from pyoxigraph import RdfFormat, parse, serialize

from penstock.decode.graphs import read_graph
from penstock.errors import InputError, UsageError
from penstock.terms import BlankNode, NamedNode

TURTLE = b'@prefix : <http://e/> . :s :p "x"@en, 1 . :t :q :s .'
TRIPLES = {(q.subject, q.predicate, q.object) for q in parse(TURTLE, RdfFormat.TURTLE)}


@pytest.mark.parametrize(
    ("suffix", "format_"),
    [
        (".ttl", RdfFormat.TURTLE),
        (".nt", RdfFormat.N_TRIPLES),
        (".nq", RdfFormat.N_QUADS),
        (".trig", RdfFormat.TRIG),
        (".rdf", RdfFormat.RDF_XML),
        (".jsonld", RdfFormat.JSON_LD),
    ],
)
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_all_formats_plain_and_compressed(tmp_path, suffix, format_, compression):
    data = serialize(parse(TURTLE, RdfFormat.TURTLE), format=format_)
    data = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[compression](data)
    path = tmp_path / f"g{suffix}{compression}"
    path.write_bytes(data)
    quads = list(read_graph(path))
    assert {(q.subject, q.predicate, q.object) for q in quads} == TRIPLES


def test_named_graphs_and_relative_iris(tmp_path):
    path = tmp_path / "g.trig"
    path.write_text("<http://e/g> { <s> <#p> <http://e/o> }")
    (quad,) = read_graph(path)
    assert quad.graph_name == NamedNode("http://e/g")
    assert quad.subject.value == (tmp_path / "s").as_uri()
    (quad,) = read_graph(path, base="http://b/")
    assert quad.predicate.value == "http://b/#p"


def test_blank_nodes_are_the_same_in_every_run_and_differ_between_files(tmp_path):
    one, other = tmp_path / "a.ttl", tmp_path / "b.ttl"
    for path in (one, other):
        path.write_text("_:x <http://e/p> [ <http://e/q> _:x ] .")
    first, again, different = (list(read_graph(path)) for path in (one, one, other))
    assert set(first) == set(again)
    nodes = {term for quad in first for term in quad if isinstance(term, BlankNode)}
    others = {term for quad in different for term in quad if isinstance(term, BlankNode)}
    assert len(nodes) == 2 and not nodes & others


def test_a_syntax_error_tells_file_line_and_column(tmp_path):
    path = tmp_path / "g.ttl"
    path.write_text("<http://e/s> <http://e/p> 1 .\n<http://e/s> <http://e/p> ^ .\n")
    with pytest.raises(InputError) as caught:
        list(read_graph(path))
    assert caught.value.span.line == 2 and caught.value.span.column == 27
    assert str(path) in str(caught.value) and "    " + "^" in str(caught.value)


def test_other_faults(tmp_path):
    with pytest.raises(UsageError, match="not known"):
        list(read_graph(tmp_path / "g.docx"))
    with pytest.raises(UsageError, match="cannot read"):
        list(read_graph(tmp_path / "none.ttl"))
    path = tmp_path / "g.ttl.gz"
    path.write_bytes(gzip.compress(TURTLE * 10)[:-12])
    with pytest.raises(InputError, match="cut off"):
        list(read_graph(path))
    path = tmp_path / "g.jsonld"
    path.write_text('{"@context": "http://e/c", "p": 1}')
    with pytest.raises(InputError, match="remote JSON-LD contexts"):
        list(read_graph(path))

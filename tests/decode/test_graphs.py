"""Static graphs: every format gives the same quads, and errors tell their place."""

from __future__ import annotations

import gzip
from collections import Counter
from random import Random

import pytest
import zstandard
from pyoxigraph import Quad, RdfFormat, parse, serialize
from tests.decode.facts import quads_of

from penstock.decode.canonical import SaltedLabels
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
    quads = quads_of(read_graph(path))
    assert {(q.subject, q.predicate, q.object) for q in quads} == TRIPLES


def test_named_graphs_and_relative_iris(tmp_path):
    path = tmp_path / "g.trig"
    path.write_text("<http://e/g> { <s> <#p> <http://e/o> }")
    (quad,) = quads_of(read_graph(path))
    assert quad.graph_name == NamedNode("http://e/g")
    assert quad.subject.value == (tmp_path / "s").as_uri()
    (quad,) = quads_of(read_graph(path, base="http://b/"))
    assert quad.predicate.value == "http://b/#p"


BLANK = {
    ".ttl": "_:x <http://e/p> [ <http://e/q> _:x ] .",
    ".nt": "_:x <http://e/p> _:y . # odd\n_:y <http://e/q> _:x .\n",
}


@pytest.mark.parametrize("suffix", BLANK)
def test_blank_nodes_are_the_same_in_every_run_and_differ_between_files(tmp_path, suffix):
    one, other = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in (one, other):
        path.write_text(BLANK[suffix])
    first, again, different = (quads_of(read_graph(path)) for path in (one, one, other))
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


LINES = [
    '<http://e/s> <http://e/p> "x" .',
    '<http://e/s> <http://e/p> "y"@en-GB <http://e/g> .',
    "<http://e/s> <http://e/p> _:a .",
    "_:a <http://e/p>   <http://e/ä> _:g . # a comment",
    '<http://e/s> <http://e/p> "\\u00e4 \\n \\"" <http://e/s> .',
    '  <http://e/s> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    '<http://e/s> <http://e/p> "007"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    '<http://e/s> <http://e/p> "z"^^<http://e/type> <http://e/g#t=2026-01-01T00:00:00Z> .',
    '<http://e/s> <http://www.w3.org/ns/prov#generatedAtTime> "no time at all" .',
    "# only a comment",
    "",
    "<http://e/s> <http://e/p> <http://e/o> .\r",
]


@pytest.mark.parametrize("piece", [64, 100, 1 << 20])
@pytest.mark.parametrize("portion", [1, 3, 1000])
def test_the_scanner_reads_what_the_full_parser_reads(tmp_path, piece, portion):
    random = Random(f"{piece} {portion}")
    path = tmp_path / "g.nq"
    for _ in range(20):
        text = "\n".join(random.choices(LINES, k=random.randrange(30))) + random.choice(["", "\n"])
        path.write_text(text)
        found = quads_of(read_graph(path, piece=piece, portion=portion, key=5))
        salt = SaltedLabels(str(path))
        expected = [
            Quad(*(BlankNode(salt(term)[2:]) if isinstance(term, BlankNode) else term for term in quad))
            for quad in parse(text.encode(), RdfFormat.N_QUADS)
        ]
        assert Counter(map(str, found)) == Counter(map(str, expected))


WRONG = [
    "<http://e/s> <http://e/p> ^ .",
    "<http://e/s> <http://e/p> <rel> .",
    "<http://e/s> <http://e/p> 1 .",
    '<http://e/s> "p" <http://e/o> .',
    "<http://e/s> <http://e/p> <http://e/o>",
    "<http://e/s> <http://e/p> <http://e/o> <http://e/g> .",
    "{",
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("portion", [1, 1000])
def test_a_wrong_line_is_found_in_its_place(tmp_path, wrong, portion):
    """As pyoxigraph finds it in the whole file, also in a later piece and among other odd lines."""
    good = "<http://e/s> <http://e/p> <http://e/o> .\n# odd\n"
    path = tmp_path / "g.nt"
    path.write_text(good * 20 + f"  {wrong}\n" + good)
    with pytest.raises(SyntaxError) as expected:
        list(parse(path.read_bytes(), RdfFormat.N_TRIPLES))
    with pytest.raises(InputError) as caught:
        list(read_graph(path, piece=300, portion=portion))
    assert caught.value.span.line == 41
    if not wrong.endswith("o>"):  # there pyoxigraph looks for the dot in the next line
        assert (expected.value.lineno, expected.value.offset) == (41, caught.value.span.column)
        assert caught.value.message in str(expected.value)
    assert wrong in str(caught.value) and f"{path}:41:" in str(caught.value)


def test_lines_that_only_stand_together_here_do_not_complete_each_other(tmp_path):
    path = tmp_path / "g.nt"
    path.write_text("<x:a> <x:b> <x:c>\n<x:a> <x:b> <x:d> .\n.\n")
    with pytest.raises(InputError, match="dot") as caught:
        list(read_graph(path))
    assert caught.value.span.line == 1


@pytest.mark.parametrize("suffix", ["ttl", "nt"])
def test_triples_as_terms_are_refused(tmp_path, suffix):
    path = tmp_path / f"g.{suffix}"
    path.write_text("<x:s> <x:p> <x:o> .\n<x:s> <x:p> <<( _:b <x:q> <x:o> )>> .\n")
    with pytest.raises(InputError, match="triple terms") as caught:
        list(read_graph(path))
    assert str(path) in str(caught.value)
    assert suffix == "ttl" or caught.value.span.line == 2

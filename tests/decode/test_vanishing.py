"""Nothing vanishes: what comes in is an occurrence, a counted reject, or no data by the format's rules."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.facts import facts, quads_of, reasons

from penstock.decode.decoder import Decoder
from penstock.decode.graphs import read_graph
from penstock.errors import InputError, UsageError
from penstock.sources.streams import StreamSpec

AT = "http://www.w3.org/ns/prov#generatedAtTime"
NAME = "http://e/g#t=2026-01-01T00:00:00Z"


def element(*nodes, name: str | None = NAME, **more) -> dict:
    return {"@context": {"@vocab": "http://e/"}, "@id": name, "@graph": list(nodes), **more}


def json_ld(*documents, **options):
    text = "".join(json.dumps(document) + "\n" for document in documents)
    return Decoder("jsonld", source="s.jsonl", **options).decode(text.encode())[0]


GOOD = element({"@id": "x:good", "p": 1})
LATER = element({"@id": "x:good", "p": 1}, name="http://e/g#t=2026-01-01T00:00:01Z")
LOST = {
    "the element's @id is relative": element(
        {"@id": "x:s", "p": 1}, name="rel", **{AT: "2026-01-01T00:00:00Z"}
    ),
    "the element's @id is a path": element({"@id": "x:s", "p": 1}, name="/a/../b"),
    "the @id of an element is empty": element({"@id": "x:s", "p": 1}, name=""),
    "a node's @id is relative": element({"@id": "rel", "p": 1}, {"@id": "x:s", "p": 1}),
    "a node's @id is a host": element({"@id": "//host/rel", "p": 1}),
    "an object is relative": element({"@id": "x:s", "p": {"@id": "rel"}, "q": 1}),
    "@type is relative": {"@id": NAME, "@graph": [{"@id": "x:s", "@type": "Foo", "x:q": 1}]},
    "a datatype is relative": {
        "@id": NAME,
        "@graph": [{"@id": "x:s", "x:q": {"@value": "1", "@type": "t"}}],
    },
    "@vocab is relative": {"@context": {"@vocab": "v#"}, "@id": NAME, "@graph": [{"@id": "x:s", "q": 1}]},
    "an item of a list is relative": element({"@id": "x:s", "p": {"@list": [1, {"@id": "rel"}]}}),
    "an IRI is invalid": element({"@id": "http://e/a b", "p": 1}, {"@id": "x:s", "p": 1}),
    "an object is invalid": element({"@id": "x:s", "p": [{"@id": "http://e/<"}, 2]}),
    "a predicate is invalid": element({"@id": "x:s", "http://e/a b": 1, "p": 2}),
    "a datatype is invalid": element({"@id": "x:s", "p": {"@value": "1", "@type": "http://e/a b"}}),
    "a language tag is invalid": element({"@id": "x:s", "p": {"@value": "a", "@language": "en_US"}}),
    "a blank node is a predicate": element({"@id": "x:s", "_:p": 1, "p": 2}),
    "the context is remote": {
        "@context": "http://e/c.jsonld",
        "@id": NAME,
        "@graph": [{"@id": "x:s", "x:p": 1}],
    },
    "nothing is mapped": {"@id": NAME, "@graph": [{"temperature": 21.5}]},
    "it is a number": 5,
    "it is null": None,
    "it is empty": {},
}


@pytest.mark.parametrize("case", LOST)
def test_a_document_with_something_that_json_ld_parsers_drop_is_rejected_once(case):
    found = json_ld(GOOD, LOST[case], LATER)
    assert [line for line, _ in reasons(found)] == [2], reasons(found)
    assert len(found) == 2 and all("x:good" in fact for fact in facts(found))
    assert found.elements == 2


def test_keys_that_no_context_maps_are_no_data_by_the_rules_of_json_ld():
    found = json_ld({"@id": NAME, "@graph": [{"@id": "x:s", "unit": "C", "x:p": 1, "x:q": None}]})
    assert len(found) == 1 and not found.rejects


def test_a_graph_inside_an_element_is_an_element_that_needs_a_time():
    found = json_ld(element({"@id": "x:s", "p": 1, "@graph": [{"@id": "x:t", "p": 2}]}))
    assert len(found) == 1 and "the element <x:s> has no time" in found.rejects[0].reason


@pytest.mark.parametrize("form", ["jsonld", "trig"])
def test_relative_iris_are_resolved_against_a_base(form):
    data = {
        "jsonld": json.dumps(element({"@id": "s", "p": {"@id": "../o"}}, name="g#t=2026-01-01T00:00:00Z")),
        "trig": "<g#t=2026-01-01T00:00:00Z> { <s> <http://e/p> <../o> }",
    }[form].encode()
    found, _ = Decoder(form, source="s", base="http://b/c/d").decode(data)
    assert facts(found) == ["<http://b/c/s> <http://e/p> <http://b/o> @ 2026-01-01T00:00:00.000Z"]
    assert not found.rejects
    found, _ = Decoder(form, source="s").decode(data)
    assert len(found) == 0 and len(found.rejects) == 1 and "--base" in found.rejects[0].reason


def test_of_trig_only_the_elements_with_a_relative_iri_are_rejected():
    text = (
        f"<{NAME}> {{ <x:s> <x:p> <x:o> }}\n"
        "<x:a> { <x:s> <x:p> <x:o> }\n"
        f'<x:a> <{AT}> "2026-01-01T00:00:00Z" .\n'
        "<x:a> { <x:s> <x:p> <rel> , <rel2> }\n"
        f'<b> <{AT}> "2026-01-01T00:00:00Z" .\n'
        "<b> { <x:s> <x:p> <x:o> }\n"
        "<x:s> <x:p> <rel> .\n"
    )
    found, _ = Decoder("trig", source="s").decode(text.encode())
    assert len(found) == 1 and found.elements == 1
    assert [(line, reason.split(" ", 1)[0]) for line, reason in reasons(found)] == [
        (4, "<rel>"),
        (5, "<b>"),
        (7, "<rel>"),
    ]


@pytest.mark.parametrize(
    ("prologue", "said"),
    [
        ("PREFIX : <h?p://e/>", "<h?p://e/>"),
        ("PREFIX a: <http://e/>\n@prefix : <h?p://e/> .\n", "<h?p://e/>"),
        ("PREFIX : <>", "<>"),
        ("BASE <x>", "<x>"),
        ("PREFIX : <h?p://e/", None),
        ("PREFIX : <http://e/>\nPREFIX", None),
    ],
)
def test_a_trig_file_that_is_nothing_but_a_broken_prologue_is_rejected(prologue, said):
    found, _ = Decoder("trig", source="s").decode(prologue.encode())
    [(_, reason)] = reasons(found)
    assert (
        reason.startswith(f"{said} is a relative IRI") if said else "the rest of the TriG document" in reason
    )
    with pytest.raises(InputError):
        Decoder("trig", source="s", strict=True).decode(prologue.encode())
    if said:  # with a base it says something
        assert not Decoder("trig", source="s", base="http://e/").decode(prologue.encode())[0].rejects


@pytest.mark.parametrize("text", ["", "# nothing\n", "PREFIX : <http://e/>\nBASE <http://e/>\n"])
def test_a_trig_file_without_statements_is_fine_otherwise(text):
    assert not Decoder("trig", source="s").decode(text.encode())[0].rejects


def test_a_base_must_be_absolute():
    with pytest.raises(UsageError, match="not an absolute IRI"):
        StreamSpec(None, ("a.jsonld",), base="data/")


def test_static_graphs_in_json_ld_lose_nothing_either(tmp_path):
    path = tmp_path / "g.jsonld"
    path.write_text(json.dumps({"@id": "rel", "http://e/p": {"@value": "a", "@language": "en_US"}}))
    with pytest.raises(InputError, match="'en_US' is not a language tag"):
        list(read_graph(path))
    path.write_text(json.dumps({"@id": "rel", "http://e/p": 1}))
    assert [quad.subject.value for quad in quads_of(read_graph(path, base="http://b/x"))] == ["http://b/rel"]


iris = st.sampled_from(["x:a", "http://e/ä", "_:b"]) | st.sampled_from(["rel", "http://e/a b", "", "#f"])
values = st.one_of(
    st.integers(0, 9),
    st.builds(lambda i: {"@id": i}, iris),
    st.builds(
        lambda tag: {"@value": "v", "@language": tag}, st.sampled_from(["en", "de-CH", "e n", "en_US"])
    ),
    st.builds(lambda i: {"@value": "v", "@type": i}, st.sampled_from(["x:t", "t", "http://e/%zz"])),
)
predicates = st.sampled_from(["x:p", "http://e/q", "http://e/ä", "x:p q", "unmapped"])
nodes = st.builds(
    lambda i, pairs: {"@id": i, **pairs},
    iris,
    st.dictionaries(predicates, st.lists(values, max_size=3), max_size=3),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(nodes, min_size=1, max_size=3), min_size=1, max_size=4))
def test_every_value_of_a_document_is_a_triple_or_its_document_is_rejected(documents):
    found = json_ld(*({"@id": NAME, "@graph": nodes} for nodes in documents))
    rejected = {reject.line for reject in found.rejects}
    assert len(rejected) == len(found.rejects)
    expected = set()
    for line, some in enumerate(documents, 1):
        text = json.dumps(some)  # which tells blank nodes of one label apart
        for node in some if line not in rejected else []:
            of_node = text if node["@id"] == "_:b" else ""
            for p, vs in node.items():
                if p not in ("@id", "unmapped"):
                    expected |= {
                        (of_node, node["@id"], p, json.dumps(v), text if v == {"@id": "_:b"} else "")
                        for v in vs
                    }
    assert len(set(facts(found))) == len(expected)

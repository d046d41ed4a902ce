"""TriG and JSON-LD: elements anywhere in a document, stable blank nodes, what is lost."""

from __future__ import annotations

import json

import pytest
from tests.decode.facts import facts, instants, reasons

from penstock.decode.decoder import Decoder
from penstock.errors import InputError

PREFIXES = "@prefix : <http://e/> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
CONTEXT = {
    "@vocab": "http://e/",
    "at": {
        "@id": "http://www.w3.org/ns/prov#generatedAtTime",
        "@type": "http://www.w3.org/2001/XMLSchema#dateTime",
    },
}


def trig(text: str, **options):
    data = (PREFIXES + text).encode()
    found, taken = Decoder("trig", source="s.trig", **options).decode(data)
    assert taken == len(data)
    return found


def document(name: str | None, at: str | None, *nodes: dict) -> str:
    doc = {"@context": CONTEXT, "@graph": list(nodes)}
    if name:
        doc["@id"] = name
    if at:
        doc["at"] = at
    return json.dumps(doc) + "\n"


def json_ld(text: str, **options):
    return Decoder("jsonld", source="s.jsonl", **options).decode(text.encode())[0]


def test_trig_elements_may_be_written_in_several_places():
    found = trig(
        ":g1 { :s :p 1 } :g2 { :s :p 2 }\n"
        ':g2 prov:startedAtTime "2026-01-01T10:00:00Z" .\n'
        ':g1 { :s :p 3 } :g1 prov:generatedAtTime "2026-01-01T12:00:00+01:00" .\n'
        ':g2 prov:endedAtTime "2026-01-01T12:00:00Z" .\n'
        "<http://e/c#t=2026-01-01T00:00:00Z> { :s :p 4 }\n"
        ':empty prov:generatedAtTime "2026-01-02T00:00:00Z" .\n'
    )
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    start = "<http://e/s> <http://e/p>"
    assert facts(found) == [
        f'{start} "1"{integer} @ 2026-01-01T11:00:00.000Z',
        f'{start} "2"{integer} @ 2026-01-01T10:00:00.000Z … 2026-01-01T12:00:00.000Z',
        f'{start} "3"{integer} @ 2026-01-01T11:00:00.000Z',
        f'{start} "4"{integer} @ 2026-01-01T00:00:00.000Z',
    ]
    assert found.elements == 4 and len(found.instants) == 4 and not found.rejects


def test_anonymous_nodes_of_trig_have_the_same_names_in_every_run():
    text = "<http://e/c#t=2026-01-01T00:00:00Z> { :s :p [ :q [] ] . _:x :r [] }"
    first, second = trig(text), trig(text)
    assert facts(first) == facts(second)
    assert len(set(first.subject.tolist()) | set(first.object.tolist())) == 5


def test_elements_of_trig_without_time_and_loose_triples_are_rejected():
    found = trig(":g { :s :p 1 } :x :y :z .")
    assert len(found) == 0
    assert sorted(reason.split(";")[0] for _, reason in reasons(found)) == [
        "a triple in the default graph belongs to no element",
        "the element <http://e/g> has no time",
    ]


def test_after_a_syntax_error_the_rest_of_trig_is_lost_and_that_is_said():
    text = "<http://e/c#t=2026-01-01T00:00:00Z> { :s :p 1 }\n:g { :s ^ } :g { :s :p 2 }\n"
    found = trig(text)
    assert len(found) == 1
    ((line, reason),) = reasons(found)
    assert line == 3 and "column 9" in reason and "rest of the TriG document is lost" in reason
    assert found.rejects[0].text == ":g { :s ^ } :g { :s :p 2 }"
    with pytest.raises(InputError, match="line 3"):
        trig(text, strict=True)


def test_trig_waits_until_it_is_there_as_a_whole():
    found, taken = Decoder("trig").decode(b"<a:g> {", final=False)
    assert (len(found), taken) == (0, 0)


def test_json_ld_documents_are_lines_and_their_named_graphs_elements():
    found = json_ld(
        document("http://e/g", "2026-01-01T00:00:00Z", {"@id": "http://e/s", "p": 1})
        + "\n"
        + document("http://e/g", "2026-01-01T00:00:01Z", {"@id": "http://e/s", "p": "x"})
        + document(None, "2026-01-01T00:00:02Z", {"@id": "http://e/s", "p": True})
    )
    assert facts(found) == [
        '<http://e/s> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer>'
        " @ 2026-01-01T00:00:00.000Z",
        '<http://e/s> <http://e/p> "true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
        " @ 2026-01-01T00:00:02.000Z",
        '<http://e/s> <http://e/p> "x" @ 2026-01-01T00:00:01.000Z',
    ]
    assert found.elements == 3 and len(instants(found)) == 3 and not found.rejects


def test_blank_nodes_of_json_ld_depend_on_the_document_and_not_on_where_it_stands():
    first = document("http://e/g", "2026-01-01T00:00:00Z", {"p": {"q": 1}})
    second = document("http://e/g", "2026-01-01T00:00:01Z", {"p": {"q": 1}})
    both, alone = json_ld(first + second), json_ld(second)
    assert len(set(both.subject.tolist())) == 4
    assert set(alone.subject.tolist()) < set(both.subject.tolist())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "JSON"),
        ('{"@context": "http://e/remote.jsonld", "p": 1}', "remote JSON-LD contexts"),
        (document("http://e/g", None, {"@id": "http://e/s", "p": 1}).strip(), "has no time"),
        (document("http://e/g", "noon", {"@id": "http://e/s", "p": 1}).strip(), "not an instant"),
    ],
)
def test_a_bad_document_costs_only_itself(line, reason):
    good = document("http://e/g", "2026-01-01T00:00:00Z", {"@id": "http://e/s", "p": 1})
    found = json_ld(good + line + "\n" + good)
    assert len(found) == 2
    ((number, why),) = reasons(found)
    assert number == 2 and (reason in why or reason == "JSON")
    with pytest.raises(InputError, match="line 2"):
        json_ld(good + line + "\n" + good, strict=True)


def test_json_ld_in_pieces():
    data = (
        "".join(
            document(f"http://e/g{i}", f"2026-01-01T00:00:0{i}Z", {"@id": "http://e/s", "p": i})
            for i in range(5)
        ).encode()
        + b"{oops\n"
    )
    decoder = Decoder("jsonld")
    found, taken = decoder.decode(data[:-300], final=False)
    assert 0 < taken < len(data) - 300 and 0 < len(found) < 5
    rest, _ = decoder.decode(data[taken:])
    assert len(found) + len(rest) == 5
    assert [line for line, _ in reasons(rest)] == [6]


def test_a_json_ld_file_may_be_one_document_over_many_lines():
    nodes = {"@id": "http://e/s", "p": 1}
    text = json.dumps(json.loads(document("http://e/g", "2026-01-01T00:00:00Z", nodes)), indent=2)
    found = json_ld(text)
    assert len(found) == 1 and not found.rejects


def test_rejects_of_trig_stand_at_the_line_of_their_element():
    found = trig(
        ":g1 { :s :p 1 }\n"
        ":g2 {\n  :s\n    :p 2 ;\n    :q 3 }\n"
        ':g3 { :s :p """a\n\nb""" }\n'
        ":x :y :z .\n"
        ":g4 { :s :p ^ }\n"
    )
    assert [(line, reason.split(" (")[0].split(";")[0][:40]) for line, reason in reasons(found)] == [
        (2, "the element <http://e/g1> has no time"),
        (5, "the element <http://e/g2> has no time"),
        (9, "the element <http://e/g3> has no time"),
        (10, "a triple in the default graph belongs to"),
        (11, "^ is not a valid RDF object"),
    ]
    assert found.rejects[1].text == "    :p 2 ;"


def test_reasons_have_no_second_line_number():
    found = trig(':g {\n :s :p """a\n\n b }\n')
    [(line, reason)] = reasons(found)
    assert line == 3 and "line" not in reason.replace("the rest of the TriG document is lost", "")


def test_long_values_are_cut_in_reasons():
    name = "http://e/" + "x" * 5000
    for found in (
        trig(f"<{name}> {{ :s :p 1 }}"),
        json_ld(document(name, None, {"@id": "x:s", "p": 1})),
        Decoder("nquads", source="s").decode(f"<x:s> <x:p> <x:o> <{name}> .\n".encode())[0],
        Decoder("nquads", source="s").decode(f"<x:s> <x:p> <x:o> <{name}#t=2026> .\n".encode())[0],
        Decoder("nquads", source="s").decode(f"<x:s> <{'x' * 5000}> <x:o> <x:g> .\n".encode())[0],
    ):
        assert len(found.rejects) == 1 and len(found.rejects[0].reason) <= 400


def test_a_rejected_line_of_json_ld_counts_once():
    bad = json.dumps(
        {"@context": CONTEXT, "@id": "x:g", "p": 1, "q": [2, 3], "@graph": [{"@id": "x:s", "p": 1}]}
    )
    found = json_ld(bad + "\n" + bad + "\n")
    assert [line for line, _ in reasons(found)] == [1, 2]

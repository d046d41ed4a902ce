"""What a step computes has one name: whatever the other queries are, and the key of the run's ids."""

from __future__ import annotations

from random import Random

import pytest

from agreement.other_queries import Checkpoint, Life
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.generator import make_case
from penstock import pipeline
from penstock.algebra import ParsedQuery
from penstock.algebra.nodes import with_scope
from penstock.algebra.scopes import ELEMENT
from penstock.engine.digests import gone_on
from penstock.engine.program import Program
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse, parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal, NamedNode

PREFIX = "PREFIX : <http://example.org/> "


def iri(name: str) -> NamedNode:
    return NamedNode("http://example.org/" + name)


def number(value: int) -> Literal:
    return Literal(str(value), datatype=XSD.integer)


def planned(*texts: str, graphs=(), streams=(None,), key: int = 0, feed: bool = True) -> Program:
    queries = [parse_query(PREFIX + text, name=f"q{i}") for i, text in enumerate(texts)]
    known = [graph_of(triples, name, key=key) for name, triples in graphs]
    return pipeline.program(
        queries, [StreamName(each) for each in streams], known, shards=2, now=0, key=key, feed=feed
    )


def steps_of(program: Program, query: int = 0) -> tuple[str, ...]:
    last = program.plan.queries[query].step
    return tuple(program.step_digests[step] for step in last.walk(everywhere=True))


ONE = "SELECT ?s ?v { { ?s :p ?v } SEQ { ?s :q [] } FILTER NOT EXISTS { ?s :r ?x OPTIONAL { ?x :t ?v } } }"
OTHERS = (
    "SELECT * { ?s :p ?v . ?v :near+ ?w }",
    "ASK { [] :q [] }",
    ONE.replace(":t", ":u"),
    "CONSTRUCT { [] :made ?s } { ?s :p ?v }",
)


def test_a_query_has_the_same_steps_whatever_else_runs():
    alone = steps_of(planned(ONE))
    for others in (OTHERS[:1], OTHERS, OTHERS[::-1]):
        assert steps_of(planned(ONE, *others)) == alone
        assert steps_of(planned(*others, ONE), len(others)) == alone
        everything = parse(PREFIX + "\n".join([*others, ONE])).queries
        together = pipeline.program(everything, [StreamName()], shards=2, now=0)
        assert steps_of(together, len(everything) - 1) == alone


def test_a_query_for_each_element_changes_no_other():
    """Both begin with all triples of the stream, which one of them looks at element by element."""
    windows = "SELECT ?x FROM STREAM :s [RANGE TRIPLES 7] WHERE { ?x :p ?y }"
    last_triples = parse_query(PREFIX + windows, language="c-sparql")
    by_element = with_scope(parse_query(PREFIX + "SELECT * { ?x :knows* ?y }"), ELEMENT)

    def last(*queries: ParsedQuery) -> list[str]:
        program = pipeline.program(queries, [StreamName("http://example.org/s")], shards=2, now=0)
        names = [*program.digests, *program.element_digests]
        assert len({*names}) == len(names), "equal steps in both networks"
        return [each.last for each in program.queries]

    assert last(last_triples, by_element) == last(last_triples) + last(by_element)


@pytest.mark.parametrize("seed", range(40))
def test_the_key_of_the_ids_and_the_order_of_registration_do_not_matter(seed: int):
    case = make_case(seed)
    texts = [text for text in case.queries if "CONSTRUCT" not in text]
    graphs = [(data.name and data.name.value, data.triples) for data in case.graphs]
    streams = [data.name and data.name.value for data in case.streams]
    queries = [parse_query(text, name=f"q{i}") for i, text in enumerate(texts)]

    def steps(graphs, streams, key) -> set[str]:
        known = [
            graph_of(Random(key).sample(triples, len(triples)), name, key=key) for name, triples in graphs
        ]
        named = [StreamName(name) for name in streams]
        return set(pipeline.program(queries, named, known, shards=2, now=0, key=key).digests)

    first = steps(graphs, streams, 7)
    assert steps(graphs[::-1], streams, 8) == first
    if len(set(streams)) == len(streams):
        assert steps(graphs, streams[::-1], 9) == first


def test_what_is_different_has_another_name():
    texts = [
        "SELECT * { { ?s :p ?v } SEQ { ?s :q ?w } }",
        "SELECT * { { ?s :q ?w } SEQ { ?s :p ?v } }",
        "SELECT * { { ?s :p ?v } EQUALS { ?s :q ?w } }",
        "SELECT * { { ?s :p ?v } SEQ { ?s :q ?w } FILTER (getDURATION() < 'PT1S'^^xsd:duration) }",
        "SELECT * { { ?s :p ?v } SEQ { ?s :q ?w } FILTER (getDURATION() < 'PT2S'^^xsd:duration) }",
        "SELECT * { { ?s :p ?v } SEQ { ?v :q ?w } }",
        "SELECT * { ?s :p 1 }",
        "SELECT * { ?s :p '1' }",
        "SELECT * { ?s :p 1.0 }",
    ]
    xsd = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    last = {planned(xsd + text).queries[0].last for text in texts}
    assert len(last) == len(texts)
    assert planned(ONE, streams=("http://e/a",)).queries[0].last != planned(ONE).queries[0].last


def test_of_knowledge_only_the_rows_that_a_scan_takes_count():
    knows = [(iri("a"), iri("knows"), iri("b"))]
    other = [(iri("a"), iri("other"), number(n)) for n in range(3)]
    query = "SELECT * { ?s :p ?v . ?s :knows ?x }"
    first = steps_of(planned(query, graphs=[(None, knows)]))
    assert steps_of(planned(query, graphs=[(None, knows + other)])) == first
    changed = steps_of(planned(query, graphs=[(None, [*knows, (iri("b"), iri("knows"), iri("c"))])]))
    assert changed[-1] != first[-1]
    kept = set(changed) & set(first)
    assert kept, "the scan of the stream takes nothing from the graph, before and after"


def test_rules_over_knowledge_count_and_rules_over_streams_do_not():
    knows = [(None, [(iri("a"), iri("knows"), iri("b"))])]
    query = "SELECT * { ?s :linked ?x . ?s :p ?v }"
    static = "CONSTRUCT { ?x :linked ?y } { ?x :knows ?y }"
    backwards = "CONSTRUCT { ?y :linked ?x } { ?x :knows ?y }"
    of_stream = "CONSTRUCT { ?x :linked ?y } { ?x :met ?y }"
    joined = "CONSTRUCT { ?x :linked ?y } { ?x :met ?y . ?x :knows ?y }"
    last = {
        name: planned(query, *rules, graphs=knows).queries[0].last
        for name, rules in {
            "none": [],
            "static": [static],
            "backwards": [backwards],
            "both": [static, backwards],
            "stream": [of_stream],
            "joined": [joined],
            "static and stream": [static, of_stream],
        }.items()
    }
    assert last["none"] == last["stream"] == last["joined"]
    assert last["static"] == last["static and stream"]
    assert len({last[name] for name in ("none", "static", "backwards", "both")}) == 4


def test_rules_that_feed_each_other_have_names_too():
    knows = [(None, [(iri("a"), iri("knows"), iri("b"))])]
    rules = [f"CONSTRUCT {{ ?x :k{(i + 1) % 3} ?y }} {{ ?x :k{i} ?z . ?z :knows ?y }}" for i in range(3)]
    first = "CONSTRUCT { ?x :k0 ?y } { ?x :knows ?y }"
    query = "SELECT * { ?x :k1 ?y } ORDER BY ?x"  # no key, whatever rules there are
    whole = planned(query, first, *rules, graphs=knows).queries[0].last
    assert planned(query, *rules[::-1], first, graphs=knows).queries[0].last == whole
    assert planned(query, first, *rules[1:], graphs=knows).queries[0].last != whole


def test_a_query_that_has_got_another_name_goes_on():
    assert gone_on({"a": "1", "b": "2"}, {"a": "1", "c": "2"}) == {"a": "a", "c": "b"}
    assert gone_on({"a": "1"}, {"a": "1", "b": "1"}) == {"a": "a"}
    assert gone_on({"f": "1", "f-2": "2"}, {"f": "1", "f-2": "3", "f-3": "2"}) == {"f": "f", "f-3": "f-2"}


# --- lives: hand-made streams whose elements are one second apart --------------------------


def checkpoint(*triples: tuple, graphs=(), lateness: int = 0) -> Checkpoint:
    elements = tuple(Element((triple,), at, at) for at, triple in enumerate(triples, 1))
    batches = tuple(((0, place),) for place in range(len(elements)))
    known = tuple(GraphData(None, tuple(graph)) for graph in graphs)
    return Checkpoint(Case(0, (StreamData(None, elements),), known, (), lateness, batches))


def life(place: Checkpoint, first: int, last: int, graphs=None, **queries: str) -> Life:
    known = None if graphs is None else [GraphData(None, tuple(graph)) for graph in graphs]
    texts = {name: PREFIX + text for name, text in queries.items()}
    return Life(texts, place.case.batches[first:last], known)


def sizes(found: dict) -> dict[str, int]:
    return {name: rows.total() for name, rows in found.items()}


KNOWS = [(iri("a"), iri("knows"), iri("b"))]
A_P = (iri("a"), iri("p"), number(1))


def test_answers_from_knowledge_alone_are_given_once_to_each_query():
    place = checkpoint(A_P, A_P, A_P, A_P, A_P, graphs=[KNOWS])
    static = "SELECT * { ?x :knows ?y }"
    assert sizes(place.live(life(place, 0, 1, one=static))) == {"one": 1}
    assert sizes(place.live(life(place, 1, 2, one=static, two=static))) == {"one": 0, "two": 1}
    assert sizes(place.live(life(place, 2, 3, renamed=static, two=static))) == {"renamed": 0, "two": 0}
    more = [[*KNOWS, (iri("b"), iri("knows"), iri("c"))]]
    assert sizes(place.live(life(place, 3, 4, more, two=static))) == {"two": 2}, "other knowledge: all anew"
    assert sizes(place.live(life(place, 4, 5, more, two=static), ends=True)) == {"two": 0}


def test_changed_knowledge_starts_what_reads_it_and_nothing_else():
    a_q = (iri("a"), iri("q"), number(2))
    place = checkpoint(A_P, a_q, graphs=[KNOWS])
    queries = {
        "plain": "SELECT * { { ?s :p ?v } SEQ { ?s :q ?w } }",
        "known": "SELECT * { { ?s :p ?v . ?s :knows ?x } SEQ { ?s :q ?w } }",
    }
    place.live(life(place, 0, 1, **queries))
    more = [[*KNOWS, (iri("b"), iri("knows"), iri("c"))]]
    assert sizes(place.live(life(place, 1, 2, more, **queries), ends=True)) == {"plain": 1, "known": 0}


def test_what_rules_derived_stays_when_they_go_and_what_new_ones_derive_comes_from_now_on():
    q = (iri("a"), iri("q"), number(2))
    place = checkpoint(A_P, q, A_P, q)
    reads = "SELECT * { { ?s :made ?v } SEQ { ?s :q ?w } }"
    rule = "CONSTRUCT { ?s :made ?v } { ?s :p ?v }"
    assert sizes(place.live(life(place, 0, 1, reads=reads, rule=rule))) == {"reads": 0, "rule": 1}
    assert sizes(place.live(life(place, 1, 2, reads=reads))) == {"reads": 1}
    assert sizes(place.live(life(place, 2, 3, reads=reads))) == {"reads": 0}
    found = place.live(life(place, 3, 4, reads=reads, rule=rule), ends=True)
    assert sizes(found) == {"reads": 1, "rule": 0}, "made at 1, and not at 3, when there was no rule"


def test_a_new_query_counts_no_instants_of_earlier_elements():
    """Not even of those that have not passed yet, because elements out of order may come."""
    place = checkpoint(A_P, A_P, A_P, A_P, lateness=10)
    count = "SELECT (COUNT(*) AS ?n) { ?s :p ?v }"
    other = "SELECT (COUNT(?v) AS ?n) { ?s :p ?v }"
    place.live(life(place, 0, 2, old=count))
    found = place.live(life(place, 2, 4, new=other, old=count), ends=True)
    assert sizes(found) == {"new": 2, "old": 4}
    assert all(dict(row)["n"].startswith('"1"') for row, _, _ in found["new"]), "no instant without its rows"


def test_a_new_query_asks_anew_for_what_exists():
    """What an old EXISTS has asked for is no reason not to look it up for a new one."""
    r = (iri("a"), iri("r"), number(1))
    place = checkpoint(A_P, r, A_P, graphs=[KNOWS])
    exists = "SELECT ?s ?v { ?s :p ?v FILTER EXISTS { { ?s :r ?x } MINUS { ?x :%s ?v } } }"
    place.live(life(place, 0, 1, old=exists % "never"))
    found = place.live(life(place, 1, 3, new=exists % "ever", old=exists % "never"), ends=True)
    assert sizes(found) == {"new": 1, "old": 1}
    place = checkpoint(A_P, r, A_P, graphs=[KNOWS])
    old = "SELECT ?s ?v { ?s :p ?v FILTER EXISTS { { ?s :r ?x . ?k :knows ?l } MINUS { ?x :never ?v } } }"
    place.live(life(place, 0, 1, old=old))
    more = [[*KNOWS, (iri("z"), iri("knows"), number(9))]]
    assert sizes(place.live(life(place, 1, 3, more, old=old), ends=True)) == {"old": 1}


def test_a_key_stays_when_the_query_that_forced_it_goes():
    """Otherwise the rows of those that stay would be elsewhere."""
    q = (iri("a"), iri("q"), number(2))
    triples = [A_P, q]
    elements = tuple(Element((triple,), at, at) for at, triple in enumerate(triples, 1))
    case = Case(0, (StreamData(None, elements),), (), (), 0, (((0, 0),), ((0, 1),)))
    place = Checkpoint(case, shards=8)
    rule = "CONSTRUCT { ?s :made ?v } { ?s :p ?v }"
    stays = "SELECT * { { ?s :made ?v } SEQ { ?s :q ?w } }"
    forces = "SELECT (COUNT(*) AS ?n) { ?s :made ?v }"
    place.live(life(place, 0, 1, rule=rule, stays=stays, forces=forces))
    assert {query.key for query in place.program.queries} == {None}
    assert sizes(place.live(life(place, 1, 2, rule=rule, stays=stays), ends=True))["stays"] == 1
    assert planned(rule, stays).queries[1].key == "s", "a new checkpoint would have one"

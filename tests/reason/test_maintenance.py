"""Triples that are taken away from a closure: what is left is the closure of what is left."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from tests.reason.rule_texts import RULES, rule
from tests.reason.test_closing import Triple, closure_of, ex, graph, terms_of

from oracle.rules import closed as naively_closed
from oracle.rules import default_graph
from penstock.bench import removals as bench
from penstock.knowledge.graphs import StaticGraph, graph_of, read_graphs
from penstock.reason.closing import Closure
from penstock.rules.library import ruleset
from penstock.rules.rule import Rule
from penstock.terms import RDF, XSD, BlankNode, Literal, NamedNode
from shared_data import shared

KEY = 7
SAME = {
    "ref": "INSERT { ?s owl:sameAs ?s . ?p owl:sameAs ?p . ?o owl:sameAs ?o } WHERE { ?s ?p ?o }",
    "sym": "INSERT { ?y owl:sameAs ?x } WHERE { ?x owl:sameAs ?y }",
    "trans": "INSERT { ?x owl:sameAs ?z } WHERE { ?x owl:sameAs ?y . ?y owl:sameAs ?z }",
    "rep-s": "INSERT { ?t ?p ?o } WHERE { ?s owl:sameAs ?t . ?s ?p ?o }",
    "rep-p": "INSERT { ?s ?q ?o } WHERE { ?p owl:sameAs ?q . ?s ?p ?o }",
    "rep-o": "INSERT { ?s ?p ?q } WHERE { ?o owl:sameAs ?q . ?s ?p ?o }",
}
IN_PYTHON = {
    "bind": "INSERT { ?k a :Kind } WHERE { ?x ?p ?y FILTER (isLiteral(?y)) BIND (DATATYPE(?y) AS ?k) }",
    "no IRI": "INSERT { :some ?p ?k } WHERE { ?x ?p ?y FILTER (!isIRI(?y)) BIND (isBlank(?y) AS ?k) }",
    "two quads": """INSERT { ?x :has ?k . ?k :in ?x, :Lengths }
        WHERE { ?x ?p ?y FILTER (isIRI(?x) && isLiteral(?y))
            BIND (IRI(CONCAT('http://example.org/', STR(STRLEN(?y)))) AS ?k) }""",
    "values": "INSERT { ?c :of ?x } WHERE { ?x :p ?y FILTER (isBlank(?y)) VALUES ?c { :A :B } }",
    "any value": """INSERT { ?c :of :All }
        WHERE { ?x ?p ?y FILTER (isLiteral(?y)) VALUES (?c ?y) { (:A UNDEF) (:B 1) } }""",
    "filter": "INSERT { ?p a :Property } WHERE { ?x ?p ?y FILTER (isLiteral(?y) && STR(?y) < 'y') }",
    "invented": "INSERT { ?y :node [ a :Node ] } WHERE { ?x :p ?y FILTER (isBlank(?y) && !isBlank(?x)) }",
    "invented once": "INSERT { _:n :node :it } WHERE { [] :q ?y FILTER (isLiteral(?y)) }",
    "in a graph": """INSERT { GRAPH ?k { :it a ?p } }
        WHERE { ?x ?p ?y FILTER (isLiteral(?y)) BIND (DATATYPE(?y) AS ?k) } ;
        INSERT { ?k :says ?p } WHERE { GRAPH ?k { :it a ?p } FILTER (isIRI(?k)) BIND (?k AS ?l) }""",
    "constants": "INSERT { :a :is ?k } WHERE { :a :p :b FILTER (!sameTerm(:a, :b)) BIND (1 AS ?k) }",
    "never": "INSERT { :a :is ?k } WHERE { :a :p :b FILTER (sameTerm(:a, :b)) BIND (2 AS ?k) }",
    "facts": "INSERT DATA { :Kind a :Class . :a :is 1 }",
    "follows": "INSERT { ?y :after ?x } WHERE { ?x ?p ?y . ?x a ?c FILTER (isIRI(?y)) }",
    "check": "SELECT ?x ?y WHERE { ?x :p ?y FILTER (isLiteral(?y)) }",
}
"""Clauses whose conditions the kernel knows, and of which Python has to see something all the same."""


def add(closure: Closure, triples: list[Triple]) -> None:
    added = graph_of(triples, None, key=KEY)
    closure.add(added.triples, added.terms)


def remove(closure: Closure, triples: list[Triple]) -> None:
    closure.remove(graph_of(triples, None, key=KEY).triples)


def found(closure: Closure) -> set[Triple]:
    return terms_of(closure.triples, closure.terms)


def consistent(closure: Closure) -> None:
    """Counts, marks and indexes say the same of the rows."""
    quads = closure._run.quads
    present = quads.present()
    by = quads.by[present]
    counts = np.bincount(by[by >= 0], minlength=len(closure._run.derived))
    assert counts.tolist() == closure._run.derived.tolist()
    assert len({tuple(row) for row in quads.rows[present].tolist()}) == len(present)


def goes_through(chance: random.Random, chosen: list[Rule], step: Callable[[int], list[Triple]]) -> None:
    """Triples come and go, one by one and in batches; the rest is closed as if nothing else had been."""
    closure = Closure(chosen, KEY)
    closure._maintenance.most_dead = chance.choice([0, 5, 1000])
    there: dict[Triple, None] = {}
    for _ in range(12):
        if there and chance.random() < 0.6:
            most = min(len(there), chance.choice([1, 2, 20]))
            some = chance.sample(list(there), chance.randrange(1, 1 + most)) + step(1)
            remove(closure, some)
            there = {triple: None for triple in there if triple not in some}
        else:
            some = step(chance.randrange(1, 12))
            add(closure, some)
            there |= dict.fromkeys(some)
        scratch = Closure(chosen, KEY)
        add(scratch, list(there))
        assert found(closure) == found(scratch)
        assert terms_of(closure.inferred, closure.terms) == terms_of(scratch.inferred, scratch.terms)
        assert set(closure.conflicts()) == set(scratch.conflicts())
        consistent(closure)


@pytest.mark.parametrize("seed", range(60))
def test_random_histories_against_closures_from_scratch(seed):
    chance = random.Random(seed)
    texts = {**RULES, **SAME} if seed % 3 == 0 else RULES
    names = chance.sample(sorted(texts), chance.randrange(2, 9))
    goes_through(chance, [rule(name, texts[name]) for name in names], lambda size: graph(chance, size))


@pytest.mark.parametrize("seed", range(30))
def test_random_histories_of_rules_that_python_looks_at(seed):
    """Few terms, of all kinds: several solutions make the same quad, and some of them stay."""
    chance = random.Random(seed)
    names = chance.sample(sorted(IN_PYTHON), chance.randrange(1, 5))
    subjects = [ex("a"), ex("b"), BlankNode("n")]
    objects = [*subjects, Literal("1"), Literal("x", language="en"), Literal("1", datatype=XSD.integer)]
    predicates = [ex("p"), ex("q"), RDF.type]

    def step(size: int) -> list[Triple]:
        return [tuple(map(chance.choice, (subjects, predicates, objects))) for _ in range(size)]

    goes_through(chance, [rule(name, IN_PYTHON[name]) for name in names], step)


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_against_the_naive_fixpoint(seed):
    chance = random.Random(1000 + seed)
    texts = {**RULES, **SAME}
    plain = sorted(name for name, text in texts.items() if "_:" not in text and "[" not in text)
    names = chance.sample(plain, 5)
    chosen = [rule(name, texts[name]) for name in names]
    first = graph(chance, 25)
    closure = Closure(chosen, KEY)
    add(closure, first)
    rest = list(dict.fromkeys(first))
    while rest:
        some = chance.sample(rest, min(len(rest), chance.randrange(1, 6)))
        remove(closure, some)
        rest = [triple for triple in rest if triple not in some]
        expected = default_graph(naively_closed([each.text for each in chosen], rest))
        assert found(closure) == expected


def test_what_keeps_only_itself_alive_goes():
    """Two classes in a circle, and a symmetric property: each of the two would derive the other."""
    sub = NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    inverse = NamedNode("http://www.w3.org/2002/07/owl#inverseOf")
    closure = closure_of(["subclass", "inverse"], [])
    facts = [(ex("A"), sub, ex("B")), (ex("B"), sub, ex("A")), (ex("p"), inverse, ex("p"))]
    add(closure, [*facts, (ex("a"), RDF.type, ex("A")), (ex("a"), ex("p"), ex("b"))])
    assert len(found(closure)) == 7
    remove(closure, [(ex("a"), RDF.type, ex("A")), (ex("a"), ex("p"), ex("b"))])
    assert found(closure) == set(facts)
    consistent(closure)


def test_what_is_only_derived_or_not_there_cannot_be_removed():
    sub = NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    closure = closure_of(["subclass"], [])
    add(closure, [(ex("A"), sub, ex("B")), (ex("a"), RDF.type, ex("A"))])
    before = found(closure)
    remove(closure, [(ex("a"), RDF.type, ex("B")), (ex("nobody"), RDF.type, ex("B"))])
    assert found(closure) == before
    add(closure, [(ex("a"), RDF.type, ex("B"))])
    assert closure.inferred.shape[1] == 0
    remove(closure, [(ex("a"), RDF.type, ex("B"))])
    assert found(closure) == before and closure.inferred.shape[1] == 1
    consistent(closure)


def test_blank_nodes_that_were_invented_go_with_what_they_were_invented_for():
    """Two rows make the same node: it stays until both are gone. What it derives goes with it."""
    text = """INSERT { ?y :has _:n . _:n a :Part } WHERE { ?x :p ?y } ;
        INSERT { ?n :of ?y } WHERE { ?y :has ?n }"""
    closure = Closure([rule("parts", text)], KEY)
    closure._maintenance.most_dead = 0
    one, two = (ex("a"), ex("p"), ex("c")), (ex("b"), ex("p"), ex("c"))
    add(closure, [one, two])
    assert len(found(closure)) == 8  # a node for each solution
    remove(closure, [one])
    assert len(found(closure)) == 4
    add(closure, [one])
    remove(closure, [two])
    assert len(found(closure)) == 4
    remove(closure, [one])
    assert found(closure) == set()


def test_values_that_are_computed_go_with_what_they_were_computed_from():
    text = "INSERT { ?x :twice ?d } WHERE { ?x :v ?n BIND (?n * 2 AS ?d) FILTER (?n + 1 > 2) }"
    closure = Closure([rule("twice", text)], KEY)
    three = (ex("a"), ex("v"), Literal("3", datatype=XSD.integer))
    also = (ex("a"), ex("v"), Literal("3.0", datatype=XSD.decimal))
    add(closure, [three, also, (ex("b"), ex("v"), Literal("1", datatype=XSD.integer))])
    assert len(found(closure)) == 5
    remove(closure, [three])
    assert len(found(closure)) == 3
    remove(closure, [also])
    assert len(found(closure)) == 1


@pytest.mark.parametrize("most_dead", [0, 1000])
def test_a_datatype_stays_while_a_literal_of_it_is_there(most_dead):
    """The same triple is computed from several literals: what the kernel knows of their kinds holds still."""
    chosen = [each for each in ruleset(["rdfs"]) if each.name in ("rdfD1", "rdfs4b")]
    closure = Closure(chosen, KEY)
    closure._maintenance.most_dead = most_dead
    true = Literal("true", datatype=XSD.boolean)
    add(closure, [(ex("a"), ex("p"), true)])
    alone = found(closure)
    assert (XSD.boolean, RDF.type, NamedNode("http://www.w3.org/2000/01/rdf-schema#Resource")) in alone
    for _ in range(2):  # what is known of solutions outlives that the table is written anew
        add(closure, [(ex("b"), ex("q"), true)])
        remove(closure, [(ex("b"), ex("q"), true)])
        assert found(closure) == alone
    remove(closure, [(ex("a"), ex("p"), true)])
    assert found(closure) == set()


@pytest.mark.skipif(shared("lubm", "data", "lubm1.nt.gz") is None, reason="needs LUBM's data")
@pytest.mark.parametrize("regime", ["owl2-rl", "rdfs"])
def test_removals_from_a_university(regime):
    """One by one, and many together."""
    [data] = read_graphs(str(shared("lubm", "data", "lubm1.nt.gz")))
    [ontology] = read_graphs(str(shared("lubm", "ontology", "univ-bench.ttl")))
    closure = bench.closure_of(ruleset([regime]), ontology, data)
    leaving, staying = bench.cut(data, 20_060)
    bench.remove(closure, leaving[:, :60], 1)
    bench.remove(closure, leaving[:, 60:], 5_000)
    rest = bench.closure_of(ruleset([regime]), ontology, StaticGraph(None, staying, data.terms))
    assert bench.same(closure.triples, rest.triples)
    assert bench.same(closure.inferred, rest.inferred)

"""Surrogates of a few literals: what is shown is as if all had one, and where it would not be, all have."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.reason.rule_texts import rule as own_rule
from tests.reason.test_closing import ex, terms_of

from penstock.knowledge.graphs import graph_of
from penstock.reason.clauses import clauses_of
from penstock.reason.closing import Closure
from penstock.reason.evaluation import OPTIONS
from penstock.reason.witnesses import Witnesses, witnesses_in
from penstock.rules.library import rule, ruleset
from penstock.rules.rule import SURROGATES
from penstock.terms import RDF, RDFS, XSD, BlankNode, Literal, NamedNode

KEY = 7
ALL = replace(OPTIONS, witnesses=False)
RULES = ruleset(["rdfs"])
SUBJECTS = [*(ex(name) for name in "abcpqr"), BlankNode("n"), RDFS.Resource, XSD.string]
LITERALS = [
    *(Literal(text) for text in "xyz"),
    Literal("x", language="en"),
    Literal("1", datatype=XSD.integer),
    Literal("2", datatype=XSD.integer),
    Literal("?", datatype=ex("datatype")),
]
AXIOMS = [RDFS.domain, RDFS.range, RDFS.subPropertyOf, RDFS.subClassOf, RDF.type]
CLASSES = [ex("C"), ex("D"), RDFS.Class, RDFS.Datatype, RDF.Property, RDFS.Literal, XSD.string]


def made(triples, rules=RULES, options=OPTIONS, cut: int = 0) -> Closure:
    closure = Closure(rules, KEY, options)
    for part in (triples[:cut], triples[cut:]):
        graph = graph_of(part, None, key=KEY)
        closure.add(graph.triples, graph.terms)
    return closure


def shown(closure: Closure) -> tuple[set, set]:
    return terms_of(closure.triples, closure.terms), terms_of(closure.inferred, closure.terms)


def some_graph(random_: random.Random, *, odd: bool) -> list[tuple]:
    """Literals with many properties, and axioms about these; if it is odd, also literals in axioms."""
    properties = [ex(name) for name in "pqr"]
    triples = [
        (random_.choice(SUBJECTS), random_.choice(properties), random_.choice(LITERALS)) for _ in range(12)
    ]
    for _ in range(random_.randint(0, 6)):
        axiom = random_.choice(AXIOMS[:-1])
        other = random_.choice(properties if axiom == RDFS.subPropertyOf else CLASSES)
        triples.append((random_.choice(CLASSES if axiom == RDFS.subClassOf else properties), axiom, other))
    if odd:
        if random_.random() < 0.5:
            triples.append((RDF.type, RDFS.subPropertyOf, random_.choice(AXIOMS[2:4])))
            triples.append((random_.choice(properties), RDFS.subPropertyOf, random_.choice(AXIOMS)))
        for _ in range(random_.randint(1, 2)):
            ends = [*SUBJECTS, *CLASSES, *AXIOMS], [*LITERALS, *AXIOMS, *CLASSES]
            triples.append((random_.choice(ends[0]), random_.choice(AXIOMS), random_.choice(ends[1])))
    random_.shuffle(triples)
    return triples


@pytest.mark.sample(0)
@pytest.mark.parametrize("odd", [False, True])
def test_what_is_shown_is_the_same(odd: bool):
    few = 0
    for seed in range(60):
        random_ = random.Random(f"{odd} {seed}")
        triples = some_graph(random_, odd=odd)
        cut = random_.randint(0, len(triples))
        few_at_a_time = replace(OPTIONS, at_a_time=50)
        with_witnesses = made(triples, options=few_at_a_time, cut=cut)
        with_all = made(triples, options=ALL, cut=cut)
        assert shown(with_witnesses) == shown(with_all), triples
        few += with_witnesses._run.witnesses is not None
    assert 5 < few < 55  # the others have surrogates in axioms


def surrogates(closure: Closure) -> set[str]:
    quads = closure._run.quads
    texts = closure.terms.texts(np.unique(quads.rows[: quads.count, :3])).to_pylist()
    return {text for text in texts if text.startswith(f"<{SURROGATES}".encode())}


def test_there_is_one_for_each_property_and_datatype():
    triples = [(ex(f"x{i}"), ex("pqr"[i % 3]), Literal(f"{i}")) for i in range(300)]
    triples += [(ex(f"x{i}"), ex("p"), Literal(f"{i}", datatype=XSD.integer)) for i in range(300)]
    triples += [(ex("p"), RDFS.range, ex("C"))]
    assert len(surrogates(made(triples))) == 4
    assert len(surrogates(made(triples, options=ALL))) == 600
    assert shown(made(triples)) == shown(made(triples, options=ALL))


def test_who_wants_to_see_them_sees_all():
    triples = [(ex(f"x{i}"), ex("p"), Literal(f"{i}")) for i in range(30)]
    assert len(surrogates(made(triples, options=replace(OPTIONS, surrogates=True)))) == 30


def test_when_something_goes_so_does_what_followed_from_it():
    triples = [(ex(f"x{i}"), ex("p"), Literal(f"{i}")) for i in range(30)]
    triples += [(ex("p"), RDFS.range, ex("C"))]
    closure = made(triples)
    for gone in (triples[:7], triples[20:]):
        closure.remove(graph_of(gone, None, key=KEY).triples)
        triples = [each for each in triples if each not in gone]
        assert shown(closure) == shown(made(triples, options=ALL))


def test_surrogates_that_are_given_are_what_they_are():
    literal = Literal("x")
    all_of_them = made([(ex("a"), ex("p"), literal)], options=ALL)
    [text] = surrogates(all_of_them)
    one = NamedNode(text.decode()[1:-1])
    given = [(ex("a"), ex("p"), literal), (one, RDF.type, RDF.Property), (ex("b"), one, ex("c"))]
    for cut in (0, 1):
        assert shown(made(given, cut=cut)) == shown(made(given, options=ALL, cut=cut))


@pytest.mark.parametrize("axiom", [RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range])
def test_where_data_make_axioms_of_surrogates_there_are_all(axiom: NamedNode, monkeypatch):
    """What is an instance is made a subclass, too: so a surrogate is one of its datatype."""
    link = RDFS.subPropertyOf if axiom == RDFS.subPropertyOf else RDFS.subClassOf
    triples = [(RDF.type, RDFS.subPropertyOf, link), (ex("p"), RDFS.subPropertyOf, axiom)]
    for i in range(4):
        triples += [(ex(f"a{i}"), ex("p"), Literal(f"{i}")), (ex(f"b{i}"), ex(f"a{i}"), ex(f"c{i}"))]
    found, expected = made(triples), shown(made(triples, options=ALL))
    assert shown(found) == expected and found._run.witnesses is None
    monkeypatch.setattr(Witnesses, "suffice", lambda self, quads: True)
    assert shown(made(triples)) != expected  # from a few of them it would be wrong


# Each of these would be answered wrongly from a few.
NOT_FROM_A_FEW = {
    "joined with its class": "INSERT { ?x :has ?c } WHERE { ?x ?p ?y . ?y a ?c }",
    "only of what is no literal": "INSERT { ?x a :HasThing } WHERE { ?x ?p ?y FILTER (!isLiteral(?y)) }",
    "who has it": """INSERT { ?y :of ?x } WHERE { ?p rdfs:range ?c . ?x ?p ?y } ;
        INSERT { ?x :knows ?p } WHERE { ?y :of ?x . ?p a :P }""",
    "by its name": "INSERT { ?x a :Named } WHERE { ?x ?p ?y FILTER (CONTAINS(STR(?y), 'urn:')) }",
    "a node for it": "INSERT { ?x :has _:n } WHERE { ?p rdfs:range ?c . ?x ?p ?y }",
    "in a graph": """INSERT { GRAPH :g { ?y :value ?x } } WHERE { ?x ?p ?y } ;
        INSERT { ?x a :HasValue } WHERE { GRAPH :g { ?y :value ?x } }""",
    "as a check": "SELECT ?x WHERE { ?x ?p ?y . ?y a :C }",
    "who has it, of the axiom": """INSERT { ?y a ?c } WHERE { ?x ?p ?y . ?c :madeBy ?x } ;
        INSERT { ?c :used true } WHERE { ?y a ?c }""",
}


@pytest.mark.parametrize("name", NOT_FROM_A_FEW)
def test_where_a_few_are_not_enough_there_are_all(name: str):
    rules = [rule("rdfD1"), rule("prp-rng"), own_rule(name, NOT_FROM_A_FEW[name])]
    assert witnesses_in(clauses_of(rules[:2]), KEY) is not None
    assert witnesses_in(clauses_of(rules), KEY) is None
    triples = [(ex(f"x{i}"), ex("p"), Literal(f"{i % 3}")) for i in range(6)]
    triples += [(ex(f"C{i}"), ex("madeBy"), ex(f"x{i}")) for i in range(6)]
    triples += [(ex("p"), RDFS.range, ex("C")), (ex("p"), RDF.type, ex("P"))]
    one, other = made(triples, rules), made(triples, rules, ALL)
    assert shown(one) == shown(other) and set(one.conflicts()) == set(other.conflicts())


def test_what_makes_surrogates_of_something_else_makes_all():
    text = rule("rdfD1").text
    for before, after in (
        ("FILTER (isLiteral(?literal))", ""),
        ("?surrogate a ?datatype", "?surrogate a ?datatype . ?datatype :of ?x"),
        ("STR(?literal)", "STR(?x)"),
        ("?x ?p ?literal\n", "?x ?p ?literal . ?x a ?c\n"),
        ("STR(?literal)", "xsd:decimal(?literal)"),
    ):
        assert before in text
        changed = own_rule("changed", text.replace(before, after).replace("PREFIX rdf:", "PREFIX rdf: ", 1))
        assert witnesses_in(clauses_of([changed]), KEY) is None, after

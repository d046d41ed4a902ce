"""What is said of predicates and classes because they are used is not looked for where it is known."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.reason.rule_texts import rule, rules
from tests.reason.test_closing import THINGS, ex, graph
from tests.reason.test_selecting import found, occurrences

from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.reason.closing import Closure
from penstock.reason.elements import ElementReasoner
from penstock.reason.vocabulary import VocabularyClauses
from penstock.rules.library import regime
from penstock.terms import RDF, Literal, NamedNode

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TEXTS = {
    "property": "INSERT { ?p a rdf:Property } WHERE { ?x ?p ?y }",
    "class": "INSERT { ?c a rdfs:Class } WHERE { ?x a ?c }",
    "numbered": """INSERT { ?p a rdf:Numbered ; rdfs:domain :C }
        WHERE { ?x ?p ?y FILTER (REGEX(STR(?p), "[pq]$")) }""",
    "of literals": "INSERT { ?d a rdfs:Datatype } WHERE { ?p rdfs:range ?d . ?x ?p ?y }",
    "constant": "INSERT { :A a rdfs:Class } WHERE { ?x :p :b }",
    # what looks at it
    "itself": "INSERT { ?p rdfs:subPropertyOf ?p } WHERE { ?p a rdf:Property }",
    "used": "INSERT { ?x :used ?p } WHERE { ?p a rdf:Property . ?x :about ?p }",
    "counts": "INSERT { ?x :p ?p } WHERE { ?p a rdf:Numbered . ?x :q ?p }",
    "typed": "INSERT { ?x :p ?c } WHERE { ?c a rdfs:Class . ?x :r ?c }",
    "held": "INSERT { ?x :r ?d } WHERE { ?d a rdfs:Datatype . ?x a ?d }",
    # what derives with keys that nobody has seen
    "kind": "INSERT { ?x a ?c } WHERE { ?x :kind ?c }",
    "named": "INSERT { ?x ?q ?y } WHERE { ?x :as ?q ; :p ?y }",
    "same": "INSERT { ?s ?p ?n } WHERE { ?o :same ?n . ?s ?p ?o }",
    "makes": "INSERT { ?x :made ?y } WHERE { ?x :q ?y }",
    "resource": "INSERT { ?x a rdfs:Resource } WHERE { ?x ?p ?y }",
}
OWN = ("p", "q", "r", "kind", "as", "same", "about", "used")
WANTED = [(ex("p"), None), (RDF.type, ex("A")), (RDF.type, ex("C")), (ex("used"), None), (ex("r"), None)]


def known_vocabulary(random_: random.Random) -> list:
    """Most of what elements use is declared."""
    declared = [(ex(name), RDF.type, NamedNode(RDF.type.value.replace("type", "Property"))) for name in OWN]
    declared += [(ex(name), RDF.type, NamedNode(RDFS + "Class")) for name in "ABC"]
    return [each for each in declared if random_.random() < 0.9]


def element(random_: random.Random) -> list:
    things = [each for each in THINGS if each.value.startswith("http://example.org/")]
    predicates = [*map(ex, OWN), RDF.type, *([ex("unknown")] if random_.random() < 0.1 else [])]
    objects = [*things, *map(ex, "ABC"), *([ex("p"), Literal("x")] if random_.random() < 0.3 else [])]
    return [
        (random_.choice(things), random_.choice(predicates), random_.choice(objects))
        for _ in range(random_.randint(1, 5))
    ]


@pytest.mark.sample(30)
@pytest.mark.parametrize("most", [2, 1 << 18])
@pytest.mark.parametrize("seed", range(150))
def test_what_is_wanted_is_derived_all_the_same(seed, most, monkeypatch):
    random_ = random.Random(seed)
    monkeypatch.setattr(VocabularyClauses, "most", most)
    names = random_.sample(sorted(TEXTS), random_.randint(3, 9))
    program = [rule(name, TEXTS[name]) for name in names]
    program += rules(*random_.sample(["subclass", "subclasses", "domain", "range"], random_.randint(1, 4)))
    if seed % 3 == 0:
        program = [*regime("rdfs"), *program]
    static = known_vocabulary(random_) + graph(random_, random_.randint(0, 8))
    base, added = Closure(program, 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    want = frozenset(random_.sample(WANTED, random_.randint(1, 2)))
    all_ = ElementReasoner(program, knowledge)
    some = ElementReasoner(program, knowledge, wanted=want)
    for _ in range(3):
        given = occurrences([element(random_) for _ in range(6)], 7)
        assert found(some.close(given), want) == found(all_.close(given), want)


@pytest.mark.parametrize("declared", [False, True])
def test_what_is_derived_with_a_predicate_that_nobody_knows_is_looked_at(declared):
    program = [rule(name, TEXTS[name]) for name in ("property", "used", "makes")]
    property_ = NamedNode(RDF.type.value.replace("type", "Property"))
    static = [(ex(name), RDF.type, property_) for name in (*OWN, *(["made"] if declared else []))]
    base, added = Closure(program, 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    reasoner = ElementReasoner(program, knowledge, wanted=frozenset({(ex("used"), None)}))
    assert ("makes" in reasoner.selection.rules) is not declared
    given = occurrences([[(ex("a"), ex("about"), ex("made")), (ex("b"), ex("q"), ex("c"))]], 7)
    used = found(reasoner.close(given), [(ex("used"), None)])
    assert used == {(ex("a"), ex("used"), ex("made"), -1)}
    assert reasoner._redone == (0 if declared else 1)


def test_elements_of_known_vocabulary_do_without_what_declares_it():
    program = [
        rule(name, TEXTS[name]) for name in ("property", "class", "used", "typed", "resource", "itself")
    ]
    static = [
        *((ex(name), RDF.type, NamedNode(RDF.type.value.replace("type", "Property"))) for name in OWN),
        (ex("A"), RDF.type, NamedNode(RDFS + "Class")),
    ]
    base, added = Closure(program, 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    reasoner = ElementReasoner(program, knowledge, wanted=frozenset({(ex("used"), None), (ex("p"), None)}))
    assert reasoner.selection.rules == {"used", "typed"}
    assert {clause.rule for clause in reasoner.selection.vocabulary} == {"property", "class"}
    elements = [
        [(ex("a"), ex("about"), ex("p"))],
        [(ex("a"), ex("about"), ex("new")), (ex("a"), ex("new"), ex("b"))],
        [(ex("b"), RDF.type, ex("A")), (ex("a"), ex("r"), ex("A"))],
        [(ex("b"), RDF.type, ex("B")), (ex("a"), ex("r"), ex("B"))],
    ]
    closed = reasoner.close(occurrences(elements, 7))
    assert found(closed, [(ex("used"), None), (ex("p"), None)]) == {
        (ex("a"), ex("used"), ex("p"), -1),
        (ex("a"), ex("used"), ex("new"), -2),
        (ex("a"), ex("p"), ex("A"), -3),
        (ex("a"), ex("p"), ex("B"), -4),
    }
    assert reasoner._redone == 2
    assert not len(np.setdiff1d(closed.element, [-1, -2, -3, -4]))

"""Clauses that are selected for what is wanted derive of it what all clauses derive."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.reason.rule_texts import RULES, rule, rules
from tests.reason.test_closing import NIL, PREDICATES, THINGS, TINY, closure_of, ex, graph

from penstock.bench.classes import class_tree
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.languages import parse_query
from penstock.plan.analysis.wanted import EVERYTHING, wanted
from penstock.reason import elements as elements_module
from penstock.reason.closing import Closure
from penstock.reason.elements import ElementReasoner
from penstock.reason.evaluation import OPTIONS
from penstock.terms import RDF, NamedNode

DOMAIN = NamedNode("http://www.w3.org/2000/01/rdf-schema#domain")
OWL = "http://www.w3.org/2002/07/owl#"
MORE = {
    "reflexive": "INSERT { ?s owl:sameAs ?s . ?o owl:sameAs ?o } WHERE { ?s ?p ?o }",
    "symmetric": "INSERT { ?y owl:sameAs ?x } WHERE { ?x owl:sameAs ?y }",
    "replace": "INSERT { ?t ?p ?o } WHERE { ?s owl:sameAs ?t . ?s ?p ?o }",
    "functional": "INSERT { ?y owl:sameAs ?z } WHERE { ?p a owl:FunctionalProperty . ?x ?p ?y, ?z }",
    "differ": "SELECT ?x ?y WHERE { ?x owl:sameAs ?y . ?x owl:differentFrom ?y }",
    "all": """INSERT { GRAPH ?l { ?x :inAll :list } }
        WHERE { ?c owl:intersectionOf/rdf:rest* ?l . ?l rdf:first ?d ; rdf:rest rdf:nil . ?x a ?d } ;
        INSERT { GRAPH ?l { ?x :inAll :list } }
        WHERE { ?l rdf:first ?d ; rdf:rest ?r . GRAPH ?r { ?x :inAll :list } ?x a ?d } ;
        INSERT { ?x a ?c } WHERE { ?c owl:intersectionOf ?l . GRAPH ?l { ?x :inAll :list } }""",
    "close": "INSERT { ?x :near ?y } WHERE { ?x owl:sameAs ?y . ?y :p ?z }",
    "table": "INSERT { ?x :kind ?k } WHERE { ?p rdfs:range ?r . ?x ?p ?y VALUES (?r ?k) "
    "{ (:A 1) (:B 2) (:C 3) (:a 4) } }",
}


def occurrences(elements: list, key: int) -> Occurrences:
    table, rows = TermTable(key=key), []
    for number, element in enumerate(elements):
        rows += [(*(table.add(term) for term in triple), number, number, -1 - number) for triple in element]
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])


def found(given: Occurrences, matching) -> set:
    terms = TermTable(given.terms)
    rows = zip(given.subject, given.predicate, given.object, given.element.tolist(), strict=True)
    triples = {(*(terms.term(int(id_)) for id_ in row[:3]), row[3]) for row in rows}
    return {
        each for each in triples if any(p in (None, each[1]) and c in (None, each[2]) for p, c in matching)
    }


@pytest.mark.sample(30)
@pytest.mark.parametrize("seed", range(300))
def test_what_is_wanted_is_derived_all_the_same(seed, monkeypatch):
    random_ = random.Random(seed)
    monkeypatch.setattr(elements_module, "LEAST_TRIED", random_.choice([1, 100]))
    names = random_.sample(sorted(RULES.keys() - {"event"}), random_.randint(1, 9))
    program = rules(*names) + [
        rule(name, MORE[name]) for name in random_.sample(sorted(MORE), random_.randint(0, 5))
    ]
    static = graph(random_, random_.randint(0, 14))
    if seed % 3 == 0:  # contradictions in what is derived and not wanted
        program += rules(*{"apart", "domain"} - set(names))
        static += [(ex("A"), NamedNode(OWL + "disjointWith"), ex("B")), (ex("p"), DOMAIN, ex("A"))]
        static += [(ex("q"), DOMAIN, ex("B"))]
    if seed % 2 == 0:  # a list, of which auxiliary relations are made
        program += [rule("all", MORE["all"])] if "all" not in {each.name for each in program} else []
        first, rest = (NamedNode(RDF.type.value.replace("type", each)) for each in ("first", "rest"))
        static += [(ex("C"), NamedNode(OWL + "intersectionOf"), ex("l")), (ex("l"), first, ex("A"))]
        static += [(ex("l"), rest, ex("m")), (ex("m"), first, ex("B")), (ex("m"), rest, NIL)]
    # Mostly elements without ontologies, so that not all of them are done with all rules.
    plain = [each for each in PREDICATES if each.value.startswith("http://example.org/")] + [RDF.type]
    elements = []
    for _ in range(5):
        element = graph(random_, random_.randint(0, 8))
        if random_.random() < 0.7:
            classes = [each for each in THINGS if each.value.startswith("http://example.org/")]
            element = [
                (s, random_.choice(plain), random_.choice(classes) if o.value.startswith(OWL) else o)
                for s, _, o in element
            ]
        elements.append(element)
    base, added = Closure(program, 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    choices = [
        (ex("p"), None),
        (RDF.type, ex("A")),
        (RDF.type, ex("C")),
        (ex("near"), None),
        (ex("other"), None),
    ]
    choices += [(NamedNode(OWL + "sameAs"), None), (ex("kind"), None), (None, None), (RDF.type, None)]
    want = frozenset(random_.sample(choices, random_.randint(1, 3)))
    given = occurrences(elements, 7)
    all_ = ElementReasoner(program, knowledge)
    some = ElementReasoner(program, knowledge, random_.choice([TINY, OPTIONS]), want)
    for _ in range(2):
        assert found(some.close(given), want) == found(all_.close(given), want)
        assert sorted(map(str, some.conflicts)) == sorted(map(str, all_.conflicts))


def test_rules_without_axioms_and_without_use_are_left_out():
    program = rules("subclass", "subclasses", "domain", "range", "inverse", "transitive", "some")
    static = [
        (ex("A"), NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf"), ex("B")),
        (ex("p"), NamedNode("http://www.w3.org/2000/01/rdf-schema#domain"), ex("A")),
        (ex("q"), NamedNode(OWL + "inverseOf"), ex("r")),
    ]
    base = closure_of(
        ("subclass", "subclasses", "domain", "range", "inverse", "transitive", "some"), [static]
    )
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    reasoner = ElementReasoner(program, knowledge, wanted=frozenset({(RDF.type, ex("B"))}))
    assert sorted(reasoner.selection.rules) == ["domain", "subclass"]
    reasoner = ElementReasoner(program, knowledge, wanted=frozenset({(ex("r"), None)}))
    assert sorted(reasoner.selection.rules) == ["inverse"]


def test_a_tree_of_thousands_of_classes():
    classes = [ex(f"Class{number}") for number in range(3401)]
    below = NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    parents = class_tree(3000, 8, 400)
    static = [(classes[child], below, classes[parent]) for child, parent in enumerate(parents) if parent >= 0]
    program = rules("subclass", "subclasses", "domain", "range")
    base = closure_of(("subclass", "subclasses", "domain", "range"), [static])
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    want = frozenset({(RDF.type, classes[0]), (RDF.type, classes[5])})
    some, all_ = ElementReasoner(program, knowledge, wanted=want), ElementReasoner(program, knowledge)
    of_five, children = {5}, list(enumerate(parents))
    for child, parent in children:
        of_five |= {child} if parent in of_five else set()
    assert some.selection.rules == {"subclass"}
    assert len(some.selection.relations) == 3000 + len(of_five) - 1
    random_ = random.Random(5)
    elements = [[(ex("x"), RDF.type, random_.choice(classes))] for _ in range(3000)]
    given = occurrences(elements, base.key)
    assert found(some.close(given), want) == found(all_.close(given), want)
    assert len(some.close(given)) < 2 * len(given) + len(of_five) < len(all_.close(given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * { ?x a <x:A> ; <x:p> ?y }", {(RDF.type, NamedNode("x:A")), (NamedNode("x:p"), None)}),
        ("SELECT * { ?x a ?c }", {(RDF.type, None)}),
        ("SELECT * { ?x ?p ?y . ?x a <x:A> }", EVERYTHING),
        ("ASK { ?x <x:p>/^<x:q>+ ?y }", {(NamedNode("x:p"), None), (NamedNode("x:q"), None)}),
        ("ASK { ?x <x:p>* ?y }", EVERYTHING),
        ("ASK { ?x !<x:p> ?y }", EVERYTHING),
        ("DESCRIBE ?x { ?x <x:p> ?y }", EVERYTHING),
        (
            "SELECT * { ?x <x:p> ?y FILTER NOT EXISTS { ?y a <x:B> } }",
            {(NamedNode("x:p"), None), (RDF.type, NamedNode("x:B"))},
        ),
    ],
)
def test_what_queries_want(text, expected):
    assert wanted([parse_query(text)]) == expected

"""Relations closed under composition: paths are made edge by edge, and are the paths of the texts."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.reason.rule_texts import rule, rules
from tests.reason.test_closing import OWL, OWL_TRANSITIVE, RDFS, closure_of, ex, terms_of

from oracle.rules import fixpoint
from penstock.algebra.nodes import Var
from penstock.reason.clauses import clauses_of
from penstock.reason.evaluation import Options
from penstock.reason.quads import PATH
from penstock.reason.shapes import copied_edge, transitive_step
from penstock.terms import RDF, NamedNode

SUBCLASS, SUBPROPERTY, INVERSE = (
    NamedNode(RDFS + "subClassOf"),
    NamedNode(RDFS + "subPropertyOf"),
    NamedNode(OWL + "inverseOf"),
)
NAMES = ["transitive", "subclasses", "inverse", "subproperty", "subclass", "reaches", "self"]


def said(random_: random.Random) -> list:
    """Edges of few nodes by three properties, some of which are transitive, inverse, or below another."""
    properties = [ex("p"), ex("q"), SUBCLASS]
    guards = [(each, RDF.type, OWL_TRANSITIVE) for each in properties]
    guards += [
        (one, relation, other)
        for relation in (SUBPROPERTY, INVERSE)
        for one in properties
        for other in properties
    ]
    nodes = [ex(name) for name in "abcdefg"[: random_.randint(2, 7)]]
    edges = [
        (random_.choice(nodes), random_.choice(properties), random_.choice(nodes))
        for _ in range(random_.randint(1, 12))
    ]
    made = [*random_.sample(guards, random_.randint(1, 5)), *edges]
    random_.shuffle(made)
    return made


@pytest.mark.parametrize("seed", range(120))
def test_paths_are_those_of_the_texts(seed):
    random_ = random.Random(seed)
    names = random_.sample(NAMES, random_.randint(2, len(NAMES)))
    triples = said(random_)
    cuts = sorted(random_.randint(0, len(triples)) for _ in range(3))
    portions = [triples[i:j] for i, j in zip([0, *cuts], [*cuts, len(triples)], strict=True)]
    expected = fixpoint([each.text for each in rules(*names)], triples)
    for transitive in (True, False):
        made = closure_of(names, portions, options=Options(transitive=transitive, at_a_time=5))
        assert terms_of(made.triples, made.terms) == expected


@pytest.mark.parametrize("length, loop", [(700, False), (300, True)])
def test_only_edges_are_joined(length, loop):
    """A pair is looked up once for each edge: what is a path is not in the index that is looked into."""
    chain = [
        (ex(f"n{i}"), ex("p"), ex(f"n{(i + 1) % (length if loop else length + 1)}")) for i in range(length)
    ]
    guard = [(ex("p"), RDF.type, OWL_TRANSITIVE)]
    made = closure_of(["transitive"], [chain[:50], guard, chain[50:]])
    pairs = length * length if loop else length * (length + 1) // 2
    assert made.triples.shape[1] == pairs + 1
    quads = made._run.quads
    assert int((quads.by[: quads.count] >= PATH).sum()) == pairs - length
    [index] = np.flatnonzero(quads.masks == 19)
    seen = 0
    for row in (quads.heads[index][quads.heads[index] > 0] - 1).tolist():
        while row >= 0:
            assert quads.by[row] < PATH
            seen, row = seen + 1, quads.following[index, row]
    assert seen == length  # nobody looks for a type here


def test_copies_of_paths_are_paths():
    """A symmetric and transitive property: the way back is not made of edges of its own."""
    chain = [(ex(f"n{i}"), ex("p"), ex(f"n{i + 1}")) for i in range(40)]
    guards = [(ex("p"), RDF.type, OWL_TRANSITIVE), (ex("p"), INVERSE, ex("p"))]
    made = closure_of(["transitive", "inverse"], [guards, chain])
    assert made.triples.shape[1] == 41 * 41 + 2
    quads = made._run.quads
    assert int((quads.by[: quads.count] < PATH).sum()) == 2 * 40 + 2


def clause(text: str):
    [made] = clauses_of([rule("it", text)])
    return made


@pytest.mark.parametrize(
    "where, place",
    [
        ("?x :p ?y . ?y :p ?z", 1),
        ("?b :p ?z . ?x :p ?b", 0),
        ("?x ?p ?y . ?p a :T . ?y ?p ?z", None),  # another property in the head
        ("?x :p ?y . ?y :q ?z", None),
        ("?x :p ?y . ?y :p ?z . ?y a :C", None),
        ("?x :p ?y . ?y :p ?z . ?x a :C", None),
        ("?x :p ?y . ?z :p ?y", None),
        ("?x :p ?y . ?y :p ?z FILTER (!sameTerm(?x, ?z))", None),
        ("?x :p ?y . GRAPH :g { ?y :p ?z }", None),
    ],
)
def test_which_clauses_close_a_relation(where, place):
    assert transitive_step(clause(f"INSERT {{ ?x :p ?z }} WHERE {{ {where} }}")) == place


def test_guards_may_be_about_the_property():
    assert transitive_step(clause("INSERT { ?x ?p ?z } WHERE { ?p a :T . ?x ?p ?y . ?y ?p ?z }")) == 2
    assert transitive_step(clause("INSERT { ?x ?p ?z } WHERE { ?p :of ?y . ?x ?p ?y . ?y ?p ?z }")) is None


@pytest.mark.parametrize(
    "where, copies",
    [
        ("?x :p ?z", True),
        ("?z ?p ?x . ?p :inverse ?q FILTER (!sameTerm(?p, ?q))", True),
        ("?x :p ?z FILTER (!sameTerm(?x, ?z))", False),
        ("?x :p ?z . ?x a :C", False),
        ("?x :p ?y . ?y :p ?z", False),
        ("?x :p ?z . ?z :p ?x", False),
    ],
)
def test_which_clauses_copy_edges(where, copies):
    found = copied_edge(clause(f"INSERT {{ ?x :q ?z }} WHERE {{ {where} }}"))
    assert (found is not None) == copies
    if found is not None:
        assert {found.subject, found.object} == {Var("x"), Var("z")}

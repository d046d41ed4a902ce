"""Elements that are closed together are closed as if each were alone, in whatever order their rows come."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.reason.rule_texts import rule, rules
from tests.reason.test_closing import ex, graph
from tests.reason.test_selecting import DOMAIN, OWL, found, occurrences

from penstock.columns.arrays import MappedArrays, write_arrays
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.plan.analysis.wanted import EVERYTHING
from penstock.reason import elements as elements_module
from penstock.reason.closing import Closure
from penstock.reason.elements import ElementReasoner
from penstock.terms import RDF, NamedNode

NAMES = ("subclass", "subclasses", "domain", "range", "inverse", "apart")


def reordered(given: Occurrences, order: np.ndarray) -> Occurrences:
    columns = ("subject", "predicate", "object", "start", "end", "element")
    return replace(given, **{name: getattr(given, name)[order] for name in columns})


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_elements_may_come_in_any_order(seed):
    random_ = random.Random(seed)
    static = [
        *graph(random_, random_.randint(0, 10)),
        (ex("A"), NamedNode(OWL + "disjointWith"), ex("B")),
        (ex("p"), DOMAIN, ex("A")),
    ]
    base, added = Closure(rules(*NAMES), 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    elements = [graph(random_, random_.randint(0, 6)) for _ in range(8)]
    elements[3] += [(ex("x"), RDF.type, ex("A")), (ex("x"), RDF.type, ex("B"))]
    given = occurrences(elements, 7)
    graphs = TermTable(given.terms, key=7)
    names = np.array([graphs.add(ex(f"graph{-number}")) for number in given.element.tolist()], np.int64)
    given = replace(given, graph=names, terms=graphs.chunk())
    order = np.array(random_.sample(range(len(given)), len(given)))
    mixed = replace(reordered(given, order), graph=given.graph[order])
    for want in (None, frozenset({(RDF.type, ex("A")), (ex("p"), None)})):
        reasoner = ElementReasoner(rules(*NAMES), knowledge, wanted=want)
        ways = []
        for each in (given, mixed):
            closed = reasoner.close(each)
            conflicts = sorted(map(str, reasoner.conflicts))
            assert len(np.unique(closed.terms.ids)) == len(closed.terms.ids)
            of = {number: (start, name) for number, start, name in rows_of(each)}
            assert all(of[number] == (start, name) for number, start, name in rows_of(closed))
            ways.append((found(closed, EVERYTHING), conflicts))
        alone: set = set()
        for number in range(len(elements)):
            one = reordered(given, np.flatnonzero(given.element == -1 - number))
            alone |= found(reasoner.close(one), EVERYTHING)
        assert ways[0] == ways[1] and ways[0][0] == alone
        assert any(str(-4) in conflict for conflict in ways[0][1])


@pytest.mark.parametrize("seed", range(60))
def test_what_one_process_has_found_out_spares_another(seed, tmp_path, monkeypatch):
    random_ = random.Random(seed)
    monkeypatch.setattr(elements_module, "LEAST_TRIED", random_.choice([1, 100]))
    program = rules(*NAMES, *random_.sample(["intersection", "reaches", "some", "transitive"], 2))
    static = [
        *graph(random_, random_.randint(0, 10)),
        (ex("A"), NamedNode(OWL + "disjointWith"), ex("B")),
        (ex("A"), NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf"), ex("C")),
        (ex("y"), RDF.type, ex("A")),
        *random_.choice([(), ((ex("y"), RDF.type, ex("B")),)]),
    ]
    base, added = Closure(program, 7), graph_of(static, None, key=7)
    base.add(added.triples, added.terms)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    want = random_.choice([None, frozenset({(RDF.type, ex("C"))}), frozenset({(ex("p"), None)}), EVERYTHING])
    first = ElementReasoner(program, knowledge, wanted=want)
    write_arrays(tmp_path / "found", first.found)
    terms = TermTable.from_arrays(**knowledge.terms.arrays(), count=knowledge.terms.size, key=7)
    monkeypatch.setattr(elements_module, "selected", None)
    monkeypatch.setattr(ElementReasoner, "_closed", None)
    known = Knowledge((None,), knowledge.triples, terms, MappedArrays(tmp_path / "found"))
    other = ElementReasoner(program, known, wanted=want)
    elements = [graph(random_, random_.randint(0, 6)) for _ in range(8)]
    elements += [[(ex("y"), RDF.type, ex("B"))], [(ex("x"), RDF.type, ex("A")), (ex("x"), RDF.type, ex("B"))]]
    given = occurrences(elements, 7)
    for _ in range(2):
        assert found(other.close(given), EVERYTHING) == found(first.close(given), EVERYTHING)
        assert sorted(map(str, other.conflicts)) == sorted(map(str, first.conflicts))
        assert other.dropped == first.dropped
    assert -10 in {element for element, _ in other.conflicts}


def rows_of(given: Occurrences):
    return zip(given.element.tolist(), given.start.tolist(), given.graph.tolist(), strict=True)


def test_a_named_graph_has_its_name():
    """Also where no rule names it, and where the static knowledge was closed by another process."""
    named = rule("named", "INSERT { ?g :about ?x } WHERE { ?x :p ?y . GRAPH ?g { ?y :q ?z } }")
    graphs = [graph_of([(ex("a"), ex("q"), ex("b"))], name, key=7) for name in (None, "http://g/")]
    table = TermTable(key=7)
    triple = [table.add(term) for term in (ex("s"), ex("p"), ex("a"))]
    columns = np.array([[*triple, 1, 1, -1]], np.int64).T
    given = Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])
    base = Knowledge.of(graphs, 7)
    for knowledge in (base, replace(base, found=ElementReasoner([named], base).found)):
        found = ElementReasoner([named], knowledge).close(given)
        known = TermTable(found.terms)
        last = [known.term(int(column[-1])) for column in (found.subject, found.predicate, found.object)]
        assert last == [NamedNode("http://g/"), ex("about"), ex("s")]

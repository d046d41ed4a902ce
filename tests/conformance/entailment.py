"""The entailment tests of the W3C SPARQL 1.1 suite, under the regimes that their manifest names.

A test that names several regimes has the same result under each of them, so it is a case for each. The tests
that need RIF are left out.
"""

from __future__ import annotations

from functools import lru_cache

from conformance.manifest import ConformanceTest, tests_of
from conformance.results import Answer, Solutions
from conformance.subjects import answer_of, read_triples
from oracle.model import StaticGraph, TimedDataset
from oracle.queries import ANSWER, evaluate_query
from oracle.rules import fixpoint
from penstock.algebra.nodes import Ask
from penstock.api.engine import Engine
from penstock.languages import parse_query
from penstock.rules.expressions import with_direct_semantics
from penstock.rules.library import ruleset
from penstock.terms import Literal
from shared_data import shared

SUITE = "entailment"
RULES = {
    "RDF": ("rdf",),
    "RDFS": ("rdfs",),
    "D": ("rdfs",),  # which recognises SPARQL's datatypes
    # the results of the suite have no class without a name with RDF-based semantics either
    "OWL-RDF-Based": ("owl2-rl", "owl2-direct"),
    "OWL-Direct": ("owl2-rl", "owl2-direct"),
}


@lru_cache(maxsize=None)
def entailment_tests() -> tuple[ConformanceTest, ...]:
    """The tests that need no RIF; none if the suite is not at hand."""
    root = shared("w3c", "sparql", "sparql11")
    if root is None:
        return ()
    return tuple(test for test in tests_of(root, SUITE) if "RIF" not in test.regimes)


def answer_of_oracle(test: ConformanceTest, regime: str) -> Answer:
    """The naive fixpoint of the rules, and the definitions of the algebra over it."""
    rules = ruleset(RULES[regime])
    query = parse_query(test.query.read_text("utf-8"), base=test.base)
    [query], expressions = with_direct_semantics([query], rules)
    given = [(t.subject, t.predicate, t.object) for t in read_triples(test.data, test.base)]
    found = fixpoint([rule.text for rule in rules], [*given, *expressions])
    answers = evaluate_query(query.query, TimedDataset((StaticGraph(found),)), base=test.base)
    if isinstance(query.query, Ask):
        (row,) = answers.rows
        return row.value(ANSWER) == Literal(True)
    rows = [{n: row.value(n) for n in answers.columns if row.value(n) is not None} for row in answers.rows]
    return Solutions(tuple(answers.columns), rows)


def answer_of_engine(test: ConformanceTest, regime: str) -> Answer:
    """An ordinary run over static knowledge alone."""
    engine = Engine(rules=RULES[regime])
    triples = read_triples(test.data, test.base)
    engine.add_graph([(t.subject, t.predicate, t.object) for t in triples])
    text = test.query.read_text("utf-8")
    engine.add_query(f"BASE <{test.base}>\n{text}")
    rows: list[dict] = []
    engine.run(on_batch=lambda batch: [rows.extend(table.to_pylist()) for table in batch.tables.values()])
    return answer_of(parse_query(text, base=test.base), engine.ready().columns(0), rows)


SUBJECTS = {"oracle": answer_of_oracle, "engine": answer_of_engine}

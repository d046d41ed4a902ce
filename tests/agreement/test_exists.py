"""EXISTS with outer bindings substituted: the engine agrees with the oracle, element by element."""

from __future__ import annotations

import pytest

from agreement.engine_runs import engine_answers
from oracle.cases import Case, GraphData, StreamData
from oracle.generator import answers
from oracle.notation import elements, triples
from oracle.vocabulary import PROLOGUE

STREAM = {
    "0": ":z :s 0",
    "1": ":a :p 1 ; :q 2 ; :near :b . :b :p 1",
    "2": ":b :q 1",
    "3": ":a :p 3 . :c :p 2",
    "4-5": ":c :q 5 ; :near :a",
    "6": ":a :q 1 ; :r 2 . :b :p 2 . :c :q 7",
    "7": ":d :p 4 . :a :p 2 . :b :q 4",
    "8": ":b :p 0",
}
STATIC = ":a :kind :K . :b :kind :K . :d :kind :L"

QUERIES = {
    "MINUS sees what its left side binds itself, not what was substituted": (
        "?x :p ?n FILTER EXISTS { { ?y :near ?z } OPTIONAL { ?y :r ?n } MINUS { ?x :p ?n } }"
    ),
    "MINUS removes by a substituted variable that both sides bind": (
        "?x :p ?n FILTER EXISTS { ?x :q ?m MINUS { ?x :q ?m FILTER (?m > ?n) } }"
    ),
    "a timeless solution stands for instants that had passed before the outer solution came": (
        "?x :p ?n FILTER EXISTS { ?x :kind ?k MINUS { ?x :q ?m FILTER (?m > ?n) } }"
    ),
    "a condition on the interval sees a timeless solution at each instant, if another one has an EXISTS": (
        "?x :kind ?k FILTER (getDURATION() < 'PT1S'^^xsd:duration || !BOUND(?k))"
        " FILTER (getSTARTTIME() > getENDTIME() || NOT EXISTS { ?x :q ?m })"
    ),
    "also if its own EXISTS reads no stream": (
        "?x :kind ?k FILTER (getSTARTTIME() = getENDTIME() && EXISTS { GRAPH :none { ?x :kind ?k } }"
        " || BOUND(?x) && getDURATION() < 'PT1S'^^xsd:duration) FILTER NOT EXISTS { ?x :q ?m }"
    ),
    "LIMIT counts for each outer solution": (
        "?x :p ?n FILTER EXISTS { { SELECT ?x ?m { ?x :q ?m } ORDER BY ?m LIMIT 1 } FILTER (?m > ?n) }"
    ),
    "OFFSET counts for each outer solution": (
        "?x :p ?n FILTER NOT EXISTS { { SELECT ?x { ?x :q ?m . ?y :p ?n } OFFSET 1 } }"
    ),
    "GROUP BY a variable that stays unbound groups by what was substituted": (
        "?x :p ?n FILTER EXISTS { { SELECT ?n (COUNT(*) AS ?c)"
        " { ?y :q ?m OPTIONAL { ?y :r ?n } } GROUP BY ?n HAVING (COUNT(*) > 1) } }"
    ),
    "an implicit group has a row where no solution is, for each outer solution": (
        "?x :p ?c FILTER EXISTS { { SELECT (COUNT(*) AS ?c) { ?y :q ?m FILTER (?m > ?c) } } }"
    ),
    "a path without length needs no triple at a term": (
        "?x :p ?n BIND (IRI(CONCAT(STR(?x), 'z')) AS ?z) FILTER EXISTS { ?z :near* ?w }"
    ),
    "a path without length is timeless at a term, so SEQ finds it": (
        "?x :p ?n FILTER EXISTS { { ?x :q ?m } SEQ { ?x :near? ?w } }"
    ),
    "paths with a part without length inside a closure": (
        "?x :p ?n FILTER EXISTS { ?x (:near?/:q?)+ ?n }"
    ),
    "an EXISTS inside an EXISTS sees both outer solutions": (
        "?x :p ?n FILTER EXISTS { ?y :q ?m FILTER NOT EXISTS { ?y :q ?k FILTER (?k > ?n + ?m || ?y = ?x) } }"
    ),
    "BIND inside must agree with the outer binding": (
        "?x :p ?n FILTER EXISTS { ?x :q ?m BIND (?m - 1 AS ?n) }"
    ),
    "an outer variable that is unbound is not substituted": (
        "?x :p ?n OPTIONAL { ?x :r ?k } FILTER EXISTS { ?y :q ?m MINUS { ?y :q ?k } }"
    ),
    "EXISTS in the condition of OPTIONAL sees the combination": (
        "?x :p ?n OPTIONAL { ?x :q ?m FILTER NOT EXISTS { ?y :q ?k FILTER (?k > ?n && ?k < ?m) } }"
    ),
}  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("pattern", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("at_once", [1, 3, 100], ids=["one by one", "in threes", "all at once"])
def test_the_engine_substitutes_as_the_definitions_say(pattern: str, at_once: int):
    arriving = elements(STREAM)
    numbers = [(0, number) for number in range(len(arriving))]
    batches = tuple(tuple(numbers[i : i + at_once]) for i in range(0, len(numbers), at_once))
    case = Case(
        seed=1,
        streams=(StreamData(None, tuple(arriving)),),
        graphs=(GraphData(None, triples(STATIC)),),
        queries=(f"{PROLOGUE} SELECT * {{ {pattern} }}",),
        lateness=0,
        batches=batches,
    )
    [expected] = answers(case)
    assert 0 < expected.total(), "proves little without an answer"
    assert engine_answers(case, restore=True) == [expected]
    assert engine_answers(case, shards=8) == [expected]

"""The paper's two principles, on random cases: timewise monotonicity, downward compatibility."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from pyoxigraph import Quad, Store

from oracle.canonical import canonical
from oracle.closure import (
    NoClosure,
    closure,
    closure_by_instants,
    closure_by_iteration,
    has_absence,
)
from oracle.evaluate import Effort, TooManySolutions
from oracle.generator import make_case, parsed, solved
from oracle.model import TimedDataset, stream_of
from oracle.queries import ANSWER, evaluate_query
from oracle.query_text import QueryWriter, Style
from oracle.stream_data import random_triple
from oracle.vocabulary import CLASSES, RESOURCES, iri
from penstock.algebra import Ask, Construct, Select
from penstock.languages import parse_query
from penstock.terms import XSD, Literal

NOON = 43_200_000_000


def test_answers_are_never_taken_back_and_never_come_later():
    """The answers over {⟨σ, t, t′⟩ | t′ < t₁} are the whole stream's that end before t₁."""
    seen = 0
    for seed in range(80):
        case = make_case(seed)
        queries = parsed(case)
        rules = [query for query in queries if isinstance(query, Construct)]
        ends = sorted({e.end for s in case.streams for e in s.elements})
        cut = ends[len(ends) // 2]
        try:
            whole = solved(case, queries)
            dataset = closure(rules, case.dataset.before(cut), now=case.now)
            early = [evaluate_query(query, dataset, now=case.now) for query in queries]
        except (TooManySolutions, NoClosure):
            continue
        for text, before, after in zip(case.queries, early, whole, strict=True):
            expected = Counter(row for row in after.rows if row.timeless or row.end < cut)
            assert before.counted() == expected, f"{case}\n\nat {cut}: {text}"
            seen += bool(expected)
    assert seen > 30


def test_plain_queries_at_one_instant_answer_as_sparql_does():
    """Against pyoxigraph, whose path alternatives are sets: those are left to the W3C suite."""
    seen = 0
    for seed in range(200):
        random = Random(f"plain {seed}")
        triples = _plain_triples(random)
        style = Style(temporal=False, limits=False, depth=random.choice((1, 2, 2)))
        text = QueryWriter(random, style).query()
        query = parse_query(text).query
        if re.search(r"(?<!\|)\|(?!\|)|!\^", text) or not isinstance(query, (Select, Ask, Construct)):
            continue
        try:
            ours = evaluate_query(query, TimedDataset((stream_of([(triples, NOON, NOON)]),)))
        except TooManySolutions:
            continue
        assert {row.end for row in ours.rows} <= {NOON, None}, text
        theirs = _oxigraph(triples, text, query)
        assert _by_value(row.bindings for row in ours.rows) == theirs, (text, triples)
        seen += bool(theirs)
    assert seen > 60


def _plain_triples(random: Random) -> set:
    """Triples whose literals are canonical, as the store changes others; every name occurs."""
    drawn = {random_triple(random) for _ in range(random.randint(4, 14))}
    plain = {t for t in drawn if getattr(t[2], "value", "") not in ("3.0", "2.0e0")}
    return plain | {(iri(":a"), iri(":near"), iri(each)) for each in (*RESOURCES, *CLASSES)}


def _oxigraph(triples: set, text: str, query) -> Counter:
    store = Store()
    store.extend(Quad(*triple) for triple in triples)
    found = store.query(text)
    if isinstance(query, Ask):
        answer = Literal("true" if bool(found) else "false", datatype=XSD.boolean)
        return _by_value([{ANSWER: answer}])
    if isinstance(query, Construct):
        made = {(t.subject, t.predicate, t.object) for t in found}
        names = ("subject", "predicate", "object")
        return _by_value(dict(zip(names, triple, strict=True)) for triple in made)
    names = [variable.value for variable in found.variables]
    return _by_value({n: row[n] for n in names if row[n] is not None} for row in found)


def _by_value(rows) -> Counter:
    """The rows, with numbers of a datatype compared by value and without intervals."""
    result: Counter = Counter()
    for (row, _, _), count in canonical((row, None, None) for row in rows).items():
        result[tuple((name, _NUMBER.sub(_rounded, term)) for name, term in row)] += count
    return result


_NUMBER = re.compile(r'^"([-+.\dEe]+)"\^\^<.*#(decimal|double|integer)>$')


def _rounded(match: re.Match) -> str:
    return f"{match[2]} {float(match[1]):.9g}"


def test_monotone_rules_have_the_same_closure_by_iteration_and_by_instants():
    seen = 0
    for seed in range(150):
        case = make_case(seed, 12)
        rules = tuple(query for query in parsed(case) if isinstance(query, Construct))
        if not rules or any(has_absence(rule.pattern) for rule in rules):
            continue
        try:
            one = closure_by_iteration(rules, case.dataset, case.now, Effort())
            other = closure_by_instants(rules, case.dataset, case.now, Effort())
        except (TooManySolutions, NoClosure):
            continue
        assert one == other, str(case)
        seen += any(source.occurrences for source in one.derived)
    assert seen > 8


def test_the_oracle_says_when_a_case_is_too_large():
    effort = Effort(limit=10)
    with pytest.raises(TooManySolutions):
        effort.spend(range(4), range(4))

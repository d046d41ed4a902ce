"""Paths over static graphs beside windows that bind their ends: walked from rows that leave again."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from agreement.navigation import beside_case, repeated_text
from agreement.window_runs import given_by_engine, program_of
from oracle.evaluate import TooManySolutions
from oracle.nested_text import nested_text
from oracle.vocabulary import PROLOGUE, iri
from oracle.window_generator import WindowCase, given_by
from oracle.window_model import ContinuousQuery
from penstock.engine.tuning import TUNING
from penstock.languages import parse_query
from penstock.plan.steps import Expand

QUERIES = {
    "rsp-ql": """REGISTER {} :out AS SELECT {} FROM NAMED WINDOW :W ON :s1 [RANGE PT3S STEP PT1S]
        WHERE {{ WINDOW :W {{ ?a :says ?b }} GRAPH :g1 {{ {} }} }}""",
    "cqels-cep": """SELECT {} {} FROM NAMED WINDOW :W ON :s1 [RANGE 3s]
        WHERE {{ WINDOW :W {{ ?a :says ?b }} {} }}""",
}
ENDS = ("?b {} ?c", "?c {} ?a", "?a {} ?b", "?b {} ?c . ?c :near ?d", "?c {} ?d . ?d :knows ?b")


def case_of(seed: int) -> WindowCase:
    random = Random(f"beside windows {seed}")
    path = repeated_text(random) if seed % 3 else nested_text(random, random.choice((0, 1, 2)))
    ends = random.choice(ENDS)
    language = sorted(QUERIES)[seed % 2]
    operator = random.choice(("RSTREAM", "ISTREAM", "DSTREAM"))
    select = random.choice(("*", "*", "DISTINCT ?b"))
    text = PROLOGUE + QUERIES[language].format(operator, select, ends.replace("{}", path))
    parsed = parse_query(text, language=language).query
    how = parsed.continuous
    data = next(each for each in map(beside_case, range(seed * 10, seed * 10 + 10)) if each.batches[0])
    graphs = data.graphs if language == "rsp-ql" else (replace(data.graphs[0], name=None),)
    data = replace(data, streams=(replace(data.streams[0], name=iri(":s1")),), graphs=graphs, queries=())
    asked = ContinuousQuery(replace(parsed, continuous=None), how.windows, how.report, how.operator, how.view)
    return WindowCase(data, asked, text)


@pytest.mark.parametrize("first", [0, 60])
def test_a_window_binds_the_ends_of_static_paths(first: int) -> None:
    agree = answered = walked = 0
    for seed in range(first, first + 60):
        case = case_of(seed)
        try:
            expected = given_by(case)
        except TooManySolutions:
            continue
        assert given_by_engine(case, (1, 2, 8)[seed % 3], restore=seed % 2 == 0) == expected, case
        agree += 1
        answered += bool(expected)
        [planned] = program_of(case.data, case.query, 1, TUNING).plan.queries
        walked += any(isinstance(step, Expand) and step.retractable for step in planned.step.walk())
    assert agree > 50 and answered > 20 and walked > 40

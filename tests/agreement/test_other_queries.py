"""A checkpoint goes on with other queries: those that stay notice nothing, new ones start from now."""

from __future__ import annotations

from random import Random

import pytest

from agreement.other_queries import Checkpoint, Life, disturbed, later_part, named, some_queries
from agreement.tunings import tuning_of
from oracle.cases import Case
from oracle.closure import NoClosure
from oracle.evaluate import TooManySolutions
from oracle.generator import answers, cases
from penstock.algebra import Construct
from penstock.errors import QueryError
from penstock.languages import parse_query


def has_rules(case: Case) -> bool:
    return any(isinstance(parse_query(text).query, Construct) for text in case.queries)


@pytest.mark.sample(0)
@pytest.mark.parametrize("first", range(20_000, 20_160, 40))
def test_queries_that_stay_answer_as_if_nothing_had_happened(first: int):
    """Before, between and after them others come, go and change; of those that went nothing is stored."""
    compared = removed = 0
    for case, expected in cases(range(first, first + 40), late=True):
        try:
            lives = disturbed(case)
        except QueryError as refusal:
            if "recursion" not in refusal.message:
                assert has_rules(case) and "cannot go on: its rows are" in refusal.message, case
            continue
        assert lives.left <= lives.wanted, f"something is left of removed queries:\n{case}"
        assert lives.found == expected, f"lives begin at {lives.cuts}:\n{case}"
        compared += any(expected) and any(0 < cut < len(case.batches) for cut in lives.cuts)
        removed += lives.dropped
    assert compared >= 10 and removed >= 5, "too few of these cases prove anything"


@pytest.mark.sample(0)
@pytest.mark.parametrize("first", range(21_000, 21_160, 40))
def test_a_new_query_answers_from_what_comes_from_now_on(first: int):
    compared = 0
    for seed in range(first, first + 40):
        for case, _ in cases([seed], late=True):
            if len(case.batches) < 2 or any(
                isinstance(parse_query(q).query, Construct) for q in case.queries
            ):
                continue
            random, shards = Random(f"new {case.seed}"), (1, 2, 8)[case.seed % 3]
            cut = random.randint(1, len(case.batches) - 1)
            old = Life(named("old", list(case.queries)), case.batches[:cut])
            for text in some_queries(case, random, 3):
                new = Life({"new": text, **old.queries}, case.batches[cut:])
                try:
                    [expected] = answers(later_part(case, cut, [text]))
                except (TooManySolutions, NoClosure):
                    continue
                checkpoint = Checkpoint(case, shards, tuning_of(case.seed))
                checkpoint.live(old)
                found = checkpoint.live(new, ends=True)["new"]
                assert found == expected, f"with {shards} shards, new at {cut}:\n{text}\n{case}"
                compared += bool(expected)
    assert compared >= 8, "too few of these cases prove anything"

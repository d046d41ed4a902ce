"""With tens of thousands of elements in many batches the engine answers as SQL does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agreement.large_streams import differences, make_case
from agreement.questions import QUESTIONS
from penstock.engine.tuning import Tuning


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=lambda number: QUESTIONS[number].name)
def test_the_engine_answers_as_sql_does(number: int):
    answered = 0
    for seed in range(number, 3 * len(QUESTIONS), len(QUESTIONS)):
        case = make_case(seed)
        count, wrong = differences(case)
        assert not wrong, "\n".join([str(case), *wrong])
        answered += count
    assert answered, "no answers prove nothing"


def test_answers_keep_their_bindings_when_most_of_a_store_expires_in_their_step():
    count = 4_000
    case = replace(
        make_case(0),
        rise=-1_000,
        bound=3,
        keys=1,
        subject=np.zeros(count, int),
        predicate=np.zeros(count, int),
        value=np.arange(count) % 100,
        start=np.arange(count) * 1_000_000,
        end=np.arange(count) * 1_000_000,
        lateness=0,
        cuts=[count // 2, count],
        shards=1,
        restored=0.0,
        tuning=Tuning(),
    )
    assert differences(case) == (7_997, [])

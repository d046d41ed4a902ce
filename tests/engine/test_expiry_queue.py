"""What happens to remembered rows in a step is found as if all of them were looked at."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.columns.frame import Frame
from penstock.engine.changing.expiry_queue import ExpiryQueue
from penstock.engine.store import Store, while_present
from penstock.engine.tuning import Tuning
from penstock.timeline import FOREVER


@pytest.mark.parametrize("leaving", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_due_is_what_happens_in_the_step(seed, leaving):
    random = Random(seed)
    tuning = Tuning(segments=random.choice((1, 2, 5)), expired=random.choice((2, 5)), taken_back=1000)
    store = Store("", ("n",), while_present, tuning=tuning, changing=True)
    expiry_queue = ExpiryQueue(store, leaving=leaving)
    known: list[tuple[int, int, int]] = []
    begin = number = 0
    for _ in range(40):
        rows = []
        for _ in range(random.randrange(6)):
            since = begin + random.randrange(12)
            number += 1
            rows.append((number, since, random.choice((since + random.randrange(1, 30), FOREVER))))
        known += rows
        if rows:
            n, since, until = np.array(rows, np.int64).T.copy()
            start = np.where(n % 3 == 0, 1, 5)  # some are timeless, and so in another part
            end = np.where(n % 3 == 0, 0, 5)
            store.append(Frame(("n",), n[None, :], start, end, np.ones(len(n), np.int64), since, until))
        end = begin + random.randrange(5)
        expected = [(time, n, 1) for n, time, _ in known if begin <= time < end]
        expected += [(time, n, -1) for n, _, time in known if begin <= time < end and leaving]
        found = expiry_queue.due(begin, end)
        assert sorted(found.time.tolist()) == found.time.tolist()
        given = zip(found.time.tolist(), found.rows.ids[0].tolist(), found.change.tolist(), strict=True)
        assert sorted(given) == sorted(expected)
        begin = end
        store.expire(begin)


def test_what_is_not_due_is_not_looked_at():
    store = Store("", (), while_present, changing=True)
    expiry_queue = ExpiryQueue(store)
    since = np.arange(1000, dtype=np.int64)
    ones = np.ones(1000, np.int64)
    store.append(Frame((), np.empty((0, 1000), np.int64), since, since, ones, since, since + 10_000))
    assert len(expiry_queue.due(0, 1000)) == 1000
    [rows] = store.parts.values()
    rows.presence = _Untouchable(rows.presence)
    for instant in range(1000, 10_000, 1000):
        assert len(expiry_queue.due(instant, instant + 1000)) == 0


class _Untouchable:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, item):
        raise AssertionError("rows were looked at")

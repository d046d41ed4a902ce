"""What operators remember: as long as it is needed, in chunks that are written once."""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame
from penstock.engine import kernels
from penstock.engine.store import Pairing, Store, until_out_of_reach, until_started
from penstock.timeline import FOREVER

WITHIN = 10


def frame(*rows: tuple[int, int, int]) -> Frame:
    keys, start, end = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    return Frame(("k",), keys[None, :], start, end)


def pairs(left: Frame, right: Frame, mode: int = kernels.SEQ) -> set[tuple[int, int]]:
    """The row numbers that a batch join of two frames finds."""
    a, b = Store("a", ("k",), until_out_of_reach(WITHIN)), Store("b", ("k",), until_started)
    pairing = Pairing(a.part((0, False)), b.part((0, False)), [0], [0], mode, WITHIN, False)
    pairing.prepare()
    a.append(left)
    b.append(right)
    return {pair for i, j in pairing.join() for pair in zip(i.tolist(), j.tolist(), strict=True)}


def test_a_sequence_needs_an_end_strictly_before_a_start():
    left = frame((1, 0, 1), (1, 2, 3), (2, 0, 0))
    assert pairs(left, frame((1, 3, 4))) == {(0, 0)}


def test_a_combination_longer_than_the_bound_is_left_out():
    assert pairs(frame((1, 0, 1), (1, 5, 6)), frame((1, 11, 11))) == {(1, 0)}
    assert pairs(frame((1, 1, 1)), frame((1, 11, 11))) == {(0, 0)}


def test_all_pairs_are_found_whatever_the_order_of_arrival():
    random = np.random.default_rng(1)
    starts, ends = random.integers(0, 60, (2, 80))
    rows = [(int(k), int(min(s, e)), int(max(s, e))) for k, s, e in
            zip(random.integers(1, 4, 80), starts, ends, strict=True)]  # fmt: skip
    left, right = rows[:40], rows[40:]
    expected = {
        (i, j)
        for i, (k, s, e) in enumerate(left)
        for j, (key, start, end) in enumerate(right)
        if k == key and e < start and end - s <= WITHIN
    }
    assert expected and pairs(frame(*left), frame(*right)) == expected


def test_a_chunk_is_written_once_and_deleted_when_its_last_row_has_expired():
    store = Store("s", ("k",), until_out_of_reach(WITHIN))
    store.append(frame((1, 0, 0), (2, 5, 5)))
    [(number, kept)], gone = store.changes(watermark=3)
    assert (number, len(kept), gone) == (0, 2, [])
    assert store.changes(watermark=12) == ([], [])  # the second row is needed until 15
    assert store.changes(watermark=16) == ([], [0])


def test_rows_that_have_expired_meanwhile_are_not_restored():
    store = Store("s", ("k",), until_out_of_reach(WITHIN))
    store.restore(7, frame((1, 0, 0), (2, 5, 5)), watermark=12)
    assert store.rows().ids.tolist() == [[2]]
    store.append(frame((3, 20, 20)))
    assert store.changes(watermark=12)[0][0][0] == 8, "numbers go on after the restored ones"
    assert store.changes(watermark=FOREVER)[1] == [7, 8]

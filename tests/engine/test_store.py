"""What operators remember: as long as it is needed, in chunks that are written once."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.algebra.relations import (
    DURING,
    ENDED,
    EQUALS,
    FINISHES,
    INTERSECTS,
    MEETS,
    OVERLAPS,
    SEQ,
    STARTS,
    JoinBounds,
    Limit,
    Relation,
    Side,
)
from penstock.columns.frame import Frame
from penstock.engine.chains import Pairing
from penstock.engine.store import Retention, Store, forever
from penstock.engine.tuning import TUNING, Tuning
from penstock.timeline import FOREVER

WITHIN = 10


def frame(*rows: tuple[int, int, int]) -> Frame:
    keys, start, end = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    return Frame(("k",), keys[None, :], start, end)


def pairs(
    left: Frame, right: Frame, relation: Relation = SEQ, within: int | None = WITHIN, portions: int = 1
) -> set[tuple[int, int]]:
    """The row numbers that a batch join of two frames finds, if they come in so many portions."""
    join_bounds = JoinBounds(relation, within=within)
    a = Store("a", ("k",), Retention(join_bounds.latest_end(Side.LEFT)))
    b = Store("b", ("k",), Retention(join_bounds.latest_end(Side.RIGHT)))
    pairing = Pairing(a.part((0, False)), b.part((0, False)), [0], [0], join_bounds, False)
    found = []
    for portion in range(portions):
        pairing.prepare()
        a.append(left.take(np.arange(len(left)) * portions // len(left) == portion))
        b.append(right.take(np.arange(len(right)) * portions // len(right) == portion))
        found += [pair for i, j in pairing.join() for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert len(set(found)) == len(found), "a pair was found twice"
    return set(found)


def test_a_sequence_needs_an_end_strictly_before_a_start():
    left = frame((1, 0, 1), (1, 2, 3), (2, 0, 0))
    assert pairs(left, frame((1, 3, 4))) == {(0, 0)}


def test_a_combination_longer_than_the_bound_is_left_out():
    assert pairs(frame((1, 0, 1), (1, 5, 6)), frame((1, 11, 11))) == {(1, 0)}
    assert pairs(frame((1, 1, 1)), frame((1, 11, 11))) == {(0, 0)}


LITERALLY = {
    SEQ: lambda ls, le, rs, re: le < rs,
    EQUALS: lambda ls, le, rs, re: ls == rs and le == re,
    ENDED: lambda ls, le, rs, re: re <= le,
    ENDED.converse: lambda ls, le, rs, re: le <= re,
    SEQ.converse: lambda ls, le, rs, re: re < ls,
    INTERSECTS: lambda ls, le, rs, re: ls <= re and rs <= le,
    DURING: lambda ls, le, rs, re: rs < ls and le < re,
    STARTS: lambda ls, le, rs, re: ls == rs and le < re,
    FINISHES: lambda ls, le, rs, re: rs < ls and le == re,
    MEETS: lambda ls, le, rs, re: le == rs,
    OVERLAPS: lambda ls, le, rs, re: ls < rs < le < re,
}


@pytest.mark.parametrize("portions", [1, 3])
@pytest.mark.parametrize("within", [None, WITHIN])
@pytest.mark.parametrize("relation", LITERALLY, ids=str)
def test_all_pairs_are_found_whatever_the_order_of_arrival(relation, within, portions):
    random = np.random.default_rng(1)
    starts, lengths = random.integers(0, 20, (2, 160))
    ends = starts + lengths // 4
    rows = list(zip(random.integers(1, 4, 160).tolist(), starts.tolist(), ends.tolist(), strict=True))
    left, right = rows[:80], rows[80:]
    expected = {
        (i, j)
        for i, (k, s, e) in enumerate(left)
        for j, (key, start, end) in enumerate(right)
        if k == key and LITERALLY[relation](s, e, start, end)
        if within is None or max(e, end) - min(s, start) <= within
    }
    assert expected and pairs(frame(*left), frame(*right), relation, within, portions) == expected


def test_a_chunk_is_written_once_and_deleted_when_its_last_row_has_expired():
    store = Store("s", ("k",), Retention(Limit(WITHIN)))
    store.append(frame((1, 0, 0), (2, 5, 5)))
    [(key, kept)], gone = store.changes(watermark=3)
    assert (len(kept), gone) == (2, [])
    assert store.changes(watermark=12) == ([], [])  # the second row is needed until 15
    assert store.changes(watermark=16) == ([], [key])


def test_rows_that_have_expired_meanwhile_are_not_restored():
    store = Store("s", ("k",), Retention(Limit(WITHIN)))
    store.restore("000000007.0", frame((1, 0, 0), (2, 5, 5)), watermark=12)
    assert store.rows().ids.tolist() == [[2]]
    store.append(frame((3, 20, 20)))
    [(key, _)], _ = store.changes(watermark=12)
    assert key > "000000007.0", "numbers go on after the restored ones"
    assert store.changes(watermark=FOREVER)[1] == ["000000007.0", key]


class Stored:
    """A store beside what the state store has of it."""

    def __init__(self, until: Retention, tuning: Tuning = TUNING) -> None:
        self.until = until
        self.tuning = tuning
        self.store = Store("s", ("k",), until, tuning=tuning)
        self.chunks: dict[str, Frame] = {}
        self.written = 0

    def step(self, new: Frame, watermark: int) -> None:
        self.store.append(new)
        self.store.expire(watermark)
        put, gone = self.store.changes(watermark)
        for key in gone:
            del self.chunks[key]
        for key, frame in put:
            assert key not in self.chunks, "a chunk is written once"
            self.chunks[key] = frame
            self.written += len(frame)

    def restore(self, watermark: int) -> None:
        """Goes on as a restart would: from the chunks alone."""
        self.store = Store("s", ("k",), self.until)
        for key in sorted(self.chunks):
            self.store.restore(key, self.chunks[key], watermark)

    def rows(self) -> list[int]:
        return self.store.rows().ids[0].tolist()


@pytest.mark.parametrize("restarts", [(), (5, 16, 17, 300, 700, 999)])
def test_the_chunks_of_a_thousand_steps_are_few_and_have_every_row_in_order(restarts):
    stored = Stored(forever)
    for t in range(1000):
        stored.step(frame((2 * t, t, t), (2 * t + 1, t, t)), watermark=t)
        if t in restarts:
            stored.restore(t)
        assert len(stored.chunks) <= 15 * 3
    assert stored.written <= 2000 * 3, "each row once for each level"
    stored.restore(1000)
    assert stored.rows() == list(range(2000))


def test_rows_that_nobody_needs_are_left_out_where_chunks_are_put_together():
    stored = Stored(Retention(Limit(100)))
    for t in range(1000):
        stored.step(frame((t, t, t)), watermark=t)
        kept = sum(len(frame) for frame in stored.chunks.values())
        assert kept <= 2 * 101, "no more than the window and a chunk that is about to go"
        assert len(stored.chunks) <= 15 * 2
    stored.restore(999)
    assert stored.rows() == list(range(899, 1000))

    short = Stored(lambda rows: np.where(rows.ids[0] % 2, FOREVER, rows.end))
    for t in range(16):
        short.step(frame((2 * t, t, t), (2 * t + 1, t, t)), watermark=t)
    [merged] = short.chunks.values()
    assert merged.ids[0].tolist() == [*range(1, 30, 2), 30, 31]


def test_what_is_known_from_the_start_is_in_no_chunk_however_many_are_put_together():
    stored = Stored(forever)
    stored.store.append(frame((-1, 0, 0)))
    stored.store.forget_fresh()
    for t in range(40):
        stored.step(frame((t, t, t)), watermark=t)
    stored.restore(40)
    assert stored.rows() == list(range(40))


def test_large_chunks_stay_as_they_are():
    stored = Stored(forever, Tuning(largest_chunk=100))
    stored.step(frame(*((0, 0, 0) for _ in range(90))), watermark=0)
    for t in range(1, 300):
        stored.step(frame((t, t, t)), watermark=t)
        assert max(map(len, stored.chunks.values())) <= 100
    assert len(stored.chunks) < 2 + 15 + 300 // 16
    stored.restore(300)
    assert stored.rows() == [0] * 90 + list(range(1, 300))

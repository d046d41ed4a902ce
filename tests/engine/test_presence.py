"""Rows that say when solutions are there: put together they say the same, in the fewest rows."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np

from penstock.columns import wire
from penstock.columns.frame import Frame, Pairs
from penstock.engine.presence import consolidated
from penstock.engine.store import Store, while_present
from penstock.engine.tuning import Tuning
from penstock.timeline import FOREVER, NEVER, TIMELESS_END, TIMELESS_START

INSTANTS = range(-1, 14)


def rows_of(random: Random, count: int) -> Frame:
    """Rows over few solutions, some of them timeless, that come, leave and are taken back."""
    rows = []
    for _ in range(count):
        start, end = random.choice(((1, 2), (1, 3), (TIMELESS_START, TIMELESS_END)))
        since = random.randint(0, 10)
        until = random.choice((FOREVER, since + random.randint(1, 3)))
        rows.append((random.choice((0, 5, 6)), start, end, random.choice((-2, -1, 1, 1, 1, 2)), since, until))
    columns = np.array(rows, np.int64).reshape(-1, 6).T.copy()
    return Frame(("x",), columns[:1], *columns[1:])


def at(frame: Frame, instant: int) -> Counter:
    found: Counter = Counter()
    for x, start, end, weight, since, until in zip(
        frame.column("x"), frame.start, frame.end, *frame.presence, strict=True
    ):
        if since <= instant < until:
            found[x, start, end] += int(weight)
    return Counter({row: count for row, count in found.items() if count})


def test_consolidated_rows_say_the_same_and_none_twice() -> None:
    random = Random("consolidated")
    for _ in range(200):
        frame = rows_of(random, random.randint(0, 12))
        fewer = consolidated(frame)
        for instant in INSTANTS:
            assert at(fewer, instant) == at(frame, instant)
            valid = (fewer.since <= instant) & (instant < fewer.until)
            assert int(valid.sum()) == len(at(fewer, instant))
        assert (fewer.weight != 0).all() and (fewer.since < fewer.until).all()
        assert len(consolidated(Frame.concat([frame, taken_back(frame)], ("x",)))) == 0


def taken_back(frame: Frame) -> Frame:
    return frame.present(-frame.weight, frame.since, frame.until)


def test_a_combination_is_there_while_both_rows_are_as_often_as_the_product() -> None:
    ids = np.array([[7]], np.int64)
    one = np.array([1], np.int64)

    def row(weight: int, since: int, until: int) -> Frame:
        return Frame(("x",), ids, one, one, *(np.array([n], np.int64) for n in (weight, since, until)))

    first = np.zeros(1, np.int64)
    pair = Pairs(row(2, 3, 9), first, row(-3, 5, FOREVER), first, ("x",))
    assert [int(column[0]) for column in pair.presence] == [-6, 5, 9]
    plain = Frame(("x",), ids, one + 5, one + 5)  # there from its end on, once
    pair = Pairs(row(2, 3, 9), first, plain, first, ("x",))
    assert [int(column[0]) for column in pair.presence] == [2, 6, 9]
    timeless = Frame.timeless(("x",), ids)
    pair = Pairs(row(2, 3, 9), first, timeless, first, ("x",))
    assert [int(column[0]) for column in pair.presence] == [2, 3, 9]
    assert Pairs(plain, first, timeless, first, ("x",)).presence == ()


def test_the_wire_and_all_ways_to_make_frames_of_frames_keep_presence() -> None:
    frame = rows_of(Random("wire"), 9)
    plain = Frame.timeless(("x",), np.array([[5, 6]], np.int64))
    [(_, again), (_, stays)], _, _ = wire.unpack(wire.pack([("a", frame), ("b", plain)]))
    assert not stays.retractable
    for made in (again, frame.renamed(("x",)), frame.extended("y", frame.start).project(("x",))):
        assert all(np.array_equal(a, b) for a, b in zip(made.presence, frame.presence, strict=True))
    both = Frame.concat([plain, frame], ("x",))
    assert both.weight[:2].tolist() == [1, 1]
    assert both.since[:2].tolist() == [NEVER, NEVER] and both.until[:2].tolist() == [FOREVER, FOREVER]


def test_a_store_that_rows_leave_stays_small_and_so_do_its_chunks() -> None:
    """10,000 rows come and are taken back: what is remembered and stored follows what is there."""
    store = Store("s", ("x",), while_present, tuning=Tuning(taken_back=10, expired=10), changing=True)
    stored: dict[str, Frame] = {}
    largest = 0
    for step in range(1000):
        ids = np.array([[10 + step % 3, 20, 30]], np.int64)
        times = np.full(3, step, np.int64)
        came = Frame(("x",), ids, times, times).changing()
        store.append(came)
        if step:
            gone = came.start - 1
            store.append(Frame(("x",), np.array([[10 + (step - 1) % 3, 20, 30]], np.int64), gone, gone,
                               np.full(3, -1), times, np.full(3, FOREVER)))  # fmt: skip
        store.expire(step)
        put, deleted = store.changes(step)
        for key in deleted:
            del stored[key]
        stored.update(put)
        largest = max(largest, len(store), sum(map(len, stored.values())))
    assert largest < 60
    again = Store("s", ("x",), while_present, changing=True)
    for key in sorted(stored):
        again.restore(key, stored[key], 999)
    assert at(again.rows(), 999) == at(store.rows(), 999) and sum(at(again.rows(), 999).values()) == 3

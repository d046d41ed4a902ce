"""The work of a slide follows what entered and left, not what the window holds."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from penstock.bench import windows
from penstock.bench.windows import MeasuredShard, Rooms, Sizes
from penstock.engine.chains import Pairing
from penstock.engine.tuning import Tuning
from penstock.plan import steps

SIZES = Sizes(elements=6_000, sensors=500, rooms=5, slide=20, batch=700)
TINY = Tuning(room=2, expired=3, taken_back=2, segments=2, together=2, largest_chunk=50, spare_terms=5)


@pytest.fixture(scope="module")
def rooms() -> Rooms:
    return Rooms(SIZES)


@pytest.mark.parametrize("ratio", [1, 10, 100])
def test_an_element_is_joined_once_and_is_a_row_once(rooms, ratio):
    """It says when it will leave, so nobody has to take it back."""
    run = MeasuredShard(windows.opened([SIZES.query(ratio)], rooms))
    run.through(rooms.occurrences())
    shard = run.shard.shard
    given = {type(step): shard.counts.given.get(i, 0) for i, step in enumerate(shard.net.steps)}
    assert given[steps.Join] == SIZES.elements
    assert given[steps.Unique] == SIZES.elements


def test_equal_windows_of_different_queries_are_one(rooms):
    program = windows.opened([SIZES.query(10), SIZES.query(10, above=50), SIZES.query(10, above=51)], rooms)
    kinds = [type(step) for step in program.network.steps]
    assert kinds.count(steps.Join) == kinds.count(steps.Unique) == kinds.count(steps.Aggregated) == 1


@pytest.mark.parametrize("ratio", [1, 10, 100])
@pytest.mark.parametrize("tuning", [Tuning(), TINY], ids=["as always", "tiny"])
def test_every_slide_answers_as_pyoxigraph_does_over_the_whole_window(rooms, ratio, tuning):
    closes = rooms.closes().tolist()[:: 1 if ratio == 10 else 7]
    run = MeasuredShard(windows.opened([SIZES.query(ratio)], rooms, tuning))
    run.through(rooms.occurrences(), closes)
    _, expected = windows.Peer(rooms).slides(ratio, closes)
    windows.compare(run.answers, expected)
    assert len(expected) == len(closes)


@pytest.mark.parametrize("batch", [60, 6_000])
def test_a_row_meets_those_averages_that_are_there_with_it(batch):
    """Not all that there were in its batch, nor those that were taken back before it came."""
    rooms = Rooms(replace(SIZES, sensors=20, batch=batch))
    met, join = 0, Pairing.join

    def counting(self):
        nonlocal met
        for rows, partners in join(self):
            met += len(rows)
            yield rows, partners

    run = windows.averaging(rooms, Tuning(taken_back=20))
    with patch.object(Pairing, "join", counting):
        given = run.through(rooms.occurrences(named=True))
    wanted, _ = windows.averages_anew(rooms, ())
    assert given == wanted
    assert met < 12 * given

"""Which rows are new: also to a store that others have added rows to, as a restart does."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.columns.frame import Frame
from penstock.engine.operators import Seen
from penstock.engine.store import Store, forever
from penstock.engine.tuning import Tuning


def timeless(*keys: int) -> Frame:
    return Frame.timeless(("k",), np.array([keys], np.int64))


@pytest.mark.parametrize("room", [1, 2, 64])
def test_rows_that_were_restored_after_the_first_look_are_not_new(room: int):
    store = Store("seen", ("k",), forever, tuning=Tuning(room=room))
    seen = Seen(store)
    assert seen.add(timeless(1, 2, 1)).ids.tolist() == [[1, 2]]
    store.restore("000000000.0", timeless(3, 4), 0)
    assert seen.add(timeless(4, 5, 3, 2)).ids.tolist() == [[5]]
    assert sorted(store.rows().ids[0].tolist()) == [1, 2, 3, 4, 5]

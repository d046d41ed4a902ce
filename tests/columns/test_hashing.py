"""Hash tables over columns of ids."""

import numpy as np
import pytest

from penstock.columns import hashing


@pytest.mark.parametrize("known", [0, 1, 100, 5_000])
@pytest.mark.parametrize("wanted", [0, 1, 15, 16, 17, 3_000])
def test_ids_among_wanted_ones(known, wanted):
    random = np.random.default_rng(known + wanted)
    ids = random.integers(0, 4_000, known)  # some come twice
    chosen = random.integers(0, 4_000, wanted)
    assert (hashing.among(ids, chosen) == np.isin(ids, chosen)).all()
    assert (hashing.among(ids[::2], chosen[::2]) == np.isin(ids[::2], chosen[::2])).all(), "strided"


def test_ids_of_the_same_place_are_told_apart():
    ids = np.arange(20_000) << 40  # the low bits are all alike
    assert (hashing.among(ids, ids[::3]) == (np.arange(20_000) % 3 == 0)).all()

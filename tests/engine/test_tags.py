"""The tags that tell outer solutions of EXISTS apart cannot be foreseen without the run's key."""

from __future__ import annotations

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.ids import HASHED
from penstock.engine.operators import tags_of


def tags(ids: np.ndarray, key: int) -> np.ndarray:
    return tags_of(Frame.timeless(tuple("abc"[: len(ids)]), ids), tuple("abc"[: len(ids)]), key)


def test_rows_have_equal_tags_where_their_bindings_are_equal():
    random = np.random.default_rng(3)
    ids = random.integers(0, 40, (3, 200_000))  # 0: unbound
    _, rows = np.unique(ids, axis=1, return_inverse=True)
    numbers = np.unique(tags(ids, 17), return_inverse=True)[1]
    pairs = set(zip(rows.reshape(-1).tolist(), numbers.tolist(), strict=True))
    assert len(pairs) == rows.max() + 1 == numbers.max() + 1
    assert (tags(ids, 17) > 0).all() and (tags(ids, 17) < HASHED).all()


def test_what_collides_for_one_key_collides_for_no_other():
    """Differences that cancel each other whatever a multiplication by a constant begins with."""
    random = np.random.default_rng(5)
    ids = random.integers(1, HASHED, (2, 1_000))
    twins = ids ^ np.array([[1 << 61], [1 << 61 | 1 << 29]])
    for key in (0, 1, 12345):
        assert not (tags(ids, key) == tags(twins, key)).any()
    assert not (tags(ids, 1) == tags(ids, 2)).any()

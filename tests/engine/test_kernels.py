"""The compiled loops that joins consist of."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.columns import ids
from penstock.columns.frame import Frame, Pairs
from penstock.engine import kernels
from penstock.terms import XSD, Literal


def nodes_of(keys: np.ndarray, times: np.ndarray, compared: int = -1) -> np.ndarray:
    nodes = np.zeros((len(keys), kernels.KEYS + 1), np.int64)
    columns = np.zeros(1, np.int64)
    kernels.fill_nodes(keys[None, :], columns, compared, times, times, 0, len(keys), True, False, nodes)
    return nodes


def sorted_order(left: np.ndarray, right: np.ndarray, first: int) -> list[int]:
    rows = [(node[kernels.HASH] >> kernels.PARTITION_SHIFT, node[kernels.END], side, place)
            for side, nodes in enumerate((left, right)) for place, node in enumerate(nodes)]  # fmt: skip
    return [(first + place) * 2 + side for _, _, side, place in sorted(rows)]


@pytest.mark.parametrize("shuffled", [False, True])
def test_new_rows_of_both_sides_are_taken_by_partition_and_time(shuffled: bool):
    random = np.random.default_rng(3)
    keys = random.integers(1, 50, 400)
    times = np.sort(random.integers(0, 100, 400))
    if shuffled:
        random.shuffle(times)
    left, right = nodes_of(keys[:250], times[:250]), nodes_of(keys[150:], times[150:])
    order = kernels.batch_order(left, 7, right, 7, kernels.END).tolist()
    if not shuffled:
        assert order == sorted_order(left, right, 7)
    partitions = [
        ((left, right)[at & 1][(at >> 1) - 7][[kernels.HASH, kernels.END]]).tolist() for at in order
    ]
    by_partition = [(hash_ >> kernels.PARTITION_SHIFT, time) for hash_, time in partitions]
    assert by_partition == sorted(by_partition) and len(set(order)) == len(left) + len(right)


def test_without_time_the_partitions_are_merged_as_they_are():
    random = np.random.default_rng(4)
    keys, times = random.integers(1, 50, 400), random.integers(0, 100, 400)
    left, right = nodes_of(keys[:250], times[:250]), nodes_of(keys[150:], times[150:])
    order = kernels.batch_order(left, 0, right, 0, kernels.END, False).tolist()
    partitions = [(left, right)[at & 1][at >> 1, kernels.HASH] >> kernels.PARTITION_SHIFT for at in order]
    assert partitions == sorted(partitions) and len(set(order)) == len(left) + len(right)
    assert [at >> 1 for at in order if not at & 1] == [*range(250)]


def test_one_side_may_be_empty():
    some, none = nodes_of(np.array([5, 6]), np.array([1, 2])), nodes_of(np.empty(0, int), np.empty(0, int))
    assert sorted(kernels.batch_order(some, 0, none, 0, kernels.END).tolist()) == [0, 2]
    assert sorted(kernels.batch_order(none, 0, some, 0, kernels.END).tolist()) == [1, 3]


def test_nodes_carry_the_number_that_prefilters_compare():
    terms = [Literal("2.5", datatype=XSD.decimal), Literal("2.5", datatype=XSD.float), Literal("x")]
    column = np.array([ids.id_of(term) for term in terms], np.int64)
    nodes = nodes_of(column, np.arange(3), compared=0)
    found = dict(
        zip(nodes[:, kernels.ROW].tolist(), nodes.view(float)[:, kernels.NUMBER].tolist(), strict=True)
    )
    assert found[0] == 2.5
    assert np.isnan(found[1]) and np.isnan(found[2]), "a float is rounded once more, a string has none"


def test_combinations_take_a_binding_from_the_side_that_has_one():
    times = np.array([1, 2, 3], np.int64)
    left = Frame(("a", "b"), np.array([[11, 12, 13], [0, 22, 0]]), times, times)
    right = Frame(("b", "c"), np.array([[31, 0, 33], [41, 42, 43]]), times + 10, times + 20)
    pairs = Pairs(left, np.array([0, 1, 2]), right, np.array([2, 1, 0]), ("a", "b", "c", "d"))
    assert pairs.ids.tolist() == [[11, 12, 13], [33, 22, 31], [43, 42, 41], [0, 0, 0]]
    in_order = Pairs(left, pairs.left_rows, right, pairs.right_rows, pairs.vars, ("left", "right")).take(
        times > 1
    )
    assert in_order.start.tolist() == pairs.start.tolist()[1:] == [2, 3]
    assert in_order.end.tolist() == pairs.end.tolist()[1:] == [22, 21]

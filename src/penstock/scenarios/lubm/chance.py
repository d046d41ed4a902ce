"""The random numbers of the benchmark: the linear congruential generator of `java.util.Random`.

The Java platform's documentation defines it to the bit, and the benchmark's data depend on it. The
state is an array of one number, which every draw moves on.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import njit

_FACTOR = 0x5DEECE66D
_STEP = 0xB
_MASK = (1 << 48) - 1


def new_state() -> np.ndarray:
    return np.zeros(1, np.int64)


@njit()
def set_seed(state, seed):
    state[0] = (seed ^ _FACTOR) & _MASK


@njit()
def next_bits(state, bits):
    """The next number of so many bits, at most 31; as Java's `next`, but without a sign."""
    state[0] = (state[0] * _FACTOR + _STEP) & _MASK  # what overflows is masked away
    return state[0] >> (48 - bits)


@njit()
def below(state, bound):
    """A number from 0 to below the bound: Java's `nextInt(bound)`."""
    if bound & -bound == bound:
        return (bound * next_bits(state, 31)) >> 31
    while True:
        bits = next_bits(state, 31)
        value = bits % bound
        if bits - value + bound - 1 < 1 << 31:  # otherwise from the last, incomplete run of values
            return value


@njit()
def within(state, bounds):
    """A number from a range, both ends included."""
    return bounds[0] + below(state, bounds[1] - bounds[0] + 1)


@njit()
def sample(state, size, pool, out, sorted_out):
    """So many different numbers from 0 to below `pool`, in the order drawn, into `out`.

    Each draw is a place among the numbers that are left. Which number stands there is found by
    stepping over those taken before, which are kept in order.
    """
    for taken in range(size):
        number = below(state, pool - taken)
        at = 0
        while at < taken and sorted_out[at] <= number:
            number += 1
            at += 1
        for later in range(taken, at, -1):
            sorted_out[later] = sorted_out[later - 1]
        sorted_out[at] = number
        out[taken] = number

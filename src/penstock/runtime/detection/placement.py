"""Gives every shard a Spark partition of its own.

Spark places a group by the hash of its key, so shards 0 and 1 may meet in one partition
while another stays empty. We choose the keys: for every partition the smallest integer that
Spark's hash sends there.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def spark_hash(value: int) -> int:
    """Spark's `hash` of an int column: Murmur3 (x86, 32 bits) with seed 42, signed."""
    word = (value & _MASK) * 0xCC9E2D51 & _MASK
    word = _rotate(word, 15) * 0x1B873593 & _MASK
    state = (_rotate(_SEED ^ word, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4
    state = (state ^ (state >> 16)) * 0x85EBCA6B & _MASK
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state & 0x80000000 else state


def shard_keys(shards: int) -> list[int]:
    """For each shard the grouping key that lands in the partition of the same number."""
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < shards:
        keys.setdefault(spark_hash(candidate) % shards, candidate)
        candidate += 1
    return [keys[shard] for shard in range(shards)]

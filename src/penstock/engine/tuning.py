"""Where the engine changes its way of working: sizes that no answer depends on.

They are parameters of a program, so that tests can make them tiny: what happens only beyond a
threshold must be tried with streams of a few elements too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The thresholds of a program."""

    room: int = 64
    """Rows for which a new store has room; it doubles when it is full."""
    expired: int = 1024
    """Rows that a store lets go at once, if they are most of it; fewer stay for a while."""
    taken_back: int = 1024
    """Rows that take others back which a store keeps, before it puts them together with those."""
    segments: int = 64
    """Lists of what is still to happen to the rows of a store, before they become one."""
    pairs: int = 1 << 20
    """Combinations of rows that are put together at a time."""
    together: int = 16
    """Stored chunks of one level that become one of the next; 2 or more."""
    largest_chunk: int = 1 << 18
    """Rows that a chunk made of several may have: larger ones are few anyway, and slow to write at once."""
    spare_terms: int = 1 << 18
    """Texts without a row that mentions them that a shard keeps before it looks for them."""
    unneeded_terms: int = 4
    """Texts per id of a step's new rows that a shard takes in without asking which of them it needs."""
    few_terms: int = 4096
    """Texts that a payload carries as they are; of more it takes those that its rows mention."""
    few_shards: int = 4
    """Shards up to which a payload with a text per row or fewer takes them all as well."""
    remembered_per_row: int = 16
    """Rows that are remembered for each one looked for; if there are more, each is looked for by itself."""


TUNING = Tuning()

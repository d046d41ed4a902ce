"""What the watermark is, as a function of what was recorded: decision 0005, executed literally.

Nothing here goes step by step: every watermark is computed from the whole history before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.timeline import FOREVER, NEVER


@dataclass(frozen=True)
class Look:
    """One look of the planner at the streams, and what the batch that it made reads (if any)."""

    clock: int
    read: dict[int, list[int]] = field(default_factory=dict)  # stream → the ends of its elements
    unread: frozenset[int] = frozenset()  # streams with data that is known and not read yet
    over: frozenset[int] = frozenset()  # streams that nothing more can come from
    batch: bool = True  # whether it made a batch, with data or without
    first: bool = False  # nobody was listening before: the beginning, or a restart


def watermark(
    looks: list[Look], streams: int, *, lateness: int, idle: int | None = None, tick: bool = False
) -> int:
    """The watermark after the last of some looks."""
    moments = [_reached(looks[: n + 1], streams, idle, tick) for n, look in enumerate(looks) if look.batch]
    moments = [moment for moment in moments if moment != NEVER]
    if not moments:
        return NEVER
    return FOREVER if FOREVER in moments else max(moments) - lateness


def _reached(looks: list[Look], streams: int, idle: int | None, tick: bool) -> int:
    now = looks[-1]
    if len(now.over) == streams:
        return FOREVER
    ends = {s: [end for look in looks for end in look.read.get(s, [])] for s in range(streams)}
    listening = [look for look in looks if look.first][-1].clock
    heard = {s: max([listening, *(k.clock for k in looks if s in k.read)]) for s in range(streams)}
    counts = [
        s
        for s in range(streams)
        if s not in now.over and (s in now.unread or idle is None or now.clock - heard[s] < idle)
    ]
    if counts:
        return min(max(ends[s], default=NEVER) for s in counts)
    going_on = {s: now.clock - idle - heard[s] if tick and idle is not None else 0 for s in range(streams)}
    return max((max(ends[s]) + max(0, going_on[s]) for s in range(streams) if ends[s]), default=NEVER)

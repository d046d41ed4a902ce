"""What a bench reports: one figure, and the peer's from the same run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypedDict


class Figure(TypedDict):
    """A line of `penstock bench --json`."""

    bench: str
    case: str
    value: float
    unit: str
    peer: str | None
    peer_value: float | None
    ratio: float | None


def figure(
    bench: str, case: str, value: float, unit: str, peer: str | None = None,
    peer_value: float | None = None, *, ratio: float | None = None,
) -> Figure:  # fmt: skip
    """A figure; the ratio is value over peer unless given."""
    if ratio is None and peer_value:
        ratio = value / peer_value
    return Figure(
        bench=bench, case=case, value=value, unit=unit, peer=peer, peer_value=peer_value, ratio=ratio
    )


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of wall clock that an action takes, and what it gives."""
    begun = time.perf_counter()
    result = action()
    return time.perf_counter() - begun, result


def used(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor that an action of this process takes, and what it gives."""
    begun = time.process_time()
    result = action()
    return time.process_time() - begun, result


def scale() -> float:
    """PENSTOCK_BENCH_SCALE shrinks the benches (0.01: a hundredth), for a quick look and for tests."""
    return float(os.environ.get("PENSTOCK_BENCH_SCALE", "1"))

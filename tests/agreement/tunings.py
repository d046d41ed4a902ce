"""Thresholds so small that streams of a few elements reach all of them."""

from __future__ import annotations

from dataclasses import fields
from random import Random

from penstock.engine.tuning import Tuning


def tiny(random: Random) -> Tuning:
    """Every threshold 2, 3 or 5; the one that is a ratio 0 or 1."""
    sizes = {field.name: random.choice((2, 3, 5)) for field in fields(Tuning)}
    return Tuning(**(sizes | {"unneeded_terms": random.choice((0, 1))}))


def tuning_of(seed: int) -> Tuning:
    """Tiny thresholds for most cases, the real ones for some."""
    return tiny(Random(f"tuning {seed}")) if seed % 4 else Tuning()

"""The place of a text in a byte buffer: one number that packs its offset and its length."""

from __future__ import annotations

LENGTH_BITS = 27
LONGEST = (1 << LENGTH_BITS) - 1
"""The longest text a place can describe, in bytes."""

"""The rows that go through Spark: into the shards, and out of them."""

from __future__ import annotations

# What a row into a shard is.
PAYLOAD, CONTROL, REJECTED, ORIGIN, REASONED = 0, 1, 2, 3, 4

INTO_SHARDS = (
    "shard int, kind int, place int, stream int, latest long, elements long,"
    " occurrences long, bytes long, payload binary"
)

OUT_OF_SHARDS = "query int, shard int, place int, payload binary"

# Rows out of a shard carry the index of their query, or one of these.
LATE = -1
"""Elements that came after the watermark had passed their end: Arrow IPC as in `runtime.late`."""
REJECTS = -2
"""Input that could not be decoded: Arrow IPC with columns source, line, reason, text."""
STATISTICS = -3
"""What the batch took in, as JSON; does not leave the runtime."""
INCONSISTENT = -4
"""Contradictions in elements: JSON as in `runtime.intake.reasoned`."""

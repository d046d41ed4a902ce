"""What there is to say of a split beside its rows: contradictions in its elements, and counts.

The reason stage runs before anybody knows the watermark. So it tells all, and where late elements are left
out, so are their contradictions.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from penstock.decode.occurrences import Occurrences
from penstock.reason.stage import Reasoner
from penstock.runtime.contract import SplitDecoder
from penstock.sources.splits import Split
from penstock.timeline import format_instant

Report = dict[str, Any]


def report_of(
    reasoner: Reasoner, read: Occurrences, closed: Occurrences, decoder: SplitDecoder, split: Split
) -> bytes | None:
    """What is told of a split that was read and has just been closed, as JSON; None if there is nothing."""
    report: Report = {}
    if read.ambiguous:
        report["ambiguous"] = read.ambiguous
    if len(closed) > len(read):
        report["derived"] = len(closed) - len(read)
    if reasoner.dropped:
        report["dropped"] = dict(reasoner.dropped)
    if reasoner.conflicts:
        report["conflicts"] = _records(reasoner, read, decoder, split)
    return json.dumps(report).encode() if report else None


def _records(reasoner: Reasoner, read: Occurrences, decoder: SplitDecoder, split: Split) -> list[Report]:
    elements, first = np.unique(read.element, return_index=True)
    numbers = np.array([number for number, _ in reasoner.conflicts], np.int64)
    rows = first[np.searchsorted(elements, numbers)]
    # As with late elements, they are few: what they are called is found out in a second look.
    names = decoder.names(split, np.unique(numbers))
    records = []
    for row, (number, conflict) in zip(rows.tolist(), reasoner.conflicts, strict=True):
        source, graph = names.get(number, (split.path, None))
        records.append(
            {
                "source": source,
                "graph": graph,
                "start": int(read.start[row]),
                "end": int(read.end[row]),
                "rule": conflict.rule,
                "meaning": conflict.meaning,
                "bindings": {name: str(term) for name, term in conflict.bindings},
            }
        )
    return sorted(records, key=lambda record: (record["end"], record["graph"] or "", record["rule"]))


def in_time(records: list[Report], watermark: int) -> list[Report]:
    """Those that are not of late elements."""
    return [record for record in records if record["end"] >= watermark]


def inconsistent_records(data: bytes) -> list[Report]:
    """The records of the side output."""
    return [
        record | {"start": format_instant(record["start"]), "end": format_instant(record["end"])}
        for record in json.loads(data)
    ]

"""Elements that came too late, whole: a record for each, with name, interval and triples.

No query may read anything of a late element, and most of it never goes to a shard. So what is
reported does not come from the shards' rows: the split that the element stands in is read once
more, by the task that knows the watermark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.timeline import format_instant

SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("graph", pa.large_string()),  # null if it has no name, as rows of tables may have none
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("triples", pa.list_(pa.large_string())),
    ]
)


def elements_table(found: Occurrences, source: str) -> pa.Table:
    """The elements that occurrences with graph names belong to, in the order of their first ones."""
    names = found.graph
    _, firsts, number = np.unique(found.element, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    element = rank[number]
    firsts = np.sort(firsts)

    terms = TermTable(found.terms)
    has_triple = found.subject != 0
    rows = np.argsort(element, kind="stable")
    rows = rows[has_triple[rows]]
    texts = [_texts(terms, column[rows]) for column in (found.subject, found.predicate, found.object)]
    triples = pc.binary_join_element_wise(*texts, _large("."), _large(" "))
    offsets = np.zeros(len(firsts) + 1, np.int32)
    np.cumsum(np.bincount(element[rows], minlength=len(firsts)), out=offsets[1:])
    return pa.table(
        [
            pa.array([source] * len(firsts), pa.string()),
            _texts(terms, names[firsts]),
            found.start[firsts],
            found.end[firsts],
            pa.ListArray.from_arrays(pa.array(offsets), triples),
        ],
        schema=SCHEMA,
    )


def _texts(terms: TermTable, ids: np.ndarray) -> pa.Array:
    return terms.texts(ids).cast(pa.large_string())


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def late_records(table: pa.Table) -> list[dict[str, Any]]:
    """The records of the side output."""
    return [
        row | {"start": format_instant(row["start"]), "end": format_instant(row["end"])}
        for row in table.to_pylist()
    ]

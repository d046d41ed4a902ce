"""Elements that came too late, whole: a record for each, with name, interval and triples.

No query may read anything of a late element, and most of it never goes to a shard. So what is
reported does not come from the shards' rows: the split that the element stands in is read once
more, by the task that knows the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable
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
_IDENTITY = ["source", "graph", "start", "end"]


def elements_table(found: Occurrences, source: str) -> pa.Table:
    """The elements that occurrences with graph names belong to, in the order of their first ones."""
    names = found.graph
    alone = np.where(names == 0, np.arange(len(names)), 0)  # without a name, each is one for itself
    order = np.lexsort((alone, found.end, found.start, names))
    sorted_ = [column[order] for column in (names, found.start, found.end, alone)]
    begins = np.zeros(len(order), np.bool_)
    begins[:1] = True
    for column in sorted_:
        begins[1:] |= column[1:] != column[:-1]
    firsts = order[begins]  # the sort is stable: the first row of each element
    rank = np.empty(len(firsts), np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    element = np.empty(len(order), np.int64)
    element[order] = rank[np.cumsum(begins) - 1]
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


def count_elements(tables: Iterable[pa.Table]) -> int:
    """How many elements a batch reports; one that was cut between splits counts once."""
    table = pa.concat_tables([SCHEMA.empty_table().select(_IDENTITY), *(t.select(_IDENTITY) for t in tables)])
    nameless = table.column("graph").null_count
    named = table.filter(pc.is_valid(table.column("graph")))
    return nameless + named.group_by(_IDENTITY).aggregate([]).num_rows


def late_records(table: pa.Table) -> list[dict[str, Any]]:
    """The records of the side output; an element that was cut between splits is one again."""
    records: dict[Any, dict[str, Any]] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in _IDENTITY) if row["graph"] is not None else len(records)
        if key in records:
            records[key]["triples"] += row["triples"]
            continue
        records[key] = row | {"start": format_instant(row["start"]), "end": format_instant(row["end"])}
    return list(records.values())

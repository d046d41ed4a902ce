"""What one batch of a run gave, as Python and the command line take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.algebra.naming import names_of
from penstock.algebra.nodes import ParsedQuery
from penstock.api.results import no_answers
from penstock.reason.conflicts import axioms_of
from penstock.rules.rule import Rule
from penstock.runtime.contract import RunStatistics
from penstock.runtime.intake.late import late_records
from penstock.runtime.intake.reasoned import inconsistent_records
from penstock.runtime.messages import INCONSISTENT, LATE, REJECTS
from penstock.timeline import format_instant


@dataclass
class Batch:
    """What one batch gave: the answers, and what could not be used."""

    id: int
    queries: list[ParsedQuery] = field(default_factory=list)
    tables: dict[int, pa.Table] = field(default_factory=dict)  # by the query's number; no empty ones
    rejected: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)  # elements that came too late
    inconsistent: list[dict[str, Any]] = field(default_factory=list)  # contradictions in elements
    statistics: RunStatistics = field(default_factory=RunStatistics)

    @property
    def answers(self) -> dict[str, pa.Table]:
        """The answers of every query by its name; a table without rows where there are none."""
        tables = (self.tables.get(i) for i in range(len(self.queries)))
        return {
            name: table if table is not None else no_answers(query)
            for name, query, table in zip(names_of(self.queries), self.queries, tables, strict=True)
        }


def batch_of(
    number: int,
    queries: list[ParsedQuery],
    results: Iterable[tuple[int, bytes]],
    statistics: RunStatistics,
    checks: Sequence[Rule] = (),
    rules: Sequence[Rule] = (),
) -> Batch:
    """The batch of that number from what the runtime hands on: (query or side output, Arrow IPC bytes).

    The answers of `checks`, which come after the queries, are contradictions; to each the triples are added
    that contradict each other by its rule, one of `rules`.
    """
    batch = Batch(number, queries, statistics=statistics)
    tables: dict[int, list[pa.Table]] = {}
    for index, data in results:
        if index == INCONSISTENT:
            batch.inconsistent += inconsistent_records(data)
            continue
        tables.setdefault(index, []).append(pa.ipc.open_stream(data).read_all())
    for index, parts in tables.items():
        table = pa.concat_tables(parts)
        if index == REJECTS:
            batch.rejected = table.to_pylist()
        elif index == LATE:
            batch.late = late_records(table)
        elif index < len(queries):
            batch.tables[index] = table
        else:
            batch.inconsistent += _contradictions(checks[index - len(queries)], table)
    if batch.inconsistent:
        named = {rule.name: rule for rule in rules}
        for record in batch.inconsistent:
            rule = named.get(record["rule"])
            record["triples"] = axioms_of(rule, record["bindings"]) if rule is not None else []
    return batch


def _contradictions(rule: Rule, table: pa.Table) -> Iterator[dict[str, Any]]:
    """Contradictions between elements, as records; those in static knowledge were told before the run."""
    *names, _, _ = table.column_names
    for *texts, start, end in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if start is not None:
            yield {
                "source": None,
                "graph": None,
                "start": format_instant(start),
                "end": format_instant(end),
                "rule": rule.name,
                "meaning": rule.meaning,
                "bindings": {n: text for n, text in zip(names, texts, strict=True) if text is not None},
            }

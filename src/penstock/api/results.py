"""Answers as people use them: solutions one by one, or tables of pandas, Polars, Arrow, Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from html import escape
from typing import Any

import pyarrow as pa

from penstock.algebra.nodes import ParsedQuery
from penstock.columns.ids import parse_term
from penstock.sinks.answers import Layout, shapes_of
from penstock.sinks.native import native_table
from penstock.terms import Term, to_rdflib
from penstock.timeline import format_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIMESTAMP = pa.timestamp("us", "UTC")
_SHOWN = 50


class Solution(Mapping):
    """One solution ⟨μ, [start, end]⟩: a mapping from variable names to RDF terms.

    `start` and `end` are datetimes in UTC, None for a timeless solution.
    """

    __slots__ = ("_terms", "end", "start")

    def __init__(self, terms: dict[str, Term], start: datetime | None, end: datetime | None) -> None:
        self._terms = terms
        self.start = start
        self.end = end

    def __getitem__(self, name: str) -> Term:
        try:
            return self._terms[name.removeprefix("?")]
        except (KeyError, AttributeError):
            bound = ", ".join(self._terms) or "nothing"
            raise KeyError(f"{name} is not bound in this solution; bound are: {bound}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def rdflib(self) -> dict[str, Any]:
        """The bindings as rdflib's terms."""
        return {name: to_rdflib(term) for name, term in self._terms.items()}

    def __repr__(self) -> str:
        bound = ", ".join(f"?{name} = {term}" for name, term in self._terms.items())
        return f"⟨{bound}, [{self.start}, {self.end}]⟩"


@dataclass(frozen=True, repr=False)
class Answers:
    """The answers of one query: a table with N-Triples texts, `start` and `end` in UTC.

    Where a variable of the query is itself called so, ours are `start_` and `end_`.
    """

    table: pa.Table
    query: ParsedQuery

    def __len__(self) -> int:
        return self.table.num_rows

    def __iter__(self) -> Iterator[Solution]:
        *_, first, last = self.table.column_names
        for row in self.table.to_pylist():
            start, end = row.pop(first), row.pop(last)
            terms = {name: parse_term(text.encode()) for name, text in row.items() if text is not None}
            yield Solution(terms, start, end)

    def __repr__(self) -> str:
        columns = ", ".join(self.table.column_names)
        return f"<penstock.Answers: {len(self):,} rows of {columns}>"

    def to_arrow(self, *, native: bool = False) -> pa.Table:
        """The table; `native` makes numbers, Booleans, timestamps and plain texts of the terms.

        A column whose values are not of one kind stays text in N-Triples notation, with a warning
        (the rules are in `penstock.sinks.native` and docs/tables.md).
        """
        return native_table(self.table, self.table.column_names[:-2]) if native else self.table

    def to_pandas(self, *, native: bool = False):
        """As `to_arrow`; native numbers and Booleans are pandas' nullable ones, so that unbound
        (`<NA>`) and NaN differ."""
        if not native:
            return self.table.to_pandas()
        import pandas

        types = {pa.int64(): pandas.Int64Dtype(), pa.float64(): pandas.Float64Dtype()}
        types |= {pa.bool_(): pandas.BooleanDtype(), pa.string(): pandas.StringDtype()}
        return self.to_arrow(native=True).to_pandas(types_mapper=types.get)

    def to_polars(self, *, native: bool = False):
        import polars

        return polars.from_arrow(self.to_arrow(native=native))

    def to_spark(self, *, native: bool = False):
        """A DataFrame of the embedded (or already running) Spark session."""
        from penstock.runtime.session.session import start_session

        return start_session().createDataFrame(self.to_arrow(native=native))

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.table.column_names)
        rows = []
        for row in self.table.slice(0, _SHOWN).to_pylist():
            cells = "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values())
            rows.append(f"<tr>{cells}</tr>")
        more = len(self) - _SHOWN
        note = f"<p>… and {more:,} more</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_instant((value - _EPOCH) // timedelta(microseconds=1))
    return str(value)


def concat(parts: Sequence[pa.Table], query: ParsedQuery) -> Answers:
    """Tables as shards give them (`start` and `end` in µs) as the answers of a query."""
    names = Layout.of(shapes_of([query])).names
    schema = pa.schema([(name, pa.string()) for name in names[:-2]] + [(n, _TIMESTAMP) for n in names[-2:]])
    tables = [part.rename_columns(names).cast(schema) for part in parts]
    return Answers(pa.concat_tables(tables) if tables else schema.empty_table(), query)


def no_answers(query: ParsedQuery) -> pa.Table:
    """A table as shards give them, without rows."""
    (shape,) = shapes_of([query])
    texts, micros = pa.dictionary(pa.int32(), pa.string()), pa.int64()
    names = [*shape.columns, "start", "end"]
    arrays = [pa.array([], texts) for _ in shape.columns] + [pa.array([], micros)] * 2
    return pa.Table.from_arrays(arrays, names=names)

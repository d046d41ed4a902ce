"""What static knowledge has become in the operators: computed once, and the same memory for all shards.

One shard takes the static rows in. What its stores then hold (all of it timeless), the indexes over
it, the texts, the counts and the answers are a snapshot: arrays by name, in memory or mapped from a
file (`columns/arrays.py`). Other shards begin with it, at once, whatever its size. Nothing of an
snapshot is ever written to: a part that gets more rows is copied first, and terms that come later stand
in a table above the snapshot's.

Static rows never leave. Where other rows do, the snapshot also says how often each is there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.columns.arrays import MappedArrays, write_arrays
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.counting import RowCounts
from penstock.engine.digests import digest_of
from penstock.engine.presence import numbered
from penstock.engine.store import STATIC, Part, Rows, StaticRows, Store
from penstock.errors import InputError, storing
from penstock.functions.errors import add_refused, take_refused
from penstock.knowledge.graphs import Knowledge, StaticGraph
from penstock.timeline import FOREVER, TIMELESS_END, TIMELESS_START

if TYPE_CHECKING:
    from penstock.engine.shard import Shard

_ALL_ALIKE = {"start": TIMELESS_START, "end": TIMELESS_END, "until": FOREVER, "chunk": STATIC}
"""The columns that have the same value in all static rows: of each there is one, as long as the longest."""


_ELEMENTS, _FOUND = "elements/", "found/"


@dataclass(frozen=True)
class _Part(Mapping[str, np.ndarray]):
    """Those of some arrays whose names have a beginning in common, without it."""

    whole: Mapping[str, np.ndarray]
    beginning: str

    def __getitem__(self, name: str) -> np.ndarray:
        return self.whole[self.beginning + name]

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self.beginning) for name in self.whole if name.startswith(self.beginning))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, eq=False)
class StaticSnapshot:
    """Arrays, and what can be said of them in JSON."""

    arrays: Mapping[str, np.ndarray]
    about: dict[str, Any]

    @cached_property
    def terms(self) -> TermTable:
        """The texts of static knowledge, for other tables to stand above it."""
        about = self.about["terms"]
        return TermTable.from_arrays(self.arrays["terms/table"], self.arrays["terms/texts"], **about)

    def give(self, shard: Shard) -> None:
        """Lets a shard, whose terms stand above ours, have what the stores hold.

        A new shard begins with it; in one that has had another snapshot, it takes that one's place.
        """
        alike = [self.arrays[f"alike/{name}"] for name in _ALL_ALIKE]
        for operator in shard.operators:
            for store in operator.stores:
                given = {(bound, True): rest for bound, *rest in self.about["stores"].get(store.name, ())}
                for part in store.parts.keys() | given.keys():
                    if part in given or store.parts[part].static:
                        count, indexes = given.get(part, (0, ()))
                        store.part(part).begin_with(self._rows(store, part, count, indexes, alike))
            operator.restored()
        shard.static_counts = RowCounts.from_json(self.about["counts"])

    def _rows(
        self, store: Store, part: Part, count: int, indexes: Sequence[str], alike: list[np.ndarray]
    ) -> StaticRows:
        """The static rows of a part of a store; it has none if we have none."""
        place = f"store/{store.name}/{part[0]}"
        ids = self.arrays[f"{place}/ids"] if count else np.empty((len(store.vars), 0), np.int64)
        presence = np.empty((3 if store.changing else 0, 0), np.int64)
        if count and store.changing:
            presence = self.arrays[f"{place}/presence"]
        chains = {
            index: (
                self.arrays[f"{place}/index {index}/nodes"],
                self.arrays[f"{place}/index {index}/slots"],
            )
            for index in indexes
        }
        return StaticRows(count, ids, alike, presence, chains)

    def with_graphs(self, knowledge: Knowledge) -> StaticSnapshot:
        """The same with the graphs themselves, where somebody asks for more than the operators' rows."""
        graphs = {f"graph/{i}": triples for i, triples in enumerate(knowledge.triples)}
        terms = {f"known/{name}": array for name, array in knowledge.terms.arrays().items()}
        found = {f"{_FOUND}{name}": array for name, array in knowledge.found.items()}
        about = {"names": knowledge.names, "count": knowledge.terms.size, "key": knowledge.terms.key}
        return StaticSnapshot({**self.arrays, **graphs, **terms, **found}, {**self.about, "graphs": about})

    def knowledge(self) -> Knowledge:
        """What `with_graphs` was given."""
        names, about = self.about["graphs"]["names"], self.about["graphs"]
        terms = TermTable.from_arrays(
            self.arrays["known/table"], self.arrays["known/texts"], about["count"], about["key"]
        )
        triples = tuple(self.arrays[f"graph/{i}"] for i in range(len(names)))
        return Knowledge(tuple(names), triples, terms, _Part(self.arrays, _FOUND))

    def with_elements(self, other: StaticSnapshot) -> StaticSnapshot:
        """The same with the snapshot for the queries that look at one element at a time."""
        arrays = {f"{_ELEMENTS}{name}": array for name, array in other.arrays.items()}
        return StaticSnapshot({**self.arrays, **arrays}, {**self.about, "elements": other.about})

    @cached_property
    def elements(self) -> StaticSnapshot:
        """What `with_elements` was given."""
        return StaticSnapshot(_Part(self.arrays, _ELEMENTS), self.about["elements"])

    def answer(self, shard: Shard, before: StaticSnapshot | None = None) -> None:
        """Lets one shard of all give the answers that follow from static knowledge alone.

        Not those that it has given when it had the snapshot `before`.
        """
        add_refused(self.about["refused"])
        given = set() if before is None else {query for query, _ in before.about["answers"]}
        for query, vars in self.about["answers"]:
            frame = Frame.timeless(vars, self.arrays[f"answers/{query}"])
            if shard.terms.below is not self.terms:
                shard.terms.add_chunk(self.terms.subset(frame.ids.reshape(-1)))
            presence = f"answers/{query}/presence"
            if presence in self.arrays:
                frame = frame.present(*self.arrays[presence])
            elif query in given:
                frame = frame.take(_news(frame.ids, before.arrays[f"answers/{query}"]))
            shard.answer(query, frame)


@dataclass(frozen=True)
class SnapshotFile:
    """Where a snapshot is; it travels in its place."""

    path: str
    digest: str  # of the knowledge and of what is said about the arrays
    size: int

    @classmethod
    def written(
        cls, snapshot: StaticSnapshot, path: Path, program: str, knowledge: Sequence[tuple[str | None, str]]
    ) -> SnapshotFile:
        """Writes what a program with that digest makes of graphs, each with a digest of its own.

        A file of that name is replaced at once.
        """
        digest = digest_of(program, json.dumps([*knowledge, snapshot.about]))
        with storing(path):
            write_arrays(
                path, snapshot.arrays, {"digest": digest, "program": program, "snapshot": snapshot.about}
            )
        return cls(os.fspath(path), digest, path.stat().st_size)

    @classmethod
    def found(cls, path: Path, program: str) -> SnapshotFile:
        """The file that a program with that digest has written."""
        with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError):
            about = MappedArrays(path).about
            if about["program"] == program:
                return cls(os.fspath(path), about["digest"], path.stat().st_size)
        raise _not_prepared(path)

    def snapshot(self) -> StaticSnapshot:
        """The snapshot, mapped: the memory is that of all processes that do so."""
        with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError):
            arrays = MappedArrays(self.path)
            if os.stat(self.path).st_size == self.size and arrays.about["digest"] == self.digest:
                return StaticSnapshot(arrays, arrays.about["snapshot"])
        raise _not_prepared(self.path)


def _not_prepared(path: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{os.fspath(path)} is not the static knowledge that this run has prepared",
        hint="somebody else writes to the checkpoint directory; give the run its own",
    )


def stored_graphs(path: Path) -> list[StaticGraph]:
    """The graphs in a snapshot's file (`StaticSnapshot.with_graphs`), whatever program has written it."""
    arrays = MappedArrays(path)
    return StaticSnapshot(arrays, arrays.about["snapshot"]).knowledge().graphs()


def snapshot_of(open_shard: Callable[[], Shard]) -> StaticSnapshot:
    """The snapshot of a shard that takes in static knowledge when it opens, and that answers all queries."""
    others = take_refused()
    shard = open_shard()
    refused = take_refused()
    add_refused(others)
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {"stores": {}, "answers": [], "refused": refused}
    longest = 0
    for operator in shard.operators:
        operator.build_static_indexes()
        for store in operator.stores:
            for (bound, timeless), rows in store.parts.items():
                if timeless:
                    indexes = _keep(arrays, f"store/{store.name}/{bound}", rows)
                    about["stores"].setdefault(store.name, []).append([bound, rows.count, indexes])
                    longest = max(longest, rows.count)
    arrays |= {f"alike/{name}": np.full(longest, value, np.int64) for name, value in _ALL_ALIKE.items()}
    arrays |= {f"terms/{name}": array for name, array in shard.terms.arrays().items()}
    about["terms"] = {"count": shard.terms.size, "key": shard.terms.key}
    about["counts"] = shard.static_counts.to_json()
    for query, frame in shard.static_answers().items():
        about["answers"].append([query, list(frame.vars)])
        arrays[f"answers/{query}"] = frame.ids
        if frame.retractable:
            arrays[f"answers/{query}/presence"] = np.stack(frame.presence)
    return StaticSnapshot(arrays, about)


def _news(rows: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Which rows (columns of an array) are there more often than before, each as often as it is more."""
    count = before.shape[1]
    number = numbered(np.hstack([before, rows]))
    there = np.bincount(number[:count], minlength=len(number))
    order = np.argsort(number[count:], kind="stable")
    ordered = number[count:][order]
    first = np.searchsorted(ordered, ordered)  # where the equal ones begin
    news = np.empty(len(order), bool)
    news[order] = np.arange(len(order)) - first >= there[ordered]
    return news


def _keep(arrays: dict[str, np.ndarray], place: str, rows: Rows) -> list[str]:
    """Adds the arrays of a part of a store; the names of its indexes."""
    arrays[f"{place}/ids"] = np.ascontiguousarray(rows.ids[:, : rows.count])
    if len(rows.presence):
        arrays[f"{place}/presence"] = np.ascontiguousarray(rows.presence[:, : rows.count])
    for index in rows.indexes:
        index.sync()
        arrays[f"{place}/index {index.name}/nodes"] = index.nodes[: rows.count]
        arrays[f"{place}/index {index.name}/slots"] = index.slots
    return sorted({index.name for index in rows.indexes})

"""What static knowledge has become in the operators: computed once, and the same memory for all shards.

One shard takes the static rows in. What its stores then hold (all of it timeless), the indexes over
it, the texts, the counts and the answers are an image: arrays by name, in memory or mapped from a
file (`columns/arrays.py`). Other shards begin with it, at once, whatever its size. Nothing of an
image is ever written to: a part that gets more rows is copied first, and terms that come later stand
in a table above the image's.

Static rows never leave. Where other rows do, the image also says how often each is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
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
from penstock.engine.store import STATIC, Rows
from penstock.errors import InputError, storing
from penstock.functions.errors import add_refused, take_refused
from penstock.knowledge.graphs import Knowledge
from penstock.timeline import FOREVER, TIMELESS_END, TIMELESS_START

if TYPE_CHECKING:
    from penstock.engine.shard import Shard

_ALL_ALIKE = {"start": TIMELESS_START, "end": TIMELESS_END, "until": FOREVER, "chunk": STATIC}
"""The columns that have the same value in all static rows: of each there is one, as long as the longest."""


@dataclass(frozen=True, eq=False)
class Image:
    """Arrays, and what can be said of them in JSON."""

    arrays: Mapping[str, np.ndarray]
    about: dict[str, Any]

    @cached_property
    def terms(self) -> TermTable:
        """The texts of static knowledge, for other tables to stand above it."""
        about = self.about["terms"]
        return TermTable.from_arrays(self.arrays["terms/table"], self.arrays["terms/texts"], **about)

    def give(self, shard: Shard) -> None:
        """Lets a new shard, whose terms stand above ours, begin with what the stores hold."""
        stores = {store.name: store for operator in shard.operators for store in operator.stores}
        alike = {name: self.arrays[f"alike/{name}"] for name in _ALL_ALIKE}
        for name, parts in self.about["stores"].items():
            for bound, count, indexes in parts:
                place = f"store/{name}/{bound}"
                rows = stores[name].part((bound, True))
                rows.ids = self.arrays[f"{place}/ids"]
                for column, values in alike.items():
                    setattr(rows, column, values[:count])
                if stores[name].changing:
                    rows.presence = self.arrays[f"{place}/presence"]
                rows.count = rows.static = count
                for index in indexes:
                    chains = (self.arrays[f"{place}/index {index}/{part}"] for part in ("nodes", "slots"))
                    rows.prepared[index] = tuple(chains)
        for operator in shard.operators:
            operator.restored()
        shard.static_counts = RowCounts.from_json(self.about["counts"])

    def with_graphs(self, knowledge: Knowledge) -> Image:
        """The same with the graphs themselves, where somebody asks for more than the operators' rows."""
        graphs = {f"graph/{i}": triples for i, triples in enumerate(knowledge.triples)}
        terms = {f"known/{name}": array for name, array in knowledge.terms.arrays().items()}
        about = {"names": knowledge.names, "count": knowledge.terms.size, "key": knowledge.terms.key}
        return Image({**self.arrays, **graphs, **terms}, {**self.about, "graphs": about})

    def knowledge(self) -> Knowledge:
        """What `with_graphs` was given."""
        names, about = self.about["graphs"]["names"], self.about["graphs"]
        terms = TermTable.from_arrays(
            self.arrays["known/table"], self.arrays["known/texts"], about["count"], about["key"]
        )
        return Knowledge(tuple(names), tuple(self.arrays[f"graph/{i}"] for i in range(len(names))), terms)

    def answer(self, shard: Shard) -> None:
        """Lets one shard of all give the answers that follow from static knowledge alone."""
        add_refused(self.about["refused"])
        for query, vars in self.about["answers"]:
            frame = Frame.timeless(vars, self.arrays[f"answers/{query}"])
            presence = f"answers/{query}/presence"
            shard.answer(query, frame.present(*self.arrays[presence]) if presence in self.arrays else frame)


@dataclass(frozen=True)
class ImageFile:
    """Where an image is; it travels in its place."""

    path: str
    digest: str  # of the knowledge and of what is said about the arrays
    size: int

    @classmethod
    def written(cls, image: Image, path: Path, knowledge: str) -> ImageFile:
        """Writes an image of the knowledge with that digest; a file of that name is replaced at once."""
        text = json.dumps([knowledge, image.about])
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        with storing(path):
            write_arrays(path, image.arrays, {"digest": digest, "image": image.about})
        return cls(os.fspath(path), digest, path.stat().st_size)

    def image(self) -> Image:
        """The image, mapped: the memory is that of all processes that do so."""
        with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError):
            arrays = MappedArrays(self.path)
            if os.stat(self.path).st_size == self.size and arrays.about["digest"] == self.digest:
                return Image(arrays, arrays.about["image"])
        raise InputError(
            f"{self.path} is not the static knowledge that this run has prepared",
            hint="somebody else writes to the checkpoint directory; give the run its own",
        )


def image_by(open_shard: Callable[[], Shard]) -> Image:
    """The image of a shard that takes in static knowledge when it opens, and that answers all queries."""
    others = take_refused()
    shard = open_shard()
    refused = take_refused()
    add_refused(others)
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {"stores": {}, "answers": [], "refused": refused}
    longest = 0
    for operator in shard.operators:
        operator.foresee()
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
        if frame.changes:
            arrays[f"answers/{query}/presence"] = np.stack(frame.presence)
    return Image(arrays, about)


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

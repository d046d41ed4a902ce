"""The operators that answer at once: rows in, rows out, and joins that remember.

An operator takes the new rows of its inputs and the clock, and gives its own new rows, in portions
of a bounded size where they can be many more than it took. The invariant they all keep: rows that
arrive in a step end at or after the watermark before it, and after the step every row that ends
before the new watermark has been given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.algebra.base import UnknownNode
from penstock.algebra.relations import ANY, JoinBounds, Side
from penstock.columns import ids as term_ids
from penstock.columns.frame import Frame, Pairs
from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermTable
from penstock.engine import kernels
from penstock.engine.chains import AT_ANY_TIME, NO_PREFILTERS, Index, Pairing, probe_pairs
from penstock.engine.expressions import Evaluator
from penstock.engine.presence import consolidated
from penstock.engine.store import Retention, Rows, Store, forever, until_end, until_present, while_present
from penstock.engine.tuning import TUNING, Tuning
from penstock.plan import steps, system_columns
from penstock.plan.compilation.prefilters import Prefilters, prefilters_for
from penstock.plan.steps import Step
from penstock.timeline import NEVER


def _no_instants() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass
class Clock:
    """Where time stands in a step: the watermark before and after it, and the instants passed."""

    before: int = NEVER
    now: int = NEVER
    first: bool = False  # the first step of the run: static knowledge arrives
    passed: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # generation, stream → instants

    def until(self, instant: int) -> Clock:
        """The first part of this move of the clock."""
        passed = {each: times[times < instant] for each, times in self.passed.items()}
        return Clock(self.before, instant, self.first, passed)

    def after(self, instant: int) -> Clock:
        """The rest of it."""
        passed = {each: times[times >= instant] for each, times in self.passed.items()}
        return Clock(instant, self.now, False, passed)

    def since(self, generation: int) -> Clock:
        """The clock of a step of a generation: instants of earlier elements are none of its."""
        passed = {each: times for each, times in self.passed.items() if each[0] >= generation}
        return Clock(self.before, self.now, self.first, passed)

    def instants(self, streams: steps.Streams) -> np.ndarray:
        """The instants of some streams that pass in this step, in order."""
        found = [times for (_, stream), times in self.passed.items() if stream in streams]
        if len(found) == 1:
            return found[0]
        return sorted_unique(np.concatenate(found)) if found else _no_instants()


@dataclass
class OperatorContext:
    """What the operators of a shard share."""

    terms: TermTable
    evaluator: Evaluator
    tuning: Tuning = TUNING
    version: int = 0  # of static knowledge
    number: int = 0  # of the shard


class Operator(ABC):  # noqa: B024 — BlockingOperator and RowOperator say how rows come to it
    """One step at run time. `stores` is everything it remembers."""

    def __init__(self, step: Step, name: str, context: OperatorContext) -> None:
        self.step = step
        self.timed = step.waits  # it may have something to say without new rows, when time moves on
        self.name = name
        self.terms = context.terms
        self.evaluator = context.evaluator
        self.tuning = context.tuning
        self.stores: list[Store] = []

    def store(
        self, side: str, vars: tuple[str, ...], until: Retention, split=(), *, waits: bool = False
    ) -> Store:
        """A store of this operator; `waits`: its rows only wait for their instant."""
        # What is static all queries know; else those that begin later would read what they must not.
        if self.step.memoryless and all(below.reads_stream for below in self.step.inputs):
            raise UnknownNode(self.step, "that it remembers something")
        if self.step.retractable:
            # An interval that is long past can come or leave at any instant.
            until = until_present if waits else while_present
        elif self.step.belated and not waits:
            until = forever
        store = Store(f"{self.name}.{side}", vars, until, split, self.tuning, changing=self.step.retractable)
        self.stores.append(store)
        return store

    def read_by(self, readers: Sequence[Step]) -> None:  # noqa: B027 — most need not know
        """Told once which steps read the rows, and that nobody else does."""

    def restored(self) -> None:  # noqa: B027 — most have nothing to do
        """Called after the stores were filled from chunks."""

    def held(self) -> Iterable[np.ndarray]:
        """Ids that it may give again, beside those in its stores."""
        return ()

    def build_static_indexes(self) -> None:  # noqa: B027 — most have nothing to do
        """Makes the indexes of timeless rows that rows with time will look into, for a snapshot."""


class BlockingOperator(Operator):
    """An operator that runs when all new rows of its inputs are there."""

    @abstractmethod
    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        """The new rows, given those of the inputs and where time stands."""


class ScanOperator(BlockingOperator):
    """Hands on the rows that were matched before the exchange."""

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        yield Frame.concat(inputs, self.step.vars)


class TableOperator(BlockingOperator):
    def __init__(self, step: steps.InlineData, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.timed = True

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        vars, rows = self.step.vars, self.step.rows
        if clock.first and rows:
            cells = [[self.terms.add(term) if term is not None else 0 for term in row] for row in rows]
            yield Frame.timeless(vars, np.array(cells, np.int64).reshape(len(rows), len(vars)).T.copy())


class RowOperator(Operator):
    """An operator that makes of each row at most one, whatever the others are and wherever time stands.

    It is applied to each portion as soon as it is there: of the combinations of a join, those that a
    filter rejects are gone before the next ones are made.
    """

    @abstractmethod
    def apply(self, frame: Frame) -> Frame:
        """What becomes of these rows."""


class RenameOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        return frame.renamed(self.step.vars)


class FilterOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        kept = self.evaluator.holds(self.step.condition, frame)
        return frame if kept.all() else frame.take(kept)


class ComputeOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        step = self.step
        column = self.evaluator.column(step.expression, frame, f"?{step.var}", step.unseeded)
        if self.step.var in frame.vars:
            ids = frame.ids.copy()
            ids[frame.vars.index(self.step.var)] = column
            return frame.binding(frame.vars, ids)
        return frame.extended(self.step.var, column)


class ColumnsOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        return frame.project(self.step.vars)


class MergeOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        return frame.project(self.step.vars)


class Seen:
    """A store of distinct rows, and the question which rows of a frame are new to it.

    Equal rows end at the same instant. So where rows come in order, and no other one ends at
    the same instant, they are new without a look; what they were is kept in case something
    late repeats them, and most of that expires before anybody asks.
    """

    def __init__(self, store: Store, *, at_once: bool = False) -> None:
        self.store = store
        self.at_once = at_once  # others look into the store, so every row must be in it at once
        store.before_expiry = self._take_unasked
        # By timeless or not: of which generation and how many rows, and the chains themselves.
        self._chains: dict[bool, tuple[int, int, np.ndarray, np.ndarray, np.ndarray]] = {}
        self._unasked: list[Frame] = []  # rows that were new without a look
        self._latest = NEVER

    def add(self, frame: Frame) -> Frame:
        """Remembers the frame's rows; returns those that were not there, in their order."""
        if not len(frame):
            return frame
        lonely = self._lonely(frame)
        if lonely is None:
            self._take_unasked(NEVER)
            lonely = np.zeros(len(frame), bool)
        elif lonely.all():
            self._unasked.append(frame)
            return frame
        else:
            self._unasked.append(frame.take(lonely))
        fresh = lonely.copy()
        timeless = frame.timeless_mask()
        for none in (True, False):
            chosen = np.flatnonzero((timeless == none) & ~lonely)
            if len(chosen):
                fresh[chosen] = self._enter(none, frame.take(chosen))
        self.store.note(frame.take(fresh & ~lonely))
        return frame if fresh.all() else frame.take(fresh)

    def _lonely(self, frame: Frame) -> np.ndarray | None:
        """Which rows end at an instant of their own; None if not all end later than what was seen."""
        if self.at_once:
            return None
        ends = frame.end
        if self._latest == NEVER:
            stored = [
                rows.end[: rows.count].max()
                for (_, timeless), rows in self.store.parts.items()
                if rows.count and not timeless
            ]
            self._latest = int(max(stored, default=NEVER))
        latest, self._latest = self._latest, max(self._latest, int(ends.max()))
        rising = ends[1:] > ends[:-1]
        if ends[0] <= latest or not (rising.all() or (ends[1:] >= ends[:-1]).all()):
            return None
        lonely = np.ones(len(frame), bool)
        lonely[1:] &= rising
        lonely[:-1] &= rising
        return lonely

    def _take_unasked(self, watermark: int) -> None:
        """Takes the unasked rows that are still needed into the store."""
        for frame in self._unasked:
            until = self.store.until(frame)
            needed = until >= watermark
            if needed.any():
                kept = frame.take(needed)
                self.store.part((0, False)).append(kept, until[needed])
                self.store.note(kept)
        self._unasked = []

    def _enter(self, timeless: bool, frame: Frame) -> np.ndarray:
        rows = self.store.part((0, timeless))
        until = self.store.until(frame)
        hashes, prev, slots = self._chains_of(timeless, rows, len(frame))
        first = rows.count
        rows.append(frame, until)
        if len(hashes) < len(rows.start):
            grown = np.empty((2, len(rows.start)), np.int64)
            grown[0, :first], grown[1, :first] = hashes[:first], prev[:first]
            hashes, prev = grown
        kernels.hash_rows(rows.ids, first, rows.count, rows.start, rows.end, hashes)
        fresh = np.empty(len(frame), np.bool_)
        count = kernels.keep_first(
            rows.ids, hashes, rows.start, rows.end, first, rows.count, slots, prev, fresh
        )
        rows.until[first:count] = until[fresh]
        rows.count = count
        self._chains[timeless] = (rows.generation, count, hashes, prev, slots)
        return fresh

    def _chains_of(self, timeless: bool, rows: Rows, more: int) -> tuple[np.ndarray, ...]:
        """The chains over all rows, with slots for more; made anew if others have moved or added rows."""
        generation, count, *chains = self._chains.get(timeless, (-1, 0, *3 * (_no_instants(),)))
        if (generation, count) == (rows.generation, rows.count) and len(chains[2]) >= count + more:
            return tuple(chains)
        hashes, prev = (np.empty(len(rows.start), np.int64) for _ in range(2))
        slots = np.full(1 << int(2 * (rows.count + more) + 63).bit_length(), -1, np.int64)
        kernels.hash_rows(rows.ids, 0, rows.count, rows.start, rows.end, hashes)
        kernels.chain_rows(hashes, rows.count, slots, prev)
        return hashes, prev, slots


class UniqueOperator(BlockingOperator):
    def __init__(self, step: steps.Unique, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.seen = Seen(self.store("seen", step.vars, until_end))
        self._timeless: Index | None = None

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        new = self.seen.add(inputs[0])
        yield self._unsubsumed(new) if self.step.subsume else new

    def _unsubsumed(self, frame: Frame) -> Frame:
        """Without the timed rows whose bindings are also there timeless."""
        index = self._timeless_index()
        if index is None or not len(frame):
            return frame
        timed = np.flatnonzero(~frame.timeless_mask())
        covered = np.zeros(len(frame), bool)
        columns = index.columns.tolist()  # which are not that of the element: what is timeless is in none
        for left, _ in probe_pairs(frame.take(timed), columns, index, AT_ANY_TIME):
            covered[timed[left]] = True
        return frame.take(~covered)

    def _timeless_index(self) -> Index | None:
        rows = self.seen.store.parts.get((0, True))
        if rows is None or not rows.count:
            return None
        if self._timeless is None:
            columns = [i for i, var in enumerate(self.step.vars) if var != system_columns.ELEMENT]
            self._timeless = Index(rows, columns, timed=False)
        return self._timeless

    def build_static_indexes(self) -> None:
        if self.step.subsume and (index := self._timeless_index()) is not None:
            index.sync()


def tags_of(frame: Frame, columns: tuple[str, ...], key: int, version: int = 0) -> np.ndarray:
    """A number for each row that says what some columns hold, unbound included; never a term's id.

    It is another one in each version of static knowledge.
    """
    tags = np.empty(len(frame), np.int64)
    ids = [frame.column(column) for column in columns]
    if version:
        ids.append(np.full(len(frame), version, np.int64))
    kernels.tag_rows(np.stack(ids), key, tags)
    return tags


class CorrelationTagOperator(RowOperator):
    """What an outer solution of EXISTS is told by. What was found for it holds for a version of static
    knowledge: in the next one it is asked for anew."""

    def __init__(self, step: steps.CorrelationTag, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.context = context

    def apply(self, frame: Frame) -> Frame:
        tags = tags_of(frame, self.step.of, self.terms.key, self.context.version)
        return frame.extended(self.step.tag, tags)


class OuterBindingsOperator(BlockingOperator):
    def __init__(self, step: steps.OuterBindings, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.seen = Seen(self.store("seen", step.vars, forever))

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        bindings = inputs[0].project(self.step.vars)
        yield self.seen.add(Frame.timeless(self.step.vars, bindings.ids))


def may_grow(step: Step) -> bool:
    """Whether rows may come out of a step after the first: it does not only know what is static."""
    return step.reads_stream or any(below.gives_belated or below.instants for below in step.walk())


class JoinOperator(BlockingOperator):
    """Join, SeqJoin, EqJoin …: each side is remembered as long as a partner can come."""

    def __init__(self, step: steps.Join, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.left = self.store("left", step.left.vars, self._needed(Side.LEFT, step.right), step.shared)
        self.right = self.store("right", step.right.vars, self._needed(Side.RIGHT, step.left), step.shared)
        self.pairings: dict[tuple, Pairing] = {}
        self.prefilters: Prefilters | None = None
        # Where intervals do not matter and both sides change, rows find those that are there with them.
        anytime = step.relation == ANY and step.join_bounds.longest_hull is None
        self.by_presence = anytime and step.left.retractable and step.right.retractable
        self.left.leaving_apart = self.right.leaving_apart = self.by_presence

    def _needed(self, side: Side, partners: Step) -> Retention:
        """Until when rows of a side are needed: not at all once they have met partners that are all there."""
        return Retention(self.step.join_bounds.latest_end(side)) if may_grow(partners) else until_end

    def read_by(self, readers: Sequence[Step]) -> None:
        self.prefilters = prefilters_for(self.step, readers)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        left, right = inputs
        for pairing in self.pairings.values():
            pairing.prepare()
        self._pair_up(left, right)
        self.left.append(left)
        self.right.append(right)
        for (left_part, right_part), pairing in self.pairings.items():
            lefts = self.left.parts[left_part].frame(self.left.vars)
            rights = self.right.parts[right_part].frame(self.right.vars)
            timeless = (side for side, part in zip(Side, (left_part, right_part), strict=True) if part[1])
            interval = self.step.join_bounds.interval_of(timeless)
            for i, j in pairing.join():
                pairs = Pairs(lefts, i, rights, j, self.step.vars, interval)
                if self.step.retractable:
                    pairs = pairs.take(pairs.since < pairs.until)
                yield self._put_together(pairs) if self.step.emits_retractions else pairs

    def _put_together(self, pairs: Pairs) -> Frame:
        """The combinations without those that cancel out: rows were taken back before a partner came."""
        cost = 0
        for store, side, rows in (
            (self.left, pairs.left, pairs.left_rows),
            (self.right, pairs.right, pairs.right_rows),
        ):
            if side.retractable:
                looks = int(np.count_nonzero(np.take(side.weight, rows) < 0))
                store.taken_back(looks)
                cost += looks
        return consolidated(pairs) if cost else pairs

    def _pair_up(self, left: Frame, right: Frame) -> None:
        """A pairing for each two parts that now exist; what they hold already is linked, not joined."""
        for part, _ in self.left.divide(left):
            self.left.part(part)
        for part, _ in self.right.divide(right):
            self.right.part(part)
        for left_part, left_rows in self.left.parts.items():
            for right_part, right_rows in self.right.parts.items():
                if (left_part, right_part) in self.pairings:
                    continue
                both = self.left.bound(left_part) & self.right.bound(right_part)
                keys = [var for var in self.step.shared if var in both]
                pairing = Pairing(
                    left_rows,
                    right_rows,
                    [self.left.vars.index(var) for var in keys],
                    [self.right.vars.index(var) for var in keys],
                    self.step.join_bounds,
                    left_part[1] or right_part[1],
                    *self._prefiltering(),
                    presence=self.by_presence,
                )
                pairing.prepare()
                self.pairings[left_part, right_part] = pairing

    def _prefiltering(self) -> tuple[np.ndarray, tuple[int | None, int | None]]:
        if self.prefilters is None:
            return NO_PREFILTERS, (None, None)
        numbers = (
            self.left.vars.index(self.prefilters.left),
            self.right.vars.index(self.prefilters.right),
        )
        rows = [
            (kernels.LESS if less else kernels.GREATER, *numbers_of)
            for less, *numbers_of in self.prefilters.comparisons
        ]
        return np.array(rows), numbers

    def restored(self) -> None:
        self._pair_up(Frame.empty(self.left.vars), Frame.empty(self.right.vars))

    def build_static_indexes(self) -> None:
        for store, below in ((self.left, self.step.left), (self.right, self.step.right)):
            if below.reads_stream:
                store.part(store.usual)
        self.restored()


class Matcher:
    """Finds the compatible rows of a store for the rows of a frame."""

    def __init__(self, store: Store, vars: tuple[str, ...], shared: tuple[str, ...], join_bounds: JoinBounds):
        self.store = store
        self.vars = vars
        self.shared = shared
        self.join_bounds = join_bounds
        self._divider = Store("", vars, forever, shared)
        self._indexes: dict[tuple, Index] = {}

    def pairs(self, frame: Frame, *, sharing: bool = False) -> Iterator[tuple[np.ndarray, Frame, np.ndarray]]:
        """(rows of the frame, the store's rows, which of these they meet), in portions.

        `sharing`: only if a bound variable is shared.
        """
        numbered = frame.extended(".row", np.arange(len(frame), dtype=np.int64))
        for part, left in self._divider.divide(numbered):
            for other, rows in self.store.parts.items():
                if not rows.count:
                    continue
                both = self._divider.bound(part) & self.store.bound(other)
                keys = tuple(var for var in self.shared if var in both)
                if sharing and not any(map(system_columns.is_variable, keys)):
                    continue
                index = self._index(other, rows, keys, timed=not (part[1] or other[1]))
                columns = [self.vars.index(var) for var in keys]
                partners = rows.frame(self.store.vars)
                for i, j in probe_pairs(left, columns, index, self.join_bounds):
                    yield left.ids[-1][i], partners, j

    def build_static_indexes(self) -> None:
        """Makes the indexes of timeless rows that are looked into, if all shared variables are bound."""
        for part, rows in self.store.parts.items():
            if part[1] and rows.count:
                bound = self.store.bound(part)
                self._index(part, rows, tuple(var for var in self.shared if var in bound), False).sync()

    def _index(self, part: tuple, rows: Rows, keys: tuple[str, ...], timed: bool) -> Index:
        if (part, keys, timed) not in self._indexes:
            columns = [self.store.vars.index(var) for var in keys]
            with_time = timed and self.join_bounds.relation.same_interval
            self._indexes[part, keys, timed] = Index(rows, columns, with_time=with_time, timed=timed)
        return self._indexes[part, keys, timed]


class SlicedOperator(BlockingOperator):
    """OFFSET and LIMIT: the rows of an instant arrive together and in order."""

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        [frame] = inputs
        yield sliced(self.step, frame, frame.end)


def sliced(step: steps.Sliced, frame: Frame, apart: np.ndarray) -> Frame:
    """What OFFSET and LIMIT leave of rows in order; `apart` tells which are looked at together."""
    _, index = np.unique(apart, return_inverse=True)
    if step.tag is not None:
        tags, tag = np.unique(frame.column(step.tag), return_inverse=True)
        _, index = np.unique(index * len(tags) + tag, return_inverse=True)
    order = np.argsort(index, kind="stable")
    counts = np.bincount(index)
    place = np.empty(len(frame), np.int64)
    place[order] = np.arange(len(frame)) - np.repeat(np.cumsum(counts) - counts, counts)
    last = np.inf if step.limit is None else step.offset + step.limit
    return frame.take((place >= step.offset) & (place < last))


def is_literal(ids: np.ndarray, terms: TermTable) -> np.ndarray:
    """Which ids are literals: all inline ones, and hashed ones whose text says so."""
    inline = (ids > 0) & (ids < term_ids.HASHED)
    hashed = np.unique(ids[ids >= term_ids.HASHED])
    texts = terms.texts(hashed).to_pylist()
    literals = np.array(
        [id_ for id_, text in zip(hashed.tolist(), texts, strict=True) if text[:1] == b'"'], np.int64
    )
    return inline | np.isin(ids, literals)

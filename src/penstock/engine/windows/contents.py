"""What windows show: when elements are in a window over time, and which triples are the last ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.algebra.windows import Bound, Kind, Shows, WindowSpec
from penstock.columns.frame import Frame
from penstock.columns.ids import UNBOUND
from penstock.engine.changing.content import ContentOperator
from penstock.engine.changing.sets import once
from penstock.engine.changing.worlds import Worlds
from penstock.engine.exchange import match
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext, RowOperator
from penstock.engine.presence import NO_ID, consolidated, numbered
from penstock.engine.store import while_present
from penstock.engine.windows.marks import closes
from penstock.functions.ordering import total_key
from penstock.plan import steps, system_columns
from penstock.timeline import FOREVER, NEVER, TIMELESS_END, TIMELESS_START

_TRIPLE = ("s", "p", "o")
_LAST_PLACE = system_columns.PLACE + " last"
_COUNTLESS = 2**62
"""More triples than any stream has; to a place among them as many can be added."""


def presence(spec: WindowSpec, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[since, until): when a window over time shows an element that ends then; empty if it never does.

    It depends on nothing else, and so is known when the element comes.
    """
    base, slide = spec.start or 0, spec.slide
    if spec.kind is Kind.LANDMARK:
        since = -((base - end) // slide) * slide + base  # the first close that is not before it
        if spec.start is not None:
            since = np.where(end >= spec.start, since, FOREVER)
        return since, np.full(len(end), FOREVER, np.int64)
    just = end if spec.opening else end - 1  # the last instant at which a window that has it may open
    latest = base + (just - base) // slide * slide
    earliest = base - (base - (end - spec.width)) // slide * slide
    never = latest + spec.width < end
    if spec.start is not None:
        earliest = np.maximum(earliest, spec.start)
        never |= latest < spec.start
    if spec.shows is Shows.PRESENT:
        since, until = end, latest + spec.width + 1
    else:
        since, until = earliest + spec.width, latest + spec.width + slide
    return since, np.where(never, since, until)


def reaches_until(spec: WindowSpec, instant: np.ndarray) -> np.ndarray:
    """Up to when (exclusively) what a window shows begins not after each of some instants."""
    never, always = np.full(len(instant), NEVER, np.int64), np.full(len(instant), FOREVER, np.int64)
    if spec.kind is Kind.TRIPLES or (spec.kind is Kind.LANDMARK and spec.start is None):
        return always
    if spec.kind is Kind.LANDMARK:
        return np.where(instant >= spec.start, always, never)
    base = spec.start or 0
    just = instant if spec.opening else instant - 1
    latest = base + (just - base) // spec.slide * spec.slide
    until = latest + spec.width + (1 if spec.shows is Shows.PRESENT else spec.slide)
    return until if spec.start is None else np.where(latest >= spec.start, until, never)


def reaches_all_until(specs: Sequence[WindowSpec], instant: np.ndarray) -> np.ndarray:
    """Up to when (exclusively) what each of some windows shows begins not after each of some instants."""
    reaches = np.full(len(instant), FOREVER, np.int64)
    for spec in specs:
        reaches = np.minimum(reaches, reaches_until(spec, instant))
    return reaches


def first_shown(spec: WindowSpec, instant: np.ndarray) -> np.ndarray:
    """The first instant of what a window shows at each of some instants, as far as it cuts."""
    if spec.kind is Kind.LANDMARK:
        return np.full(len(instant), NEVER if spec.start is None else spec.start, np.int64)
    opening = _opening(spec, instant)
    if spec.start is not None:
        opening = np.maximum(opening, spec.start)
    return opening if spec.opening else opening + 1


def _opening(spec: WindowSpec, instant: np.ndarray) -> np.ndarray:
    """When the window opened that is shown at each of some instants, had there always been windows."""
    base, latest = spec.start or 0, instant - spec.width
    if spec.shows is Shows.PRESENT:
        return base - (base - latest) // spec.slide * spec.slide
    return base + (latest - base) // spec.slide * spec.slide


def shown_bounds(specs: Sequence[WindowSpec], instant: np.ndarray) -> dict[Bound, np.ndarray]:
    """When the first of the windows opened that are shown at each of some instants, and the last closed.

    NEVER: none is shown, or one has no beginning. What is not closed yet is shown up to the instant.
    """
    start, end = np.full(len(instant), FOREVER, np.int64), np.full(len(instant), NEVER, np.int64)
    for spec in specs:
        if spec.kind is Kind.LANDMARK:
            base = spec.start or 0
            opens = np.full(len(instant), NEVER if spec.start is None else spec.start, np.int64)
            closed = base + (instant - base) // spec.slide * spec.slide
            shown = closed >= opens
        else:
            opens = _opening(spec, instant)
            if spec.start is not None and spec.shows is Shows.PRESENT:
                opens = np.maximum(opens, spec.start)
            closed = np.minimum(opens + spec.width, instant)
            shown = opens + (0 if spec.opening else 1) <= instant
            if spec.start is not None:
                shown &= opens >= spec.start
        start = np.where(shown, np.minimum(start, opens), start)
        end = np.where(shown, np.maximum(end, closed), end)
    return {Bound.START: np.where(start == FOREVER, NEVER, start), Bound.END: end}


def cut(frame: Frame, specs: Sequence[WindowSpec], instant: np.ndarray) -> Frame:
    """The rows with their intervals as windows cut them at an instant each."""
    start = frame.start
    for spec in specs:
        start = np.maximum(start, first_shown(spec, instant))
    start = np.where(frame.timeless_mask(), frame.start, start)
    return Frame(frame.vars, frame.ids, start, frame.end, *frame.presence)


def last_close(spec: WindowSpec, end: np.ndarray) -> np.ndarray:
    """The last instant at which a window closes that an element is in which ends then; NEVER: none does."""
    if spec.kind is Kind.TRIPLES:
        return end
    if spec.kind is Kind.LANDMARK:
        is_in = end >= (NEVER if spec.start is None else spec.start)
        return np.where(is_in, closes(spec).next(end), NEVER)
    base = spec.start or 0
    just = end if spec.opening else end - 1
    latest = base + (just - base) // spec.slide * spec.slide
    is_in = latest + spec.width >= end
    if spec.start is not None:
        is_in &= latest >= spec.start
    return np.where(is_in, latest + spec.width, NEVER)


def still_shown_until(spec: WindowSpec, close: int) -> int:
    """Up to when (exclusively) a window is shown that closes then, if no more elements come."""
    if spec.kind is not Kind.TIME:
        return FOREVER
    return close + 1 if spec.shows is Shows.PRESENT else close + spec.slide


def without_time(frame: Frame) -> Frame:
    """The rows as those of a graph, there as often and when they were."""
    start = np.full(len(frame), TIMELESS_START, np.int64)
    end = np.full(len(frame), TIMELESS_END, np.int64)
    return Frame(frame.vars, frame.ids, start, end, *frame.presence)


def elements_alone(frame: Frame) -> Frame:
    """The rows that elements have: what rules derive from static knowledge alone is in none."""
    timeless = frame.timeless_mask()
    return frame.take(~timeless) if timeless.any() else frame


class WindowedOperator(RowOperator):
    """Time says alone when a row is in the window, so it is said when the row comes."""

    def apply(self, frame: Frame) -> Frame:
        frame = elements_alone(frame)
        since, until = presence(self.step.spec, frame.end)
        frame = frame.present(np.ones(len(frame), np.int64), since, until)
        there = since < until
        frame = frame if there.all() else frame.take(there)
        return without_time(frame) if self.step.timeless else frame


class MatchedOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        step = self.step
        triples = tuple(frame.column(name) for name in _TRIPLE)
        element = frame.column(system_columns.ELEMENT) if step.element else None
        return match(
            step, triples, frame.start, frame.end, self.terms.key, element=element, presence=frame.presence
        )


class DuringOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        step = self.step
        times = {"start": frame.start, "end": frame.end}
        point = times[step.point] if step.point in times else frame.column(step.point) - NO_ID
        reaches = reaches_all_until(step.specs, point - step.earlier)
        frame = frame.changing()
        since = np.maximum(frame.since, reaches) if step.later else frame.since
        until = frame.until if step.later else np.minimum(frame.until, reaches)
        there = since < until
        frame = frame.present(frame.weight, since, until)
        return frame if there.all() else frame.take(there)


class StampedOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        times = {"start": frame.start, "end": frame.end}
        stamps = np.where(frame.timeless_mask(), UNBOUND, times[self.step.point] + NO_ID)
        return frame.extended(self.step.column, stamps)


class RetimedOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        start, end = (frame.column(column) - NO_ID for column in (self.step.start, self.step.end))
        return Frame(self.step.vars, frame.project(self.step.vars).ids, start, end, *frame.presence)


class BegunOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        own, other = frame.column(system_columns.BEGAN), frame.column(self.step.other)
        both = np.maximum(own, other) if self.step.later else np.minimum(own, other)
        began = np.where(own == 0, other, np.where(other == 0, own, both))
        found = frame.project(tuple(var for var in self.step.vars if var != system_columns.BEGAN))
        return found.extended(system_columns.BEGAN, began).project(self.step.vars)


class EarliestContent(ContentOperator):
    """Of rows that are alike one."""

    def __init__(self, step: steps.Earliest | steps.Latest, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.remember("rows", step.vars)
        self.keys = step.vars

    def order(self, found: Frame) -> tuple[np.ndarray, np.ndarray]:
        """What is alike, and what tells the first of those."""
        return np.vstack([found.end, found.ids]), found.start

    def at(self, contents: list[Frame], worlds: Worlds) -> Iterator[Frame]:
        [found] = contents
        alike, first = self.order(found)
        order = np.lexsort([first, *alike])
        alike = alike[:, order]
        begins = np.ones(len(found), bool)
        begins[1:] = (alike[:, 1:] != alike[:, :-1]).any(axis=0)
        yield once(found.take(order[begins]))


class LatestContent(EarliestContent):
    def order(self, found: Frame) -> tuple[np.ndarray, np.ndarray]:
        return found.ids, -found.end


class TimelessOperator(RowOperator):
    def apply(self, frame: Frame) -> Frame:
        return without_time(frame)


class CountedOperator(BlockingOperator):
    """Which triples are the last ones is known when the watermark has passed their ends.

    Triples keep their places until they have left; then they are taken back. What is derived from an element
    has all places of its triples: it is there from the first to the last of them.
    """

    def __init__(self, step: steps.Counted, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.waiting = self.store("waiting", step.vars, while_present)
        self.derived = self.store("derived", step.vars, while_present)
        self.placed = self.store("placed", (*step.vars, system_columns.PLACE, _LAST_PLACE), while_present)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        for store, new in zip((self.waiting, self.derived), inputs, strict=False):
            new = elements_alone(new)
            store.append(new.present(np.ones(len(new), np.int64), new.end, new.end))
        if clock.now == clock.before:
            return
        due, derived = (
            store.take(lambda rows: rows.end < clock.now) for store in (self.waiting, self.derived)
        )
        if not len(due):
            return
        count = 0
        slide, width = (min(each, _COUNTLESS) for each in (self.step.spec.slide, self.step.spec.width))
        known = consolidated(self.placed.rows().changing())
        known = known.take(known.until == FOREVER)
        if len(known):
            count = int(-known.column(_LAST_PLACE).min())
        due = self._in_order(due)
        places = -np.arange(count + 1, count + 1 + len(due))
        derived = _beside(derived, due.column(system_columns.ELEMENT), places)
        due = due.extended(system_columns.PLACE, places).extended(_LAST_PLACE, places)
        instants, ends = np.unique(due.end, return_index=True)
        counted = np.append(ends[1:], len(due)) + count
        closed = counted // slide * slide  # up to which place triples have been shown, at each instant
        before = count // slide * slide
        rows = Frame.concat([_always(known), _always(due), _always(derived)], self.placed.vars)
        place = -rows.column(system_columns.PLACE)
        enters = np.searchsorted(closed, place, "left")
        leaves = np.searchsorted(closed, width - rows.column(_LAST_PLACE), "left")
        times = np.append(instants, FOREVER)
        comes = (place > before) & (enters < leaves)
        goes = (place <= before) & (leaves < len(instants))
        since = np.where(comes, times[enters], times[leaves])
        until = np.where(comes, times[leaves], FOREVER)
        found = rows.present(np.where(comes, 1, -1), since, until).take(comes | goes)
        one, left = np.ones(len(rows), np.int64), leaves < len(instants)
        old = np.arange(len(rows)) < len(known)
        forever = np.full(len(rows), FOREVER, np.int64)
        self.placed.append(rows.present(one, one * clock.before, forever).take(~old & ~left))
        self.placed.append(rows.present(-one, one * clock.before, forever).take(old & left))
        found = found.project(self.step.vars)
        yield without_time(found) if self.step.timeless else found

    def _in_order(self, due: Frame) -> Frame:
        """By end and start, then the elements' graphs and the triples in them, in the order of terms."""
        element = due.column(system_columns.ELEMENT)
        times = np.vstack([due.end, due.start])
        alone = _count_of(times) == 1
        rank = np.zeros((3, len(due)), np.int64)
        if not alone.all():
            several = np.flatnonzero(~alone)
            rank[:, several] = self._ranks(np.vstack([due.column(name) for name in _TRIPLE])[:, several])
        order = np.lexsort([*rank[::-1], element, due.start, due.end])
        due, rank = due.take(order), rank[:, order]
        element = due.column(system_columns.ELEMENT)
        begins = np.ones(len(due), bool)
        begins[1:] = (element[1:] != element[:-1]) | (due.end[1:] != due.end[:-1])
        first = np.flatnonzero(begins)
        same = np.zeros(len(first), bool)  # elements with the interval of the one before
        same[1:] = (due.end[first[1:]] == due.end[first[:-1]]) & (
            due.start[first[1:]] == due.start[first[:-1]]
        )
        if not same.any():
            return due
        parts = np.split(np.arange(len(due)), first[1:])
        groups = np.split(np.arange(len(first)), np.flatnonzero(~same)[1:])
        ordered = []
        for group in groups:
            members = [parts[each] for each in group]
            if len(members) > 1:
                members.sort(key=lambda rows: [*map(tuple, rank[:, rows].T.tolist())])
            ordered += members
        return due.take(np.concatenate(ordered))

    def _ranks(self, ids: np.ndarray) -> np.ndarray:
        """For each id, its place in the order of terms."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        keys = [total_key(self.terms.term(id_)) for id_ in distinct.tolist()]
        ranks = np.empty(len(keys), np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return ranks[inverse.reshape(ids.shape)]


def _beside(derived: Frame, element: np.ndarray, places: np.ndarray) -> Frame:
    """What is derived from elements, with the first and the last place (negative) of the triples of each."""
    order = np.lexsort((-places, element))
    element, places = element[order], places[order]
    derived = derived.take(np.isin(derived.column(system_columns.ELEMENT), element))
    first = np.searchsorted(element, derived.column(system_columns.ELEMENT), "left")
    last = np.searchsorted(element, derived.column(system_columns.ELEMENT), "right") - 1
    return derived.extended(system_columns.PLACE, places[first]).extended(_LAST_PLACE, places[last])


def _always(frame: Frame) -> Frame:
    """The rows without what is said about when they are there."""
    return Frame(frame.vars, frame.ids, frame.start, frame.end)


def _count_of(columns: np.ndarray) -> np.ndarray:
    """For each column of an array, how many are the same."""
    numbers = numbered(columns)
    return np.bincount(numbers)[numbers] if len(numbers) else numbers

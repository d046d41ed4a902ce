"""Repetitions over what windows show: lists of solutions, with aggregates over each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.columns.frame import Frame
from penstock.columns.hashing import Slots
from penstock.engine.changing.content import not_before, stretch
from penstock.engine.lists import Lists, in_order
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.engine.presence import NO_ID, consolidated
from penstock.engine.store import while_present
from penstock.engine.windows.anti_join import due_before
from penstock.engine.windows.contents import reaches_all_until
from penstock.jit import njit
from penstock.plan.steps import Repetitions
from penstock.plan.steps.repetitions import are_ordered, looked_at
from penstock.timeline import FOREVER, NEVER


class RepetitionsOperator(BlockingOperator):
    """Each choice is looked at when it comes and, unless it is settled, when a member comes or leaves.

    Members stand in the order of lists, those with the same keys together. Where they also end, come and
    leave in this order, a repetition is a stretch of them, and costs the same whatever its length.
    """

    def __init__(self, step: Repetitions, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.timed = True
        self.ordered = are_ordered(step.aggregates)
        began = () if step.began is None else (step.began,)
        columns = dict.fromkeys((*step.shared, *looked_at(step.aggregates, step.ties), *began))
        self.waiting = self.store("waiting", step.chosen.vars, while_present, waits=True)
        self.members = self.store("members", tuple(columns), while_present)
        self.chosen = None if step.settled else self.store("chosen", step.chosen.vars, while_present)

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        begin, end = stretch(clock)
        new, members = (not_before(frame.changing(), begin) for frame in inputs)
        self.members.append(members.project(self.members.vars))
        new = due_before(new, self.waiting, end)
        old = Frame.empty(new.vars).changing()
        if self.chosen is not None:
            if self.step.cuts or self.members.changes_within(begin, end):
                old = self.chosen.rows().changing()
            self.chosen.append(new)
        if self.step.chosen.emits_retractions:
            old, new = consolidated(old), consolidated(new)
        choices = Frame.concat([old.take(old.until > begin), new], new.vars)
        if len(choices):
            yield from self._found(choices, begin, end)

    def _found(self, choices: Frame, begin: int, end: int) -> Iterator[Frame]:
        """The choices with their repetitions, as far as these are other than before `begin`."""
        step, members = self.step, self.members.rows().changing()
        if step.repetition.emits_retractions:
            members = consolidated(members)
        members = members.take(np.repeat(np.arange(len(members)), np.maximum(members.weight, 0)))
        keys = [np.concatenate([members.column(var), choices.column(var)]) for var in step.shared]
        key, of_choice = np.split(Slots(len(keys)).of(keys, len(members) + len(choices)), [len(members)])
        order = self._order(members, key, members.start)
        members, key = members.take(order), key[order]
        times = np.full((5, len(key)), FOREVER, np.int64)
        times[:_CUT] = members.start, members.end, members.since, members.until
        in_place = np.arange(len(key))
        by_end = in_place
        if step.cuts:  # those that a window has cut begin together
            times[_CUT] = reaches_all_until(step.cuts, members.start - 1)
            by_end = self._order(members, key, np.zeros(len(key), np.int64))
        first = np.searchsorted(key, np.arange(max(key.max(initial=0), of_choice.max()) + 2))
        aligned = np.ones(len(first), bool)
        aligned[key[1:][(np.diff(times[:_CUT]) < 0).any(axis=0) & (key[1:] == key[:-1])]] = False
        aligned[key[by_end != in_place]] = False
        after, before = (
            np.full(len(choices), none, np.int64) if column is None else choices.column(column) - NO_ID
            for column, none in zip(step.gap, (NEVER, FOREVER), strict=True)
        )
        at = choices.since - (choices.weight < 0) if step.settled else choices.since
        chosen = np.vstack([of_choice, after, before, choices.since, choices.until, at])
        until, done = begin if step.settled else end, 0
        while done < len(choices):
            looks, done = _looks(times, first, aligned, chosen, done, begin, until, self.tuning.pairs)
            lists, more = _lists(times, first, aligned, by_end, chosen, looks)
            some = np.flatnonzero(lists[0] < lists[1])
            if len(some):
                yield self._aggregated(choices, members, looks[:, some], lists[:, some], more)

    def _order(self, members: Frame, key: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """Members by key, and then as they stand in lists."""
        if not self.ordered:
            return np.lexsort([members.until, members.since, members.end, begins, key])
        return in_order(key, begins, members.end, [members.column(var) for var in self.step.ties], self.terms)

    def _aggregated(
        self, choices: Frame, members: Frame, looks: np.ndarray, lists: np.ndarray, more: np.ndarray
    ) -> Frame:
        """The choices with their lists of members, behind which there are some `more` times."""
        step = self.step
        choice, sign, since, until, _ = looks
        rows = np.append(np.arange(len(members)), more)
        listed = Lists(lists[0], lists[1], self.terms)
        chosen, tie_columns = choices.take(choice), [members.column(var)[rows] for var in step.ties]
        columns = [chosen.column(var) for var in step.keys]
        for _, call, column in step.aggregates:
            values = None if column is None else members.column(column)[rows]
            columns.append(listed.values(call, values, tie_columns))
        begun, ended = listed.least(members.start[rows]), -listed.least(-members.end[rows])
        columns += [begun + NO_ID, ended + NO_ID]
        if step.began is not None:
            columns.append(listed.least(members.column(step.began)[rows]))
        hull = np.minimum(chosen.start, begun), np.maximum(chosen.end, ended)
        answers = Frame(step.vars, np.vstack(columns), *hull, chosen.weight * sign, since, until)
        return answers if step.settled else consolidated(answers)


_START, _END, _SINCE, _UNTIL, _CUT = range(5)  # of members, the last one when a window cuts them


@njit(cache=True)
def _stretch(members, low, high, after, before):
    """Which of some members lie between two instants; they start and end in their order."""
    first = np.searchsorted(members[_START, low:high], after, "right")
    last = np.searchsorted(members[_END, low:high], before, "left")
    return low + first, low + max(first, last)


@njit(cache=True)
def _others(members, some, after, before):
    """Those of some members that lie between two instants."""
    return some[(members[_START][some] > after) & (members[_END][some] < before)]


@njit(cache=True)
def _within(instants, begin, end):
    """Those of some instants that are not before `begin`, but before `end`; they are in order."""
    return instants[np.searchsorted(instants, begin) : np.searchsorted(instants, end)]


@njit(cache=True)
def _looks(members, first, aligned, choices, done, begin, end, most):
    """When choices from `done` on are looked at, and up to which one it came.

    In columns: the choice, a sign, from when to when what is seen holds, and the instant. A choice that came
    before `begin` is looked at where its repetition changes, and then what it had is taken back (sign -1).
    """
    found, count, listed = np.empty((64, 5), np.int64), 0, 0
    while done < choices.shape[1] and count + listed <= most:
        key, after, before, since, until, at = choices[:, done]
        low, high = first[key], first[key + 1]
        begins, ends = max(since + 1, begin), min(until, end)
        if aligned[key]:
            low, high = _stretch(members, low, high, after, before)
            instants = np.concatenate(
                (
                    _within(members[_SINCE, low:high], begins, ends),
                    _within(members[_UNTIL, low:high], begins, ends),
                )
            )
        else:
            some = _others(members, np.arange(low, high), after, before)
            instants = np.concatenate((members[_SINCE][some], members[_UNTIL][some], members[_CUT][some]))
            instants = instants[(instants >= begins) & (instants < ends)]
            low, high = 0, some.size
        instants = np.append(np.unique(instants), until)
        if low < high and (since >= begin or len(instants) > 1):
            more = found.shape[0] - count < len(instants)
            if more:
                found = np.concatenate((found, np.empty((count + len(instants), 5), np.int64)))
            if since >= begin:
                found[count] = (done, 1, since, instants[0], at)
            else:
                found[count] = (done, -1, instants[0], until, begin - 1)
            for place in range(len(instants) - 1):
                instant = instants[place]
                found[count + 1 + place] = (done, 1, instant, instants[place + 1], instant)
            count += len(instants)
            if not aligned[key]:
                listed += len(instants) * some.size
        done += 1
    return found[:count].T, done


@njit(cache=True)
def _lists(members, first, aligned, by_end, choices, looks):
    """The first member of each repetition that is looked at, and the place behind its last.

    Those of one that is no stretch are listed behind all members; these are the second that is returned.
    """
    count, listed = members.shape[1], 0
    found, more = np.empty((2, looks.shape[1]), np.int64), np.empty(64, np.int64)
    for look in range(looks.shape[1]):
        key, after, before = choices[:3, looks[0, look]]
        low, high = first[key], first[key + 1]
        at = looks[4, look]
        if aligned[key]:
            low, high = _stretch(members, low, high, after, before)
            found[0, look] = low + np.searchsorted(members[_UNTIL, low:high], at, "right")
            found[1, look] = low + np.searchsorted(members[_SINCE, low:high], at, "right")
            continue
        cut, uncut = by_end[low:high], np.arange(low, high)
        own = np.concatenate((cut[members[_CUT][cut] <= at], uncut[members[_CUT][uncut] > at]))
        own = _others(members, own, after, before)
        own = own[(members[_SINCE][own] <= at) & (members[_UNTIL][own] > at)]
        if more.size < listed + own.size:
            more = np.concatenate((more, np.empty(listed + own.size, np.int64)))
        more[listed : listed + own.size] = own
        found[0, look], found[1, look] = count + listed, count + listed + own.size
        listed += own.size
    return found, more[:listed]

"""Instants at which windows are asked and report, without listing them: against lists of them."""

from __future__ import annotations

from random import Random

import numpy as np

from oracle.test_windows import random_spec
from oracle.windows import closes_at, shown_window
from penstock.algebra.windows import Kind, Report, WindowSpec
from penstock.engine.windows.contents import first_shown, reaches_until
from penstock.engine.windows.marks import (
    Marks,
    Progression,
    RestrictedProgression,
    asked_regularly,
    closes,
    covered,
)
from penstock.timeline import FOREVER

TIMES = np.arange(-40, 90)


def test_windows_close_when_they_do():
    random = Random(2)
    for _ in range(300):
        spec = random_spec(random)
        if random.random() < 0.3:
            spec = WindowSpec(Kind.LANDMARK, slide=spec.slide, start=spec.start)
        assert closes(spec).has(TIMES).tolist() == [closes_at(spec, t) for t in TIMES.tolist()], spec


def test_closes_that_are_also_periods():
    random = Random(3)
    found = 0
    for _ in range(500):
        spec, period = random_spec(random), random.randint(1, 9)
        both = asked_regularly(Report(close=True, period=period), spec)
        expected = [closes_at(spec, t) and t % period == 0 for t in TIMES.tolist()]
        assert (both.has(TIMES).tolist() if both else [False] * len(TIMES)) == expected, (spec, period)
        found += sum(expected)
    assert found > 1000


def test_marks_before_and_after():
    random = Random(4)
    for _ in range(300):
        low, high = sorted(random.sample(range(-20, 60), 2))
        listed = np.array(sorted(random.sample(range(low, high + 1), min(3, high - low))), np.int64)
        first = random.choice((None, random.randint(-10, 30)))
        regular = [Progression(random.randint(0, 9), random.randint(1, 9), first)] * random.randint(0, 1)
        stretches = sorted(random.sample(range(-30, 70), 6))
        since, until = np.array(stretches[::2]), np.array(stretches[1::2])
        interrupted = random.random() < 0.5
        marks = Marks(
            low,
            high,
            listed,
            [RestrictedProgression(each, since, until) if interrupted else each for each in regular],
        )
        every = [
            t
            for t in range(low, high + 1)
            if t in listed
            or any(each.has(np.array([t]))[0] for each in regular)
            and (not interrupted or ((since <= t) & (t < until)).any())
        ]
        assert marks.next(TIMES).tolist() == [
            min((m for m in every if m >= t), default=FOREVER) for t in TIMES
        ]
        assert marks.before(TIMES, -99).tolist() == [
            max((m for m in every if m < t), default=-99) for t in TIMES
        ]
        since = np.array([random.randint(-20, 60) for _ in range(3)])
        until = since + np.array([random.randint(0, 9) for _ in range(3)])
        there = [any(s <= t < u for s, u in zip(since, until, strict=True)) for t in TIMES]
        assert marks.during(since, until).tolist() == [m for m in every if there[m + 40]]
        assert covered(TIMES, since[since < until], until[since < until]).tolist() == there


def test_how_far_back_a_window_reaches():
    random = Random(5)
    for _ in range(300):
        spec = random_spec(random)
        shown = {t: window for t in TIMES.tolist() if (window := shown_window(spec, t)) is not None}
        instants = np.array(sorted(shown), np.int64)
        assert first_shown(spec, instants).tolist() == [shown[t][0] for t in instants.tolist()], spec
        for point in random.sample(range(0, 40), 5):
            [until] = reaches_until(spec, np.array([point])).tolist()
            for t in instants.tolist():
                assert (t < until) == (shown[t][0] <= point), (spec, point, t)

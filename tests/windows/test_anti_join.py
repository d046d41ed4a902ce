"""Rows while nothing hides them, and changes as who looks now and then sees them: against definitions."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from agreement.tunings import tiny
from penstock.algebra.relations import ANY, SEQ, Relation
from penstock.algebra.windows import Kind, Shows, WindowSpec
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.expressions import Evaluator
from penstock.engine.operators import Clock, OperatorContext
from penstock.engine.windows.anti_join import AntiJoinOperator
from penstock.engine.windows.contents import presence
from penstock.engine.windows.marks import Marks
from penstock.engine.windows.report_deltas import ReportDeltas
from penstock.languages import parse_query
from penstock.pipeline import plan
from penstock.plan import steps
from penstock.plan.catalog import StreamName
from penstock.plan.compilation.sequences import ENDS_INSIDE
from penstock.plan.sources import Stream
from penstock.plan.steps import AntiJoin, Windowed
from penstock.timeline import FOREVER, NEVER

LAST = 60
SPEC = WindowSpec(Kind.TIME, 7, 1, opening=True, shows=Shows.CLOSED)


def window_of(*vars: str) -> Windowed:
    scan = steps.Scan(*vars, frozenset((Stream(0),)))
    return Windowed(scan, SPEC, timeless=False)


REQUIRED, ABSENT = window_of("k", "v", "w"), steps.Columns(window_of("k", "x", "y"), ("k",))


def operator_of(relation: Relation, random: Random, **more) -> AntiJoinOperator:
    terms = TermTable()
    context = OperatorContext(terms, Evaluator(terms, 0), tiny(random))
    return AntiJoinOperator(AntiJoin(REQUIRED, ABSENT, relation, **more), "lacking", context)


def history(random: Random, vars: tuple[str, ...], count: int) -> Frame:
    """Rows that come and leave at instants known or not, some of them with intervals that are long past."""
    rows = []
    for _ in range(count):
        end = random.randint(0, 40)
        start = end - random.choice((0, 0, 1, 4))
        since = end + random.choice((0, 0, 1, 9))
        until = random.choice((since + random.randint(1, 12), FOREVER))
        ids = [random.choice((5, 6)) if var == "k" else random.randint(1, 3) for var in vars]
        rows.append((*ids, start, end, 1, since, until))
        if until == FOREVER and random.random() < 0.6:
            rows.append((*ids, start, end, -1, since + random.randint(1, 9), FOREVER))
    columns = np.array(rows, np.int64).reshape(-1, len(vars) + 5).T.copy()
    return Frame(vars, columns[: len(vars)], *columns[len(vars) :])


def content(frame: Frame, instant: int) -> Counter:
    found: Counter = Counter()
    for row in zip(*frame.ids, frame.start, frame.end, *frame.presence, strict=True):
        *solution, weight, since, until = map(int, row)
        if since <= instant < until:
            found[tuple(solution)] += weight
    return Counter({row: count for row, count in found.items() if count})


def in_steps(random: Random, frames: list[Frame]):
    """The rows of each step, before the watermark reaches the instants at which they come, and the clock."""
    before = NEVER
    cuts = [*sorted(random.sample(range(-3, LAST), random.randint(1, 8))), FOREVER]
    for now in cuts:
        due = [frame.take((frame.since >= before) & (frame.since < now)) for frame in frames]
        if random.random() < 0.5 and now < FOREVER:  # some come well before
            early = [frame.take((frame.since >= now) & (frame.since < now + 4)) for frame in frames]
            frames = [frame.take((frame.since < now) | (frame.since >= now + 4)) for frame in frames]
            due = [Frame.concat(pair, pair[0].vars).changing() for pair in zip(due, early, strict=True)]
        yield due, Clock(before, now)
        before = now


def met(relation: Relation, required: tuple, absent: tuple) -> bool:
    if required[0] != absent[0]:
        return False
    at = dict(zip(("ls", "le", "rs", "re"), (*required[-2:], *absent[-2:]), strict=True))
    compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__}
    return all(compare[sign](at[x], at[y]) for x, sign, y in relation.comparisons)


@pytest.mark.parametrize("relation", [SEQ, SEQ.converse, ANY, ENDS_INSIDE], ids=str)
def test_rows_are_there_while_nothing_hides_them(relation: Relation):
    shown = taken_back = 0
    for seed in range(60):
        random = Random(f"lacking {seed}")
        required, absent = history(random, REQUIRED.vars, 8), history(random, ABSENT.vars, 8)
        operator = operator_of(relation, random)
        given = [Frame.empty(REQUIRED.vars).changing()]
        for inputs, clock in in_steps(random, [required, absent]):
            for frame in operator.advance(inputs, clock):
                assert not len(frame) or int(frame.since.min()) >= clock.before
                given.append(frame)
            for store in operator.stores:
                store.expire(clock.now)
        found = Frame.concat(given, REQUIRED.vars).changing()
        taken_back += int((found.weight < 0).sum())
        for instant in range(-5, LAST):
            hiding = content(absent, instant)
            expected = {
                row: count
                for row, count in content(required, instant).items()
                if not any(met(relation, row, other) for other in hiding)
            }
            assert content(found, instant) == Counter(expected), (seed, instant)
            shown += len(expected)
    assert shown > 1_000 and taken_back > 100


def test_what_is_settled_needs_no_second_look_and_no_memory():
    text = """PREFIX : <http://example.org/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 1m]
      WHERE { WINDOW :w { SEQ({ ?k :a ?v }, !{ ?k :b ?x }, { ?k :c ?y }) } }"""
    [query] = plan([parse_query(text)], [StreamName("http://example.org/s")]).queries
    [step] = [step for step in query.step.walk() if isinstance(step, AntiJoin)]
    assert step.settled
    random = Random("settled")
    for seed in range(40):
        operator = operator_of(ENDS_INSIDE, random, settled=True, specs=(SPEC,))
        twin = operator_of(ENDS_INSIDE, random, specs=(SPEC,))
        frames = [windowed(random, each.vars) for each in (REQUIRED, ABSENT)]
        given: list[list[Frame]] = [[], []]
        for inputs, clock in in_steps(random, frames):
            for each, found in zip((operator, twin), given, strict=True):
                found += each.advance(inputs, clock)
            assert all(store in operator.waiting or store is operator.absent for store in operator.stores)
            assert not any((store.rows().changing().since < clock.now).any() for store in operator.waiting)
        one, other = (Frame.concat(found, REQUIRED.vars).changing() for found in given)
        for instant in range(-5, LAST):
            assert content(one, instant) == content(other, instant), (seed, instant)


def windowed(random: Random, vars: tuple[str, ...]) -> Frame:
    """Rows that a window shows; of those that must be there, one a while after the start."""
    ends = np.array(sorted(random.randint(0, 40) for _ in range(12)), np.int64)
    starts = ends - np.array([random.choice((0, 0, 2, 5)) for _ in ends], np.int64)
    ids = np.array([[random.choice((5, 6)) for _ in ends] for _ in vars], np.int64)
    return Frame(vars, ids, starts, ends, np.ones(len(ends), np.int64), *presence(SPEC, ends))


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_changes_are_seen_at_the_next_mark(sign: int):
    seen = 0
    for seed in range(80):
        random = Random(f"carrying {seed}")
        rows = history(random, ("k",), 12)
        listed = np.array(sorted(random.sample(range(0, LAST), random.choice((3, 10, 40)))), np.int64)
        operator = operator_of(SEQ, random)
        carrying = ReportDeltas(operator, "changes", ("k",))
        found: Counter = Counter()
        for [new], clock in in_steps(random, [rows]):
            carrying.add(new)
            low, high = max(clock.before, -10), min(clock.now, LAST) - 1
            marks = Marks(low, high, listed[(listed >= low) & (listed <= high)])
            changes = carrying.carried(clock.before, clock.now, marks, begun=True, sign=sign)
            for row in zip(
                *changes.ids, changes.start, changes.end, changes.weight, changes.since, strict=True
            ):
                k, start, end, weight, at = map(int, row)
                found[k, start, end, at] += weight
            for store in operator.stores:
                store.expire(clock.now)
        expected: Counter = Counter()
        before: Counter = Counter()
        for mark in listed.tolist():
            now = content(rows, mark)
            for row in {*now, *before}:
                change = now[row] - before[row]
                if change and (not sign or change * sign > 0):
                    expected[(*row, mark)] = change
            before = now
        wanted = {row: count for row, count in found.items() if not sign or count * sign > 0}
        assert wanted == expected, seed
        seen += len(expected)
    assert seen > 300

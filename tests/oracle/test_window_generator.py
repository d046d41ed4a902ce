"""Random continuous queries are reproducible, cover the definitions, and mostly give something."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from oracle.cases import Case
from oracle.reading import children
from oracle.window_generator import (
    WindowCase,
    given_by,
    make_repetition_case,
    make_window_case,
    repetition_answers,
    shrunk_window_case,
    window_cases,
)
from oracle.window_model import (
    CONVENTIONS,
    Background,
    EventSequence,
    InWindow,
    Kind,
    StreamOperator,
    Timestamp,
    View,
    Window,
)
from oracle.windows import AtInstant, Clock, content, given
from penstock import algebra as a


@cache
def some(count: int = 400) -> list[tuple[WindowCase, Counter]]:
    return list(window_cases(range(count)))


def nodes(node) -> list:
    return [node, *(found for child in children(node) for found in nodes(child))]


@pytest.mark.sample(0)
def test_a_case_is_its_seed():
    for case, found in some()[:10]:
        assert make_window_case(case.seed) == case
        assert given_by(make_window_case(case.seed)) == found
    assert len({case.body for case, _ in some()}) > 300


def test_a_case_prints_everything_that_it_consists_of():
    for case, _ in some(20):
        text = str(case)
        assert f"make_window_case({case.seed})" in text
        assert case.body in text
        assert text.count("\nwindow ") == len(case.query.windows)
        assert all(f"in {said.language}" in text for said in case.said)


@pytest.mark.sample(0)
def test_most_cases_give_something_and_none_gives_very_much():
    giving = [found for _, found in some() if found]
    assert len(giving) > 0.5 * len(some())
    assert max(sum(found.values()) for found in giving) < 3000


@pytest.mark.sample(0)
def test_every_part_of_the_definitions_occurs():
    seen: Counter = Counter()
    for case, found in some():
        query, there = case.query, nodes(case.query.query)
        seen[query.view] += 1
        seen[query.operator, query.view] += 1
        seen["windows", min(len(query.windows), 3)] += 1
        seen["late"] += bool(case.data.late)
        seen["intervals"] += any(e.start < e.end for each in case.streams.values() for e in each)
        seen["static", query.view] += bool(case.data.graphs)
        seen["given", query.operator] += bool(found)
        for window in query.windows:
            seen[window.spec.kind] += 1
            seen["from an instant on"] += window.spec.start is not None
        for name in ("close", "change", "non_empty", "period"):
            seen[name] += bool(getattr(query.report, name))
        seen[query.report.tick] += 1
        for each in there:
            seen[type(each)] += 1
            if isinstance(each, EventSequence):
                over_windows = isinstance(each.members[0].pattern, InWindow)
                last = len(each.members) - 1
                for place, member in enumerate(each.members):
                    where = {0: "first", last: "last"}.get(place, "middle")
                    seen["negated", where, over_windows] += member.negated
                    seen["repeated", where] += member.repeated
                    seen["filter", member.negated] += isinstance(member.pattern, a.Filter)
            if isinstance(each, Background):
                seen["background", isinstance(each.pattern, a.Join)] += 1
    least = {
        **{view: 100 for view in View},
        **{(operator, view): 10 for operator in StreamOperator for view in View},
        **{("windows", count): 15 for count in (1, 2, 3)},
        **{kind: 20 for kind in Kind},
        **{name: 20 for name in ("late", "close", "change", "non_empty", "period")},
        "intervals": 200,
        "from an instant on": 8,
        **{("static", view): 40 for view in View},
        **{("given", operator): 20 for operator in StreamOperator},
        **{("negated", where, False): 8 for where in ("first", "middle", "last")},
        **{("negated", where, True): 3 for where in ("first", "middle", "last")},
        **{("repeated", where): 8 for where in ("first", "middle", "last")},
        ("filter", False): 20,
        ("filter", True): 5,
        **{("background", several): 15 for several in (False, True)},
        **{node: 20 for node in (InWindow, EventSequence, Background, a.Group, a.Distinct, a.Filter)},
        **{node: 5 for node in (Timestamp, a.OuterJoin, a.Minus, a.Exists, a.Construct, a.Ask, a.Graph)},
    }
    assert {what: seen[what] for what, count in least.items() if seen[what] < count} == {}


@pytest.mark.sample(0)
def test_each_language_says_many_of_them_most_by_its_conventions():
    said = [each for case, _ in some() for each in case.said]
    for language in CONVENTIONS:
        own = [each for each in said if each.language == language]
        assert len(own) > 40
        assert sum(each.plain for each in own) > 15
    for case, _ in some():
        for each in case.said:
            streams = Counter(window.stream for window in case.query.windows)
            assert sum(each.text.count(f":{name.value[-2:]} [") for name in streams) == len(
                case.query.windows
            )
            assert "GRAPH :w" not in each.text


@pytest.mark.sample(0)
def test_the_order_in_which_a_stream_has_its_elements_does_not_matter():
    for case, _ in some()[:150]:
        streams, random = case.streams, Random(case.seed)
        found = [
            Counter({(at, row): count for at, row, count in given(case.query, each, case.knowledge)})
            for each in (streams, {name: random.sample(e, len(e)) for name, e in streams.items()})
        ]
        assert found[0] == found[1]


@pytest.mark.sample(0)
def test_a_case_can_be_made_small():
    case = next(case for case, found in some() if case.query.view is View.ELEMENT and sum(found.values()) > 5)
    small = shrunk_window_case(case, lambda each: bool(each.data.streams[0].elements and given_by(each)))
    assert given_by(small)
    assert sum(len(e) for e in small.streams.values()) < sum(len(e) for e in case.streams.values())


def uncut(window: Window, elements, instant: int):
    return tuple(replace(held, start=held.began) for held in content(window.spec, elements, instant))


def test_within_one_window_intervals_may_be_cut_at_the_end():
    """So engines may keep the whole intervals: solutions are the same, unless a middle member is negated."""
    compared = cut = 0
    for seed in range(500):
        case = make_window_case(seed)
        query = case.query
        found = nodes(query.query.pattern)
        if query.view is not View.ELEMENT or len(query.windows) != 1:
            continue
        (sequence,) = [each for each in found if isinstance(each, InWindow)]
        members = getattr(sequence.pattern, "members", ())
        if any(member.negated for member in members[1:-1]):
            continue
        (window,) = query.windows
        clock = Clock(query, case.streams)
        for instant in clock.evaluations()[:10]:
            held = clock.content(window, instant)
            whole = uncut(window, case.streams[window.stream], instant)
            rows = [
                Counter((row.mu, row.uncut, row.end) for row in _solutions(sequence, each, instant))
                for each in (held, whole)
            ]
            assert rows[0] == rows[1]
            compared += 1
            cut += any(one.start != one.began for one in held) and bool(rows[0])
    assert compared > 300 and cut > 30


def _solutions(node: InWindow, held, instant: int):
    return AtInstant(None, (), (), instant=instant, contents={node.name: held}).solutions(node)


def test_repetitions_in_ep_sparql_are_reproducible_and_have_answers():
    answered = 0
    for seed in range(100):
        case = make_repetition_case(seed)
        assert make_repetition_case(seed) == case
        assert isinstance(case.data, Case) and "}+" in case.text
        answered += bool(repetition_answers(case))
    assert answered > 40

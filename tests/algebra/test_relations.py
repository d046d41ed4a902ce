"""Relations of intervals: what is derived from their comparisons holds for every pair of intervals."""

from __future__ import annotations

import pickle
from itertools import product

import pytest

from penstock.algebra.relations import (
    ANY,
    DURING,
    ENDED,
    EQUALS,
    FINISHES,
    INTERSECTS,
    MEETS,
    OVERLAPS,
    PAIRS,
    POINTS,
    SEQ,
    STARTS,
    IntervalRule,
    JoinBounds,
    Limit,
    Relation,
    Side,
)

LITERALLY = {
    ANY: lambda ls, le, rs, re: True,
    SEQ: lambda ls, le, rs, re: le < rs,
    EQUALS: lambda ls, le, rs, re: ls == rs and le == re,
    ENDED: lambda ls, le, rs, re: re <= le,
    INTERSECTS: lambda ls, le, rs, re: any(ls <= t <= le for t in range(rs, re + 1)),
    DURING: lambda ls, le, rs, re: rs < ls and le < re,
    STARTS: lambda ls, le, rs, re: ls == rs and le < re,
    FINISHES: lambda ls, le, rs, re: rs < ls and le == re,
    MEETS: lambda ls, le, rs, re: le == rs,
    OVERLAPS: lambda ls, le, rs, re: ls < rs < le < re,
}
RELATIONS = pytest.mark.parametrize("relation", [*LITERALLY, *(each.converse for each in LITERALLY)], ids=str)
TIMES = [each for each in product(range(-4, 5), repeat=4) if each[0] <= each[1] and each[2] <= each[3]]


def holds(relation: Relation, ls: int, le: int, rs: int, re: int) -> bool:
    if relation.inverted:
        return LITERALLY[relation.converse](rs, re, ls, le)
    return LITERALLY[relation](ls, le, rs, re)


def by_mask(mask: int, times: tuple[int, ...]) -> bool:
    at = dict(zip(POINTS, times, strict=True))
    for place, (x, y) in enumerate(PAIRS):
        sign = 0 if at[x] < at[y] else 2 if at[x] > at[y] else 1
        if not mask >> (3 * place + sign) & 1:
            return False
    return True


@RELATIONS
def test_the_mask_says_when_two_intervals_are_in_the_relation(relation):
    for times in TIMES:
        assert by_mask(relation.mask, times) == holds(relation, *times), times


@RELATIONS
def test_what_a_relation_implies_always_holds_and_nothing_else_does(relation):
    related = [times for times in TIMES if holds(relation, *times)]
    compare = {
        "<": lambda x, y: x < y,
        "<=": lambda x, y: x <= y,
        "=": lambda x, y: x == y,
        ">=": lambda x, y: x >= y,
        ">": lambda x, y: x > y,
    }
    for (x, y), sign in product(PAIRS, compare):
        always = all(compare[sign](t[POINTS.index(x)], t[POINTS.index(y)]) for t in related)
        assert relation.implies(x, sign, y) == always, (x, sign, y)
    assert relation.ends_first(Side.LEFT) == all(t[1] < t[3] for t in related)
    assert relation.ends_first(Side.RIGHT) == all(t[3] < t[1] for t in related)
    assert relation.inside(Side.LEFT) == all(t[2] <= t[0] and t[1] <= t[3] for t in related)


def test_reading_a_relation_backwards_twice_is_reading_it():
    assert SEQ.converse != SEQ and SEQ.converse.converse == SEQ
    assert EQUALS.converse is EQUALS and INTERSECTS.converse is INTERSECTS
    assert pickle.loads(pickle.dumps(SEQ.converse)) == SEQ.converse


def combined(interval: IntervalRule, ls: int, le: int, rs: int, re: int) -> tuple[int, int] | None:
    """The interval of a combination by its definition; None: there is no such combination."""
    if interval is IntervalRule.INTERSECTION:
        common = (max(ls, rs), min(le, re))
        return common if common[0] <= common[1] else None
    if interval is IntervalRule.HULL:
        return min(ls, rs), max(le, re)
    return (ls, le) if interval is IntervalRule.LEFT else (rs, re)


def instants(limit: Limit, start: int, end: int) -> list[int]:
    both = (start, limit.after_start), (end, limit.after_end)
    return [time + after for time, after in both if after is not None]


TIMED_RULES = [rule for rule in IntervalRule if rule is not IntervalRule.INSTANT]


@pytest.mark.parametrize("longest", [(None, None), (1, None), (2, 0)], ids=str)
@pytest.mark.parametrize("within", [None, 2])
@pytest.mark.parametrize("interval", TIMED_RULES)
@RELATIONS
def test_a_solution_is_remembered_exactly_until_its_last_partner_can_have_ended(
    relation, interval, within, longest
):
    """Among so small intervals no partner ends later than said; and one that does, if it is said of none."""
    join_bounds = JoinBounds(relation, interval, within, longest)
    last: dict[tuple[Side, int, int], list[int]] = {}
    for times in TIMES:
        ls, le, rs, re = times
        result = combined(interval, *times)
        if not holds(relation, *times) or result is None:
            continue
        if within is not None and result[1] - result[0] > within:
            continue
        if any(
            most is not None and length > most
            for most, length in zip(longest, (le - ls, re - rs), strict=True)
        ):
            continue
        last.setdefault((Side.LEFT, ls, le), []).append(re)
        last.setdefault((Side.RIGHT, rs, re), []).append(le)
    for (side, start, end), partners in last.items():
        limit = join_bounds.latest_end(side)
        said = [
            t + after
            for t, after in ((start, limit.after_start), (end, limit.after_end))
            if after is not None
        ]
        assert max(partners) <= min(said, default=4), (side, start, end)
        if max(partners) < 4:
            assert said and max(partners) == min(said), (side, start, end)
        least = instants(join_bounds.earliest_end(side), start, end)
        assert min(partners) >= max(least, default=-4), (side, start, end)


@pytest.mark.parametrize("interval", TIMED_RULES)
@RELATIONS
def test_where_a_combination_has_its_interval_from(relation, interval):
    join_bounds = JoinBounds(relation, interval)
    first, last = join_bounds.interval_of()
    choose = {"left": lambda x, y: x, "right": lambda x, y: y, "least": min, "greatest": max}
    for times in TIMES:
        ls, le, rs, re = times
        expected = combined(interval, *times)
        if holds(relation, *times) and expected is not None:
            assert by_mask(join_bounds.mask, times)
            assert (choose[first](ls, rs), choose[last](le, re)) == expected, times
        else:
            assert not by_mask(join_bounds.mask, times), times


def test_names_are_those_of_the_papers():
    assert [each.join_name() for each in (ANY, SEQ, EQUALS)] == ["Join", "SeqJoin", "EqJoin"]
    outer = ((ENDED, Side.RIGHT), (SEQ, Side.LEFT), (EQUALS, Side.RIGHT))
    assert [relation.outer_name(side) for relation, side in outer] == [
        "LeftJoin",
        "SeqRightJoin",
        "EqLeftJoin",
    ]
    words = ["OPTIONAL", "OPTIONALSEQ", "EQUALSOPTIONAL"]
    assert [relation.outer_word(side) for relation, side in outer] == words

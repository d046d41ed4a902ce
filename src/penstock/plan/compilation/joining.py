"""In which order the triple patterns of a group are joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

from penstock.algebra.relations import ANY, Relation
from penstock.plan.steps import Join, Step
from penstock.plan.system_columns import is_variable

TOGETHER = 32
"""So many are joined one after the other; a longer list is joined in parts of that length, these
parts again, and so on: what walks through steps recurs, so they must not be deep."""


def joined(parts: Sequence[Step], within: int | None, relation: Relation = ANY) -> Step:
    """The join of all parts. Next comes one that is connected, so that no cartesian product arises."""
    together = TOGETHER
    while len(parts) > together:
        groups = connected(parts, together)
        if len(groups) == len(parts):  # nothing is connected with anything
            groups = [parts[i : i + together] for i in range(0, len(parts), together)]
        parts = [_one_by_one(group, within, relation) for group in groups]
    return _one_by_one([part for group in connected(parts, together) for part in group], within, relation)


def _one_by_one(parts: Sequence[Step], within: int | None, relation: Relation) -> Step:
    step, *rest = parts
    for part in rest:
        step = Join(step, part, relation, within=within)
    return step


def connected(parts: Sequence[Step], together: int) -> list[list[Step]]:
    """The parts in groups of at most so many, each of which shares variables with those before it.

    Of those that could come next, it is the one with most shared variables, then the first. Where
    there are too many for one group, it is the one with the variable that came last: then what is
    left hangs together as well, and does not fall into many small groups.
    """
    having: defaultdict[str, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        for var in filter(is_variable, part.vars):
            having[var].append(number)
    groups: list[list[Step]] = []
    left = dict.fromkeys(range(len(parts)))  # in their order
    in_depth = len(parts) > together
    while left:
        shared: dict[int, int] = {}
        bound: set[str] = set()
        waiting = [(0, 0, next(iter(left)))]
        group: list[Step] = []
        while waiting and len(group) < together:
            count, _, number = heappop(waiting)
            if number not in left or -count != shared.get(number, 0):
                continue  # it was taken, or has come into the heap again with a higher count
            del left[number]
            group.append(parts[number])
            for var in filter(is_variable, parts[number].vars):
                if var in bound:
                    continue
                bound.add(var)
                for other in having[var]:
                    if other in left:
                        shared[other] = shared.get(other, 0) + 1
                        heappush(waiting, (-shared[other], -len(bound) if in_depth else 0, other))
        groups.append(group)
    return groups

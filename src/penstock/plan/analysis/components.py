"""Graphs of numbered things: what feeds itself, what hangs together. Nothing here recurs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Edge = tuple[int, int]
"""From one place to another one."""


def components(count: int, edges: Iterable[Edge]) -> list[list[int]]:
    """Strongly connected components (Tarjan), a component before those it feeds."""
    following: list[list[int]] = [[] for _ in range(count)]
    for one, other in dict.fromkeys(edges):
        following[one].append(other)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    found: list[list[int]] = []
    way: list[tuple[int, Iterator[int]]] = []  # from where we began, each with what is to be visited

    def enter(place: int) -> None:
        index[place] = low[place] = len(index)
        stack.append(place)
        stacked.add(place)
        way.append((place, iter(following[place])))

    for first in reversed(range(count)):
        if first not in index:
            enter(first)
        while way:
            place, remaining = way[-1]
            after = next(remaining, None)
            if after is None:
                way.pop()
                if way:
                    before = way[-1][0]
                    low[before] = min(low[before], low[place])
                if low[place] == index[place]:
                    members = [stack.pop()]
                    while members[-1] != place:
                        members.append(stack.pop())
                    stacked.difference_update(members)
                    found.append(sorted(members))
            elif after not in index:
                enter(after)
            elif after in stacked:
                low[place] = min(low[place], index[after])
    return found[::-1]


def linked(count: int, edges: Iterable[Edge]) -> list[int]:
    """For each place the first one of those that it hangs together with."""
    first = list(range(count))

    def root(place: int) -> int:
        while first[place] != place:
            first[place] = first[first[place]]
            place = first[place]
        return place

    for edge in edges:
        one, other = sorted(map(root, edge))
        first[other] = one
    return [root(place) for place in range(count)]

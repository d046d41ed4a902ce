"""What clauses derive, and from what, where their axioms are bound: in columns, for there may be many.

Of a triple its *key* counts: its predicate, and if that is rdf:type its class. Keys are rows of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.columns import hashing
from penstock.jit import njit

ANY = 0
LITERAL = -1  # any object that is a literal


@dataclass(frozen=True, eq=False)
class Instances:
    """What one clause derives, and from what: an instance for each way in which its axioms are bound.

    What a clause copies has the same predicate in its head and in a premise, whatever that is; `copies`
    are such premises, and whether they have the same object, too.
    """

    clause: int
    heads: np.ndarray  # (instances, atoms, 2) keys
    premises: np.ndarray  # (instances, atoms, 2) keys, without those that are copied
    internal: np.ndarray  # (instances, atoms) predicates of premises that only rules derive
    copies: tuple[bool, ...] = ()
    reflexive: bool = False  # it derives only that things are in relation to themselves
    of_literals: bool = False  # what it copies has literals as objects: it relates two things already
    literal: bool = False  # what it derives has a literal as its object, so no class

    def __len__(self) -> int:
        return len(self.heads)

    def take(self, chosen: np.ndarray) -> Instances:
        heads, premises, internal = self.heads[chosen], self.premises[chosen], self.internal[chosen]
        return replace(self, heads=heads, premises=premises, internal=internal)

    def distinct(self) -> Instances:
        """Each of those that are the same once."""
        columns = (self.heads[..., 0], self.heads[..., 1], self.premises[..., 0], self.premises[..., 1])
        rows = np.hstack([*columns, self.internal])
        order = np.lexsort(rows.T)
        new = np.ones(len(self), bool)
        new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
        return self.take(order[new])


def possible(instances: Sequence[Instances], named: np.ndarray) -> list[Instances]:
    """Those whose internal premises can be there: some are static, by predicate, others must be derived."""
    derived = np.union1d(named, [ANY])
    while True:
        kept = [each.take(np.isin(each.internal, derived).all(axis=1)) for each in instances]
        more = np.unique(np.concatenate([derived, *(each.heads[..., 0].reshape(-1) for each in kept)]))
        if len(more) == len(derived):
            return [each for each in kept if len(each)]
        derived = more


def keys_in(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The keys of some heads or premises, one below the other."""
    return np.concatenate([np.empty((0, 2), np.int64), *(part.reshape(-1, 2) for part in parts)])


# --- what depends on what ------------------------------------------------------------------

# Nodes of a graph are keys that are needed, instances that are used, and what many of the former lead to.
SOME = -2  # (p, SOME): a triple of p with a certain class is needed; p is ANY: of whatever predicate
EACH = -3  # (ANY, EACH): all triples of some predicate are
INSTANCE = -4  # (n, INSTANCE): the nth instance is used


def needed(
    instances: Sequence[Instances], roots: np.ndarray, watching: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The predicates that something wanted may depend on, and of each clause the instances that derive such.

    `roots` are the keys of what is wanted; `watching` are instances of each clause that are used anyway.
    """
    keys = keys_in([roots, *(part for each in instances for part in (each.heads, each.premises))])
    keys = keys[hashing.numbered(keys.T)[0]]
    edges = list(_between_keys(keys, [each for each in instances if False in each.copies]))
    begun, own = [roots], list[np.ndarray]()
    for each, watch in zip(instances, watching, strict=True):
        mine = _nodes(sum(map(len, own)) + np.arange(len(each)), INSTANCE)
        own.append(mine)
        begun.append(mine[watch])
        edges += [(mine, premise) for premise in each.premises.swapaxes(0, 1)]
        for head in each.heads.swapaxes(0, 1):
            edges += _from_fitting(each, head, mine)
    reached = _reached(edges, keys_in(begun), keys_in([*own, keys]))
    *used, of_keys = np.split(reached, np.cumsum([len(each) for each in instances]))
    return np.unique(keys[of_keys, 0]), used


def _between_keys(keys: np.ndarray, changing: Sequence[Instances]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Edges between what is needed.

    Instances that are `changing` the object of what they copy may need any object, to derive a certain one.
    """
    predicates = np.unique(keys[keys[:, 0] != ANY, 0])
    certain, some, all_ = keys[keys[:, 1] > ANY], _nodes(predicates, SOME), _nodes(predicates, ANY)
    yield certain, _nodes(certain[:, 0], SOME)
    yield _nodes(certain[:, 0], ANY), certain
    yield some, _nodes(ANY, SOME)
    yield all_, _nodes(ANY, EACH)
    yield _nodes(ANY, ANY), all_
    yield _nodes(ANY, ANY), _nodes(ANY, EACH)
    if not all(each.literal for each in changing):
        yield some, all_
    if not all(each.reflexive or each.of_literals for each in changing):
        yield _nodes(ANY, LITERAL), _nodes(ANY, ANY)


def _from_fitting(
    instances: Instances, head: np.ndarray, own: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Edges from what a head of instances fits, to these."""
    predicate, general = head[:, 0], head[:, 1] == ANY
    yield np.where((predicate == ANY)[:, None], _nodes(ANY, EACH), head), own
    if not instances.literal:
        yield _nodes(predicate[general], SOME), own[general]
    if not instances.reflexive:  # nor is what is said to be of a class a literal
        yield _nodes(ANY, LITERAL), own[general]


def _nodes(what: int | np.ndarray, kind: int) -> np.ndarray:
    return np.stack(np.broadcast_arrays(np.atleast_1d(np.asarray(what, np.int64)), kind), axis=1)


def _reached(
    edges: Iterable[tuple[np.ndarray, np.ndarray]], begun: np.ndarray, asked: np.ndarray
) -> np.ndarray:
    """Which of the nodes that are asked for can be reached from those where it is begun."""
    both = [np.broadcast_arrays(*edge) for edge in edges]
    parts = begun, asked, keys_in(one for one, _ in both), keys_in(other for _, other in both)
    distinct, numbers = hashing.numbered(keys_in(parts).T)
    begun, asked, source, target = np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(len(distinct) + 1))
    return _visited(first, target[order], begun)[asked]


@njit(cache=True)
def _visited(first, targets, begun):
    """Which nodes are reached; those that a node leads to are at `first[node]` to `first[node + 1]`."""
    seen = np.zeros(first.size - 1, np.bool_)
    waiting = np.empty(first.size, np.int64)
    count = 0
    for node in begun:
        if not seen[node]:
            seen[node] = True
            waiting[count] = node
            count += 1
    while count:
        count -= 1
        node = waiting[count]
        for place in range(first[node], first[node + 1]):
            other = targets[place]
            if not seen[other]:
                seen[other] = True
                waiting[count] = other
                count += 1
    return seen


def composed(edges: np.ndarray) -> bool:
    """Whether a relation has all compositions of its pairs, but for those of something with itself."""
    ids, numbers = hashing.numbered(edges.reshape(-1))
    first, last = numbers.reshape(-1, 2).T
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    begin, end = (np.searchsorted(first, last, side) for side in ("left", "right"))
    counts = end - begin
    source = np.repeat(first, counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    target = last[np.repeat(begin, counts) + within]
    apart = source != target
    pairs, known = source[apart] * len(ids) + target[apart], first * len(ids) + last
    return bool(hashing.among(pairs, known).all())

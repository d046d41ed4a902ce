"""Which instances of clauses something wanted depends on: in columns as one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.reason.instances import ANY, LITERAL, Instances, composed, needed, possible

TYPE, P, Q, NOWHERE = 1, 2, 3, 9
CLASSES = (11, 12, 13)
KEYS = [*((TYPE, class_) for class_ in CLASSES), (TYPE, ANY), (P, ANY), (Q, ANY), (ANY, ANY), (ANY, LITERAL)]


def of_clause(random_: random.Random, clause: int) -> Instances:
    """A clause whose heads and premises are bound in some ways."""
    heads, internal = random_.choice([0, 1, 1, 1, 2]), random_.choice([0, 0, 1])
    premises = random_.randint(0 if heads else 1, 2)
    copies: tuple[bool, ...] = ()
    fits = KEYS[:-1]
    if heads == 1 and random_.random() < 0.15:
        copies, fits = tuple(random_.sample([True, False], random_.randint(1, 2))), [(ANY, ANY)]
    elif random_.random() < 0.8:
        fits = KEYS[:-2]
    count = random_.randint(1, 4)

    def keys(choices, width):
        made = [[random_.choice(choices) for _ in range(width)] for _ in range(count)]
        return np.array(made, np.int64).reshape(count, width, 2)

    return Instances(
        clause,
        keys(fits, heads),
        keys(random_.choices(KEYS, [3, 3, 3, 1, 2, 2, 0.2, 0.2], k=3), premises),
        keys([(P, ANY), (Q, ANY), (NOWHERE, ANY)], internal)[..., 0],
        copies,
        reflexive=random_.random() < 0.2,
        of_literals=bool(copies) and random_.random() < 0.5,
        literal=random_.random() < 0.2,
    )


def one_by_one(instances: list[Instances], roots: list, watching: list) -> tuple[set, set]:
    """The predicates and the (clause, place) that are needed, by the definition of who fits what."""
    used = {
        (each.clause, at)
        for each, some in zip(instances, watching, strict=True)
        for at in np.flatnonzero(some)
    }
    keys = set(map(tuple, roots))

    def fits(each: Instances, head, key) -> bool:
        if key == (ANY, LITERAL):
            return head[1] == ANY and not each.reflexive
        if key[0] == ANY or (key[1] == ANY and head[0] in (key[0], ANY)):
            return True
        return head == key or (head in ((key[0], ANY), (ANY, ANY)) and not each.literal)

    def needs(each: Instances, at: int, key) -> set:
        found = set(map(tuple, each.premises[at].tolist()))
        for same_object in each.copies:
            if key[0] == ANY and each.of_literals:
                found.add((ANY, LITERAL))
            else:
                found.add((key[0], key[1] if same_object else ANY))
        return found

    while True:
        before = len(used), len(keys)
        for each in instances:
            for at in range(len(each)):
                if (each.clause, at) in used:
                    keys |= set(map(tuple, each.premises[at].tolist()))
                for head in map(tuple, each.heads[at].tolist()):
                    for key in [key for key in keys if fits(each, head, key)]:
                        used.add((each.clause, at))
                        keys |= needs(each, at, key)
        if (len(used), len(keys)) == before:
            return {predicate for predicate, _ in keys}, used


@pytest.mark.parametrize("seed", range(500))
def test_what_is_needed(seed):
    random_ = random.Random(seed)
    instances = [of_clause(random_, clause) for clause in range(random_.randint(0, 7))]
    roots = random_.choices(KEYS, [3, 3, 3, 1, 2, 2, 0.2, 0.2], k=random_.randint(1, 2))
    watching = [np.array([random_.random() < 0.05 for _ in range(len(each))]) for each in instances]
    predicates, used = needed(instances, np.array(roots), watching)
    found = {
        (each.clause, at) for each, some in zip(instances, used, strict=True) for at in np.flatnonzero(some)
    }
    expected, expected_used = one_by_one(instances, roots, watching)
    assert found == expected_used
    assert (ANY in predicates) == (ANY in expected)
    if ANY not in expected:
        assert set(predicates.tolist()) == expected


@pytest.mark.parametrize("seed", range(100))
def test_what_is_possible(seed):
    random_ = random.Random(seed)
    instances = [of_clause(random_, clause) for clause in range(random_.randint(0, 7))]
    named = random_.sample([P, Q], random_.randint(0, 1))
    derived, kept = {ANY, *named}, set()
    while True:
        more = {
            (
                each.clause,
                *map(tuple, each.heads[at].tolist()),
                "from",
                *map(tuple, each.premises[at].tolist()),
            )
            for each in instances
            for at in range(len(each))
            if set(each.internal[at].tolist()) <= derived
        }
        if more == kept:
            break
        kept = more
        derived |= {head[0] for row in more for head in row[1 : row.index("from")]}
    found = {
        (each.clause, *map(tuple, heads), "from", *map(tuple, premises))
        for each in possible([each.distinct() for each in instances], np.array(named, np.int64))
        for heads, premises in zip(each.heads.tolist(), each.premises.tolist(), strict=True)
    }
    assert found == kept


def test_each_of_the_same_once():
    keys = np.array([[(TYPE, 11)], [(TYPE, 12)], [(TYPE, 11)], [(TYPE, 11)]])
    premises = np.array([[(P, ANY)], [(P, ANY)], [(Q, ANY)], [(P, ANY)]])
    found = Instances(0, keys, premises, np.empty((4, 0), np.int64)).distinct()
    pairs = zip(found.heads[:, 0].tolist(), found.premises[:, 0].tolist(), strict=True)
    assert sorted(pairs) == [([TYPE, 11], [P, ANY]), ([TYPE, 11], [Q, ANY]), ([TYPE, 12], [P, ANY])]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([(1, 2), (2, 3)], False),
        ([(1, 2), (2, 3), (1, 3)], True),
        ([(1, 2), (2, 1)], True),
        ([(1, 2), (2, 1), (2, 3)], False),
        ([(1, 2), (3, 4)], True),
        ([], True),
    ],
)
def test_whether_a_relation_is_composed(edges, expected):
    assert composed(np.array(edges, np.int64).reshape(-1, 2)) is expected

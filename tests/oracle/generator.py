"""Random cases: streams × queries over all operators, and their answers by the oracle.

case = make_case(17)
print(case)                  # reproducible, to be put into a bug report
for rows in answers(case):   # one multiset per query
    ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random

import oracle.sequences  # noqa: F401 — the evaluation of repetitions
from oracle.canonical import Row, canonical
from oracle.cases import Case
from oracle.closure import NoClosure, closure
from oracle.evaluate import Effort, TooManySolutions
from oracle.queries import Answers, evaluate_query
from oracle.query_text import QueryWriter, Style
from oracle.rule_text import random_rules
from oracle.stream_data import delayed, random_graphs, random_streams
from oracle.vocabulary import BASE
from penstock.algebra import STREAM, Construct, Query

__all__ = ["DEADLINES", "NESTED", "NEXT", "REPEATED", "Case", "Row"]
__all__ += ["answers", "cases", "make_case", "parsed", "solved"]

NESTED = 1_000_000_000
"""Cases from this number on have paths with axes and tests."""
REPEATED = 2_000_000_000
"""Cases from this number on have repetitions instead."""
DEADLINES = 3_000_000_000
"""Cases from this number on have UNLESS instead."""
NEXT = 4_000_000_000
"""Cases from this number on have NEXT instead."""


def make_case(seed: int, size: int = 22) -> Case:
    """The case with this number; `size` is about how many elements the streams have. None is late."""
    random = Random(f"case {seed}")
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    graphs = random_graphs(random, max(2, size // 3))
    names = [each.name for each in (*streams, *graphs) if each.name is not None]
    short = [":" + name.value.removeprefix(BASE) for name in names]
    rules: list[str] = []
    derived: dict[str, str] = {}
    if random.random() < 0.25:
        rules, derived = random_rules(random)
        # A timeless triple on the later side of SEQ would let recursion stand still in time.
        graphs = [graph for graph in graphs if graph.name is not None]
    style = Style(
        graphs=short,
        derived=derived,
        depth=random.choice((1, 2, 2)),
        exists=random.random() < 0.2,
        nested=NESTED <= seed < REPEATED,
        repeated=REPEATED <= seed < DEADLINES,
        deadlines=DEADLINES <= seed < NEXT,
        following=seed >= NEXT,
    )
    writer = QueryWriter(random, style)
    count = 1 if rules else random.choice((1, 1, 2))
    queries = [writer.query() for _ in range(count)]
    return Case(seed, tuple(streams), tuple(graphs), (*rules, *queries), lateness, tuple(batches))


def parsed(case: Case) -> list[Query]:
    """The case's queries as algebra."""
    return [each.query for each in case.parsed]


def solved(case: Case, queries: Iterable[Query] | None = None) -> list[Answers]:
    """The oracle's answers to each query, all running together over the Q-closure."""
    queries = parsed(case) if queries is None else list(queries)
    rules = [query for query in queries if isinstance(query, Construct) and query.scope == STREAM]
    effort = Effort()
    dataset = closure(rules, case.dataset, now=case.now, effort=effort)
    return [evaluate_query(query, dataset, now=case.now, effort=effort) for query in queries]


def answers(case: Case) -> list[Counter[Row]]:
    """The oracle's answers to each query as canonical multisets."""
    return [canonical((row.bindings, row.start, row.end) for row in each.rows) for each in solved(case)]


def cases(
    seeds: Iterable[int], size: int = 22, *, late: bool = False
) -> Iterator[tuple[Case, list[Counter[Row]]]]:
    """Each case with its answers, leaving out the few that the oracle finds too large.

    `late`: in every other one some elements are late. Also left out: cases whose rules have no
    closure. What the engine says to those is tested where it refuses them.
    """
    for seed in seeds:
        case = make_case(seed, size)
        if late and seed % 2:
            case = delayed(case)
        try:
            yield case, answers(case)
        except (TooManySolutions, NoClosure):
            continue

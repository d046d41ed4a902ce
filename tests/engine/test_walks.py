"""Paths on larger graphs, and how much is walked: never more than states times nodes (times nodes)."""

from __future__ import annotations

from random import Random

import numpy as np
import pyoxigraph
import pytest

from agreement.engine_runs import occurrences_of
from oracle.cases import Element
from penstock import pipeline
from penstock.columns.ids import parse_term
from penstock.engine.expanding import ExpandOperator
from penstock.engine.paths import PathWalkOperator
from penstock.engine.program import Program
from penstock.engine.program_shard import ProgramShard
from penstock.engine.shard import Shard
from penstock.engine.tuning import TUNING, Tuning
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.analysis.automata import automaton
from penstock.plan.catalog import StreamName
from penstock.plan.steps import Expand
from penstock.terms import NamedNode
from penstock.timeline import NEVER

PROLOGUE = "PREFIX : <http://example.org/>\n"
Triple = tuple[NamedNode, NamedNode, NamedNode]


def node(name: object) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def program(path: str, triples: list[Triple], ends=("?x", "?y"), tuning: Tuning = TUNING) -> Program:
    query = parse_query(f"{PROLOGUE} SELECT * WHERE {{ {ends[0]} {path} {ends[1]} }}")
    return pipeline.program(
        (query,), [], [graph_of(triples, None, key=7)], shards=1, now=0, key=7, tuning=tuning
    )


def answers(live: ProgramShard) -> set[tuple]:
    rows = [row for _, table in live.answers([], NEVER, True) for row in table.to_pylist()]
    found = [tuple(row[name] for name in ("x", "y") if name in row) for row in rows]
    assert len(found) == len(set(found))
    return {tuple(parse_term(text.encode()) for text in row) for row in found}


def walked(shard: Shard) -> int:
    """How many walks the operators of a shard remember, and how many edges they went along beside."""
    return sum(
        each.walked if isinstance(each, ExpandOperator) else len(each.walking.seen.store)
        for each in walking(shard)
    )


def walking(shard: Shard) -> list[PathWalkOperator | ExpandOperator]:
    return [each for each in shard.operators if isinstance(each, PathWalkOperator | ExpandOperator)]


def taking_in(made: Program) -> Shard:
    """A shard that has taken in static knowledge itself."""
    return made.shard(made.answering, None)


def chain(length: int) -> list[Triple]:
    return [(node(i), node("p"), node(i + 1)) for i in range(length)]


def random_triples(random: Random, count: int, names: int, predicates: int) -> list[Triple]:
    """Predicates are among the names, so that axes lead to them and from them."""
    some = [node(i) for i in range(names)]
    found = {
        (random.choice(some), random.choice(some[:predicates]), random.choice(some)) for _ in range(count)
    }
    return sorted(found, key=str)


# --- independent formulations ------------------------------------------------------------------------


class Matrices:
    """Expressions as boolean matrices over all terms of a graph."""

    def __init__(self, triples: list[Triple]) -> None:
        self.terms = sorted({term for triple in triples for term in triple}, key=str)
        place = {term: at for at, term in enumerate(self.terms)}
        self.s, self.p, self.o = np.array([[place[term] for term in triple] for triple in triples]).T
        self.place = place

    def along(self, begin: np.ndarray, end: np.ndarray, where: np.ndarray | None = None) -> np.ndarray:
        made = np.zeros((len(self.terms),) * 2, bool)
        where = np.ones(len(begin), bool) if where is None else where
        made[begin[where], end[where]] = True
        return made

    def next(self, name: object) -> np.ndarray:
        return self.along(self.s, self.o, self.p == self.place[node(name)])

    def closed(self, matrix: np.ndarray) -> np.ndarray:
        """Zero or more times."""
        matrix = matrix | np.eye(len(matrix), dtype=bool)
        while True:
            twice = (matrix.astype(np.float32) @ matrix.astype(np.float32)) > 0
            if (twice == matrix).all():
                return matrix
            matrix = twice

    def pairs(self, matrix: np.ndarray) -> set[tuple]:
        return {(self.terms[x], self.terms[y]) for x, y in np.argwhere(matrix)}


def after(*matrices: np.ndarray) -> np.ndarray:
    made = matrices[0]
    for matrix in matrices[1:]:
        made = (made.astype(np.float32) @ matrix.astype(np.float32)) > 0
    return made


@pytest.mark.parametrize("tuning", [TUNING, Tuning(pairs=64, room=2)], ids=["usual", "tiny"])
def test_axes_and_tests_as_products_of_matrices(tuning: Tuning) -> None:
    triples = random_triples(Random(5), 700, 300, 12)
    m = Matrices(triples)
    edge, back = m.along(m.s, m.p), m.along(m.p, m.o)  # back: node
    first, second = m.next(1), m.next(2)
    expected = {
        "(edge/next:::1)*": m.closed(after(edge, first)),
        "(next:::1|next-1:::2|node)+": after(first | second.T | back, m.closed(first | second.T | back)),
        ":1[:2+]/:3?": after(
            first,
            np.diag(after(second, m.closed(second)).any(axis=1)),
            m.next(3) | np.eye(len(first), dtype=bool),
        ),
        "(next::[(next:::1)*/self:::4])*": m.closed(
            m.along(m.s, m.o, m.closed(first)[:, m.place[node(4)]][m.p])
        ),
        "edge::[:1/:2]": m.along(m.s, m.p, after(first, second).any(axis=1)[m.o]),
    }
    for path, matrix in expected.items():
        pairs = m.pairs(matrix)
        assert answers(program(path, triples, tuning=tuning).open(0)) == pairs, path
        begin = next(iter(sorted(pairs, key=str)))[0]
        found = answers(program(path, triples, (str(begin), "?y"), tuning).open(0))
        assert found == {(y,) for x, y in pairs if x == begin}
        found = answers(program(path, triples, ("?x", str(begin)), tuning).open(0))
        assert found == {(x,) for x, y in pairs if y == begin}
    assert sum(map(np.count_nonzero, expected.values())) > 5000


def test_what_sparql_can_say_too_as_another_engine_answers_it() -> None:
    """20,000 triples, from a node."""
    triples = random_triples(Random(6), 20_000, 3_000, 3)
    store = pyoxigraph.Store()
    for triple in triples:
        store.add(pyoxigraph.Quad(*(pyoxigraph.NamedNode(each.value) for each in triple)))
    pairs = {
        ":0[:1/:2]": "{0} :0 ?y . ?y :1/:2 ?z",
        "next:::0[^:1 :{1}]|edge": "{{ {0} :0 ?y . :{1} :1 ?y }} UNION {{ {0} ?y ?z }}",
        "(next:::0|next-1:::1)+": "{0} (:0|^:1)+ ?y",
        "(next:::2/next-1:::0)+/self": "{0} (:2/^:0)+ ?y",
    }
    total = 0
    for path, pattern in pairs.items():
        for begin, other in ((17, 18), (2424, 5)):
            found = answers(program(path.format("", other), triples, (f":{begin}", "?y")).open(0))
            where = pattern.format(f":{begin}", other)
            rows = store.query(f"{PROLOGUE} SELECT DISTINCT ?y WHERE {{ {where} }}")
            assert found == {(NamedNode(row["y"].value),) for row in rows}, path
            total += len(found)
    assert total > 5_000


# --- polynomial --------------------------------------------------------------------------------------


def test_stars_in_stars_are_one_star() -> None:
    text = "next:::p"
    for _ in range(140):
        text = f"({text})*"
    [planned] = program(text, chain(3)).plan.queries
    [expand] = [step for step in planned.step.walk() if isinstance(step, Expand)]
    assert len(expand.transitions) == 3 and len(expand.labels) == 2  # one of each is staying
    live = program(text, chain(50), (":0", "?y")).open(0)
    assert len(answers(live)) == 51
    assert walked(live.shard) == 51  # at the start, and once at each node


@pytest.mark.parametrize("alternatives", [2, 60])
def test_alternatives_under_a_star_share_their_state(alternatives: int) -> None:
    text = "(" + "|".join(f"next:::{i}" for i in range(alternatives)) + ")*"
    path = parse_query(f"{PROLOGUE} SELECT * WHERE {{ ?x {text} ?y }}").query.pattern.pattern.path
    made = automaton(path)
    assert len(made.labels) == alternatives and len(made.transitions) == 2 * alternatives


def test_a_test_in_a_test_is_evaluated_once() -> None:
    """next::p[next::p[…]]: as many sets of nodes as there are levels, none larger than the graph."""
    depth, length = 60, 80
    path = ":p"
    for _ in range(depth):
        path = f":p[{path}]"
    made = program(path, chain(length))
    assert answers(made.open(0)) == {(node(i), node(i + 1)) for i in range(length - depth)}
    shard = taking_in(made)
    assert len(walking(shard)) == depth + 1
    assert walked(shard) <= (depth + 1) * 2 * (length + 1)


def test_the_same_test_twice_is_one_operator() -> None:
    live = program("(:p[:p/:p]|^:p[:p/:p])*", chain(5)).open(0)
    assert len(walking(live.shard)) == 2


@pytest.mark.parametrize("path", ["(next:::p)+", ":p+", "(:p)+/self", "(:p|:q)+"])
def test_walks_from_a_term_do_not_begin_elsewhere(path: str) -> None:
    live = program(path, chain(400), (":390", "?y")).open(0)
    assert len(answers(live)) == 10 and walked(live.shard) == 11
    live = program(path, chain(400), ("?x", ":10")).open(0)
    assert len(answers(live)) == 10 and walked(live.shard) == 11
    made = program(path, chain(40))
    assert walked(taking_in(made)) == len(answers(made.open(0))) == 40 * 41 / 2


# --- from what others bind -----------------------------------------------------------------------------

PATHS = ["(next:::p)+", ":p+", ":p/:p*", ":p*/:p", "(:p|:r)+"]


def beside(group: str, triples: list[Triple]) -> Program:
    """A query over a stream and a static graph."""
    query = parse_query(f"{PROLOGUE} SELECT * WHERE {{ {group} }}")
    graph = graph_of(triples, node("map").value, key=7)
    return pipeline.program((query,), [StreamName(None)], [graph], shards=1, now=0, key=7)


def found_by(live: ProgramShard, made: Program, *pairs: tuple[object, object]) -> int:
    """How many answers there are to one element."""
    element = Element(tuple((node(s), node("says"), node(o)) for s, o in pairs), 5, 5)
    [(_, payload)] = made.route(0, occurrences_of([element], 7))
    return sum(table.num_rows for _, table in live.answers([payload], 5, False))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("known", "pair", "count", "edges"),  # of two states at most
    [
        ("?o {} ?y", ("v", 390), 10, 22),
        ("?y {} ?o", ("v", 10), 10, 22),
        ("?s {} ?o", (5, 15), 1, 396),
        ("?s {} ?o", (15, 5), 0, 386),
        ("?o {} ?y . ?y :q ?end", ("v", 390), 1, 22),
        ("?y {} ?end . ?o :q2 ?y", ("v", "w"), 10, 22),
        ("?o {} ?y . ?s {} ?y", (380, 390), 10, 66),
    ],
)
def test_static_paths_are_walked_from_what_an_event_binds(path, known, pair, count, edges) -> None:
    triples = [*chain(400), (node(400), node("q"), node("e")), (node("w"), node("q2"), node(390))]
    parts = ["?s :says ?o .", f"GRAPH :map {{ {known.replace('{}', path)} }}"]
    for group in (" ".join(parts), " ".join(reversed(parts))):
        made = beside(group, triples)
        live = made.open(0)
        assert found_by(live, made, pair) == count
        assert walked(live.shard) <= edges
        assert walked(taking_in(made)) == 0  # nothing is walked ahead


def test_nothing_is_remembered_of_walks() -> None:
    """The snapshot of static knowledge has the edges, and nothing for each pair of nodes."""
    for path in PATHS:
        for group in (f"?s :says ?o . GRAPH :map {{ ?o {path} ?y }}", f"GRAPH :map {{ ?x {path} ?y }}"):
            snapshot = beside(group, chain(300)).snapshot
            stored = [count for parts in snapshot.about["stores"].values() for _, count, _ in parts]
            assert max(stored) <= 301 and sum(stored) < 3000


def test_zero_or_more_times_from_a_term() -> None:
    for ends, count in (
        ((":390", "?y"), 11),
        (("?x", ":10"), 11),
        ((":nowhere", "?y"), 1),
        (("?x", "?x"), 401),
    ):
        assert len(answers(program(":p*", chain(400), ends).open(0))) == count

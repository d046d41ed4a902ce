"""Static knowledge that changes between batches: later elements meet what is known then."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from agreement.engine_runs import contents, keep, occurrences_of, sealed_frames
from agreement.tunings import tuning_of
from oracle.cases import Element
from penstock import pipeline
from penstock.engine.program import Program
from penstock.errors import InputError
from penstock.knowledge.graphs import graph_of
from penstock.knowledge.versions import forget_versions, versions_in
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import NEVER, SECOND

KEY = 77
PUMPS, ROOMS = 4, 3


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def integer(value: int) -> Literal:
    return Literal(str(value), datatype=XSD.integer)


def reading(pump: int, at: int, value: int = 0) -> Element:
    return Element(((ex(f"pump{pump}"), ex("reads"), integer(value)),), at * SECOND, at * SECOND)


def known(*facts: str) -> list[tuple]:
    """Triples as `subject predicate object`; numbers are integers."""
    return [
        (ex(s), ex(p), integer(int(o)) if o.isdigit() else ex(o))
        for s, p, o in (fact.split() for fact in facts)
    ]


class Life:
    """A run of queries in process: batches of elements, each with a version of the knowledge."""

    def __init__(
        self, directory: Path, *queries: str, shards: int = 1, seed: int = 0, first=(), iri=None, scope=None
    ):
        texts = [parse_query(f"PREFIX : <http://example.org/> {query}") for query in queries]
        texts = pipeline.in_scope(texts, scope)
        self.iri = iri
        program = pipeline.program(
            texts,
            [StreamName(None)],
            [graph_of(first, iri, key=KEY)],
            shards=shards,
            now=0,
            tuning=tuning_of(seed),
            key=KEY,
            changing=True,
        )
        self.directory = directory
        self.program: Program = pickle.loads(pickle.dumps(program.prepared(directory)))
        self.version = self.program.version
        self.shards = [self.at().open(number) for number in range(shards)]
        self.stored: list[dict[str, bytes]] = [{} for _ in self.shards]
        self.watermark = NEVER

    def at(self) -> Program:
        return self.program.at(self.version)

    def change(self, triples) -> None:
        self.version = self.program.next_version([graph_of(triples, self.iri, key=KEY)])
        for shard in self.shards:
            shard.know(self.at())

    def restore(self, before: int) -> None:
        """All shards from their chunks, as they were with version `before`, then with the one that holds."""
        for number in range(len(self.shards)):
            shard = self.program.at(before).open(number)
            shard.restore(self.stored[number].items())
            if before != self.version:
                shard.know(self.at())
            self.shards[number] = shard

    def step(self, *elements: Element, ended: bool = False, watermark: int | None = None) -> list[dict]:
        """The answers to a batch, in any order."""
        payloads: list[list[bytes]] = [[] for _ in self.shards]
        if elements:
            for shard, payload in self.at().route(0, occurrences_of(elements, KEY)):
                payloads[shard].append(payload)
            latest = max(element.end for element in elements)
            self.watermark = max(self.watermark, latest if watermark is None else watermark)
        found = []
        for number, shard in enumerate(self.shards):
            for query, table in shard.answers(payloads[number], self.watermark, ended):
                found += [{"query": query, **row} for row in table.to_pylist()]
            keep(self.stored[number], shard)
        return found


def shown(rows: list[dict], *names: str) -> list[tuple]:
    def text(value: str | None) -> str | None:
        return value and value.removeprefix("<http://example.org/").removesuffix(">").split("^^")[0].strip(
            '"'
        )

    return sorted(tuple(text(row[name]) for name in names) for row in rows)


# --- stated examples ------------------------------------------------------------------------


def test_elements_meet_the_knowledge_of_their_batch(tmp_path):
    life = Life(
        tmp_path, "SELECT ?p ?r WHERE { ?p :reads ?v . ?p :in ?r }", first=known("pump1 in a", "pump2 in a")
    )
    assert shown(life.step(reading(1, 1), reading(2, 2)), "p", "r") == [("pump1", "a"), ("pump2", "a")]
    life.change(known("pump1 in b", "pump3 in b"))
    found = life.step(reading(1, 3), reading(2, 4), reading(3, 5))
    assert shown(found, "p", "r") == [("pump1", "b"), ("pump3", "b")]
    life.change(known())
    assert life.step(reading(1, 6), ended=True) == []


@pytest.mark.parametrize("path", [":in+", "(next:::in)+", ":in/:in*"])
def test_paths_are_walked_in_the_knowledge_of_the_batch(tmp_path, path):
    life = Life(
        tmp_path,
        f"SELECT ?p ?r WHERE {{ ?p :reads ?v . GRAPH :map {{ ?p {path} ?r }} }}",
        first=known("pump1 in a", "a in c"),
        iri="http://example.org/map",
    )
    assert shown(life.step(reading(1, 1)), "p", "r") == [("pump1", "a"), ("pump1", "c")]
    life.change(known("pump1 in b", "b in d", "d in e"))
    found = shown(life.step(reading(1, 3)), "p", "r")
    assert found == [("pump1", "b"), ("pump1", "d"), ("pump1", "e")]
    life.restore(life.version)
    assert shown(life.step(reading(1, 5)), "p", "r") == found
    life.change(known())
    assert life.step(reading(1, 6), ended=True) == []


@pytest.mark.parametrize("shards", [1, 2])
def test_elements_meet_the_knowledge_of_their_batch_in_event_mode(tmp_path, shards):
    queries = (
        "SELECT ?p ?r WHERE { ?p :reads ?v . ?p :in ?r }",
        "SELECT ?p ?r WHERE { ?p :in ?r }",
        "SELECT ?p ?r WHERE { ?p :reads ?v OPTIONAL { ?p :in ?r } }",
    )
    life = Life(tmp_path, *queries, first=known("pump1 in a", "pump2 in a"), scope="element", shards=shards)

    def answered(*elements: Element) -> list[list[tuple]]:
        found = life.step(*elements)
        return [shown([row for row in found if row["query"] == query], "p", "r") for query in range(3)]

    in_a = [("pump1", "a"), ("pump2", "a")]
    assert answered(reading(1, 1), reading(2, 2)) == [in_a, in_a, in_a]
    life.change(known("pump1 in b", "pump2 in a"))
    life.restore(life.version - 1)
    new = [("pump1", "b")]
    assert answered(reading(1, 3)) == [
        new,
        new,
        new,
    ]  # the second: what is known now
    life.change(known())
    assert answered(reading(1, 4)) == [[], [], [("pump1", None)]]


def test_what_is_remembered_of_earlier_elements_stays(tmp_path):
    """The first part of the sequence has met the knowledge of its own batch."""
    query = "SELECT ?r ?s WHERE { ?p :reads ?v . ?p :in ?r } SEQ { ?q :reads ?w . ?q :in ?s }"
    life = Life(tmp_path, query, first=known("pump1 in a"))
    assert life.step(reading(1, 1)) == []
    life.change(known("pump1 in b"))
    assert shown(life.step(reading(1, 2)), "r", "s") == [("a", "b")]
    life.change(known("pump1 in c"))
    assert shown(life.step(reading(1, 3)), "r", "s") == [("a", "c"), ("b", "c")]


def test_absence_is_decided_with_what_is_known_then(tmp_path):
    queries = (
        "SELECT ?p WHERE { ?p :reads ?v MINUS { ?p :in ?r } }",
        "SELECT ?p WHERE { ?p :reads ?v FILTER NOT EXISTS { ?p :in ?r } }",
        "SELECT ?p ?r WHERE { ?p :reads ?v OPTIONAL { ?p :in ?r } }",
    )
    life = Life(tmp_path, *queries, first=known("pump1 in a"))
    life.step(reading(1, 1), reading(2, 2), watermark=0)  # undecided when the knowledge changes
    life.change(known("pump2 in b"))
    found = life.step(reading(3, 3), ended=True)
    assert [(row["query"], *shown([row], "p")[0]) for row in found if row["query"] < 2] == [
        (0, "pump1"), (0, "pump3"), (1, "pump1"), (1, "pump3")
    ]  # fmt: skip
    optional = [row for row in found if row["query"] == 2]
    assert shown(optional, "p", "r") == sorted(
        [("pump1", None), ("pump2", "b"), ("pump3", None)], key=lambda row: (row[0], row[1] or "")
    )


def test_exists_that_substitutes_asks_anew(tmp_path):
    """The same bindings were asked for before, with another answer; it is asked when a solution comes."""
    query = "SELECT ?p ?v WHERE { ?p :reads ?v FILTER EXISTS { ?p :limit ?m FILTER (?v > ?m) } }"
    life = Life(tmp_path, query, first=known("pump1 limit 5"))
    assert shown(life.step(reading(1, 1, 7), reading(1, 2, 3), reading(1, 3, 9)), "v") == [("7",)]
    life.change(known("pump1 limit 8"))
    assert shown(life.step(reading(1, 4, 7), reading(1, 5, 9), reading(1, 6, 3)), "v") == [("9",), ("9",)]
    life.change(known("pump1 limit 2"))
    life.restore(life.version - 1)
    assert shown(life.step(reading(1, 7, 7), reading(1, 8, 1), ended=True), "v") == [("7",)]


def test_answers_from_knowledge_alone_come_when_they_are_new(tmp_path):
    queries = (
        "SELECT ?p ?r WHERE { ?p :in ?r }",
        "SELECT ?r WHERE { ?p :in ?r }",
        "SELECT (COUNT(*) AS ?n) WHERE { GRAPH :g { ?p :in ?r } }",
    )
    life = Life(tmp_path, *queries[:2], first=known("pump1 in a", "pump2 in a"), shards=3)
    first = life.step(reading(1, 1))
    assert [row["query"] for row in first] == [0, 0, 1, 1]
    life.change(known("pump2 in a", "pump3 in a", "pump4 in a", "pump4 in b"))
    found = life.step()
    assert shown([row for row in found if row["query"] == 0], "p", "r") == [
        ("pump3", "a"), ("pump4", "a"), ("pump4", "b")
    ]  # fmt: skip
    assert shown([row for row in found if row["query"] == 1], "r") == [
        ("a",),
        ("b",),
    ]  # a bag of four, not two
    life.restore(life.version)
    assert life.step() == []
    life = Life(tmp_path / "named", queries[2], first=known("pump1 in a"), iri="http://example.org/g")
    assert shown(life.step(), "n") == [("1",)]
    life.change(known("pump1 in a", "pump2 in a"))
    assert shown(life.step(), "n") == [("2",)]
    life.change(known("pump1 in b", "pump2 in a"))
    assert life.step() == []


def test_rules_over_knowledge_derive_anew(tmp_path):
    queries = (
        "CONSTRUCT { ?p :inside ?s } WHERE { ?p :in ?r . ?r :within ?s }",
        "SELECT ?p ?s WHERE { ?p :reads ?v . ?p :inside ?s }",
    )
    life = Life(tmp_path, *queries, first=known("pump1 in a", "a within house"))
    found = life.step(reading(1, 1))
    assert shown([row for row in found if row["query"] == 1], "p", "s") == [("pump1", "house")]
    life.change(known("pump1 in a", "a within hall", "hall within house"))
    found = life.step(reading(1, 2))
    assert shown([row for row in found if row["query"] == 1], "p", "s") == [("pump1", "hall")]
    assert len([row for row in found if row["query"] == 0]) == 1  # pump1 inside hall


def test_terms_of_earlier_knowledge_are_still_known(tmp_path):
    query = "SELECT ?r ?s WHERE { ?p :reads ?v . ?p :in ?r } SEQ { ?q :reads ?w . ?q :in ?s }"
    life = Life(tmp_path, query, first=known("pump1 in somewhere"))
    life.step(reading(1, 1))
    for number in range(5):
        before = life.version
        life.change(known(f"pump1 in place{number}"))
        if number % 2:
            life.restore(before)
        forget_versions(tmp_path, life.version)
        life.step(reading(2, 2 + number))
    found = life.step(reading(1, 9))
    assert shown(found, "r", "s") == [("somewhere", "place4")]
    assert versions_in(tmp_path) == [life.version]


def test_what_would_be_answered_by_other_steps_is_refused(tmp_path):
    """A static reading would count at every instant: only a shard that sees them all could say when."""
    query = "SELECT ?p (COUNT(*) AS ?n) WHERE { ?p :reads ?v } GROUP BY ?p"
    life = Life(tmp_path, query, first=known("pump1 in a"), shards=2)
    with pytest.raises(InputError, match="cannot be taken in while the run goes on"):
        life.change(known("pump1 reads 3"))
    assert versions_in(tmp_path) == [0]


def test_exists_in_an_optional_that_substitutes_keeps_the_knowledge(tmp_path):
    query = """SELECT * WHERE { ?p :reads ?v
        OPTIONAL { ?p :in ?r FILTER EXISTS { ?r :limit ?m FILTER (?v > ?m) } } }"""
    life = Life(tmp_path, query, first=known("pump1 in a"))
    assert life.program.fixed == ("query-1",) and not life.program.changing
    assert versions_in(tmp_path) == []


# --- versions in a directory ------------------------------------------------------------------


def test_a_run_that_goes_on_finds_its_versions(tmp_path):
    """Other queries may be there then: what a version has become in the operators is made anew."""
    first = Life(tmp_path, "SELECT ?p ?r WHERE { ?p :reads ?v . ?p :in ?r }", first=known("pump1 in a"))
    first.change(known("pump1 in b"))
    assert versions_in(tmp_path) == [0, 1]
    again = Life(tmp_path, "SELECT ?r WHERE { ?p :reads ?v . ?p :in ?r }", first=known("pump1 in b"))
    assert again.version == 1 and versions_in(tmp_path) == [0, 1]
    assert shown(again.step(reading(1, 1)), "r") == [("b",)]
    other = Life(tmp_path, "SELECT ?r WHERE { ?p :reads ?v . ?p :in ?r }", first=known("pump1 in c"))
    assert other.version == 2 and versions_in(tmp_path) == [0, 1, 2]
    other.version = 1
    other.shards = [other.at().open(0)]
    assert shown(other.step(reading(1, 1)), "r") == [("b",)]
    with pytest.raises(InputError, match="is not the static knowledge"):
        first.at().snapshot  # noqa: B018 — made for other queries now


# --- random -----------------------------------------------------------------------------------

PATTERNS = (
    "SELECT ?p ?v ?r WHERE { ?p :reads ?v . ?p :in ?r }",
    "SELECT DISTINCT ?r WHERE { ?p :reads ?v . ?p :in ?r }",
    "SELECT ?p ?v ?s WHERE { ?p :reads ?v . ?p :in ?r . ?r :within ?s }",
    "SELECT ?p ?v ?s WHERE { ?p :reads ?v . ?p :in/:within+ ?s }",
    "SELECT ?p ?v ?s WHERE { ?p :reads ?v . ?p :in/:within* ?s FILTER (?v > 3) }",
    "SELECT ?p ?v WHERE { ?p :reads ?v . ?p :limit ?m FILTER (?v > ?m) }",
    "SELECT ?p ?v ?r WHERE { ?p :reads ?v . { ?p :in ?r } UNION { ?p :limit ?r } }",
    "SELECT ?p ?v ?r WHERE { ?p :reads ?v . GRAPH :g { ?p :in ?r } }",
    "SELECT ?p ?v ?r WHERE { ?p :reads ?v OPTIONAL { GRAPH :g { ?p :in ?r } } }",
    "SELECT ?p ?v WHERE { ?p :reads ?v MINUS { GRAPH :g { ?p :in ?r } } }",
    "SELECT ?p ?v WHERE { ?p :reads ?v FILTER EXISTS { GRAPH :g { ?p :in ?r . ?r :within ?s } } }",
    "SELECT ?p ?v WHERE { ?p :reads ?v FILTER NOT EXISTS { GRAPH :g { ?p :limit ?m FILTER (?v > ?m) } } }",
)
"""Patterns of one element: what they mean does not depend on the order in which joins are done. Those
with absence look into a graph that only knowledge is in, so that nothing waits for the watermark."""


def random_knowledge(chance: Random) -> list[tuple]:
    facts = [
        f"pump{chance.randrange(PUMPS)} in room{chance.randrange(ROOMS)}" for _ in range(chance.randrange(5))
    ]
    facts += [
        f"room{chance.randrange(ROOMS)} within room{chance.randrange(ROOMS)}"
        for _ in range(chance.randrange(5))
    ]
    facts += [
        f"pump{chance.randrange(PUMPS)} limit {chance.randrange(9)}" for _ in range(chance.randrange(4))
    ]
    return known(*facts)


def oracle(query: str, triples: list[tuple], elements: list[Element], iri: str | None) -> Counter:
    """What SPARQL says of each element by itself, with the knowledge beside it."""
    from pyoxigraph import DefaultGraph, Quad, Store

    found: Counter = Counter()
    for element in elements:
        store = Store()
        graph = DefaultGraph() if iri is None else NamedNode(iri)
        store.extend([Quad(*triple, graph) for triple in triples])
        store.extend([Quad(*triple) for triple in element.triples])
        solutions = store.query(f"PREFIX : <http://example.org/> {query}")
        names = [variable.value for variable in solutions.variables]
        for solution in solutions:
            row = tuple((name, str(solution[name])) for name in names if solution[name] is not None)
            found[row, element.end] += 1
    return found


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(60))
def test_random_versions_between_batches(tmp_path, seed):
    """Every batch's elements are answered with the version of their batch, however it comes about."""
    chance = Random(seed)
    query = PATTERNS[seed % len(PATTERNS)]
    iri = "http://example.org/g" if "GRAPH" in query else None
    version = random_knowledge(chance)
    life = Life(
        tmp_path,
        query,
        shards=chance.choice([1, 2, 8]),
        seed=chance.randrange(100),
        first=version,
        iri=iri,
        scope="element" if seed % 5 == 4 else None,
    )
    expected: Counter = Counter()
    found: list[dict] = []
    second = 0
    with sealed_frames():
        for batch in range(12):
            before = life.version
            if batch and chance.random() < 0.6:
                version = random_knowledge(chance)
                unchanged = contents(life.at())
                life.change(version)
                assert contents(life.program.at(before)) == unchanged, "written into what all shards share"
                forget_versions(tmp_path, before)
            if batch and chance.random() < 0.4:
                life.restore(before)
            elements = []
            for _ in range(chance.randrange(4)):
                second += 1
                elements.append(reading(chance.randrange(PUMPS), second, chance.randrange(9)))
            expected += oracle(query, version, elements, iri)
            found += life.step(*elements, ended=batch == 11)
    answers = Counter(
        (
            tuple((n, v) for n, v in row.items() if n not in ("query", "start", "end") and v is not None),
            row["end"],
        )
        for row in found
        if row["end"] is not None
    )
    assert answers == expected

"""Static knowledge that changes under rules: its closure is maintained, and later elements meet it."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from tests.reason.rule_texts import RULES, rule, rules
from tests.reason.test_closing import NIL, Triple, ex, graph

from penstock.errors import InputError
from penstock.knowledge.files import GraphFile, GraphFiles
from penstock.knowledge.graphs import StaticGraph
from penstock.pipeline import entailment
from penstock.pipeline.entailment import ClosedFiles, entailed
from penstock.rules.executors import RuleConfig
from penstock.terms import RDF, NamedNode

KEY = 3
NAMES = tuple(name for name, text in RULES.items() if "_:" not in text and "[" not in text)
DISJOINT = NamedNode("http://www.w3.org/2002/07/owl#disjointWith")


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def write(path: Path, triples: list[Triple], clock: Clock) -> None:
    lines = (" ".join(map(str, triple)) + " .\n" for triple in triples)
    path.write_text("".join(lines))
    clock.now += 5
    os.utime(path, (clock.now, clock.now))
    clock.now += 5


def contents(graphs: list[StaticGraph]) -> list:
    return [(graph.iri, sorted(graph.triples.T.tolist())) for graph in graphs]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(10))
def test_the_closure_follows_its_files(tmp_path, clock, seed, monkeypatch):
    """Two files of the default graph, which share triples, and one with a name; one changes at a time."""
    chance = Random(seed)
    used = tuple(rules(*chance.sample(NAMES, 6)))
    paths = [tmp_path / name for name in ("a.nt", "b.nt", "named.nt")]
    iris = [None, None, NIL.value]

    def some() -> list[Triple]:
        return [triple for triple in graph(chance, 25) if "_:" not in str(triple)]

    for path in paths:
        write(path, some(), clock)
    files = GraphFiles([GraphFile(path, iri, key=KEY) for path, iri in zip(paths, iris, strict=True)], clock)
    of = RuleConfig(used, all_rules=True)
    made = entailed(files.graphs, [], of, KEY, changing=True)
    closed = ClosedFiles(files, made)
    before = contents(made.graphs)
    for _ in range(6):
        path = chance.choice(paths)
        kept = [triple for triple in some() if chance.random() < 0.5]
        lines = [line for line in path.read_text().splitlines(True) if chance.random() < 0.7]
        write(path, kept, clock)
        path.write_text("".join(lines) + path.read_text())
        os.utime(path, (clock.now - 5, clock.now - 5))
        assert closed.news(pytest.fail)
        with monkeypatch.context() as patched:
            patched.setattr(entailment, "closure_of", None)  # it is not closed anew
            found = contents(closed.graphs)
        assert found == contents(entailed(files.graphs, [], of, KEY).graphs)
        assert found != before
        before = found


def test_a_contradiction_is_reported_and_with_strict_not_taken_in(tmp_path, clock):
    path = tmp_path / "g.nt"
    fine = [(ex("A"), DISJOINT, ex("B")), (ex("a"), RDF.type, ex("A"))]
    write(path, fine, clock)
    for strict in (False, True):
        files = GraphFiles([GraphFile(path, key=KEY)], clock)
        made = entailed(
            files.graphs, [], RuleConfig(tuple(rules("apart")), all_rules=True), KEY, changing=True
        )
        closed = ClosedFiles(files, made, strict)
        write(path, [*fine, (ex("a"), RDF.type, ex("B"))], clock)
        said: list[InputError] = []
        assert closed.news(said.append)
        if strict:
            with pytest.raises(InputError, match="inconsistent"):
                closed.graphs  # noqa: B018
            assert said == []
        else:
            assert sum(map(len, closed.graphs)) == 3
            assert len(said) == 1 and "inconsistent" in str(said[0])
        write(path, [*fine, (ex("b"), RDF.type, ex("B"))], clock)
        said.clear()
        assert closed.news(said.append)
        assert sum(map(len, closed.graphs)) == 3 and said == []
        write(path, fine, clock)


def test_a_change_that_cannot_be_closed_is_not_taken_in(tmp_path, clock):
    """A rule that begins to invent without end is stopped in the middle; what was known is known again."""
    path = tmp_path / "g.nt"
    write(path, [(ex("a"), ex("p"), ex("b"))], clock)
    files = GraphFiles([GraphFile(path, key=KEY)], clock)
    parents = rule("parents", "INSERT { ?y :q [] } WHERE { ?x :q ?y . ?z a :Ancestor }")
    both = RuleConfig((parents, *rules("inverse")), all_rules=True)
    closed = ClosedFiles(files, entailed(files.graphs, [], both, KEY, changing=True))
    write(path, [(ex("a"), ex("q"), ex("b")), (ex("b"), RDF.type, ex("Ancestor"))], clock)
    assert closed.news(pytest.fail)
    with pytest.raises(InputError, match="parents invents blank nodes without end"):
        closed.graphs  # noqa: B018
    write(path, [(ex("a"), ex("q"), ex("b"))], clock)
    assert closed.news(pytest.fail)
    assert sum(map(len, closed.graphs)) == 1

"""Files of static knowledge that are replaced or extended: when they are read again, and what is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.knowledge.files import RESTED, GraphFile, GraphFiles
from penstock.knowledge.graphs import graph_of

NOW = 1_000_000_000.0


def fact(name: str) -> str:
    return f"<http://e/{name}> <http://e/p> <http://e/o> .\n"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def write(path: Path, text: str, clock: Clock) -> None:
    path.write_text(text)
    os.utime(path, (clock.now, clock.now))


def size(file: GraphFile) -> int:
    return sum(len(graph) for graph in file.graphs)


def test_a_file_is_read_again_when_it_has_rested(tmp_path, clock):
    path = tmp_path / "g.nt"
    write(path, fact("a"), clock)
    file = GraphFile(path)
    assert not file.news(clock.now)
    for written in (1, 2):  # in two pieces, one after the other
        clock.now += RESTED * 0.7
        write(path, "".join(map(fact, "abc"[: 1 + written])), clock)
        assert not file.news(clock.now)
    clock.now += RESTED * 0.7
    assert not file.news(clock.now) and size(file) == 1
    clock.now += RESTED * 0.4
    assert file.news(clock.now) and size(file) == 3
    assert not file.news(clock.now)


def test_a_file_that_was_renamed_into_place_has_rested_before(tmp_path, clock):
    path, aside = tmp_path / "g.nt", tmp_path / "aside.nt"
    write(path, fact("a"), clock)
    file = GraphFile(path)
    write(aside, fact("b"), clock)
    clock.now += 2 * RESTED
    os.replace(aside, path)
    assert file.news(clock.now) and size(file) == 1


def test_the_same_triples_are_no_news(tmp_path, clock):
    path = tmp_path / "g.nt"
    write(path, fact("a") + fact("b"), clock)
    file = GraphFile(path)
    clock.now += 5
    write(path, fact("b") + fact("a") + fact("a"), clock)
    clock.now += 5
    assert not file.news(clock.now)


def test_what_is_broken_leaves_it_as_it_was_and_is_said_once(tmp_path, clock):
    path = tmp_path / "g.nt"
    write(path, fact("a"), clock)
    file = GraphFile(path)
    clock.now += 5
    write(path, fact("b") + "<http://e/c> <http://e/p> \n", clock)
    clock.now += 5
    with pytest.raises(InputError, match="g.nt:2.*\n(.*\n)*.*what was known from this file still holds"):
        assert file.news(clock.now) is None
    assert not file.news(clock.now) and size(file) == 1
    clock.now += 5
    write(path, fact("b") + fact("c"), clock)
    clock.now += 5
    assert file.news(clock.now) and size(file) == 2


def test_a_file_that_vanishes_is_still_known_and_said_once(tmp_path, clock):
    path = tmp_path / "g.nt"
    write(path, fact("a"), clock)
    file = GraphFile(path)
    path.unlink()
    assert not file.news(clock.now)  # maybe it is there again in a moment
    clock.now += 2 * RESTED
    with pytest.raises(InputError, match="not there any more"):
        file.news(clock.now)
    clock.now += 5
    assert not file.news(clock.now) and size(file) == 1
    write(path, fact("b"), clock)
    clock.now += 5
    assert file.news(clock.now)


def test_all_graphs_of_a_run_in_their_order(tmp_path, clock):
    path, other = tmp_path / "g.nt", tmp_path / "h.trig"
    write(path, fact("a"), clock)
    write(other, "<http://e/g> { " + fact("a") + fact("b") + " } " + fact("c"), clock)
    made = graph_of([], "http://e/made")
    files = GraphFiles([GraphFile(path), made, GraphFile(other, "http://e/h")], clock)
    assert [graph.iri for graph in files.graphs] == [None, "http://e/made", "http://e/h", "http://e/g"]
    said: list = []
    assert files.watched and not files.news(said.append)
    clock.now += 5
    write(path, "broken", clock)
    write(other, fact("c") + fact("d"), clock)
    clock.now += 5
    assert files.news(said.append) and len(said) == 1
    assert [len(graph) for graph in files.graphs] == [1, 0, 2]

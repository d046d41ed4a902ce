"""Files of static knowledge that are replaced or extended: when they are read again, and what is said."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.knowledge.files import PATIENCE, READ_AGAIN, RESTED, GraphFile, GraphFiles
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


class Waiting:
    """Time that goes on only when somebody waits; each time, somebody writes the next text into the file."""

    def __init__(self, path: Path, clock: Clock, texts: list[str]) -> None:
        self.path, self.clock, self.texts, self.times = path, clock, list(texts), 0

    def __call__(self, seconds: float) -> None:
        self.clock.now += seconds
        self.times += 1
        if self.texts:
            write(self.path, self.texts.pop(0), self.clock)


@pytest.mark.parametrize("first", ["<http://e/a> <http", ""])  # in the middle, and just emptied
def test_a_file_that_is_being_written_when_it_is_opened_is_waited_for(tmp_path, clock, first):
    path = tmp_path / "g.nt"
    write(path, first, clock)
    wait = Waiting(path, clock, [fact("a")[:-9], fact("a") + fact("b")[:9], fact("a") + fact("b")])
    file = GraphFile(path, now=clock, wait=wait)
    assert size(file) == 2 and wait.times == 3
    clock.now += 5
    assert not file.news(clock.now)


def test_a_file_that_is_written_while_it_is_read_is_read_again(tmp_path, clock, monkeypatch):
    path = tmp_path / "g.nt"
    write(path, fact("a"), clock)
    read = GraphFile._read

    def read_slowly(file):
        found = read(file)
        if len(found[0]) == 1:  # its second part comes behind what was read
            write(path, fact("a") + fact("b"), clock)
        return found

    monkeypatch.setattr(GraphFile, "_read", read_slowly)
    wait = Waiting(path, clock, [])
    assert size(GraphFile(path, now=clock, wait=wait)) == 2 and wait.times == 1


@pytest.mark.parametrize("ago", [RESTED, -3600.0])  # a time in the future says nothing about now
def test_a_broken_file_that_has_rested_is_refused_at_once(tmp_path, clock, ago):
    path = tmp_path / "g.nt"
    write(path, "<broken", clock)
    clock.now += ago
    wait = Waiting(path, clock, [fact("a")])
    with pytest.raises(InputError, match="g.nt:1"):
        GraphFile(path, now=clock, wait=wait)
    assert wait.times == 0


def test_a_broken_file_is_refused_when_it_rests_or_patience_ends(tmp_path, clock):
    path = tmp_path / "g.nt"
    write(path, "<broken", clock)
    wait = Waiting(path, clock, ["<broken again"])
    with pytest.raises(InputError, match="g.nt:1"):
        GraphFile(path, now=clock, wait=wait)
    assert (wait.times - 1) * READ_AGAIN == pytest.approx(RESTED)
    began = clock.now
    wait = Waiting(path, clock, [f"<broken {i}" for i in range(1000)])
    write(path, "<broken", clock)
    with pytest.raises(InputError, match="g.nt:1"):
        GraphFile(path, now=clock, wait=wait)
    assert clock.now - began == pytest.approx(PATIENCE, abs=2 * READ_AGAIN)


def test_what_can_be_read_only_once_is_read_once(tmp_path, clock, monkeypatch):
    path = tmp_path / "g.nt"
    os.mkfifo(path)
    source = GraphFile._read
    times: list[int] = []

    def read(file):
        assert not times, "a pipe would be waited for, and be empty"
        times.append(1)
        writer = threading.Thread(target=path.write_text, args=(fact("a"),))
        writer.start()
        found = source(file)
        writer.join()
        return found

    monkeypatch.setattr(GraphFile, "_read", read)
    file = GraphFile(path, now=time.time, wait=Waiting(path, clock, []))
    later = time.time() + 2 * RESTED
    assert not file.news(later) and not file.news(2 * later) and size(file) == 1


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

"""Static knowledge is taken in once: shards begin with a snapshot of it, and processes share its memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agreement.engine_runs import contents, keep, occurrences_of, travelled
from columns.test_terms import chunk_of
from oracle.cases import Element
from penstock import pipeline
from penstock.columns.arrays import MappedArrays, write_arrays
from penstock.columns.terms import TermChunk, TermTable
from penstock.engine import shard as engine_shard
from penstock.engine.program import SNAPSHOT_FILE, Program
from penstock.errors import InputError
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.terms import Literal, NamedNode
from penstock.timeline import SECOND

KEY = 77


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def known(pumps: int = 6) -> list[tuple]:
    """Pumps in rooms, and rooms in each other."""
    triples = [(ex(f"pump{i}"), ex("in"), ex(f"room{i % 3}")) for i in range(pumps)]
    triples += [(ex(f"room{i}"), ex("within"), ex(f"room{i + 1}")) for i in range(3)]
    return triples + [(ex(f"pump{i}"), ex("name"), Literal(f"the pump {i}")) for i in range(pumps)]


def program_for(*queries: str, shards: int = 2, pumps: int = 6) -> Program:
    texts = [f"PREFIX : <http://example.org/> {query}" for query in queries]
    graphs = [graph_of(known(pumps), None, key=KEY)]
    return pipeline.program(
        [parse_query(text) for text in texts], [StreamName(None)], graphs, shards=shards, now=0, key=KEY
    )


def reading(pump: int, at: int) -> Element:
    return Element(
        ((ex(f"pump{pump}"), ex("reads"), Literal(f"value {pump} {at}")),), at * SECOND, at * SECOND
    )


def step(program: Program, shards: list, elements: list[Element], ended: bool = False) -> list[list[dict]]:
    """What each shard answers to elements."""
    payloads: list[list[bytes]] = [[] for _ in shards]
    latest = max((element.end for element in elements), default=0)
    for shard, payload in program.route(0, occurrences_of(elements, KEY)):
        payloads[shard].append(payload)
    found = []
    for shard, mine in zip(shards, payloads, strict=True):
        found.append([row for _, table in shard.answers(mine, latest, ended) for row in table.to_pylist()])
    return found


PATTERNS = {
    "join": "SELECT * WHERE { ?p :reads ?v . ?p :in ?room . ?p :name ?name }",
    "optional": "SELECT * WHERE { ?p :reads ?v OPTIONAL { ?p :in ?room } }",
    "exists": "SELECT * WHERE { ?p :reads ?v FILTER EXISTS { ?p :in ?room } }",
    "minus": "SELECT * WHERE { ?p :reads ?v MINUS { ?p :in :room1 } }",
    "path": "SELECT * WHERE { ?p :reads ?v . ?p :in/:within+ ?room }",
    "moved": "SELECT * WHERE { ?p :reads ?v . ?p (:in|:reads)+ ?room }",
    "rule": "CONSTRUCT { ?p :inside ?r } WHERE { ?p :in ?q . ?q :within ?r }",
    "distinct": "SELECT DISTINCT ?p WHERE { { ?p :in ?room } UNION { ?p :reads ?v } }",
}


@pytest.mark.parametrize("query", PATTERNS.values(), ids=PATTERNS)
def test_what_shards_look_into_is_the_image_s(query, tmp_path, monkeypatch):
    """No shard takes static rows in, makes an index of them, or writes into what it shares."""
    program = travelled(program_for(query), tmp_path)
    before = contents(program)
    monkeypatch.setattr(engine_shard, "match", None)  # opening asks no graph
    shards = [program.open(number) for number in range(2)]
    monkeypatch.undo()
    step(program, shards, [reading(i, i + 1) for i in range(8)])
    step(program, shards, [reading(i, i + 10) for i in range(8)], ended=True)
    assert contents(program) == before
    static = 0
    for shard in shards:
        for operator in shard.shard.operators:
            for store in operator.stores:
                for (_, timeless), rows in store.parts.items():
                    if timeless:
                        static += rows.static
                        assert rows.count == rows.static
                        assert all(index._shared for index in rows.indexes if index.linked)
    assert static or query in (PATTERNS["rule"], PATTERNS["distinct"])


def test_answers_are_those_of_shards_that_take_it_in_themselves(tmp_path):
    elements = [[reading(i % 7, 10 * batch + i) for i in range(9)] for batch in range(3)]
    queries = list(PATTERNS.values())

    def answers(program: Program, opened) -> list:
        shards = [opened(program, number) for number in range(2)]
        found = [step(program, shards, some) for some in elements] + [step(program, shards, [], ended=True)]
        return sorted(repr(sorted(row.items())) for batch in found for rows in batch for row in rows)

    def taking_in(program: Program, number: int):
        program.__dict__["snapshot"] = None
        return program.open(number)

    expected = answers(program_for(*queries), taking_in)
    assert len(expected) > 100
    assert answers(program_for(*queries), Program.open) == expected
    assert answers(travelled(program_for(*queries), tmp_path), Program.open) == expected


def test_static_answers_come_once_from_the_first_shard(tmp_path):
    program = travelled(program_for("SELECT * WHERE { ?p :in ?room }", shards=4), tmp_path)
    shards = [program.open(number) for number in range(4)]
    stored: dict[str, bytes] = {}
    first = step(program, shards, [reading(1, 1)])
    assert [len(rows) for rows in first] == [6, 0, 0, 0]
    keep(stored, shards[0])
    again = program.open(0)
    again.restore(stored.items())
    assert step(program, [again, *shards[1:]], [reading(1, 2)]) == [[], [], [], []]
    assert again.row_counts().given == shards[0].row_counts().given


def test_rows_added_to_static_ones_are_the_shard_s_own(tmp_path):
    """Bindings that are substituted into EXISTS join static ones in the same store."""
    exists = "FILTER EXISTS { ?q :name ?n FILTER NOT EXISTS { ?q :in ?room } }"
    query = f"SELECT * WHERE {{ {{ ?p :in ?room }} UNION {{ ?p :reads ?room }} {exists} }}"
    program = travelled(program_for(query, shards=1), tmp_path)
    before = contents(program)
    shards = [program.open(0) for _ in range(2)]  # the same, twice: they share, and do not meet
    found = [step(program, [shard], [reading(i, i + 1) for i in range(8)], ended=True) for shard in shards]
    assert found[0] == found[1] and len(found[0][0]) > 6
    grown = [
        rows
        for operator in shards[0].shard.operators
        for store in operator.stores
        for (_, timeless), rows in store.parts.items()
        if timeless and rows.count > rows.static > 0
    ]
    assert grown
    assert contents(program) == before


def test_a_job_has_no_triples_in_it(tmp_path):
    sizes = []
    for pumps in (5, 5000):
        place = tmp_path / str(pumps)
        sizes.append(len(pickle.dumps(program_for(PATTERNS["join"], pumps=pumps).prepared(place))))
        assert (place / SNAPSHOT_FILE).exists()
    assert sizes[1] - sizes[0] < 100
    assert os.listdir(tmp_path / "5000") == [SNAPSHOT_FILE]


def test_another_file_in_its_place_is_refused(tmp_path):
    for damage in (
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.unlink(),
        lambda path: program_for(PATTERNS["optional"]).prepared(path.parent),
        lambda path: program_for(PATTERNS["join"], pumps=7).prepared(path.parent),
    ):
        program = program_for(PATTERNS["join"]).prepared(tmp_path)
        damage(tmp_path / SNAPSHOT_FILE)
        with pytest.raises(InputError, match="is not the static knowledge"):
            program.open(0)


OPEN = """
import pickle, sys
program = pickle.loads(open(sys.argv[1], "rb").read())
shard = program.open(int(sys.argv[2]))
print(sum(array.sum() for array in program.snapshot.arrays.values()), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="tells by /proc what processes share")
def test_two_processes_have_it_in_memory_once(tmp_path):
    place = tmp_path / "program"
    place.write_bytes(pickle.dumps(program_for(PATTERNS["join"], pumps=20_000).prepared(tmp_path)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", OPEN, str(place)]
    processes = [subprocess.Popen([*command, str(i)], env=environment, **pipes) for i in range(2)]
    try:
        assert len({process.stdout.readline() for process in processes}) == 1
        size = (tmp_path / SNAPSHOT_FILE).stat().st_size // 1024
        for process in processes:
            shown = mapped(process.pid, str(tmp_path / SNAPSHOT_FILE))
            assert shown["Rss"] > 0.9 * size
            assert shown["Pss"] < 0.6 * shown["Rss"]
            assert shown["Private_Dirty"] == 0
    finally:
        for process in processes:
            process.communicate("")


def mapped(process: int, path: str) -> dict[str, int]:
    """What a process says of its mapping of a file, in kilobytes."""
    told: dict[str, int] = {}
    inside = False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if "-" in line.split(" ", 1)[0]:
            inside = line.endswith(path)
        elif inside and rest.endswith("kB"):
            told[name] = told.get(name, 0) + int(rest.split()[0])
    return told


def test_terms_above_others(tmp_path):
    """A table above another knows its terms, keeps none of them again, and leaves it as it is."""
    static = [b"<http://e/%d>" % i for i in range(50)]
    below = TermTable(chunk_of(static, KEY), key=KEY)
    write_arrays(tmp_path / "terms", below.arrays())
    arrays = MappedArrays(tmp_path / "terms")
    below = TermTable.from_arrays(arrays["table"], arrays["texts"], below.size, KEY)
    table = TermTable(key=KEY, below=below)
    more = [b"<http://e/%d>" % i for i in range(40, 70)]
    table.add_chunk(chunk_of(more, KEY))
    assert (table.size, below.size, len(table)) == (20, 50, 70)
    ids = np.array([table.add_text(text) for text in [*static, *more]])
    assert table.size == 20
    assert table.texts(ids).to_pylist() == [*static, *more]
    assert table.texts(ids[:50]).to_pylist() == static
    assert sorted(table.subset(ids).texts().to_pylist()) == sorted({*static, *more})
    assert sorted(table.chunk().texts().to_pylist()) == sorted({*static, *more})
    table.retain(ids[-3:])
    assert (table.size, below.size) == (3, 50)
    assert table.texts(ids[:50]).to_pylist() == static and table.term(int(ids[-1])) == NamedNode(
        "http://e/69"
    )
    forged = TermChunk(ids[:1], np.array([0, 3]), np.frombuffer(b"<x>", np.uint8))
    with pytest.raises(InputError, match="the same id"):
        table.add_chunk(forged)


def test_arrays_of_a_file(tmp_path):
    arrays = {
        "one": np.arange(5),
        "plane": np.arange(24).reshape(3, 8),
        "bytes": np.frombuffer(b"eleven byte", np.uint8),
        "none": np.empty((8, 0), np.int64),
        "more": np.arange(1000),
    }
    write_arrays(tmp_path / "a", arrays, {"said": [1]})
    found = MappedArrays(tmp_path / "a")
    assert found.about == {"said": [1]} and list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)
        assert not found[name].size or found[name].ctypes.data % 64 == 0
    found["one"][0] = 9  # a private page: nobody else sees it
    assert MappedArrays(tmp_path / "a")["one"][0] == 0
    with pytest.raises(TypeError):
        write_arrays(tmp_path / "b", {"x": np.zeros(3)})
    assert os.listdir(tmp_path) == ["a"]

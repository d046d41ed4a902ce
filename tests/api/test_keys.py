"""The key of term ids on a real Spark: drawn by each engine, kept by its checkpoint, not seen in answers."""

from __future__ import annotations

import json

import pytest

import penstock
from penstock.errors import InputError
from penstock.terms import NamedNode

pytestmark = pytest.mark.usefixtures("spark")
EX = "http://example.org/"
QUERY = f"""PREFIX : <{EX}>
SELECT ?s ?a ?b ?room WHERE {{ ?s :reads ?a . ?s :in ?room }} SEQ {{ ?s :reads ?b }}
FILTER (getDURATION() < "PT9M"^^<http://www.w3.org/2001/XMLSchema#duration> && ?a != "v3")"""
GRAPH = [(NamedNode(f"{EX}s{i}"), NamedNode(f"{EX}in"), NamedNode(f"{EX}room{i % 2}")) for i in range(5)]


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "s.nq"
    path.write_text(
        "".join(
            f'<{EX}s{i % 5}> <{EX}reads> "v{i % 7}" <urn:e{i}#t=2026-05-01T08:{i:02d}:00Z> .\n'
            for i in range(40)
        )
    )
    return path


def engine(stream, **options):
    made = penstock.Engine(shards=3, batch_bytes=800, **options).add_stream(stream)
    return made.add_graph(GRAPH).add_query(QUERY)


def rows(made, take=lambda batch: None):
    found = []

    def taken(batch):
        take(batch)
        found.extend(tuple(sorted(row.items())) for row in batch.answers["query-1"].to_pylist())

    made.run(on_batch=taken)
    return found


@pytest.mark.sample(0)
def test_engines_in_one_process_have_keys_of_their_own_and_the_same_answers(stream):
    one, two = engine(stream), engine(stream)
    assert one.key != two.key and one.ready().key == one.key
    expected = sorted(rows(one))
    assert len(expected) > 20
    assert sorted(rows(two)) == expected and sorted(rows(one)) == expected


@pytest.mark.sample(0)
def test_a_checkpoint_keeps_its_key_and_a_restart_goes_on_with_it(stream, tmp_path):
    expected = sorted(rows(engine(stream)))
    state, found = tmp_path / "state", {}

    def crash(batch):
        if batch.id == 2:
            raise InputError("a crash")
        found[batch.id] = batch.answers["query-1"].to_pylist()

    first, second = engine(stream, checkpoint=state), engine(stream, checkpoint=state)
    assert first.key != second.key
    with pytest.raises(InputError, match="a crash"):
        rows(first, crash)
    stored = json.loads((state / "checkpoint.json").read_text())["key"]
    assert stored == first.key == second.key  # also where the graph was added before there was a checkpoint

    def on(batch):
        found[batch.id] = batch.answers["query-1"].to_pylist()

    rows(second, on)
    assert sorted(tuple(sorted(row.items())) for batch in found.values() for row in batch) == expected
    assert len(found) > 4

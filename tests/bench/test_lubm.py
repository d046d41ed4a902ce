"""The benches on LUBM and on a class tree: what they measure is what they say."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.bench import classes, lubm, universities
from penstock.errors import UsageError
from shared_data import shared

ONTOLOGY = shared("lubm", "ontology", "univ-bench.ttl")
needs_reference = pytest.mark.skipif(ONTOLOGY is None, reason="LUBM is not beside the repository")


def test_the_class_tree_is_that_of_the_paper():
    parents = classes.class_tree()
    depth = [0]
    for class_, parent in enumerate(parents[1:], start=1):
        assert parent < class_
        depth.append(depth[parent] + 1 if parent >= 0 else -1_000)
    below = [level for level in depth[1:] if level > 0]
    assert len(below) == classes.SUBCLASSES and max(below) == classes.DEPTH
    assert len(parents) == 1 + classes.SUBCLASSES + classes.OTHERS


def test_half_of_the_typed_triples_are_below_the_class():
    typed = np.array(classes.instances(10_000))
    assert (typed <= classes.SUBCLASSES).sum() == 5_000
    assert typed.max() == classes.SUBCLASSES + classes.OTHERS


def test_the_engine_and_look_ups_find_the_same_instances(tmp_path):
    parents, typed = classes.class_tree(2_000, others=300), classes.instances(3_000, 2_000, 300)
    tree, stream = tmp_path / "tree.nt", tmp_path / "stream.nq"
    classes.write_tree(parents, tree)
    classes.write_stream(typed, stream)
    _, found = classes.in_the_kernel(tree, stream)
    assert found == 1_500
    assert classes.looking_up(parents, typed, expected=found) > 0  # it checks how many it finds


@pytest.mark.sample(0)
def test_decoding_alone_sees_every_triple(tmp_path):
    stream = tmp_path / "departments.nq"
    triples = universities.generated(1, stream, stream=True)
    assert lubm.decoding(stream) == triples
    assert universities.departments(1) == 15


def test_a_peer_that_is_missing_is_told():
    ours = {"explicit": 10, "seconds": 2, "peak": 1, "all": 20, "read": 1}
    figures = list(lubm._compared("LUBM(1) rdfs", ours, {"reasonable": None, "owlrl": ours}))
    assert "reasonable is not installed" in figures[0]["case"]
    assert figures[0]["value"] == 5 and figures[0]["ratio"] is None
    assert figures[1]["peer"] == "owlrl" and figures[1]["ratio"] == 1


@needs_reference
@pytest.mark.parametrize("who", [lubm._ours, lubm._reasonable, lubm._owlrl])
def test_all_reasoners_are_given_the_same_triples(who, tmp_path):
    if who is not lubm._ours:
        pytest.importorskip(who.__name__[1:])
    data = tmp_path / "data.nt"
    data.write_text("<x:a> <http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#headOf> <x:b> .\n")
    found = who("rdfs", str(data), str(universities.ontology()))
    assert found["explicit"] in (294, 296)  # reasonable has two of its own
    assert found["all"] > found["explicit"] and found["seconds"] > 0


def test_a_benchmark_that_is_not_there_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("SHARED", str(tmp_path))
    with pytest.raises(UsageError, match="univ-bench.ttl is not in"):
        universities.ontology()

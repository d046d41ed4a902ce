"""The bench of static knowledge: what it writes is what it says, and it opens shards as workers do."""

from __future__ import annotations

import os
import subprocess
import sys

from penstock.api.engine import Engine
from penstock.bench import knowledge


def test_a_shard_opens_from_what_was_published(tmp_path):
    graph, stream = tmp_path / "g.nt", tmp_path / "s.nq"
    knowledge.write_graph(graph, 1000)
    knowledge.write_stream(stream, 1000)
    engine = Engine(master="local[2]", shards=3)
    engine.add_graph(graph).add_stream(stream).add_query(knowledge.QUERY)
    assert [len(each) for each in engine.graphs] == [1000 * knowledge.PREDICATES]
    found = knowledge._opening(engine, tmp_path / "job")
    assert found["open"] > 0
    assert found["job"] < 0.1 < found["prepared"]  # megabytes


def test_memory_counts_all_processes_below():
    script = "x = bytearray(100 << 20); x[::4096] = b'1' * (100 << 8); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    before = knowledge.memory_by_kind()["workers"]
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        process.stdout.readline()
        assert knowledge.memory_by_kind()["workers"] > before + 100
        assert knowledge.proportional([process.pid]) > 100
        process.communicate(b"\n")
    assert knowledge.proportional([os.getpid()]) > 10

"""The stage between decode and match: what a reasoner adds is found, what it drops is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.reason.reasoners import Rooms, ex

from agreement.engine_runs import travelled
from penstock import Engine, pipeline
from penstock.columns.ids import id_of
from penstock.decode.decoder import Decoder
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.reason.stage import Unchanged, closed
from penstock.runtime.contract import RunOptions
from penstock.runtime.detection.watermark import Timing
from penstock.runtime.intake.late import late_records
from penstock.runtime.messages import LATE
from penstock.runtime.run import run
from penstock.sources.streams import StreamSpec

KEY = 31
QUERIES = (
    "SELECT ?room ?pump WHERE { ?room :busy ?pump }",
    "SELECT ?pump ?v WHERE { ?pump :level ?v }",
    "ASK { ?room :busy ?pump }",
)
KNOWN = [(ex(f"pump{i}"), ex("in"), ex(f"room{i % 2}")) for i in range(3)]


def element(at: int, *triples: str) -> list[str]:
    graph = f"<urn:e{at}#t=2026-05-01T08:00:{at:02d}Z>"
    lines = []
    for triple in triples:
        s, p, o = triple.split()
        lines.append(f'<http://example.org/{s}> <http://example.org/{p}> "{o}" {graph} .')
    return lines


LINES = [
    *element(1, "pump0 reads 1", "pump0 level 5"),
    *element(2, "pump1 reads 2", "pump1 test yes", "pump1 level 6"),  # dropped, whatever the order
    *element(3, "pump2 test yes", "pump2 level 7"),
    *element(4, "pump9 reads 4", "pump9 level 8"),  # of no room
    *element(5, "pump1 reads 5", "pump2 reads 6"),
]
BUSY = {("room0", "pump0"), ("room1", "pump1"), ("room0", "pump2")}
LEVELS = {("pump0", "5"), ("pump9", "8")}
ASKED = ["true", "false", "false", "false", "true"]


def program_for(shards: int = 2, reasoning=Rooms) -> Program:
    queries = [parse_query(f"PREFIX : <http://example.org/> {text}") for text in QUERIES]
    graphs = [graph_of(KNOWN, None, key=KEY)]
    return pipeline.program(
        queries, [StreamName(None)], graphs, shards=shards, now=0, key=KEY, reasoning=reasoning
    )


def found(tables: list[tuple[int, pa.Table]]) -> tuple[set, set, list[str]]:
    rows: dict[int, list[dict]] = {0: [], 1: [], 2: []}
    for query, table in tables:
        rows[query] += table.to_pylist()
    local = lambda text: text.strip('<>"').rsplit("/", 1)[-1]  # noqa: E731
    asked = [row["answer"].split('"')[1] for row in sorted(rows[2], key=lambda row: row["end"] or 0)]
    return (
        {(local(row["room"]), local(row["pump"])) for row in rows[0]},
        {(local(row["pump"]), local(row["v"])) for row in rows[1]},
        asked,
    )


def decoded(program: Program, lines: list[str]) -> Occurrences:
    decoder = Decoder("nquads", keep_predicates=program.keep_predicates, key=KEY)
    return decoder.decode("".join(f"{line}\n" for line in lines).encode())[0]


@pytest.mark.parametrize("mapped", [False, True])
def test_through_the_engine(tmp_path: Path, mapped: bool):
    program = program_for()
    if mapped:
        program = travelled(program, tmp_path)
    read = decoded(program, LINES)
    made = program.reason(read)
    assert made.elements == read.elements == 5
    assert np.array_equal(made.instants, read.instants) and len(made.instants) == 5
    payloads: dict[int, list[bytes]] = {0: [], 1: []}
    for shard, payload in program.route(0, made):
        payloads[shard].append(payload)
    tables = [
        answer for number in (0, 1) for answer in program.open(number).answers(payloads[number], 0, True)
    ]
    assert found(tables) == (BUSY, LEVELS, ASKED)


def test_decode_keeps_what_the_reasoner_asks_for():
    wanted = {id_of(ex(name), KEY) for name in ("busy", "level", "reads", "test")}
    assert set(program_for().keep_predicates.tolist()) == wanted
    assert set(program_for(reasoning=None).keep_predicates.tolist()) == {
        id_of(ex(name), KEY) for name in ("busy", "level")
    }


def test_without_a_reasoner_nothing_is_touched():
    program = program_for(reasoning=None)
    read = decoded(program, LINES)
    assert program.reason(read) is read
    assert closed(Unchanged(), read) is read


def test_explain_shows_the_stage_in_its_place():
    told = Engine().add_query("SELECT * WHERE { ?s ?p ?o }").explain(stage="spark")
    stages = [line.split()[0] for line in told.splitlines() if not line.startswith(" ")]
    at = stages.index("reason")
    assert stages[at - 1 : at + 2] == ["decode", "reason", "match"]


def test_through_spark(tmp_path: Path):
    """Also: elements that are late are reported as they were written."""
    directory = tmp_path / "stream"
    directory.mkdir()
    (directory / "1.nq").write_text("".join(f"{line}\n" for line in LINES))
    late = element(2, "pump0 reads 9", "pump0 test yes")
    (directory / "2.nq").write_text("".join(f"{line}\n" for line in [*late, *element(9, "pump8 reads 1")]))
    size = max((directory / name).stat().st_size for name in ("1.nq", "2.nq"))
    tables, records = [], []

    def took(batch: int, results: list[tuple[int, bytes]]) -> None:
        for query, data in results:
            table = pa.ipc.open_stream(data).read_all()
            if query == LATE:
                records.extend(late_records(table))
            elif query >= 0:
                tables.append((query, table))

    run(
        program_for(),
        [StreamSpec(None, (str(directory),))],
        on_batch=took,
        timing=Timing(0),
        master="local[2]",
        options=RunOptions(batch_bytes=size),
    )
    assert found(tables) == (BUSY, LEVELS, [*ASKED, "false"])
    [record] = records
    assert sorted(record["triples"]) == sorted(
        f'<http://example.org/pump0> <http://example.org/{p}> "{o}" .'
        for p, o in (("reads", 9), ("test", "yes"))
    ), json.dumps(record)

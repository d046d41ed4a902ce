"""Runs a random case through the engine, batch by batch, as the runtime would."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from agreement.tunings import tuning_of
from oracle.canonical import Row, canonical
from oracle.cases import Case, Element
from penstock import pipeline
from penstock.columns.frame import Frame
from penstock.columns.ids import parse_term
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.engine.program_shard import ProgramShard
from penstock.engine.tuning import TUNING, Tuning
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.plan.catalog import StreamName
from penstock.timeline import NEVER

_NUMBERS = count(-1, -1)  # of elements, which come once each


def key_of(case: Case) -> int:
    """The key of the case's term ids; a place in the engine that forgets it finds other ids."""
    return Random(f"key {case.seed}").getrandbits(62)


def program_of(case: Case, shards: int, tuning: Tuning = TUNING) -> Program:
    """The case's queries over its catalog, ready to run."""
    streams = [StreamName(data.name and data.name.value) for data in case.streams]
    graphs = graphs_of(case)
    return pipeline.program(
        case.parsed, streams, graphs, shards=shards, now=case.now, tuning=tuning, key=key_of(case)
    )


def graphs_of(case: Case) -> list[StaticGraph]:
    """The case's static graphs."""
    return [graph_of(data.triples, data.name and data.name.value, key=key_of(case)) for data in case.graphs]


def occurrences_of(elements: Iterable[Element], key: int) -> Occurrences:
    """Elements as the decoder would give them."""
    table = TermTable(key=key)
    elements = list(elements)
    rows = [
        (*(table.add(term) for term in triple), element.start, element.end)
        for element in elements
        for triple in element.triples
    ]
    columns = np.array(rows, np.int64).reshape(-1, 5).T.copy()
    numbers = [next(_NUMBERS) for _ in elements]
    sizes = [len(element.triples) for element in elements]
    instants = np.unique(np.array([element.end for element in elements], np.int64))
    return Occurrences(
        *columns,
        instants=instants,
        terms=table.chunk(),
        elements=len(elements),
        element=np.repeat(np.array(numbers, np.int64), sizes),
    )


def engine_answers(
    case: Case, shards: int = 1, *, restore: bool = False, tuning: Tuning | None = None
) -> list[Counter[Row]]:
    """The engine's answers to each query; `restore`: every so often from stored chunks alone.

    Without a `tuning` the case's seed chooses one. The static knowledge of every other case is mapped
    from a file, as the processes of a run do.
    """
    program = program_of(case, shards, tuning or tuning_of(case.seed))
    with tempfile.TemporaryDirectory() as scratch, sealed_frames():
        if case.seed % 2:
            program = travelled(program, Path(scratch))
        known = contents(program)
        answers = _answers(case, program, restore)
        assert contents(program) == known, "somebody has written into what all shards share"
        return answers


def travelled(program: Program, directory: Path) -> Program:
    """The program as another process has it."""
    return pickle.loads(pickle.dumps(program.prepared(directory)))


def contents(program: Program) -> dict[str, bytes]:
    """All that shards have in common when they open."""
    return (
        {} if program.snapshot is None else {name: a.tobytes() for name, a in program.snapshot.arrays.items()}
    )


@contextmanager
def sealed_frames() -> Iterator[None]:
    """Writing into a frame's columns, which others may show too, is an error."""
    plain = Frame.__init__

    def sealing(self, vars, ids, start, end, *presence) -> None:
        columns = [column.view() for column in (ids, start, end, *presence)]
        for column in columns:
            column.flags.writeable = False
        plain(self, vars, *columns)

    with patch.object(Frame, "__init__", sealing):
        yield


def _answers(case: Case, program: Program, restore: bool) -> list[Counter[Row]]:
    shards = program.shards
    live = [program.open(number) for number in range(shards)]
    stored: list[dict[str, bytes]] = [{} for _ in live]
    random = Random(case.seed)
    found: dict[int, list[dict]] = {i: [] for i in range(len(case.queries))}
    watermark, latest = NEVER, NEVER
    for batch in [*case.batches, None]:
        payloads: list[list[bytes]] = [[] for _ in live]
        for stream in {number for number, _ in batch or ()}:
            arrived = [case.streams[s].elements[e] for s, e in batch if s == stream]
            latest = max([latest, *(element.end for element in arrived)])
            for shard, payload in program.route(stream, occurrences_of(arrived, program.key)):
                payloads[shard].append(payload)
        before = watermark
        if latest != NEVER:
            # When the streams are over, time has come to the last end of all (runtime/detection/watermark).
            watermark = max(watermark, latest + 1 if batch is None else latest - case.lateness)
        for number in range(shards):
            moves = [(payloads[number], before, False), ([], watermark, batch is None)]
            for move in moves:
                for query, table in live[number].answers(*move):
                    found[query] += table.to_pylist()
            assert case.late or live[number].shard.late == 0, "rows came late"
            keep(stored[number], live[number])
            if restore and random.random() < 0.5:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())
    return [canonical(map(_solution, rows)) for rows in found.values()]


def keep(stored: dict[str, bytes], shard: ProgramShard) -> None:
    """Does to the stored chunks of a shard what its last step asks for."""
    puts, deletes = shard.changes()
    for key in deletes:
        del stored[key]
    stored.update(puts)


def _solution(row: dict) -> tuple[dict, int | None, int | None]:
    start, end = row.pop("start"), row.pop("end")
    terms = {name: parse_term(text.encode()) for name, text in row.items() if text is not None}
    return terms, start, end


def table_rows(table: pa.Table) -> list[tuple[dict, int | None, int | None]]:
    """A table of answers as (bindings, start, end)."""
    return [_solution(row) for row in table.to_pylist()]

"""Runs a random continuous query through the engine, batch by batch, and says what it gives when."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from agreement.engine_runs import graphs_of, keep, key_of, occurrences_of, sealed_frames, travelled
from agreement.tunings import tuning_of
from oracle.canonical import canonical
from oracle.cases import Case
from oracle.window_generator import GivenRow, WindowCase
from oracle.window_model import ContinuousQuery
from penstock import pipeline
from penstock.algebra import ParsedQuery
from penstock.columns.frame import Frame
from penstock.columns.ids import parse_term
from penstock.engine.program import Program
from penstock.engine.program_shard import ProgramShard, answer_table
from penstock.engine.tuning import Tuning
from penstock.errors import Span
from penstock.plan.catalog import StreamName
from penstock.reason.stage import Reasoning
from penstock.timeline import NEVER


def program_of(
    data: Case, query: ContinuousQuery, shards: int, tuning: Tuning, reasoning: Reasoning | None = None
) -> Program:
    parsed = ParsedQuery(text="", place=Span(1, 1), language="RSP-QL", query=query.registered)
    streams = [StreamName(each.name and each.name.value) for each in data.streams]
    graphs = graphs_of(data)
    how = {"shards": shards, "now": data.now, "tuning": tuning, "key": key_of(data)}
    return pipeline.program([parsed], streams, graphs, reasoning=reasoning, **how)


def given_by_engine(
    case: WindowCase,
    shards: int = 1,
    *,
    restore: bool = False,
    silence: Sequence[int] = (),
    reasoning: Reasoning | None = None,
) -> Counter[GivenRow]:
    """What the engine gives; `restore`: every so often its shards go on from stored chunks alone.

    `silence`: the watermarks to which time goes on after the last element, of streams that are not over.
    """
    program = program_of(case.data, case.query, shards, tuning_of(case.seed), reasoning)
    with tempfile.TemporaryDirectory() as scratch, sealed_frames():
        if case.seed % 2:
            program = travelled(program, Path(scratch))
        return _given(case.data, program, restore, silence)


def _given(data: Case, program: Program, restore: bool, silence: Sequence[int]) -> Counter[GivenRow]:
    live = [program.open(number) for number in range(program.shards)]
    stored: list[dict[str, bytes]] = [{} for _ in live]
    random = Random(data.seed)
    found: dict[int, list] = {}
    watermark, latest = NEVER, NEVER
    for batch in [*data.batches, *(silence or [None])]:
        ended = batch is None
        if isinstance(batch, int):
            latest, batch = max(latest, batch + data.lateness), None
        payloads: list[list[bytes]] = [[] for _ in live]
        for stream in {number for number, _ in batch or ()}:
            arrived = [data.streams[s].elements[e] for s, e in batch if s == stream]
            latest = max([latest, *(element.end for element in arrived)])
            closed = program.reason(occurrences_of(arrived, program.key))
            for shard, payload in program.route(stream, closed):
                payloads[shard].append(payload)
        before = watermark
        if latest != NEVER:
            watermark = latest + 1 if ended else max(watermark, latest - data.lateness)
        moves = [([], watermark, ended)]
        if random.random() < 0.5:
            moves.insert(0, ([], before, False))
        for number, shard in enumerate(live):
            moves[0] = (payloads[number], *moves[0][1:])
            for move in moves:
                for _, row in given_rows(shard, *move):
                    _add(found, row, before)
            assert data.late or shard.shard.late == 0, "rows came late"
            keep(stored[number], shard)
            if restore and random.random() < 0.5:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())
    return Counter(
        {(instant, row): count for instant, rows in found.items() for row, count in canonical(rows).items()}
    )


def given_rows(
    shard: ProgramShard, payloads: list[bytes], watermark: int, ended: bool
) -> list[tuple[int, dict]]:
    """What a step gives, as (query, row); with when a row of a continuous query is there."""
    rows: list[tuple[int, dict]] = []

    def take(query: int, frame: Frame) -> None:
        rows.extend((query, row) for row in answer_table(frame, shard.shard.terms).to_pylist())

    shard.each(payloads, watermark, ended, take)
    return rows


def _add(found: dict[int, list], row: dict, before: int) -> None:
    start, end, at = row.pop("start"), row.pop("end"), row.pop("since")
    assert row.pop("weight") == 1 and row.pop("until") == at + 1
    assert at >= before, "something is given for an instant before the watermark"
    terms = {name: parse_term(text.encode()) for name, text in row.items() if text is not None}
    found.setdefault(at, []).append((terms, start, end))

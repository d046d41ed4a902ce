"""Runs a random chain of queries through the engine, batch by batch, and says what each of them gives."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from agreement.engine_runs import graphs_of, keep, key_of, occurrences_of, sealed_frames, travelled
from agreement.tunings import tuning_of
from agreement.window_runs import given_rows
from oracle.canonical import canonical
from oracle.chains import Chain
from oracle.consequences import rules
from penstock import pipeline
from penstock.algebra import ParsedQuery
from penstock.columns.ids import parse_term
from penstock.engine.program import Program
from penstock.engine.tuning import Tuning
from penstock.errors import Span
from penstock.plan.catalog import StreamName
from penstock.timeline import NEVER


def program_of(case: Chain, shards: int, tuning: Tuning) -> Program:
    parsed = [
        ParsedQuery(text="", place=Span(1, 1), language=language, query=query, name=f"q{place + 1}")
        for place, (query, language) in enumerate(zip(case.queries, case.languages, strict=True))
    ]
    streams = [StreamName(each.name.value) for each in case.data.streams]
    graphs = graphs_of(case.data)
    how = {"shards": shards, "now": case.data.now, "tuning": tuning, "key": key_of(case.data)}
    return pipeline.program(parsed, streams, graphs, reasoning=rules() if case.ruled else None, **how)


def everything_by_engine(
    case: Chain, shards: int = 1, *, restore: bool = False, at_once: bool = False
) -> list[Counter]:
    """What each query gives; `restore`: every so often shards go on from stored chunks alone.

    `at_once`: the end comes with the last elements.
    """
    program = program_of(case, shards, tuning_of(case.seed))
    with tempfile.TemporaryDirectory() as scratch, sealed_frames():
        if case.seed % 2:
            program = travelled(program, Path(scratch))
        return _everything(case, program, restore, at_once)


def _everything(case: Chain, program: Program, restore: bool, at_once: bool) -> list[Counter]:
    data = case.data
    live = [program.open(number) for number in range(program.shards)]
    stored: list[dict[str, bytes]] = [{} for _ in live]
    random = Random(data.seed)
    found: list[dict[int | None, list]] = [{} for _ in case.queries]
    watermark, latest = NEVER, NEVER
    batches = list(data.batches) if at_once else [*data.batches, None]
    for place, batch in enumerate(batches):
        payloads: list[list[bytes]] = [[] for _ in live]
        for stream in {number for number, _ in batch or ()}:
            arrived = [data.streams[s].elements[e] for s, e in batch if s == stream]
            latest = max([latest, *(element.end for element in arrived)])
            closed = program.reason(occurrences_of(arrived, program.key))
            for shard, payload in program.route(stream, closed):
                payloads[shard].append(payload)
        before = watermark
        if latest != NEVER:
            watermark = max(watermark, latest - data.lateness)
        ended = place == len(batches) - 1
        if ended and latest != NEVER:
            watermark = latest + 1
        for number, shard in enumerate(live):
            for query, row in given_rows(shard, payloads[number], watermark, ended):
                _add(found[query], row, before)
            assert data.late or shard.shard.late == 0, "rows came late"
            keep(stored[number], shard)
            if restore and random.random() < 0.5:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())
    return [_counted(rows) for rows in found]


def _add(found: dict[int | None, list], row: dict, before: int) -> None:
    start, end, at = row.pop("start"), row.pop("end"), row.pop("since", None)
    if at is not None:
        assert row.pop("weight") == 1 and row.pop("until") == at + 1
        assert at >= before, "something is given for an instant before the watermark"
    terms = {name: parse_term(text.encode()) for name, text in row.items() if text is not None}
    found.setdefault(at, []).append((terms, start, end))


def _counted(found: dict[int | None, list]) -> Counter:
    """Canonical rows; what is given at an instant with it."""
    if None in found:
        return canonical(found[None])
    return Counter(
        {(instant, row): count for instant, rows in found.items() for row, count in canonical(rows).items()}
    )

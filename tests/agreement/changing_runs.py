"""Runs a random history through the engine, batch by batch, and says what its answers are when."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np

from agreement.engine_runs import graphs_of, keep, key_of, occurrences_of, sealed_frames, travelled
from agreement.histories import Arrival, ChangingCase
from agreement.tunings import tuning_of
from agreement.windowed import with_windows
from oracle.canonical import canonical
from oracle.changing import Change, answers_at
from oracle.evaluate import Effort
from oracle.generator import parsed
from penstock import pipeline
from penstock.columns import wire
from penstock.columns.ids import parse_term
from penstock.columns.terms import TermTable
from penstock.engine.exchange import match, spread, texts_for
from penstock.engine.program import Program
from penstock.plan.catalog import StreamName
from penstock.plan.sources import Stream, WindowSource
from penstock.plan.steps import Scan
from penstock.timeline import FOREVER, NEVER, TIMELESS_END, TIMELESS_START, format_instant

Answer = tuple[tuple, int | None, int | None]


class Content:
    """The answers of one query so far, as what they say about when rows are there."""

    def __init__(self) -> None:
        self.rows: list[tuple[Answer, int, int, int]] = []

    def at(self, instant: int) -> Counter[Answer]:
        found: Counter[Answer] = Counter()
        for answer, weight, since, until in self.rows:
            if since <= instant < until:
                found[answer] += weight
        return Counter({answer: count for answer, count in found.items() if count})


def program_of(history: ChangingCase, shards: int) -> Program:
    case = history.case
    streams = [StreamName(data.name and data.name.value) for data in case.streams]
    graphs = graphs_of(case)
    plan = with_windows(pipeline.plan(case.parsed, streams, graphs), history.changing)
    return Program(plan, graphs, shards=shards, now=case.now, tuning=tuning_of(case.seed), key=key_of(case))


def engine_content(history: ChangingCase, shards: int = 1, *, restore: bool = False) -> list[Content]:
    """What the engine says about each query's answers; `restore`: every so often from chunks alone."""
    program = program_of(history, shards)
    with tempfile.TemporaryDirectory() as scratch, sealed_frames():
        if history.seed % 2:
            program = travelled(program, Path(scratch))
        return _content(history, program, shards, restore)


def _content(history: ChangingCase, program: Program, shards: int, restore: bool) -> list[Content]:
    live = [program.open(number) for number in range(shards)]
    stored: list[dict[str, bytes]] = [{} for _ in live]
    random = Random(history.seed)
    found = [Content() for _ in history.case.queries]
    moments = list(history.watermarks())
    watermark = NEVER
    for place, (arrived, _) in enumerate(moments):
        payloads = _payloads(program, history, arrived)
        before, after = watermark, NEVER
        if place + 1 < len(moments) and moments[place + 1][1] is not None:
            after = moments[place + 1][1]
        watermark = max(watermark, after)
        moves = [([], watermark, place + 1 == len(moments))]
        if random.random() < 0.5:
            moves.insert(0, ([], before, False))
        for number, shard in enumerate(live):
            moves[0] = (payloads[number], *moves[0][1:])
            for move in moves:
                for query, table in shard.answers(*move):
                    _add(found[query], table.to_pylist(), shard.shard, before)
            assert history.late or shard.shard.late == 0, "rows came late"
            keep(stored[number], shard)
            if restore and random.random() < 0.5:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())
    return found


def _add(content: Content, rows: Iterable[dict], shard, before: int) -> None:
    for row in rows:
        start, end = row.pop("start"), row.pop("end")
        since = row.pop("since", NEVER if end is None else end)
        weight, until = row.pop("weight", 1), row.pop("until", FOREVER)
        assert since >= before, "an answer changes what was there before the watermark"
        assert since < until and weight, "an answer that says nothing"
        answer = tuple(sorted((name, text) for name, text in row.items() if text is not None)), start, end
        content.rows.append((answer, weight, since, until))


def _payloads(program: Program, history: ChangingCase, arrived: list[Arrival]) -> list[list[bytes]]:
    """What each shard gets of a batch, as bytes."""
    payloads: list[list[bytes]] = [[] for _ in range(program.shards)]
    for stream in sorted({each.stream for each in arrived}):
        own = [each for each in arrived if each.stream == stream]
        if stream not in history.changing:
            routed = program.route(stream, occurrences_of((each.element for each in own), program.key))
        else:
            routed = _changes_for(program, stream, [change for each in own for change in each.changes])
        for shard, payload in routed:
            payloads[shard].append(payload)
    return payloads


def _changes_for(program: Program, stream: int, changes: list[Change]) -> Iterable[tuple[int, bytes]]:
    """The changes of a stream for each shard: what a window will send."""
    table = TermTable(key=program.key)
    rows = [
        (
            *(table.add(term) for term in change.occurrence.triple),
            TIMELESS_START if change.occurrence.end is None else change.occurrence.start,
            TIMELESS_END if change.occurrence.end is None else change.occurrence.end,
            change.weight,
            change.since,
            FOREVER if change.until is None else change.until,
        )
        for change in changes
    ]
    columns = np.array(rows, np.int64).reshape(-1, 8).T.copy()
    for name, scan in _scans_of_window(program, stream):
        found = match(scan, tuple(columns[:3]), *columns[3:5], program.key, presence=tuple(columns[5:]))
        for shard, frame in spread(scan, found, program.shards):
            terms = texts_for([frame], table.chunk(), program.shards, program.tuning)
            yield shard, wire.pack([(name, frame)], terms)


def _scans_of_window(program: Program, stream: int) -> Iterable[tuple[str, Scan]]:
    for name, step in zip(program.digests, program.network.steps, strict=True):
        sources = step.sources if isinstance(step, Scan) else ()
        if any(isinstance(source, WindowSource) and Stream(stream) in source.streams for source in sources):
            yield name, step


def differences(history: ChangingCase, shards: int, *, restore: bool) -> tuple[int, list[str]]:
    """How many answers were compared, and where the engine says something else than the oracle."""
    given = engine_content(history, shards, restore=restore)  # first: it refuses rules that feed themselves
    queries, effort = parsed(history.case), Effort()
    expected = []
    for instant in history.instants:
        found = answers_at(queries, history.dataset, instant, now=history.case.now, effort=effort)
        expected.append([canonical((r.bindings, r.start, r.end) for r in each.rows) for each in found])
    compared = 0
    for place, instant in enumerate(history.instants):
        moments = [(instant, expected[place])]
        if place:  # what holds an instant before is what held since the instant before that one
            moments.append((instant - 1, expected[place - 1]))
        for moment, wanted in moments:
            for number, (want, content) in enumerate(zip(wanted, given, strict=True)):
                have = content.at(moment)
                compared += want.total()
                lines = [f"   negative {row} ×{n}" for row, n in have.items() if n < 0]
                have = canonical(_solutions(have))
                for word, rows in ("missing", want - have), ("surplus", have - want):
                    lines += [f"   {word}  {row} ×{n}" for row, n in sorted(rows.items(), key=repr)[:5]]
                if lines:
                    return compared, [f"query {number} at {format_instant(moment)}:", *lines]
    return compared, []


def _solutions(found: Counter[Answer]) -> Iterable[tuple[dict, int | None, int | None]]:
    for (bindings, start, end), count in found.items():
        terms = {name: parse_term(text.encode()) for name, text in bindings}
        for _ in range(count):
            yield terms, start, end

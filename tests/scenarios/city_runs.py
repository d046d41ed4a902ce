"""The city scenario through the engine without Spark: its queries over its events, in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import pyoxigraph as ox

from agreement.engine_runs import occurrences_of
from agreement.window_runs import given_rows
from oracle.cases import Element
from penstock import pipeline
from penstock.algebra import ParsedQuery
from penstock.engine.program import Program
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.plan.catalog import StreamName
from penstock.scenarios.vienna import GRAPHS, Vienna
from penstock.scenarios.vienna.network import iri
from penstock.scenarios.vienna.traffic import BEGIN, Event
from penstock.timeline import NEVER

STREAMS = ("publicTransport", "passengers")


def events_of(vienna: Vienna) -> tuple[list[Event], list[Event]]:
    """By stream."""
    return vienna.public_transport, vienna.locations


def element_of(event: Event) -> Element:
    triple = (event.subject, event.predicate, event.object)
    return Element((tuple(ox.NamedNode(iri(part)[1:-1]) for part in triple),), event.start, event.end)


def graphs_of(vienna: Vienna) -> list[StaticGraph]:
    texts = {"transportationMap": vienna.city.map(), "registered": vienna.city.registered()}
    return [graph_of(_triples(lines), GRAPHS + name) for name, lines in texts.items()]


def known(vienna: Vienna) -> list[tuple]:
    """The triples of both graphs."""
    return [*_triples(vienna.city.map()), *_triples(vienna.city.registered())]


def _triples(lines: Iterable[str]) -> list[tuple]:
    quads = ox.parse("".join(lines), ox.RdfFormat.N_TRIPLES)
    return [(quad.subject, quad.predicate, quad.object) for quad in quads]


def program_of(vienna: Vienna, queries: Sequence[ParsedQuery], shards: int) -> Program:
    streams = [StreamName(GRAPHS + name) for name in STREAMS]
    return pipeline.program(queries, streams, graphs_of(vienna), shards=shards, now=BEGIN)


def given(vienna: Vienna, paths: Sequence[Path], shards: int, batch: int) -> list[Counter[tuple]]:
    """What each query gives and when, if about `batch` elements come at a time."""
    queries = pipeline.parse(paths)
    program = program_of(vienna, queries, shards)
    live = [program.open(number) for number in range(shards)]
    found: list[Counter[tuple]] = [Counter() for _ in queries]
    ahead = sorted(
        ((event, stream) for stream, events in enumerate(events_of(vienna)) for event in events),
        key=lambda each: each[0].end,
    )
    chance, watermark = Random(batch), NEVER
    while True:
        size = chance.randint(1, 2 * batch - 1)
        taken, ahead = ahead[:size], ahead[size:]
        payloads: list[list[bytes]] = [[] for _ in live]
        for stream in range(len(STREAMS)):
            arrived = [element_of(event) for event, of in taken if of == stream]
            if arrived:
                for shard, payload in program.route(stream, occurrences_of(arrived, program.key)):
                    payloads[shard].append(payload)
        if taken:
            watermark = taken[-1][0].end
        for number, shard in enumerate(live):
            for query, row in given_rows(shard, payloads[number], watermark + (not ahead), not ahead):
                _note(found[query], row)
            assert shard.shard.late == 0
        if not ahead:
            return found


def _note(found: Counter[tuple], row: dict) -> None:
    start, end, at = row.pop("start"), row.pop("end"), row.pop("since")
    assert row.pop("weight") == 1 and row.pop("until") == at + 1
    found[at, *row.values(), start, end] += 1

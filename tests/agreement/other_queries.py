"""Runs of several lives: each goes on from the stored chunks of the one before, with queries of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from agreement.engine_runs import keep, key_of, occurrences_of, table_rows
from agreement.tunings import tuning_of
from oracle.canonical import Row, canonical
from oracle.cases import Batch, Case, GraphData, StreamData
from oracle.query_text import QueryWriter, Style
from oracle.vocabulary import BASE
from penstock import pipeline
from penstock.algebra import Construct
from penstock.engine.program import Program
from penstock.engine.tuning import TUNING, Tuning
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.runtime.recovery.continuing import generation_of, go_on, queries_of
from penstock.timeline import NEVER


@dataclass
class Life:
    """The queries of a life by name, the batches that it takes, and its knowledge (None: the case's)."""

    queries: Mapping[str, str]
    batches: Sequence[Batch]
    graphs: Sequence[GraphData] | None = None
    language: str = "ep-sparql"


def program_of(
    case: Case,
    life: Life,
    shards: int,
    tuning: Tuning = TUNING,
    before: Program | None = None,
    batch: int = 0,
) -> Program:
    """The queries of a life, ready to run from a batch on, maybe after another life."""
    graphs = case.graphs if life.graphs is None else life.graphs
    program = pipeline.program(
        [parse_query(text, name=name, language=life.language) for name, text in life.queries.items()],
        [StreamName(data.name and data.name.value) for data in case.streams],
        [graph_of(data.triples, data.name and data.name.value, key=key_of(case)) for data in graphs],
        shards=shards,
        now=case.now,
        tuning=tuning,
        key=key_of(case),
        keys={query.algebra: query.key for query in before.queries} if before else {},
    )
    return program if before is None else going_on(program, before, batch)


def going_on(program: Program, before: Program, batch: int) -> Program:
    """A program that comes after another with a batch: what was in that goes on."""
    [*_, now], _ = go_on(
        [generation_of(0, before.queries, before.rules)], batch - 1, program.queries, program.rules
    )
    return program.begun([query.generation for query in queries_of(now)])


class Checkpoint:
    """What is left of a run when it stops: the chunks of its shards, and how far time has come."""

    def __init__(self, case: Case, shards: int = 1, tuning: Tuning = TUNING) -> None:
        self.case, self.shards, self.tuning = case, shards, tuning
        self.stored: list[dict[str, bytes]] = [{} for _ in range(shards)]
        self.watermark = self.latest = NEVER
        self.program: Program | None = None  # of the latest life
        self.batches = 0  # that are done

    def live(self, life: Life, *, ends: bool = False) -> dict[str, Counter[Row]]:
        """Goes on with the queries of a life; their answers by name."""
        case, before = self.case, self.program if self.batches else None
        program = program_of(case, life, self.shards, self.tuning, before, self.batches)
        self.program = program
        shards = [program.open(number) for number in range(self.shards)]
        for shard, chunks in zip(shards, self.stored, strict=True):
            if chunks:
                shard.restore(chunks.items())
        found: list[list] = [[] for _ in life.queries]
        for batch in [*life.batches, None] if ends else life.batches:
            payloads: list[list[bytes]] = [[] for _ in shards]
            for stream in sorted({number for number, _ in batch or ()}):
                arrived = [case.streams[s].elements[e] for s, e in batch if s == stream]
                self.latest = max([self.latest, *(element.end for element in arrived)])
                for shard, payload in program.route(stream, occurrences_of(arrived, program.key)):
                    payloads[shard].append(payload)
            if self.latest != NEVER:
                # When the streams are over, time has come to the last end of all.
                time = self.latest + 1 if batch is None else self.latest - case.lateness
                self.watermark = max(self.watermark, time)
            for shard, mine, chunks in zip(shards, payloads, self.stored, strict=True):
                for query, table in shard.answers(mine, self.watermark, batch is None):
                    found[query] += table_rows(table)
                keep(chunks, shard)
            self.batches += 1
        return dict(zip(life.queries, map(canonical, found), strict=True))

    def steps_with_state(self) -> set[str]:
        """The digests of the steps that something is stored for."""
        return {key.split(".")[0] for chunks in self.stored for key in chunks if "/" in key}


def some_queries(case: Case, random: Random, count: int) -> list[str]:
    """Queries over what the case has registered, none of them a rule."""
    names = [each.name for each in (*case.streams, *case.graphs) if each.name is not None]
    style = Style(
        graphs=[":" + name.value.removeprefix(BASE) for name in names],
        depth=random.choice((1, 2)),
        exists=random.random() < 0.3,
    )
    writer = QueryWriter(random, style)
    found: list[str] = []
    while len(found) < count:
        text = writer.query()
        if not isinstance(parse_query(text).query, Construct):
            found.append(text)
    return found


def later_part(case: Case, first: int, queries: Sequence[str]) -> Case:
    """Some queries over what comes in time in the batches from the first one on."""
    kept = {place for batch in case.batches[first:] for place in batch} - case.late
    streams = tuple(
        StreamData(data.name, tuple(e for i, e in enumerate(data.elements) if (number, i) in kept))
        for number, data in enumerate(case.streams)
    )
    at_once = tuple((s, e) for s, data in enumerate(streams) for e in range(len(data.elements)))
    return replace(case, streams=streams, queries=tuple(queries), batches=(at_once,))


def named(prefix: str, texts: Sequence[str]) -> dict[str, str]:
    return {f"{prefix}{i}": text for i, text in enumerate(texts)}


def mixed(random: Random, *groups: dict[str, str]) -> dict[str, str]:
    """The queries of some groups in any order."""
    items = [item for group in groups for item in group.items()]
    random.shuffle(items)
    return dict(items)


@dataclass
class Lives:
    """What became of the queries of a case that others came to and left."""

    found: list[Counter[Row]]
    cuts: list[int]  # the batches with which a life began
    left: set[str]  # the steps of which something is stored at the end
    wanted: set[str]  # those that still run
    dropped: bool  # the state of some steps is gone


def disturbed(case: Case) -> Lives:
    """Runs a case in several lives, with other queries beside its own in each."""
    random = Random(f"lives {case.seed}")
    stay = named("stays", case.queries)
    cuts = sorted(random.randint(0, len(case.batches)) for _ in range(random.choice((1, 1, 2))))
    checkpoint = Checkpoint(case, (1, 2, 8)[case.seed % 3], tuning_of(case.seed))
    lives = Lives([Counter() for _ in stay], cuts, set(), set(), False)
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(case.batches)], strict=True)):
        others = named(f"other{number % 2}-", some_queries(case, random, random.randint(0, 2)))
        had = checkpoint.steps_with_state()
        life = Life(mixed(random, stay, others), case.batches[begin:end])
        given = checkpoint.live(life, ends=number == len(cuts))
        lives.found = [found + given[name] for found, name in zip(lives.found, stay, strict=True)]
        lives.dropped |= bool(had - checkpoint.steps_with_state() - set(checkpoint.program.digests))
    lives.left, lives.wanted = checkpoint.steps_with_state(), set(checkpoint.program.digests)
    return lives

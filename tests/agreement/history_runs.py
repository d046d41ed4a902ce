"""Runs a random history of queries, and says what each of them gives and should give.

A query that begins with a batch answers as if its streams began with that batch (decision 0004). So what
it should give is what a program gives that has nothing but it, and is opened when it begins, at the
watermark that the run has then. What other queries give is a stream for it, which begins then, too. Elements
are closed by the rules, and from the knowledge, of the life that they come in; rules over streams are other
queries.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

from agreement.engine_runs import graphs_of, keep, key_of, occurrences_of, sealed_frames, travelled
from agreement.other_queries import going_on
from agreement.tunings import tuning_of
from agreement.window_runs import given_rows
from oracle.canonical import canonical
from oracle.cases import Element
from oracle.history_rules import text_of, with_closed_graph
from oracle.query_histories import QueryHistory, Text
from penstock import pipeline
from penstock.algebra import Construct, ParsedQuery, Query
from penstock.algebra.nodes import is_rule
from penstock.algebra.printing import to_sexpr
from penstock.algebra.scopes import ELEMENT, STREAM
from penstock.columns.ids import parse_term
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.engine.program_shard import ProgramShard
from penstock.engine.tuning import TUNING, Tuning
from penstock.pipeline.entailment import entailed
from penstock.plan.catalog import StreamName
from penstock.rules.executors import RuleConfig
from penstock.rules.reading import read_rules
from penstock.timeline import FOREVER, NEVER, SECOND

TRIPLE = ("subject", "predicate", "object")

Given = tuple[int | None, dict, int | None, int | None]
"""The instant of a continuous query's evaluation, terms, start and end."""


@dataclass
class Asked:
    """A query of a history from its first batch on; `until`: the batch before which it is removed."""

    text: Text
    begin: int
    names: dict[int, str] = field(default_factory=dict)  # what it is called, by life
    until: int | None = None
    silent: bool = False  # a rule over streams

    def beside(self, other: Asked) -> bool:
        """Whether both are there at some time."""
        ends = (each.until for each in (self, other) if each.until is not None)
        return max(self.begin, other.begin) < min(ends, default=FOREVER)

    def __hash__(self) -> int:
        return id(self)

    __eq__ = object.__eq__


def asked(history: QueryHistory) -> list[Asked]:
    """The queries of a history; one goes on under its name, or under another if the text is the same.

    One that takes other triples from static graphs than before, or is planned otherwise, begins anew.
    """
    found: list[Asked] = []
    running: dict[str, Asked] = {}
    for life, (begin, queries) in enumerate(history.lives):
        rules = history.constructs(begin)
        queries = {**queries, **rules}
        known = {name: each for name, each in running.items() if _knows(history, each, begin)}
        same = {name: known[name] for name, text in queries.items() if _says(known.get(name), text)}
        free = [each for name, each in running.items() if name not in same]
        for name, text in queries.items():
            if name not in same:
                renamed = next((each for each in free if each in known.values() and _says(each, text)), None)
                if renamed is None:
                    renamed = Asked(text, begin, silent=name in rules)
                    found.append(renamed)
                else:
                    free.remove(renamed)
                same[name] = renamed
            same[name].names[life] = name
        for each in free:
            each.until = begin
        running = {name: same[name] for name in queries}
    return found


def _knows(history: QueryHistory, query: Asked, batch: int) -> bool:
    """Whether a query takes from static graphs with a batch what it took when it began."""
    both = (query.begin, batch)
    if len({(history.knowing(each), history.ruled(each)) for each in both}) == 1:
        return True
    texts = (text for _, queries in history.lives for text in queries.values())
    giving = [text.parsed for text in texts if text.gives][:1]  # rules for elements are not asked about that
    parsed = [query.text.parsed, *(giving if query.text.reads else ())]
    one = program_of(history, parsed, batch=query.begin)
    other = program_of(history, parsed, batch=batch, before=one)
    return one.queries[0].last == other.queries[0].last


def _says(query: Asked | None, text: Text) -> bool:
    return query is not None and query.text == text


def watermarks(history: QueryHistory) -> list[int]:
    """The watermark before each batch, after the last, and when all streams are over."""
    data, found, watermark = history.data, [NEVER], NEVER
    for batch in data.arriving():
        watermark = max([watermark, *(element.end - data.lateness for _, element in batch)])
        found.append(watermark)
    return [*found, watermark if watermark == NEVER else watermark + data.lateness + 1]


def arrived(history: QueryHistory, number: int) -> Iterator[tuple[int, list[Element]]]:
    """The elements of a batch by stream; behind the last one comes the end, without elements."""
    data = history.data
    batch = data.batches[number] if number < len(data.batches) else ()
    for stream in sorted({each for each, _ in batch}):
        yield stream, [data.streams[stream].elements[e] for s, e in batch if s == stream]


def program_of(
    history: QueryHistory,
    queries: Iterable[ParsedQuery],
    shards: int = 1,
    tuning: Tuning = TUNING,
    *,
    before: Program | None = None,
    batch: int = 0,
    given: Iterable[str | None] = (),
    alone: bool = False,
) -> Program:
    """Queries over what a history has registered, and over streams that others give beside it.

    `before` is the program that ran until a batch: what was in it goes on. `alone`: without rules over
    streams, which are other queries (but what they derive from knowledge alone is known), and with all
    rules for elements, also those that change no answer.
    """
    data, rules, queries = history.knowing(batch), history.ruled(batch), list(queries)
    if alone and history.scope is STREAM:
        data, rules = with_closed_graph(data, rules), ()
    entailment = RuleConfig(
        read_rules(text_of(rules)).rules if rules else (),
        history.scope if rules else ELEMENT,
        history.within and history.within * SECOND if rules else None,
        all_rules=alone,
    )
    graphs = graphs_of(data)
    program = pipeline.program(
        queries,
        [*(StreamName(each.name.value) for each in data.streams), *map(StreamName, given)],
        graphs,
        shards=shards,
        now=data.now,
        tuning=tuning,
        key=key_of(data),
        keys={query.algebra: query.key for query in before.queries} if before else {},
        entailed=entailed(graphs, queries, entailment, key_of(data)),
    )
    return program if before is None else going_on(program, before, batch)


def rows_of(
    shard: ProgramShard, payloads: list[bytes], watermark: int, ended: bool
) -> Iterator[tuple[int, Given]]:
    """What a step of a shard gives, as (query, row)."""
    for query, row in given_rows(shard, payloads, watermark, ended):
        start, end, at = row.pop("start"), row.pop("end"), row.pop("since", None)
        if at is not None:
            assert row.pop("weight") == 1 and row.pop("until") == at + 1
        terms = {name: parse_term(text.encode()) for name, text in row.items() if text is not None}
        yield query, (at, terms, start, end)


def counted(rows: Iterable[Given]) -> Counter:
    """Canonical rows with the instants at which they are given."""
    by_instant: dict[int | None, list] = defaultdict(list)
    for at, *row in rows:
        by_instant[at].append(row)
    return Counter(
        {(at, row): count for at, found in by_instant.items() for row, count in canonical(found).items()}
    )


# --- one run, with queries that come and go -----------------------------------------------------------


def given_by_run(history: QueryHistory, shards: int = 1, *, restore: bool = False) -> dict[Asked, Counter]:
    """What each query gives in one run; `restore`: every so often shards go on from stored chunks alone."""
    queries, found = asked(history), defaultdict(list)
    tuning, random = tuning_of(history.seed), Random(history.seed)
    stored: list[dict[str, bytes]] = [{} for _ in range(shards)]
    times = watermarks(history)
    program = None
    ends = [begin for begin, _ in history.lives[1:]] + [len(history.data.batches) + 1]
    with tempfile.TemporaryDirectory() as scratch, sealed_frames():
        for life, ((begin, texts), end) in enumerate(zip(history.lives, ends, strict=True)):
            called = {each.names[life]: each for each in queries if life in each.names}
            parsed = [replace(text.parsed, name=name) for name, text in texts.items()]
            program = program_of(history, parsed, shards, tuning, before=program, batch=begin)
            if history.seed % 2:
                program = travelled(program, Path(scratch, str(life)))
            live = [program.open(number) for number in range(shards)]
            for shard, chunks in zip(live, stored, strict=True):
                if chunks:
                    shard.restore(chunks.items())
            for number in range(begin, end):
                payloads = routed(program, history, number)
                last = number == len(history.data.batches)
                for place, shard in enumerate(live):
                    watermark = times[number + 1]
                    for query, row in rows_of(shard, payloads[place], watermark, last):
                        found[called[parsed[query].name]].append(row)
                    keep(stored[place], shard)
                    if restore and random.random() < 0.5:
                        live[place] = program.open(place)
                        live[place].restore(stored[place].items())
    return {query: counted(found[query]) for query in queries}


def routed(
    program: Program, history: QueryHistory, number: int, now: Program | None = None
) -> list[list[bytes]]:
    """What each shard gets of a batch; `now`: the program whose rules and knowledge there are then."""
    payloads: list[list[bytes]] = [[] for _ in range(program.shards)]
    for stream, elements in arrived(history, number):
        closed = (now or program).reason(occurrences_of(elements, program.key))
        for shard, payload in program.route(stream, closed):
            payloads[shard].append(payload)
    return payloads


# --- a program for each query ---------------------------------------------------------------------------


class ByThemselves:
    """What each query of a history gives by itself, from its first batch on."""

    def __init__(self, history: QueryHistory) -> None:
        self.history = history
        self.queries = asked(history)
        self.parsed = {query: query.text.parsed for query in self.queries}
        self.times = watermarks(history)
        self._given: dict[Asked, dict[int, list[Given]]] = {}
        self._numbers: dict[tuple, int] = {}  # of elements that queries give

    def given(self, query: Asked) -> Counter | None:
        """What a query gives; None: it is left out, because by itself it does not see what it should.

        What rules over streams derive from knowledge alone is for FROM, too; here it is in the default graph.
        """
        dataset = self.parsed[query].query.dataset
        if dataset is not None and self.history.scope is STREAM and self.history.rules:
            return None
        return counted(row for rows in self.rows(query).values() for row in rows)

    def rows(self, query: Asked) -> dict[int, list[Given]]:
        """What a query gives, by batch."""
        if query not in self._given:
            self._given[query] = self._by_itself(query)
        return self._given[query]

    def _by_itself(self, query: Asked) -> dict[int, list[Given]]:
        history, parsed = self.history, self.parsed[query]
        others = self._read_by(query)
        how = {"given": [name for _, name in others], "alone": True}
        now = program = program_of(history, [parsed], batch=query.begin, **how)
        shard = program.open(0)
        found: dict[int, list[Given]] = {}
        end = len(history.data.batches) + 1 if query.until is None else query.until
        for number in range(query.begin, end):
            if number in dict(history.lives) and number > query.begin:
                now = program_of(history, [parsed], batch=number, **how)
            rows = []
            if number == query.begin and number:
                rows += rows_of(shard, [], self.times[number], False)
            [payloads] = routed(program, history, number, now)
            for place, (other, _) in enumerate(others, len(history.data.streams)):
                for _, payload in program.route(place, self._as_stream(other, query, number, program.key)):
                    payloads.append(payload)
            watermark = self.times[number + 1]
            rows += rows_of(shard, payloads, watermark, number == len(history.data.batches))
            found[number] = [row for _, row in rows]
        return found

    def _read_by(self, query: Asked) -> list[tuple[Asked, str | None]]:
        """The queries whose triples this one reads, and the names of the streams that they are for it."""
        asked, found = self.parsed[query].query, {}
        for other, parsed in self.parsed.items():
            if other is query or not is_rule(parsed.query) or not other.beside(query):
                continue
            if parsed.query.target is not None:
                if not (query.text.reads and other.text.gives):
                    continue
                name = parsed.query.target.value
            elif asked.continuous is None and asked.scope != ELEMENT and _may_read(asked, parsed.query):
                name = asked.dataset.default[0].value if asked.dataset else None
            else:
                continue
            # Equal queries that began together give one stream: as long as the last of them.
            same = found.get((other.text, other.begin), (other, name))[0]
            lasts_longer = other.until is None or (same.until is not None and other.until > same.until)
            found[other.text, other.begin] = (other if lasts_longer else same, name)
        return list(found.values())

    def _as_stream(self, other: Asked, reader: Asked, number: int, key: int) -> Occurrences:
        """What a query gives in a batch, as elements.

        What a rule gives is for windows a stream of elements, and for others a graph: its instants are
        those of what it comes from. Who reads the default graph of all streams has these anyway.
        """
        elements: dict[tuple[int, int], dict] = {}
        for at, terms, start, end in self.rows(other).get(number, ()):
            if at is None and end is None:
                continue  # it follows from knowledge alone, and is known
            interval = (start if at is None or start is not None else at, end if at is None else at)
            elements.setdefault(interval, {})[tuple(terms[name] for name in TRIPLE)] = None
        found = occurrences_of((Element((*triples,), *each) for each, triples in elements.items()), key)
        numbers = [self._numbers.setdefault((other, each), len(self._numbers)) for each in elements]
        sizes = [len(triples) for triples in elements.values()]
        found = replace(found, element=np.repeat(np.array(numbers, np.int64), sizes))
        asked = self.parsed[other].query
        reading = self.parsed[reader].query
        if asked.target is None and (reading.dataset is None or asked.dataset is not None):
            return replace(found, instants=found.instants[:0])
        if asked.continuous is None and reading.continuous is None:
            there = number in self.rows(other)
            read = [each for _, part in arrived(self.history, number) if there for each in part]
            return replace(found, instants=occurrences_of(read, key).instants)
        return found


def _may_read(query: Query, rule: Construct) -> bool:
    """Whether a rule names what another one derives; other queries may read everything."""
    made = {str(triple.predicate) for triple in rule.template}
    return not is_rule(query) or any(name in to_sexpr(query.pattern) for name in made)


def differences(history: QueryHistory, shards: int, *, restore: bool) -> tuple[int, list[str]]:
    """How many answers were compared, and where queries give something else than by themselves."""
    return compared(given_by_run(history, shards, restore=restore), ByThemselves(history))


def compared(given: Mapping[Asked, Counter], definition: ByThemselves) -> tuple[int, list[str]]:
    """How many answers were compared, and where a run gives something else than a definition says."""
    count, lines = 0, []
    for query, (asked, found) in zip(definition.queries, given.items(), strict=True):
        wanted = None if asked.silent else definition.given(query)
        if wanted is None:
            continue
        count += wanted.total()
        if wanted != found:
            called = "/".join(dict.fromkeys(asked.names.values()))
            lines.append(f"{called}, from batch {asked.begin} to {asked.until or 'the end'}:")
            for word, rows in ("missing", wanted - found), ("surplus", found - wanted):
                lines += [f"   {word}  {row} ×{n}" for row, n in sorted(rows.items(), key=repr)[:5]]
    return count, lines

"""A shard: all operators over the rows of some keys, stepping from batch to batch."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np

from penstock.columns import wire
from penstock.columns.frame import Frame
from penstock.columns.instants import sorted_unique
from penstock.columns.terms import TermChunk, TermTable
from penstock.decode.elements import Elements
from penstock.engine import operators
from penstock.engine.choice import operator_of
from penstock.engine.counting import RowCounts
from penstock.engine.digests import gone_on
from penstock.engine.exchange import has_predicate, match, static_rows
from penstock.engine.expressions import Evaluator
from penstock.engine.network import Edge, Network, Unit
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext
from penstock.engine.quota import Quota
from penstock.engine.static_snapshot import StaticSnapshot
from penstock.engine.tuning import TUNING, Tuning
from penstock.functions.errors import add_refused
from penstock.knowledge.graphs import StaticGraph
from penstock.plan import steps
from penstock.plan.sources import static_graphs
from penstock.plan.steps.step import Arriving
from penstock.plan.steps.windowing import filled
from penstock.timeline import FOREVER, NEVER

_CLOCK, _STEPS = "clock", "steps"
"""The two entries of a shard's state that are no chunks: where it stands, and whose state it is."""
_LOOK = 1 << 16
"""Rows that steps hand on between two looks at how much is held."""


class Shard:
    """The live state of one shard.

    `net` and `outputs` (query → its last step) are the plan; `names` are the digests of the steps (behind
    those of the network come steps that run elsewhere: it only counts their rows), and
    `queries` those of the last steps of all queries by name. Static knowledge is there when the
    shard opens, and is not part of the stored state: it is taken in from the `graphs`, or `snapshot` has
    what has become of it when another shard took it in. `version` is its number, if it changes.
    """

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        queries: Mapping[str, str],
        outputs: dict[int, int],
        graphs: list[StaticGraph],
        now: int,
        tuning: Tuning = TUNING,
        key: int = 0,
        snapshot: StaticSnapshot | None = None,
        version: int = 0,
    ) -> None:
        self.net = net
        self.names = names
        self.queries = queries
        self.tuning = tuning
        self.terms = TermTable(key=key, below=snapshot.terms if snapshot is not None else None)
        self.context = OperatorContext(self.terms, Evaluator(self.terms, now), tuning, version)
        self.operators = [
            operator_of(step)(step, name, self.context) for name, step in zip(names, net.steps, strict=False)
        ]
        self.scans = {names[i]: i for i, step in enumerate(net.steps) if isinstance(step, steps.Scan)}
        self.arriving = {names[i]: i for i, step in enumerate(net.steps) if isinstance(step, Arriving)}
        self.outputs = outputs
        self.watermark = NEVER
        self.late = 0  # rows that were left out
        self.quota = Quota()
        self._given: Counter[int] = Counter()  # answers of this step, by query
        self._unchecked = 0  # rows that steps have handed on since the quota was looked at
        self.counts = RowCounts()
        # Instants are kept by the generation that they came in: a step knows none from before its own.
        self._generation = max(net.generations, default=0)
        self._pending: dict[tuple[int, int], np.ndarray] = {}  # generation and stream → instants to come
        self._minding: dict[tuple[int, int], bool] = {}  # generation and stream → `_minds`
        self._dropped: list[str] = []  # chunks of steps that are no more
        self._steps_stored = False  # the state store knows whose state it has
        self._inbox: list[list[list[Frame]]] = [
            [[] for _ in range(max(1, len(step.inputs)))] for step in net.steps
        ]
        self._ready: list[set[int]] = [set() for _ in net.units]  # the places of each that have new rows
        self._news: list[int] = []  # and those of late
        self._outgoing = net.outgoing()
        self._passing = Clock()
        self._results: dict[int, list[int]] = {}  # last step → queries
        for query, last in outputs.items():
            self._results.setdefault(last, []).append(query)
        for place, operator in enumerate(self.operators):
            if place not in self._results:
                operator.read_by([net.steps[edge.target] for edge in self._outgoing[place]])
        self._answers: dict[int, list[Frame]] = {}
        self.hand_over: Callable[[int, Frame], None] | None = None  # takes portions of a step's answers
        self._taken: list[np.ndarray] = []  # ids of new rows that came further than filters by row
        self._kept_terms = 0
        self.static_counts = RowCounts()
        self.snapshot = snapshot
        if snapshot is None:
            self._take_in_static(graphs)
        else:
            snapshot.give(self)

    # --- the three ways in: static knowledge, stored state, a batch ---

    def _take_in_static(self, graphs: list[StaticGraph]) -> None:
        for place in self.scans.values():
            for number in sorted(static_graphs(self.net.steps[place].sources)):
                graph = graphs[number]
                self.terms.add_chunk(graph.terms)
                found = static_rows(self.net.steps[place], graph, self.terms.key)
                if len(found):
                    self.counts.match(place, len(found))
                elif has_predicate(self.net.steps[place], graph, self.terms.key):
                    self.counts.occurred.add(place)
                self._put(place, found)
        self._pass(Clock(first=True))
        self._accept_terms()
        for operator in self.operators:
            for store in operator.stores:
                store.forget_fresh()
        # Every shard has the static knowledge, so what follows from it alone is counted apart.
        self.static_counts, self.counts = self.counts, RowCounts()

    def know(self, snapshot: StaticSnapshot, version: int) -> None:
        """From now on has another snapshot of static knowledge; what is remembered of elements stays."""
        self.context.version = version
        self.terms.stand_above(snapshot.terms, self._remembered_ids())
        self.snapshot = snapshot
        snapshot.give(self)

    def answer(self, query: int, frame: Frame) -> None:
        """Adds answers to those that the next step gives; many at once are handed over before it is done."""
        self._answers.setdefault(query, []).append(frame)
        self._given[query] += len(frame)
        if self.quota.answers is not None:
            self.quota.check_answers(self._given[query], self._query_name(query))
        if self.hand_over is not None and len(frame) >= self.tuning.pairs // 2:
            self.hand_over(query, self._concatenated(query, self._answers.pop(query)))

    def static_answers(self) -> dict[int, Frame]:
        """What follows from static knowledge alone, by query; it is among the first step's answers."""
        return {query: self._concatenated(query, frames) for query, frames in self._answers.items()}

    def restore(self, chunks: Iterable[tuple[str, bytes]]) -> None:
        """Takes over the chunks of the state store, right after opening.

        They may be those of other queries. Steps that were there before go on with what they remember,
        new ones see what their inputs give from now on; what nobody remembers any more is dropped.
        """
        stores = {store.name: store for operator in self.operators for store in operator.stores}
        found = dict(chunks)
        before = self._take_over(json.loads(found.pop(_STEPS)))
        clock, _, head = wire.unpack(found.pop(_CLOCK))
        self.watermark = head["watermark"]
        self.counts = RowCounts.from_json(head["counts"]).moved(before)
        for name, frame in clock:
            generation, stream = map(int, name.split("/"))
            if self._minds(generation, stream):
                self._pending[generation, stream] = frame.end.copy()
        for key in sorted(found):
            name, chunk = key.split("/")
            if name not in stores:
                self._dropped.append(key)
                continue
            [(_, frame)], terms, _ = wire.unpack(found[key])
            self.terms.add_chunk(terms)
            stores[name].restore(chunk, frame, self.watermark)
        for operator in self.operators:
            operator.restored()

    def _take_over(self, stored: dict) -> dict[int, int]:
        """Finds the steps of the stored state among those of this shard; where they were → where they are."""
        here = {name: place for place, name in enumerate(self.names)}
        self._generation = max(self._generation, stored["generation"])
        self._steps_stored = stored["steps"] == list(self.names) and stored["queries"] == dict(self.queries)
        # Queries that go on have given their answers from static knowledge when they began.
        known = gone_on(stored["queries"], self.queries)
        for number, name in enumerate(self.queries):
            if name in known:
                self._answers.pop(number, None)
        return {place: here[name] for place, name in enumerate(stored["steps"]) if name in here}

    def _minds(self, generation: int, stream: int) -> bool:
        """Whether the instants of a stream that came in some generation matter to a step."""
        if (generation, stream) not in self._minding:
            self._minding[generation, stream] = any(
                born <= generation and step.waits and stream in step.instants
                for born, step in zip(self.net.generations, self.net.steps, strict=True)
            )
        return self._minding[generation, stream]

    def step(self, payloads: list[bytes], watermark: int, ended: bool) -> dict[int, Frame]:
        """Takes in a batch and moves the watermark; the new answers by query.

        Rows that end before the watermark so far are late, and changes that begin before it: they are
        counted and left out.
        """
        for payload in payloads:
            frames, terms, head = wire.unpack(payload)
            self.terms.offer(terms)
            self.counts.occurred.update(self.scans[name] for name in head.get("occurred", ()))
            for name, rows in head.get("matched", {}).items():
                self.counts.match(self.scans[name], rows)
            if "elsewhere" in head:
                self.counts += RowCounts.from_json(head["elsewhere"]).behind(len(self.net.steps))
            add_refused(head.get("refused", {}))
            for name, frame in frames:
                in_time = (frame.since if frame.retractable else frame.end) >= self.watermark
                if not in_time.all():
                    late = len(frame) - int(in_time.sum())
                    self.late += late
                    if name in self.arriving:
                        self.counts.be_late(self.arriving[name], late)
                    frame = frame.take(in_time)
                if name.startswith("instants/"):
                    self._note_instants(int(name.removeprefix("instants/")), frame.end)
                else:
                    self._put(self.arriving[name], frame)
        if ended:  # windows report up to the last end of all, and then only as long as they have something
            self._advance(max(watermark, self.watermark))
        return self._moved_to(FOREVER if ended else max(watermark, self.watermark))

    def feed(
        self,
        frames: dict[str, Frame],
        terms: TermChunk,
        watermark: int,
        instants: Mapping[int, np.ndarray] = MappingProxyType({}),
    ) -> dict[int, Frame]:
        """Takes in rows of scans as they are, and ends of elements, without the way through payloads."""
        self.terms.offer(terms)
        for stream, ends in instants.items():
            self._note_instants(stream, ends)
        for name, frame in frames.items():
            self._put(self.scans[name], frame)
        return self._moved_to(watermark)

    def answer_once(self, frames: dict[str, Frame], terms: TermChunk) -> dict[int, Frame]:
        """The answers to rows that are all there will ever be; after that the shard is of no use."""
        self.terms.offer(terms)
        for name, frame in frames.items():
            self._put(self.scans[name], frame)
        self._pass(self._clock(FOREVER))
        answers = {query: self._concatenated(query, found) for query, found in self._answers.items()}
        self.terms.accept([frame.ids.reshape(-1) for frame in answers.values()], self.tuning.unneeded_terms)
        return answers

    def _moved_to(self, watermark: int) -> dict[int, Frame]:
        """Lets time move on; the new answers by query."""
        self._advance(watermark)
        answers = {query: self._concatenated(query, frames) for query, frames in self._answers.items()}
        self._answers = {}
        self._given.clear()
        self._check_state()
        return answers

    def _concatenated(self, query: int, frames: list[Frame]) -> Frame:
        return Frame.concat(frames, self.net.steps[self.outputs[query]].vars)

    def _note_instants(self, stream: int, ends: np.ndarray) -> None:
        for each in self._minded(stream):
            known = self._pending.get((self._generation, each), np.empty(0, np.int64))
            self._pending[self._generation, each] = sorted_unique(np.concatenate([known, ends]))

    def _minded(self, stream: int) -> list[int]:
        """What has the instants of a stream, and matters to a step, beside itself."""
        numbers = (stream, *sorted(self.net.passed_on.get(stream, ())))
        return [number for number in numbers if self._minds(self._generation, number)]

    # --- time ---

    def _advance(self, watermark: int) -> None:
        """Runs the network until nothing more follows from what is there by the watermark."""
        self._pass(self._clock(watermark))
        self._accept_terms()
        for operator in self.operators:
            for store in operator.stores:
                store.expire(self.watermark)
        self._collect_terms()

    def _clock(self, now: int) -> Clock:
        """The clock of a move to `now`, with the instants that this passes."""
        clock = Clock(self.watermark, now)
        if now > self.watermark:
            for each, pending in self._pending.items():
                clock.passed[each] = pending[pending < now]
                self._pending[each] = pending[pending >= now]
            self.watermark = now
        return clock

    def _next_due(self, places: Iterable[int], passing: Iterable[np.ndarray]) -> int:
        """The earliest instant at which something waits; FOREVER if nothing does."""
        waiting = (getattr(self.operators[place], "waiting", None) for place in places)
        ends = [
            int(rows.end[: rows.count].min())
            for each in waiting
            if each is not None
            for (_, timeless), rows in each.store.parts.items()
            if rows.count and not timeless
        ]
        ends += [int(instants[0]) for instants in passing if len(instants)]
        return min(ends, default=FOREVER)

    # --- running the network ---

    def _pass(self, clock: Clock) -> None:
        self._passing = clock
        for unit in self.net.units:
            if unit.leads_back:
                self._go_round(unit, clock)
            else:
                self._go_through(unit, clock)

    def _go_through(self, unit: Unit, clock: Clock) -> None:
        """Runs the groups in their order, each until nothing new comes.

        Where time stands still only what has new rows runs, however large the unit is.
        """
        if _moves(clock):
            for number, group in enumerate(unit.groups):
                self._run_group(unit, number, group, clock)
            return
        numbers = [unit.group_of[place] for place in self._ready[unit.number]]
        heapq.heapify(numbers)
        self._news.clear()
        ran = -1
        while numbers:
            number = heapq.heappop(numbers)
            if number > ran:
                ran = number
                self._run_group(unit, number, (), clock)
                for place in self._news:
                    if place in unit.group_of and unit.group_of[place] > ran:
                        heapq.heappush(numbers, unit.group_of[place])
                self._news.clear()

    def _run_group(self, unit: Unit, number: int, places: Iterable[int], clock: Clock) -> None:
        """Runs some places of a group, and then all that have new rows, until none has."""
        for place in places:
            self._run(place, clock)
        members, ready = unit.members[number], self._ready[unit.number]
        clock = Clock(clock.now, clock.now)
        while again := sorted(ready & members):
            for place in again:
                self._run(place, clock)

    def _go_round(self, unit: Unit, clock: Clock) -> None:
        """Runs a circle until it is quiet: first what follows at once, then as time moves on."""
        places = [place for group in unit.groups for place in group]

        def until_quiet(part: Clock) -> None:
            self._go_through(unit, part)
            while self._ready[unit.number]:
                self._go_through(unit, Clock(part.now, part.now))

        until_quiet(Clock(clock.before, clock.before, clock.first))
        clock = clock.after(clock.before)
        while unit.by_instant:
            due = self._next_due(places, clock.passed.values())
            if due >= clock.now:
                break
            until_quiet(clock.until(due + 1))
            clock = clock.after(due + 1)
        until_quiet(clock)

    def _run(self, place: int, clock: Clock) -> None:
        operator, inbox = self.operators[place], self._inbox[place]
        step = operator.step
        if not any(inbox) and not (_moves(clock) and operator.timed):
            return
        if not step.inputs:
            inputs = inbox[0]
        else:
            inputs = [
                Frame.concat(frames, below.vars) for frames, below in zip(inbox, step.inputs, strict=False)
            ]
        self._inbox[place] = [[] for _ in inbox]
        self._ready[self.net.unit_of[place]].discard(place)
        if self.net.generations[place] and clock.passed:
            clock = clock.since(self.net.generations[place])
        try:
            for frame in cast(BlockingOperator, operator).advance(inputs, clock):
                self._hand_on(place, frame)
        except Exception as problem:
            problem.add_note(self._where(place))
            raise

    def _where(self, place: int) -> str:
        """A step and the queries that it works for, as a person counts them."""
        readers = [str(query + 1) for query in self._readers(place)]
        of = f" of query {', '.join(readers)}" if readers else ""
        return f"at the step {type(self.net.steps[place]).__name__}{of}"

    def _readers(self, place: int) -> list[int]:
        """The queries that a step works for."""
        step = self.net.steps[place]
        return sorted(
            query
            for last, queries in self._results.items()
            if any(each == step for each in self.net.steps[last].walk())
            for query in queries
        )

    def _query_name(self, number: int) -> str:
        return list(self.queries)[number]

    def _check_state(self) -> None:
        """Refuses to hold more than the quota allows, be it remembered or on the way to the next step."""
        self._unchecked = 0
        if not self.quota.bounds_state or not self.operators:
            return
        held = [self._held(place) for place in range(len(self.operators))]
        rows, size = map(sum, zip(*held, strict=True))
        largest = held.index(max(held))
        named = ", ".join(map(self._query_name, self._readers(largest)))
        where = f"at the step {type(self.net.steps[largest]).__name__} of query {named}"
        self.quota.check_state(rows, size + self.terms.nbytes, where)

    def _held(self, place: int) -> tuple[int, int]:
        """The rows that a step remembers or is still to look at, and their bytes."""
        sizes = [store.size() for store in self.operators[place].stores]
        if not isinstance(self.net.steps[place], Arriving):  # a batch is as large as it is
            waiting = [frame for slot in self._inbox[place] for frame in slot]
            sizes += [(len(frame), 8 * len(frame) * (len(frame.vars) + 2)) for frame in waiting]
        return sum(rows for rows, _ in sizes), sum(size for _, size in sizes)

    def _hand_on(self, place: int, frame: Frame) -> None:
        """Gives new rows of a step to those that read them; row-by-row steps take them on at once."""
        arrives = isinstance(self.net.steps[place], Arriving)
        new = [(place, frame)]
        while new:
            place, frame = new.pop()
            if not len(frame):
                continue
            self.counts.give(place, len(frame))
            self._unchecked += len(frame)
            stays = place in self._results
            if place in self.net.notifies:
                self._notify_of_instants(self.net.notifies[place], frame)
            for edge in self._outgoing[place]:
                reader = self.operators[edge.target]
                if isinstance(reader, operators.RowOperator):
                    new.append((edge.target, reader.apply(frame)))
                else:
                    self._deliver(edge, frame)
                    stays = True
            for query in self._results.get(place, ()):
                self.answer(query, frame)
            if arrives and stays:
                self._taken.append(frame.ids.reshape(-1))
        if self._unchecked >= _LOOK:
            self._check_state()

    def _notify_of_instants(self, number: int, frame: Frame) -> None:
        """The ends of what is derived are instants, as those of a stream's elements: who asks runs later."""
        ends = np.unique(frame.end[~frame.timeless_mask()])
        passed = ends < self._passing.now
        for stream in (number, filled(number)):
            for each in self._minded(stream):
                known = self._passing.passed.get((self._generation, each), ends[:0])
                self._passing.passed[self._generation, each] = np.union1d(known, ends[passed])
            self._note_instants(stream, ends[~passed])

    def _deliver(self, edge: Edge, frame: Frame) -> None:
        if edge.derived:
            scan = self.net.steps[edge.target]
            element = None
            if scan.element:  # what a query gives with the same interval is one
                elements = Elements(self.names[edge.source], self.terms.key)
                element = elements.numbered(frame.end, members=frame.start)
            frame = match(
                scan, tuple(frame.ids), frame.start, frame.end, self.terms.key, element, frame.presence
            )
            if not len(frame):
                return
            self.counts.match(edge.target, len(frame))
        self._put(edge.target, frame, edge.slot)

    def _put(self, place: int, frame: Frame, slot: int = 0) -> None:
        """Gives a step new rows, which it takes in when it runs."""
        self._inbox[place][slot].append(frame)
        ready = self._ready[self.net.unit_of[place]]
        if place not in ready:
            ready.add(place)
            self._news.append(place)

    # --- stored state ---

    def state(self) -> tuple[int, int]:
        """How many rows are remembered, static knowledge apart, and the bytes of their columns and texts."""
        sizes = [store.size() for operator in self.operators for store in operator.stores]
        return sum(rows for rows, _ in sizes), sum(size for _, size in sizes) + self.terms.nbytes

    def changes(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        """The chunks to put and the keys to delete since the last call."""
        puts: list[tuple[str, bytes]] = []
        deletes, self._dropped = self._dropped, []
        if not self._steps_stored:
            described = {"steps": list(self.names), "generation": self._generation, "queries": self.queries}
            puts.append((_STEPS, json.dumps(described).encode()))
            self._steps_stored = True
        for operator in self.operators:
            for store in operator.stores:
                new, gone = store.changes(self.watermark)
                for key, frame in new:
                    data = wire.pack([("", frame)], self.terms.subset(frame.ids.reshape(-1)))
                    puts.append((f"{store.name}/{key}", data))
                deletes += [f"{store.name}/{key}" for key in gone]
        pending = [
            (f"{generation}/{stream}", Frame((), np.empty((0, len(ends)), np.int64), ends, ends))
            for (generation, stream), ends in self._pending.items()
            if len(ends) or generation == self._generation
        ]
        puts.append((_CLOCK, wire.pack(pending, watermark=self.watermark, counts=self.counts.to_json())))
        return puts, deletes

    def _accept_terms(self) -> None:
        """Of the texts that came, takes over those of rows that may be remembered or answered."""
        self.terms.accept(self._taken, self.tuning.unneeded_terms)
        self._taken = []

    def _collect_terms(self) -> None:
        """Forgets texts that no remembered row mentions, once they are the larger part."""
        if self.terms.size <= 2 * self._kept_terms + self.tuning.spare_terms:
            return
        self.terms.retain(self._remembered_ids())
        self._kept_terms = self.terms.size

    def _remembered_ids(self) -> np.ndarray:
        """The ids in all rows that are remembered, static ones apart, or that are to be given."""
        used = [np.empty(0, np.int64)]
        used += [
            rows.ids[:, rows.static : rows.count].reshape(-1)
            for operator in self.operators
            for store in operator.stores
            for rows in store.parts.values()
        ]
        used += [ids for operator in self.operators for ids in operator.held()]
        used += [frame.ids.reshape(-1) for frames in self._answers.values() for frame in frames]
        return np.concatenate(used)


def _moves(clock: Clock) -> bool:
    return clock.now > clock.before or clock.first

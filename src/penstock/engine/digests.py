"""What a step computes, as a digest: the name of its state, in every process and after every restart.

Two steps with one digest give the same rows from the same elements, whatever other queries are there
and wherever the steps stand in their networks. So a checkpoint can go on with other queries: a
step that was there before finds its state again, and one that was not starts with none.

A digest is made of the step's type and fields, terms as text, inputs by their digests, streams by
their registered names. Of static knowledge the rows count that a scan takes from it, and the rules
that derive triples from knowledge alone: what is changed there makes other steps above. Rules
that read a stream are no part of a scan's digest: what they derive are occurrences, which may come or
cease to come as those of any stream.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import MappingProxyType

import numpy as np

from penstock.columns import hashing
from penstock.columns.frame import Frame
from penstock.columns.ids import HASHED, hash_texts
from penstock.columns.terms import TermChunk
from penstock.engine.network import Network
from penstock.errors import InternalError
from penstock.jit import njit
from penstock.plan import sources, steps
from penstock.plan.analysis.components import components
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.steps import Step
from penstock.terms import BlankNode, Literal, NamedNode

_SIZE = 16


@dataclass(frozen=True)
class QueryIdentity:
    """What a checkpoint knows of a query: its name, what it says, and the steps that answer it."""

    name: str
    algebra: str  # a digest
    last: str  # the digest of the step that gives the answers
    key: str | None = None  # the variable by which its rows are spread
    generation: int = 0  # the batch that it began with


@dataclass(frozen=True)
class RulesIdentity:
    """What a checkpoint knows of the rules by which elements are closed, and of the knowledge behind them."""

    rules: tuple[tuple[str, str], ...] = ()  # names and digests
    knowledge: str = ""  # a digest


def digest_of(*parts: str) -> str:
    """One digest of several texts."""
    made = hashlib.blake2b(digest_size=_SIZE)
    for part in parts:
        data = part.encode()
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


def gone_on(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Which queries go on, and under which names they did before; both are last steps by name.

    A query that has got another name goes on too; one that only computes the same as another is new.
    """
    found = {name: name for name, last in now.items() if before.get(name) == last}
    free: dict[str, list[str]] = {}
    for name, last in before.items():
        if name not in found:
            free.setdefault(last, []).append(name)
    for name, last in now.items():
        if name not in found and free.get(last):
            found[name] = free[last].pop(0)
    return found


# --- steps ---------------------------------------------------------------------------------


def digests(
    net: Network,
    catalog: Catalog,
    static: Callable[[steps.Scan], str],
    elsewhere: Mapping[Step, str] = MappingProxyType({}),
) -> list[str]:
    """The digest of each step of a network.

    `static` says what a scan takes from static knowledge: the digest of the rows, "" if there are none.
    `elsewhere` has the digests of steps that look at one element at a time, and run elsewhere.
    """
    streams = dict(enumerate(_names(catalog.streams)))
    for graph in catalog.rules:
        streams[sources.written_number(graph.iri)] = f"written {graph.iri}"
        streams[sources.behind_number(graph.iri)] = f"behind {graph.iri}"
    graphs = _names(catalog.graphs)
    known = {place: static(step) for place, step in enumerate(net.steps) if isinstance(step, steps.Scan)}
    plain: list[str] = []
    place = net.places()

    def made(step: Step, inputs: Callable[[int], str], *more: str) -> str:
        def digest(below: Step) -> str:  # a step that another one does itself is not in the network
            if isinstance(step, steps.PerElement):  # the network may have an equal step of its own
                return elsewhere[below]
            return inputs(place[below]) if below in place else made(below, inputs)

        static = known.get(place.get(step, -1), "")
        return digest_of(*_encoded(step, digest, streams, graphs, static), *more)

    for step in net.steps:  # inputs come first
        plain.append(made(step, plain.__getitem__))
    final = _with_knowledge(net, plain, made, _give_timeless(net, known))
    if len(set(final)) < len(final):
        raise InternalError("two different steps have one digest: they would share their state")
    return final


def _names(registered: Iterable[StreamName | GraphName]) -> list[str]:
    """What each of some sources is known by: its name, and a number if several have it."""
    seen: Counter[str | None] = Counter()
    names = []
    for each in registered:
        seen[each.iri] += 1
        names.append(f"<{each.iri or ''}> {seen[each.iri]}")
    return names


def _encoded(
    step: Step, below: Callable[[Step], str], streams: Mapping[int, str], graphs: Sequence[str], static: str
) -> Iterator[str]:
    """A step's type and fields as texts, in which every value shows its kind."""
    yield type(step).__name__
    for field in fields(step):
        value = getattr(step, field.name)
        yield field.name
        if field.name == "sources":
            read = sorted(_source_name(source, streams, graphs) for source in value)
            yield repr((read, static, sources.timed(value), sources.changing(value)))
        elif field.name == "windows":
            yield repr([_source_name(source, streams, graphs) for source in value])
        elif field.name == "instants":
            yield repr(sorted(streams[stream] for stream in value))
        else:
            yield from _texts(value, below)


def _source_name(source: sources.Source, streams: Mapping[int, str], graphs: Sequence[str]) -> str:
    if isinstance(source, sources.RuleGraph):
        return f"what rules write into {source.iri}{' by elements' * source.elements}"
    if isinstance(source, sources.WindowSource):
        of = ", ".join(sorted(streams[number] for number in source.numbers))
        return f"window {source.spec} of {of}{' as a graph' * source.timeless}"
    if isinstance(source, sources.Static):
        return f"graph {graphs[source.place]}"
    return f"stream {streams[source.place]}"


def _texts(value: object, below: Callable[[Step], str]) -> Iterator[str]:
    """A value as texts; without recursion, because expressions may be deep."""
    waiting: list[object] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Step):
            yield "step"
            yield below(value)
        elif isinstance(value, (NamedNode, BlankNode, Literal)):
            yield "term"
            yield str(value)
        elif isinstance(value, Enum):
            yield f"{type(value).__name__}.{value.name}"
        elif value is None or isinstance(value, (str, int)):
            yield repr(value)
        elif isinstance(value, tuple):
            yield f"tuple {len(value)}"
            waiting += reversed(value)
        elif isinstance(value, frozenset):
            parts = sorted("\0".join(_texts(part, below)) for part in value)
            yield f"set {len(parts)}"
            yield from parts
        elif is_dataclass(value):
            compared = [field.name for field in fields(value) if field.compare]
            yield f"{type(value).__name__} {len(compared)}"
            waiting += [getattr(value, name) for name in reversed(compared)]
        else:
            raise TypeError(f"a step has a {type(value).__name__}, and digests do not know what that is")


# --- what static knowledge and rules over it make of a step ----------------------------------


def _give_timeless(net: Network, static: Mapping[int, str]) -> list[bool]:
    """Which steps may give rows from static knowledge alone."""
    gives = [False] * len(net.steps)
    outgoing = net.outgoing()
    place = net.places()
    derived: set[int] = set()  # scans that timeless triples of a rule reach
    waiting = [i for i, step in enumerate(net.steps) if not step.inputs]

    def may(at: int) -> bool:
        step = net.steps[at]
        if isinstance(step, steps.Scan):
            return bool(static[at]) or at in derived
        inputs = tuple(gives[place[below]] for below in step.inputs)
        # What is decided by instants of streams has intervals; what EXISTS asks for has none.
        if any(below.reads_stream for below in step.awaited):
            return False
        return bool(step.gives(inputs)) or isinstance(step, steps.OuterBindings)

    while waiting:
        at = waiting.pop()
        if gives[at] or not may(at):
            continue
        gives[at] = True
        derived.update(edge.target for edge in outgoing[at] if edge.derived)
        waiting += [edge.target for edge in outgoing[at]]
    return gives


def _with_knowledge(
    net: Network, plain: list[str], made: Callable[..., str], timeless: Sequence[bool]
) -> list[str]:
    """The digests with the rules whose timeless triples reach a step: they are knowledge, too."""
    rules = [edge for edge in net.edges if edge.derived and timeless[edge.source]]
    if not rules:
        return plain
    feeding: dict[int, list[int]] = {}
    for edge in rules:
        feeding.setdefault(edge.target, []).append(edge.source)
    edges = [edge for edge in net.edges if not edge.derived or timeless[edge.source]]
    final = list(plain)
    for circle in components(len(net.steps), [(edge.source, edge.target) for edge in edges]):
        # Within a circle of rules the plain digests stand for what is not known yet.
        found = [
            made(net.steps[i], final.__getitem__, *sorted(final[rule] for rule in feeding.get(i, ())))
            for i in circle
        ]
        around = sorted(found) if len(circle) > 1 else []
        for i, digest in zip(circle, found, strict=True):
            final[i] = digest_of(digest, *around) if around else digest
    return final


# --- rows ------------------------------------------------------------------------------------


def rows_digest(frames: Iterable[tuple[Frame, TermChunk]]) -> str:
    """The digest of rows in any order, by the texts of their terms; "" if there are none."""
    count = 0
    sums = np.zeros(2, np.uint64)
    for frame, terms in frames:
        if not len(frame):
            continue
        ids = np.ascontiguousarray(frame.ids).reshape(-1)
        first, number = hashing.numbered(ids)
        distinct = ids[first]
        names = distinct.copy()
        hashed = np.flatnonzero(distinct >= HASHED)
        chosen = terms.subset(distinct[hashed])
        plain = hash_texts(chosen.offsets, chosen.data, key=0)  # the run's differs from run to run
        names[hashed[np.argsort(distinct[hashed])]] = plain[np.argsort(chosen.ids)]
        _add_rows(names[number].reshape(frame.ids.shape), sums)
        count += len(frame)
    return digest_of(str(count), *map(str, sums.tolist())) if count else ""


@njit(cache=True)
def _add_rows(ids, sums):
    """Adds two numbers of each row to two sums, which so do not depend on the rows' order."""
    for row in range(ids.shape[1]):
        one, other = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
        for column in range(ids.shape[0]):
            one = _mixed(one ^ np.uint64(ids[column, row]))
            other = _mixed(other + np.uint64(ids[column, row]))
        sums[0] += one
        sums[1] += other


@njit(cache=True)
def _mixed(word):
    """SplitMix64."""
    word += np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))

"""Random small streams and static graphs, and the order in which their elements arrive."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from oracle.cases import Batch, Case, Element, GraphData, StreamData
from oracle.model import Triple
from oracle.vocabulary import (
    EPOCH,
    GRAPH_NAMES,
    ILL_TYPED,
    PREDICATES,
    STREAM_NAMES,
    TICK,
    VALUES,
    WEIGHTS,
    iri,
)


def random_triple(random: Random) -> Triple:
    predicate = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    kind = PREDICATES[predicate]
    subject = random.choices(VALUES["resource"], (4, 3, 1))[0]
    value = random.choice([each for each in VALUES[kind] if each != subject])
    if kind == "resource" and random.random() < 0.1:
        value = subject
    if kind == "number" and random.random() < 0.04:
        value = ILL_TYPED
    return subject, iri(predicate), value


def random_elements(random: Random, size: int, span: int) -> list[Element]:
    """Points and intervals; some at the same time, some empty, some stating a triple again."""
    elements: list[Element] = []
    for _ in range(size):
        roll = random.random()
        if elements and roll < 0.35:  # simultaneous with an earlier one
            start, end = (lambda e: (e.start, e.end))(random.choice(elements))
        else:
            start = EPOCH + random.randint(0, span) * TICK
            end = start + (random.randint(1, 3) * TICK if random.random() < 0.3 else 0)
        triples = [random_triple(random) for _ in range(random.choice((1, 1, 2, 2, 3)))]
        if random.random() < 0.06:
            triples = []
        if elements and random.random() < 0.12:
            again = random.choice(elements)
            triples += again.triples
            start, end = again.start, again.end
        elements.append(Element(tuple(dict.fromkeys(triples)), start, end))
    return elements


def random_streams(random: Random, size: int) -> tuple[list[StreamData], int, list[Batch]]:
    """One or two streams, the lateness, and batches in which no element is late."""
    span = max(3, size // 2)
    count = random.choice((1, 1, 2))
    streams = []
    for number in range(count):
        name = iri(STREAM_NAMES[number]) if random.random() < 0.4 else None
        share = size if count == 1 else (size + 1) // 2
        streams.append((name, random_elements(random, share, span)))
    lateness = random.choice((0, 0, 2, 5)) * TICK
    # Sorted by end plus a delay of at most the lateness, none comes after the watermark.
    arrival = sorted(
        (element.end + (random.randint(0, lateness) if lateness else 0), random.random(), s, e)
        for s, (_, elements) in enumerate(streams)
        for e, element in enumerate(elements)
    )
    renumbered: dict[tuple[int, int], tuple[int, int]] = {}
    in_order: list[list[Element]] = [[] for _ in streams]
    for _, _, s, e in arrival:
        renumbered[s, e] = (s, len(in_order[s]))
        in_order[s].append(streams[s][1][e])
    data = [StreamData(name, tuple(in_order[s])) for s, (name, _) in enumerate(streams)]
    return data, lateness, batched(random, [renumbered[s, e] for _, _, s, e in arrival])


def batched(random: Random, arrival: list[tuple[int, int]]) -> list[Batch]:
    """The arrival cut at random places: all at once, one by one, or anything between."""
    mode = random.choice(("one", "each", "some", "some", "some"))
    if mode == "one":
        return [tuple(arrival)]
    batches: list[Batch] = []
    current: list[tuple[int, int]] = []
    for place in arrival:
        current.append(place)
        if mode == "each" or random.random() < 0.35:
            batches.append(tuple(current))
            current = []
    if current or not batches:
        batches.append(tuple(current))
    return batches


def delayed(case: Case) -> Case:
    """The case with a fifth of its elements in later batches, so that some of them are late."""
    random = Random(f"delayed {case.seed}")
    batches: list[list[tuple[int, int]]] = [[] for _ in case.batches]
    for number, batch in enumerate(case.batches):
        for place in batch:
            later = random.randrange(number, len(batches)) if random.random() < 0.2 else number
            batches[later].append(place)
    return replace(case, batches=tuple(map(tuple, batches)))


def random_graphs(random: Random, size: int) -> list[GraphData]:
    """Static knowledge: often none, sometimes in the default graph, sometimes named."""
    graphs = []
    if random.random() < 0.3:
        graphs.append(_graph(random, None, size))
    if random.random() < 0.3:
        graphs.append(_graph(random, iri(GRAPH_NAMES[0]), size))
    if random.random() < 0.1:
        graphs.append(_graph(random, iri(GRAPH_NAMES[1]), size))
    return graphs


def _graph(random: Random, name, size: int) -> GraphData:
    triples = {random_triple(random) for _ in range(random.randint(1, max(1, size)))}
    return GraphData(name, tuple(sorted(triples, key=str)))

"""The engine and the oracle agree on what continuous queries give, and when."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from agreement.window_runs import given_by_engine
from oracle.cases import Case, Element, StreamData
from oracle.evaluate import TooManySolutions
from oracle.vocabulary import EPOCH, TICK, iri
from oracle.window_generator import WindowCase, given_by, make_window_case
from oracle.window_model import ContinuousQuery, StreamOperator
from penstock.errors import QueryError
from penstock.languages import parse_query


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(0, 240, 40))
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_continuous_queries_give_what_the_oracle_says(first: int, shards: int):
    agreed = rows = 0
    for seed in range(first + shards * 10_000, first + shards * 10_000 + 40):
        case = make_window_case(seed)
        try:
            given = given_by_engine(case, shards, restore=seed % 5 > 2)
            wanted = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        rows += wanted.total()
    assert agreed >= 10 and rows > 50


@pytest.mark.parametrize("shards", [1, 2, 8])
def test_what_follows_from_static_graphs_alone_is_new_once(shards: int):
    """The first batch passes the first report already: all shards have the answer, one of them gives it."""
    case = make_window_case(1_011_865)
    assert given_by_engine(case, shards) == given_by(case)


@pytest.mark.sample(1)
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_empty_windows_go_on_reporting_while_streams_live_in_silence(shards: int):
    """As `--tick` moves the watermark by the clock: up to it windows report, and not beyond."""
    agreed = longer = 0
    for seed in range(shards * 20_000, shards * 20_000 + 60):
        case = make_window_case(seed)
        last = max((each.end for elements in case.streams.values() for each in elements), default=EPOCH)
        silence = [last + seconds * TICK + seed % 2 for seconds in (1, 5, 6, 30)]
        try:
            given = given_by_engine(case, shards, restore=seed % 3 == 0, silence=silence)
            wanted = given_by(case, silence[-1])
            over = given_by(case)
        except (QueryError, TooManySolutions):
            continue
        assert given == wanted, str(case)
        agreed += 1
        longer += wanted.total() > over.total()
    assert agreed >= 20 and longer >= 1


EXTENTS = (
    "RANGE 9s", "RANGE 9s SLIDE 2s", "RANGE 8s TUMBLING", "RANGE 7s SLIDE 9s",
    "NOW", "TRIPLES 14", "TRIPLES 14 SLIDE 3", "ALL SLIDE 3s",
)  # fmt: skip
SEQUENCES = ("A, !B, C", "!B, C", "A, !B", "A, C, !B, A", "A, !B, C, A", "!B, A, C", "A, C, !B")


@pytest.mark.sample(8)
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("members", SEQUENCES)
def test_absence_in_each_place_in_each_window(extent: str, members: str):
    """Elements that overlap, are simultaneous, and end where others start, of two keys."""
    rows = 0
    for seed in range(8):
        case = absence_case(seed, extent, members)
        wanted = given_by(case)
        assert given_by_engine(case, seed % 2 + 1, restore=seed % 3 == 2) == wanted, (seed, str(case))
        rows += wanted.total()
    assert rows or extent == "NOW"


def absence_case(seed: int, extent: str, members: str) -> WindowCase:
    random = Random(f"absence {seed}")
    second, stream = 1_000_000, iri("s")
    elements = []
    for _ in range(24):
        end = EPOCH + second * random.randint(0, 14)
        start = end - second * random.choice((0, 0, 1, 2, 5))
        triple = (iri(random.choice(("k", "k", "l"))), iri(random.choice("ABC")), iri("v"))
        elements.append(Element((triple,), start, end))
    lateness = random.choice((0, 3 * second))
    arrival = [each.end + (random.randint(0, lateness)) for each in elements]
    order = sorted(range(len(elements)), key=lambda place: (arrival[place], elements[place].end))
    ends = [elements[place].end for place in order]
    lateness = max(max(ends[: place + 1]) - end for place, end in enumerate(ends))
    together = random.choice((1, 2, 3, 24))
    places = [(0, place) for place in order]
    batches = tuple(tuple(places[first : first + together]) for first in range(0, len(places), together))
    patterns = [
        f"{each[:-1]}{{ ?k <{iri(each[-1]).value}> ?v{number} }}"
        for number, each in enumerate(members.split(", "))
    ]
    operator = random.choice(list(StreamOperator))
    parsed = parse_query(
        f"SELECT {operator.value} ?k FROM NAMED WINDOW <urn:w> ON {stream} [{extent}]"
        f" WHERE {{ WINDOW <urn:w> {{ SEQ({', '.join(patterns)}) }} }}"
    ).query
    told = parsed.continuous
    query = ContinuousQuery(
        replace(parsed, continuous=None), told.windows, told.report, told.operator, told.view
    )
    data = Case(seed, (StreamData(stream, tuple(elements)),), (), (), lateness, batches)
    return WindowCase(data, query, members)


@pytest.mark.parametrize("seed, shards", [(2_236, 2), (2_049, 2)])
def test_what_static_graphs_and_windows_both_have_and_what_binds_nothing(seed: int, shards: int):
    """One shard of all gives what is static, also where a window has the same solution."""
    case = make_window_case(seed)
    assert given_by_engine(case, shards) == given_by(case)


@pytest.mark.parametrize("shards", [1, 2, 8])
def test_a_path_back_to_its_beginning_over_several_triples(shards: int):
    """Its triples must meet, wherever they are: it is no key that both of its ends are the same variable."""
    case = make_window_case(3_006_928)
    assert given_by_engine(case, shards) == given_by(case)

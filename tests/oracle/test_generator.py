"""The random cases are reproducible, cover the language, and mostly have answers."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from oracle.canonical import canonical
from oracle.generator import NESTED, answers, cases, make_case, parsed
from oracle.reading import children
from oracle.shrink import shrunk
from penstock import algebra
from penstock.terms import BlankNode, Literal, NamedNode


def test_a_case_is_its_seed():
    for case, found in islice(cases(range(100)), 5):
        assert make_case(case.seed) == case
        assert answers(make_case(case.seed)) == found
    assert len({make_case(seed).queries for seed in range(50)}) > 45


def test_a_case_prints_everything_that_it_consists_of():
    case = make_case(3)
    text = str(case)
    assert "make_case(3)" in text
    assert all(line in text for query in case.queries for line in query.splitlines())
    assert text.count(" at 2024-") == sum(len(stream.elements) for stream in case.streams)


def test_every_element_arrives_once_and_none_is_late():
    reordered = 0
    for seed in range(200):
        case = make_case(seed)
        places = [place for batch in case.batches for place in batch]
        every = [(s, e) for s, data in enumerate(case.streams) for e in range(len(data.elements))]
        assert sorted(places) == every
        latest = None
        for batch in case.arriving():
            for _, element in batch:
                assert element.start <= element.end
                assert latest is None or element.end >= latest - case.lateness
                reordered += latest is not None and element.end < latest
                latest = element.end if latest is None else max(latest, element.end)
    assert reordered > 100


def test_streams_have_points_intervals_simultaneous_empty_and_repeated_elements():
    found = Counter()
    for seed in range(100):
        for stream in make_case(seed).streams:
            spans = Counter((e.start, e.end) for e in stream.elements)
            stated = Counter(o for e in stream.elements for o in e.occurrences)
            found["point"] += sum(e.start == e.end for e in stream.elements)
            found["interval"] += sum(e.start < e.end for e in stream.elements)
            found["simultaneous"] += sum(n - 1 for n in spans.values())
            found["empty"] += sum(not e.triples for e in stream.elements)
            found["repeated"] += sum(n - 1 for n in stated.values())
    assert min(found[kind] for kind in ("point", "interval", "simultaneous")) > 200
    assert min(found["empty"], found["repeated"]) > 30


def test_all_operators_occur():
    seen: set[str] = set()

    def walk(node) -> None:
        seen.add(type(node).__name__)
        if isinstance(node, (algebra.Call, algebra.Aggregate)):
            seen.add(node.name)
        for child in children(node):
            walk(child)

    for seed in (*range(300), *range(NESTED, NESTED + 20)):
        for query in parsed(make_case(seed)):
            walk(query)
    # Those of windows are named only; the generator of queries over windows has them.
    patterns = {kind.__name__ for kind in algebra.Pattern.__args__ if isinstance(kind, type)}
    paths = {kind.__name__ for kind in algebra.Path.__args__ if kind is not NamedNode}
    forms = {"Select", "Construct", "Ask", "Describe", "Exists"}
    functions = {*algebra.TIME_FUNCTIONS, "BOUND", "IF", "COALESCE", "IN", "NOTIN"}
    aggregates = {"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"}
    assert patterns | paths | forms | functions | aggregates <= seen


def test_more_than_half_of_the_queries_have_answers():
    tried = answered = 0
    for _, found in islice(cases(range(10_000)), 80):
        tried += len(found)
        answered += sum(bool(rows) for rows in found)
    assert answered > tried / 2


def test_blank_nodes_are_compared_by_their_use():
    def rows(first: str, second: str):
        one, two = BlankNode(first), BlankNode(second)
        name, value = NamedNode("http://example.org/a"), Literal("v")
        return canonical(
            [({"x": one, "y": name}, 1, 1), ({"x": one, "y": two}, 1, 2), ({"x": two}, 3, 3)]
            + [({"x": two, "y": value}, 1, 1)]
        )

    assert rows("a", "b") == rows("b", "a") == rows("c", "d")
    assert rows("a", "b") != rows("a", "a")


def test_a_failing_case_shrinks_to_what_matters():
    case = next(make_case(seed) for seed in range(100) if len(make_case(seed).queries) > 1)
    wanted = case.streams[0].elements[0].triples or case.streams[0].elements[1].triples

    def fails(each) -> bool:
        return any(wanted[0] in e.triples for stream in each.streams for e in stream.elements)

    small = shrunk(case, fails)
    assert [e.triples for stream in small.streams for e in stream.elements] == [wanted[:1]]
    assert len(small.queries) == 1
    assert small.graphs == ()
    assert [len(batch) for batch in small.batches] == [1]

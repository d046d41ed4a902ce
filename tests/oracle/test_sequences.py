"""Paper 001 (CQELS-CEP), Examples 3 to 9, step by step; then what its operators do at their edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oracle.cases import Element
from oracle.evaluate import Scope
from oracle.model import Solution, StaticGraph, TimedDataset, solution, stream_of
from oracle.notation import graph, triples
from oracle.sequence_text import parsed_pattern
from oracle.sequences import (
    either,
    event_sequence,
    join,
    no_head,
    no_tail,
    repeated_sequence,
    seq,
    seq_wo,
    sequence,
)
from oracle.vocabulary import EPOCH, TICK, iri
from oracle.window_model import (
    ON_CHANGE,
    Background,
    ContinuousQuery,
    EventSequence,
    InWindow,
    Member,
    SequenceError,
    StreamOperator,
    View,
    Window,
    last,
)
from oracle.windows import AtInstant, Clock, Knowledge, answers_at, content, given
from penstock.algebra import BGP, ELEMENT, Aggregate, Join, Project, Select, TriplePattern, Var
from penstock.algebra.relations import INTERSECTS, IntervalRule
from penstock.terms import RDF, XSD, Literal

V, S, X = Var("v"), Var("s"), Var("x")
MINUTES = 10  # Example 4: RANGE 10m, in the unit of Figure 1


def pattern(subject, predicate, object_) -> BGP:
    return BGP((TriplePattern(subject, predicate, object_),), ELEMENT)


SUBWAYS = BGP((TriplePattern(V, RDF.type, iri(":subway")),))
DELAY, ARRIVAL = pattern(V, iri(":delayAt"), S), pattern(V, iri(":arriveAt"), S)


# --- Examples 2 and 3: the data ------------------------------------------------------

D = graph(
    """:conn1 :beg :m ; :end :b ; :means :subway ; :dur :3m .
       :conn2 :beg :b ; :end :c ; :means :subway ; :dur :2m .
       :conn3 :beg :h ; :end :g ; :means :subway ; :dur :3m .
       :conn4 :beg :g ; :end :c ; :means :tram ; :dur :5m .
       :a1 a :subway . :d1 a :subway ."""
)


def element(turtle: str, start: int, end: int | None = None) -> Element:
    return Element(triples(turtle), start, start if end is None else end)


STREAM = iri(":publicTransport")
ELEMENTS = [
    element(":a1 :delayAt :m", 10),
    element(":d1 :delayAt :h", 12),
    element(":d1 :delayAt :h", 14),
    element(":a1 :delayAt :m", 16),
]
W = iri(":W")
WINDOW = Window(W, STREAM, last(MINUTES))


def delay(vehicle: str, stop: str, start: int, end: int | None = None) -> Solution:
    return solution({"v": iri(vehicle), "s": iri(stop)}, start, start if end is None else end)


A1, D1 = (":a1", ":m"), (":d1", ":h")


def as_set(omega: list[Solution]) -> set[Solution]:
    assert len(set(omega)) == len(omega)
    return set(omega)


def at(instant: int, elements=ELEMENTS, static: StaticGraph = D) -> AtInstant:
    """The scope of the window at an instant."""
    shown = content(WINDOW.spec, elements, instant)
    return AtInstant(TimedDataset((static,)), (static,), (), instant=instant, contents={W: shown})


def test_example_3_the_stream_is_its_elements():
    assert [(each.start, each.end) for each in ELEMENTS] == [(10, 10), (12, 12), (14, 14), (16, 16)]
    assert len(D.triples) == 18


def w_range(elements: list[Element], t: int, width: int) -> list[tuple]:
    """w_RANGE(S, t, T) of section 4.1, as printed, over the elements that are known at t."""
    known = [e for e in elements if e.end <= t]
    return [(e.triples, max(e.start, t - width), min(e.end, t)) for e in known if e.end >= t - width]


@pytest.mark.parametrize("t", range(9, 28))
def test_section_4_1_the_window_function(t):
    elements = [*ELEMENTS, element(":b1 :delayAt :m", 5, 13)]
    held = [(tuple(h.triples), h.start, h.end) for h in content(last(MINUTES), elements, t)]
    assert sorted(held, key=str) == sorted(w_range(elements, t, MINUTES), key=str)


def test_example_4_subways_with_delays_in_the_last_ten_minutes():
    """Without events to order, the query gives a solution for each element of the window."""
    body = Join(
        InWindow(W, DELAY),
        Background(SUBWAYS),
        INTERSECTS,
        IntervalRule.INTERSECTION,
    )
    query = Select(Project(body, (S,)), (S,))
    asked = ContinuousQuery(query, (WINDOW,), ON_CHANGE, StreamOperator.ISTREAM, View.ELEMENT)
    knowledge = Knowledge(((None, TimedDataset((D,))),))
    stops = [(t, row.value("s"), row.start, n) for t, row, n in given(asked, {STREAM: ELEMENTS}, knowledge)]
    m, h = iri(":m"), iri(":h")
    assert stops == [(10, m, 10, 1), (12, h, 12, 1), (14, h, 14, 1), (16, m, 16, 1)]
    asked = replace(asked, operator=StreamOperator.DSTREAM)
    gone = [(t, row.value("s"), row.start) for t, row, _ in given(asked, {STREAM: ELEMENTS}, knowledge)]
    assert gone == [(21, m, 10), (23, h, 12), (25, h, 14), (27, m, 16)]


# --- Example 5: nested regular expressions, by Table 1 -------------------------------


def step(predicate: str) -> set[tuple]:
    """[[next::a]]: the pairs that triples with this predicate connect."""
    return {(s, o) for s, p, o in D.triples if p == iri(predicate)}


def reachable_by_subway() -> set[tuple]:
    """[[(next⁻¹::beg[next::means/self::subway]/next::end)⁺]]."""
    by_subway = {x for x, y in step(":means") if y == iri(":subway")}
    begins = {(stop, conn) for conn, stop in step(":beg") if conn in by_subway}
    pairs = {(stop, other) for stop, conn in begins for c, other in step(":end") if c == conn}
    while more := {(x, z) for x, y in pairs for y2, z in pairs if y == y2} - pairs:
        pairs |= more
    return pairs


AS_IN_EXAMPLE_5 = "(next-1::beg[next::means/self::subway]/next::end)+"
AS_IN_EXAMPLE_6 = "(^:beg/[:means :subway]/:end)+"


def test_example_5_stops_from_which_the_centre_can_be_reached_by_subway():
    assert {x for x, y in reachable_by_subway() if y == iri(":c")} == {iri(":m"), iri(":b")}


@pytest.mark.parametrize("path", [AS_IN_EXAMPLE_5, AS_IN_EXAMPLE_6])
def test_example_5_and_line_9_of_example_6_are_what_table_1_says(path):
    walks = at(16).solutions(parsed_pattern(f"?s {path} ?x"))
    assert {(each.value("s"), each.value("x")) for each in walks} == reachable_by_subway()
    to_the_centre = at(16).solutions(parsed_pattern(f"?s {path} :c"))
    assert as_set(to_the_centre) == {solution({"s": iri(stop)}) for stop in (":m", ":b")}


# --- Examples 6 to 9: the query ------------------------------------------------------

TSP = EventSequence((Member(DELAY), Member(DELAY), Member(ARRIVAL, negated=True)))


def background() -> Background:
    """P of Example 7: lines 8 and 9 of Example 6."""
    return Background(parsed_pattern(f"?v a :subway . ?s {AS_IN_EXAMPLE_6} :c ."))


def test_example_8_the_operators():
    omega1 = [delay(*A1, 10), delay(*D1, 12)]
    omega2 = [delay(*A1, 16), delay(*D1, 14)]
    omega3: list[Solution] = []
    omega4 = {delay(*A1, 10, 16), delay(*D1, 12, 14)}
    assert as_set(seq(omega1, omega2)) == omega4
    assert as_set(no_tail(seq(omega1, omega2), omega3, 16)) == omega4


def test_example_9_step_by_step():
    scope = at(16)
    (p1, p1_again, p2) = TSP.members
    omega = [scope.solutions(InWindow(W, each.pattern)) for each in (p1, p1_again, p2)]
    every_delay = {delay(*A1, 10), delay(*D1, 12), delay(*D1, 14), delay(*A1, 16)}
    # [[P₁, 16]] is all delays; of them only Example 8's Ω₁ and Ω₂ have a partner.
    assert as_set(omega[0]) == as_set(omega[1]) == every_delay
    assert {a for a in omega[0] if seq([a], omega[1])} == {delay(*A1, 10), delay(*D1, 12)}
    assert {b for b in omega[1] if seq(omega[0], [b])} == {delay(*A1, 16), delay(*D1, 14)}
    assert omega[2] == []
    omega4 = scope.solutions(InWindow(W, TSP))
    assert as_set(omega4) == {delay(*A1, 10, 16), delay(*D1, 12, 14)}
    # P's two parts share no variable: [[P, 16]]_D has every subway with every such stop, and none with h.
    # The paper prints of Ω₅ what has a partner in Ω₄.
    omega5 = scope.solutions(background())
    subways, stops = (":a1", ":d1"), (":m", ":b")
    assert as_set(omega5) == {solution({"v": iri(v), "s": iri(s)}) for v in subways for s in stops}
    assert [each for each in omega5 if join(omega4, [each])] == [solution({"v": iri(":a1"), "s": iri(":m")})]
    joined = join(omega4, omega5)
    assert as_set(joined) == {delay(*A1, 10, 16)}
    assert [each.value("s") for each in joined] == [iri(":m")]


def example_7() -> ContinuousQuery:
    body = Join(InWindow(W, TSP), background(), INTERSECTS, IntervalRule.INTERSECTION)
    query = Select(Project(body, (S,)), (S,))
    return ContinuousQuery(query, (WINDOW,), ON_CHANGE, StreamOperator.ISTREAM, View.ELEMENT)


KNOWN = Knowledge(((None, TimedDataset((D,))),))


def test_example_9_the_whole_query_gives_exactly_m():
    rows = answers_at(example_7(), {STREAM: ELEMENTS}, KNOWN, 16).rows
    assert rows == (solution({"s": iri(":m")}, 10, 16),)
    assert given(example_7(), {STREAM: ELEMENTS}, KNOWN) == [(16, solution({"s": iri(":m")}, 10, 16), 1)]


def test_an_arrival_takes_the_answer_back_and_one_that_is_earlier_does_not():
    arrives = [*ELEMENTS, element(":a1 :arriveAt :m", 18)]
    gone = replace(example_7(), operator=StreamOperator.DSTREAM)
    assert given(gone, {STREAM: arrives}, KNOWN) == [(18, solution({"s": iri(":m")}, 10, 16), 1)]
    between = [*ELEMENTS, element(":a1 :arriveAt :m", 13)]
    assert given(example_7(), {STREAM: between}, KNOWN)[0][0] == 16


def test_equation_17_static_knowledge_that_has_changed_holds_since_then():
    event = [element(":a1 :delayAt :m", 8, 12)]
    body = Join(
        InWindow(W, DELAY),
        Background(SUBWAYS),
        INTERSECTS,
        IntervalRule.INTERSECTION,
    )
    query = Select(Project(body, (V,)), (V,))
    asked = ContinuousQuery(query, (WINDOW,), ON_CHANGE, StreamOperator.RSTREAM, View.ELEMENT)
    vehicle = {"v": iri(":a1")}

    def rows(since: int | None) -> tuple[Solution, ...]:
        knowledge = Knowledge(((None, TimedDataset((D,))), *([(since, TimedDataset((D,)))] if since else [])))
        return answers_at(asked, {STREAM: event}, knowledge, 14).rows

    assert rows(None) == (solution(vehicle, 8, 12),)
    assert rows(10) == (solution(vehicle, 10, 12),)
    assert rows(13) == ()


# --- the operators at their edges ----------------------------------------------------


def timed(start: int, end: int, **terms: str) -> Solution:
    return solution({name: iri(term) for name, term in terms.items()}, start, end)


def test_join_takes_the_intersection_and_or_takes_all():
    assert join([timed(1, 5, x=":a")], [timed(3, 9, y=":b")]) == [timed(3, 5, x=":a", y=":b")]
    assert join([timed(1, 3)], [timed(3, 9)]) == [timed(3, 3)]
    assert join([timed(1, 2)], [timed(3, 9)]) == []
    assert join([timed(1, 5, x=":a")], [timed(3, 9, x=":b")]) == []
    assert join([timed(1, 5)], [solution()]) == [timed(1, 5)]
    assert either([timed(1, 5)], [timed(1, 5)]) == 2 * [timed(1, 5)]


def test_seq_needs_time_between():
    assert seq([timed(1, 2)], [timed(2, 3)]) == []
    assert seq([timed(1, 2)], [timed(3, 4)]) == [timed(1, 4)]


@pytest.mark.parametrize(
    ("start", "end", "blocks"),
    [(1, 2, False), (2, 2, True), (2, 3, True), (3, 4, True), (5, 5, True), (2, 5, True), (3, 6, False)],
)
def test_seq_wo_is_blocked_by_what_lies_in_the_closed_interval_between(start, end, blocks):
    found = seq_wo([timed(0, 2, x=":a")], [timed(start, end, x=":a")], [timed(5, 7, x=":a")])
    assert found == ([] if blocks else [timed(0, 7, x=":a")])


def test_seq_wo_is_blocked_only_by_what_is_compatible_with_both_together():
    one, other = [timed(0, 1, x=":a")], [timed(5, 6, y=":b")]
    assert seq_wo(one, [timed(3, 3, x=":a", y=":b")], other) == []
    assert seq_wo(one, [timed(3, 3, x=":a", y=":c")], other) == [timed(0, 6, x=":a", y=":b")]
    assert seq_wo(one, [timed(3, 3, z=":c")], other) == []


def test_no_head_and_no_tail_are_strict():
    assert no_head([timed(1, 2)], [timed(2, 3)]) == [timed(2, 3)]
    assert no_head([timed(1, 1)], [timed(2, 3)]) == []
    assert no_tail([timed(1, 2)], [timed(2, 3)], 9) == [timed(1, 2)]
    assert no_tail([timed(1, 2)], [timed(3, 9)], 9) == []
    assert no_tail([timed(1, 2)], [timed(3, 9)], 8) == [timed(1, 2)]


def test_an_event_clause_is_a_sequence_of_windows():
    """SEQ(:W1, !:W2, :W3): each window has its own range and pattern."""
    names = [iri(":W1"), iri(":W2"), iri(":W3")]
    specs = [last(10), last(10), last(2)]
    windows = tuple(Window(n, STREAM, spec) for n, spec in zip(names, specs, strict=True))
    patterns = (DELAY, ARRIVAL, DELAY)
    members = tuple(
        Member(InWindow(name, each), negated=place == 1)
        for place, (name, each) in enumerate(zip(names, patterns, strict=True))
    )
    query = Select(Project(EventSequence(members), (V,)), (V,))
    asked = ContinuousQuery(query, windows, ON_CHANGE, StreamOperator.RSTREAM, View.ELEMENT)

    def rows(elements, t):
        return answers_at(asked, {STREAM: elements}, Knowledge(), t).rows

    assert set(rows(ELEMENTS, 16)) == {
        solution({"v": iri(":a1")}, 10, 16),
        solution({"v": iri(":d1")}, 12, 14),
    }
    assert set(rows(ELEMENTS, 17)) == {solution({"v": iri(":a1")}, 10, 16)}  # 14 has left [15, 17]
    assert rows([*ELEMENTS, element(":a1 :arriveAt :m", 13)], 17) == ()


def test_an_interval_is_cut_to_the_window_and_is_not_new_because_the_window_moves_on():
    elements = [
        element(":a1 :delayAt :m", 3, 9),
        element(":b1 :delayAt :h", 12),
        element(":c1 :delayAt :h", 14),
    ]
    window = Window(W, STREAM, last(5))
    query = Select(Project(InWindow(W, DELAY), (V,)), (V,))
    asked = ContinuousQuery(query, (window,), ON_CHANGE, StreamOperator.RSTREAM, View.ELEMENT)
    everything = given(asked, {STREAM: elements})
    of_a1 = [(t, row.start, row.end) for t, row, _ in everything if row.value("v") == iri(":a1")]
    assert of_a1 == [(9, 4, 9), (12, 7, 9), (14, 9, 9)]
    new = given(replace(asked, operator=StreamOperator.ISTREAM), {STREAM: elements})
    assert [(t, short_name(row), row.start) for t, row, _ in new] == [
        (9, ":a1", 4),
        (12, ":b1", 12),
        (14, ":c1", 14),
    ]
    assert Clock(asked, {STREAM: elements}).evaluations() == [9, 12, 14, 15, 18, 20]


def short_name(row: Solution) -> str:
    return ":" + row.value("v").value.rsplit("/", 1)[-1]


# --- what is refused -----------------------------------------------------------------

ONE, NOT, MANY = Member(DELAY), Member(ARRIVAL, negated=True), Member(DELAY, repeated=True)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ((ONE, NOT, NOT), "at most one negated"),
        ((NOT,), "not negated"),
        ((NOT, MANY), "neither negated nor repeated"),
        ((ONE, MANY, MANY), "adjacent"),
        ((ONE, MANY, NOT, MANY), "adjacent"),
        ((ONE, Member(DELAY, negated=True, repeated=True)), "cannot be repeated"),
    ],
)
def test_sequences_without_a_meaning_are_refused(members, why):
    with pytest.raises(SequenceError, match=why):
        event_sequence(EventSequence(members), at(16))


# --- repetitions ---------------------------------------------------------------------

START, VALUE, STOP = (
    pattern(V, iri(name), X if name == ":value" else S) for name in (":go", ":value", ":end")
)


def aggregate(name: str, argument=X, distinct: bool = False) -> Aggregate:
    return Aggregate(name, argument, distinct)


RUN = Member(
    VALUE,
    repeated=True,
    aggregates=(
        (Var("n"), aggregate("COUNT", None)),
        (Var("mean"), aggregate("AVG")),
        (Var("first"), aggregate("FIRST")),
        (Var("last"), aggregate("LAST")),
    ),
)


def runs(written: dict[str, str], *members: Member, until: int = 100) -> list[str]:
    elements = []
    for time, turtle in written.items():
        start, _, end = time.split(" ")[0].partition("-")
        elements.append(element(turtle, int(start), int(end or start)))
    shown = content(last(1000), elements, until)
    scope = AtInstant(TimedDataset(), (), (), instant=until, contents={W: shown})
    found = scope.solutions(InWindow(W, EventSequence(members)))
    return sorted(_shown(each) for each in found)


def _shown(row: Solution) -> str:
    names = [n for n in ("v", "n", "mean", "first", "last") if row.value(n) is not None]
    values = [row.value(n) for n in names]
    texts = [v.value if isinstance(v, Literal) else v.value.rsplit("/", 1)[-1] for v in values]
    return " ".join([*texts, f"@{row.start}-{row.end}"])


BEGIN, END = Member(pattern(V, iri(":go"), Var("g"))), Member(pattern(V, iri(":end"), Var("e")))


def test_a_run_is_all_that_lies_between_and_each_pair_of_ends_has_one():
    stream = {
        "1": ":a :go 0",
        "2": ":a :value 1",
        "3": ":a :go 0",
        "4": ":a :value 2",
        "5": ":b :value 9",
        "6": ":a :value 6",
        "7": ":a :end 0",
        "8": ":a :value 7",
    }
    assert runs(stream, BEGIN, RUN, END) == ["a 2 4 2 6 @3-7", "a 3 3 1 6 @1-7"]


def test_a_run_has_at_least_one_member():
    assert runs({"1": ":a :go 0", "2": ":b :value 1", "3": ":a :end 0"}, BEGIN, RUN, END) == []


def test_members_of_a_run_lie_strictly_between_its_neighbours():
    stream = {
        "1-3": ":a :go 0",
        "3": ":a :value 1",
        "4": ":a :value 2",
        "5-8": ":a :value 3",
        "6-7": ":a :value 4",
        "8": ":a :end 0",
    }
    assert runs(stream, BEGIN, RUN, END) == ["a 2 3 2 4 @1-8"]


def test_members_that_are_simultaneous_are_all_in_the_run_ordered_by_their_terms():
    stream = {
        "1": ":a :go 0",
        "2": ":a :value 6",
        "2 again": ":a :value 3",
        "2 too": ":a :value 3",
        "3": ":a :end 0",
    }
    assert runs(stream, BEGIN, RUN, END) == ["a 3 4 3 6 @1-3"]


def test_members_of_a_run_are_listed_by_their_starts():
    stream = {"1": ":a :go 0", "2-8": ":a :value 1", "3-4": ":a :value 5", "9": ":a :end 0"}
    assert runs(stream, BEGIN, RUN, END) == ["a 2 3 1 5 @1-9"]


def test_a_run_at_the_beginning_and_at_the_end_reaches_as_far_as_the_window():
    stream = {"1": ":a :value 1", "2": ":a :value 2", "3": ":a :end 0", "4": ":a :value 3"}
    assert runs(stream, RUN, END) == ["a 2 1.5 1 2 @1-3"]
    assert runs(stream, END, RUN) == ["a 1 3 3 3 @3-4"]
    assert runs({**stream, "6": ":a :value 4"}, END, RUN) == ["a 2 3.5 3 4 @3-6"]


@pytest.mark.parametrize(
    ("at_", "found"), [("3", []), ("5", ["a 1 2 2 2 @1-4"]), ("4", []), ("2", []), ("1", ["a 1 2 2 2 @1-4"])]
)
def test_a_negated_member_beside_a_run_lies_between_the_run_and_its_neighbour(at_, found):
    stream = {"1": ":a :go 0", "2": ":a :value 2", "4": ":a :end 0", f"{at_} x": ":a :stop 0"}
    no = Member(pattern(V, iri(":stop"), Var("h")), negated=True)
    assert runs(stream, BEGIN, RUN, no, END) == found


def test_without_repetitions_both_definitions_are_the_same():
    """The equations of the paper, and the definition by choices that repetitions need."""
    omegas = {
        name: [timed(s, e, x=x) for s, e in ((0, 1), (1, 1), (2, 4), (3, 3), (5, 6)) for x in (":p", ":q")]
        for name in "abc"
    }
    compared = 0
    for negated in (None, 0, 1, 2):
        members = tuple(
            Member(pattern(X, iri(f":{n}"), X), negated=i == negated) for i, n in enumerate("abc")
        )

        def evaluation(member, members=members):
            name = "abc"[members.index(member)]
            return omegas[name][:: 1 if name != "b" else 3]

        one = sequence(members, evaluation, 6)
        other = repeated_sequence(members, evaluation, 6, lambda e, s: None)
        assert sorted(one, key=str) == sorted(other, key=str)
        compared += len(one)
    assert compared == 17


def test_ep_sparql_has_the_same_repetition_over_streams():
    """`{ … } SEQ { … }+ SEQ { … }`: patterns of the whole stream, hull of all."""
    written = [(":a :go 0", 1), (":a :value 1", 2), (":a :value 5", 4), (":a :end 0", 6)]
    stream = stream_of((triples(text), EPOCH + t * TICK, EPOCH + t * TICK) for text, t in written)
    dataset = TimedDataset((stream,))
    scope = Scope(dataset, (stream,), tuple(sorted(stream.instants)))
    members = tuple(replace(m, pattern=BGP(m.pattern.triples)) for m in (BEGIN, RUN, END))
    (row,) = scope.solutions(EventSequence(members))
    assert row.value("mean") == Literal("3", datatype=XSD.decimal)
    assert (row.start, row.end) == (EPOCH + TICK, EPOCH + 6 * TICK)


def test_multiplicities_are_those_of_choices():
    twice = 2 * [timed(0, 0, x=":a")]
    assert seq(twice, [timed(1, 1)]) == 2 * [timed(0, 1, x=":a")]
    assert no_tail(twice, [], 5) == twice

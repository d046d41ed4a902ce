"""What windows hold and report, case by case, written by hand from the definitions (decision 0013).

Instants are seconds after `EPOCH`, which every slide used here divides; "10+" is the first instant after
10. A case says what its windows show at every instant at which the query is evaluated (there are no
others), and what R-, I- and DSTREAM give then. A row of an answer is the value of its only column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from oracle.window_model import (
    NOW,
    ON_CHANGE,
    ON_CLOSE,
    ContinuousQuery,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    View,
    Window,
    WindowSpec,
    last,
    sliding,
    triples,
)
from oracle.window_text import Said, said_in
from penstock.languages import parse_query

Rows = Mapping[str, str]
"""By instant: what there is, separated by spaces."""

SUBJECTS = "SELECT ?x { GRAPH :w { ?x :p ?v } }"
COUNTED = "SELECT (COUNT(*) AS ?n) { GRAPH :w { ?x :p ?v } }"


@dataclass(frozen=True)
class WindowTable:
    """A stream, its windows, a query, and all that follows. `:w` is the first window, `:u` the second."""

    title: str
    stream: Mapping[str, str]
    windows: tuple[WindowSpec, ...]
    shown: tuple[Rows, ...]  # by window: the subjects of the elements that it has, by instant
    rstream: Rows
    istream: Rows
    dstream: Rows
    report: Report = ON_CLOSE
    query: str = SUBJECTS
    static: str = ""
    named: Mapping[str, str] = field(default_factory=dict)


def seconds(count: int) -> int:
    return count * TICK


def instant(text: str) -> int:
    """`"10"` or `"10+"`."""
    return EPOCH + seconds(int(text.removesuffix("+"))) + text.endswith("+")


def every(width: int, slide: int, start: int | None = None, shows: Shows = Shows.PRESENT) -> WindowSpec:
    """[RANGE width STEP slide] in seconds; `start` in seconds after EPOCH."""
    begins = None if start is None else EPOCH + seconds(start)
    return sliding(seconds(width), seconds(slide), begins, shows)


STREAM = iri(":s")
WINDOWS = (iri(":w"), iri(":u"))


def continuous(case: WindowTable, operator: StreamOperator) -> ContinuousQuery:
    """The case as a query that is registered with one of the operators."""
    windows = tuple(Window(name, STREAM, spec) for name, spec in zip(WINDOWS, case.windows, strict=False))
    query = parse_query(PROLOGUE + case.query).query
    return ContinuousQuery(query, windows, case.report, operator, View.GRAPH)


def in_rspql(case: WindowTable, operator: StreamOperator) -> Said | None:
    """The same as text, where RSP-QL has words for its windows."""
    return said_in("RSP-QL", continuous(case, operator), case.query.replace("{", "WHERE {", 1))


def one(spec: WindowSpec, **shown_and_given) -> dict:
    """The fields of a case with one window."""
    shown = shown_and_given.pop("shown")
    return {"windows": (spec,), "shown": (shown,), **shown_and_given}


BOUNDARIES = {"5": ":a :p 1", "10": ":b :p 1", "11": ":c :p 1", "20": ":d :p 1"}
APART = {"3": ":a :p 1", "17": ":b :p 1"}
THREE = {"2": ":a :p 1", "7": ":b :p 1", "12": ":c :p 1"}

CASES = (
    WindowTable(
        "what ends when a window closes is in it, what ends when it opens is not",
        BOUNDARIES,
        **one(
            every(10, 10),
            shown={"10": "a b", "20": "c d"},
            rstream={"10": "a b", "20": "c d"},
            istream={"10": "a b", "20": "c d"},
            dstream={"20": "a b"},
        ),
    ),
    WindowTable(
        "the first element ends when a window closes: that window is reported",
        {"0": ":a :p 1", "3": ":b :p 1"},
        **one(
            every(10, 10),
            shown={"0": "a", "10": "b"},
            rstream={"0": "a", "10": "b"},
            istream={"0": "a", "10": "b"},
            dstream={"10": "a"},
        ),
    ),
    WindowTable(
        "overlapping windows: (-5, 5], (0, 10], (5, 15], (10, 20]",
        THREE,
        **one(
            every(10, 5),
            shown={"5": "a", "10": "a b", "15": "b c", "20": "c"},
            rstream={"5": "a", "10": "a b", "15": "b c", "20": "c"},
            istream={"5": "a", "10": "b", "15": "c"},
            dstream={"15": "a", "20": "b"},
        ),
    ),
    WindowTable(
        "empty windows between two elements are reported, those after the last one are not",
        APART,
        **one(
            every(5, 5),
            shown={"5": "a", "10": "", "15": "", "20": "b"},
            rstream={"5": "a", "20": "b"},
            istream={"5": "a", "20": "b"},
            dstream={"10": "a"},
        ),
    ),
    WindowTable(
        "an empty window has an answer where the query has one for no solutions",
        APART,
        query=COUNTED,
        **one(
            every(5, 5),
            shown={"5": "a", "10": "", "15": "", "20": "b"},
            rstream={"5": "1", "10": "0", "15": "0", "20": "1"},
            istream={"5": "1", "10": "0", "20": "1"},
            dstream={"10": "1", "20": "0"},
        ),
    ),
    WindowTable(
        "only windows with something in them: the last one that was reported is the one before",
        APART,
        report=Report(close=True, non_empty=True),
        **one(
            every(5, 5),
            shown={"5": "a", "20": "b"},
            rstream={"5": "a", "20": "b"},
            istream={"5": "a", "20": "b"},
            dstream={"20": "a"},
        ),
    ),
    WindowTable(
        "only windows with other elements than the one before it",
        APART,
        report=Report(close=True, change=True),
        **one(
            every(5, 5),
            shown={"5": "a", "10": "", "20": "b", "25": ""},
            rstream={"5": "a", "20": "b"},
            istream={"5": "a", "20": "b"},
            dstream={"10": "a", "25": "b"},
        ),
    ),
    WindowTable(
        "simultaneous elements come together, and a window's content changes once",
        {"4": ":a :p 1", "4 again": ":b :p 1", "6": ":c :p 1"},
        report=ON_CHANGE,
        **one(
            every(10, 10),
            shown={"4": "a b", "6": "a b c", "10+": ""},
            rstream={"4": "a b", "6": "a b c"},
            istream={"4": "a b", "6": "c"},
            dstream={"10+": "a b c"},
        ),
    ),
    WindowTable(
        "two simultaneous elements that say the same: a graph has it once",
        {"4": ":a :p 1", "4 again": ":a :p 1"},
        **one(
            every(10, 10),
            shown={"10": "a a"},
            rstream={"10": "a"},
            istream={"10": "a"},
            dstream={},
        ),
    ),
    WindowTable(
        "a triple that is stated again stays, as long as one of the elements is there",
        {"2": ":a :p 1", "9": ":a :p 1"},
        **one(
            every(10, 5),
            shown={"5": "a", "10": "a a", "15": "a"},
            rstream={"5": "a", "10": "a", "15": "a"},
            istream={"5": "a"},
            dstream={},
        ),
    ),
    WindowTable(
        "the first window began before the stream, and those that closed before it are not reported",
        {"7": ":a :p 1"},
        **one(
            every(10, 5),
            shown={"10": "a", "15": "a"},
            rstream={"10": "a", "15": "a"},
            istream={"10": "a"},
            dstream={},
        ),
    ),
    WindowTable(
        "windows that begin at an instant: what ended by then is in none",
        {"3": ":a :p 1", "6": ":b :p 1", "8": ":c :p 1"},
        **one(
            every(10, 5, start=6),
            shown={"16": "c"},
            rstream={"16": "c"},
            istream={"16": "c"},
            dstream={},
        ),
    ),
    WindowTable(
        "a slide longer than the range leaves gaps",
        {"3": ":a :p 1", "7": ":b :p 1", "12": ":c :p 1"},
        **one(
            every(5, 10),
            shown={"5": "a", "15": "c"},
            rstream={"5": "a", "15": "c"},
            istream={"5": "a", "15": "c"},
            dstream={"15": "a"},
        ),
    ),
    WindowTable(
        "gaps, on change: a window that has closed is empty, and stays so until the next one opens",
        {"3": ":a :p 1", "7": ":b :p 1", "12": ":c :p 1"},
        report=ON_CHANGE,
        **one(
            every(5, 10),
            shown={"3": "a", "5+": "", "12": "c", "15+": ""},
            rstream={"3": "a", "12": "c"},
            istream={"3": "a", "12": "c"},
            dstream={"5+": "a", "15+": "c"},
        ),
    ),
    WindowTable(
        "on change, the open window that opened first: (-5, 5], from 5+ on (0, 10], from 10+ on (5, 15]",
        {"2": ":a :p 1", "7": ":b :p 1"},
        report=ON_CHANGE,
        **one(
            every(10, 5),
            shown={"2": "a", "7": "a b", "10+": "b", "15+": ""},
            rstream={"2": "a", "7": "a b", "10+": "b"},
            istream={"2": "a", "7": "b"},
            dstream={"10+": "a", "15+": "b"},
        ),
    ),
    WindowTable(
        "on change, the window that closed last",
        {"2": ":a :p 1", "7": ":b :p 1"},
        report=ON_CHANGE,
        **one(
            every(10, 5, shows=Shows.CLOSED),
            shown={"5": "a", "10": "a b", "15": "b", "20": ""},
            rstream={"5": "a", "10": "a b", "15": "b"},
            istream={"5": "a", "10": "b"},
            dstream={"15": "a", "20": "b"},
        ),
    ),
    WindowTable(
        "on change, CQELS's [RANGE 5s]: what ended exactly five seconds ago is still there",
        {"2": ":a :p 1", "7": ":b :p 1"},
        report=ON_CHANGE,
        **one(
            last(seconds(5)),
            shown={"2": "a", "7": "a b", "7+": "b", "12+": ""},
            rstream={"2": "a", "7": "a b", "7+": "b"},
            istream={"2": "a", "7": "b"},
            dstream={"7+": "a", "12+": "b"},
        ),
    ),
    WindowTable(
        "on change, but asked only when an element comes: what has left is noticed then",
        {"2": ":a :p 1", "9": ":b :p 1"},
        report=Report(change=True, tick=Tick.TUPLE),
        **one(
            last(seconds(5)),
            shown={"2": "a", "9": "b"},
            rstream={"2": "a", "9": "b"},
            istream={"2": "a", "9": "b"},
            dstream={"9": "a"},
        ),
    ),
    WindowTable(
        "[NOW] has what ends at the instant",
        {"2": ":a :p 1", "3-5": ":b :p 1", "5": ":c :p 1"},
        report=ON_CHANGE,
        **one(
            NOW,
            shown={"2": "a", "2+": "", "5": "b c", "5+": ""},
            rstream={"2": "a", "5": "b c"},
            istream={"2": "a", "5": "b c"},
            dstream={"2+": "a", "5+": "b c"},
        ),
    ),
    WindowTable(
        "an interval is known at its end: it is in the window of its end, and in none that closed before",
        {"3-12": ":a :p 1", "8": ":b :p 1"},
        **one(
            every(10, 10),
            shown={"10": "b", "20": "a"},
            rstream={"10": "b", "20": "a"},
            istream={"10": "b", "20": "a"},
            dstream={"20": "b"},
        ),
    ),
    WindowTable(
        "static data beside a window",
        BOUNDARIES,
        query="SELECT ?r { GRAPH :w { ?x :p ?v } ?x :in ?r }",
        static=":a :in :r1 . :c :in :r1 , :r2",
        **one(
            every(10, 10),
            shown={"10": "a b", "20": "c d"},
            rstream={"10": "r1", "20": "r1 r2"},
            istream={"10": "r1", "20": "r2"},
            dstream={},
        ),
    ),
    WindowTable(
        "a named static graph beside a window; what is missing in the window",
        APART,
        query="SELECT ?x { GRAPH :g { ?x :in :r } FILTER NOT EXISTS { GRAPH :w { ?x :p ?v } } }",
        named={":g": ":a :in :r . :b :in :r"},
        **one(
            every(5, 5),
            shown={"5": "a", "10": "", "15": "", "20": "b"},
            rstream={"5": "b", "10": "a b", "15": "a b", "20": "a"},
            istream={"5": "b", "10": "a"},
            dstream={"20": "b"},
        ),
    ),
    WindowTable(
        "bags: a solution twice, then once",
        {"1": ":a :p 1", "2": ":b :p 1", "6": ":a :p 1"},
        query="SELECT ?v { GRAPH :w { ?x :p ?v } }",
        **one(
            every(5, 5),
            shown={"5": "a b", "10": "a"},
            rstream={"5": "1 1", "10": "1"},
            istream={"5": "1 1"},
            dstream={"10": "1"},
        ),
    ),
    WindowTable(
        "[TRIPLES 2]: every triple closes a window; of simultaneous ones only the last is seen",
        {"1": ":a :p 1", "2": ":b :p 1", "2 again": ":c :p 1", "5": ":d :p 1 . :d :q 2"},
        **one(
            triples(2),
            shown={"1": "a", "2": "b c", "5": "d"},
            rstream={"1": "a", "2": "b c", "5": "d"},
            istream={"1": "a", "2": "b c", "5": "d"},
            dstream={"2": "a", "5": "b c"},
        ),
    ),
    WindowTable(
        "[TRIPLES 3 STEP 2]: the last three of the first two, of the first four",
        {"1": ":a :p 1", "2": ":b :p 1", "3": ":c :p 1", "6": ":d :p 1", "7": ":e :p 1"},
        **one(
            triples(3, 2),
            shown={"2": "a b", "6": "b c d"},
            rstream={"2": "a b", "6": "b c d"},
            istream={"2": "a b", "6": "c d"},
            dstream={"6": "a"},
        ),
    ),
    WindowTable(
        "[TRIPLES 3 STEP 2]: what comes together goes beyond a window that closes, and waits for the next",
        {"1": ":a :p 1", "2": ":b :p 1", "2 again": ":c :p 1", "3": ":d :p 1"},
        **one(
            triples(3, 2),
            shown={"2": "a b", "3": "b c d"},
            rstream={"2": "a b", "3": "b c d"},
            istream={"2": "a b", "3": "c d"},
            dstream={"3": "a"},
        ),
    ),
    WindowTable(
        "an element of which only a part is among the last triples",
        {"1": ":a :p 1 . :a :q 2", "2": ":b :p 1"},
        query="SELECT ?x { GRAPH :w { ?x ?p ?v } }",
        **one(
            triples(2),
            shown={"1": "a", "2": "a b"},
            rstream={"1": "a a", "2": "a b"},
            istream={"1": "a a", "2": "b"},
            dstream={"2": "a"},
        ),
    ),
    WindowTable(
        "a landmark: everything since then, every five seconds",
        {"1": ":a :p 1", "3": ":b :p 1", "7": ":c :p 1"},
        **one(
            WindowSpec(Kind.LANDMARK, slide=seconds(5), start=EPOCH + seconds(2)),
            shown={"7": "b c"},
            rstream={"7": "b c"},
            istream={"7": "b c"},
            dstream={},
        ),
    ),
    WindowTable(
        "unbounded, on change",
        {"1": ":a :p 1", "3": ":b :p 1"},
        report=ON_CHANGE,
        **one(
            WindowSpec(Kind.LANDMARK),
            shown={"1": "a", "3": "a b"},
            rstream={"1": "a", "3": "a b"},
            istream={"1": "a", "3": "b"},
            dstream={},
        ),
    ),
    WindowTable(
        "periodic: every four seconds, whatever is open then",
        {"3": ":a :p 1", "9": ":b :p 1"},
        report=Report(period=seconds(4)),
        **one(
            every(10, 10),
            shown={"4": "a", "8": "a"},  # what closes at 10 is not shown at 12
            rstream={"4": "a", "8": "a"},
            istream={"4": "a"},
            dstream={},
        ),
    ),
    WindowTable(
        "periodic: the last closed window is looked at when the period comes round, if it is still shown",
        {"3": ":a :p 1", "8": ":b :p 1"},
        report=Report(period=seconds(4)),
        **one(
            every(5, 5, shows=Shows.CLOSED),
            shown={"4": "", "8": "a", "12": "b"},
            rstream={"8": "a", "12": "b"},
            istream={"8": "a", "12": "b"},
            dstream={"12": "a"},
        ),
    ),
    WindowTable(
        "periodic: what ended after the last close of a landmark is seen with the next one",
        {"3": ":a :p 1", "6": ":b :p 1"},
        report=Report(period=seconds(4)),
        **one(
            WindowSpec(Kind.LANDMARK, slide=seconds(5), start=EPOCH),
            shown={"4": "", "8": "a", "12": "a b"},
            rstream={"8": "a", "12": "a b"},
            istream={"8": "a", "12": "b"},
            dstream={},
        ),
    ),
    WindowTable(
        "two windows of one stream: evaluated when either closes; the other shows what is open",
        {"2": ":a :p 1", "7": ":b :p 1"},
        query="SELECT ?x { GRAPH :u { ?x :p ?v } FILTER NOT EXISTS { GRAPH :w { ?x :p ?v } } }",
        windows=(every(5, 5), every(20, 20)),
        shown=({"5": "a", "10": "b", "15": "", "20": ""}, {"5": "a", "10": "a b", "15": "a b", "20": "a b"}),
        rstream={"10": "a", "15": "a b", "20": "a b"},
        istream={"10": "a", "15": "b"},
        dstream={},
    ),
    WindowTable(
        "an element without triples moves time on and changes nothing",
        {"2": ":a :p 1", "9": ""},
        report=ON_CHANGE,
        **one(
            every(5, 5),
            shown={"2": "a", "5+": ""},
            rstream={"2": "a"},
            istream={"2": "a"},
            dstream={"5+": "a"},
        ),
    ),
)

"""Streams that queries give, and others read: cases written by hand, by the oracle and through the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from agreement.chain_runs import everything_by_engine, program_of
from oracle.cases import Case, StreamData
from oracle.chains import Chain
from oracle.notation import elements, short
from oracle.outputs import everything
from oracle.vocabulary import EPOCH, PROLOGUE, iri
from penstock import pipeline
from penstock.columns.ids import parse_term
from penstock.engine.tuning import TUNING
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.plan.analysis.keys import Key, NoKey
from penstock.plan.catalog import StreamName
from penstock.timeline import SECOND
from windows.cases import BOUNDARIES

CLOSES = (  # at 10: a and b; at 20: c and d
    "c-sparql",
    "REGISTER STREAM :o AS CONSTRUCT { ?x :q ?v } FROM STREAM :s [RANGE 10s STEP 10s] WHERE { ?x :p ?v }",
)
NEW = (  # the same; the window at 20 still has a and b
    "rsp-ql",
    "REGISTER ISTREAM :o AS CONSTRUCT { ?x :q ?v } FROM NAMED WINDOW :w ON :s [RANGE PT20S STEP PT10S] "
    "WHERE { WINDOW :w { ?x :p ?v } }",
)
THEN = (  # [5, 10] a b; [5, 11] a c, [10, 11] b c; [10, 20] b d, [11, 20] c d: each ends when it is known
    "cqels-cep",
    "REGISTER STREAM :o AS CONSTRUCT { ?x :then ?y } FROM NAMED WINDOW :w ON :s [RANGE 10s] "
    "WHERE { WINDOW :w { SEQ({ ?x :p ?v }, { ?y :p ?v }) } }",
)
SOON = (  # [5, 10] a b, [10, 11] b c
    "ep-sparql",
    "REGISTER STREAM :o AS CONSTRUCT { ?x :then ?y } FROM :s WHERE { { ?x :p 1 } SEQ { ?y :p 1 } "
    'FILTER (getDURATION() <= "PT5S"^^xsd:duration) }',
)
TOGETHER = (
    "cqels-cep",
    "SELECT ?x FROM NAMED WINDOW :w ON :o [NOW] WHERE { WINDOW :w { ?x :q 1 . ?x :r 1 } }",
)
FIRST = (
    "ep-sparql",
    "REGISTER STREAM :o AS CONSTRUCT { ?x :q 1 } FROM :s WHERE { ?x :p 1 FILTER (?x = :a) }",
)


@dataclass(frozen=True)
class Table:
    """Queries by language, and what the last one gives, by the instant at which it is given, or ends."""

    title: str
    queries: Sequence[tuple[str, str]]
    expected: Mapping[int, str]
    streams: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {":s": BOUNDARIES})


TABLES = (
    Table(
        "C-SPARQL to RSP-QL",
        [CLOSES, ("rsp-ql", "REGISTER RSTREAM :r AS SELECT ?x FROM NAMED WINDOW :w ON :o "
                  "[RANGE PT20S STEP PT10S] WHERE { WINDOW :w { ?x :q ?v } }")],
        {10: "a, b", 20: "a, b, c, d", 30: "c, d"},
    ),
    Table(
        "C-SPARQL to CQELS-CEP",
        [CLOSES, ("cqels-cep", "SELECT ?x ?y FROM NAMED WINDOW :w ON :o [RANGE 20s] "
                  "WHERE { WINDOW :w { SEQ({ ?x :q ?v }, { ?y :q ?v }) } }")],
        {20: "a c, a d, b c, b d"},
    ),
    Table(
        "C-SPARQL to EP-SPARQL",
        [CLOSES, ("ep-sparql", "SELECT ?x ?y FROM :o WHERE { { ?x :q 1 } SEQ { ?y :q 1 } }")],
        {20: "a c, a d, b c, b d"},
    ),
    Table(
        "RSP-QL to C-SPARQL",
        [NEW, ("c-sparql", "REGISTER QUERY n AS SELECT (COUNT(?x) AS ?n) FROM STREAM :o [RANGE 20s STEP 10s] "
               "WHERE { ?x :q ?v }")],
        {10: "2", 20: "4", 30: "2"},
    ),
    Table(
        "RSP-QL to EP-SPARQL, in a graph",
        [NEW, ("ep-sparql", "SELECT ?x ?y WHERE { { GRAPH :o { ?x :q 1 } } SEQ { GRAPH :o { ?y :q 1 } } }")],
        {20: "a c, a d, b c, b d"},
    ),
    Table(
        "CQELS-CEP to C-SPARQL",
        [THEN, ("c-sparql", "SELECT ?x (COUNT(?y) AS ?z) FROM STREAM :o [RANGE 10s STEP 10s] "
                "WHERE { ?x :then ?y } GROUP BY ?x")],
        {10: "a 1", 20: "a 1, b 2, c 1"},
    ),
    Table(
        "CQELS-CEP to CQELS-CEP: what began at different instants are different elements",
        [THEN, ("cqels-cep", "SELECT ?x ?y FROM NAMED WINDOW :w ON :o [NOW] "
                "WHERE { WINDOW :w { ?u :then ?x . ?v :then ?y FILTER (?x != ?y) } }")],
        {},
    ),
    Table(
        "EP-SPARQL to RSP-QL",
        [SOON, ("rsp-ql", "REGISTER RSTREAM :r AS SELECT ?x ?y FROM NAMED WINDOW :w ON :o [RANGE PT10S] "
                "WHERE { WINDOW :w { ?x :then ?y } }")],
        {10: "a b", 20: "b c"},
    ),
    Table(
        "EP-SPARQL to CQELS-CEP: intervals are those of the rule",
        [SOON, ("cqels-cep", "SELECT ?x ?z FROM NAMED WINDOW :w ON :o [RANGE 20s] FROM NAMED WINDOW :u ON :s "
                "[RANGE 20s] WHERE { WINDOW :w { ?x :then ?y } WINDOW :u { ?z :p 1 } FILTER (?z = ?y) }")],
        {10: "a b", 11: "b c"},
    ),
    Table(
        "three in a row",
        [CLOSES,
         ("ep-sparql", "REGISTER STREAM :r AS CONSTRUCT { ?x :then ?y } FROM :o "
          "WHERE { { ?x :q 1 } SEQ { ?y :q 1 } }"),
         ("c-sparql", "SELECT ?x (COUNT(?y) AS ?z) FROM STREAM :r [RANGE 10s STEP 10s] "
          "WHERE { ?x :then ?y } GROUP BY ?x")],
        {20: "a 2, b 2"},
    ),
    Table(
        "two that give one stream: each has elements of its own",
        [CLOSES, ("c-sparql", CLOSES[1].replace(":q", ":r")),
         TOGETHER],
        {},
    ),
    Table(
        "one that gives both: they are in one element",
        [("c-sparql", CLOSES[1].replace("?x :q ?v", "?x :q ?v . ?x :r ?v")),
         TOGETHER],
        {10: "a, b", 20: "c, d"},
    ),
    Table(
        "two that give one stream, as a graph",
        [CLOSES, ("c-sparql", CLOSES[1].replace(":q", ":r")),
         ("rsp-ql", "REGISTER RSTREAM :r AS SELECT ?x FROM NAMED WINDOW :w ON :o [RANGE PT10S] "
          "WHERE { WINDOW :w { ?x :q 1 . ?x :r 1 } }")],
        {10: "a, b", 20: "c, d"},
    ),
    Table(
        "a stream that is given and constructed is one: its triples are counted together",
        [("ep-sparql", "REGISTER STREAM :o AS CONSTRUCT { ?x :q 1 } FROM :s WHERE { ?x :p 1 }"),
         ("c-sparql", "SELECT ?x FROM STREAM :o [RANGE TRIPLES 2] WHERE { ?x :q 1 }")],
        {5: "a", 7: "a, g", 10: "b, g", 11: "b, c", 20: "c, d"},
        {":s": BOUNDARIES, ":o": {"7": ":g :q 1"}},
    ),
    Table(
        "it is reported that nothing was given, as long as time goes on",
        [FIRST, ("rsp-ql", "REGISTER RSTREAM :r AS SELECT (COUNT(?x) AS ?n) FROM NAMED WINDOW :w ON :o "
                 "[RANGE PT5S] WHERE { WINDOW :w { ?x :q 1 } }")],
        {5: "1", 10: "0", 15: "0", 20: "0"},
    ),
    Table(
        "who answers at instants answers at those of what it reads",
        [CLOSES, ("ep-sparql", "ASK FROM :o WHERE { :a :q 1 }")],
        {10: "true", 20: "false"},
    ),
)  # fmt: skip


def chain(table: Table, together: int) -> Chain:
    """The case in batches of so many elements, in the order of time."""
    streams = [
        StreamData(iri(name), tuple(sorted(elements(each), key=lambda one: one.end)))
        for name, each in table.streams.items()
    ]
    places = sorted(
        ((stream, number) for stream, data in enumerate(streams) for number in range(len(data.elements))),
        key=lambda place: streams[place[0]].elements[place[1]].end,
    )
    batches = tuple(tuple(places[first : first + together]) for first in range(0, len(places), together))
    queries = [parse_query(PROLOGUE + text, language=language).query for language, text in table.queries]
    case = Case(together, tuple(streams), (), (), 0, batches)
    return Chain(case, tuple(queries), tuple(language for language, _ in table.queries))


def shown(rows: Mapping) -> dict[int, str]:
    """Rows as the tables have them."""
    found: dict[int, list[str]] = {}
    for row, count in rows.items():
        at, (bindings, _, end) = row if isinstance(row[0], int) else (row[2], row)
        terms = [parse_term(text.encode()) for _, text in bindings]
        text = " ".join(short(term).removeprefix(":") for term in terms)
        found.setdefault((at - EPOCH) // SECOND, []).extend(count * [text])
    return {at: ", ".join(sorted(texts)) for at, texts in found.items()}


each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)


@each_table
def test_by_the_definition(table: Table):
    case = chain(table, 1)
    assert shown(everything(case.queries, case.data)[-1]) == dict(table.expected)


@pytest.mark.sample(6)
@pytest.mark.parametrize("together", [1, 2, 100])
@each_table
def test_by_the_engine(table: Table, together: int):
    for shards in (1, 2, 8):
        for at_once in (False, True):
            given = everything_by_engine(chain(table, together), shards, restore=True, at_once=at_once)
            assert shown(given[-1]) == dict(table.expected), (shards, at_once)


# --- keys -----------------------------------------------------------------------------------------


def keys(*queries: tuple[str, str]) -> list[Key | NoKey]:
    program = program_of(chain(Table("", queries, {}), 1), 2, TUNING)
    return [query.key for query in program.plan.queries]


def test_triples_that_stay_with_their_key_are_read_where_they_are_made():
    reader = ("ep-sparql", "SELECT ?x WHERE { { GRAPH :o { ?x :q ?v } } SEQ { GRAPH :s { ?x :p ?w } } }")
    assert all(isinstance(each, Key) for each in keys(NEW, reader))


def test_when_windows_report_is_known_where_all_of_the_stream_is():
    reader = ("c-sparql", "SELECT ?x FROM STREAM :o [RANGE 10s] WHERE { ?x :other ?v }")
    found = keys(NEW, reader)
    assert all(isinstance(each, NoKey) for each in found)
    assert "`q1` gives something, which `q2` must know" in found[0].reason


# --- what is refused ------------------------------------------------------------------------------


def plan(*queries: tuple[str, str]):
    parsed = [parse_query(PROLOGUE + text, language=language) for language, text in queries]
    return pipeline.plan(parsed, [StreamName(iri(":s").value)])


def test_a_window_over_its_own_output():
    text = "REGISTER STREAM :o AS CONSTRUCT { ?x :q ?v } FROM STREAM :o [RANGE 10s] WHERE { ?x :p ?v }"
    with pytest.raises(QueryError, match="`o` reads its own output: `o` → <http://example.org/o> → `o`"):
        plan(("c-sparql", text))


def test_a_circle_of_several_languages():
    back = "REGISTER STREAM :s2 AS CONSTRUCT { ?x :p 1 } FROM :o WHERE { ?x :q 1 }"
    with pytest.raises(QueryError, match=r"`o` → <\S+/o> → `s2` → <\S+/s2> → `o`"):
        plan(("c-sparql", CLOSES[1].replace(":s ", ":s2 ")), ("ep-sparql", back))


def test_a_stream_of_solutions_cannot_be_read():
    selects = ("rsp-ql", "REGISTER RSTREAM :o AS SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE PT5S] "
               "WHERE { WINDOW :w { ?x :p 1 } }")  # fmt: skip
    windows = ("c-sparql", "SELECT ?x FROM STREAM :o [RANGE 10s] WHERE { ?x :q ?v }")
    for reader in (windows, ("ep-sparql", "SELECT ?x FROM :o WHERE { ?x :q ?v }")):
        with pytest.raises(QueryError, match="`o` is registered as, but it gives solutions") as caught:
            plan(selects, reader)
        assert "CONSTRUCT" in caught.value.hint and caught.value.span is not None


def test_a_window_over_a_stream_that_there_is_not():
    with pytest.raises(QueryError, match="not registered, and no query gives it") as caught:
        plan(CLOSES, ("c-sparql", "SELECT ?x FROM STREAM :oo [RANGE 10s] WHERE { ?x :q ?v }"))
    assert caught.value.hint == "did you mean <http://example.org/o>?"
    assert caught.value.span.column == 28


def test_a_rule_may_derive_more_from_what_another_one_has_led_to():
    """Only if the first one could read that again, it would be a circle."""
    last = "CONSTRUCT {{ ?x :{} ?n }} FROM :n WHERE {{ ?x :count ?n }}"
    counts = ("c-sparql", "REGISTER STREAM :n AS CONSTRUCT { ?x :count ?n } FROM STREAM :o [RANGE 10s] "
              "WHERE { { SELECT ?x (COUNT(?y) AS ?n) WHERE { ?x :then ?y } GROUP BY ?x } }")  # fmt: skip
    plan(SOON, counts, ("ep-sparql", last.format("many")))
    with pytest.raises(QueryError, match=r"`n` reads its own output: `n` → <\S+/n> → `query-3` → `o` → <"):
        plan(SOON, counts, ("ep-sparql", last.format("p")))


def test_what_is_not_fed_is_no_stream():
    reader = ("c-sparql", "SELECT ?x FROM STREAM :o [RANGE 10s] WHERE { ?x :q ?v }")
    parsed = [parse_query(PROLOGUE + text, language=language) for language, text in (CLOSES, reader)]
    with pytest.raises(QueryError, match="not registered, and no query gives it"):
        pipeline.plan(parsed, [StreamName(iri(":s").value)], feed=False)

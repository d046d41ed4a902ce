"""Where queries without answers dry up, over any number of shards, restored or not."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from agreement import window_runs
from agreement.engine_runs import occurrences_of, program_of
from oracle.cases import Element
from oracle.generator import make_case
from oracle.window_generator import make_window_case
from penstock import pipeline
from penstock.engine.counting import RowCounts
from penstock.engine.diagnosis import diagnose, nearest
from penstock.engine.tuning import TUNING
from penstock.errors import QueryError
from penstock.knowledge.graphs import graph_of
from penstock.languages import parse_query
from penstock.plan import steps
from penstock.plan.catalog import StreamName
from penstock.plan.sources import rule_graphs, static_graphs, streams
from penstock.terms import Literal, NamedNode
from penstock.timeline import NEVER, SECOND

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
OCCURRING = {f"http://example.org/{name}" for name in ("pressure", "warning", "state")}


def ex(name):
    return NamedNode(f"http://example.org/{name}")


def element(second, *triples):
    return Element(tuple((ex(s), ex(p), o) for s, p, o in triples), second * SECOND, second * SECOND)


STREAM = [
    element(1, ("pump1", "pressure", Literal(4)), ("pump2", "pressure", Literal(5))),
    element(2, ("pump3", "warning", Literal("hot")), ("pump1", "state", ex("fine"))),
    element(3, ("pump1", "pressure", Literal(3)), ("pump2", "pressure", Literal(6))),
    element(9, ("pump3", "pressure", Literal(9))),
]


def run(program, batches, *, restored=False):
    """The counts over all shards at the end, with the number of answers of each query."""
    live = [program.open(number) for number in range(program.shards)]
    stored = [{} for _ in live]
    answers = Counter()
    watermark, latest = NEVER, NEVER
    for batch in [*batches, None]:
        payloads = [[] for _ in live]
        for stream, elements in (batch or {}).items():
            latest = max([latest, *(each.end for each in elements)])
            for shard, payload in program.route(stream, occurrences_of(elements, program.key)):
                payloads[shard].append(payload)
        for number in range(program.shards):
            for query, table in live[number].answers(payloads[number], watermark, batch is None):
                answers[query] += table.num_rows
            puts, deletes = live[number].changes()
            for key in deletes:
                del stored[number][key]
            stored[number].update(puts)
            if restored:
                live[number] = program.open(number)
                live[number].restore(stored[number].items())
        watermark = latest
    parts = [RowCounts.from_json(shard.row_counts().to_json()) for shard in live]
    return sum(parts, RowCounts()), answers


def program_for(texts, graphs=(), shards=1):
    queries = [parse_query(PREFIX + text, origin=f"q{number}") for number, text in enumerate(texts)]
    return pipeline.program(queries, [StreamName(None)], list(graphs), shards=shards, now=0)


CASES = {
    # A predicate that never occurs, and the one that was meant.
    "SELECT * { ?p :presure ?a } SEQ { ?p :warning ?w }": (
        [(0, "?p :presure ?a"), (1, "?p :warning ?w")],
        ["`?p :presure ?a` matched nothing: :presure does not occur; did you mean :pressure?"],
    ),
    "PREFIX e: <http://example.com/> SELECT * { ?p e:state ?a }": (
        [(0, "?p e:state ?a")],
        ["`?p e:state ?a` matched nothing: e:state does not occur; did you mean :state?"],
    ),
    "SELECT * { ?p :colour ?a }": (
        [(0, "?p :colour ?a")],
        [
            "`?p :colour ?a` matched nothing: :colour does not occur;"
            " the streams have :pressure, :state, :warning"
        ],
    ),
    "SELECT * { ?p :state :broken }": (
        [(0, "?p :state :broken")],
        ["`?p :state :broken` matched nothing: :state occurs, but not with :broken"],
    ),
    # Paths: a step that no way can do without, one that it can, and ways that lead nowhere.
    "SELECT * { ?p (:warning|:state)/[:presure] ?x }": (
        [(1, "[] :warning []"), (1, "[] :state []"), (0, "[] :presure []")],
        ["`[] :presure []` matched nothing: :presure does not occur; did you mean :pressure?"],
    ),
    "SELECT * { ?p (:state|:warning)/next:::pressure ?x }": (
        [(1, "[] :state []"), (1, "[] :warning []"), (5, "[] :pressure []")],
        ["no way along `[] :state []`, `[] :warning []` and `[] :pressure []` leads to an end of its path"],
    ),
    # Joins: no shared value, the wrong order, too far apart.
    "SELECT * { ?p :state ?s } SEQ { ?p :warning ?w }": (
        [(1, "?p :state ?s"), (1, "?p :warning ?w")],
        [
            "SEQ let nothing through: 1 row of `?p :state ?s` and 1 row of `?p :warning ?w`,"
            " but no two with the same ?p, the first before the second"
        ],
    ),
    'SELECT * { ?p :warning ?w } SEQ { ?p :pressure ?a } FILTER (getDURATION() < "PT5S"^^xsd:duration)': (
        [(1, "?p :warning ?w"), (5, "?p :pressure ?a")],
        [
            "SEQ let nothing through: 1 row of `?p :warning ?w` and 5 rows of `?p :pressure ?a`,"
            " but no two with the same ?p, the first before the second, within PT5S"
        ],
    ),
    "SELECT * { ?p :pressure ?a } EQUALS { ?p :warning ?w }": (
        [(5, "?p :pressure ?a"), (1, "?p :warning ?w")],
        [
            "EQUALS let nothing through: 5 rows of `?p :pressure ?a` and 1 row of `?p :warning ?w`,"
            " but no two with the same ?p, at the same time"
        ],
    ),
    "SELECT * { ?p :warning ?w . ?p :state ?s }": (
        [(1, "?p :warning ?w"), (1, "?p :state ?s")],
        [
            "the join let nothing through: 1 row of `?p :warning ?w` and 1 row of `?p :state ?s`,"
            " but no two with the same ?p"
        ],
    ),
    # Filters: by a constant (which never reach the filter), over pairs, computed.
    "SELECT * { ?p :pressure ?a FILTER (?a > 100) }": (
        [(5, "?p :pressure ?a")],
        ["FILTER (?a > 100) let none of 5 rows of `?p :pressure ?a` through"],
    ),
    "SELECT * { ?p :pressure ?a FILTER (?a > 4 && ?a < 5) }": (
        [(5, "?p :pressure ?a")],
        ["FILTER (?a < 5) let none of 3 rows of `?p :pressure ?a` through"],
    ),
    "SELECT * { ?p :pressure ?a } SEQ { ?p :pressure ?b } FILTER (?b > ?a * 10)": (
        [(5, "?p :pressure ?a"), (5, "?p :pressure ?b")],
        [
            "SEQ let nothing through: 5 rows of `?p :pressure ?a` and 5 rows of `?p :pressure ?b`, but no two"
            " with the same ?p, the first before the second, and such that FILTER (?b > (?a * 10))"
        ],
    ),
    "SELECT * { ?p :pressure ?a } SEQ { ?p :pressure ?b } FILTER (STR(?b) = CONCAT(STR(?a), 'x'))": (
        [(5, "?p :pressure ?a"), (5, "?p :pressure ?b")],
        ['FILTER (STR(?b) = CONCAT(STR(?a), "x")) let none of 2 rows through'],
    ),
    "SELECT * { ?p :pressure ?a FILTER (getDURATION() < 600) }": (
        [(5, "?p :pressure ?a")],
        ["FILTER (getDURATION() < 600) let none of 5 rows through"],
    ),
    # OPTIONAL and EXISTS: what need not be there is no reason, but may be misspelt.
    "SELECT * { ?p :presure ?a OPTIONAL { ?p :nothing ?n } }": (
        [(0, "?p :presure ?a"), (0, "?p :nothing ?n")],
        [
            "`?p :presure ?a` matched nothing: :presure does not occur; did you mean :pressure?",
            "`?p :nothing ?n` matched nothing: :nothing does not occur;"
            " the streams have :pressure, :state, :warning",
        ],
    ),
    "SELECT * { ?p :pressure ?a OPTIONAL { ?p :nothing ?n } FILTER (BOUND(?n)) }": (
        [(5, "?p :pressure ?a"), (0, "?p :nothing ?n")],
        [
            "FILTER (BOUND(?n)) let none of 5 rows through",
            "`?p :nothing ?n` matched nothing: :nothing does not occur;"
            " the streams have :pressure, :state, :warning",
        ],
    ),
    "SELECT * { ?p :pressure ?a FILTER EXISTS { ?p :nothing ?n } }": (
        [(5, "?p :pressure ?a"), (0, "?p :nothing ?n")],
        [
            "FILTER (EXISTS {…}) let none of 5 rows through",
            "`?p :nothing ?n` matched nothing: :nothing does not occur;"
            " the streams have :pressure, :state, :warning",
        ],
    ),
    "SELECT * { ?p :pressure ?a MINUS { ?p :pressure ?b } }": (
        [(5, "?p :pressure ?a"), (5, "?p :pressure ?b")],
        ["MINUS removed all 5 rows"],
    ),
    # Aggregates.
    "SELECT ?p (COUNT(*) AS ?n) { ?p :pressure ?a } GROUP BY ?p HAVING (COUNT(*) > 100)": (
        [(5, "?p :pressure ?a")],
        None,
    ),
    "SELECT ?p (AVG(?a) AS ?n) { ?p :presure ?a } GROUP BY ?p": (
        [(0, "?p :presure ?a")],
        ["`?p :presure ?a` matched nothing: :presure does not occur; did you mean :pressure?"],
    ),
    "SELECT * { { ?p :a ?a } UNION { ?p :pressure ?a FILTER (?a > 100) } }": (
        [(0, "?p :a ?a"), (5, "?p :pressure ?a")],
        [
            "`?p :a ?a` matched nothing: :a does not occur; the streams have :pressure, :state, :warning",
            "FILTER (?a > 100) let none of 5 rows of `?p :pressure ?a` through",
        ],
    ),
    # Static knowledge: read by every shard, counted once.
    "SELECT * { ?p :pressure ?a . ?p :in ?room . ?room :on :third }": (
        [(5, "?p :pressure ?a"), (2, "?p :in ?room"), (0, "?room :on :third")],
        [
            "`?room :on :third` matched nothing: :on does not occur;"
            " the streams have :pressure, :state, :warning"
        ],
    ),
    "CONSTRUCT { ?a :of ?p } WHERE { ?p :pressure ?a }": (
        [(5, "?p :pressure ?a")],
        [
            "the template makes no triple from 5 rows: a variable of it is unbound, or a literal would be"
            " a subject or predicate"
        ],
    ),
}  # fmt: skip
KNOWN = graph_of([(ex("pump1"), ex("in"), ex("cellar")), (ex("pump2"), ex("in"), ex("attic"))], None)


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("shards", [1, 2, 8])
@pytest.mark.parametrize("text", CASES)
def test_each_kind_of_reason(text, shards, restored):
    patterns, reasons = CASES[text]
    graphs = [KNOWN] if ":in" in text else []
    # A second query that reads the same patterns, and has answers, changes nothing.
    program = program_for([text, "SELECT * { ?p :pressure ?a }"], graphs, shards)
    counts, answers = run(program, [{0: [each]} for each in STREAM], restored=restored)
    assert answers == {1: 5}
    found = program.diagnose(0, counts, OCCURRING)
    assert sorted(found.patterns) == sorted(patterns)
    if reasons is None:
        (reason,) = found.reasons
        assert "HAVING" in reason or "FILTER" in reason
    else:
        assert sorted(found.reasons) == sorted(reasons)
    assert program.diagnose(1, counts) is None
    assert program.lacks_predicate(counts) == ("does not occur" in str(found))


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(
    ("condition", "guilty"),
    [("?a > 100", "FILTER (?a > 100)"), ("?a > 4 && ?a < 5", "FILTER (?a > 4) and FILTER (?a < 5)")],
)
def test_rows_that_do_not_even_reach_the_filters_are_counted(condition, guilty, shards):
    """Where all readers compare with constants, rows are left out before the exchange."""
    program = program_for([f"SELECT * {{ ?p :pressure ?a FILTER ({condition}) }}"], shards=shards)
    counts, answers = run(program, [{0: [each]} for each in STREAM])
    assert not answers and not counts.given
    found = program.diagnose(0, counts)
    assert found.patterns == ((5, "?p :pressure ?a"),)
    assert found.reasons == (f"{guilty} let none of 5 rows of `?p :pressure ?a` through",)


def test_what_came_too_late_is_told():
    program = program_for(["SELECT * { ?p :pressure ?a }"])
    counts, answers = run(program, [{0: STREAM[1:2]}, {0: STREAM[1:2]}, {0: STREAM[:1]}])
    assert not answers
    assert program.diagnose(0, counts).reasons == (
        "all 2 rows of `?p :pressure ?a` came too late: --lateness waits for them",
    )


def test_it_reads_well():
    program = program_for(["SELECT * { ?p :presure ?a } SEQ { ?p :warning ?w }"])
    counts, _ = run(program, [{0: STREAM}])
    assert str(program.diagnose(0, counts, OCCURRING)).splitlines() == [
        "q0 has no answers",
        "  0 rows  ?p :presure ?a",
        "  1 row   ?p :warning ?w",
        "  `?p :presure ?a` matched nothing: :presure does not occur; did you mean :pressure?",
    ]


def test_the_nearest_predicate():
    known = ["http://a/price", "http://b/Price", "http://a/ns#hasPrice", "http://a/volume"]
    assert nearest("http://c/ns#volume", known) == "http://a/volume"
    assert nearest("http://a/prize", known) in ("http://a/price", "http://b/Price")
    assert nearest("http://a/volumes", known) == "http://a/volume"
    assert nearest("http://a/temperature", known) is None


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", range(0, 120))
def test_counts_of_random_queries(seed):
    """The same over any number of shards, with restarts; the last step's rows are the answers; a
    pattern has as many rows as there are triples that match it."""
    case = make_case(seed)
    batches = [
        {s: [case.streams[s].elements[e] for t, e in batch if t == s] for s, _ in batch}
        for batch in case.batches
    ]
    known = []
    for shards, restored in [(1, False), (3, False), (2, True)]:
        try:
            program = program_of(case, shards)
        except QueryError:
            pytest.skip("refused")
        batches_in_time = [{s: list(e) for s, e in batch.items()} for batch in batches]
        counts, answers = run(program, _in_order(batches_in_time), restored=restored)
        net = program.network
        place = {step: i for i, step in enumerate(net.steps)}
        for number, query in enumerate(program.plan.queries):
            assert counts.given.get(place[query.step], 0) == answers[number]
            found = diagnose(query, net, 0, counts)
            assert (found is None) == bool(answers[number])
            assert found is None or found.reasons
        for scan, at in place.items():
            if isinstance(scan, steps.Scan) and not rule_graphs(scan.sources):
                timed = (each for s in streams(scan.sources) for each in case.streams[s].elements)
                triples = [triple for each in timed for triple in each.triples]
                triples += [
                    triple for g in static_graphs(scan.sources) for triple in set(case.graphs[g].triples)
                ]
                assert counts.matched.get(at, 0) == sum(_matches(scan, triple) for triple in triples)
        known.append({i: answers[i] for i in range(len(case.queries))})
    assert known[0] == known[1] == known[2]


def _in_order(batches):
    """One batch per element in the order of their ends, so that nothing is late."""
    all_ = [(stream, each) for batch in batches for stream, elements in batch.items() for each in elements]
    return [{stream: [each]} for stream, each in sorted(all_, key=lambda pair: pair[1].end)]


def _matches(scan, triple):
    bound = {}
    for wanted, term in zip((scan.subject, scan.predicate, scan.object), triple, strict=True):
        if isinstance(wanted, str):
            if bound.setdefault(wanted, term) != term:
                return False
        elif wanted != term:
            return False
    return True


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(
    ("text", "patterns", "reason"),
    [
        (
            "SELECT * { ?p :presure ?a . ?p :state ?s }",
            [(0, "?p :presure ?a"), (1, "?p :state ?s")],
            "`?p :presure ?a` matched nothing: :presure does not occur; did you mean :pressure?",
        ),
        (
            "SELECT * { ?p :state :broken . ?q :pressure ?a }",
            [(0, "?p :state :broken"), (5, "?q :pressure ?a")],
            "`?p :state :broken` matched nothing: :state occurs, but not with :broken",
        ),
        (
            "SELECT * { ?p :state ?s . ?q :pressure ?a FILTER (?a > 100) }",
            [(1, "?p :state ?s"), (5, "?q :pressure ?a")],
            "no element has matches of all it needs: `?p :state ?s` and `?q :pressure ?a`",
        ),
        (
            "SELECT * { ?p :state ?s . ?p :warning ?w }",
            [(1, "?p :state ?s"), (1, "?p :warning ?w")],
            "the join let nothing through: 1 row of `?p :state ?s` and 1 row of `?p :warning ?w`,"
            " but no two with the same ?p",
        ),
        (
            "SELECT * { ?q :pressure ?a FILTER (?a > 100) }",
            [(5, "?q :pressure ?a")],
            "FILTER (?a > 100) let none of 5 rows of `?q :pressure ?a` through",
        ),
    ],
)
def test_in_event_mode(text, patterns, reason, shards, restored):
    queries = pipeline.in_scope([parse_query(PREFIX + text)], "element")
    program = pipeline.program(queries, [StreamName(None)], [], shards=shards, now=0)
    counts, answers = run(program, [{0: [each]} for each in STREAM], restored=restored)
    told = program.diagnose(0, counts, OCCURRING)
    assert not answers and list(told.patterns) == patterns and list(told.reasons) == [reason]
    assert program.lacks_predicate(counts) == ("does not occur" in reason)


WINDOW = "REGISTER QUERY q AS " + PREFIX + "SELECT * FROM STREAM <http://example.org/s> [RANGE 10s STEP 2s] "


@pytest.mark.parametrize("modifiers", ["OFFSET 1", "LIMIT 0", "ORDER BY ?a OFFSET 1", "ORDER BY ?a LIMIT 0"])
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("?p :warning ?w", "OFFSET and LIMIT left none of 1 row"),
        ("?p :pressure ?a FILTER (?a > 100)", "FILTER (?a > 100) let none of 5 rows of"),
        ("?p :presure ?a", "`?p :presure ?a` matched nothing"),
    ],
)
def test_slices_over_windows(modifiers, pattern, reason):
    """Where rows can leave, OFFSET and LIMIT order them themselves: ORDER BY is no step of the network."""
    query = parse_query(f"{WINDOW} WHERE {{ {pattern} }} {modifiers}", language="c-sparql")
    program = pipeline.program([query], [StreamName("http://example.org/s")], [], shards=1, now=0)
    counts, answers = run(program, [{0: [each]} for each in STREAM])
    told = program.diagnose(0, counts, OCCURRING)
    assert not answers and any(each.startswith(reason) for each in told.reasons), told
    assert program.lacks_predicate(counts) == ("matched" in reason)


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_whatever_was_counted_there_is_a_reason(first):
    """Rows anywhere in the plan, and none at its end: what a step asks about others is always there."""
    tried = 0
    for seed in range(first, first + 100):
        case, windowed = make_case(seed), make_window_case(seed)
        for make in (
            lambda case=case: program_of(case, 1),
            lambda windowed=windowed: window_runs.program_of(windowed.data, windowed.query, 1, TUNING),
        ):
            try:
                program = make()
            except QueryError:
                continue
            random, net = Random(seed), program.network
            for dense in (0, 0.3, 0.7, 1):
                for number, query in enumerate(program.plan.queries):
                    given = {place: 1 for place in range(len(net.steps)) if random.random() < dense}
                    given.pop(net.places()[query.step], None)
                    found = program.diagnose(number, RowCounts(given, dict(given)))
                    assert found.reasons and str(found)
                    tried += 1
    assert tried > 300

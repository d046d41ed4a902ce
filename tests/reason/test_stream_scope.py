"""Rules over whole streams: premises from several elements, the hull, and how far apart they may be."""

from __future__ import annotations

from random import Random

import pytest
from tests.reason.running import (
    BEGIN,
    PREFIXES,
    RDF_TYPE,
    SECOND,
    Element,
    elements,
    ex,
    graphs,
    knowledge,
    written,
)  # fmt: skip

from agreement.tunings import tiny
from oracle.model import StaticGraph, TimedDataset, stream_of
from oracle.rules import meaning_by_stream
from penstock import pipeline
from penstock.algebra.scopes import Scope
from penstock.api.engine import Batch, Engine
from penstock.decode.decoder import Decoder
from penstock.engine.tuning import TUNING
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.pipeline.entailment import entailed, rule_findings
from penstock.plan.catalog import StreamName
from penstock.rules.constructs import constructs
from penstock.rules.executors import RuleConfig
from penstock.rules.library import ruleset
from penstock.rules.reading import read_rules
from penstock.terms import NamedNode

KEY = 5
ALL = "SELECT ?x ?p ?y WHERE { ?x ?p ?y }"
PREMISES = (
    PREFIXES
    + """
INSERT { ?x :hasUncle ?z } WHERE { ?x :hasParent ?y . ?y :hasBrother ?z }"""
)


def run(
    names: str, of: list[Element], *, within=None, text="", shards=1, batches=1, tuning=TUNING, query=ALL
):
    """All triples that a query finds, and what checks find."""
    rules = ruleset(names.split(), [read_rules(text)] if text else [])
    queries = [parse_query(PREFIXES + query)]
    given = graphs(KEY)
    made = entailed(given, queries, RuleConfig(tuple(rules), Scope.STREAM, within), KEY)
    program = pipeline.program(
        queries, [StreamName()], given, shards=shards, now=0, key=KEY, tuning=tuning, entailed=made
    )
    live = [program.open(number) for number in range(shards)]
    found: dict[int, list] = {}
    size = -(-len(of) // batches)
    for batch in range(batches + 1):
        part = of[batch * size : (batch + 1) * size]
        decoder = Decoder("nquads", keep_predicates=program.keep_predicates, key=KEY, source=str(batch))
        read = decoder.decode("".join(element.lines for element in part).encode())[0]
        assert program.reason(read) is read
        payloads: list[list[bytes]] = [[] for _ in live]
        for shard, payload in program.route(0, read):
            payloads[shard].append(payload)
        reached = max((element.end for element in part), default=0)
        for number, shard in enumerate(live):
            for query, table in shard.answers(payloads[number], reached, batch == batches):
                found.setdefault(query, []).extend(tuple(row.values()) for row in table.to_pylist())
    return [found.get(i, []) for i in range(1 + len(made.applied.checks))]


def occurrences(names: str, of: list[Element], within: str | None = None, text="") -> set:
    """The same by definition."""
    rules = ruleset(names.split(), [read_rules(text)] if text else [])
    stream = stream_of((e.triples, e.start, e.end) for e in of)
    dataset = TimedDataset((stream, StaticGraph(knowledge())))
    closed = meaning_by_stream([rule.text for rule in rules], dataset, within)
    sources = (*closed.default, *closed.derived)
    return {(*map(str, o.triple), o.start, o.end) for source in sources for o in source.occurrences}


RULES = "cax-sco scm-sco prp-dom prp-rng prp-trp prp-symp"


@pytest.mark.parametrize("within", [None, 2 * SECOND])
@pytest.mark.parametrize("seed", range(4))
def test_as_the_definition_says(seed, within):
    of = elements(seed, 7)
    said = '"PT2S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>' if within else None
    wanted = occurrences(RULES, of, said, PREMISES)
    tuning = tiny(Random(seed)) if seed % 2 else TUNING
    [found] = run(
        RULES, of, within=within, text=PREMISES, shards=1 + seed, batches=1 + 2 * seed, tuning=tuning
    )
    assert len(found) == len(set(found))
    assert set(found) == wanted
    lengths = {end - start for *_, start, end in wanted if end is not None}
    assert max(lengths) > SECOND // 2 and (within is None or max(lengths) <= within)


def told(*triples: tuple[str, str, str]) -> list[Element]:
    return [
        Element(f"e{i}", (tuple(map(ex, triple)),), BEGIN + i * SECOND, BEGIN + i * SECOND)
        for i, triple in enumerate(triples)
    ]


def local(rows: list, predicate: str) -> set:
    name = lambda text: text.rsplit("/", 1)[-1].strip(">")  # noqa: E731
    return {
        (name(x), name(y), (start - BEGIN) // SECOND, (end - BEGIN) // SECOND)
        for x, p, y, start, end in rows
        if name(p) == predicate and end is not None
    }


def test_internal_graphs_that_a_variable_names():
    """A chain whose links come one after the other, or from static knowledge; and no chain that is none."""
    of = told(
        ("a", "hasParent", "b"), ("b", "hasBrother", "c"), ("x", "hasBrother", "a"), ("d", "hasParent", "i2")
    )
    [found] = run("prp-spo2", of)
    assert local(found, "hasUncle") == {("a", "c", 0, 1), ("d", "i3", 3, 3)}
    assert {p.rsplit("/", 1)[-1] for _, p, *_, end in found if end is not None} == {
        "hasParent>", "hasBrother>", "hasUncle>"
    }  # fmt: skip
    [found] = run("prp-spo2", of, within=SECOND // 2)
    assert local(found, "hasUncle") == {("d", "i3", 3, 3)}
    assert run("prp-spo2", of, query="SELECT * WHERE { GRAPH ?g { ?x ?p ?y } }") == [[]]


def test_contradictions_between_elements():
    type_ = NamedNode(RDF_TYPE)
    of = [
        Element(f"e{i}", ((ex("a"), type_, ex(name)),), BEGIN + i * SECOND, BEGIN + i * SECOND)
        for i, name in enumerate(("Dog", "Cat"))
    ]
    _, found = run("cax-dw", of)
    [(_, _, thing, start, end)] = found
    assert thing == "<http://example.org/a>" and (start, end) == (BEGIN, BEGIN + SECOND)
    assert run("cax-dw", of, within=SECOND // 2)[1] == []


@pytest.mark.parametrize("regime, names", [("rdfs", ["rdfD1"]), ("owl2-rl", ["dt-eq"]), ("rhodf", [])])
def test_rules_of_regimes_that_would_have_no_end_are_left_out_with_a_warning(regime: str, names: list[str]):
    chosen = RuleConfig(tuple(ruleset([regime])), scope=Scope.STREAM, within=SECOND)
    assert [rule.name for rule in chosen.left_out] == names
    assert [finding.code for _, finding in rule_findings(chosen)] == ["rule-left-out"] * len(names)
    assert not RuleConfig(chosen.rules).left_out
    engine = Engine(spark=None, rules=regime, scope="stream", within="PT1S").add_query(ALL)
    assert "steps" in engine.explain()


def test_what_cannot_be_is_refused_by_name():
    inventing = PREFIXES + "INSERT { ?x :hasParent [] } WHERE { ?x :hasParent ?y }"
    with pytest.raises(QueryError, match=r"would never end.*`rule`") as refusal:
        run("", told(), text=inventing)
    assert "--scope element" in refusal.value.hint
    anything = read_rules("# name: any\n" + PREFIXES + "INSERT { GRAPH ?x { ?x ?p ?y } } WHERE { ?x ?p ?y }")
    with pytest.raises(QueryError, match="the rule any writes triples of any predicate"):
        constructs(anything.rules)
    reads = (
        f"# name: w\n{PREFIXES}"
        "INSERT { GRAPH ?x { ?x :w ?y } } WHERE { ?x :p ?y } ;\n"
        "INSERT { ?x :v ?y } WHERE { GRAPH ?x { ?x ?p ?y } }"
    )
    with pytest.raises(QueryError, match="the rule w reads what has no named predicate in GRAPH"):
        constructs(read_rules(reads).rules)
    two = "# name: two\n" + PREFIXES + "INSERT { ?x :v _:n . GRAPH :g { _:n a :made } } WHERE { ?x :p ?y }"
    with pytest.raises(QueryError, match="the rule two puts one invented blank node into two graphs"):
        constructs(read_rules(two).rules)


def test_memory_without_a_bound_is_warned_of():
    def warned(names: str, **about) -> list[str]:
        rules = tuple(ruleset(names.split()))
        return [finding.code for _, finding in rule_findings(RuleConfig(rules, **about))]

    assert warned("cax-sco prp-symp", scope=Scope.STREAM) == ["unbounded-state"]
    assert warned("cax-sco", scope=Scope.STREAM, within=SECOND) == []
    assert warned("cax-sco") == []


@pytest.mark.usefixtures("spark")
def test_on_spark(tmp_path):
    """Premises in several batches: what follows, and what contradicts; answers of rules go nowhere."""
    links = ("a hasParent b", "b hasBrother c", "x hasBrother a", "d hasParent i2")
    of = told(*(tuple(link.split()) for link in links))
    late = [
        Element(f"t{i}", ((ex("a"), NamedNode(RDF_TYPE), ex(name)),), at, at)
        for i, name in enumerate(("Dog", "Cat"))
        for at in (BEGIN + (10 + i) * SECOND,)
    ]
    written([*of, *late], tmp_path / "stream", 6)
    engine = Engine(
        master="local[2]",
        shards=2,
        batch_bytes=100,
        rules=["prp-spo2", "cax-dw"],
        scope="stream",
        within="5s",
    )
    engine.add_ontology(sorted(knowledge(), key=str)).add_stream(tmp_path / "stream")
    engine.add_query(PREFIXES + "SELECT ?x ?y { ?x :hasUncle ?y }")
    rows, found, batches = set(), [], []

    def take(batch: Batch) -> None:
        batches.append(batch.id)
        found.extend(batch.inconsistent)
        assert list(batch.answers) == ["query-1"]
        for table in batch.tables.values():
            rows.update((r["x"], "/hasUncle", r["y"], r["start"], r["end"]) for r in table.to_pylist())

    assert engine.run(on_batch=take).inconsistent == 1
    assert len(batches) > 2 and local(rows, "hasUncle") == {("a", "c", 0, 1), ("d", "i3", 3, 3)}
    [record] = found
    assert (record["rule"], record["start"][11:19], record["end"][11:19]) == (
        "cax-dw",
        "08:00:10",
        "08:00:11",
    )
    assert record["bindings"]["x"] == "<http://example.org/a>"
    assert len(record["triples"]) == 3
    assert f"<http://example.org/a> a {record['bindings']['c']}" in record["triples"]

"""Which streams and graphs a query looks at, by what is registered and by FROM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.algebra import Dataset, Var
from penstock.algebra.windows import last
from penstock.errors import QueryError
from penstock.plan.catalog import (
    ActiveDataset,
    Catalog,
    GraphName,
    StreamName,
    assumed_catalog,
)
from penstock.plan.compilation.compile import Compiler
from penstock.plan.compilation.context import Context
from penstock.plan.sources import (
    RuleGraph,
    Sources,
    Static,
    Stream,
    WindowSource,
    changing,
    streams,
    timed,
)
from plan.texts import iri, query

PRICES, TRADES, PLACES = (iri(name).value for name in ("prices", "trades", "places"))
CATALOG = Catalog(
    streams=(StreamName(), StreamName(PRICES)),
    graphs=(GraphName(), GraphName(PLACES), GraphName(PRICES)),
)


def graph(streams=(), graphs=(), derived=False) -> Sources:
    return frozenset((*map(Stream, streams), *map(Static, graphs), *([RuleGraph()] if derived else [])))


def test_without_from_all_streams_and_unnamed_graphs_are_the_default_graph():
    assert CATALOG.active(None).default == graph({0, 1}, {0}, derived=True)


def test_without_from_everything_with_a_name_is_a_named_graph():
    named = dict(CATALOG.active(None).named)
    assert named == {PRICES: graph({1}, {2}), PLACES: graph((), {1})}


def test_from_takes_exactly_the_named_ones_and_what_rules_derive():
    active = CATALOG.active(Dataset(default=(iri("places"),), named=(iri("prices"),)))
    assert active.default == graph((), {1}, derived=True)
    assert active.named == ((PRICES, graph({1}, {2})),)


def test_from_named_alone_leaves_the_default_graph_empty():
    active = CATALOG.active(Dataset(default=(), named=(iri("prices"),)))
    assert active.default == {RuleGraph()}


def test_graph_turns_to_one_name_or_with_a_variable_to_all():
    active = CATALOG.active(None)
    assert active.within(iri("places")).default == graph((), {1})
    assert active.within(Var("g")).default == graph({1}, {1, 2})
    assert not active.within(iri("nowhere")).default
    assert active.within(iri("places")).within(iri("prices")).default == graph({1}, {2})


def test_only_streams_make_a_graph_read_a_stream():
    assert timed(CATALOG.active(None).default)
    assert not timed(CATALOG.active(None).within(iri("places")).default)


def test_a_rule_that_reads_a_stream_makes_every_default_graph_timed():
    clause = Dataset(default=(iri("places"),), named=())
    assert not timed(CATALOG.active(clause).default)
    with_rules = Catalog(CATALOG.streams, CATALOG.graphs, (RuleGraph(timed=True),))
    assert timed(with_rules.active(clause).default)
    assert not timed(with_rules.active(None).within(iri("places")).default)


def test_an_unknown_from_is_refused_with_the_nearest_name():
    with pytest.raises(QueryError) as caught:
        CATALOG.active(Dataset(default=(iri("price"),), named=()))
    assert "<http://example.org/price> names no registered" in caught.value.message
    assert caught.value.hint == "did you mean <http://example.org/prices>?"


RULE = query("CONSTRUCT { ?s :q ?o } WHERE { ?s :p ?o }")
INTO = replace(RULE, target=iri("alerts"))
ALERTS = iri("alerts").value


def test_a_graph_that_a_rule_writes_is_a_named_graph():
    catalog = CATALOG.with_targets([RULE, INTO, replace(RULE, target=iri("prices"))])
    active = catalog.active(None)
    assert RuleGraph(ALERTS) not in active.default and RuleGraph() in active.default
    assert active.within(iri("alerts")).default == {RuleGraph(ALERTS)}
    assert active.within(iri("prices")).default == graph({1}, {2}) | {RuleGraph(PRICES)}
    assert dict(active.named).keys() == {PRICES, PLACES, ALERTS}
    chosen = catalog.active(Dataset(default=(iri("alerts"),), named=()))
    assert chosen.default == {RuleGraph(), RuleGraph(ALERTS)}


def test_a_graph_that_no_rule_writes_is_not_there():
    with pytest.raises(QueryError):
        CATALOG.with_targets([RULE]).active(Dataset(default=(iri("alerts"),), named=()))


def test_a_graph_that_rules_write_is_not_taken_for_a_stream():
    catalog = assumed_catalog([INTO, query("SELECT * FROM :alerts { GRAPH :prices { ?s ?p ?o } }")])
    assert catalog.streams == (StreamName(), StreamName(PRICES))
    assert catalog.named(ALERTS) == {RuleGraph(ALERTS)}


def test_a_window_says_that_its_rows_leave():
    shown = frozenset((WindowSource(frozenset((Stream(0),)), last(5)),))
    assert changing(shown) and timed(shown) and streams(shown) == {0}
    assert not changing(CATALOG.active(None).default)
    assert Compiler(RULE).pattern(RULE.pattern, Context(ActiveDataset(shown))).retractable


def test_what_static_graphs_can_hold_follows_from_their_predicates():
    catalog = Catalog(graphs=(GraphName(predicates=frozenset({iri("label").value})),))
    active = catalog.active(None)
    assert active.static_may_have(iri("label")) and active.static_may_have(None)
    assert not active.static_may_have(iri("price"))
    assert Catalog(graphs=(GraphName(),)).active(None).static_may_have(iri("price"))


def test_queries_alone_suggest_a_catalog():
    catalog = assumed_catalog(
        [
            query("SELECT * FROM :prices { ?s ?p ?o FILTER EXISTS { GRAPH :places { ?s ?p ?o } } }"),
            query("SELECT * { GRAPH ?g { ?s ?p ?o } }"),
        ]
    )
    assert catalog.streams == (StreamName(), StreamName(PRICES), StreamName(PLACES))

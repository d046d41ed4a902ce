"""`explain` explains the run: all its queries, over what is registered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock
from penstock import cli, pipeline
from penstock.languages import parse

PREFIX = "PREFIX : <http://e.org/>\n"
MODULE = (
    PREFIX
    + """
CONSTRUCT { ?c :fell ?p } WHERE { { ?c :price ?q } SEQ { ?c :price ?p } }
SELECT ?c ?sector WHERE { ?c :fell ?p . ?c :sector ?sector }
CONSTRUCT { ?d :alarmed true } WHERE { { ?c :alarmed true } SEQ { ?c :owns ?d } }
ASK { ?c :price 3 FILTER NOT EXISTS { ?c :alarmed true } }
SELECT ?c WHERE { { ?c :price ?q } SEQ { ?c :price ?p } }
"""
)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "market.rq").write_text(MODULE)
    (tmp_path / "prices.nq").write_text("<x:a> <http://e.org/price> <x:b> <urn:x#t=2026-01-01T00:00:00Z> .\n")
    (tmp_path / "sectors.ttl").write_text("<x:a> <http://e.org/sector> <x:cars> .\n")


def lines(text: str, word: str) -> list[str]:
    """What stands after a word at the beginning of a line."""
    return [
        re.sub(r" +", " ", line[len(word) :]).strip() for line in text.splitlines() if line.startswith(word)
    ]


def explained(arguments: str, capsys) -> str:
    assert cli.call(["explain", *arguments.split()]) == 0
    return capsys.readouterr().out


def test_the_run_as_a_whole(capsys):
    shown = explained(
        "market.rq --stream http://e.org/s=prices.nq --stream prices.nq --graph sectors.ttl", capsys
    )
    assert lines(shown, "stream ") == ["<http://e.org/s> = prices.nq", "prices.nq"]
    assert lines(shown, "graph ") == ["sectors.ttl"]
    assert lines(shown, "query ") == [
        "market CONSTRUCT, feeds market-2",
        "market-2 SELECT, fed by market",
        "market-3 CONSTRUCT, fed by market-3, feeds market-3 and market-4",
        "market-4 ASK, fed by market-3",
        "market-5 SELECT",
    ]
    assert lines(shown, "recurs ") == ["market-3 feeds itself"]
    assert lines(shown, "order ") == [
        "market-3, then market-4: what looks for absence comes after what derives"
    ]
    assert re.fullmatch(r"\d+ of \d+ steps work for several queries", lines(shown, "shared ")[0])
    assert lines(shown, "== ")[1] == "market-2 SELECT, market.rq:4"
    assert lines(shown, "reads ")[1] == (
        "stream <http://e.org/s> = prices.nq, stream prices.nq, graph sectors.ttl and what market derives"
    )
    assert "(shared with market-5)" in shown and "(shared with market)" in shown
    assert lines(shown, "assumed ") == []


def test_what_is_assumed_is_said(capsys):
    shown = explained("market.rq", capsys)
    assert lines(shown, "assumed ")[0].startswith("one stream without a name; --stream and --graph ")
    (query,) = parse(PREFIX + "ASK FROM :a { ?s :p ?o GRAPH :b { ?s :p ?o } }").queries
    told = "one stream without a name, and <http://e.org/a> and <http://e.org/b> as streams"
    assert lines(pipeline.explain([query]), "assumed ")[0].startswith(told)
    graph = penstock.Engine().add_graph("sectors.ttl", iri="http://e.org/b")
    graph.queries.append(query)
    assert "and <http://e.org/a> as stream;" in lines(graph.explain(), "assumed ")[0]


def test_it_is_the_plan_of_that_run():
    """What a graph holds, and --no-feed, change the plan; so they change what is explained."""
    engine = penstock.Engine().add_stream("prices.nq").add_graph("sectors.ttl").add_query("market.rq")
    run = engine.ready().plan
    shown = engine.explain()
    for query in run.queries:
        for step in query.step.walk():
            assert step.name in shown
    alone = penstock.Engine(feed=False).add_stream("prices.nq").add_query("market.rq").explain()
    assert "feeds" in shown and "feeds" not in alone and "fed by" not in alone
    keys = [getattr(query.key, "variable", None) for query in run.queries]
    said = [line.split(":")[0] for line in lines(shown, "partition key")]
    assert said == [str(key) if key else "none, so it runs in one partition" for key in keys]


def test_one_query_of_a_run():
    engine = penstock.Engine().add_stream("prices.nq").add_query("market.rq")
    shown = engine.explain("market-4")
    assert lines(shown, "== ") == ["market-4 ASK, market.rq:6"]
    assert len(lines(shown, "query ")) == 5
    assert engine.explain(3, "algebra").startswith("(Ask")
    assert engine.explain(stage="algebra").startswith("# market\n(Construct")


def test_the_stages_of_a_run(capsys):
    shown = explained("market.rq --stream prices.nq --graph sectors.ttl --stage spark", capsys)
    assert "            prices.nq\n" in shown and "static knowledge: sectors.ttl" in shown
    assert "Scan ?s :price ?o" in shown


def test_long_things_are_shortened():
    many = ", ".join(f'"value {i}"' for i in range(500))
    module = parse(PREFIX + f"SELECT * {{ ?s :p ?o FILTER (?o IN ({many})) }}" + " ASK { ?s :p ?o }" * 20)
    shown = pipeline.explain(module.queries)
    assert max(map(len, shown.splitlines())) < 200
    assert "…" in shown and " and 12 more)" in shown


def test_a_path_is_shown_as_it_is_walked(tmp_path, capsys):
    (tmp_path / "path.rq").write_text(PREFIX + "SELECT ?x { ?x (:owns/[:sector :cars])+ :a }")
    shown = explained("path.rq --graph sectors.ttl", capsys)
    walks = [line.strip() for line in shown.splitlines() if line.strip().startswith("Reach 0")]
    assert walks[0] == "Reach 0 to 1 by 1, 1 to 2 by 2, 2 to 1 by 1 until 2"
    algebra = " ".join(explained("path.rq --stage algebra", capsys).split())
    assert "(OneOrMorePath (seq :owns (self::[] (seq :sector (self:: :cars)))))" in algebra


@pytest.mark.parametrize("option", ["--stream nothing.nq", "--map nothing.json --stream prices.nq"])
def test_what_is_not_there_is_told(option, capsys):
    assert cli.call(f"explain market.rq {option}".split()) == 2
    assert "nothing" in capsys.readouterr().err


def test_event_mode_is_by_the_element_and_remembers_nothing(capsys):
    (Path("triangle.rq")).write_text(PREFIX + "SELECT * { ?x :p ?y . ?y :p ?z . ?z :p ?x }")
    shown = explained("triangle.rq --query-scope element", capsys)
    assert lines(shown, "partition key ") == [
        "the element: answered where it is read, because all of it is there"
    ]
    assert "nothing: an element is forgotten when it has been answered" in shown
    assert shown.count("Scan ?s :p ?o") == 3 and "PerElement" in shown
    assert lines(explained("triangle.rq", capsys), "partition key ")[0].startswith("none")
    stages = explained("triangle.rq --query-scope element --stage spark", capsys)
    assert lines(stages, "answer ") == ["1 query, for each element by itself"]
    assert "the answers of 1 by the element, 0 in the first shard" in stages
    assert explained("triangle.rq --query-scope element --stage algebra", capsys).startswith(
        "(Select (?x ?y ?z) element"
    )


def test_event_mode_has_no_unbounded_state(capsys):
    (Path("long.rq")).write_text(PREFIX + "SELECT * { ?x :p ?y . ?y :p+ ?z FILTER EXISTS { ?z :q ?w } }")
    assert cli.call(["check", "long.rq"]) == 0
    assert "unbounded-state" in capsys.readouterr().err
    assert cli.call(["check", "long.rq", "--query-scope", "element"]) == 0
    assert "1 query: 0 errors, 0 warnings" in capsys.readouterr().err


def test_a_scope_that_is_none_is_told():
    with pytest.raises(penstock.PenstockError, match="cannot have the scope 'events'") as told:
        penstock.Engine(query_scope="events")
    assert "stream or element" in told.value.hint


def test_rules_over_the_stream_and_queries_of_an_element_exclude_each_other(capsys):
    with pytest.raises(penstock.PenstockError, match="exclude each other"):
        penstock.Engine(query_scope="element", scope="stream")
    assert cli.call(["check", "market.rq", "--query-scope", "element", "--scope", "stream"]) == 2
    assert "exclude each other" in capsys.readouterr().err

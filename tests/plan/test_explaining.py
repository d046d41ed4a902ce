"""`explain` explains the run: all its queries, over what is registered."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

import penstock
from penstock import cli
from penstock.languages import parse
from penstock.runtime.recovery.checkpoint import open_checkpoint

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
    alone = penstock.Engine()
    alone.queries.append(query)
    assert lines(alone.explain(), "assumed ")[0].startswith(told)
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
    queries = f"SELECT * {{ ?s :p ?o FILTER (?o IN ({many})) }}" + " ASK { ?s :p ?o }" * 20
    shown = penstock.Engine().add_query(PREFIX + queries).explain()
    assert max(map(len, shown.splitlines())) < 200
    assert "…" in shown and " and 12 more)" in shown


def test_a_path_is_shown_as_it_is_walked(tmp_path, capsys):
    (tmp_path / "path.rq").write_text(PREFIX + "SELECT ?x { ?x (:owns/[:sector :cars])+ :a }")
    shown = explained("path.rq --graph sectors.ttl", capsys)
    walks = [line.strip() for line in shown.splitlines() if line.strip().startswith("PathWalk 0")]
    assert walks[0] == "PathWalk 0 to 1 by 1, 1 to 2 by 2, 2 to 1 by 1 until 2"
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
    assert lines(stages, "answer ") == ["each element by itself: triangle"]
    assert re.search(r"exchange +by element to \d+ shards?: triangle\n", stages)
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
    with pytest.raises(penstock.PenstockError, match="there is no scope 'events'") as told:
        penstock.Engine(query_scope="events")
    assert told.value.hint == "did you mean element?"


def test_rules_over_the_stream_and_queries_of_an_element_exclude_each_other(capsys):
    with pytest.raises(penstock.PenstockError, match="exclude each other"):
        penstock.Engine(query_scope="element", scope="stream")
    assert cli.call(["check", "market.rq", "--query-scope", "element", "--scope", "stream"]) == 2
    assert "exclude each other" in capsys.readouterr().err


# --- one plan for both -------------------------------------------------------------------------

STREAM = "http://e.org/s"
QUERIES = {
    "ep-sparql": [
        "SELECT ?c ?p { { ?c :price ?q } SEQ { ?c :price ?p } }",
        "CONSTRUCT { ?c :fell ?p } { { ?c :price ?q } SEQ { ?c :price ?p } }",
        "SELECT ?c ?s { ?c :fell ?p . ?c :sector ?s OPTIONAL { ?c a :Big } }",
    ],
    "cqels-cep": [
        "SELECT ?c FROM NAMED WINDOW :W ON :s [RANGE 1m] "
        "{ WINDOW :W { SEQ({ ?c :price ?p }, { ?c a :Big }) } }",
        "SELECT ?c (COUNT(*) AS ?n) FROM NAMED WINDOW :W ON :s [TRIPLES 4] { WINDOW :W { ?c a :Big } } "
        "GROUP BY ?c",
    ],
    "c-sparql": [
        "REGISTER QUERY q AS SELECT ?c (AVG(?p) AS ?n) FROM STREAM :s [RANGE 10s STEP 2s] { ?c :price ?p } "
        "GROUP BY ?c",
        "REGISTER QUERY q AS SELECT ?c FROM STREAM :s [RANGE TRIPLES 4] { ?c a :Big . ?c :price ?p }",
    ],
    "rsp-ql": [
        "REGISTER RSTREAM <x:o> AS SELECT ?c FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] "
        "{ WINDOW :w { ?c a :Big } }",
        "REGISTER ISTREAM <x:o> AS CONSTRUCT { ?c :is :Big } FROM NAMED WINDOW :w ON :s [TRIPLES 3 STEP 2]"
        " { WINDOW :w { ?c a :Big } }",
    ],
}
RULES = {
    "none": {},
    "of elements": {"rules": ["cax-sco"]},
    "of elements, all": {"rules": ["rhodf"], "all_rules": True},
    "of streams": {"rules": ["cax-sco"], "scope": "stream", "within": "1h"},
}


def shown_steps(shown: str) -> list[tuple[set[str], Counter[str]]]:
    """Of each query that is shown, the names of all steps, and how many there are that are no scans."""
    found = []
    for block in re.findall(r"^steps\n((?:  .*\n?)+)", shown, re.M):
        lines = [line.strip() for line in block.splitlines()]
        new = [line.split()[0] for line in lines if not line.endswith("(as above)")]
        found.append((set(new), Counter(name for name in new if not name.endswith("Scan"))))
    return found


@pytest.mark.parametrize(
    ("language", "rules", "checkpoint", "follow"), [*product(QUERIES, RULES, (False, True), (False, True))]
)
def test_the_steps_that_are_shown_are_those_of_the_run(language, rules, checkpoint, follow, tmp_path):
    Path("big.ttl").write_text(
        "<x:a> a <x:Sub> . <x:Sub> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e.org/Big> ."
    )
    settings = RULES[rules] | ({"checkpoint": tmp_path / "state"} if checkpoint else {})

    def engine(queries: list[str]) -> penstock.Engine:
        made = penstock.Engine(shards=2, **settings).add_stream("prices.nq", iri=STREAM)
        made.add_graph("big.ttl").add_graph("sectors.ttl", iri="http://e.org/sectors")
        for number, text in enumerate(queries):
            made.add_query(PREFIX + text, language=language, name=f"q{number}")
        return made

    if language != "ep-sparql" and rules == "of streams":
        for refused in (penstock.Engine.ready, penstock.Engine.explain, penstock.Engine.check):
            with pytest.raises(penstock.PenstockError, match="windows and --scope stream exclude"):
                refused(engine(QUERIES[language]))
        return
    if checkpoint:  # begun with the last query alone, and not by a run that follows
        first = engine(QUERIES[language][-1:])
        with open_checkpoint(tmp_path / "state", first.ready(), tuple(first.streams), first.timing):
            (tmp_path / "state" / "spark" / "commits").mkdir(parents=True)
            (tmp_path / "state" / "spark" / "commits" / "0").write_text("")
    made = engine(QUERIES[language])
    shown = made.explain(follow=follow)
    program = made.ready(follow=follow)
    expected = []
    for query in program.plan.queries:
        steps = dict.fromkeys(query.step.walk(everywhere=True))
        names = Counter(step.name for step in steps if not step.name.endswith("Scan"))
        expected.append(({step.name for step in steps}, names))
    assert shown_steps(shown) == expected
    assert ("whose changes are followed" in shown) == program.changing
    windows = [name for name in ("StatedScan", "DerivedScan") if f" {name} " in shown]
    derived = rules.startswith("of elements") and language != "ep-sparql"
    assert windows == (["StatedScan", "DerivedScan"] if derived else [])
    if checkpoint:
        assert lines(shown, "state ")[0].endswith("starts now")
        assert len(set(program.generations)) > 1
    stages = made.explain(stage="spark", follow=follow)
    closes = program.reasoning is not None
    assert ("elements are closed under" in stages) == closes == rules.startswith("of elements")

"""Rules in runs: static knowledge and each element are closed, whatever the shards and batches."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from random import Random

import pytest
from tests.reason import running
from tests.reason.running import (
    BEGIN,
    PREFIXES,
    QUERIES,
    RDF_TYPE,
    SECOND,
    Element,
    conflicts,
    elements,
    ex,
    expected,
    graphs,
    meaning,
    rules,
)  # fmt: skip

import penstock
from agreement.engine_runs import travelled
from agreement.tunings import tiny
from penstock import cli, pipeline
from penstock.columns.terms import TermTable
from penstock.decode.decoder import Decoder
from penstock.engine.program import Program
from penstock.engine.tuning import TUNING
from penstock.errors import InputError, UsageError
from penstock.knowledge.files import GraphFile, GraphFiles
from penstock.languages import parse_query
from penstock.pipeline.entailment import ClosedFiles, entailed
from penstock.plan.catalog import StreamName
from penstock.reason.closing import Closure
from penstock.rules.executors import RuleConfig
from penstock.rules.library import ruleset
from penstock.runtime.contract import RunStatistics
from penstock.runtime.messages import INCONSISTENT
from penstock.runtime.recovery.checkpoint import open_checkpoint
from penstock.runtime.recovery.continuing import Fate, continued
from penstock.terms import NamedNode

KEY = 97
TYPE = NamedNode(RDF_TYPE)


def answers_in_process(of, shards: int, batches: int, tuning, directory: Path | None) -> list[list]:
    """The engine's answers, with the elements in batches."""
    queries = [parse_query(PREFIXES + text) for text in QUERIES]
    made = entailed(graphs(KEY), queries, RuleConfig(tuple(rules())), KEY)
    program = pipeline.program(
        queries, [StreamName()], graphs(KEY), shards=shards, now=0, key=KEY, tuning=tuning, entailed=made
    )
    if directory is not None:
        program = travelled(program, directory)
    live = [program.open(number) for number in range(shards)]
    found: list[list] = [[] for _ in queries]
    size = -(-len(of) // batches)
    for batch in range(batches + 1):
        part = of[batch * size : (batch + 1) * size]
        text = "".join(element.lines for element in part).encode()
        decoder = Decoder("nquads", keep_predicates=program.keep_predicates, key=KEY, source=str(batch))
        payloads: list[list[bytes]] = [[] for _ in live]
        for shard, payload in program.route(0, program.reason(decoder.decode(text)[0])):
            payloads[shard].append(payload)
        reached = max((element.end for element in part), default=0)
        for number, shard in enumerate(live):
            for query, table in shard.answers(payloads[number], reached, batch == batches):
                found[query] += [(r["x"], r["y"], r["start"], r["end"]) for r in table.to_pylist()]
    return found


@pytest.mark.parametrize(("shards", "batches", "mapped"), [(1, 1, False), (2, 7, True), (8, 20, True)])
@pytest.mark.parametrize("seed", range(4))
def test_each_element_is_closed_with_what_is_known(tmp_path, seed, shards, batches, mapped):
    of = elements(seed, 40)
    tuning = tiny(Random(seed)) if seed % 2 else TUNING
    found = answers_in_process(of, shards, batches, tuning, tmp_path if mapped else None)
    wanted = expected(meaning(of))
    for place, rows in enumerate(wanted):
        assert len(found[place]) == len(set(found[place])) and set(found[place]) == rows
    assert all(any(end is not None for *_, end in rows) for rows in wanted), "streams take part in all"


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_on_spark_as_the_definitions_say(tmp_path, shards):
    """Many batches, elements in several splits and files, premises in static knowledge, contradictions."""
    of = elements(11, 60)
    known = meaning(of)
    engine = penstock.Engine(
        master="local[2]",
        shards=shards,
        batch_bytes=700,
        rules=running.NAMES.split(),
        all_rules=shards == 2,
    )
    engine.add_rules(running.OWN)
    engine.add_ontology(sorted(running.knowledge(), key=str))
    engine.add_stream(running.written(of, tmp_path / "stream", 5))
    for text in QUERIES:
        engine.add_query(PREFIXES + text)
    found: list[set] = [set() for _ in QUERIES]
    told, batches = [], []

    def take(batch: penstock.Batch) -> None:
        assert not batch.rejected and not batch.late
        batches.append(batch.id)
        told.extend(batch.inconsistent)
        for query, table in batch.tables.items():
            found[query] |= {(r["x"], r["y"], r["start"], r["end"]) for r in table.to_pylist()}

    statistics = engine.run(on_batch=take)
    assert found == expected(known)
    assert len(batches) > 3
    wanted = conflicts(known, of)
    assert (
        wanted
        and {(record["graph"], record["rule"], frozenset(record["bindings"].items())) for record in told}
        == wanted
    )
    assert statistics.inconsistent == len(told) == len(wanted)
    assert all(" owl:disjointWith " in record["triples"][0] for record in told if record["rule"] == "cax-dw")
    assert {Path(record["source"]).parent.name for record in told} == {"stream"}
    derived = sum(len(said) for said, _, _ in known.elements) - sum(len(e.triples) for e in of)
    if engine.all_rules:
        assert statistics.derived == derived
    else:  # what queries and contradictions need
        assert 0 < statistics.derived < derived


@pytest.mark.sample(0)
@pytest.mark.usefixtures("spark")
def test_late_elements_are_left_out_with_all_that_follows(tmp_path):
    """They are reported as they were written; what contradicts in them is not reported."""
    of = elements(11, 30)
    wrong = Element("late", ((ex("i0"), TYPE, ex("Cat")), (ex("i7"), ex("partOf"), ex("i0"))), BEGIN, BEGIN)
    right = Element("last", ((ex("i0"), TYPE, ex("Cat")),), BEGIN + 3600 * SECOND, BEGIN + 3600 * SECOND)
    running.written([*of, wrong, right], tmp_path / "stream", 4)
    engine = penstock.Engine(master="local[2]", shards=2, batch_bytes=500, rules=running.NAMES.split())
    engine.add_ontology(sorted(running.knowledge(), key=str)).add_stream(tmp_path / "stream")
    engine.add_query(PREFIXES + QUERIES[1])
    late, told, found = [], set(), set()

    def take(batch: penstock.Batch) -> None:
        late.extend(batch.late)
        told.update(record["graph"] for record in batch.inconsistent)
        for table in batch.tables.values():
            found.update((r["x"], r["y"], r["start"], r["end"]) for r in table.to_pylist())

    engine.run(on_batch=take)
    [record] = late
    assert record["graph"] == wrong.graph and len(record["triples"]) == 2
    assert wrong.graph not in told and right.graph in told
    assert found == expected(meaning([*of, right]))[1]


@pytest.mark.parametrize("strict", [False, True])
def test_knowledge_that_changes_is_closed_again(tmp_path, strict):
    """While a run goes on: the version of a batch is a closed one, for queries and for its elements."""
    path = tmp_path / "k.ttl"
    path.write_text(PREFIXES + ":Dog rdfs:subClassOf :Animal . :rex a :Dog .")
    now = [1e12]
    files = GraphFiles([GraphFile(path, key=KEY)], lambda: now[0])
    queries = [parse_query(PREFIXES + QUERIES[0])]
    entailment = RuleConfig(tuple(ruleset(["cax-sco", "cax-dw"])))
    made = entailed(files.graphs, queries, entailment, KEY, changing=True)
    program = pipeline.program(
        queries, [StreamName()], (), shards=1, now=0, key=KEY, entailed=made, changing=True
    ).prepared(tmp_path / "versions")
    closed = ClosedFiles(files, made, strict)
    dog = Element("e", ((ex("fido"), TYPE, ex("Dog")),), BEGIN, BEGIN).lines.encode()

    def classes_of(program: Program) -> list[str]:
        read = Decoder("nquads", key=KEY, source="s").decode(dog)[0]
        found = program.reason(read)
        terms = TermTable(found.terms)
        return sorted(terms.term(id_).value.rsplit("/", 1)[-1] for id_ in found.object.tolist())

    assert classes_of(program) == ["Animal", "Dog"]
    assert not closed.news(lambda problem: None)
    told: list[str] = []
    path.write_text(PREFIXES + ":Dog rdfs:subClassOf :Pet . :rex a :Dog . :Cat owl:disjointWith :Dog .")
    now[0] *= 2
    assert closed.news(lambda problem: told.append(str(problem)))
    version = program.next_version(closed.graphs)
    assert classes_of(program.at(version)) == ["Dog", "Pet"] and classes_of(program) == ["Animal", "Dog"]
    assert not told
    path.write_text(PREFIXES + ":Cat owl:disjointWith :Dog . :tom a :Cat, :Dog .")
    now[0] *= 2
    assert closed.news(lambda problem: told.append(str(problem)))
    if strict:
        with pytest.raises(InputError, match="inconsistent: cax-dw"):
            program.next_version(closed.graphs)
    else:
        assert classes_of(program.at(program.next_version(closed.graphs))) == ["Dog"]
        assert len(told) == 1 and "inconsistent: cax-dw" in told[0]


# --- what is told, what is refused --------------------------------------------------------------

DATA = PREFIXES + ":Cat rdfs:subClassOf :Animal ; owl:disjointWith :Dog . :tom :owns :felix . :felix a :Cat ."
RULE = PREFIXES + "INSERT { ?y a :Pet } WHERE { ?x :owns ?y }"
SELECT = PREFIXES + "SELECT ?x ?c { ?x a ?c }"


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.ttl").write_text(DATA)
    Path("q.rq").write_text(SELECT)
    Path("rule.rq").write_text(RULE)
    Path("both.rq").write_text(f"{RULE} ;\n{SELECT}")
    return tmp_path


def classes(engine: penstock.Engine) -> set[tuple[str, str]]:
    return {
        tuple(row[name].value.rsplit("/", 1)[-1] for name in ("x", "c"))
        for row in engine.answers()
        if row["c"].value.startswith("http://example.org/")
    }


def test_static_knowledge_alone(files):
    """A regime, a rule of the library by its name, a file, a text, INSERTs among the queries."""
    said = {("felix", "Cat")}
    assert classes(penstock.Engine().add_graph("d.ttl").add_query("q.rq")) == said
    animal, pet = ("felix", "Animal"), ("felix", "Pet")
    for given, wanted in (
        ("rhodf", said | {animal}),
        (["cax-sco"], said | {animal}),
        (Path("rule.rq"), said | {pet}),
        (["rdfs", "rule.rq"], said | {animal, pet}),
        ([RULE], said | {pet}),
    ):
        assert classes(penstock.Engine(rules=given).add_ontology("d.ttl").add_query("q.rq")) == wanted
    assert classes(penstock.Engine().add_graph("d.ttl").add_query("both.rq")) == said | {pet}
    dropped = penstock.Engine(rules="rhodf").add_rules("# drop: cax-sco").add_graph("d.ttl").add_query("q.rq")
    assert classes(dropped) == said


def test_a_named_graph_is_left_alone(files):
    engine = penstock.Engine(rules="rhodf").add_graph("d.ttl", iri="http://example.org/g")
    engine.add_query(PREFIXES + "SELECT ?x ?c { GRAPH :g { ?x a ?c } }")
    assert classes(engine) == {("felix", "Cat")}


def test_rules_alone_are_no_query(files, capfd):
    with pytest.raises(UsageError, match="no query to run") as refusal:
        penstock.Engine().add_graph("d.ttl").add_query("rule.rq").ready()
    assert "penstock reason" in refusal.value.hint
    assert cli.call("check rule.rq".split()) == 0
    assert capfd.readouterr().err == "1 rule: 0 errors, 0 warnings\n"


def test_what_cannot_be_meant_is_refused(files):
    with pytest.raises(UsageError, match="there is no scope 'elements'") as refusal:
        penstock.Engine(scope="elements")
    assert refusal.value.hint == "did you mean element?"
    with pytest.raises(UsageError, match="within bounds"):
        penstock.Engine(within="5s")
    with pytest.raises(UsageError, match="--no-feed"):
        penstock.Engine(scope="stream", feed=False)
    with pytest.raises(UsageError, match="rules are a regime"):
        penstock.Engine(rules=[3])
    with pytest.raises(UsageError, match="no regime, no rule and no file 'rfds'") as refusal:
        penstock.Engine(rules="rfds").add_graph("d.ttl").add_query("q.rq").ready()
    assert "did you mean rdfs" in refusal.value.hint


def test_inconsistent_knowledge_is_told_and_stops_with_strict(files, capfd):
    with Path("d.ttl").open("a") as file:
        file.write(" :felix a :Dog .")
    engine = penstock.Engine(rules=["cax-dw"]).add_graph("d.ttl").add_query("q.rq")
    with pytest.warns(penstock.PenstockWarning, match=r"inconsistent: cax-dw: (.|\n)*felix> a .*Dog"):
        assert len(engine.answers()) == 2
    with pytest.raises(InputError, match="static knowledge is inconsistent: cax-dw"):
        penstock.Engine(rules=["cax-dw"], strict=True).add_graph("d.ttl").add_query("q.rq").ready()
    assert cli.call("run q.rq --graph d.ttl --rules cax-dw --format csv".split()) == 0
    assert (
        "the static knowledge is inconsistent: cax-dw: Something is an instance of two"
        in capfd.readouterr().err
    )
    assert cli.call("run q.rq --graph d.ttl --rules cax-dw --strict --out o.csv".split()) == 1
    assert not Path("o.csv").exists()


def test_an_inconsistent_element_stops_with_strict(files, monkeypatch):
    record = {
        "source": "s.nq",
        "graph": "<urn:e>",
        "start": 0,
        "end": 0,
        "rule": "cax-dw",
        "meaning": "Two classes.",
    }
    record["bindings"] = {"x": "<urn:x>", "c": "<urn:c>", "d": "<urn:d>"}
    Path("s.nq").touch()

    def batches(program, streams, *, on_batch, **_):
        on_batch(0, [(INCONSISTENT, json.dumps([record]).encode())])
        return RunStatistics()

    monkeypatch.setattr("penstock.runtime.run.run", batches)
    taken = []

    def run(**how) -> None:
        engine = penstock.Engine(shards=1, **how).add_stream("s.nq").add_query("q.rq")
        engine.run(on_batch=taken.append)

    run()
    assert [each["rule"] for each in taken.pop().inconsistent] == ["cax-dw"]
    run(rules="cax-dw")
    [told] = taken.pop().inconsistent
    assert told["triples"] == ["<urn:c> owl:disjointWith <urn:d>", "<urn:x> a <urn:c>", "<urn:x> a <urn:d>"]
    with pytest.raises(
        InputError, match="<urn:e> of s.nq that ended at 1970.* cax-dw: Two classes"
    ) as stopped:
        run(strict=True, rules="cax-dw")
    assert "\n    <urn:c> owl:disjointWith <urn:d>\n    <urn:x> a <urn:c>\n" in str(stopped.value)
    assert not taken


def test_literals_as_subjects_are_counted(files, capfd):
    Path("l.rq").write_text("# name: back\n" + PREFIXES + "INSERT { ?y :of ?x } WHERE { ?x :owns ?y }")
    with Path("d.ttl").open("a") as file:
        file.write(' :tom :owns "a", 7 .')
    assert cli.call("run q.rq --graph d.ttl --rules l.rq --all-rules".split()) == 0
    assert "2 derived triples with a literal as subject or no IRI as predicate left out, by back (2)" in (
        capfd.readouterr().err
    )


def test_a_rule_that_invents_without_end_is_stopped(files, capfd):
    Path("e.rq").write_text("# name: parents\n" + PREFIXES + "INSERT { ?y :owns [] } WHERE { ?x :owns ?y }")
    assert cli.call("run q.rq --graph d.ttl --rules e.rq --all-rules".split()) == 1
    assert "the rule parents invents blank nodes without end" in capfd.readouterr().err


def test_imports_that_are_not_given_are_named(files):
    def warned(*ontologies: str) -> list[str]:
        engine = penstock.Engine(rules="rhodf").add_graph("d.ttl").add_query("q.rq")
        for number, text in enumerate(ontologies):
            Path(f"o{number}.ttl").write_text(PREFIXES + text)
            engine.add_ontology(f"o{number}.ttl")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            engine.answers()
        return [str(each.message) for each in found if "import" in str(each.message)]

    imports = "<urn:a> a owl:Ontology ; owl:imports <urn:b>, <urn:c> ."
    [one, two] = sorted(warned(imports))
    assert "<urn:b> is imported, and was not given" in one and "nothing is fetched" in two
    assert (
        warned(imports, "<urn:b#> a owl:Ontology . <urn:d> a owl:Ontology ; owl:versionIRI <urn:c> .") == []
    )
    here = Path("o1.ttl").absolute().as_uri()
    assert warned(f"<urn:a> a owl:Ontology ; owl:imports <{here}> .", ":x a :Cat .") == []


def test_explain_and_check_know_the_rules(files, capfd):
    Path("s.nq").touch()
    told = "rule     cax-sco  An instance of a class is an instance of its superclasses."
    assert cli.call("explain q.rq --rules cax-sco --ontology d.ttl --stream s.nq".split()) == 0
    shown = capfd.readouterr().out
    assert told in shown and "graph    d.ttl, what follows" in shown
    assert cli.call("explain q.rq --rules cax-sco --ontology d.ttl --stream s.nq --stage spark".split()) == 0
    assert "closed under 1 rule" in capfd.readouterr().out
    assert cli.call("explain q.rq --rules cax-sco --graph d.ttl --stream s.nq --scope stream".split()) == 0
    shown = capfd.readouterr().out
    assert (
        told in shown and "fed by cax-sco" not in shown.split("\n\n")[0] and "what cax-sco derives" in shown
    )
    assert cli.call("check both.rq --rules cax-sco --scope stream".split()) == 0
    shown = capfd.readouterr().err
    assert (
        "rules over streams remember for ever" in shown and "1 query, 2 rules: 0 errors, 1 warning" in shown
    )
    assert cli.call("check q.rq --rules cax-sco --scope stream --within 1m".split()) == 0
    assert "1 query, 1 rule: 0 errors, 0 warnings" in capfd.readouterr().err
    Path("wrong.rq").write_text("# name: my\nINSERT { ?x a ?y } WHERE { ?x ?y }")
    assert cli.call("check q.rq --rules wrong.rq".split()) == 1
    assert "wrong.rq:2:" in (shown := capfd.readouterr().err) and "rule my" in shown


def test_the_closure_is_computed_once(files, monkeypatch):
    made = []
    closing = Closure.__init__
    monkeypatch.setattr(Closure, "__init__", lambda self, *how: (made.append(1), closing(self, *how))[1])
    engine = penstock.Engine(rules="rhodf").add_graph("d.ttl").add_query("q.rq")
    engine.ready()
    engine.answers()
    engine.new_findings()
    assert len(made) == 1
    engine.add_graph("d.ttl").answers()
    assert len(made) == 2


def test_other_rules_on_the_same_checkpoint_are_told(files, tmp_path):
    """What was derived before stays; who goes on with other rules is told so, rule by rule."""
    Path("s.nq").write_text(elements(1, 3)[0].lines)
    state = tmp_path / "state"

    def engine(*rules: str, data: str = "d.ttl") -> penstock.Engine:
        made = penstock.Engine(checkpoint=state, rules=rules, shards=1).add_ontology(data)
        return made.add_stream("s.nq").add_query(SELECT)

    def begin(engine: penstock.Engine) -> list[str]:
        with open_checkpoint(state, engine.ready(), tuple(engine.streams), engine.timing) as (
            place,
            _,
            fates,
        ):
            (place.spark / "commits").mkdir(parents=True, exist_ok=True)
            (place.spark / "commits" / str(place.last_committed() + 1)).touch()  # a batch that is done
        assert fates == engine.continued
        return [str(fate) for fate in fates if fate.fate is Fate.CHANGED]

    assert begin(engine("cax-sco", "prp-dom")) == []
    assert begin(engine("cax-sco", "prp-dom")) == []
    Path("own.rq").write_text("# name: prp-dom\n" + RULE)
    stays = "what patterns remember of earlier elements was derived before, and stays"
    [told] = begin(engine("cax-sco", "own.rq", "prp-rng", "prp-dom"))
    assert told == f"the rules changed: prp-rng was added; prp-dom was changed; {stays}"
    Path("own.rq").write_text("# name: prp-dom\n# said in other words\n" + RULE.replace("{ ?x", "{  ?x"))
    assert begin(engine("cax-sco", "own.rq", "prp-rng", "prp-dom")) == []
    [told] = begin(engine())
    assert told == f"the rules changed: cax-sco, prp-rng and prp-dom were removed; {stays}"
    begin(engine("cax-sco"))
    Path("more.ttl").write_text(DATA + " :Cat rdfs:subClassOf :Fast .")
    assert f"the static knowledge behind the rules changed: {stays}" in begin(
        engine("cax-sco", data="more.ttl")
    )


@pytest.mark.parametrize("graph", [None, "http://example.org/g"])
def test_the_first_rules_let_queries_go_on(files, tmp_path, graph):
    """What they remember stays when rules come, and when the last one goes: nothing that is known changes."""
    Path("s.nq").write_text(elements(1, 3)[0].lines)

    def program(*rules: str) -> Program:
        made = penstock.Engine(rules=rules, shards=1).add_stream("s.nq")
        made.add_query(PREFIXES + "SELECT ?x { { ?x :owns ?y } SEQ { ?y a :Pet } }")
        return (made.add_graph("d.ttl", iri=graph) if graph else made).ready()

    without, ruled = program().queries, program("rule.rq", "cax-sco").queries
    assert [each.fate for each in continued(without, ruled)] == [Fate.GOES_ON]
    assert [each.fate for each in continued(ruled, without)] == [Fate.GOES_ON]

"""Limits on what queries remember and answer: a run ends before the machine's memory does, and says why."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock import Engine, LimitError, UsageError, cli

PAIRS = "SELECT * WHERE { ?a <urn:p> ?x } SEQ { ?b <urn:p> ?y }"
COUNTED = "SELECT (COUNT(*) AS ?n) WHERE { { ?a <urn:p> ?x } SEQ { ?b <urn:p> ?y } }"
pytestmark = pytest.mark.filterwarnings("ignore::penstock.PenstockWarning")


@pytest.fixture
def stream(tmp_path):
    def write(rows: int):
        with (tmp_path / "s.nq").open("w") as file:
            for i in range(rows):
                instant = f"2024-01-01T{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}Z"
                file.write(f'<urn:s{i}> <urn:p> "{i}" <urn:e{i}#t={instant}> .\n')
        return tmp_path / "s.nq"

    return write


def engine_over(place, *texts: str, **limits) -> Engine:
    engine = Engine(spark=None, **limits)
    engine.add_stream(place)
    for number, text in enumerate(texts, 1):
        engine.add_query(text, name=f"query{number}")
    return engine


def test_as_many_answers_as_are_allowed(stream):
    place = stream(20)
    assert len(engine_over(place, PAIRS, max_answers=190).answers()) == 190
    with pytest.raises(LimitError) as refused:
        engine_over(place, "SELECT * { ?a <urn:p> ?x }", PAIRS, max_answers=189).answers()
    assert "query query2 gives 190 answers or more in one batch" in refused.value.message
    assert "--max-answers allows 189" in refused.value.message and "max_answers=" in refused.value.hint


def test_answers_of_all_shards_count_together(stream):
    place = stream(20)
    with pytest.raises(LimitError, match="gives 20 answers"):
        engine_over(place, "SELECT * { ?a <urn:p> ?x }", max_answers=19, shards=4).answers()


def test_nothing_of_the_batch_is_written(stream, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    stream(20)
    (tmp_path / "q.rq").write_text(PAIRS)
    assert cli.call("try q.rq --stream s.nq --out found.csv --max-answers 5".split()) == 1
    said = capfd.readouterr().err
    assert "error: query q gives 190 answers or more" in said and "hint: " in said
    assert len((tmp_path / "found.csv").read_text().splitlines()) == 1, "the header"
    assert cli.call("try q.rq --stream s.nq --format csv --max-state 5".split()) == 1
    assert "--max-state allows 5: most of it at the step Join of query q" in capfd.readouterr().err
    assert cli.call("try q.rq --stream s.nq --format csv --max-state 1G --max-answers 1000".split()) == 0
    assert cli.call("try q.rq --stream s.nq --max-state lots".split()) == 2


def test_what_is_remembered(stream):
    place = stream(50)
    assert len(engine_over(place, PAIRS, max_state=1000).answers()) == 1225
    with pytest.raises(LimitError, match=r"hold [\d,]+ rows, and --max-state allows 20"):
        engine_over(place, PAIRS, max_state=20).answers()
    with pytest.raises(LimitError, match=r"hold [\d,]+ bytes, and --max-state allows 1,024"):
        engine_over(place, PAIRS, max_state="1k").answers()
    with pytest.raises(LimitError, match="in several shards|at the step"):
        engine_over(
            place, "SELECT * { ?a <urn:p> ?x } SEQ { ?a <urn:p> ?y }", max_state=40, shards=4
        ).answers()


def test_static_knowledge_is_no_state(stream, tmp_path):
    (tmp_path / "g.nt").write_text("".join(f"<urn:s{i}> <urn:in> <urn:room> .\n" for i in range(500)))
    engine = engine_over(stream(20), "SELECT * { ?a <urn:p> ?x . ?a <urn:in> ?r }", max_state=100)
    engine.add_graph(tmp_path / "g.nt")
    assert len(engine.answers()) == 20


def test_it_stops_within_a_batch_before_memory_is_used_up(stream):
    """Pairs of 12,000 elements are 72 million rows: some gigabytes, also where they are only counted."""
    place = stream(12_000)
    for query, limit in ((PAIRS, "max_answers=100_000"), (COUNTED, "max_state=2_000_000")):
        run = (
            "import sys, resource, penstock, warnings; warnings.simplefilter('ignore');"
            f"engine = penstock.Engine(spark=None, {limit}); engine.add_stream(sys.argv[1]);"
            f"engine.add_query({query!r}, name='q')\n"
            "try: engine.answers()\n"
            "except penstock.LimitError as problem: print(problem.message)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", run, place], capture_output=True, text=True, timeout=300)
        said, peak = done.stdout.splitlines()
        assert "q gives" in said or "of query q" in said, said
        assert int(peak) < 900_000, peak  # kilobytes


def test_limits_that_are_none_are_refused():
    for wrong in ({"max_state": 0}, {"max_state": -1}, {"max_answers": "many"}, {"max_state": "many"}):
        with pytest.raises(UsageError):
            Engine(spark=None, **wrong)

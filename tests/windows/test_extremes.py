"""Windows of any size, steps of any length, gaps in streams: what is computed follows what is given."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from agreement.engine_runs import occurrences_of
from agreement.window_runs import given_by_engine
from oracle.cases import Element
from oracle.vocabulary import EPOCH, TICK, iri
from oracle.window_generator import given_by
from oracle.window_model import ON_CHANGE, Report, triples
from penstock import pipeline
from penstock.engine.program_shard import ProgramShard
from penstock.engine.tuning import Tuning
from penstock.errors import InputError, QueryError
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from windows.test_cutting import at
from windows.test_end import TRIPLE, counted

MILLISECOND = TICK // 1000


@pytest.mark.sample(8)
@pytest.mark.parametrize("width", [2**62, 2**63 - 4, 2**63 - 3, 2**63, 10**30])
@pytest.mark.parametrize("slide", [1, 2, 2**63 - 1, 10**30])
@pytest.mark.parametrize("report", [Report(close=True), ON_CHANGE, Report(period=TICK)])
def test_more_triples_than_there_are(width: int, slide: int, report: Report):
    case = counted(triples(width, slide), *(at(s, s, f"c p {s}") for s in range(4)), report=report)
    wanted = given_by(case)
    assert wanted or slide > 2
    assert given_by_engine(case, 1) == wanted and given_by_engine(case, 2, restore=True) == wanted


# --- gaps -----------------------------------------------------------------------------------------

PREFIX = "PREFIX : <http://example.org/>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
EVERY_MILLISECOND = {
    "RSP-QL": "REGISTER {0} :o AS SELECT {1} FROM NAMED WINDOW :w ON :s1 [RANGE PT1H STEP PT0.001S] "
    "WHERE {{ WINDOW :w {{ ?x {2} ?y }} }}",
    "CQELS-CEP": "SELECT {0} {1} FROM NAMED WINDOW :w ON :s1 [RANGE 1h] REPORT EVERY 1ms "
    "WHERE {{ WINDOW :w {{ ?x {2} ?y }} }}",
}


class Life:
    """A shard that is given elements, each in a batch of its own."""

    def __init__(self, text: str, language: str, tuning: Tuning | None = None) -> None:
        parsed = parse_query(PREFIX + text, language=language.lower())
        streams = [StreamName(iri(":s1").value)]
        self.program = pipeline.program([parsed], streams, [], shards=1, now=0, tuning=tuning or Tuning())
        self.shard: ProgramShard = self.program.open(0)

    def step(self, *elements: Element) -> list[pa.Table]:
        """What is given when elements come; without any, the streams are over."""
        payloads = []
        if elements:
            self.latest = max(each.end for each in elements)
            occurrences = occurrences_of(elements, self.program.key)
            payloads = [payload for _, payload in self.program.route(0, occurrences)]
        results = self.shard.step(payloads, self.latest + (not elements), not elements)
        return [pa.ipc.open_stream(data).read_all() for _, data in results]


@pytest.mark.parametrize("language", EVERY_MILLISECOND)
@pytest.mark.parametrize("operator, what, predicate, rows", [
    ("ISTREAM", "?x", ":p", 1), ("DSTREAM", "?x", ":p", 1), ("RSTREAM", "?x", ":nothing", 0),
    ("ISTREAM", "(COUNT(*) AS ?n)", ":p", 2), ("ISTREAM", "?x ?z", ":p ?z . ?x :p", 1),
])  # fmt: skip
def test_nothing_is_computed_for_instants_at_which_nothing_is_given(
    language: str, operator: str, what: str, predicate: str, rows: int
):
    """Ten years, an evaluation in each millisecond."""
    life = Life(EVERY_MILLISECOND[language].format(operator, what, predicate), language)
    life.step(at(0, 0, TRIPLE))
    began = time.process_time()
    given = [*life.step(at(1, 1, "d q a")), *life.step(at(315_000_000, 315_000_000, "d q a"))]
    assert sum(table.num_rows for table in given) == rows
    assert time.process_time() - began < 2


@pytest.mark.parametrize("language", EVERY_MILLISECOND)
def test_too_many_answers_are_refused_before_they_are_made(language: str):
    life = Life(EVERY_MILLISECOND[language].format("RSTREAM", "(COUNT(*) AS ?n)", ":p"), language)
    life.step(at(0, 0, TRIPLE))
    began = time.process_time()
    with pytest.raises(InputError, match="would answer 315,000,0.. times at once, between 2024") as refused:
        life.step(at(315_000, 315_000, TRIPLE))
    assert "limit" in refused.value.message and refused.value.hint
    assert time.process_time() - began < 2


def test_answers_of_a_gap_come_in_portions():
    """A day of empty windows; no table has many more rows than a portion, and all of them are there."""
    text = "REGISTER QUERY q AS SELECT (COUNT(*) AS ?n) FROM STREAM :s1 [RANGE 1s STEP 1s] WHERE { ?x ?p ?y }"
    life = Life(text, "c-sparql", Tuning(pairs=1000))
    day = 86_400
    tables = [*life.step(at(0, 0, TRIPLE)), *life.step(at(day, day, TRIPLE))]
    assert max(table.num_rows for table in tables) <= 2000 and len(tables) > 40
    instants = pa.concat_tables(tables).column("end").to_pylist()
    assert instants == [EPOCH + second * TICK for second in range(day)]
    assert sum(table.num_rows for table in life.step()) == 1


def test_answers_with_many_rows_each_come_in_portions_too():
    text = "REGISTER QUERY q AS SELECT ?x FROM STREAM :s1 [RANGE 1m STEP 1s] WHERE { ?x :p ?y }"
    life = Life(text, "c-sparql", Tuning(pairs=100))
    things = [f"x{number} p a" for number in range(300)]
    tables = [*life.step(at(0, 0, *things)), *life.step(at(90, 90, TRIPLE)), *life.step()]
    assert sum(table.num_rows for table in tables) == 300 * 60 + 60
    assert max(table.num_rows for table in tables) <= 600


@pytest.mark.parametrize("language, text", [
    ("rsp-ql", "REGISTER RSTREAM :o AS SELECT ?x FROM NAMED WINDOW :w ON :s1 [RANGE PT9999999999H STEP PT1M] "
     "WHERE { WINDOW :w { ?x :p ?y } }"),
    ("c-sparql", "SELECT ?x FROM STREAM :s1 [RANGE 9999999999h STEP 1m] WHERE { ?x :p ?y }"),
])  # fmt: skip
def test_a_window_that_is_longer_than_time_is_refused(language: str, text: str):
    with pytest.raises(QueryError, match="no stream is as long as this"):
        parse_query(PREFIX + text, language=language)


def test_windows_that_are_not_empty_for_days_are_no_list_of_instants():
    """Some 864 million evaluations, of which two have something new or gone."""
    text = (
        "REGISTER ISTREAM :o AS SELECT ?x FROM NAMED WINDOW :w ON :s1 [RANGE PT1H STEP PT0.001S] "
        "REPORT ON CLOSE, NOT EMPTY WHERE { WINDOW :w { ?x :p ?y } }"
    )
    life = Life(text, "rsp-ql")
    life.step(at(0, 0, TRIPLE))
    began = time.process_time()
    half_hours = [at(1800 * number, 1800 * number, "d q a") for number in range(1, 481)]
    given = [*life.step(*half_hours[:-1]), *life.step(half_hours[-1])]
    assert sum(table.num_rows for table in given) == 1
    assert time.process_time() - began < 2

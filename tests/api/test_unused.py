"""What a run could not use is told in Python, too: warnings, statistics, and first in the diagnosis."""

from __future__ import annotations

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rdflib

import penstock
from penstock.errors import InputError
from penstock.runtime.contract import RunStatistics
from penstock.runtime.messages import REJECTS
from penstock.sources.frames import write_frame

QUERY = "SELECT ?s ?v WHERE { ?s <http://e/reads> ?v }"
MAP = {
    "tableSchema": {
        "aboutUrl": "http://e/{sensor}",
        "columns": [{"name": "value", "propertyUrl": "http://e/reads", "datatype": "integer"}],
    },
    "penstock:time": "when",
}


def arrow(**columns) -> bytes:
    out = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


REJECTED = arrow(source=["a.nq"], line=[7], reason=["no time"], text=["x"])


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """An engine whose run reads nothing but what it cannot use."""

    def run(program, streams, *, on_batch, on_progress, stop, **_):
        statistics = RunStatistics(elements=elements)
        on_progress(statistics)
        statistics.rejects, statistics.late, statistics.inconsistent = 1, 3, 0
        on_batch(0, [(REJECTS, REJECTED)])
        statistics.rejects += 1
        on_batch(1, [(REJECTS, REJECTED.replace(b"no time", b"NO TIME"))])
        return statistics

    elements = 0
    monkeypatch.setattr("penstock.runtime.run.run", run)
    (tmp_path / "a.nq").touch()
    return penstock.Engine(shards=1).add_stream(tmp_path / "a.nq").add_query(QUERY, name="reads")


@pytest.mark.parametrize(
    "ask",
    [
        lambda engine: list(engine.solutions()),
        lambda engine: list(engine.solutions(follow=True)),
        lambda engine: engine.answers("reads").to_pandas(),
        lambda engine: engine.all_answers(),
    ],
    ids=["solutions", "followed", "answers", "all"],
)
def test_whoever_gets_answers_only_is_warned(engine, ask):
    with pytest.warns(penstock.PenstockWarning) as told:
        ask(engine)
    texts = [str(each.message) for each in told]
    first = "2 rejected lines (the first one: a.nq, line 7: no time)"
    assert f"{first}\n  1 × no time\n  1 × NO TIME" in texts
    assert any(text.startswith("3 late elements\n  hint: --lateness") for text in texts)
    assert {each.filename for each in told} == {__file__}
    assert (engine.statistics.rejects, engine.statistics.late) == (2, 3)
    assert engine.statistics.first["rejected"]["line"] == 7


def test_the_diagnosis_names_rejects_first(engine):
    engine.run(on_batch=lambda batch: None)
    assert engine.diagnosis["reads"].reasons == (
        "2 rejected lines (the first one: a.nq, line 7: no time)",
    )  # and not that a predicate does not occur: nothing was read


def test_datetimes_without_a_zone_are_refused_at_once():
    naive = pandas.DataFrame(
        {"sensor": ["a"], "value": [1], "when": pandas.to_datetime(["2026-05-01 08:00"])}
    )
    with pytest.raises(InputError, match="'when' has timestamps without a time zone(.|\n)*timezone"):
        penstock.Engine().add_stream(naive, map=MAP)
    triples = pandas.DataFrame({"s": ["x:s"], "p": ["x:p"], "o": ["x:o"], "start": naive["when"]})
    with pytest.raises(InputError, match="'start' has timestamps without a time zone"):
        penstock.Engine().add_stream(triples)
    with pytest.raises(InputError, match="'when' has the type int64, and no map says what it counts"):
        penstock.Engine().add_stream(naive.assign(when=[17]), map=MAP)
    zoned = {**MAP, "penstock:time": {"instant": "when", "timezone": "UTC"}}
    penstock.Engine().add_stream(naive, map=zoned)
    penstock.Engine().add_stream(pandas.DataFrame(columns=["sensor", "value", "when"]), map=MAP)


def test_parquet_files_too(tmp_path):
    naive = pandas.DataFrame(
        {"sensor": ["a"], "value": [1], "when": pandas.to_datetime(["2026-05-01 08:00"])}
    )
    naive.to_parquet(tmp_path / "a.parquet")
    engine = penstock.Engine(shards=1).add_stream(tmp_path / "a.parquet", map=MAP).add_query(QUERY)
    with pytest.raises(InputError, match="'when' has timestamps without a time zone"):
        engine.ready()


WHEN = "2026-05-01T08:00:0{}Z"


def told_of(source, **options) -> tuple[str, penstock.Engine]:
    engine = penstock.Engine(spark=None).add_stream(source, **options).add_query(QUERY)
    with pytest.warns(penstock.PenstockWarning) as told:
        engine.answers()
    return next(str(each.message) for each in told if "rejected" in str(each.message)), engine


def test_rejects_are_summarised_by_reason(tmp_path):
    rows = [f"s{i},{'n/a' if i < 3 else 'x' if i == 3 else i},{WHEN.format(i)}" for i in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(["sensor,value,when", *rows, "short", "s9,9,soon"]) + "\n")
    said, engine = told_of(tmp_path / "t.csv", map=MAP)
    first, *reasons = said.split("\n  ")
    assert (
        first.startswith("6 rejected lines (the first one: ")
        and ", line 2: column 'value': 'n/a' is not" in first
    )
    assert reasons[0] == "4 × column 'value': … is not an integer; the cell is left out"
    assert sorted(reasons[1:]) == [
        "1 × the row has 1 cells, and the table 3 columns",
        "1 × when: … is not an instant in ISO 8601",
    ]
    assert sum(engine.statistics.reasons.values()) == engine.statistics.rejects == 6


def test_rows_and_files_are_called_so(tmp_path):
    frame = pa.table({"sensor": ["a", "b"], "value": ["1", "x"], "when": [WHEN.format(0), WHEN.format(1)]})
    pq.write_table(frame, tmp_path / "t.parquet")
    said, _ = told_of(tmp_path / "t.parquet", map=MAP)
    assert said.startswith("1 rejected row (the first one: ") and "t.parquet, row 2: column 'value'" in said
    (tmp_path / "broken").mkdir()
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "broken" / "1.parquet").write_bytes(whole)
    (tmp_path / "broken" / "2.parquet").write_bytes(whole[:-20])
    said, _ = told_of(tmp_path / "broken", map=MAP)
    assert said.startswith("1 rejected row and 1 rejected file (")
    said, _ = told_of(tmp_path / "broken" / "2.parquet", map=MAP)
    assert (
        said.startswith("1 rejected file (the first one: ") and "2.parquet: " in said and "line" not in said
    )


@pytest.mark.parametrize("iri", [None, "http://e/s"])
def test_rejects_of_a_data_frame_name_it(iri, monkeypatch):
    monkeypatch.setattr("penstock.api.registrations.ROWS_IN_A_FILE", 2)
    monkeypatch.setattr("penstock.sources.frames.ROWS_IN_A_FILE", 2)
    monkeypatch.setattr(
        "penstock.api.registrations.write_frame", lambda batches, path: write_frame(batches, path, 2)
    )
    values = ["1", "2", "3", "x"]
    frame = pandas.DataFrame(
        {"sensor": list("abcd"), "value": values, "when": [WHEN.format(i) for i in range(4)]}
    )
    name = "the DataFrame of stream <http://e/s>" if iri else "the DataFrame of stream 1"
    query = QUERY if iri is None else QUERY.replace("WHERE", "FROM <http://e/s> WHERE")
    engine = penstock.Engine(spark=None).add_stream(frame, map=MAP, iri=iri).add_query(query)
    with pytest.warns(
        penstock.PenstockWarning, match=f"1 rejected row .the first one: {name}, row 4: column"
    ):
        engine.answers()
    strict = penstock.Engine(spark=None, strict=True).add_stream(frame, map=MAP, iri=iri).add_query(query)
    with pytest.raises(InputError, match=f"{name}: row"):
        strict.answers()


def test_rejects_of_elements_made_in_python_name_them():
    engine = penstock.Engine(spark=None, ahead="1s").add_query(QUERY)
    triple = rdflib.URIRef("http://e/a"), rdflib.URIRef("http://e/reads"), rdflib.Literal(1)
    engine.add_stream([([triple], "2999-01-01T00:00:00Z")])
    with pytest.warns(penstock.PenstockWarning, match="the first one: the elements of stream 1,"):
        engine.answers()

"""What a run could not use is told in Python, too: warnings, statistics, and first in the diagnosis."""

from __future__ import annotations

import pandas
import pyarrow as pa
import pytest

import penstock
from penstock.errors import InputError
from penstock.runtime.contract import RunStatistics
from penstock.runtime.messages import REJECTS

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
    assert "2 rejected lines (the first one: a.nq, line 7: no time)" in texts
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

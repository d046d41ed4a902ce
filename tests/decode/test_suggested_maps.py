"""Maps that are suggested for a table, and tables that a map does not fit."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.decode.facts import facts
from tests.decode.mapped import NOON, SIMPLE, STATION, decoded, of_csv

from penstock import pipeline
from penstock.decode.decoder import decode_file
from penstock.decode.mapping.document import read_map
from penstock.decode.mapping.suggest import suggest_for, suggested, suggested_text
from penstock.decode.occurrences import concat
from penstock.errors import InputError, UsageError
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.runtime.intake.inputs import check_inputs
from penstock.sources.streams import StreamSpec


def test_a_suggestion_is_a_map_that_works(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Station Name;temp (C);count;ts\nx;1.5;2;1777622400123\n")
    guess = suggest_for(path)
    assert json.loads(suggested_text(guess)) == guess
    assert guess["penstock:time"] == {"instant": "ts", "format": "epoch-ms"}
    found = decoded(path, guess)
    assert not found.rejects
    assert [fact.split(" ")[1] for fact in facts(found)] == [
        "<http://example.org/Station_Name>", "<http://example.org/count>", "<http://example.org/temp_C>",
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_text('{"device": {"id": "d1"}, "v": true, "when": "2026-05-01T08:00:00Z"}\n')
    guess = suggest_for(tmp_path / "t.jsonl")
    assert guess["tableSchema"]["columns"][0]["valueUrl"] == "http://example.org/{device.id}"
    assert len(decoded(tmp_path / "t.jsonl", guess)) == 3
    suggested(pa.table({"x": pa.array([], pa.string())}))  # nothing to go by
    marked = suggested(pa.table({"id": ["a"] * 3, "v": ["1.5", "n/a", "2"], "t": [NOON] * 3}))
    assert {"name": "v", "datatype": "decimal"} in marked["tableSchema"]["columns"]
    with pytest.raises(UsageError, match="a map is for tables"):
        (tmp_path / "t.nq").touch()
        suggest_for(tmp_path / "t.nq")


READINGS = [20] * 50 + [30] * 10
MEAN = """PREFIX : <http://example.org/> SELECT ?s (AVG(?v) AS ?a) (COUNT(*) AS ?n)
          FROM STREAM :r [RANGE 60s STEP 60s] WHERE { ?r :sensor ?s ; :temperature ?v } GROUP BY ?s"""


@pytest.mark.parametrize("apart", [0, 1])
def test_equal_readings_of_the_suggested_map_count_each(tmp_path, apart):
    path = tmp_path / "t.csv"
    times = [f"2026-05-01T08:00:{1 + apart * n % 59:02d}Z" for n in range(len(READINGS))]
    rows = [f"s1,{value},{when}" for value, when in zip(READINGS, times, strict=True)]
    path.write_text("\n".join(["sensor,temperature,when", *rows]))
    document = read_map(suggest_for(path))
    assert not document.repeats and read_map(STATION).repeats
    program = pipeline.program(
        [parse_query(MEAN, language="c-sparql")], [StreamName("http://example.org/r")], shards=1, now=0
    )
    shard = program.open(0)
    found = decoded(path, suggest_for(path))
    payloads = [payload for _, payload in program.route(0, found)]
    [(_, data)] = shard.step(payloads, int(found.instants[-1]), True)
    [row] = pa.ipc.open_stream(data).read_all().to_pylist()
    assert row["n"].startswith('"60"') and row["a"].startswith('"21.66')


def test_without_a_subject_each_row_has_a_blank_node_of_its_own_however_the_file_is_cut(tmp_path):
    text = "v,w,when\n" + f"1,2,{NOON}\n" * 40
    columns = [{"name": name, "propertyUrl": f"http://e/{name}"} for name in "vw"]
    document = {"tableSchema": {"columns": columns}, "penstock:time": "when"}
    found = of_csv(tmp_path, text, document)
    subjects = Counter(fact.split(" ")[0] for fact in facts(found))
    assert len(subjects) == 40 and set(subjects.values()) == {2}
    assert all(subject.startswith("_:row") for subject in subjects)
    assert facts(of_csv(tmp_path, text, document, piece_bytes=64)) == facts(found)
    both = concat([found, concat(decode_file(tmp_path / "t.csv", source="t", map=read_map(document)))])
    assert len({fact.split(" ")[0] for fact in facts(both)}) == 80  # another file has others


def test_a_table_without_its_columns_is_refused_before_a_run(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"id,V,when\na,1,{NOON}\n")
    with pytest.raises(InputError, match="did you mean 'V'"):
        check_inputs([StreamSpec(None, (str(path),), map=json.dumps(SIMPLE))])
    with pytest.raises(InputError, match=r"no column s, p, o, start(.|\n)*penstock map"):
        check_inputs([StreamSpec(None, (str(path),))])
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="no column 'v'"):
        check_inputs([StreamSpec(None, (str(tmp_path / "t.parquet"),), map=json.dumps(SIMPLE))])
    for text in ("", "id", "id,v,when\n"):  # nothing yet, a part of a header, a header
        path.write_text(text)
        check_inputs([StreamSpec(None, (str(path),), map=json.dumps(SIMPLE))])

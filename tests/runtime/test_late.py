"""Late elements as records: whole, and in their order."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.runtime.toy import ToyProgram, toy_decoder

from penstock.decode.decoder import decode_file
from penstock.decode.occurrences import concat
from penstock.runtime.intake.decoding import file_decoder
from penstock.runtime.intake.late import elements_table, late_records
from penstock.runtime.intake.routing import late_elements, take_in
from penstock.runtime.job import Job
from penstock.runtime.messages import ORIGIN
from penstock.sources.splits import Split
from penstock.sources.streams import StreamSpec
from penstock.timeline import parse_instant

NOON, ONE = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


def table(tmp_path, text: str, name: str = "s.nq") -> pa.Table:
    (tmp_path / name).write_text(text)
    return elements_table(concat(decode_file(tmp_path / name, named=True)), "s")


def test_a_name_that_comes_again_is_another_record(tmp_path):
    e, f = f"<urn:e#t={NOON}>", f"<urn:f#t={NOON},{ONE}>"
    text = f'<urn:s> <urn:p> "2" {f} .\n<urn:s> <urn:p> "1" {e} .\n<urn:s> <urn:p> "3" {f} .\n'
    text += f'<urn:s> <urn:p> "4" {f} . # an odd line\n'
    found = table(tmp_path, text)
    noon, one = "2026-01-01T12:00:00.000Z", "2026-01-01T13:00:00.000Z"
    of_f = {"source": "s", "graph": f, "start": noon, "end": one}
    assert late_records(found) == [
        of_f | {"triples": ['<urn:s> <urn:p> "2" .']},
        {"source": "s", "graph": e, "start": noon, "end": noon, "triples": ['<urn:s> <urn:p> "1" .']},
        of_f | {"triples": ['<urn:s> <urn:p> "3" .', '<urn:s> <urn:p> "4" .']},
    ]


def test_an_element_without_triples_is_told_by_its_name(tmp_path):
    text = f'<urn:e> <http://www.w3.org/ns/prov#generatedAtTime> "{NOON}" .\n'
    [record] = late_records(table(tmp_path, text))
    assert (record["graph"], record["triples"]) == ("<urn:e>", [])


def test_rows_without_a_name_are_elements_of_their_own(tmp_path):
    text = f"s,p,o,start\nurn:s,urn:p,urn:a,{NOON}\nurn:s,urn:p,urn:a,{NOON}\n"
    found = table(tmp_path, text, "s.csv")
    assert len(late_records(found)) == 2
    assert found.column("graph").null_count == 2


@pytest.mark.parametrize(("watermark", "late"), [(NOON, 0), ("2026-01-01T12:00:00.000001Z", 1)])
def test_a_split_is_read_again_only_if_something_in_it_ended_before_the_watermark(tmp_path, watermark, late):
    path = tmp_path / "s.nq"
    path.write_text("".join(f"<urn:s> <urn:p> <urn:o> <urn:e#t={t}> .\n" for t in (NOON, ONE)))
    size = path.stat().st_size
    streams = (StreamSpec(None, (str(path),)),)
    job = Job(str(tmp_path), ToyProgram(2), streams, file_decoder, False, 0)
    found = take_in(job, Split(0, 3, str(path), 0, size, 0, size, False))
    rows = [row for batch in found for row in batch.to_pylist()]
    [origin] = [row for row in rows if row["kind"] == ORIGIN]
    assert origin["shard"] == job.keys[1], "the splits of a batch are looked after by all shards in turn"
    if not late:
        path.unlink()  # not even opened
    found = late_elements(job, origin["payload"], parse_instant(watermark))
    assert (found is not None) == bool(late)
    if found is not None:
        assert pa.ipc.open_stream(found).read_all().num_rows == late


def test_a_split_without_elements_has_nothing_to_look_after(tmp_path):
    path = tmp_path / "s.nq"
    path.write_text("broken\n")
    job = Job(str(tmp_path), ToyProgram(2), (StreamSpec(None, (str(path),)),), toy_decoder, False, 0)
    found = take_in(job, Split(0, 0, str(path), 0, 7, 0, 7, False))
    rows = [row for batch in found for row in batch.to_pylist()]
    assert ORIGIN not in {row["kind"] for row in rows}

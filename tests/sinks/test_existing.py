"""An output that is there already: refused, replaced, added to, or gone on with."""

from __future__ import annotations

import json
import os

import pyarrow.parquet as pq
import pytest

from penstock.errors import StorageError, UsageError
from penstock.sinks import Existing, Shape, open_sink
from penstock.sinks.side_outputs import SideOutputs

FILES = [("csv", "a.csv"), ("json", "a.json"), ("table", "a.txt"), ("parquet", "a.parquet")]


def write(path, format, shapes, batches, existing, checkpoint=None):
    sink = open_sink(format, path, shapes, checkpoint, existing)
    for number, batch in enumerate(batches):
        sink.write(number, batch)
    sink.close()


def content(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return path.read_bytes()


@pytest.mark.parametrize(("format", "name"), FILES)
@pytest.mark.parametrize("kept", [None, "state"])
def test_two_runs_in_one_file_are_as_one(tmp_path, format, name, kept, select, falls):
    path, state = tmp_path / name, tmp_path / kept if kept else None
    batches = [{0: falls.slice(0, 1)}, {0: falls.slice(1)}]
    write(tmp_path / "once" / name, format, [select], batches, Existing.REFUSE)
    write(path, format, [select], batches[:1], Existing.REFUSE)
    before = content(path)
    with pytest.raises(UsageError, match="exists already"):
        open_sink(format, path, [select], state)
    assert content(path) == before
    write(path, format, [select], batches[1:], Existing.APPEND, state)
    if format == "table":  # each run has a header of its own
        assert content(path).count(b"?company") == 2 and content(path).count(b"Z") == 4
    else:
        assert content(path) == content(tmp_path / "once" / name)
    if state is not None:  # its own checkpoint goes on with it, whatever the option says
        whole = content(path)
        for existing in Existing:
            open_sink(format, path, [select], state, existing).close()
            assert content(path) == whole
    write(path, format, [select], batches[:1], Existing.OVERWRITE)
    assert content(path) == before


@pytest.mark.parametrize(("format", "name"), FILES)
@pytest.mark.parametrize("restart", [Existing.REFUSE, Existing.APPEND])
def test_a_run_that_stopped_before_its_first_batch_lost_nothing(
    tmp_path, format, name, restart, select, falls
):
    """Appending with a checkpoint; nothing is noted there yet when it is started again."""
    path, state = tmp_path / name, tmp_path / "state"
    write(path, format, [select], [{0: falls.slice(0, 1)}], Existing.REFUSE)
    before = content(path)
    sink = open_sink(format, path, [select], state, Existing.APPEND)
    del sink  # the machine stops
    again = open_sink(format, path, [select], state, restart)
    again.close()
    assert content(path) == before


@pytest.mark.parametrize(
    ("name", "earlier", "reason"),
    [
        ("a.csv", b"other,columns\r\n1,2\r\n", "other columns"),
        ("a.csv", b"company,price,start,end\r\nacme,12.5", "last line is not complete"),
        ("a.json", b"{}", "other columns"),
        ("a.txt", b"no end of line", "last line is not complete"),
        ("a.parquet", b"PAR1 no more", "other columns, or is not Parquet"),
    ],
)
def test_what_does_not_fit_is_not_appended_to(tmp_path, name, earlier, reason, select):
    (tmp_path / name).write_bytes(earlier)
    for _ in range(2):
        with pytest.raises(UsageError, match=f"cannot append to .*{name}: .*{reason}"):
            open_sink(None, tmp_path / name, [select], tmp_path / "state", Existing.APPEND)
    assert (tmp_path / name).read_bytes() == earlier


def test_a_json_document_without_its_end_is_not_appended_to(tmp_path, select, falls):
    write(tmp_path / "a.json", "json", [select], [{0: falls}], Existing.REFUSE)
    torn = (tmp_path / "a.json").read_bytes()[:-4]
    (tmp_path / "a.json").write_bytes(torn)
    with pytest.raises(UsageError, match="it is not complete"):
        open_sink("json", tmp_path / "a.json", [select], None, Existing.APPEND)


def test_a_torn_header_is_written_again(tmp_path, select, falls):
    open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "state").close()
    (tmp_path / "a.csv").write_bytes(b"compa")
    write(tmp_path / "a.csv", "csv", [select], [{0: falls}], Existing.REFUSE, tmp_path / "state")
    assert (tmp_path / "a.csv").read_text().startswith("company,price,start,end\nhttp")


def test_an_empty_file_is_nothing_to_lose(tmp_path, select, falls):
    (tmp_path / "a.json").touch()
    write(tmp_path / "a.json", "json", [select], [{0: falls}], Existing.REFUSE)
    assert len(json.loads((tmp_path / "a.json").read_text())["results"]["bindings"]) == 3


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_directory_is_replaced_or_refused(tmp_path, format, select, falls):
    place = f"{tmp_path}/dir/"
    write(place, format, [select], [{0: falls}] * 3, Existing.REFUSE)
    (tmp_path / "dir" / "notes.md").touch()
    for existing in (Existing.REFUSE, Existing.APPEND):
        with pytest.raises(UsageError, match="already holds answers"):
            open_sink(format, place, [select], None, existing)
    write(place, format, [select], [{0: falls}], Existing.OVERWRITE)
    assert sorted(path.name for path in (tmp_path / "dir").iterdir()) == [
        "notes.md", f"part-00000000.{format}",
    ]  # fmt: skip


def test_queries_with_alike_names_have_a_folder_each(tmp_path, falls):
    shapes = [Shape(name, ("company", "price"), False) for name in ("a b", "a_b", "a/b")]
    write(f"{tmp_path}/dir/", "csv", shapes, [{0: falls, 1: falls.slice(0, 1)}], Existing.REFUSE)
    assert sorted(path.name for path in (tmp_path / "dir").iterdir()) == ["a_b", "a_b-2", "a_b-3"]
    lines = [len(part.read_text().splitlines()) for part in sorted(tmp_path.glob("dir/*/part-*"))]
    assert sorted(lines) == [2, 5]


def test_where_nothing_can_be_written_is_said_before_the_first_record_comes(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot write .*rejected.jsonl: Not a directory"):
        SideOutputs(rejected=tmp_path / "file" / "rejected.jsonl")
    SideOutputs(late=tmp_path / "new" / "late.jsonl")
    assert not (tmp_path / "new").exists()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write everywhere
    with pytest.raises(StorageError, match=r"cannot write .*late.jsonl: Permission denied"):
        SideOutputs(late=tmp_path / "late.jsonl")

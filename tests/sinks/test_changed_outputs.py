"""A checkpoint goes on with another output: what was written stays, what comes again is there once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import UsageError
from penstock.sinks import Existing, Shape, SideOutputs, changed_outputs, open_sink

A, B = Shape("a", ("x",), False), Shape("b", ("x", "y"), False)
OUTPUTS = ["out.csv", "out.json", "out.parquet", "out.txt", "dir/", "native.parquet", "native.json"]


class Lives:
    """Runs of one checkpoint: some batches each, of which the last may be one that Spark has not finished."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.finished = -1

    def run(
        self, out: str, *shapes: Shape, batches=1, unfinished=False, killed=False, existing=Existing.REFUSE
    ):
        format = "csv" if out.endswith("/") else None
        place, state = f"{self.place}/{out}", self.place / "state"
        sink = open_sink(format, place, shapes, state, existing, out.startswith("native"), self.finished)
        for batch in range(self.finished + 1, self.finished + 1 + batches):
            cells = {
                number: {name: [f"<urn:{each.name}:{batch}>"] for name in each.columns}
                for number, each in enumerate(shapes)
            }
            times = {"start": [batch], "end": [batch]}
            sink.write(batch, {number: pa.table(cell | times) for number, cell in cells.items()})
        if not killed:
            sink.close()
        self.finished += batches - unfinished
        return sink

    def answers(self, out: str) -> list[str]:
        """What is in an output, in order, which must be whole."""
        path = self.place / out
        if out == "out.csv" or path.suffix == ".csv":
            with path.open(newline="") as file:
                return [row["x"] for row in csv.DictReader(file)]
        if out == "out.json":
            return [row["x"]["value"] for row in json.loads(path.read_text())["results"]["bindings"]]
        if out == "native.json":
            return [row["x"] for row in json.loads(path.read_text())]
        if path.suffix == ".parquet":
            return [text.strip("<>") for text in pq.read_table(path)["x"].to_pylist()]
        if out == "dir/":
            return [row for part in sorted(path.glob("*.csv")) for row in self.answers(f"dir/{part.name}")]
        return [
            f"urn:{line.split('<urn:')[1].split('>')[0]}"
            for line in path.read_text().splitlines()
            if "<urn" in line
        ]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("before", OUTPUTS)
@pytest.mark.parametrize("after", ["out.csv", "out.parquet", "dir/"])
def test_what_was_written_stays_and_the_unfinished_batch_moves(tmp_path, before, after, killed):
    if before == after:
        pytest.skip("the same output")
    lives = Lives(tmp_path)
    lives.run(before, A, batches=3, unfinished=True, killed=killed)
    lives.run(after, A, batches=2)
    assert lives.answers(before) == ["urn:a:0", "urn:a:1"]
    assert lives.answers(after) == ["urn:a:2", "urn:a:3"]
    lives.run(after, A)
    assert lives.answers(after) == ["urn:a:2", "urn:a:3", "urn:a:4"]
    assert not list((tmp_path / "state").glob("*.before"))


@pytest.mark.parametrize("out", ["out.csv", "out.json"])
def test_a_file_whose_columns_do_not_fit_is_gone_on_with_in_another_one(tmp_path, out):
    lives = Lives(tmp_path)
    lives.run(out, A, batches=3, unfinished=True, killed=True)
    other = out.replace("out", "out-2")
    assert lives.run(out, A, B, killed=True).moved == tmp_path / other
    assert lives.run(out, A, B).moved is None, "told once"
    assert lives.answers(out) == ["urn:a:0", "urn:a:1"]
    texts = (tmp_path / other).read_text()
    assert (
        all(texts.count(f"urn:{query}:{batch}") for query in "ab" for batch in (2, 3))
        and "urn:a:1" not in texts
    )
    third = Shape("c", ("z",), False)
    assert lives.run(out, third).moved == tmp_path / out.replace("out", "out-3")


@pytest.mark.parametrize("before", OUTPUTS)
def test_an_output_that_is_refused_changes_nothing(tmp_path, before):
    lives = Lives(tmp_path)
    lives.run(before, A, batches=2, unfinished=True)
    (tmp_path / "mine.csv").write_text("dear to somebody")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="exists already"):
        lives.run("mine.csv", A)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    lives.run(before, A)


@pytest.mark.parametrize("before", ["out.csv", "out.parquet", "dir/"])
@pytest.mark.parametrize("at", ["_let_go", "begin"])
def test_killed_while_the_output_changes(tmp_path, monkeypatch, before, at):
    """What stands where when the process ends, at any of the two moments, is taken up by the next run."""
    lives = Lives(tmp_path)
    lives.run(before, A, batches=3, unfinished=True, killed=True)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        if at == "_let_go":
            patch.setattr(changed_outputs, "_let_go", killed)
        else:
            patch.setattr(changed_outputs, "_put_back", lambda _: None)
            patch.setattr("penstock.sinks._begun", killed)
            patch.setattr(changed_outputs, "_settle", lambda *_: None)
        lives.run("new.csv", A)
    lives.run("new.csv", A, existing=Existing.REFUSE)
    assert lives.answers(before) == ["urn:a:0", "urn:a:1"] and lives.answers("new.csv") == ["urn:a:2"]


def test_side_outputs_move_with_the_answers(tmp_path):
    def sides(name: str, finished: int) -> SideOutputs:
        opened = SideOutputs(tmp_path / name, None, tmp_path / "state", finished=finished)
        opened.leave_before()
        return opened

    (tmp_path / "state").mkdir()
    first = sides("a.jsonl", -1)
    first.write(0, [{"n": 0}])
    first.write(1, [{"n": 1}])
    second = sides("b.jsonl", 0)
    second.write(1, [{"n": 1}])
    second.close()
    assert (tmp_path / "a.jsonl").read_text() == '{"n": 0}\n' and (
        tmp_path / "b.jsonl"
    ).read_text() == '{"n": 1}\n'

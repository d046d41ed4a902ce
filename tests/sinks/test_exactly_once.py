"""Every answer exactly once: a crash at any step, then the same batch again.

A run is driven as Spark drives it: a batch counts as done only after `write` returned, and
the first batch that is not done comes again after a restart. The disk is simulated at the
level of fsync: a crash leaves nothing, half or all of what was not yet safe.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.errors import InputError, UsageError
from penstock.sinks import SideOutputs, journal, open_sink


class Crash(BaseException):
    """The machine stops here. Not an Exception: nothing may catch it on the way."""


class Disk:
    """Crashes at one of the steps at which something becomes safe."""

    def __init__(self, monkeypatch, at: int, left_over: float) -> None:
        self.steps = 0
        self.at = at
        self.left_over = left_over
        self.safe: dict[str, int] = {}
        real_sync, real_replace = journal.to_disk, journal.os.replace

        def to_disk(file) -> None:
            file.flush()
            size = Path(file.name).stat().st_size
            if self.crashes():
                safe = min(self.safe.get(file.name, 0), size)
                with open(file.name, "r+b") as torn:
                    torn.truncate(safe + int((size - safe) * self.left_over))
                raise Crash
            real_sync(file)
            self.safe[file.name] = size

        def replace(source, target) -> None:
            crashing = self.crashes()
            if not crashing or self.left_over:
                real_replace(source, target)
                self.safe[str(target)] = Path(target).stat().st_size
            if crashing:
                raise Crash

        monkeypatch.setattr(journal, "to_disk", to_disk)
        monkeypatch.setattr(journal.os, "replace", replace)

    def crashes(self) -> bool:
        self.steps += 1
        return self.steps == self.at


def run(open_output, batches, *, commit_lost_after: int | None = None) -> int:
    """Runs to the end whatever happens on the way; tells how often it had to start."""
    starts, done = 0, 0
    while True:
        starts += 1
        assert starts < 5, "the run does not get anywhere"
        try:
            output = open_output()
            for batch_id in range(done, len(batches)):
                output.write(batch_id, batches[batch_id])
                if batch_id == commit_lost_after:
                    commit_lost_after = None
                    raise Crash
                done = batch_id + 1
            output.close()
            return starts
        except Crash:
            continue


def contents(folder: Path) -> dict[str, object]:
    """All that a reader of the output would see."""
    return {
        str(path.relative_to(folder)): (
            pq.read_table(path).to_pylist() if path.suffix == ".parquet" else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


@pytest.fixture
def batches(falls):
    return [{0: falls.slice(0, 1)}, {0: falls.slice(1, 1)}, {}, {0: falls}]


@pytest.fixture
def triple_batches(triples):
    return [{0: triples.slice(0, 2)}, {}, {0: triples.slice(2)}, {0: triples}]


OUTPUTS = [
    ("csv", "a.csv"),
    ("json", "a.json"),
    ("parquet", "a.parquet"),
    ("csv", "dir/"),
    ("parquet", "dir/"),
    ("nquads", "a.nq"),
    ("trig", "a.trig"),
    ("trig", "dir/"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("left_over", [0.0, 0.5, 1.0], ids=["nothing", "half", "all"])
@pytest.mark.parametrize(("format", "name"), OUTPUTS)
def test_a_crash_at_any_step_changes_nothing(
    tmp_path, monkeypatch, format, name, left_over, select, construct, batches, triple_batches
):
    triples = format in ("nquads", "trig")
    shape = construct if triples else select
    batches = triple_batches if triples else batches

    def at(where: Path):
        return lambda: open_sink(format, f"{where}/out/{name}", [shape], where / "checkpoint")

    run(at(tmp_path / "undisturbed"), batches)
    wanted = contents(tmp_path / "undisturbed" / "out")
    assert wanted
    crashes = 0
    for step in range(1, 100):
        with monkeypatch.context() as patch:
            disk = Disk(patch, step, left_over)
            starts = run(at(tmp_path / str(step)), batches)
        if disk.steps < step:
            break
        assert starts == 2
        crashes += 1
        assert contents(tmp_path / str(step) / "out") == wanted, f"crash at step {step}"
    assert crashes >= (5 if name.endswith("/") or format == "parquet" else 10)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
@pytest.mark.parametrize(("format", "name"), OUTPUTS[:5])
def test_a_batch_that_was_written_but_not_noted_comes_again(tmp_path, format, name, lost, select, batches):
    def at(where: Path):
        return lambda: open_sink(format, f"{where}/out/{name}", [select], where / "checkpoint")

    run(at(tmp_path / "undisturbed"), batches)
    assert run(at(tmp_path / "crashed"), batches, commit_lost_after=lost) == 2
    assert contents(tmp_path / "crashed" / "out") == contents(tmp_path / "undisturbed" / "out")


@pytest.mark.parametrize(("format", "name"), OUTPUTS[:5])
def test_a_closed_output_goes_on_with_its_checkpoint(tmp_path, format, name, select, batches):
    def at(where: Path):
        return open_sink(format, f"{where}/out/{name}", [select], where / "checkpoint")

    run(lambda: at(tmp_path / "at-once"), batches)
    run(lambda: at(tmp_path / "in-two"), batches[:2])
    later = at(tmp_path / "in-two")
    for batch_id in (2, 3):
        later.write(batch_id, batches[batch_id])
    later.close()
    assert contents(tmp_path / "in-two" / "out") == contents(tmp_path / "at-once" / "out")


def test_an_older_checkpoint_takes_back_all_later_batches(tmp_path, select, falls):
    def at():
        return open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "checkpoint")

    run(at, [{0: falls}] * 4)
    sink = at()
    sink.write(1, {0: falls})
    sink.close()
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert sum("acme" in line for line in lines) == 2
    at().close()  # and the journal knows it


def test_a_directory_of_another_run_is_not_mixed_up(tmp_path, select, falls):
    run(lambda: open_sink("csv", f"{tmp_path}/dir/", [select]), [{0: falls}])
    for _ in range(2):  # refusing leaves nothing behind that would let the next try pass
        with pytest.raises(UsageError, match="already holds answers"):
            open_sink("csv", f"{tmp_path}/dir/", [select], tmp_path / "checkpoint")


def test_a_directory_has_a_folder_per_query(tmp_path, select, construct, falls, triples):
    sink = open_sink("csv", f"{tmp_path}/dir/", [select, construct])
    sink.write(7, {0: falls, 1: triples})
    sink.write(8, {1: triples})
    sink.close()
    assert [*contents(tmp_path)] == [
        "dir/falls/part-00000007.csv",
        "dir/rule_1/part-00000007.csv",
        "dir/rule_1/part-00000008.csv",
    ]


def test_a_checkpoint_of_another_output_is_refused(tmp_path, select):
    open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "checkpoint").close()
    with pytest.raises(InputError, match="belongs to another output") as caught:
        open_sink("csv", tmp_path / "b.csv", [select], tmp_path / "checkpoint")
    assert "a.csv" in caught.value.message and "b.csv" in caught.value.message


def test_lost_answers_are_noticed(tmp_path, select, falls):
    def at():
        return open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "checkpoint")

    run(at, [{0: falls}])
    (tmp_path / "a.csv").unlink()
    with pytest.raises(InputError, match="shorter than the checkpoint says"):
        at()


def test_the_journal_stays_small(tmp_path, monkeypatch, select, falls):
    monkeypatch.setattr(journal, "LONGEST_JOURNAL", 50)
    monkeypatch.setattr(journal, "KEPT_BATCHES", 3)
    sink = open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "checkpoint")
    for batch_id in range(200):
        sink.write(batch_id, {0: falls.slice(0, 1)})
    sink.close()
    assert len((tmp_path / "checkpoint" / "out.journal").read_text().splitlines()) <= 51
    sink = open_sink("csv", tmp_path / "a.csv", [select], tmp_path / "checkpoint")
    sink.write(199, {0: falls.slice(0, 1)})
    sink.close()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 201


def test_side_outputs_survive_crashes_too(tmp_path, monkeypatch):
    batches = [([{"line": 7, "why": "no dot"}], []), ([], [{"element": "é"}]), ([{"line": 9}], [])]

    def at(where: Path):
        class Sides(SideOutputs):
            def write(self, batch_id, records):
                super().write(batch_id, *records)

        return Sides(where / "rejected.jsonl", where / "late.jsonl", where / "checkpoint")

    for step in range(1, 100):
        with monkeypatch.context() as patch:
            disk = Disk(patch, step, left_over=0.5)
            run(lambda step=step: at(tmp_path / str(step)), batches)
        lines = (tmp_path / str(step) / "rejected.jsonl").read_text().splitlines()
        assert [json.loads(line)["line"] for line in lines] == [7, 9]
        assert (tmp_path / str(step) / "late.jsonl").read_text() == '{"element": "é"}\n'
        if disk.steps < step:
            break
    assert step > 10


def test_side_outputs_make_no_file_without_need(tmp_path):
    sides = SideOutputs(tmp_path / "rejected.jsonl", None, tmp_path)
    sides.write(0, [], [{"element": 1}, {"element": 2}])
    sides.close()
    assert (sides.rejected.count, sides.late.count) == (0, 2)
    assert not (tmp_path / "rejected.jsonl").exists()

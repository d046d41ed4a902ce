"""A checkpoint goes on with another output: what was written stays, and no answer is given twice.

What was written of batches that Spark had not finished comes again, and goes to the new output: it is taken
back from the old one, which is then completed. The journal of the old output is set aside until the new one
has begun, so that a run that is refused or killed meanwhile changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.sinks.answers import Layout
from penstock.sinks.destinations import ANSWERS, ASKED, FOOTER, JOURNAL, put_together
from penstock.sinks.journal import Journal, to_disk

_ASIDE = ".before"


def in_place_of(checkpoint: Path, asked: Path, format: str, finished: int) -> tuple[Path, bool]:
    """Where answers for an output that is asked for go, and whether that is another one than so far.

    They go on in the file that took the place of the one that is asked for, because its columns did not fit.
    """
    _settle(checkpoint, finished)
    begun = Journal.begun(checkpoint / JOURNAL)
    if begun is None:
        return asked, False
    subject, layout = begun
    place = asked.resolve()
    if layout.get(ASKED) == str(place) and subject["format"] == format:
        return Path(subject["out"]), False
    return asked, subject != {"out": str(place), "format": format}


def beside(asked: Path) -> Path:
    """A name that is free for a file in the place of one whose columns do not fit: out-2.csv."""
    number = 2
    while (found := asked.with_name(f"{asked.stem}-{number}{asked.suffix}")).exists():
        number += 1
    return found


@contextlib.contextmanager
def leaving(checkpoint: Path, finished: int) -> Iterator[None]:
    """Within, another output begins; `finished` is the last batch that Spark has done for good."""
    for name in (ANSWERS, JOURNAL):
        if (checkpoint / name).exists():
            os.replace(checkpoint / name, checkpoint / f"{name}{_ASIDE}")
    try:
        yield
    except BaseException:
        _put_back(checkpoint)
        raise
    _let_go(checkpoint, finished)


def _settle(checkpoint: Path, finished: int) -> None:
    """Ends what a run that was killed had begun: the change of its output, or taking that back."""
    if (checkpoint / f"{JOURNAL}{_ASIDE}").exists() and (checkpoint / JOURNAL).exists():
        _let_go(checkpoint, finished)
    else:
        _put_back(checkpoint)


def _put_back(checkpoint: Path) -> None:
    for name in (ANSWERS, JOURNAL):
        aside = checkpoint / f"{name}{_ASIDE}"
        if aside.exists():
            shutil.rmtree(checkpoint / name, ignore_errors=True)
            os.replace(aside, checkpoint / name)


def _let_go(checkpoint: Path, finished: int) -> None:
    """Takes back from the output before what comes again, and completes it; may be done twice."""
    journal, parts = (checkpoint / f"{name}{_ASIDE}" for name in (JOURNAL, ANSWERS))
    begun = Journal.begun(journal)
    if begun is not None:
        subject, layout = begun
        place = Path(subject["out"])
        if "columns" in layout and "folders" in layout:
            if parts.exists():
                _drop_parts(parts, layout["folders"].values(), finished)
                columns, native = Layout.from_json(layout["columns"]), subject["format"] != "parquet"
                put_together(place, columns, parts, layout["folders"], native)
        elif "folders" in layout:
            _drop_parts(place, layout["folders"].values(), finished)
        else:
            take_back(place, Journal(journal, subject), finished, layout.get(FOOTER, "").encode())
    shutil.rmtree(parts, ignore_errors=True)
    journal.unlink()


def _drop_parts(directory: Path, folders: Iterable[str], finished: int) -> None:
    for folder in folders:
        for part in (directory / folder).glob("part-*"):
            if int(part.stem.removeprefix("part-")) > finished:
                part.unlink()


def take_back(place: Path, journal: Journal, finished: int, footer: bytes = b"") -> None:
    """Cuts off a file what was written of batches that come again, and ends it."""
    start = journal.start_of(finished + 1)
    certain = journal.size() if start is None else start
    if certain is None or not place.is_file() or place.stat().st_size < certain:
        return  # nothing was written, or somebody has taken it away
    with place.open("r+b") as file:
        file.truncate(certain)
        file.seek(certain)
        file.write(footer)
        to_disk(file)

"""The log of segments: which bytes of which files make up a stream, in order, for good.

A segment is a range of bytes that is complete and will not change. New files and the
growth of known ones are appended as new segments, so a position in a stream is only two
numbers (segment, byte), and a restart reads exactly the same bytes again.

Files are known by their content, not by their name (`identity.py`): one that was renamed is read
on where it was, and one that was replaced or cut is a new one. docs/streams.md says what writers
may do.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.decode.formats import Compression, Format, format_of, is_stream_file
from penstock.errors import InputError, UsageError
from penstock.sources.growth import (
    LastElement,
    Members,
    Rest,
    end_of_last_line,
    ends_of,
    is_whole_parquet,
)
from penstock.sources.identity import Mark, has, mark_of, names_by_inode
from penstock.sources.segment_file import Segment, SegmentFile, Stored, to_disk
from penstock.sources.streams import STANDARD_INPUT, StreamSpec

SETTLED = 1.0
"""Seconds that bytes must have been there, in follow mode, where an element may still go on."""
PAUSE = 0.1
"""The same for elements whose names tell their times: these have no part that must still come."""
COMPACT_AFTER = 128
"""Segments that no batch can ask for any more, before they are dropped from the log."""
FORGET_AFTER = 3600.0
"""Seconds for which a file that is gone is still known if it comes back."""


@dataclass(frozen=True)
class Range:
    """The part [start, end) of a segment that one batch reads."""

    segment: Segment
    start: int
    end: int


@dataclass
class _File:
    """What is known of a file, and what it looked like when we last looked."""

    name: str  # under which it was first seen
    taken: int  # bytes that are in segments
    mark: Mark | None
    number: int = 0  # no two files of a stream have the same
    looked: tuple[int, int, int] | None = None  # size and rested sizes at a look that brought nothing
    members: Members | None = None
    last: LastElement | None = None
    lines: int = 0  # where its complete lines ended: what is not taken of them waits to be a whole element
    met: float | None = None  # when it was first seen, in a run that follows
    behind: tuple[tuple[_File, int], ...] = ()  # the files that had such lines then, and up to where


class SegmentLog:
    """The segments of one stream, kept in a file (`segment_file.py`).

    A segment keeps its number for good; those that no batch can ask for any more are dropped.
    """

    def __init__(
        self,
        spec: StreamSpec,
        log: Path,
        spool: Path,
        now: Callable[[], float] = time.time,
        compact_after: int = COMPACT_AFTER,
        forget_after: float = FORGET_AFTER,
    ) -> None:
        self.spec = spec
        self.log = log
        self.spool = spool  # where standard input is kept, see `spool.py`
        self.now = now
        self.compact_after = compact_after
        self.forget_after = forget_after
        self._files: dict[str, _File] = {}  # by the path where we last saw them
        self._names: set[str] = set()  # all paths that have ever been there
        self._by_inode: dict[int, _File] = {}
        self._seen: dict[str, tuple[int, int, int]] = {}  # path → inode, size, time of change
        self._listings: dict[str, dict[int, list[str]]] = {}  # folder → inode → paths, in this look
        self._strays: dict[str, _File] | None = None  # renamed to where no stream's path leads
        self._rest, self._pause = Rest(SETTLED), Rest(PAUSE)
        self._stored = SegmentFile(log)
        stored = self._stored.read()
        self.first = stored.first  # the number of the first segment here
        self.segments: list[Segment] = []
        self._until: list[int] = [0]  # bytes in the first n segments
        self._known = {segment.file: segment for segment in stored.known}
        self._missing = {stored.known[i].file: since for i, since in stored.missing.items()}
        for segment in stored.segments:
            self._add(segment)
        for segment in (*stored.known, *stored.segments):
            self._remember(segment.path, _File(segment.path, segment.end, segment.mark, segment.number))
        # Every file has a segment, so there were never more files than segments.
        self._numbers = itertools.count(self.first + len(self.segments))

    def _add(self, segment: Segment) -> None:
        self.segments.append(segment)
        self._until.append(self._until[-1] + len(segment))

    def _remember(self, path: str, file: _File) -> None:
        self._files[path] = file
        self._names.add(path)
        if file.mark is not None and file.taken:
            self._by_inode[file.mark.inode] = file

    def discover(self, *, follow: bool) -> int:
        """Append what has come since the last call; how many segments that were."""
        self._listings.clear()
        if self._strays is None:
            self._strays = self._gone_astray()
        listed = list(self._paths())
        listed += sorted(self._files.keys() - set(listed))  # the ones that are not there any more
        found = self._news_of_strays(set(listed), follow)
        begun = [path for path in listed if path in self._files and self._files[path].taken]
        new = [path for path in listed if path not in set(begun)]
        found += [segment for path in begun + new for segment in self._news(path, follow)]
        if found:
            for path in {segment.path for segment in found if segment.mark is None}:
                to_disk(path)  # standard input cannot be read again
                to_disk(os.path.dirname(path))
            self._stored.append(found)
            for segment in found:
                self._add(segment)
        return len(found)

    def _paths(self) -> Iterator[str]:
        for path in self.spec.paths:
            if path == STANDARD_INPUT:
                yield from files_below(self.spool, None)
            elif os.path.isdir(path):
                yield from files_below(Path(path), self.spec.format)
            elif os.path.exists(path):
                yield path
            elif path not in self._names:
                raise UsageError(f"there is no file or directory {path}")

    def _news(self, path: str, follow: bool) -> list[Segment]:
        """The segments that a path has brought since the last look."""
        news: list[Segment] = []
        with contextlib.suppress(FileNotFoundError):  # renamed while we looked: the next look sees it
            self._take_news(path, follow, news)
        return news

    def _take_news(self, path: str, follow: bool, news: list[Segment]) -> None:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            status = None  # tidied away, or renamed and not there again yet
        file = self._files.get(path)
        if file is not None and not self._is_still(file, path, status):
            # Another file is here now, or none. What the one before has got since goes first, unless it
            # was met under its new name already, as one of which nothing had been taken.
            elsewhere = self._renamed(path, file.mark)
            if elsewhere is not None and self._files.get(elsewhere, file) is file:
                news += self._growth(file, elsewhere, os.stat(elsewhere), follow)
                self._strays[elsewhere] = file
            del self._files[path]
            file = None
        if status is None:
            return
        if file is None:
            known = self._by_inode.get(status.st_ino)
            if known is None or not has(path, known.mark):
                known = _File(path, 0, None if self._is_ours(path) else mark_of(path, 0))
            self._remember(path, file := known)
        news += self._growth(file, path, status, follow)

    def _is_still(self, file: _File, path: str, status: os.stat_result | None) -> bool:
        """Whether a path still has the file that it had."""
        if status is None:
            return False
        if file.mark is None:
            return True
        if file.taken == 0:  # nothing tells it from others yet
            return status.st_ino == file.mark.inode
        seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        if seen != self._seen.get(path):  # not in every look: most files stay as they are
            if not has(path, file.mark):
                return False
            self._seen[path] = seen
        return True

    def _gone_astray(self) -> dict[str, _File]:
        """The files that had other names when an earlier run saw them, by where they are now."""
        strays = {}
        for file in self._by_inode.values():
            if self._files.get(file.name) is not file:
                place = self._renamed(file.name, file.mark)
                if place is not None:
                    strays[place] = file
        return strays

    def _news_of_strays(self, listed: set[str], follow: bool) -> list[Segment]:
        """Who has a renamed file open may still write to it."""
        news = []
        for place, file in list(self._strays.items()):
            if place in listed:
                del self._strays[place]
                continue
            try:
                status = os.stat(place)
            except FileNotFoundError:
                status = None
            if status is None or status.st_ino != file.mark.inode or status.st_size < file.taken:
                del self._strays[place]
                again = self._renamed(place, file.mark)
                if again is None or again in listed:
                    continue
                self._strays[again] = file
                place, status = again, os.stat(again)
            with contextlib.suppress(FileNotFoundError):
                news += self._growth(file, place, status, follow)
        return news

    def _renamed(self, path: str, mark: Mark) -> str | None:
        """The other name that a file has in its directory; each directory is listed once in a look."""
        folder = os.path.dirname(path) or "."
        if folder not in self._listings:
            self._listings[folder] = names_by_inode(folder)
        others = self._listings[folder].get(mark.inode, ())
        return next((other for other in others if other != path and has(other, mark)), None)

    def _is_ours(self, path: str) -> bool:
        return Path(path).parent == self.spool

    def _growth(self, file: _File, path: str, status: os.stat_result, follow: bool) -> list[Segment]:
        """What is complete of a file, beyond what is taken."""
        start, size = file.taken, status.st_size
        if size <= start:
            return []
        by_lines = self.spec.cut_by_lines(file.name, path)
        end = size
        if follow or not self._is_over(path):
            rested, paused = (min(size, each.size(status, self.now())) for each in (self._rest, self._pause))
            if start == 0 and self._waits_for_others(file):
                file.lines = end_of_last_line(path, 0, size) if by_lines else 0
                return []
            if file.looked == (size, rested, paused):
                return []
            end = self._complete(file, path, size, rested, paused, by_lines)
            if end <= start:
                file.looked = (size, rested, paused)
                return []
        if not self._is_ours(path):
            mark = mark_of(path, end)
            if mark.inode != status.st_ino:  # replaced while we looked: the next look sees what is what
                return []
            file.mark = mark
            self._by_inode[mark.inode] = file
        if start == 0:
            file.number = next(self._numbers)
        file.taken, file.looked = end, None
        return [Segment(file.name, start, end, not by_lines, file.mark, file.number)]

    def _waits_for_others(self, file: _File) -> bool:
        """Whether a new file must wait, for a moment, because it may go on where others have stopped.

        Whoever goes on in a new file has finished the element before. It may still wait to be known as
        whole, and would be late if the new file came first.
        """
        if file.met is None:
            others = {id(each): each for each in (*self._files.values(), *self._strays.values())}
            waiting = (each for each in others.values() if each is not file and each.taken < each.lines)
            file.met, file.behind = self.now(), tuple((each, each.lines) for each in waiting)
        file.behind = tuple((other, lines) for other, lines in file.behind if other.taken < lines)
        return bool(file.behind) and self.now() - file.met < SETTLED

    def _complete(self, file: _File, path: str, size: int, rested: int, paused: int, by_lines: bool) -> int:
        """Where what is complete ends in a file that may grow."""
        start = file.taken
        form, compression = format_of(file.name, self.spec.format)
        if by_lines:
            end = end_of_last_line(path, start, size)
            return (
                self._complete_elements(file, path, end, size, rested, paused)
                if form is Format.NQUADS
                else end
            )
        if rested <= start:
            return start
        ends = ends_of(form, compression, self.spec.quote)
        if compression is not Compression.NONE:
            if file.members is None or file.members.safe != start:
                file.members = Members(compression, start, ends, self.spec.limits.document)
            return file.members.look(path, rested)
        if form is Format.PARQUET:
            return size if rested == size and is_whole_parquet(path, size) else start
        with open(path, "rb") as content:
            content.seek(start)
            text = content.read(min(rested - start, self.spec.limits.document + 1))
        end = ends(text)
        # What is longer than a document may be will be rejected: it is not waited for.
        return rested if end == 0 and len(text) > self.spec.limits.document else start + end

    def _complete_elements(
        self, file: _File, path: str, end: int, size: int, rested: int, paused: int
    ) -> int:
        """Where the last complete element of lines up to `end` ends.

        The last element is complete when another one begins or when its writer pauses: for a moment if
        it might be all, for longer if its time may come in another line, or a line is cut.
        """
        file.lines = end
        if rested == size or end <= file.taken or self._has_next_part(path):
            return end
        if file.last is None or file.last.at > end:
            file.last = LastElement(file.taken, self.spec.times(), self.spec.limits)
        last = file.last
        last.look(path, end)
        if paused == end == size and last.tells_its_time:
            return end
        # What is longer than a document may be is not waited for.
        return end if end - last.begin > self.spec.limits.document else last.begin

    def _has_next_part(self, path: str) -> bool:
        """Whether standard input goes on in another file; it is never cut within an element."""
        return self._is_ours(path) and path != max(files_below(self.spool, None))

    def _is_over(self, path: str) -> bool:
        """Whether a file has all that it will ever have, in a run that does not follow."""
        return not self._is_ours(path) or (self.spool / ENDED).exists()

    @property
    def finished(self) -> bool:
        """Whether nothing more can come if the run does not follow its files."""
        return not self.spec.from_standard_input or (self.spool / ENDED).exists()

    def _place(self, number: int) -> int:
        """Where the segment of a number is in the list."""
        if number < self.first:
            raise InputError(
                f"the checkpoint's {self.log} begins with segment {self.first},"
                f" and segment {number} is asked for",
                hint="Spark's part of the checkpoint was lost or is older than this file;"
                " begin a new checkpoint directory",
            )
        return number - self.first

    def remaining(self, position: tuple[int, int]) -> int:
        """How many bytes lie behind a position."""
        segment, byte = self._place(position[0]), position[1]
        rest = self._until[-1] - self._until[segment]
        if segment < len(self.segments):
            rest -= max(0, byte - self.segments[segment].start)
        return rest

    def trim(self, position: tuple[int, int]) -> None:
        """No batch asks again for what lies before a position: drop what is kept for that only."""
        before = self._place(position[0])
        self._trim_spool(before)
        # As many as would be written again, so that all the writing grows with what is read.
        if before >= max(self.compact_after, len(self._known)):
            self._compact(before)

    def _trim_spool(self, before: int) -> None:
        """Delete the parts of standard input that lie before a segment, but for the last one."""
        needed = {segment.path for segment in self.segments[before:]}
        for path in files_below(self.spool, None)[:-1]:
            if (
                path in self._names
                and path not in needed
                and self._files[path].taken == os.stat(path).st_size
            ):
                os.unlink(path)
                del self._files[path]

    def _compact(self, before: int) -> None:
        """Drop the first segments, but for the last one of each file that is still there."""
        dropped, kept = self.segments[:before], self.segments[before:]
        for segment in dropped:
            # Whoever reads them in this order knows each path and each inode as it was last.
            self._known.pop(segment.file, None)
            self._known[segment.file] = segment
        self._forget(kept)
        known = list(self._known.values())
        missing = {i: self._missing[each.file] for i, each in enumerate(known) if each.file in self._missing}
        self._stored.replace(Stored(self.first + before, known, missing, kept))
        self.first += before
        self.segments, self._until = [], [0]
        for segment in kept:
            self._add(segment)

    def _forget(self, kept: list[Segment]) -> None:
        """Forget files that have been gone for a while: there may be ever new ones."""
        self._listings.clear()
        now, needed = self.now(), {segment.file for segment in kept}
        for key, segment in list(self._known.items()):
            path, inode = key
            if key in needed or self._is_there(segment):
                self._missing.pop(key, None)
                continue
            since = self._missing.setdefault(key, now)
            if inode is not None and (now - since < self.forget_after or path in self.spec.paths):
                continue
            del self._known[key], self._missing[key]
            file = self._by_inode.get(inode)
            if file is not None and file.name == path:
                del self._by_inode[inode]
            if path not in self._files:
                self._names.discard(path)
                self._seen.pop(path, None)

    def _is_there(self, segment: Segment) -> bool:
        """Whether a segment's file is still under its name, or under another one in its directory."""
        path, mark = segment.path, segment.mark
        if mark is None:
            return os.path.exists(path)
        return has(path, mark) or self._renamed(path, mark) is not None

    def ranges(self, start: tuple[int, int], end: tuple[int, int]) -> Iterator[Range]:
        """The ranges of bytes between two positions."""
        segment, byte = self._place(start[0]), start[1]
        last = self._place(end[0]), end[1]
        while (segment, byte) < last and segment < len(self.segments):
            whole = self.segments[segment]
            stop = whole.end if segment < last[0] else last[1]
            byte = max(byte, whole.start)
            if stop > byte:
                yield Range(whole, byte, stop)
            segment, byte = segment + 1, 0

    def advance(self, start: tuple[int, int], budget: int) -> tuple[int, int]:
        """The position some `budget` bytes further; what is read in one piece is not cut."""
        segment, byte = self._place(start[0]), start[1]
        while segment < len(self.segments) and budget > 0:
            whole = self.segments[segment]
            byte = max(byte, whole.start)
            take = whole.end - byte if whole.whole else min(budget, whole.end - byte)
            budget -= take
            byte += take
            if byte >= whole.end:
                segment, byte = segment + 1, 0
        return self.first + segment, byte


ENDED = ".ended"
"""The name of the mark in a spool directory that says that standard input has ended."""


def files_below(directory: Path, stated_format: str | None) -> list[str]:
    """The data files under a directory by name; hidden ones and ones of other kinds left out."""
    return [path for path in _visible_below(directory) if stated_format or is_stream_file(path)]


def unread_files(directory: Path, stated_format: str | None) -> list[str]:
    """The files under a directory that are left out though they are not hidden."""
    return [path for path in _visible_below(directory) if not (stated_format or is_stream_file(path))]


def listed(paths: list[str], most: int = 3) -> str:
    """Some names for a message."""
    names = ", ".join(os.path.basename(path) for path in paths[:most])
    return names + (f" and {len(paths) - most} more" if len(paths) > most else "")


def _visible_below(directory: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [os.path.join(folder, name) for name in names if name[0] not in "._"]
    return sorted(found)

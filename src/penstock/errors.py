"""What went wrong, where, and what to do about it.

Every error that a user can cause is a `PenstockError`: it says what is wrong in one
sentence, where it stands (line, column and a caret under the text), and, if we know,
what to do. `InputError` is the input's fault (exit code 1), `UsageError` is the
call's fault (exit code 2), `StorageError` is a disk's or a directory's (exit code 74).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass


def shortened(text: str, longest: int = 80) -> str:
    """A value as messages show it: cut in the middle if it is long."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


_WIDEST = 160
"""Characters of a line that are shown with an error."""


@dataclass(frozen=True)
class Span:
    """A place in a query text: 1-based line and column, and how many characters it covers."""

    line: int
    column: int
    length: int = 1


class PenstockError(Exception):
    """The base of everything Penstock raises on purpose."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        span: Span | None = None,
        text: str | None = None,
        origin: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.span = span
        self.text = text  # the whole query text, so that the line can be shown
        self.origin = origin  # the file it came from

    def located(self, text: str, origin: str | None = None) -> PenstockError:
        """The same error, now knowing the text and file that it speaks of."""
        self.text = self.text if self.text is not None else text
        self.origin = self.origin or origin
        return self

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The message as a person reads it: place, sentence, line with caret, hint."""
        place = self.origin or ""
        if self.span is not None:
            place = f"{place or 'query'}:{self.span.line}:{self.span.column}"
        lines = [f"{place}: {self.message}" if place else self.message]
        if self.span is not None and self.text is not None:
            source = self.text.splitlines()
            if 0 < self.span.line <= len(source):
                lines += _with_caret(source[self.span.line - 1].replace("\t", " "), self.span)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def _with_caret(line: str, span: Span) -> list[str]:
    """A line and its caret; of a long line the part around it."""
    before = span.column - 1
    width = max(1, min(span.length, len(line) - before, _WIDEST - 2))
    if len(line) > _WIDEST:
        first = max(0, min(before - (_WIDEST - width) // 2, len(line) - _WIDEST))
        cut_before, cut_after = first > 0, first + _WIDEST < len(line)
        line = line[first : first + _WIDEST]
        line = (
            f"{'…' if cut_before else ''}{line[cut_before : _WIDEST - cut_after]}{'…' if cut_after else ''}"
        )
        before -= first
    return [f"  | {line}", f"  | {' ' * before}{'^' * width}"]


class InputError(PenstockError):
    """A query, stream, graph or checkpoint is at fault."""


class QueryError(InputError):
    """A query that cannot be parsed, or that means nothing the engine can evaluate."""


class LimitError(InputError):
    """Queries remember or answer more than the run allows (`--max-state`, `--max-answers`)."""


class UsageError(PenstockError):
    """The call is at fault: a wrong option, a file that does not exist."""

    exit_code = 2


class StorageError(PenstockError):
    """A disk or a directory does not take what it must keep: it is full, gone, or not ours to write."""

    exit_code = 74  # EX_IOERR of sysexits.h


class InternalError(PenstockError):
    """Neither the input's nor the caller's fault: ours, or Spark's."""

    exit_code = 70  # EX_SOFTWARE of sysexits.h


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file or directory; where we may not even look is an error."""
    try:
        os.stat(path)
    except PermissionError:
        raise may_not_read(path) from None
    except (OSError, ValueError):  # a name that no file can have
        return False
    return True


def may_not_read(path: str | os.PathLike[str]) -> UsageError:
    return UsageError(f"cannot read {path}: permission denied", hint="ask its owner, or look at `ls -l`")


_WHAT_TO_DO = {
    errno.ENOSPC: "make room on that disk, or name a place on another one",
    errno.EDQUOT: "make room within your quota, or name a place on another disk",
    errno.EACCES: "name a place that you may write to, or ask its owner (`ls -ld` shows whose it is)",
    errno.EPERM: "name a place that you may write to, or ask its owner (`ls -ld` shows whose it is)",
    errno.EROFS: "name a place on a disk that can be written",
    errno.ENOTDIR: "a part of the path is a file and not a directory: name another place",
    errno.EEXIST: "a part of the path is a file and not a directory: name another place",
    errno.EISDIR: "it is a directory: name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def storage_error(problem: OSError, what: str | os.PathLike[str]) -> StorageError:
    """A system's error while something is written, in our words; `what` could not be written."""
    reason = problem.strerror or str(problem) or type(problem).__name__
    written = problem.filename if problem.filename is not None else what
    needed = "" if str(written) == str(what) else f" (needed for {what})"
    return StorageError(
        f"cannot write {written}: {reason}{needed}",
        hint=_WHAT_TO_DO.get(problem.errno or 0, "look at the place, or name another one"),
    )


@contextlib.contextmanager
def storing(what: str | os.PathLike[str]) -> Iterator[None]:
    """What the system says while `what` is written becomes a StorageError."""
    try:
        yield
    except (BrokenPipeError, ConnectionError):
        raise  # a reader that has seen enough is no fault of a disk
    except OSError as problem:
        raise storage_error(problem, what) from problem


class PenstockWarning(UserWarning):
    """A finding about a query, as Python's warnings tell it when a run begins."""


@dataclass(frozen=True)
class Finding:
    """Something that runs, but probably not as its author meant it (`penstock check`)."""

    code: str  # unbounded-state, cartesian-sequence, never-bound, unread-stream
    message: str
    hint: str | None = None
    span: Span | None = None

    def located(self, text: str | None, origin: str | None) -> str:
        """The finding as a person reads it, with its place in the query."""
        return PenstockError(
            f"{self.message} ({self.code})", hint=self.hint, span=self.span, text=text, origin=origin
        ).render()

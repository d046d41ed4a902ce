"""Carries a PenstockError from a worker to the driver, through Spark's own exceptions.

Spark knows a worker's exception only by its text, wrapped in traces of two languages. The
worker therefore writes the error into its message in a form that the driver can find again.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import re
import tempfile
import traceback
from collections.abc import Iterator

from penstock import errors
from penstock.errors import InternalError, PenstockError, StorageError, storage_error

_MARK = re.compile(r"penstock-error:([A-Za-z0-9+/=]+):")
_RAISED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception|Failure|Interrupt)\b.*)$", re.M)


class WorkerFailure(RuntimeError):
    """A PenstockError on its way out of a worker."""


@contextlib.contextmanager
def carried() -> Iterator[None]:
    """Wrap what runs in a worker: a PenstockError leaves it in a form that survives the way."""
    try:
        yield
    except (PenstockError, OSError) as raised:
        problem = raised
        if isinstance(raised, OSError):
            if raised.filename is None:
                raise  # not about a file
            problem = errors.InputError(f"cannot read {raised.filename}: {raised.strerror}")
        fields = {
            "type": type(problem).__name__,
            "message": problem.message,
            "hint": problem.hint,
            "origin": problem.origin,
        }
        coded = base64.b64encode(json.dumps(fields).encode()).decode()
        raise WorkerFailure(f"{problem.message} penstock-error:{coded}:") from raised


@contextlib.contextmanager
def errors_located(doing: str) -> Iterator[None]:
    """Within, an exception that nobody has foreseen says what it ended, and what can be done."""
    try:
        yield
    except (PenstockError, OSError):
        raise
    except Exception as problem:
        where = "".join(f", {note}" for note in getattr(problem, "__notes__", ()))
        fault = InternalError(
            f"a fault in Penstock while {doing}{where}: {type(problem).__name__}: {problem}",
            hint=WANT_OF_MEMORY if isinstance(problem, MemoryError) else REPEATED,
        )
        fault.add_note("".join(traceback.format_exception(problem)))  # the way to other processes
        raise fault from problem


REPEATED = (
    "please report it with what --debug shows. A restart from the same checkpoint repeats this batch and"
    " fails again: until it is mended, leave out the query or the input that it fails at, with a new"
    " checkpoint directory"
)
WANT_OF_MEMORY = (
    "give the run more memory, or more shards on more machines; bound what queries remember"
    " (`penstock check` names what they remember for ever)"
)


def recovered(text: str) -> PenstockError | None:
    """The PenstockError that a text of Spark's tells of, or None."""
    match = _MARK.search(text)
    if match is None:
        return None
    fields = json.loads(base64.b64decode(match[1]))
    kind = getattr(errors, fields["type"], errors.InputError)
    return kind(fields["message"], hint=fields["hint"], origin=fields["origin"])


_NOT_WRITTEN = {
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
    "Permission denied": errno.EACCES,
}


def storage_failure(text: str) -> StorageError | None:
    """A disk that fails inside Java, where state, offsets and exchanged rows are written."""
    for words, number in _NOT_WRITTEN.items():
        if words in text:
            where = f"the checkpoint or Spark's files in {tempfile.gettempdir()}"
            return storage_error(OSError(number, words), where)
    return None


def reason_of(text: str) -> str:
    """The last line of a Python or Java trace that says what happened, for other failures."""
    python = _RAISED.findall(text)
    if python:
        return python[-1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "unknown failure"

"""What went wrong, where, and what to do about it.

Every error that a user can cause is a `PenstockError`: it says what is wrong in one
sentence, where it stands (line, column and a caret under the text), and, if we know,
what to do. `InputError` is the input's fault (exit code 1), `UsageError` is the
call's fault (exit code 2).
"""

from __future__ import annotations

from dataclasses import dataclass


def shortened(text: str, longest: int = 80) -> str:
    """A value as messages show it: cut in the middle if it is long."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


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
                shown = source[self.span.line - 1].replace("\t", " ")
                width = max(1, min(self.span.length, len(shown) - self.span.column + 1))
                lines.append(f"  | {shown}")
                lines.append(f"  | {' ' * (self.span.column - 1)}{'^' * width}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class InputError(PenstockError):
    """A query, stream, graph or checkpoint is at fault."""


class QueryError(InputError):
    """A query that cannot be parsed, or that means nothing the engine can evaluate."""


class UsageError(PenstockError):
    """The call is at fault: a wrong option, a file that does not exist."""

    exit_code = 2


@dataclass(frozen=True)
class Finding:
    """Something that runs, but probably not as its author meant it (`penstock check`)."""

    code: str  # unbounded-state, cartesian-sequence, never-bound, unread-stream
    message: str
    hint: str | None = None
    span: Span | None = None

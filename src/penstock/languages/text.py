"""The text of a query, with codepoint escapes resolved and every place still findable.

SPARQL replaces `\\u0041` and `\\U00000041` anywhere in a query before it is parsed (section
19.2). Parsers see the decoded text; errors speak of the text as it was written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from lark import Token, Tree

from penstock.errors import QueryError, Span

# An escaped backslash is matched first, so that the `u` after it starts no escape.
_ESCAPE = re.compile(r"\\\\|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


_WORD = re.compile(r"\w*")


class QueryText:
    """A query text as written (`written`) and as the grammar reads it (`text`)."""

    def __init__(self, written: str, origin: str | None = None) -> None:
        self.written = written
        self.origin = origin
        self._marks: list[tuple[int, int]] = [(0, 0)]  # (place in text, place in written)
        self.text = self._decode() if "\\u" in written or "\\U" in written else written
        if self.text.startswith("\ufeff"):  # a byte order mark is no part of the query
            self.text = " " + self.text[1:]

    def _decode(self) -> str:
        parts: list[str] = []
        done = length = 0
        for match in _ESCAPE.finditer(self.written):
            digits = match[1] or match[2]
            if digits is None:
                continue
            code = int(digits, 16)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise self.error(
                    f"{match[0]} is not a Unicode character",
                    self.written_span(match.start(), match.end()),
                    "surrogates are written as one \\U escape of the character they stand for"
                    if code <= 0xDFFF
                    else "the last character is \\U0010FFFF",
                )
            parts += [self.written[done : match.start()], chr(code)]
            length += match.start() - done + 1
            done = match.end()
            self._marks.append((length, done))
        return "".join(parts) + self.written[done:]

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.written.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def _place(self, position: int) -> int:
        """Where a position of the decoded text stands in the written one."""
        index = bisect_right(self._marks, (position, len(self.written))) - 1
        in_text, in_written = self._marks[index]
        return in_written + position - in_text

    def written_span(self, start: int, end: int) -> Span:
        """The span of a stretch of the text as written."""
        starts = self._line_starts
        last = max(0, len(starts) - 2)  # the place after a final line break is on no new line
        line = min(bisect_right(starts, start) - 1, last)
        line_end = starts[line + 1] if line + 1 < len(starts) else start
        return Span(line + 1, start - starts[line] + 1, max(1, min(end, line_end) - start))

    def span(self, start: int, end: int) -> Span:
        """The span of a stretch of the decoded text, in the text as written."""
        return self.written_span(self._place(start), self._place(end))

    def span_of(self, node: Tree | Token) -> Span:
        """The span of a token, or from the first to the last token of a tree."""
        tokens = [node] if isinstance(node, Token) else list(tokens_of(node))
        if not tokens:
            return Span(1, 1)
        return self.span(tokens[0].start_pos, tokens[-1].end_pos)

    def extent_of(self, tree: Tree) -> tuple[int, int]:
        """The stretch of the text as written that a tree is."""
        return self._place(tree.meta.start_pos), self._place(tree.meta.end_pos)

    def keyword_of(self, tree: Tree) -> Span:
        """The span of the word with which a tree begins."""
        start = tree.meta.start_pos
        return self.span(start, _WORD.match(self.text, start).end())

    def error(self, message: str, where: Span | Tree | Token | None, hint: str | None = None) -> QueryError:
        """A QueryError at a place of this text."""
        span = where if isinstance(where, Span) or where is None else self.span_of(where)
        return QueryError(message, hint=hint, span=span, text=self.written, origin=self.origin)


def tokens_of(tree: Tree) -> Iterator[Token]:
    """All tokens of a tree, in the order of the text."""
    waiting = list(reversed(tree.children))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tree):
            waiting += reversed(node.children)
        else:
            yield node

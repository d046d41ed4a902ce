"""XPath regular expressions in RE2 (SPARQL 1.1: REGEX and REPLACE; XPath F&O 3.1, section 5.6).

Patterns may come from data, so they run on an engine whose time is linear in the text. An XPath
pattern is rewritten: classes become plain ranges (`characters`), `$`, `.` and the flags what RE2
has for them. What XPath does not have is an error; word boundaries (\\b, \\B) are taken over, since
queries in the wild use them (RE2 sees words of ASCII letters). Back-references are the one thing
of XPath that no linear engine can do: they meet a limit, as do patterns and texts that are too large.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import re2

from penstock.functions import characters
from penstock.functions.errors import ExpressionError, ExpressionLimit

_SINGLE_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", **{c: c for c in "\\|.?*+(){}-[]^$"}}
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]+)(?:,([0-9]*))?\}")
_PROPERTY = re.compile(r"\{(Is[A-Za-z0-9-]+|[A-Z][a-z]?)\}")
_SPECIAL = frozenset("\\|.?*+(){}[]^$")


class RegexLimits(NamedTuple):
    """What a pattern and its use may cost; see docs/decisions/0007-functions.md."""

    pattern: int = 10_000  # characters of a pattern
    repeats: int = 1_000  # the largest number in {n,m}; nested ones multiply
    memory: int = 2 << 20  # bytes that RE2 may use for a compiled pattern
    search: int = 10**9  # program size × bytes of the text: some ten seconds at worst
    replace: int = 10**10  # the same, over all searches of one REPLACE
    result: int = 16 << 20  # bytes that REPLACE may make


LIMITS = RegexLimits()


class Expression(NamedTuple):
    """A compiled pattern; `size` is how many steps a byte of the text may cost."""

    program: re2._Regexp
    groups: int
    size: int


@lru_cache(maxsize=128)
def compiled(pattern: str, flags: str = "", limits: RegexLimits = LIMITS) -> Expression:
    """RE2's program for an XPath pattern and its flags (i, m, q, s, x)."""
    if not set(flags) <= set("imqsx"):
        raise ExpressionError(f"{flags!r} are not flags of a regular expression")
    if len(pattern) > limits.pattern:
        raise ExpressionLimit(f"a regular expression has more than {limits.pattern:,} characters")
    text = "".join(map(_plain, pattern)) if "q" in flags else _Translation(pattern, flags, limits).text()
    options = re2.Options()
    options.log_errors = False
    options.max_mem = limits.memory
    options.case_sensitive = "i" not in flags
    try:
        program = re2.compile(text, options)
    except re2.error as problem:
        if any(word in str(problem) for word in ("too large", "repetition size", "nesting depth")):
            raise ExpressionLimit("a regular expression is too large") from None
        raise ExpressionError(f"{pattern!r} is not a regular expression") from None
    return Expression(program, program.groups, program.programsize)


def matches(text: str, pattern: str, flags: str = "", limits: RegexLimits = LIMITS) -> bool:
    """fn:matches: whether the pattern is found anywhere in the text."""
    expression = compiled(pattern, flags, limits)
    encoded = text.encode()
    if len(encoded) * expression.size > limits.search:
        raise ExpressionLimit("a text is too long for its regular expression")
    return expression.program.search(encoded) is not None


def replace(text: str, pattern: str, replacement: str, flags: str = "", limits: RegexLimits = LIMITS) -> str:
    """fn:replace: every match becomes the replacement, in which $1 … are the groups."""
    expression = compiled(pattern, flags, limits)
    if expression.program.search(b"") is not None:
        raise ExpressionError(f"{pattern!r} matches the empty string")
    pieces = [replacement] if "q" in flags else _pieces(replacement, expression.groups)
    parts = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    encoded = text.encode()
    if len(encoded) * expression.size > limits.search:
        raise ExpressionLimit("a text is too long for its regular expression")
    out: list[bytes] = []
    done = work = 0
    room = limits.result - len(encoded)
    for match in expression.program.finditer(encoded):
        # each search may have to look at all the rest of the text
        work += (len(encoded) - done) * expression.size
        if work > limits.replace:
            raise ExpressionLimit("a text has too many matches of its regular expression")
        out.append(encoded[done : match.start()])
        out.append(b"".join(part if isinstance(part, bytes) else (match[part] or b"") for part in parts))
        room -= len(out[-1])
        if room < 0:
            raise ExpressionLimit(f"REPLACE makes a text of more than {limits.result:,} bytes")
        done = match.end()
    out.append(encoded[done:])
    return b"".join(out).decode()


def _pieces(replacement: str, groups: int) -> list[str | int]:
    """The replacement as literal text and group numbers; a group that is not there is empty."""
    pieces: list[str | int] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\":
            if replacement[at + 1 : at + 2] not in ("\\", "$"):
                raise ExpressionError(f"{replacement!r} has a stray \\")
            pieces.append(replacement[at + 1])
            at += 2
        elif char == "$":
            digits = re.compile(r"[0-9]+").match(replacement, at + 1)
            if digits is None:
                raise ExpressionError(f"{replacement!r} has a stray $")
            # $12 is group 1 and the digit 2 where there are fewer than twelve groups
            taken = digits[0][: len(str(groups))]
            while len(taken) > 1 and int(taken) > groups:
                taken = taken[:-1]
            pieces.append(int(taken) if int(taken) <= groups else "")
            at += 1 + len(taken)
        else:
            plain = re.compile(r"[^\\$]+").match(replacement, at)[0]
            pieces.append(plain)
            at += len(plain)
    return pieces


def _without_space(pattern: str) -> str:
    """The pattern under the flag x: white space counts in character classes only."""
    out, depth, escaped = [], 0, False
    for char in pattern:
        if depth or char not in " \t\n\r":
            out.append(char)
            if not escaped:
                depth += (char == "[") - (char == "]" and depth > 0)
            escaped = char == "\\" and not escaped
    return "".join(out)


def _plain(char: str) -> str:
    """A character that stands for itself."""
    return f"\\{char}" if char in _SPECIAL else char


class _Translation:
    """One pass over an XPath pattern that writes RE2's."""

    def __init__(self, pattern: str, flags: str, limits: RegexLimits) -> None:
        self.pattern = _without_space(pattern) if "x" in flags else pattern
        self.limits = limits
        self.at = 0
        self.any_case = "i" in flags
        self.dot_all = "s" in flags
        self.multiline = "m" in flags

    def text(self) -> str:
        out: list[str] = []
        size = 0
        repeatable = False
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            quantifier = _QUANTIFIER.match(self.pattern, self.at)
            if quantifier:
                if not repeatable:
                    raise self.error()
                out.append(self.quantifier(quantifier))
                repeatable = False
                continue
            self.at += 1
            repeatable = char not in "(|"
            out.append(self.atom(char))
            size += len(out[-1])
            if size > self.limits.memory:
                raise ExpressionLimit("a regular expression is too large")
        return "".join(out)

    def quantifier(self, found: re.Match[str]) -> str:
        self.at = found.end()
        numbers = [number for number in found.groups() if number]
        if any(len(number.lstrip("0")) > 9 or int(number) > self.limits.repeats for number in numbers):
            raise ExpressionLimit(
                f"a regular expression repeats a part more than {self.limits.repeats:,} times"
            )
        if len(numbers) == 2 and int(numbers[0]) > int(numbers[1]):
            raise self.error()
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
            return found[0] + "?"
        return found[0]

    def atom(self, char: str) -> str:
        if char == "\\":
            return self.escape()
        if char == "[":
            return self.written(self.character_class())
        if char == "(":
            if self.pattern[self.at : self.at + 1] != "?":
                return "("
            if self.pattern[self.at : self.at + 2] != "?:":
                raise self.error()
            self.at += 2
            return "(?:"
        if char == ".":
            return "(?s:.)" if self.dot_all else "[^\\n\\r]"
        if char == "^":
            return "(?m:^)" if self.multiline else "\\A"
        if char == "$":
            return "(?m:$)" if self.multiline else "\\z"
        if char in "{}]":
            raise self.error()
        return char if char in "|)" else _plain(char)

    def error(self) -> ExpressionError:
        return ExpressionError(f"{self.pattern!r} is not a regular expression")

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise self.error()
        self.at += 1
        return self.pattern[self.at - 1]

    def escape(self) -> str:
        char = self.next()
        if char in "bB":
            return f"\\{char}"
        if char in "123456789":
            raise ExpressionLimit("a regular expression refers back to a group, which takes unlimited time")
        ranges = self.class_escape(char)
        if ranges is not None:
            return self.written(ranges)
        if char in _SINGLE_ESCAPES:
            return _plain(_SINGLE_ESCAPES[char])
        raise self.error()

    def class_escape(self, char: str) -> characters.Ranges | None:
        """The characters of \\d \\s \\w \\i \\c \\p and their complements."""
        if char in "dDsSwWiIcC":
            return characters.escaped(char)
        if char not in "pP":
            return None
        match = _PROPERTY.match(self.pattern, self.at)
        if match is None:
            raise self.error()
        self.at = match.end()
        ranges = characters.named(match[1])
        return ranges if char == "p" else characters.complement(ranges)

    def character_class(self) -> characters.Ranges:
        """The characters of `[…]`; those of `[a-z-[aeiou]]` without the subtracted ones."""
        negated = self.pattern[self.at : self.at + 1] == "^"
        self.at += negated
        listed: list[tuple[int, int]] = []  # what flag i adds case variants to
        escapes: list[characters.Ranges] = []
        subtracted: characters.Ranges = ()
        while True:
            char = self.next()
            if char == "]":
                break
            if char == "-" and self.pattern[self.at : self.at + 1] == "[" and (listed or escapes):
                self.at += 1
                subtracted = self.character_class()
                if self.next() != "]":
                    raise self.error()
                break
            first = self.class_character(char, escapes)
            if first is None:
                continue
            last = first
            if self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] not in (
                "]", "[", "",
            ):  # fmt: skip
                self.at += 1
                end = self.class_character(self.next(), [])
                if end is None or end < first:
                    raise self.error()
                last = end
            listed.append((first, last))
        if not listed and not escapes:
            raise self.error()
        found = characters.united(tuple(listed))
        if self.any_case:
            found = characters.with_case_variants(found)
        found = characters.united(found, *escapes)
        if negated:
            found = characters.complement(found)
        return characters.without(found, subtracted) if subtracted else found

    def class_character(self, char: str, escapes: list[characters.Ranges]) -> int | None:
        """One character inside brackets; None if it was a class of its own, which `escapes` gets."""
        if char == "[":
            raise self.error()
        if char != "\\":
            return ord(char)
        char = self.next()
        ranges = self.class_escape(char)
        if ranges is not None:
            escapes.append(ranges)
            return None
        if char not in _SINGLE_ESCAPES:
            raise self.error()
        return ord(_SINGLE_ESCAPES[char])

    def written(self, ranges: characters.Ranges) -> str:
        """A set as RE2 reads it; flag i has been applied to it already."""
        if not ranges:
            return "[^\\x{0}-\\x{10FFFF}]"
        inside = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)
        return f"(?-i:[{inside}])" if self.any_case else f"[{inside}]"

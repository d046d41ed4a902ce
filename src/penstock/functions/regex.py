"""XPath regular expressions in Python's `re` (SPARQL 1.1: REGEX and REPLACE).

The two dialects share most of their syntax. What differs is rewritten: `$` and `.`, the
escapes \\i \\c \\s \\p{…}, subtraction of character classes and the flags x and q. What XPath
does not have (look-around, named groups, back-doors of `re`) is an error; word boundaries
(\\b, \\B) are taken over from Python, since queries in the wild use them.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

from penstock.functions.errors import ExpressionError

Ranges = list[tuple[int, int]]

# XML's characters for the start and the rest of a name: \i and \c
_NAME_START: Ranges = [
    (0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6),
    (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F),
    (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF),
]  # fmt: skip
_NAME: Ranges = sorted(
    [*_NAME_START, (0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)]
)
_SPACE: Ranges = [(0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)]
_SINGLE_ESCAPES = {c: "\\" + c for c in "nrt\\|.?*+(){}-[]^$"}
_QUANTIFIER = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_PROPERTY = re.compile(r"\{(Is[A-Za-z0-9-]+|[A-Z][a-z]?)\}")


@lru_cache(maxsize=1024)
def compiled(pattern: str, flags: str = "") -> re.Pattern[str]:
    """The Python pattern for an XPath pattern and its flags (i, m, q, s, x)."""
    if not set(flags) <= set("imqsx"):
        raise ExpressionError(f"{flags!r} are not flags of a regular expression")
    options = re.IGNORECASE if "i" in flags else 0
    if "q" in flags:
        text = re.escape(pattern)
    else:
        if "m" in flags:
            options |= re.MULTILINE
        text = _Translation(pattern, flags).text()
    try:
        return re.compile(text, options)
    except (re.error, OverflowError, RecursionError):
        raise ExpressionError(f"{pattern!r} is not a regular expression") from None


def matches(text: str, pattern: str, flags: str = "") -> bool:
    return compiled(pattern, flags).search(text) is not None


def replace(text: str, pattern: str, replacement: str, flags: str = "") -> str:
    """fn:replace: every match becomes the replacement, in which $1 … are the groups."""
    expression = compiled(pattern, flags)
    if expression.search("") is not None:
        raise ExpressionError(f"{pattern!r} matches the empty string")
    if "q" in flags:
        return expression.sub(lambda _: replacement, text)
    pieces = _pieces(replacement, expression.groups)
    return expression.sub(
        lambda match: "".join(piece if isinstance(piece, str) else (match[piece] or "") for piece in pieces),
        text,
    )


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
            digits = re.match(r"[0-9]+", replacement[at + 1 :])
            if digits is None:
                raise ExpressionError(f"{replacement!r} has a stray $")
            taken = digits[0]
            # $12 is group 1 and the digit 2 where there are fewer than twelve groups
            while len(taken) > 1 and int(taken) > groups:
                taken = taken[:-1]
            pieces.append(int(taken) if int(taken) <= groups else "")
            at += 1 + len(taken)
        else:
            pieces.append(char)
            at += 1
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


class _Translation:
    """One pass over an XPath pattern that writes the Python one."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern = _without_space(pattern) if "x" in flags else pattern
        self.at = 0
        self.dot_all = "s" in flags
        self.multiline = "m" in flags

    def text(self) -> str:
        out: list[str] = []
        repeatable = False
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            quantifier = _QUANTIFIER.match(self.pattern, self.at)
            if quantifier:
                if not repeatable:
                    raise self.error()
                out.append(quantifier[0])
                self.at = quantifier.end()
                if self.pattern[self.at : self.at + 1] == "?":
                    out.append("?")
                    self.at += 1
                repeatable = False
                continue
            self.at += 1
            repeatable = char not in "(|^"
            if char == "\\":
                out.append(self.escape())
            elif char == "[":
                out.append(self.character_class())
            elif char == "(":
                if self.pattern[self.at : self.at + 1] == "?":
                    if self.pattern[self.at : self.at + 2] != "?:":
                        raise self.error()
                    self.at += 2
                    out.append("(?:")
                else:
                    out.append("(")
            elif char == ".":
                out.append("(?s:.)" if self.dot_all else "[^\\n\\r]")
            elif char == "$":
                out.append("$" if self.multiline else "\\Z")
            elif char in "{}]":
                raise self.error()
            elif char in "^|)":
                out.append(char)
            else:
                out.append(re.escape(char))
        return "".join(out)

    def error(self) -> ExpressionError:
        return ExpressionError(f"{self.pattern!r} is not a regular expression")

    def escape(self) -> str:
        char = self.next()
        if char in "bB" or char in "123456789":
            return f"\\{char}" if char in "bB" else f"(?:\\{self.back_reference(char)})"
        inside = self.class_escape(char)
        if inside is not None:
            return f"[{inside}]"
        if char in _SINGLE_ESCAPES:
            return _SINGLE_ESCAPES[char]
        raise self.error()

    def back_reference(self, first: str) -> str:
        groups = len(re.findall(r"(?<!\\)\((?!\?)", self.pattern[: self.at]))
        number = first
        while self.pattern[self.at : self.at + 1].isdigit():
            if int(number + self.pattern[self.at]) > groups:
                break
            number += self.next()
        return number

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise self.error()
        self.at += 1
        return self.pattern[self.at - 1]

    def class_escape(self, char: str) -> str | None:
        """The inside of a bracket for \\d \\s \\w \\i \\c \\p and their complements."""
        if char in "dDwW":
            return f"\\{char}"
        if char in "sS":
            ranges = _SPACE
        elif char in "iI":
            ranges = _NAME_START
        elif char in "cC":
            ranges = _NAME
        elif char in "pP":
            match = _PROPERTY.match(self.pattern, self.at)
            if match is None:
                raise self.error()
            self.at = match.end()
            ranges = _property(match[1])
        else:
            return None
        ranges = ranges if char.islower() else _complement(ranges)
        return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)

    def character_class(self) -> str:
        """`[…]`, with subtraction `[a-z-[aeiou]]` as a look-ahead."""
        negated = self.pattern[self.at : self.at + 1] == "^"
        self.at += negated
        out: list[str] = []
        subtracted = ""
        while True:
            char = self.next()
            if char == "]":
                break
            if char == "-" and self.pattern[self.at : self.at + 1] == "[":
                self.at += 1
                subtracted = self.character_class()
                if self.next() != "]":
                    raise self.error()
                break
            if char == "\\":
                char = self.next()
                inside = self.class_escape(char)
                if inside is None and char not in _SINGLE_ESCAPES:
                    raise self.error()
                out.append(inside if inside is not None else _SINGLE_ESCAPES[char])
            elif char == "[":
                raise self.error()
            elif char == "-":
                # a hyphen is a range only between two characters
                edge = not out or self.pattern[self.at : self.at + 1] in ("]", "-", "")
                out.append("\\-" if edge else "-")
            else:
                out.append(re.escape(char))
        if not out:
            raise self.error()
        written = f"[{'^' if negated else ''}{''.join(out)}]"
        return f"(?:(?!{subtracted}){written})" if subtracted else written


# --- Unicode categories and blocks -------------------------------------------------------

# The blocks that patterns name in practice; XSD has them all, Python's library none.
_BLOCKS = {
    "BasicLatin": (0x00, 0x7F),
    "Latin-1Supplement": (0x80, 0xFF),
    "LatinExtended-A": (0x100, 0x17F),
    "LatinExtended-B": (0x180, 0x24F),
    "IPAExtensions": (0x250, 0x2AF),
    "SpacingModifierLetters": (0x2B0, 0x2FF),
    "CombiningDiacriticalMarks": (0x300, 0x36F),
    "Greek": (0x370, 0x3FF),
    "GreekandCoptic": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x4FF),
    "Armenian": (0x530, 0x58F),
    "Hebrew": (0x590, 0x5FF),
    "Arabic": (0x600, 0x6FF),
    "Syriac": (0x700, 0x74F),
    "Thaana": (0x780, 0x7BF),
    "Devanagari": (0x900, 0x97F),
    "Bengali": (0x980, 0x9FF),
    "Gurmukhi": (0xA00, 0xA7F),
    "Gujarati": (0xA80, 0xAFF),
    "Oriya": (0xB00, 0xB7F),
    "Tamil": (0xB80, 0xBFF),
    "Telugu": (0xC00, 0xC7F),
    "Kannada": (0xC80, 0xCFF),
    "Malayalam": (0xD00, 0xD7F),
    "Sinhala": (0xD80, 0xDFF),
    "Thai": (0xE00, 0xE7F),
    "Lao": (0xE80, 0xEFF),
    "Tibetan": (0xF00, 0xFFF),
    "Myanmar": (0x1000, 0x109F),
    "Georgian": (0x10A0, 0x10FF),
    "HangulJamo": (0x1100, 0x11FF),
    "Ethiopic": (0x1200, 0x137F),
    "Cherokee": (0x13A0, 0x13FF),
    "Khmer": (0x1780, 0x17FF),
    "Mongolian": (0x1800, 0x18AF),
    "LatinExtendedAdditional": (0x1E00, 0x1EFF),
    "GreekExtended": (0x1F00, 0x1FFF),
    "GeneralPunctuation": (0x2000, 0x206F),
    "SuperscriptsandSubscripts": (0x2070, 0x209F),
    "CurrencySymbols": (0x20A0, 0x20CF),
    "LetterlikeSymbols": (0x2100, 0x214F),
    "NumberForms": (0x2150, 0x218F),
    "Arrows": (0x2190, 0x21FF),
    "MathematicalOperators": (0x2200, 0x22FF),
    "MiscellaneousTechnical": (0x2300, 0x23FF),
    "BoxDrawing": (0x2500, 0x257F),
    "BlockElements": (0x2580, 0x259F),
    "GeometricShapes": (0x25A0, 0x25FF),
    "MiscellaneousSymbols": (0x2600, 0x26FF),
    "Dingbats": (0x2700, 0x27BF),
    "CJKSymbolsandPunctuation": (0x3000, 0x303F),
    "Hiragana": (0x3040, 0x309F),
    "Katakana": (0x30A0, 0x30FF),
    "Bopomofo": (0x3100, 0x312F),
    "CJKUnifiedIdeographs": (0x4E00, 0x9FFF),
    "HangulSyllables": (0xAC00, 0xD7A3),
    "PrivateUse": (0xE000, 0xF8FF),
    "HalfwidthandFullwidthForms": (0xFF00, 0xFFEF),
}


@lru_cache(maxsize=None)
def _category_ranges() -> dict[str, Ranges]:
    """The code points of each general category, as ranges."""
    ranges: dict[str, Ranges] = {}
    start, current = 0, unicodedata.category("\0")
    for point in range(1, sys.maxunicode + 2):
        category = unicodedata.category(chr(point)) if point <= sys.maxunicode else ""
        if category != current:
            ranges.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    return ranges


def _property(name: str) -> Ranges:
    """The code points of a category (L, Lu, …) or a block (IsGreek, …)."""
    if name.startswith("Is"):
        if name[2:] not in _BLOCKS:
            raise ExpressionError(f"{name} is not a Unicode block we know")
        return [_BLOCKS[name[2:]]]
    ranges = sorted(
        pair for category, pairs in _category_ranges().items() if category.startswith(name) for pair in pairs
    )
    if not ranges:
        raise ExpressionError(f"{name} is not a Unicode category")
    return ranges


def _complement(ranges: Ranges) -> Ranges:
    """All code points that are not in these (sorted) ranges."""
    out, start = [], 0
    for first, last in ranges:
        if first > start:
            out.append((start, first - 1))
        start = last + 1
    if start <= sys.maxunicode:
        out.append((start, sys.maxunicode))
    return out

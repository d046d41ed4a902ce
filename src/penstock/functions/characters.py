"""Sets of characters, as XPath's regular expressions name and combine them.

A set is a sorted list of ranges of code points that neither overlap nor touch.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache

from penstock.functions.errors import ExpressionError

Ranges = tuple[tuple[int, int], ...]


def united(*sets: Ranges) -> Ranges:
    """What is in one of the sets; they need not be sorted."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(pair for ranges in sets for pair in ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)


def complement(ranges: Ranges) -> Ranges:
    """All characters that are not in the set."""
    out, start = [], 0
    for first, last in ranges:
        if first > start:
            out.append((start, first - 1))
        start = last + 1
    if start <= sys.maxunicode:
        out.append((start, sys.maxunicode))
    return tuple(out)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    """What is in the first set and not in the second."""
    return complement(united(complement(ranges), others))


def with_case_variants(ranges: Ranges) -> Ranges:
    """The set with the upper and lower case of all its characters."""
    added = []
    for point, variants in _case_variants():
        if any(first <= point <= last for first, last in ranges):
            added += [(variant, variant) for variant in variants]
    return united(ranges, tuple(added)) if added else ranges


@lru_cache(maxsize=1)
def _case_variants() -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Each character that has case variants, with them."""
    classes: dict[str, set[int]] = {}
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        key = next((form for form in (char.casefold(), char.lower()) if len(form) == 1), char)
        if key != char:
            classes.setdefault(key, {ord(key)}).add(point)
    return tuple((point, tuple(same)) for same in classes.values() for point in same)


@lru_cache(maxsize=None)
def _category_ranges() -> dict[str, Ranges]:
    """The code points of each general category."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for point in range(1, sys.maxunicode + 2):
        category = unicodedata.category(chr(point)) if point <= sys.maxunicode else ""
        if category != current:
            ranges.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    return {category: tuple(pairs) for category, pairs in ranges.items()}


@lru_cache(maxsize=None)
def named(name: str) -> Ranges:
    """The characters of a category (L, Lu, …) or a block (IsGreek, …)."""
    if name.startswith("Is"):
        if name[2:] not in _BLOCKS:
            raise ExpressionError(f"{name} is not a Unicode block we know")
        return (_BLOCKS[name[2:]],)
    ranges = united(*(pairs for category, pairs in _category_ranges().items() if category.startswith(name)))
    if not ranges:
        raise ExpressionError(f"{name} is not a Unicode category")
    return ranges


@lru_cache(maxsize=None)
def escaped(letter: str) -> Ranges:
    """The characters of \\d \\s \\w \\i \\c; of the complement, if the letter is a capital."""
    if letter.isupper():
        return complement(escaped(letter.lower()))
    if letter == "d":
        return named("Nd")
    if letter == "w":
        return complement(united(named("P"), named("Z"), named("C")))
    return {"s": _SPACE, "i": _NAME_START, "c": _NAME}[letter]


_SPACE: Ranges = ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))
# XML's characters for the start and the rest of a name: \i and \c
_NAME_START: Ranges = (
    (0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6),
    (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F),
    (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF),
)  # fmt: skip
_NAME: Ranges = united(
    _NAME_START, ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))
)

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

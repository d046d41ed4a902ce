"""Why a text is not a query: from the parser's complaint to a sentence with a hint."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from penstock.errors import QueryError, Span
from penstock.languages.foreign import Foreign, foreign
from penstock.languages.language import Hints, Language
from penstock.languages.names import AXES_AS_WRITTEN
from penstock.languages.text import QueryText

_KEYWORD_PATTERN = re.compile(r"\(\?:([\w|]+)\)\\b")
_WORD = re.compile(r"[A-Za-z_]\w*(?![\w:])")
_CHUNK = re.compile(r"[^\s{}()\[\];,.]+")
# Strings, IRIs and comments are matched so that brackets inside them do not count.
_BRACKETS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n\r]|\\.)*"'
    r"|'(?:[^'\\\n\r]|\\.)*'"
    r'|<[^<>"{}|^`\\\x00-\x20]*>'
    r"|\#[^\r\n]*"
    r"|(?P<open>[{(\[])|(?P<close>[})\]])",
    re.S,
)
_CLOSING = {"{": "}", "(": ")", "[": "]"}
_STRING_START = re.compile(r'"""|\'\'\'|"|\'')
_BAD_ESCAPE = re.compile(r"\\(?![tbnrf\\\"'])(?:[uU][0-9A-Fa-f]*|.)?", re.S)

_FROM = re.compile(r"\bFROM(?:\s+NAMED)?\s+\Z", re.I)
_TWO_WORDS = {"GROUP": "GROUP BY", "ORDER": "ORDER BY"}
_DECLARATIONS = ("BASE", "PREFIX")
_OF_RUNS = ("FIRST", "LAST")

_END = "the end of the query"
# How terminals other than keywords are called in "expected …", in this order.
_TERMINAL_NAMES = {
    "VAR": "a variable",
    "IRIREF": "an IRI",
    "PNAME_LN": "an IRI",
    "PNAME_NS": "an IRI",
    "STRING": "a literal",
    "LONG_STRING": "a literal",
    "INTEGER": "a number",
    "LBRACE": "{",
    "RBRACE": "}",
    "LPAR": "(",
    "RPAR": ")",
    "RSQB": "]",
    "NIL": "(",
    "DOT": ".",
    "SEMICOLON": ";",
    "COMMA": ",",
    "NAME": "a name",
    "DURATION": "a length of time",
    "LSQB": "[",
    "$END": _END,
}
_MOST_EXPECTED = 8


def explain(
    lark: Lark, source: QueryText, language: Language, others: Sequence[tuple[Language, Lark]] = ()
) -> QueryError:
    """The error of a text that the parser of a language has refused; words of `others` are known."""
    text = source.text
    if found := foreign(text, language.hints.foreign, language.name):
        other, start, end = found
        return _foreign_error(source, language, other, source.span(start, end))
    attempt = lark.parse_interactive(text)
    try:
        for _ in attempt.iter_parse():
            pass
    except UnexpectedCharacters as problem:
        position, length = problem.pos_in_stream, None
    except UnexpectedToken as problem:
        position = problem.token.start_pos
        length = len(problem.token)
    else:
        return _ends_too_early(source, language.hints, _expected(lark, attempt.accepts()))
    expected = _expected(lark, attempt.accepts())

    string = _STRING_START.match(text, position)
    if string and length is None:
        return _broken_string(source, position, string[0])
    if text[position] == "<" and "an IRI" in expected.others and length != 2:
        return _broken_iri(source, position)
    if word := _WORD.match(text, position):
        if {"INSERT", "WHERE"} & set(expected.keywords):  # where a statement, or its WHERE, may begin
            for refused, instead in language.hints.refused:
                if word[0].upper() == refused:
                    span = source.span(word.start(), word.end())
                    return source.error(f"{refused} of SPARQL Update is not supported", span, instead)
        for unread, message, instead in language.hints.unread:
            if word[0].upper() == unread:
                return source.error(message, source.span(word.start(), word.end()), instead)
        if error := _word_of_another(lark, source, word, language, others):
            return error
        return _unexpected_word(lark, source, word, language, expected)
    if text[position] in "})]":
        return _wrong_bracket(source, position, expected.in_words(language.hints))
    if length is None:
        length = len(_CHUNK.match(text, position)[0]) if _CHUNK.match(text, position) else 1
    found = text[position : position + length]
    message = f"{_shown(found)} cannot stand here"
    hint = _too_long(lark, found, attempt.accepts()) or expected.in_words(language.hints)
    if "]" in expected.others and (opened := _open_brackets(text, position)):
        place = source.span(opened[-1], opened[-1] + 1)
        hint = f"{hint}; the [ in line {place.line}, column {place.column} is still open"
    return source.error(message, source.span(position, position + length), hint)


def _foreign_error(source: QueryText, language: Language, other: Foreign, span: Span) -> QueryError:
    if not other.read_as:
        message = f"this looks like {other.name}, which Penstock does not run yet"
        return source.error(message, span, other.instead)
    suffix = PurePath(source.origin or "").suffix.lower()
    by_ending = f", and {suffix} is an ending of {language.title}" if suffix in language.endings else ""
    name = other.read_as[0]
    return source.error(
        f"this looks like {other.name}, not {language.title}{by_ending}",
        span,
        f"{'give the file an ending of its language, or ' if by_ending else ''}"
        f'read it as {name}: --language {name}, or in Python language="{name}"',
    )


def _too_long(lark: Lark, token: str, accepts: set[str]) -> str | None:
    """A hint where the beginning of a token could stand here, and the rest was meant as the next one."""
    patterns = (re.compile(t.pattern.to_regexp()) for t in lark.terminals if t.name in accepts)
    lengths = [match.end() for pattern in patterns if (match := pattern.match(token))]
    if not lengths or max(lengths) == len(token):
        return None
    return f"it is read as one word, the longest possible; write a space after {token[: max(lengths)]}"


def _ends_too_early(source: QueryText, hints: Hints, expected: _Expected) -> QueryError:
    text = source.text
    begin = f"begin with {_or(hints.begin)}"
    if not re.sub(r"#[^\r\n]*", "", text).strip():
        return source.error("the query is empty", source.span(0, 0), begin)
    opened = _open_brackets(text, len(text))
    if opened:
        position = opened[-1]
        bracket = text[position]
        return source.error(
            f"this {bracket} is never closed",
            source.span(position, position + 1),
            f"the query ends where a {_CLOSING[bracket]} is still missing",
        )
    end = len(text.rstrip())
    if {*_DECLARATIONS, *hints.begin} <= set(expected.keywords):  # where a statement could begin
        return source.error("no query follows these declarations", source.span(end, end), begin)
    return source.error("the query ends too early", source.span(end, end), expected.in_words(hints))


def _broken_string(source: QueryText, position: int, quote: str) -> QueryError:
    text = source.text
    if text[max(0, position - 2) : position] == quote * 2:
        position, quote = position - 2, quote * 3  # """ without its end was read as "" and "
    body = re.compile(rf"(?:(?!{quote})[^\\{'' if len(quote) == 3 else chr(10) + chr(13)}]|\\.)*")
    end = body.match(text, position + len(quote)).end()
    if text.startswith(quote, end):
        escape = next(
            (
                found
                for found in re.finditer(r"\\(?:[uU][0-9A-Fa-f]*|.)", text[position:end], re.S)
                if _BAD_ESCAPE.fullmatch(found[0])
            ),
            None,
        )
        if escape is not None:
            start = position + escape.start()
            return source.error(
                f"{escape[0]} is not an escape sequence",
                source.span(start, start + len(escape[0])),
                "a backslash itself is written \\\\; the escapes are "
                "\\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX and \\UXXXXXXXX",
            )
        return source.error("a literal cannot stand here", source.span(position, end))
    hint = f"close it with {quote}"
    if len(quote) == 1:
        hint += f", or write a text of several lines between {quote * 3} and {quote * 3}"
    return source.error("this string is never closed", source.span(position, end), hint)


def _broken_iri(source: QueryText, position: int) -> QueryError:
    text = source.text
    good = re.compile(r'<[^<>"{}|^`\\\x00-\x20]*').match(text, position).end()
    if good < len(text) and text[good] in '"{}|^`\\ ':
        character = "a space" if text[good] == " " else text[good]
        return source.error(
            f"this IRI is not closed before {character}",
            source.span(position, good),
            "close it with >; inside an IRI such a character is percent-encoded, "
            f"here as %{ord(text[good]):02X}",
        )
    return source.error("this IRI is never closed", source.span(position, good), "close it with >")


def _word_of_another(
    lark: Lark,
    source: QueryText,
    word: re.Match[str],
    language: Language,
    others: Sequence[tuple[Language, Lark]],
) -> QueryError | None:
    """The error where a keyword is none in this language, but in another one."""
    upper = word[0].upper()
    if upper in (keyword.upper() for keyword in _all_keywords(lark)):
        return None
    for other, their in others:
        for terminal, keywords in _keywords(their).items():
            keyword = next((each for each in keywords if each.upper() == upper), None)
            if keyword is None:
                continue
            kind = "a function" if "FUNCTION" in terminal else "a word"
            kind = "an operator" if upper in other.translator.INFIX else kind
            return source.error(
                f"{keyword} is {kind} of {other.title}, not of {language.title}",
                source.span(word.start(), word.end()),
                f"read the query as {other.name}: --language {other.name}, or in Python "
                f'language="{other.name}"',
            )
    return None


def _unexpected_word(
    lark: Lark, source: QueryText, word: re.Match[str], language: Language, expected: _Expected
) -> QueryError:
    name = word[0]
    span = source.span(word.start(), word.end())
    known = {keyword.upper(): keyword for keyword in _all_keywords(lark)}
    if name.upper() in known:
        return source.error(
            f"{known[name.upper()]} cannot stand here",
            span,
            _keyword_hint(source, word, language, expected) or expected.in_words(language.hints),
        )
    keywords = expected.keywords
    by_upper = {keyword.upper(): _TWO_WORDS.get(keyword, keyword) for keyword in keywords}
    by_upper |= {two.replace(" ", ""): two for one, two in _TWO_WORDS.items() if one in keywords}
    close = difflib.get_close_matches(name.upper(), by_upper, 1, 0.6)
    if close:
        return source.error(f"{name} is not known here", span, f"did you mean {by_upper[close[0]]}?")
    if "AXIS" in expected.terminals:
        close = difflib.get_close_matches(name.lower(), AXES_AS_WRITTEN, 1, 0.6)
        if close:
            return source.error(f"{name} is not an axis", span, f"did you mean {close[0]}?")
    if "an IRI" in expected.others:
        return source.error(
            f"{name} is neither a keyword nor a term",
            span,
            f"an IRI is written <http://…/{name}> or with a prefix, as in :{name}; a variable ?{name}",
        )
    return source.error(f"{name} is not known here", span, expected.in_words(language.hints))


def _keyword_hint(
    source: QueryText, word: re.Match[str], language: Language, expected: _Expected
) -> str | None:
    """A better hint where the usual reason of a misplaced keyword is known."""
    keyword, hints = word[0].upper(), language.hints
    if "a name" in expected.others:
        return f"{keyword} is a keyword: choose another name, or an IRI"
    if keyword in _OF_RUNS:
        return f"it is of the members of a repetition: {{ … }}+ ({keyword}(?v) AS ?{keyword.lower()})"
    opened = [p for p in _open_brackets(source.text, word.start()) if source.text[p] == "{"]
    if opened:
        place = source.span(opened[-1], opened[-1] + 1)
        unclosed = f"the {{ in line {place.line}, column {place.column} is not closed before it"
        if keyword in hints.after_braces:
            return f"it stands after the group; {unclosed}"
        if keyword in (*_DECLARATIONS, *hints.begin):
            inner = "; a query inside it has braces of its own, { SELECT … }" if keyword == "SELECT" else ""
            return f"another query begins here, but {unclosed}{inner}"
    elif keyword == "GRAPH" and _FROM.search(source.text, 0, word.start()):
        return "a graph of the dataset is named alone: FROM <…>, or FROM NAMED <…>"
    elif keyword in hints.in_braces:
        return "move it inside the braces of WHERE"
    if keyword in language.translator.INFIX:
        return f"it stands between groups in braces: {{ … }} {keyword} {{ … }}"
    called = source.text[word.end() :].lstrip().startswith("(")
    if called and "a variable" in expected.others and "an IRI" not in expected.others:
        return f"an expression in SELECT has parentheses and a name: ({keyword}(…) AS ?name)"
    return None


def _wrong_bracket(source: QueryText, position: int, fallback: str | None) -> QueryError:
    text = source.text
    span = source.span(position, position + 1)
    opened = _open_brackets(text, position)
    if not opened:
        return source.error(f"this {text[position]} closes nothing", span, "remove it")
    last = text[opened[-1]]
    if _CLOSING[last] != text[position]:
        place = source.span(opened[-1], opened[-1] + 1)
        return source.error(
            f"this {text[position]} comes before the {_CLOSING[last]} of an open {last}",
            span,
            f"close the {last} in line {place.line}, column {place.column} first",
        )
    return source.error(f"{text[position]} cannot stand here", span, fallback)


def _open_brackets(text: str, end: int) -> list[int]:
    """The places of the brackets that are still open at `end`, outermost first."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(text, 0, end):
        if match["open"]:
            opened.append(match.start())
        elif match["close"] and opened and _CLOSING[text[opened[-1]]] == match["close"]:
            opened.pop()
    return opened


@lru_cache(maxsize=None)
def _keywords(lark: Lark) -> dict[str, tuple[str, ...]]:
    """The words of each keyword terminal, as the grammar spells them."""
    found = {}
    for terminal in lark.terminals:
        match = _KEYWORD_PATTERN.fullmatch(terminal.pattern.value)
        if match:
            found[terminal.name] = tuple(match[1].split("|"))
    return found


def _all_keywords(lark: Lark) -> list[str]:
    return [word for words in _keywords(lark).values() for word in words]


@dataclass(frozen=True)
class _Expected:
    """What could have come: keywords (in the grammar's order), and other things by name."""

    keywords: list[str]
    others: list[str]
    terminals: set[str]

    def in_words(self, hints: Hints) -> str | None:
        """As a hint; that another statement may begin where one ends is no news."""
        keywords, others = self.keywords, self.others
        if _END in others:
            keywords = [word for word in keywords if word not in (*_DECLARATIONS, *hints.begin)]
            others = [name for name in others if name != ";"]
        names = [*others, *keywords]
        if not names or len(names) > _MOST_EXPECTED:
            names = others
        return f"expected {_or(names)}" if names else None


def _expected(lark: Lark, accepts: set[str]) -> _Expected:
    keywords = [word for name, words in _keywords(lark).items() if name in accepts for word in words]
    others = [name for terminal, name in _TERMINAL_NAMES.items() if terminal in accepts]
    if "PNAME_NS" in accepts and "PNAME_LN" not in accepts:
        others = ["a prefix, as in ex:"]
    if "VAR" in accepts:
        others = [name for name in others if name != "["]
    if {"STAR", "VAR"} <= accepts and "IRIREF" not in accepts:
        others.append("*")
    return _Expected(keywords, list(dict.fromkeys(others)), accepts)


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _shown(found: str) -> str:
    return found if found.isprintable() else ascii(found)[1:-1]

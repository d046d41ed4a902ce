"""Where the statements of a TriG text end, and which prefixes and base it declares.

A growing TriG file is read in parts: each ends with a statement, and needs the declarations of
those before it. This knows the tokens of TriG, not its grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRING = (
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""'
    rb"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    rb'|"(?!"")(?:[^"\\\n\r]|\\.)*"|""(?!")'
    rb"|'(?!'')(?:[^'\\\n\r]|\\.)*'|''(?!')"
)
_IRI = rb"<(?:[^<>\x00-\x20\\]|\\.)*>"
_TOKEN = re.compile(
    rb"(?P<blank>\s+|\#[^\n]*\n)"
    rb"|(?P<string>" + _STRING + rb")"
    rb"|(?P<iri>" + _IRI + rb")"
    rb"|(?P<open>\{)|(?P<close>\})"
    rb"|(?P<dot>\.(?=\s))"
    rb"|(?P<word>(?:[^\s\"'<{}.#\\]|\\.|\.(?=\S))+|<(?=[<=\s])|>)",
    re.DOTALL,
)
# Inside a graph, dots end nothing that matters here.
_INSIDE = re.compile(rb"(?:[^{}\"'<#\\]|\\.)+", re.DOTALL)


def _may_go_on(text: bytes, at: int) -> bool:
    """Whether what stands at the end of a text, and is no token yet, may become one."""
    first = text[at : at + 1]
    if first in b"\"'":
        long = text[at : at + 3] in (first * 3, first * 2, first)
        return long or not any(end in text[at + 1 :] for end in (b"\n", b"\r"))
    if first == b"<":
        return re.search(rb"[\s<>]", text[at + 1 :]) is None
    return first == b"#" or len(text) == at + 1


def _tokens(text: bytes) -> Iterator[tuple[str, bytes, int]]:
    """Kind, text and end of each token, up to the first one that is not complete.

    What can never become a token counts as a word: parsing says what is wrong with it.
    """
    at = depth = 0
    while at < len(text):
        inside = _INSIDE.match(text, at) if depth else None
        if inside is not None:
            at = inside.end()
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            if _may_go_on(text, at):
                return
            at += 1
            yield "word", text[at - 1 : at], at
            continue
        kind = match.lastgroup or "word"
        if kind in ("open", "close"):
            depth = kind == "open"  # graphs do not nest
        at = match.end()
        if kind == "word" and at == len(text):
            return  # it may go on
        yield kind, match[0], at


def end_of_statements(text: bytes) -> int:
    """Where the last complete statement or graph of a text ends, with the blanks behind it."""
    safe = 0
    inside = pending = False
    for kind, _, end in _tokens(text):
        if kind != "blank":
            inside = kind == "open" or (inside and kind != "close")
            pending = inside or kind not in ("dot", "close")
        if not pending:
            safe = end
    return safe


def declarations(text: bytes) -> bytes:
    """The prefixes and the base that a text of complete statements declares, in one line."""
    found: list[bytes] = []
    words: list[bytes] = []
    inside = False
    for kind, token, _ in _tokens(text):
        if kind in ("open", "close", "dot"):
            inside = kind == "open" or (inside and kind == "dot")
            words = []
        if inside or kind in ("blank", "dot", "close"):
            continue
        words.append(token)
        first = words[0].lower().lstrip(b"@")
        if kind == "iri" and (first, len(words)) in ((b"prefix", 3), (b"base", 2)):
            found.append(b" ".join([first.upper(), *words[1:]]))
            words = []
    return b" ".join(found)

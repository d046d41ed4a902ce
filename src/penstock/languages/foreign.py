"""Languages for queries over streams, by words that betray them: those that are read, and others.

They are looked for in a text that is no query of the language it was taken for, so that its author is told
what it looks like; and in a text whose language nobody said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEQUENCE = "in EP-SPARQL events are groups, with the operator between them: { … } SEQ { … }"
_TABLE = (
    "in EP-SPARQL events are triples: SELECT ?sensor ?value WHERE { ?sensor :value ?value }, and "
    "{ … } SEQ { … } is one event after another"
)


@dataclass(frozen=True)
class Foreign:
    """A language by words that betray it.

    `read_as`: what it is called in --language; others that have the same words, too, follow it. If it is
    not read, `instead` is how one asks for the same in EP-SPARQL.
    """

    name: str
    words: re.Pattern[str]
    instead: str = ""
    read_as: tuple[str, ...] = ()


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ?", r"\s*").replace(" *", r"\s*").replace(" ", r"\s+"), re.I)


_IRI = r"(?:<[^<>\s]*>|[\w.-]*:[\w.:-]*|\?\w+)"

_NOT_BACK = r"(?:NOW|ALL|PAST|FUTURE)\b"  # windows that C-SPARQL has not

# The first that is found counts, so the more special ones come first.
STREAM_LANGUAGES = (
    Foreign("SPAseq", _words(r"\bDEFINE GPM\b|\bGPM \w+ ON\b"), _SEQUENCE),
    Foreign(
        "CQELS 2.0",
        _words(rf"\bFROM STREAM (?:[a-z_]\w* *\[|{_IRI} *\[ *{_NOT_BACK})"),
        read_as=("cqels-cep", "c-sparql"),
    ),
    Foreign(
        "C-SPARQL",
        _words(rf"\bFROM (?:NAMED )?STREAM {_IRI} \[(?! *{_NOT_BACK})|\bCOMPUTED? EVERY\b"),
        read_as=("c-sparql",),
    ),
    Foreign("RSP-QL", _words(r"\bREGISTER (?:[RID]STREAM\b|<|\w*:)"), read_as=("rsp-ql",)),
    Foreign(
        "RSP-QL",
        _words(rf"\bNAMED WINDOW (?:{_IRI} \[|(?:{_IRI} )?ON STREAM\b)"),
        read_as=("rsp-ql", "cqels-cep"),
    ),
    Foreign(
        "CQELS-CEP",
        _words(
            rf"(?:[{{.]|\bWHERE) ?(?P<at>SEQ ?\(|WINDOW {_IRI} ON\b|STREAM {_IRI} \[)"
            r"|\[ ?(?:NOW|ALL)\b"
        ),
        read_as=("cqels-cep",),
    ),
    Foreign(
        "CQELS-CEP",
        _words(r"\[ ?(?:RANGE \d|TRIPLES )[^\]]*SLIDE\b"),
        read_as=("cqels-cep", "rsp-ql", "c-sparql"),
    ),
    Foreign("RSP-QL", _words(r"\[ ?(?:RANGE -?P[\dT]|FROM NOW\b|ELEMENTS\b)"), read_as=("rsp-ql",)),
    Foreign(
        "RSP-QL",
        _words(r"\[ ?(?:RANGE|TRIPLES) [^\]]*\bSTEP\b"),
        read_as=("rsp-ql", "c-sparql"),
    ),
    Foreign("CQELS-CEP", _words(rf"\bNAMED WINDOW {_IRI} ON {_IRI} \["), read_as=("cqels-cep", "rsp-ql")),
    Foreign(
        "C-SPARQL",
        _words(r"\bREGISTER (?:QUERY|STREAM) (?!<|\w*:)\S+"),
        read_as=("c-sparql", "cqels-cep", "rsp-ql"),
    ),
    Foreign(
        "C-SPARQL",
        _words(r"\bREGISTER (?:QUERY|STREAM) \S+"),
        read_as=("c-sparql", "cqels-cep", "rsp-ql", "ep-sparql"),
    ),
    Foreign(
        "RSP-QL",
        _words(rf"\b(?:FROM )?NAMED WINDOW\b|\bWINDOW {_IRI}"),
        read_as=("rsp-ql", "cqels-cep"),
    ),
    Foreign(
        "CQELS-CEP", _words(r"\[ ?(?:RANGE|TRIPLES)\b[^\]]*\]"), read_as=("cqels-cep", "rsp-ql", "c-sparql")
    ),
    Foreign(
        "EP-SPARQL",
        _words(
            r"\} ?(?P<at>SEQ|EQUALS|OPTIONALSEQ|EQUALSOPTIONAL|DURING|STARTS|FINISHES|MEETS|OVERLAPS)\b ?\{"
        ),
        read_as=("ep-sparql", "sparql"),
    ),
    Foreign(
        "Esper's EPL",
        _words(r"\bPATTERN \[|\.win:|#(?:time|length)(?:_batch)?\s*\(|\bFROM \w+ ?-> ?"),
        _TABLE,
    ),
    Foreign(
        "SQL",
        _words(r"\bMATCH_RECOGNIZE\b|\A[^{]*(?P<at>\bFROM (?!NAMED\b|STREAM\b)[a-z_]\w*\b)(?!\s*:)[^{]*\Z"),
        _TABLE,
    ),
)
# Literals and comments hide what is in them; IRIs stay, but a # in one begins no comment.
_HIDING = re.compile(r"<[^<>\s]*>|(\"[^\"\n]*\"|'[^'\n]*')|(\#(?!time|length).*)", re.I)


def _visible(text: str) -> str:
    return _HIDING.sub(lambda found: found[0] if found[0].startswith("<") else " " * len(found[0]), text)


def foreign(text: str, languages: tuple[Foreign, ...], own: str = "") -> tuple[Foreign, int, int] | None:
    """Which of these languages a text seems to be in, and where its words stand.

    Words that the language of this name has, too, betray nothing.
    """
    visible = _visible(text)
    for language in languages:
        if own in language.read_as:
            continue
        if found := language.words.search(visible):
            start, end = found.span("at") if found.groupdict().get("at") else found.span()
            return language, start, end
    return None

"""Other languages for queries over streams: recognised, so that their authors are told what to do.

Each has words that EP-SPARQL cannot have. They are looked for only in a text that is no query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WINDOW = (
    "EP-SPARQL has no windows: read the stream with FROM <IRI> and --stream IRI=SOURCE, and say how far "
    'apart events may be: { … } SEQ { … } FILTER (getDURATION() < "PT10M"^^xsd:duration)'
)
_SEQUENCE = "in EP-SPARQL events are groups, with the operator between them: { … } SEQ { … }"
_TABLE = (
    "in EP-SPARQL events are triples: SELECT ?sensor ?value WHERE { ?sensor :value ?value }, and "
    "{ … } SEQ { … } is one event after another"
)


@dataclass(frozen=True)
class Foreign:
    """A language, words that betray it, and how one asks for the same in EP-SPARQL."""

    name: str
    words: re.Pattern[str]
    instead: str


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ?", r"\s*").replace(" *", r"\s*").replace(" ", r"\s+"), re.I)


_IRI = r"(?:<[^<>\s]*>|[\w.-]*:[\w.:-]*|\?\w+)"

# The first that is found counts, so the more special ones come first.
STREAM_LANGUAGES = (
    Foreign(
        "C-SPARQL", _words(rf"\bREGISTER (?:QUERY|STREAM) \S+|\bFROM (?:NAMED )?STREAM {_IRI} \["), _WINDOW
    ),
    Foreign("RSP-QL", _words(r"\bREGISTER (?:[RID]?STREAM\b|<|\w*:)"), _WINDOW),
    Foreign("SPAseq", _words(r"\bDEFINE GPM\b|\bGPM \w+ ON\b"), _SEQUENCE),
    Foreign("CQELS-CEP", _words(r"(?:[{.]|\bWHERE) ?(?P<at>SEQ ?\()"), _SEQUENCE),
    Foreign("RSP-QL", _words(rf"\b(?:FROM )?NAMED WINDOW\b|\bWINDOW {_IRI}"), _WINDOW),
    Foreign("CQELS", _words(rf"\bSTREAM {_IRI} \[|\[\s*(?:RANGE|TRIPLES|NOW|ALL)\b[^\]]*\]"), _WINDOW),
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


def foreign(text: str, languages: tuple[Foreign, ...]) -> tuple[Foreign, int, int] | None:
    """Which of these languages a text seems to be in, and where its words stand."""
    visible = _visible(text)
    for language in languages:
        if found := language.words.search(visible):
            start, end = found.span("at") if found.groupdict().get("at") else found.span()
            return language, start, end
    return None

"""How the tests of the languages write queries and their algebra."""

from __future__ import annotations

import re

from penstock.algebra.printing import to_sexpr
from penstock.languages import parse_query

PROLOGUE = """\
PREFIX : <http://example.org/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


def one_line(text: str) -> str:
    """S-expressions compare by their words, not by their layout."""
    return re.sub(r"\(\s+|\s+\)", lambda match: match[0].strip(), " ".join(text.split()))


def algebra(text: str, language: str = "sparql") -> str:
    """The algebra of a query on one line."""
    parsed = parse_query(PROLOGUE + text, language=language)
    return one_line(to_sexpr(parsed.query, prefixes=parsed.prefixes))


def pattern(group: str, language: str = "sparql") -> str:
    """The algebra of a group graph pattern on one line."""
    parsed = parse_query(f"{PROLOGUE} ASK {group}", language=language)
    return one_line(to_sexpr(parsed.query.pattern, prefixes=parsed.prefixes))


def expression(text: str, language: str = "sparql") -> str:
    """The algebra of an expression on one line."""
    parsed = parse_query(f"{PROLOGUE} ASK {{ FILTER ({text}) }}", language=language)
    return one_line(to_sexpr(parsed.query.pattern.condition, prefixes=parsed.prefixes))

"""Functions on strings and hashes (SPARQL 1.1, sections 17.4.3 and 17.4.6)."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from penstock.functions import regex
from penstock.functions.errors import ExpressionError
from penstock.functions.values import integer, integer_literal, simple, string, text_literal
from penstock.terms import Literal, Term


def compatible(left: Term, right: Term) -> tuple[Literal, str]:
    """The first argument and the text of the second, if their language tags agree."""
    first, second = string(left), string(right)
    if second.language is not None and second.language != first.language:
        raise ExpressionError(f"{left} and {right} are not compatible")
    return first, second.value


def strlen(term: Term) -> Term:
    return integer_literal(len(string(term).value))


def substr(term: Term, start: Term, length: Term | None = None) -> Term:
    """SUBSTR: positions count from 1; a part of the range may lie outside the string."""
    text = string(term)
    first = integer(start)
    last = len(text.value) + 1 if length is None else first + integer(length)
    part = text.value[max(first, 1) - 1 : max(last, 1) - 1]
    return text_literal(part, text.language)


def ucase(term: Term) -> Term:
    text = string(term)
    return text_literal(text.value.upper(), text.language)


def lcase(term: Term) -> Term:
    text = string(term)
    return text_literal(text.value.lower(), text.language)


def starts(term: Term, part: Term) -> bool:
    text, prefix = compatible(term, part)
    return text.value.startswith(prefix)


def ends(term: Term, part: Term) -> bool:
    text, suffix = compatible(term, part)
    return text.value.endswith(suffix)


def contains(term: Term, part: Term) -> bool:
    text, inner = compatible(term, part)
    return inner in text.value


def before(term: Term, part: Term) -> Term:
    """STRBEFORE: keeps the tag of the first argument, unless nothing was found."""
    text, inner = compatible(term, part)
    head, found, _ = text.value.partition(inner) if inner else ("", True, "")
    return text_literal(head, text.language) if found else Literal("")


def after(term: Term, part: Term) -> Term:
    text, inner = compatible(term, part)
    _, found, tail = text.value.partition(inner) if inner else ("", True, text.value)
    return text_literal(tail, text.language) if found else Literal("")


def encode_for_uri(term: Term) -> Term:
    return Literal(quote(string(term).value, safe="-_.~"))


def concat(*terms: Term) -> Term:
    """CONCAT: with a language tag only if all arguments have that tag."""
    texts = [string(term) for term in terms]
    languages = {text.language for text in texts}
    language = languages.pop() if len(languages) == 1 else None
    return text_literal("".join(text.value for text in texts), language)


def language_matches(tag: Term, range_: Term) -> bool:
    """Basic filtering of RFC 4647."""
    found, wanted = simple(tag).encode().lower(), simple(range_).encode().lower()  # tags are ASCII
    if wanted == b"*":
        return found != b""
    return found == wanted or found.startswith(wanted + b"-")


def matches(term: Term, pattern: Term, flags: Term | None = None) -> bool:
    text = string(term).value
    return regex.matches(text, simple(pattern), simple(flags) if flags is not None else "")


def replace(term: Term, pattern: Term, replacement: Term, flags: Term | None = None) -> Term:
    text = string(term)
    options = simple(flags) if flags is not None else ""
    return text_literal(
        regex.replace(text.value, simple(pattern), simple(replacement), options), text.language
    )


def hash_function(name: str):
    """The function for one of hashlib's algorithms."""

    def digest(term: Term) -> Term:
        return Literal(hashlib.new(name, simple(term).encode()).hexdigest())

    return digest

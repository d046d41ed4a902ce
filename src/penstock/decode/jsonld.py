"""What has to be known of a JSON-LD document before and beside its parser.

The parser's stack and memory are at the mercy of the document, and what it cannot make a
valid triple of, it leaves out without a word: both are found here.
"""

from __future__ import annotations

import json
import re

import numpy as np
from pyoxigraph import Quad, RdfFormat, parse

from penstock.decode.limits import DEEPEST, EXPANSION, LEAST_EXPANSION, in_bytes
from penstock.errors import shortened
from penstock.terms import Literal, NamedNode

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_HEAD = 1 << 20  # bytes that tell whether there is one document, or many
_HARMLESS = 1 << 16  # bytes that cannot expand to more than some hundred megabytes


def is_json(text: bytes) -> bool:
    """Whether a text is a whole JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def may_be_one(data: bytes | memoryview) -> bool:
    """Whether a text begins like one document over several lines, and not like a line for each."""
    head = bytes(memoryview(data)[:_HEAD]).decode(errors="replace")
    try:
        json.loads(head)
    except json.JSONDecodeError as problem:
        # All is well up to where it breaks off.
        return not problem.msg.startswith("Extra data") and problem.lineno == head.count("\n") + 1 > 1
    except RecursionError:
        return False
    return "\n" in head.strip()


def refusal(document: bytes) -> str | None:
    """Why a document must not reach the parser, if so."""
    if document.count(b"{") + document.count(b"[") > DEEPEST and _depth(document) > DEEPEST:
        return f"the JSON is nested more than {DEEPEST} levels deep"
    if len(document) > _HARMLESS:
        allowed = max(LEAST_EXPANSION, EXPANSION * len(document))
        if _expansion(document) > allowed:
            return (
                "with its contexts and @ids written out, the document may have more than "
                f"{in_bytes(allowed)}; shorten its IRIs, or cut it into several documents"
            )
    return None


def _depth(document: bytes) -> int:
    bare = np.frombuffer(_STRING.sub(b"", document), np.uint8)
    opens = (bare == ord("{")) | (bare == ord("["))
    closes = (bare == ord("}")) | (bare == ord("]"))
    steps = opens.astype(np.int8) - closes.astype(np.int8)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))


def _expansion(document: bytes) -> int:
    """At most how many bytes the names in all triples of a document have.

    The id of a node is in each of its triples, that of a graph in all of its own, and a term
    stands for what its context says.
    """
    try:
        value = json.loads(document)
    except ValueError:
        return 0  # which the parser will say
    aliases = {"@id"}
    longest = 0
    todo = [(value, False)]
    while todo:  # the contexts, and the names of keys
        each, in_context = todo.pop()
        if isinstance(each, dict):
            longest = max([longest, *map(len, each)])
            for key, item in each.items():
                if in_context and item in ("@id", {"@id": "@id"}):
                    aliases.add(key)
                todo.append((item, in_context or key == "@context"))
        elif isinstance(each, list):
            todo += [(item, in_context) for item in each]
        elif in_context and isinstance(each, str):
            longest = max(longest, len(each))
    todo = [(value, False)]
    while todo:  # the ids
        each, is_id = todo.pop()
        if isinstance(each, dict):
            todo += [(item, key in aliases) for key, item in each.items()]
        elif isinstance(each, list):
            todo += [(item, is_id) for item in each]
        elif is_id and isinstance(each, str):
            longest = max(longest, len(each))
    values = document.count(b",") + document.count(b"[") + document.count(b"{")
    return longest * values


def vanished(document: bytes, base: str) -> str | None:
    """What the strict parser left out of a document without saying so, if anything.

    Keys that no context maps to an IRI are no data by JSON-LD's own rules. All else is.
    """
    for quad in parse(document, RdfFormat.JSON_LD, base_iri=base, lenient=True):
        if ":" in quad.predicate.value and (reason := _invalid(quad)):
            return reason
    return None


def _invalid(quad: Quad) -> str | None:
    for term in quad:
        try:
            if isinstance(term, NamedNode):
                NamedNode(term.value)
            elif isinstance(term, Literal):
                if term.language:
                    Literal(term.value, language=term.language)
                else:
                    NamedNode(term.datatype.value)
        except ValueError as problem:
            if isinstance(term, Literal) and term.language:
                return f"{shortened(term.language)!r} is not a language tag: {problem}"
            iri = term.datatype.value if isinstance(term, Literal) else term.value
            if iri.startswith("_:"):
                return f"the blank node {shortened(iri)} cannot be a predicate"
            return f"<{shortened(iri)}> is not an IRI: {problem}"
    return None

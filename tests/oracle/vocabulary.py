"""The handful of names and values that random streams and random queries share."""

from __future__ import annotations

from penstock.terms import XSD, Literal, NamedNode
from penstock.timeline import SECOND, parse_instant

BASE = "http://example.org/"
PROLOGUE = f"PREFIX : <{BASE}>\nPREFIX xsd: <{XSD.base}>\n"

EPOCH = parse_instant("2024-01-01T00:00:00Z")
TICK = SECOND
"""Random instants are this far apart, so that bounds like PT2S cut somewhere in the middle."""

RESOURCES = (":a", ":b", ":c")
CLASSES = (":K", ":L")
NUMBERS = ("1", "2", "3", "2.5", "3.0", "2.0e0")
LABELS = ('"x"', '"y"', '"x"@en')
PREDICATES = {
    ":price": "number",
    ":load": "number",
    ":knows": "resource",
    ":near": "resource",
    ":label": "label",
    ":kind": "class",
}
WEIGHTS = {":price": 5, ":load": 2, ":knows": 4, ":near": 2, ":label": 1, ":kind": 1}
"""How often a predicate is used, in streams and in queries: often enough to meet."""
STREAM_NAMES = (":s1", ":s2")
GRAPH_NAMES = (":g1", ":g2")


def iri(short: str) -> NamedNode:
    """`:a` as the IRI that PROLOGUE makes of it."""
    return NamedNode(BASE + short.removeprefix(":"))


VALUES = {
    "resource": tuple(iri(each) for each in RESOURCES),
    "class": tuple(iri(each) for each in CLASSES),
    "label": (Literal("x"), Literal("y"), Literal("x", language="en")),
    "number": (
        *(Literal(str(n), datatype=XSD.integer) for n in (1, 2, 3)),
        Literal("2.5", datatype=XSD.decimal),
        Literal("3.0", datatype=XSD.decimal),
        Literal("2.0e0", datatype=XSD.double),
    ),
}
ILL_TYPED = Literal("abc", datatype=XSD.decimal)

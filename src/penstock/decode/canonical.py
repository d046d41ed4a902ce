"""Parsed quads written back as canonical lines, which the scanner takes on trust.

Whatever the format, an unusual quad takes this way: pyoxigraph parses it, here its blank
nodes get their stable names and its times a plain notation, and the scanner turns the line
into a row. So there is one place that knows how lines become rows.
"""

from __future__ import annotations

import hashlib

import numpy as np
from pyoxigraph import DefaultGraph, Quad

from penstock.columns.places import LONGEST
from penstock.decode.lexical import tells_plain_time
from penstock.decode.times import TimePredicates, compact_times, is_compact
from penstock.errors import InputError, shortened
from penstock.terms import BlankNode, Literal, NamedNode, Triple
from penstock.timeline import format_instant, parse_instant


class Unusable(Exception):
    """A quad that is valid RDF or not, but nothing we can use; says why."""


class SaltedLabels:
    """Blank nodes that keep their label and get the file's salt, in any piece of the file."""

    def __init__(self, source: str) -> None:
        self.salt = hashlib.blake2b(source.encode(), digest_size=6).hexdigest()

    @property
    def suffix(self) -> bytes:
        """What every label is lengthened by."""
        return f"_{self.salt}".encode()

    def __call__(self, node: BlankNode) -> str:
        return f"_:{node.value}_{self.salt}"


class NumberedLabels:
    """Blank nodes named by the order in which they appear in one document.

    The parser gives anonymous nodes random labels; the order is the same in every run. Where
    a source has many documents, their content tells them apart, wherever the source is cut.
    """

    def __init__(self, source: str, document: bytes = b"") -> None:
        self._salt = SaltedLabels(source).salt
        if document:
            self._salt += "_" + hashlib.blake2b(document.strip(), digest_size=8).hexdigest()
        self._numbers: dict[str, int] = {}

    def __call__(self, node: BlankNode) -> str:
        number = self._numbers.setdefault(node.value, len(self._numbers))
        return f"_:b{number}_{self._salt}"


def canonical_line(quad: Quad, label: SaltedLabels | NumberedLabels, times: TimePredicates) -> bytes:
    """The quad as a line for the trusting scanner."""
    subject, predicate, object_, graph = quad
    if isinstance(subject, Triple) or isinstance(object_, Triple):
        raise Unusable("triple terms (RDF 1.2) are not supported")
    name = label(subject) if isinstance(subject, BlankNode) else str(subject)
    in_default = isinstance(graph, DefaultGraph)
    if in_default and predicate in times and isinstance(object_, Literal):
        object_, is_time = _plain_time(subject, predicate, object_, times)
        if is_time:
            name = f"<{_plain_name(subject.value)}>"
    value = label(object_) if isinstance(object_, BlankNode) else str(object_)
    if in_default:
        line = f"{name} {predicate} {value} .\n".encode()
    elif isinstance(graph, BlankNode):
        line = f"{name} {predicate} {value} {label(graph)} .\n".encode()
    else:
        line = f"{name} {predicate} {value} <{_plain_name(graph.value)}> .\n".encode()
    if len(line) > LONGEST:
        raise Unusable(f"a triple of {len(line):,} bytes is too long")
    return line


def _plain_name(name: str) -> str:
    """A graph's name, with the time that it may tell in plain notation."""
    if not is_compact(name):
        return name
    text = name.encode()
    if tells_plain_time(np.frombuffer(text, np.uint8), text.index(b"#t=") + 3):
        return name
    try:
        start, end = compact_times(name)
        base = name.split("#", 1)[0]
        return f"{base}#t={format_instant(start)},{format_instant(end)}"
    except InputError as problem:
        raise Unusable(problem.message) from None


def _plain_time(
    subject: NamedNode | BlankNode, predicate: NamedNode, value: Literal, times: TimePredicates
) -> tuple[Literal, bool]:
    """A time statement's value in plain notation, and whether the subject's name tells the time as well.

    The value is as it was if it is no instant.
    """
    try:
        instant = parse_instant(value.value)
        plain = Literal(format_instant(instant))
    except InputError:
        return value, False
    if not isinstance(subject, NamedNode) or not is_compact(subject.value):
        return plain, False
    try:
        start, end = compact_times(subject.value)
    except InputError as problem:
        raise Unusable(problem.message) from None
    expected = {times.at: end, times.started: start, times.ended: end}[predicate]
    if instant != expected or (predicate == times.at and start != end):
        raise Unusable(
            f"<{shortened(subject.value)}> tells another time in its name than {predicate} states"
            f" ({shortened(value.value)})"
        )
    return plain, True

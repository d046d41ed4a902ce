"""Occurrences in a form that tests can compare: texts and instants instead of columns of ids."""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import DefaultGraph, Quad

from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.decode.triples import Triples
from penstock.timeline import format_instant

XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"


def facts(found: Occurrences) -> list[str]:
    """Each occurrence as `s p o @ start` or `s p o @ start … end`, sorted."""
    table = TermTable(found.terms)
    out = []
    for s, p, o, start, end in zip(*(column.tolist() for column in found.columns), strict=True):
        time = format_instant(start)
        if end != start:
            time += " … " + format_instant(end)
        out.append(f"{table.term(s)} {table.term(p)} {table.term(o)} @ {time}")
    return sorted(out)


def quads_of(portions: Iterable[Triples]) -> list[Quad]:
    """Static quads as pyoxigraph would give them."""
    quads = []
    for found in portions:
        table = TermTable(found.terms)
        for *triple, graph in found.columns.T.tolist():
            quads.append(Quad(*map(table.term, triple), table.term(graph) if graph else DefaultGraph()))
    return quads


def reasons(found: Occurrences) -> list[tuple[int, str]]:
    """The line and reason of each reject."""
    return [(reject.line, reject.reason) for reject in found.rejects]


def instants(found: Occurrences) -> list[str]:
    return [format_instant(instant) for instant in found.instants.tolist()]


def stated(name: str, at: str, predicate: str = "generatedAtTime") -> str:
    """A time statement as a line of N-Quads."""
    return f'{name} <{PROV}{predicate}> "{at}"^^<{XSD}dateTime> .\n'

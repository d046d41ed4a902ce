"""Expected results: reading them in all the suites' formats, and comparing with an answer.

Solutions are compared as multisets, with blank nodes renamed one to one. Numbers of one
datatype are equal if their values are: the suites do not ask for canonical forms.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    Literal,
    NamedNode,
    Quad,
    QueryBoolean,
    Triple,
    parse_query_results,
)

from conformance.manifest import Description
from penstock.terms import RDF, XSD, Namespace, Term

RS = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")

Row = dict[str, Term]


@dataclass(frozen=True)
class Solutions:
    """The answer of a SELECT query; unbound variables are left out of a row."""

    variables: tuple[str, ...]
    rows: Sequence[Row]
    ordered: bool = False
    plain: bool = False  # read from CSV, which does not tell the kinds of terms apart


@dataclass(frozen=True)
class Graph:
    """The answer of a CONSTRUCT or DESCRIBE query."""

    triples: frozenset[Triple]


Answer = Solutions | Graph | bool


# --- reading -----------------------------------------------------------------------------


def read_answer(path: Path, base: str) -> Answer:
    """The expected answer in a result file; its format follows from the file's name."""
    if path.suffix in (".srx", ".srj", ".tsv"):
        found = parse_query_results(path=path)
        if isinstance(found, QueryBoolean):
            return bool(found)
        names = tuple(variable.value for variable in found.variables)
        rows = [{name: row[name] for name in names if row[name] is not None} for row in found]
        return Solutions(names, rows)
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = list(csv.reader(file))
        return Solutions(
            tuple(names),
            [{n: Literal(text) for n, text in zip(names, row, strict=True)} for row in rows],
            plain=True,
        )
    description = Description(path, base)
    for triple in description.triples:
        if triple.predicate == RDF.type and triple.object == RS.ResultSet:
            return _described_answer(description, triple.subject)
    return Graph(frozenset(description.triples))


def _described_answer(description: Description, results: Term) -> Answer:
    """A result set that is written in the vocabulary of the test suites."""
    boolean = description.one(results, RS.boolean)
    if boolean is not None:
        return boolean.value in ("true", "1")
    rows, positions = [], []
    for solution in description.all(results, RS.solution):
        rows.append(
            {
                description.one(binding, RS.variable).value: description.one(binding, RS.value)
                for binding in description.all(solution, RS.binding)
            }
        )
        index = description.one(solution, RS["index"])
        positions.append(None if index is None else int(index.value))
    ordered = bool(rows) and None not in positions
    if ordered:
        rows = [row for _, row in sorted(zip(positions, rows, strict=True), key=lambda p: p[0])]
    names = tuple(name.value for name in description.all(results, RS.resultVariable))
    return Solutions(names, rows, ordered)


# --- comparing ---------------------------------------------------------------------------


def same_answer(expected: Answer, actual: Answer) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, Graph) or isinstance(actual, Graph):
        if not (isinstance(expected, Graph) and isinstance(actual, Graph)):
            return False
        return isomorphic(expected.triples, actual.triples)
    if set(expected.variables) != set(actual.variables):
        return False
    if expected.plain:
        return _plain_rows(expected.rows) == _plain_rows(actual.rows, actual.variables)
    left = [{name: normal(term) for name, term in row.items()} for row in expected.rows]
    right = [{name: normal(term) for name, term in row.items()} for row in actual.rows]
    if expected.ordered:
        if len(left) != len(right):
            return False
        return _matched([(a, [b]) for a, b in zip(left, right, strict=True)], {}, {})
    return same_rows(left, right)


def normal(term: Term) -> Term:
    """A number in one lexical form per value and datatype; other terms as they are."""
    if not isinstance(term, Literal) or term.language is not None:
        return term
    try:
        if term.datatype in (XSD.double, XSD.float):
            return Literal(repr(float(term.value)), datatype=term.datatype)
        if term.datatype in (XSD.decimal, XSD.integer):
            text = format(Decimal(term.value), "f")
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return Literal(text, datatype=term.datatype)
    except (ValueError, InvalidOperation):
        pass
    return term


def isomorphic(left: Iterable[Triple], right: Iterable[Triple]) -> bool:
    return _canonical(left) == _canonical(right)


def _canonical(triples: Iterable[Triple]) -> Dataset:
    dataset = Dataset(Quad(t.subject, t.predicate, normal(t.object)) for t in triples)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def same_rows(left: list[Row], right: list[Row]) -> bool:
    """Whether the rows are equal as multisets under one renaming of the blank nodes."""
    if Counter(map(_shape, left)) != Counter(map(_shape, right)):
        return False
    candidates = defaultdict(list)
    for row in right:
        candidates[_shape(row)].append(row)
    open_rows = [row for row in left if any(isinstance(t, BlankNode) for t in row.values())]
    open_rows.sort(key=lambda row: len(candidates[_shape(row)]))
    return _matched([(row, candidates[_shape(row)]) for row in open_rows], {}, {})


def _shape(row: Row) -> frozenset:
    """A row without the names of its blank nodes."""
    return frozenset((name, None if isinstance(term, BlankNode) else term) for name, term in row.items())


def _matched(
    rows: list[tuple[Row, list[Row]]], forth: dict, back: dict, used: frozenset = frozenset()
) -> bool:
    """Backtracking search for a partner for each row, with a one to one renaming."""
    if not rows:
        return True
    (row, candidates), *others = rows
    for candidate in candidates:
        if id(candidate) in used:
            continue
        renaming = _renamed(row, candidate, forth, back)
        if renaming and _matched(others, *renaming, used | {id(candidate)}):
            return True
    return False


def _renamed(row: Row, candidate: Row, forth: dict, back: dict) -> tuple[dict, dict] | None:
    """The renaming, extended so that the two rows are equal; None if that cannot be."""
    if row.keys() != candidate.keys():
        return None
    forth, back = dict(forth), dict(back)
    for name, term in row.items():
        other = candidate[name]
        if isinstance(term, BlankNode) and isinstance(other, BlankNode):
            if forth.setdefault(term, other) != other or back.setdefault(other, term) != term:
                return None
        elif term != other:
            return None
    return forth, back


def _plain_rows(rows: Sequence[Row], names: Sequence[str] | None = None) -> Counter:
    """Rows as CSV has them: text only, blank nodes without a name, numbers by value."""

    def plain(term: Term | None) -> object:
        text = "" if term is None else term.value
        if isinstance(term, BlankNode) or text.startswith("_:"):
            return BlankNode
        try:
            return float(text)
        except ValueError:
            return text

    return Counter(frozenset((name, plain(row.get(name))) for name in (names or row)) for row in rows)


def difference(expected: Answer, actual: Answer) -> str:
    """What a person needs to see when an answer is wrong."""
    return f"expected:\n{_shown(expected)}\nanswered:\n{_shown(actual)}"


def _shown(answer: Answer) -> str:
    if isinstance(answer, bool):
        return f"  {answer}"
    if isinstance(answer, Graph):
        return "\n".join(sorted(f"  {triple}" for triple in answer.triples)) or "  (no triples)"
    rows = ["  " + " ".join(f"?{n}={_short(row[n])}" for n in sorted(row)) for row in answer.rows]
    return "\n".join([f"  {' '.join(sorted(answer.variables))}", *sorted(rows)])


def _short(term: Term) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)

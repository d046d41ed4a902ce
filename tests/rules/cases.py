"""The cases of cases.txt: premises, and what one rule of the library makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Literal, Quad

import penstock.rules
from oracle.model import Triple
from oracle.notation import triples
from oracle.rules import kept
from penstock.terms import Term

LIBRARY = Path(penstock.rules.__file__).parent / "library"
ARROWS = ("=>", "~>", "/>", "!!")
PREFIXES = "".join(
    f"PREFIX {prefix}: <{iri}>\n"
    for prefix, iri in {
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "owl": "http://www.w3.org/2002/07/owl#",
    }.items()
)
Solution = frozenset[tuple[str, Term]]


@dataclass(frozen=True)
class Case:
    rules: tuple[str, ...]  # the first is the one that is tried
    line: int
    premises: str
    arrow: str
    result: tuple[str, ...]  # a text, or a line for each solution

    def __str__(self) -> str:
        return f"{self.rules[0]}:{self.line}"

    @property
    def fires(self) -> bool:
        return self.arrow != "/>" and any(self.result)

    @property
    def texts(self) -> list[str]:
        return [(LIBRARY / f"{name}.rq").read_text(encoding="utf-8") for name in self.rules]

    @cached_property
    def given(self) -> frozenset[Triple]:
        return _triples(self.premises)

    @property
    def kept(self) -> bool:
        """Whether pyoxigraph's store gives all its terms back as they are."""
        told = [*self.given, *(self.told if self.arrow != "!!" else ())]
        told += [(None, None, term) for solution in self.solutions for _, term in solution]
        return all(kept(o) for _, _, o in told if isinstance(o, Literal))

    @property
    def told(self) -> frozenset[Triple]:
        return _triples(self.result[0])

    @property
    def solutions(self) -> frozenset[Solution]:
        return frozenset(map(_solution, filter(None, self.result))) if self.arrow == "!!" else frozenset()

    def holds(self, new: Iterable[Triple]) -> bool:
        """Whether these new triples are as the case says."""
        new, told = frozenset(new), self.told
        match self.arrow:
            case "=>":
                return canonical(new) == canonical(told)
            case "~>":
                return told <= new
            case "/>":
                return not told & new
        raise AssertionError(self.arrow)


def _triples(turtle: str) -> frozenset[Triple]:
    return frozenset(triples(PREFIXES + turtle)) if turtle else frozenset()


def _solution(line: str) -> Solution:
    pairs = re.findall(r"\?(\w+)\s+((?:(?!\?\w+\s).)+)", line)
    return frozenset((name, next(iter(_triples(f":s :p {term}")))[2]) for name, term in pairs)


def canonical(found: Iterable[Triple]) -> frozenset[Quad]:
    """The triples with blank nodes named by what is said of them."""
    found = frozenset(found)
    if not any(isinstance(term, BlankNode) for triple in found for term in triple):
        return frozenset(Quad(*triple) for triple in found)
    dataset = Dataset(Quad(*triple) for triple in found)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return frozenset(dataset)


def read(path: Path) -> Iterator[Case]:
    rules: tuple[str, ...] = ()
    premises, open_case, done = "", None, True
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        arrow, rest = line[:2], line[2:].strip()
        if open_case and not (arrow == "!!" == open_case.arrow and not done):
            yield open_case
            open_case = None
        if not line or line.startswith("#"):
            continue
        if arrow == "==":
            rules, premises, done = tuple(rest.replace(" with ", " ").split()), "", True
        elif arrow in ARROWS:
            before = open_case.result if open_case else ()
            start = open_case.line if open_case else number
            open_case = Case(rules, start, premises, arrow, (*before, rest))
            done = False
        else:
            premises, done = line, True
    if open_case:
        yield open_case


CASES = tuple(read(Path(__file__).parent / "cases.txt"))

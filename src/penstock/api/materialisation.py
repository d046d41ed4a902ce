"""Graphs with all that follows from them under rules: in process, on columns, without Spark.

    files ──read──▶ columns ──close──▶ columns ──write──▶ a file, or an Arrow table

Rules apply to the default graph: all unnamed graphs of data and ontologies together. Named graphs are read by
GRAPH in rules, and passed through.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.arguments import iri_or_none, shown
from penstock.columns.terms import TermTable
from penstock.decode.formats import split_suffixes
from penstock.decode.graphs import FORMATS
from penstock.errors import Finding, InputError, PenstockWarning, UsageError, is_there
from penstock.knowledge.graphs import StaticGraph, graph_of, read_graphs
from penstock.knowledge.imports import import_findings
from penstock.knowledge.lists import list_findings
from penstock.reason.closing import Closure
from penstock.reason.conflicts import Conflict, conflict_text
from penstock.reason.evaluation import OPTIONS, Options
from penstock.rules.instant import at_instant
from penstock.rules.library import ruleset
from penstock.rules.rule import Rule
from penstock.sinks.graphs import GraphColumns, GraphOutput
from penstock.terms import triple_of

Place = str | os.PathLike[str]
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Materialised:
    """What follows from some graphs. `len` counts the triples of the default graph, given and inferred."""

    closure: Closure
    rules: tuple[Rule, ...]
    named: tuple[StaticGraph, ...] = ()  # the named graphs, as they were given
    findings: tuple[Finding, ...] = ()  # what looks wrong about what was given
    seconds: float = 0.0  # that closing took

    def __len__(self) -> int:
        return self.triples.shape[1]

    def __repr__(self) -> str:
        return f"<penstock.Materialised: {len(self):,} triples, {self.inferred.shape[1]:,} of them inferred>"

    @cached_property
    def triples(self) -> np.ndarray:
        return self.closure.triples

    @cached_property
    def inferred(self) -> np.ndarray:
        return self.closure.inferred

    @property
    def given(self) -> int:
        """How many distinct triples of the default graph were given."""
        return len(self) - self.inferred.shape[1]

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The contradictions: each has the rule that found it, what that means, and terms by variable."""
        return tuple(self.closure.conflicts())

    @property
    def consistent(self) -> bool:
        return not self.conflicts

    @property
    def derived(self) -> dict[str, int]:
        """How many triples each rule has added."""
        return self.closure.derived

    @property
    def dropped(self) -> dict[str, int]:
        """How many times each rule derived what is no triple, since its subject is a literal."""
        return self.closure.dropped

    def to_arrow(self, *, only_new: bool = False) -> pa.Table:
        """The triples of the default graph as columns of N-Triples texts: subject, predicate, object."""
        columns = self.inferred if only_new else self.triples
        texts = (self.closure.terms.encoded(column) for column in columns)
        return pa.table(dict(zip(("subject", "predicate", "object"), texts, strict=True)))

    def to_pandas(self, *, only_new: bool = False):
        return self.to_arrow(only_new=only_new).to_pandas()

    def write(self, place: Place, *, only_new: bool = False, overwrite: bool = False) -> None:
        """Writes N-Triples, N-Quads, Turtle or TriG, as the ending says; also with .gz and .zst."""
        self.write_to(GraphOutput(place, overwrite=overwrite), only_new=only_new)

    def write_to(self, file: GraphOutput, *, only_new: bool = False) -> None:
        terms = self.closure.terms
        if only_new:
            file.write([GraphColumns(None, self.inferred, terms)])
            return
        file.check(graph.iri for graph in self.named)
        named = (GraphColumns(graph.iri, graph.triples, TermTable(graph.terms)) for graph in self.named)
        file.write([GraphColumns(None, self.triples, terms), *named])


def read_all(
    places: Iterable[Place], base: str | None = None, tell: Tell = lambda line: None
) -> tuple[list[StaticGraph], list[str]]:
    """The graphs of files and directories, and the addresses of the files."""
    graphs: list[StaticGraph] = []
    addresses: list[str] = []
    for place in places:
        for path in _files_at(Path(place)):
            tell(f"reading {path}")
            graphs += read_graphs(str(path), base=base)
            addresses.append(path.absolute().as_uri())
    return graphs, addresses


def _files_at(path: Path) -> list[Path]:
    if not is_there(path):
        raise UsageError(f"there is no file {path}")
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.iterdir() if split_suffixes(each.name)[0] in FORMATS)
    if not files:
        raise UsageError(f"there is no graph in {path}", hint=f"files of graphs end in {' '.join(FORMATS)}")
    return files


def materialised(
    graphs: Sequence[StaticGraph],
    rules: Sequence[Rule],
    *,
    addresses: Sequence[str] = (),
    options: Options = OPTIONS,
    tell: Tell = lambda line: None,
) -> Materialised:
    """Closes the unnamed ones among graphs under rules; `addresses` are of files that were read."""
    unnamed = [graph for graph in graphs if graph.iri is None]
    named = tuple(graph for graph in graphs if graph.iri is not None)
    found = (*import_findings(graphs, addresses), *list_findings(unnamed))
    tell(f"closing {sum(map(len, unnamed)):,} triples under {len(rules)} rules")
    begin = time.perf_counter()
    closure = Closure(at_instant(rules, time.time_ns() // 1000), options=options)
    for graph in named:
        closure.add_named(graph.iri, graph.triples, graph.terms)
    for graph in unnamed:
        closure.add(graph.triples, graph.terms)
    return Materialised(closure, tuple(rules), named, found, time.perf_counter() - begin)


def refuse_conflicts(found: Materialised) -> None:
    """With --strict, what contradicts itself is not gone on with."""
    if not found.consistent:
        first, *others = found.conflicts
        raise InputError(
            f"what was given is inconsistent: {conflict_text(first, found.rules)}",
            hint="correct it, drop the rule, or leave out --strict"
            + (f"; there are {len(others):,} more contradictions" if others else ""),
        )


def materialise(
    data: Any,
    *,
    rules: Any,
    ontology: Any = (),
    base: str | None = None,
    strict: bool = False,
) -> Materialised:
    """Graphs with all that follows from them under rules, in this process.

    `data` and `ontology` are files or directories, or iterables of triples (pyoxigraph's, rdflib's, an
    rdflib graph). `rules` are names of regimes, files, directories, or `Rule`s; one or several. What looks
    wrong is a warning; with `strict`, what is inconsistent is an error.
    """
    base = iri_or_none(base, "base")
    chosen = _rules(rules)
    read = [_graphs(data, base), _graphs(ontology, base)]
    graphs = [graph for some, _ in read for graph in some]
    found = materialised(graphs, chosen, addresses=[each for _, some in read for each in some])
    for finding in found.findings:
        warnings.warn(finding.located(None, None), PenstockWarning, stacklevel=2)
    if strict:
        refuse_conflicts(found)
    return found


def _rules(given: Any) -> list[Rule]:
    several = [given] if isinstance(given, (str, os.PathLike, Rule)) else given
    try:
        several = list(several)
    except TypeError:
        raise UsageError(
            f"rules are names of regimes, files, or rules, and {shown(given)} is none",
            hint='as in rules="owl2-rl" or rules=["rdfs", "my.rq"]',
        ) from None
    ready = [each for each in several if isinstance(each, Rule)]
    return [*ruleset([os.fspath(each) for each in several if not isinstance(each, Rule)]), *ready]


def _graphs(given: Any, base: str | None) -> tuple[list[StaticGraph], list[str]]:
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    try:
        several = list(given)
    except TypeError:
        raise UsageError(
            f"data is a file, several, or triples, and {shown(given)} is none of these",
            hint='as in materialise("data.ttl", rules="rdfs")',
        ) from None
    if all(isinstance(each, (str, os.PathLike)) for each in several):
        return read_all(several, base)
    return [graph_of(map(triple_of, several), None)], []

"""RDF lists that are none: rules over their members derive nothing, or not what was meant.

A list is a chain of cells, each with one rdf:first and one rdf:rest, down to rdf:nil. RDF lets anything be
written; what cannot be meant is told with the node, and by whom it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.errors import Finding
from penstock.knowledge.graphs import StaticGraph
from penstock.terms import RDF

_MOST = 5  # findings of one kind
_HINT = "rules over the members of this list derive nothing from it, or not what was meant"


def list_findings(graphs: Sequence[StaticGraph]) -> list[Finding]:
    """What is wrong with the lists of some graphs, which are read as one."""
    if not graphs:
        return []
    first, rest, nil = (id_of(term, graphs[0].key) for term in (RDF.first, RDF.rest, RDF.nil))
    triples = np.concatenate([graph.triples for graph in graphs], axis=1)
    if not (triples[1] == rest).any():
        return []
    cells = ListCells(triples, first, rest, nil)
    kinds = {
        "the list at {} loops: it never reaches rdf:nil": cells.looping(),
        "the list cell {} has several rdf:first": cells.several(cells.first[0]),
        "the list cell {} has several rdf:rest": cells.several(cells.rest[0]),
        "the list at {} has several heads: it is the rdf:rest of several cells": cells.shared(),
        "the list breaks off at {}, which is neither a cell nor rdf:nil": cells.open_ends(),
    }
    found: list[Finding] = []
    for sentence, nodes in kinds.items():
        for node in nodes[:_MOST].tolist():
            text = sentence.format(_in_words(node, cells.users(node), graphs))
            found.append(Finding("broken-list", text, _HINT))
        if len(nodes) > _MOST:
            more = f"so it is with {len(nodes) - _MOST:,} more: {sentence.format('…')}"
            found.append(Finding("broken-list", more))
    return found


def _in_words(node: int, users: np.ndarray, graphs: Sequence[StaticGraph]) -> str:
    """A node, and one that uses the list, since a blank node has no name that its author knows."""
    terms = TermTable()
    for graph in graphs:
        terms.add_chunk(graph.terms.among(np.append(users.reshape(-1), node)))
    words = str(terms.term(node))
    if users.shape[1]:
        subject, predicate = (terms.term(int(each)) for each in users[:2, 0])
        words += f" (used in {subject} {predicate})"
    return words


class ListCells:
    """The cells of all lists: `first` and `rest` are pairs of node and value, each pair once."""

    def __init__(self, triples: np.ndarray, first: int, rest: int, nil: int) -> None:
        self.nil = nil
        self.first, self.rest = (
            np.unique(triples[:, triples[1] == predicate][::2], axis=1) for predicate in (first, rest)
        )
        self.uses = triples[:, (triples[1] != first) & (triples[1] != rest)]
        # Each node once, and where its (least) rest is among them; the last cell of a list stays where it is.
        self.nodes = np.unique(self.rest)
        self.following = np.arange(len(self.nodes))
        at, begin = np.unique(self.rest[0], return_index=True)
        self.following[np.searchsorted(self.nodes, at)] = np.searchsorted(self.nodes, self.rest[1, begin])
        self.has_rest = np.isin(self.nodes, at)

    @staticmethod
    def several(nodes: np.ndarray) -> np.ndarray:
        """Those that stand more than once among nodes."""
        distinct, counts = np.unique(nodes, return_counts=True)
        return distinct[counts > 1]

    def shared(self) -> np.ndarray:
        """Cells that are the rest of several others, and on no loop (there one of them leads into it)."""
        found = self.several(self.rest[1])
        return found[(found != self.nil) & ~np.isin(found, self.nodes[self._on_loops()])]

    def open_ends(self) -> np.ndarray:
        """Nodes where a list ends that are not rdf:nil."""
        return self.nodes[~self.has_rest & (self.nodes != self.nil)]

    def _ends(self) -> np.ndarray:
        """Where one is after so many steps that every chain has ended: a step twice as long each time."""
        reached = self.following
        for _ in range(max(1, len(self.nodes)).bit_length()):
            reached = reached[reached]
        return reached

    def _on_loops(self) -> np.ndarray:
        reached = np.unique(self._ends())
        return reached[self.has_rest[reached]]

    def looping(self) -> np.ndarray:
        """One node of each loop."""
        return self.nodes[list(self._one_of_each(self._on_loops()))] if len(self.nodes) else self.nodes

    def _one_of_each(self, on_loops: np.ndarray) -> Iterator[int]:
        seen: set[int] = set()
        for place in on_loops.tolist():
            if place in seen:
                continue
            yield place
            while place not in seen:
                seen.add(place)
                place = int(self.following[place])

    def users(self, node: int) -> np.ndarray:
        """The triples that use a list with this node in it: as its object, or an earlier cell of the list."""
        cells, rests = self.rest[:, np.argsort(self.rest[1])]
        members, found = {node}, [node]
        while found:
            some = np.array(found)
            begin, end = (np.searchsorted(rests, some, side) for side in ("left", "right"))
            before = (int(cell) for a, b in zip(begin, end, strict=True) for cell in cells[a:b])
            found = [cell for cell in dict.fromkeys(before) if cell not in members]
            members.update(found)
        return self.uses[:, np.isin(self.uses[2], np.fromiter(members, np.int64))]

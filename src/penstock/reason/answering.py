"""Static knowledge closed only as far as what is wanted of it: ontologies first, then the rest above them.

What is written in the vocabulary of ontologies is closed under all rules. The other triples are one
element above it, for which rules are selected as for those of streams (`selecting.py`); if that brings
forth ontologies, it is closed with all rules, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge, StaticGraph
from penstock.reason.axioms import OF_EVERYTHING, OF_ONTOLOGIES
from penstock.reason.closing import Closure
from penstock.reason.conflicts import Conflict
from penstock.reason.elements import ElementReasoner
from penstock.reason.selecting import Selection, Wanted
from penstock.rules.rule import Rule
from penstock.terms import RDF

_ONE = -1  # the element that all is


class WantedClosure:
    """What `Closure` would give, of that which is wanted; graphs with names are read by GRAPH."""

    def __init__(
        self, rules: Sequence[Rule], graphs: Sequence[StaticGraph], wanted: Wanted, key: int
    ) -> None:
        ontology = Closure(rules, key)
        named = [graph for graph in graphs if graph.iri is not None]
        for graph in named:
            ontology.add_named(graph.iri, graph.triples, graph.terms)
        rest = [np.empty((3, 0), np.int64)]
        texts = TermTable(key=key)
        for graph in graphs:
            if graph.iri is None:
                about = of_ontologies(graph.triples, TermTable(graph.terms, key=key))
                ontology.add(graph.triples[:, about], graph.terms)
                rest.append(graph.triples[:, ~about])
                texts.add_chunk(graph.terms)
        triples = np.concatenate(rest, axis=1)
        self.terms = TermTable(texts.chunk(), key=key)
        self.selection: Selection | None = None
        if ontology.has_equals:  # which representatives stand for, and elements have none
            ontology.add(triples, texts.subset(triples.reshape(-1)))
            self.triples, self.inferred, self.dropped = ontology.triples, ontology.inferred, ontology.dropped
            self._conflicts = ontology.conflicts()
        else:
            self._select(rules, ontology, named, triples, wanted)
        self.terms.add_chunk(ontology.terms.chunk())

    def _select(
        self,
        rules: Sequence[Rule],
        ontology: Closure,
        named: Sequence[StaticGraph],
        triples: np.ndarray,
        wanted: Wanted,
    ) -> None:
        """Closes triples above the ontology with the rules that are needed."""
        reasoner = ElementReasoner(
            rules,
            Knowledge(
                (None, *(graph.iri for graph in named)),
                (ontology.triples, *(graph.triples for graph in named)),
                ontology.terms,
            ),
            wanted=wanted,
        )
        zeros = np.zeros(triples.shape[1], np.int64)
        texts = self.terms.subset(triples.reshape(-1))
        subject, predicate, object_ = triples
        given = Occurrences(subject, predicate, object_, zeros, zeros, terms=texts, element=zeros + _ONE)
        found = reasoner.close(given)
        both = np.stack([found.subject, found.predicate, found.object])
        self.terms.add_chunk(found.terms)
        self.triples = np.unique(np.concatenate([ontology.triples, both], axis=1), axis=1)
        self.inferred = np.concatenate([ontology.inferred, both[:, triples.shape[1] :]], axis=1)
        self.selection = reasoner.selection
        self.dropped = {
            rule: ontology.dropped.get(rule, 0) + reasoner.dropped.get(rule, 0)
            for rule in {*ontology.dropped, *reasoner.dropped}
        }
        self._conflicts = [*ontology.conflicts(), *(conflict for _, conflict in reasoner.conflicts)]

    def conflicts(self) -> list[Conflict]:
        return list(dict.fromkeys(self._conflicts))


def of_ontologies(triples: np.ndarray, terms: TermTable) -> np.ndarray:
    """Which triples are written in the vocabulary of ontologies."""
    ids = np.unique(triples[1:])
    texts = terms.texts(ids)
    in_it = np.zeros(len(ids), bool)
    for space in OF_ONTOLOGIES:
        in_it |= pc.starts_with(texts, pattern=f"<{space}").to_numpy(zero_copy_only=False)
    vocabulary = ids[in_it]
    type_ = terms.add(RDF.type)
    everything = [terms.add(each) for each in OF_EVERYTHING]
    classes = vocabulary[~np.isin(vocabulary, everything)]
    typed = triples[1] == type_
    return np.where(typed, np.isin(triples[2], classes), np.isin(triples[1], vocabulary))

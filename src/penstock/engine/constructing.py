"""CONSTRUCT: a template's triples for each solution, as occurrences that may feed the streams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.algebra.nodes import Var
from penstock.columns.frame import Frame
from penstock.columns.terms import TermTable
from penstock.engine.operators import BlockingOperator, Clock, OperatorContext, Seen, is_literal
from penstock.engine.presence import uncut
from penstock.engine.store import until_end
from penstock.functions import chance
from penstock.plan import steps, system_columns
from penstock.terms import BlankNode
from penstock.timeline import is_timeless


class ConstructedOperator(BlockingOperator):
    """Each triple occurrence once: the result is a set, like the stream that it enters."""

    def __init__(self, step: steps.Constructed, name: str, context: OperatorContext) -> None:
        super().__init__(step, name, context)
        self.template = ConstructTemplate(step, self.terms)
        self.seen = Seen(self.store("seen", step.vars, until_end))

    def advance(self, inputs: list[Frame], clock: Clock) -> Iterator[Frame]:
        yield self.seen.add(self.template.triples(inputs[0]))


class ConstructTemplate:
    """What a template makes of solutions."""

    def __init__(self, step: steps.Constructed, terms: TermTable) -> None:
        self.step = step
        self.terms = terms

    def triples(self, frame: Frame) -> Frame:
        """The triples of each solution; not those that are none in RDF."""
        fresh: dict[str, np.ndarray] = {}
        triples = []
        for triple in self.step.template:
            columns = [self._column(term, frame, fresh) for term in triple]
            columns += [frame.column(var) for var in self.step.vars[len(steps.TRIPLE) :]]
            made = frame.binding(self.step.vars, np.stack(columns))
            made = made.take((made.ids[: len(steps.TRIPLE)] != 0).all(axis=0))
            sound = ~is_literal(made.ids[0], self.terms)
            if not self.step.internal:
                sound &= self._is_iri(made.ids[1])
            triples.append(made.take(sound))
        return Frame.concat(triples, self.step.vars)

    def _column(self, term, frame: Frame, fresh: dict[str, np.ndarray]) -> np.ndarray:
        if isinstance(term, Var):
            return frame.column(term.name)
        if isinstance(term, BlankNode):
            if term.value not in fresh:
                fresh[term.value] = self._blank_nodes(term.value, frame)
            return fresh[term.value]
        return np.full(len(frame), self.terms.add(term), np.int64)

    def _blank_nodes(self, label: str, frame: Frame) -> np.ndarray:
        """A blank node for each solution, named after ⟨rule, μ, t, t′⟩ so that a replay names it alike."""
        rows = zip(*frame.ids.tolist(), uncut(frame).tolist(), frame.end.tolist(), strict=True)
        result = np.empty(len(frame), np.int64)
        for i, (*ids, start, end) in enumerate(rows):
            bindings = [
                (var, self.terms.term(id_))
                for var, id_ in zip(frame.vars, ids, strict=True)
                if id_ and system_columns.is_variable(var)
            ]
            interval = (None, None) if is_timeless(start, end) else (start, end)
            seed = chance.solution_seed(bindings, *interval)
            result[i] = self.terms.add(chance.template_blank(self.step.rule, label, seed))
        return result

    def _is_iri(self, ids: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(ids, return_inverse=True)
        texts = self.terms.texts(distinct).to_pylist()
        return np.array([text[:1] == b"<" for text in texts], bool)[inverse.reshape(-1)]

"""The steps of paths of any length: automata whose walks are followed (decision 0014)."""

from __future__ import annotations

from functools import cached_property, reduce
from operator import and_, or_

from penstock.algebra.relations import ANY, Relation
from penstock.plan.steps.step import Step, Vars, joined, step_class

Transitions = tuple[tuple[int, int, int], ...]
"""From a state, by the label in a place, to a state. Walks begin in state 0."""


class Walks(Step):
    """The base of steps that follow the walks of an automaton."""

    labels: tuple[Step, ...]
    transitions: Transitions
    accepting: frozenset[int]

    def _needed(self, labels: tuple) -> list:
        """What is said of those labels that every walk goes along."""
        return [said for label, said in enumerate(labels) if not self._leads_on_without(label)]

    def _leads_on_without(self, label: int) -> bool:
        reached, before = {0}, 0
        while len(reached) > before:
            before = len(reached)
            reached |= {
                target for source, by, target in self.transitions if by != label and source in reached
            }
        return bool(reached & self.accepting)


@step_class
class PathWalk(Walks):
    """Where the walks of an automaton lead: nodes (column `.y`), for `pairs` also where each began (`.x`).

    Each label is a relation of nodes `.x` and `.y`. Walks begin in state 0 at the nodes `.y` of
    `start`, or at every node; they have the hull of what they went along. Further columns come last: the
    element, and the tag of an outer solution of EXISTS. What a walk goes along agrees in them.
    """

    labels: tuple[Step, ...]
    transitions: Transitions
    accepting: frozenset[int]
    start: Step | None = None
    pairs: bool = False
    within: int | None = None
    relation: Relation = ANY

    def gives(self, inputs: tuple) -> object:
        needed = self._needed(inputs[: len(self.labels)])
        needed += inputs[len(self.labels) :]  # where walks begin
        return reduce(and_, needed) if needed else reduce(or_, inputs)

    @cached_property
    def vars(self) -> Vars:
        return (".x", ".y")[not self.pairs :] + self.further

    @cached_property
    def further(self) -> Vars:
        """The columns beside nodes: walks go along rows that agree in them."""
        return self.labels[0].vars[2:]

    @cached_property
    def certain(self) -> frozenset[str]:
        return frozenset(self.vars).intersection(*(label.certain for label in self.labels))


@step_class
class Expand(Walks):
    """The input's rows, each with every node to which walks lead from the node in column `begin`.

    That is the join with the pairs of a path over static triples, which are found from what rows bind.
    Labels, transitions and states are as in `PathWalk`. The nodes are column `end`; where the input has it,
    rows stay if a walk leads there. `backwards`: rows have where walks end, and are given where these begin.
    """

    expiry_known = memoryless = True

    input: Step
    labels: tuple[Step, ...]
    transitions: Transitions
    accepting: frozenset[int]
    begin: str
    end: str
    backwards: bool = False

    @cached_property
    def vars(self) -> Vars:
        return joined(self.input.vars, (self.end,))

    def filtered_input(self, looked_at: frozenset[str]) -> str | None:
        return "input" if looked_at <= self.input.certain else None

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain | {self.end}

    def gives(self, inputs: tuple) -> object:
        return reduce(and_, self._needed(inputs[1:]), inputs[0])

    @property
    def longest(self) -> int | None:
        return self.input.longest

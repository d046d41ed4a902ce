"""Triples that a query makes."""

from __future__ import annotations

from functools import cached_property

from penstock.algebra.nodes import TriplePattern
from penstock.plan.steps.step import (
    OfInput,
    Step,
    Streams,
    Vars,
    step_class,
)
from penstock.plan.system_columns import BEGAN, ELEMENT

TRIPLE = ("subject", "predicate", "object")
"""The columns of what a template makes."""


@step_class
class Constructed(OfInput):
    """The template's triples for each solution; `rule` names its blank nodes.

    `feeds`: who reads the rule graph `target` reads them (None: the default graph of every query), and
    `instants` are instants of that. Of `internal`, the predicate may be any term.
    `element`: each element has its own, and the last column has the element's number.
    """

    input: Step
    template: tuple[TriplePattern, ...]
    rule: str
    feeds: bool = True
    target: str | None = None
    instants: Streams = frozenset()
    internal: bool = False
    element: bool = False

    @property
    def passes_on(self) -> Streams:
        return self.instants

    @property
    def expiry_known(self) -> bool:
        return BEGAN not in self.input.vars

    @cached_property
    def vars(self) -> Vars:
        others = (ELEMENT,) if self.element else ()
        return (*TRIPLE, *others, BEGAN) if BEGAN in self.input.vars else (*TRIPLE, *others)

    certain = frozenset(TRIPLE)

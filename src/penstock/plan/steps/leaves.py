"""Where rows come from: streams and static graphs, VALUES, and elements that were answered by themselves."""

from __future__ import annotations

from functools import cached_property

from penstock.plan import sources
from penstock.plan.sources import Sources
from penstock.plan.steps.step import (
    Arriving,
    Step,
    Vars,
    step_class,
)
from penstock.plan.system_columns import ELEMENT
from penstock.terms import Term

_OF_NONE = frozenset((ELEMENT,))
"""What static triples leave unbound."""


Triple = tuple[Term | str, Term | str, Term | str]
"""Terms to match, and names of columns."""


@step_class
class Scan(Arriving):
    """The occurrences and static triples that match; columns are named after their positions.

    Each position holds a term to match, or the name of its column: `s`, `p` or `o`, or that
    of an earlier position which must hold the same term. `key` is the position by whose
    term rows are spread over shards; None: all go to one. `element`: the last column has the number
    of the element; static triples belong to none.
    """

    subject: Term | str
    predicate: Term | str
    object: Term | str
    sources: Sources
    key: str | None = None
    element: bool = False

    @cached_property
    def vars(self) -> Vars:
        names = [term for term in (self.subject, self.predicate, self.object) if isinstance(term, str)]
        return tuple(dict.fromkeys([*names, ELEMENT] if self.element else names))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.vars) - (_OF_NONE if sources.static_graphs(self.sources) else frozenset())

    @property
    def reads_stream(self) -> bool:
        return sources.timed(self.sources)

    @property
    def timed(self) -> bool:
        return sources.timed(self.sources) or sources.changing(self.sources)

    @property
    def retractable(self) -> bool:
        return sources.changing(self.sources)


@step_class
class InlineData(Step):
    """Inline data, timeless. `InlineData((), ((),))` is the unit; no rows: nothing ever."""

    memoryless = True

    vars: Vars
    rows: tuple[tuple[Term | None, ...], ...]

    def gives(self, inputs: tuple) -> object:
        return bool(self.rows)

    @cached_property
    def certain(self) -> frozenset[str]:
        return frozenset(
            var for i, var in enumerate(self.vars) if all(row[i] is not None for row in self.rows)
        )


@step_class
class PerElement(Arriving):
    """The solutions that a query has in each element by itself.

    Its input runs where elements are decoded, because all of an element is there: only solutions go
    through the exchange, spread by the number of their element, and nothing is remembered
    (`engine/elementwise.py`).
    """

    input: Step

    @property
    def inputs(self) -> tuple[Step, ...]:
        return ()

    @property
    def parts(self) -> tuple[Step, ...]:
        return (self.input,)

    @property
    def timed(self) -> bool:
        return True

    @cached_property
    def vars(self) -> Vars:
        return tuple(var for var in self.input.vars if var != ELEMENT)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)

    @property
    def reads_stream(self) -> bool:
        return self.input.reads_stream

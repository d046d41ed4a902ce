"""Windows to steps: what is read of a stream, and what a continuous query gives."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.nodes import Query
from penstock.algebra.windows import Continuous, Kind, Report, View, WindowSpec
from penstock.errors import QueryError
from penstock.plan import steps
from penstock.plan.catalog import Catalog
from penstock.plan.sources import RuleGraph, Sources, Stream, WindowSource
from penstock.plan.steps import Counted, Cut, DerivedScan, Matched, Reported, StatedScan, Step, Windowed
from penstock.plan.steps.windowing import would_always_report


def in_window(window: WindowSource, triple: steps.Triple, key: str | None, hidden: bool) -> Step:
    """The rows of a window that match a triple (as `Scan` has it), while they are in it."""
    if window.spec.kind is Kind.TRIPLES:
        return Matched(counted(window), *triple, hidden)
    scan = steps.Scan(*triple, in_elements(window) if hidden else window.streams, key, hidden)
    return Windowed(scan, window.spec, window.timeless)


def in_elements(window: WindowSource) -> Sources:
    """What a window looks at, read element by element."""
    return frozenset(
        replace(each, elements=True) if isinstance(each, RuleGraph) else each for each in window.streams
    )


def counted(window: WindowSource) -> Step:
    """All triples of a window that counts them."""
    own = in_elements(window)
    reasoned = frozenset(each for each in own if isinstance(each, Stream))  # only what comes from outside is
    if not (window.derives and reasoned):
        every = steps.Scan("s", "p", "o", own, element=True)
        return Counted(steps.Unique(every), window.spec, window.timeless)
    stated = StatedScan("s", "p", "o", own, element=True)
    derived = DerivedScan("s", "p", "o", reasoned, element=True)
    return Counted(steps.Unique(stated), window.spec, window.timeless, derived)


@dataclass(frozen=True)
class Evaluations:
    """What says when a query is evaluated: its windows, and the steps of those that count triples."""

    windows: tuple[WindowSource, ...]
    report: Report
    counted: tuple[Step, ...]

    def cut(self, step: Step, spec: WindowSpec) -> Step:
        """The rows of a window as it cuts them at these instants."""
        return Cut(step, spec, self.windows, self.report, self.counted)


def evaluations(continuous: Continuous, catalog: Catalog) -> Evaluations:
    """When a continuous query is evaluated."""
    for window in continuous.windows:
        if would_always_report(continuous.report, window.spec):
            raise QueryError(
                f"a window on <{window.stream.value}> would report at every instant",
                hint="give it a slide (STEP), or let it report on change",
            )
    graphs = continuous.view is View.GRAPH
    found = [catalog.shown_by(window, timeless=graphs) for window in continuous.windows]
    counting = tuple(counted(each) for each in found if each.spec.kind is Kind.TRIPLES)
    return Evaluations(tuple(found), continuous.report, counting)


def reported(query: Query, evaluated: Evaluations, answers: Step, cuts: tuple[WindowSpec, ...]) -> Step:
    """What a query gives of its answers, which change as its windows do and are cut by some of them."""
    how = query.continuous
    columns = tuple(var.name for var in query.vars) if how.bounds else ()
    made = (answers, evaluated.windows, evaluated.report, how.operator, evaluated.counted, cuts)
    return Reported(*made, how.bounds, columns)

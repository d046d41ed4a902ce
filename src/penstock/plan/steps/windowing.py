"""The steps of continuous queries (decision 0013): what windows show, and what is given when they report."""

from __future__ import annotations

from functools import cached_property

from penstock.algebra.nodes import TriplePattern
from penstock.algebra.relations import Relation
from penstock.algebra.windows import Bound, Report, StreamOperator, Tick, WindowSpec
from penstock.plan.sources import WindowSource, written_number
from penstock.plan.steps import Scan
from penstock.plan.steps.step import OfInput, SameColumns, SameIntervals, Step, Streams, Vars, step_class
from penstock.plan.system_columns import BEGAN, ELEMENT
from penstock.terms import Term


def filled(stream: int) -> int:
    """Among streams whose instants matter: the ends of those elements of a stream that have a triple."""
    return -1 - stream


@step_class
class Windowed(SameColumns):
    """The rows of a stream while a window over time shows them.

    `timeless`: without their intervals, as triples of a graph.
    """

    memoryless = True

    input: Step
    spec: WindowSpec
    timeless: bool

    longest = None

    @property
    def retractable(self) -> bool:
        return True

    @property
    def emits_retractions(self) -> bool:
        return False

    @property
    def timed(self) -> bool:
        return not self.timeless


@step_class
class StatedScan(Scan):
    """What elements state: not what rules derive from it."""


@step_class
class DerivedScan(Scan):
    """What rules derive from elements."""


@step_class
class Counted(SameColumns):
    """The triples of a stream while they are among the last ones: [TRIPLES n STEP m].

    Its input are all triples of the stream with the numbers of their elements. When the watermark has
    passed their ends, their order is known. What is `derived` from an element does not count, and is there
    as long as a triple of it.
    """

    input: Step
    spec: WindowSpec
    timeless: bool
    derived: Step | None = None

    waits = True
    longest = None
    instants: Streams = frozenset()

    @property
    def retractable(self) -> bool:
        return True

    @property
    def timed(self) -> bool:
        return not self.timeless


@step_class
class Matched(OfInput):
    """Those of some triples (`s`, `p`, `o`) that match, as a scan does; `element`: with their elements."""

    memoryless = True
    expiry_known = True

    input: Step
    subject: Term | str
    predicate: Term | str
    object: Term | str

    element: bool = False

    @cached_property
    def vars(self) -> Vars:
        names = [term for term in (self.subject, self.predicate, self.object) if isinstance(term, str)]
        return tuple(dict.fromkeys([*names, ELEMENT] if self.element else names))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.vars)


@step_class
class During(SameColumns):
    """The rows as long as some windows all reach back to a point of theirs, or only after that (`later`).

    The `point` is their `start` or `end`, or the instant in a column of `Stamped`; or `earlier` so many µs
    before it.
    """

    memoryless = True
    expiry_known = True

    input: Step
    specs: tuple[WindowSpec, ...]
    point: str
    later: bool
    earlier: int = 0


@step_class
class AntiJoin(SameColumns):
    """The rows while none of some others is there that is compatible and in a relation to them.

    `specs` are windows that cut the starts of these others: one that began before a row does is in the
    relation only from when the windows no longer reach back to before the row. `settled`: no other comes
    later than the rows that it is in the relation to, and it is known when it leaves; so what becomes of a
    row is known when it comes.
    """

    input: Step
    absent: Step
    relation: Relation
    specs: tuple[WindowSpec, ...] = ()
    settled: bool = False

    waits = True
    instants: Streams = frozenset()

    @property
    def awaited(self) -> tuple[Step, ...]:
        return (self.absent,)


@step_class
class Earliest(SameColumns):
    """Of rows with the same bindings and end the one that began first: a window cuts them all to the same."""

    input: Step


@step_class
class Latest(SameColumns):
    """Of rows with the same bindings the one that ended last."""

    input: Step


@step_class
class Timeless(SameColumns):
    """The rows without their intervals, there when they were."""

    memoryless = True
    expiry_known = True

    input: Step

    longest = None

    @property
    def timed(self) -> bool:
        return False


@step_class
class Stamped(SameIntervals):
    """Adds a column with the `start` or `end` of each row; unbound for what has no time."""

    memoryless = True
    expiry_known = True

    input: Step
    column: str
    point: str

    @cached_property
    def vars(self) -> Vars:
        return (*self.input.vars, self.column)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain


@step_class
class Retimed(OfInput):
    """The rows with the interval that two columns of `Stamped` say, and without these."""

    memoryless = True
    expiry_known = True

    input: Step
    start: str
    end: str

    @cached_property
    def vars(self) -> Vars:
        return tuple(var for var in self.input.vars if var not in (self.start, self.end))

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)

    @property
    def timed(self) -> bool:
        return True


class Evaluated(SameColumns):
    """The base of steps that look at the instants at which a query is evaluated: some window reports.

    `counted` are the windows of last triples among `windows`, in their order: what enters one of them
    says when it closes.
    """

    windows: tuple[WindowSource, ...]
    report: Report
    counted: tuple[Step, ...]

    waits = True
    longest = None

    @cached_property
    def instants(self) -> Streams:
        """All ends of elements; where content matters, also the ends of those that have a triple."""
        found = frozenset().union(*(window.numbers for window in self.windows))
        return found.union(map(filled, found)) if self.looks_at_content else found

    @property
    def looks_at_content(self) -> bool:
        return self.report.change or self.report.non_empty

    @property
    def reads_stream(self) -> bool:
        return True

    @property
    def retractable(self) -> bool:
        return True


@step_class
class Cut(Evaluated):
    """The rows with their intervals as a window cuts them, when the query is evaluated.

    What is not cut yet is there as it was. What is cut is another row at each evaluation, there at its
    instant only.
    """

    input: Step
    spec: WindowSpec
    windows: tuple[WindowSource, ...]
    report: Report
    counted: tuple[Step, ...] = ()


@step_class
class Begun(SameIntervals):
    """When combinations of two rows began before windows cut these: in BEGAN, with another such column.

    It is the earlier of both instants, or the `later` one, where intervals have in common what is left.
    """

    memoryless = True
    expiry_known = True

    input: Step
    other: str
    later: bool

    @cached_property
    def vars(self) -> Vars:
        return tuple(var for var in self.input.vars if var != self.other)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)


@step_class
class Reported(Evaluated):
    """What a query gives at the instants at which a window reports.

    Each row is there at its instant only. It is the same as one at the instant before if both began
    together before windows cut them: so says BEGAN, or their start, if windows cut only what is given.
    """

    input: Step
    windows: tuple[WindowSource, ...]
    report: Report
    operator: StreamOperator
    counted: tuple[Step, ...] = ()
    cuts: tuple[WindowSpec, ...] = ()  # the windows that cut what is given
    bounds: tuple[tuple[str, Bound], ...] = ()  # columns that say what the windows showed
    columns: Vars = ()  # all, in their order, if there are some of these

    @property
    def name(self) -> str:
        return self.operator.value

    @cached_property
    def answers(self) -> Vars:
        """The columns of a solution."""
        return tuple(var for var in self.input.vars if var != BEGAN)

    @cached_property
    def vars(self) -> Vars:
        return self.columns or self.answers

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)


@step_class
class Streamed(SameColumns):
    """What a continuous query gives, as elements of the stream `target`, which others read.

    `template` and `rule` are those of the triples.
    """

    input: Step
    template: tuple[TriplePattern, ...]
    rule: str
    target: str
    feeds: bool = True

    longest = None

    @property
    def passes_on(self) -> Streams:
        return frozenset((written_number(self.target),))

    @property
    def retractable(self) -> bool:
        return False

    @property
    def belated(self) -> bool:
        return False

    @property
    def after_the_fact(self) -> bool:
        return False


def would_always_report(report: Report, spec: WindowSpec) -> bool:
    """Whether a window would report at every instant."""
    bounded = report.period is not None or report.change or report.tick is Tick.TUPLE
    return not bounded and not (report.close and not spec.continuous)

"""The physical plan: what the engine executes, step by step.

Steps are frozen values, as algebra nodes are: equal steps are one operator at run time,
however many queries they come from. Each step knows the columns it gives (`vars`), which
of them are always bound (`certain`), and whether its rows depend on a stream.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import or_

from penstock.algebra.nodes import Aggregate, Expression, TriplePattern, tighter
from penstock.algebra.relations import ANY, HULL, IntervalRule, JoinBounds, Relation, Side
from penstock.plan import sources
from penstock.plan.analysis.bounds import duration_bound
from penstock.plan.sources import Sources
from penstock.plan.step import (
    Absence,
    Arriving,
    OfInput,
    PerInstant,
    SameColumns,
    SameIntervals,
    Step,
    TwoInputs,
    Vars,
    joined,
    step_class,
)
from penstock.plan.system_columns import BEGAN, ELEMENT
from penstock.terms import Term

Streams = frozenset[int]
"""The streams whose elements' ends are the instants of a query."""
TRIPLE = ("subject", "predicate", "object")
"""The columns of what a template makes."""
_OF_NONE = frozenset((ELEMENT,))
"""What static triples leave unbound."""


# --- leaves ------------------------------------------------------------------------------


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
class Table(Step):
    """Inline data, timeless. `Table((), ((),))` is the unit; no rows: nothing ever."""

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


# --- row by row --------------------------------------------------------------------------


@step_class
class Rename(SameIntervals):
    """The input's columns under other names, in its order."""

    memoryless = True
    expiry_known = True

    input: Step
    vars: Vars

    @cached_property
    def certain(self) -> frozenset[str]:
        pairs = zip(self.input.vars, self.vars, strict=True)
        return frozenset(new for old, new in pairs if old in self.input.certain)


@step_class
class Filter(SameColumns):
    """Solutions for which the condition holds."""

    memoryless = True
    expiry_known = True

    input: Step
    condition: Expression

    @cached_property
    def longest(self) -> int | None:
        return tighter(self.input.longest, duration_bound(self.condition))


@step_class
class Compute(SameIntervals):
    """Adds a column with the value of an expression (unbound where it is an error).

    `unseeded` are the columns that are no part of the solution's seed for random functions.
    """

    memoryless = True
    expiry_known = True

    input: Step
    var: str
    expression: Expression
    unseeded: frozenset[str] = frozenset()

    @cached_property
    def vars(self) -> Vars:
        return joined(self.input.vars, (self.var,))

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain - {self.var}


@step_class
class Columns(SameIntervals):
    """Keeps these columns in this order."""

    memoryless = True
    expiry_known = True

    input: Step
    vars: Vars

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)


@step_class
class Merge(TwoInputs):
    """UNION."""

    memoryless = True
    expiry_known = True

    left: Step
    right: Step

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.left.certain & self.right.certain

    def gives(self, inputs: tuple) -> object:
        return inputs[0] | inputs[1]


@step_class
class Unique(SameColumns):
    """Each ⟨μ, t, t′⟩ (of an element) once. `subsume`: no timed one whose μ is also there timeless."""

    input: Step
    subsume: bool = False

    @property
    def subsumes(self) -> bool:
        """Whether there can be something to subsume."""
        return self.subsume and self.timed

    @property
    def expiry_known(self) -> bool:
        return not self.subsumes and BEGAN not in self.vars


@step_class
class CorrelationTag(SameIntervals):
    """Adds a column that is the same for the same bindings of some columns, unbound ones included.

    It stands for an outer solution where EXISTS substitutes. Compatible is not enough there: what
    was found with a variable unbound says nothing about solutions that bind it.
    """

    memoryless = True
    expiry_known = True

    input: Step
    of: Vars
    tag: str

    @cached_property
    def vars(self) -> Vars:
        return (*self.input.vars, self.tag)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain | {self.tag}


@step_class
class OuterBindings(OfInput):
    """The distinct bindings of some variables of an outer solution, timeless: what EXISTS substitutes."""

    expiry_known = True

    input: Step
    vars: Vars
    query: str  # never shared: a reader that came later would not know what was asked for before

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.vars)

    @property
    def reads_stream(self) -> bool:
        return False

    @property
    def after_the_fact(self) -> bool:
        return False

    @property
    def gives_belated(self) -> bool:
        return True


# --- joins -------------------------------------------------------------------------------


@step_class
class Join(TwoInputs):
    """Combinations of compatible solutions whose intervals are in the relation.

    `within`: combinations longer than this many µs are of no use to anybody.
    """

    expiry_known = True

    left: Step
    right: Step
    relation: Relation = ANY
    interval: IntervalRule = HULL
    within: int | None = None

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.left.certain | self.right.certain

    def gives(self, inputs: tuple) -> object:
        return inputs[0] & inputs[1]

    @property
    def shared(self) -> Vars:
        right = frozenset(self.right.vars)
        return tuple(var for var in self.left.vars if var in right)

    @property
    def name(self) -> str:
        return self.relation.join_name()

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What the two sides know of each other's time."""
        return JoinBounds(self.relation, self.interval, self.within, (self.left.longest, self.right.longest))

    @property
    def longest(self) -> int | None:
        return self.within

    @property
    def after_the_fact(self) -> bool:
        return self._after_the_fact or self.gives_belated

    @property
    def gives_belated(self) -> bool:
        return self.interval is not HULL and self.reads_stream and not self.retractable

    def delayed(self, slot: int) -> bool:
        return self.interval is HULL and self.relation.ends_first((Side.LEFT, Side.RIGHT)[slot])


# --- absence: decided when the watermark has passed the required solution's end ----------------


@step_class
class LeftJoin(Absence):
    """The optional joins: `required` rows with what matches of `optional`, or alone.

    The relation reads (required, optional). Where rows stay, the optional one never ends later.
    The condition may bound the combination's duration: `within` follows from it. Each EXISTS of the
    condition is a column `marks[i]`, true where the combination finds a solution of `sought[i]`.
    `interval`: the hull, or the intersection; LEFT if combinations keep the required row's (DESCRIBE).
    """

    required: Step
    optional: Step
    relation: Relation
    condition: Expression | None = None
    within: int | None = None
    marks: Vars = ()
    sought: tuple[Step, ...] = ()
    instants: Streams = frozenset()
    interval: IntervalRule = HULL
    tags: tuple[tuple[Vars, str], ...] = ()  # as in `CorrelationTag`, of the combinations

    @cached_property
    def vars(self) -> Vars:
        return joined(self.required.vars, self.optional.vars)

    @property
    def name(self) -> str:
        if self.relation.inverted:
            return self.relation.converse.outer_name(Side.LEFT)
        return self.relation.outer_name(Side.RIGHT)

    @property
    def longest(self) -> int | None:
        return None  # the optional row may be much earlier

    @cached_property
    def join_bounds(self) -> JoinBounds:
        """What the two sides know of each other's time."""
        longest = (self.required.longest, self.optional.longest)
        return JoinBounds(self.relation, self.interval, self.within, longest)

    def delayed(self, slot: int) -> bool:
        return slot == 1 and self.interval is HULL and self.relation.ends_first(Side.RIGHT)


@step_class
class Minus(Absence):
    """MINUS."""

    required: Step
    absent: Step
    instants: Streams = frozenset()

    @property
    def vars(self) -> Vars:
        return self.required.vars


@step_class
class ExistsMark(Absence):
    """Adds a column that says whether a compatible solution of `sought` has ended by then: EXISTS."""

    required: Step
    sought: Step
    var: str
    instants: Streams = frozenset()

    @cached_property
    def vars(self) -> Vars:
        return (*self.required.vars, self.var)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.required.certain | {self.var}


# --- instants: the solutions that end together ---------------------------------------------


@step_class
class Aggregated(PerInstant):
    """GROUP BY and its aggregates over columns of the input, or `computed` ones.

    `computed` expressions are evaluated when timeless rows have got their instant. Each row of
    `groups` is a group at every instant, even without members: the implicit group.
    """

    input: Step
    keys: Vars
    aggregates: tuple[tuple[str, Aggregate, str | None], ...]  # result, aggregate, argument column
    instants: Streams = frozenset()
    computed: tuple[tuple[str, Expression], ...] = ()
    groups: Step | None = None

    def gives(self, inputs: tuple) -> object:
        return reduce(or_, inputs)

    @cached_property
    def vars(self) -> Vars:
        return self.keys + tuple(var for var, _, _ in self.aggregates)

    @cached_property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.keys)


@step_class
class Ordered(PerInstant, SameColumns):
    """ORDER BY within an instant; without keys, the total order of rows.

    `ties` are the columns that decide between equal rows; None: all of the input's.
    `computed` columns are as in `Aggregated`.
    """

    input: Step
    keys: tuple[tuple[str, bool], ...]  # column, descending
    instants: Streams = frozenset()
    ties: Vars | None = None
    computed: tuple[tuple[str, Expression], ...] = ()


@step_class
class Sliced(SameColumns):
    """OFFSET and LIMIT within an instant; its input is `Ordered` below row-by-row steps.

    `tag`: the column by which they apply to each outer solution of an EXISTS apart, or to each element.
    """

    per_instant = True

    input: Step
    offset: int
    limit: int | None
    tag: str | None = None

    @cached_property
    def below(self) -> tuple[Step, ...]:
        """The steps from its input down to `Ordered`."""
        found = [self.input]
        while not isinstance(found[-1], Ordered):
            found.append(found[-1].input)
        return tuple(found)

    @cached_property
    def inputs(self) -> tuple[Step, ...]:
        # Where rows can leave, order is a matter of each instant: it puts what is there in order itself.
        return (self.below[-1].input,) if self.input.retractable else (self.input,)


@step_class
class Asked(PerInstant):
    """ASK: one boolean at each instant."""

    input: Step
    instants: Streams = frozenset()
    vars = ("answer",)
    certain = frozenset(("answer",))

    def gives(self, inputs: tuple) -> object:
        return True


# --- results -----------------------------------------------------------------------------


@step_class
class Constructed(OfInput):
    """The template's triples for each solution; `rule` names its blank nodes.

    `feeds`: who reads the rule graph `target` reads them (None: the default graph of every query). Of
    `internal`, the predicate may be any term.
    `element`: each element has its own, and the last column has the element's number.
    """

    input: Step
    template: tuple[TriplePattern, ...]
    rule: str
    feeds: bool = True
    target: str | None = None
    internal: bool = False
    element: bool = False

    @property
    def expiry_known(self) -> bool:
        return BEGAN not in self.input.vars

    @cached_property
    def vars(self) -> Vars:
        others = (ELEMENT,) if self.element else ()
        return (*TRIPLE, *others, BEGAN) if BEGAN in self.input.vars else (*TRIPLE, *others)

    certain = frozenset(TRIPLE)


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

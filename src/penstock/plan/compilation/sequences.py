"""CQELS-CEP to steps: windows of elements, sequences with absence, joins by intersection (decision 0013).

Steps have intervals as they were before windows cut them: within one window cutting can be done last.
Where it cannot, a row is there only while the window reaches back far enough, or only from then on
when it does not (`During`). `cutting` says which windows cut the solutions of a pattern.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from penstock.algebra import nodes as a
from penstock.algebra.relations import ANY, ENDED, HULL, SEQ, IntervalRule, Relation
from penstock.algebra.scopes import ELEMENT
from penstock.algebra.sequences import sequence_problem
from penstock.algebra.windows import Kind, View, WindowSpec
from penstock.errors import QueryError
from penstock.plan import hidden, steps
from penstock.plan.analysis import walk
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.paths import PathCompiler
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.compilation.windows import reported
from penstock.plan.sources import Sources, Window, windows
from penstock.plan.step import Step
from penstock.plan.windowing import During, Earliest, Latest, Retimed, Stamped, Timeless, Windowed
from penstock.terms import XSD, Literal, NamedNode

Cuts = tuple[WindowSpec, ...]

BETWEEN = Relation("BETWEEN", (("ls", "<=", "rs"), ("re", "<=", "le")), "Between", "with the second inside")
AFTER_BEGIN = Relation("AFTER BEGIN", (("ls", "<=", "rs"),), "AfterBegin", "the second not starting before")
BEGAN_BEFORE = Relation(
    "BEGAN BEFORE", (("rs", "<=", "le"), ("le", "<", "re")), "BeganBefore", "ending after the second began"
)
_TRUE = Literal("true", datatype=XSD.boolean)


def window_in(name: NamedNode, dataset: ActiveDataset) -> Window:
    """The window of that name."""
    found = windows(dataset.by_name.get(name.value, frozenset()))
    if len(found) != 1:
        raise QueryError(f"WINDOW {name}: there is no window of that name, or its stream is registered twice")
    return found[0]


def cutting(node: a.Pattern, dataset: ActiveDataset, inside: WindowSpec | None = None) -> Cuts:
    """The windows that cut the starts of a pattern's solutions: to the latest of their first instants."""
    if isinstance(node, a.InWindow):
        return cutting(node.pattern, dataset, window_in(node.name, dataset).spec)
    if isinstance(node, (a.BGP, a.PathPattern)):
        cuts = inside is not None and (
            inside.kind is Kind.TIME or (inside.kind is Kind.LANDMARK and inside.start is not None)
        )
        return (inside,) if cuts else ()
    if isinstance(node, a.Background):
        return ()
    if isinstance(node, a.EventSequence):
        first = next(member for member in node.members if not member.negated)
        return cutting(first.pattern, dataset, inside)
    parts = [cutting(part, dataset, inside) for part in walk.children(node)]
    if isinstance(node, a.Join) and node.interval is IntervalRule.INTERSECTION:
        return tuple(dict.fromkeys((*parts[0], *parts[1])))
    if isinstance(node, a.Minus):
        return parts[0]
    if any(part != parts[0] for part in parts):
        raise QueryError(f"{node.title} combines what windows of different extent cut: that is not built yet")
    return parts[0] if parts else ()


def reaches_back_as_far(later: Cuts, earlier: Cuts) -> bool:
    """Whether the first instants of some windows are never after those of others."""
    if not later or later == earlier:
        return True
    return (
        len(later) == len(earlier) == 1
        and all(
            each == replace(WindowSpec(Kind.TIME, each.width, 1), opening=True, shows=each.shows)
            for each in (*later, *earlier)
        )
        and later[0].shows is earlier[0].shows
        and later[0].width >= earlier[0].width
    )


class SequenceCompiler(PathCompiler):
    """The part of the compiler that knows windows of elements and sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: Cuts = ()  # the windows that cut the solutions
        self.windows: Sources = frozenset()  # all of them, with the intervals of their elements

    @abstractmethod
    def pattern(self, node: a.Pattern, context: Context) -> Step: ...

    @abstractmethod
    def answers(self, query: a.Query, context: Context, *, feeds: bool) -> Step: ...

    def reported(self, query: a.Query, catalog: Catalog, context: Context) -> Step:
        """What a continuous query gives when its windows report."""
        own = (catalog.windows_of(each, timeless=False) for each in query.continuous.windows)
        self.windows = frozenset().union(*own)
        if query.continuous.view is View.ELEMENT:
            self.cuts = cutting(query.pattern, context.dataset)
            if self.cuts:
                refuse_times(query.pattern)
        step = self.answers(query, context, feeds=False)
        if isinstance(query, a.Construct):
            step = self.once_cut(step, self.cuts)
        cuts = () if isinstance(query, a.Ask) else self.cuts
        return reported(query.continuous, catalog, step, cuts)

    def _timestamp(self, node: a.Timestamp, context: Context) -> Step:
        """f:timestamp: the last end of an element, in any window of the query, that states the triple."""
        step = self.pattern(node.pattern, context)
        named = tuple(dict.fromkeys(part.name for part in node.triple if isinstance(part, a.Var)))
        if not frozenset(named) <= step.certain:
            raise QueryError(f"{node.word}: a variable of the triple may be unbound, that is not built yet")
        seen = replace(context, dataset=replace(context.dataset, default=self.windows))
        stated = self.scan(node.triple, seen, unique=False)
        ended = steps.Compute(Latest(stated), node.var.name, a.Call("GETENDTIME"))
        return steps.Outer(step, Timeless(columns_of(ended, (*named, node.var.name))), ANY)

    def in_element(self, leaf: a.BGP | a.PathPattern, context: Context) -> Step:
        """The solutions of a pattern in single elements that a window shows."""
        window = context.window
        own = frozenset((window,))
        if window.spec.kind is not Kind.TRIPLES:
            own = frozenset((window.stream,))
        inside = replace(context, window=None, dataset=replace(context.dataset, default=own))
        step = self.pattern(replace(leaf, scope=ELEMENT), inside)
        return step if window.spec.kind is Kind.TRIPLES else Windowed(step, window.spec, timeless=False)

    def _inwindow(self, node: a.InWindow, context: Context) -> Step:
        return self.pattern(node.pattern, replace(context, window=window_in(node.name, context.dataset)))

    def _background(self, node: a.Background, context: Context) -> Step:
        return self.pattern(node.pattern, context)

    def _eventsequence(self, node: a.EventSequence, context: Context) -> Step:
        problem = sequence_problem(node.members)
        if problem is not None:
            raise QueryError(problem)
        if any(member.repeated for member in node.members):
            raise QueryError("a repetition in SEQ is not built yet")
        negated = node.absent
        if negated is None:
            return self._chain(node.members, context)
        absent = self.pattern(node.members[negated].pattern, context)
        specs = self._cuts(node.members[negated], context)
        before, after = node.members[:negated], node.members[negated + 1 :]
        if not before:
            return self._no_head(absent, specs, after, context)
        if not after:
            return self._no_tail(before, absent, specs, context)
        return self._seq_wo(before, absent, specs, after, context)

    def _cuts(self, member: a.Member, context: Context) -> Cuts:
        inside = None if context.window is None else context.window.spec
        return cutting(member.pattern, context.dataset, inside)

    def _chain(self, members: tuple[a.Member, ...], context: Context) -> Step:
        """SEQ of single members, equations (3), (4), (10), (11)."""
        *others, last = members
        step = self.pattern(last.pattern, context)
        later = self._cuts(last, context)
        for member in reversed(others):
            left, cuts = self.pattern(member.pattern, context), self._cuts(member, context)
            branches: list[Step] = [steps.Join(left, step, SEQ, HULL, context.within)]
            if not reaches_back_as_far(later, cuts):
                branches.append(self._cut_apart(left, step, later, context))
            step, later = merged(branches), cuts
        return step

    def _cut_apart(self, left: Step, right: Step, cuts: Cuts, context: Context) -> Step:
        """Those of which the second began before the first ended, but a window has cut that off."""
        start, ended, end = (self.fresh(hidden.AT[1:]) for _ in range(3))
        left = Stamped(Stamped(left, start, "start"), ended, "end")
        both: Step = steps.Join(left, right, BEGAN_BEFORE, HULL, context.within)
        both = During(both, cuts, ended, later=True)
        both = Retimed(Stamped(both, end, "end"), start, end)
        return columns_of(both, tuple(var for var in both.vars if var != ended))

    def _refuse_cut_between(self, later: Cuts, earlier: Cuts) -> None:
        if not reaches_back_as_far(later, earlier):
            raise QueryError(
                "SEQ with absence between windows of which the later one reaches back less far than the"
                " earlier one is not built yet"
            )

    def _no_head(self, absent: Step, specs: Cuts, after: tuple[a.Member, ...], context: Context) -> Step:
        """Equations (6), (13): none ended before the cut start of the rest."""
        step = self._chain(after, context)
        found = self._lacking(step, absent, SEQ.converse)
        cuts = self._cuts(after[0], context)
        if not reaches_back_as_far(cuts, specs):
            found = self._lacking(found, During(absent, cuts, "end", later=True), ANY)
        return found

    def _no_tail(self, before: tuple[a.Member, ...], absent: Step, specs: Cuts, context: Context) -> Step:
        """Equations (7), (14): none starts, cut, after the rest has ended."""
        step = self._chain(before, context)
        if reaches_back_as_far(specs, self._cuts(before[-1], context)):
            return self._lacking(step, absent, SEQ)
        early = self._lacking(During(step, specs, "end", later=False), absent, SEQ)
        return merged([early, self._lacking(During(step, specs, "end", later=True), absent, ANY)])

    def _seq_wo(
        self,
        before: tuple[a.Member, ...],
        absent: Step,
        specs: Cuts,
        after: tuple[a.Member, ...],
        context: Context,
    ) -> Step:
        """Equations (5), (8), (12), (15): none in [t₂, t₅], where t₅ and its own start are cut."""
        left, right, start, end = (self.fresh(hidden.AT[1:]) for _ in range(4))
        own, ahead = self._cuts(before[-1], context), self._cuts(after[0], context)
        self._refuse_cut_between(ahead, own)
        ended = Stamped(self._chain(before, context), left, "end")
        begun = Stamped(self._chain(after, context), right, "start")
        both: Step = steps.Join(ended, begun, SEQ, HULL, context.within)
        gap = Retimed(Stamped(Stamped(both, start, "start"), end, "end"), left, right)
        branches = []
        for later in (False, True) if specs else (False,):
            part = During(gap, specs, "start", later=later, earlier=1) if specs else gap
            found = self._lacking(part, absent, ENDED if later else BETWEEN)
            if ahead and not own == specs == ahead:
                hidden_ends = During(absent, ahead, "end", later=True, earlier=1)
                found = self._lacking(found, hidden_ends, ANY if later else AFTER_BEGIN)
            branches.append(found)
        return Retimed(merged(branches), start, end)

    def _lacking(self, required: Step, absent: Step, relation: Relation) -> Step:
        """The rows for which there is no compatible one of the others in a relation to them."""
        mark = self.fresh(hidden.MARK[1:])
        shared = tuple(var for var in required.vars if var in absent.vars)
        marked = columns_of(steps.Compute(absent, mark, _TRUE), (*shared, mark))
        outer = steps.Outer(required, marked, relation)
        alone = steps.Select(outer, a.Call("!", (a.Call("BOUND", (a.Var(mark),)),)))
        return columns_of(alone, required.vars)

    def narrowed(self, node: a.Join, step: Step, context: Context) -> Step:
        """A join by intersection, while the windows of both sides reach back to its end."""
        inside = None if context.window is None else context.window.spec
        one, other = (cutting(part, context.dataset, inside) for part in walk.children(node))
        if one == other:
            return step
        return During(step, tuple(dict.fromkeys((*one, *other))), "end", later=False)

    def once_cut(self, step: Step, cuts: Cuts) -> Step:
        """A set of solutions of which windows cut several to the same: the one that began first is kept."""
        if not cuts:
            return step
        early = During(step, cuts, "start", later=False, earlier=1)
        return merged([early, Earliest(During(step, cuts, "start", later=True, earlier=1))])


def refuse_times(node: a.Pattern) -> None:
    """Functions of time see the interval as it is cut, which is another one at each instant."""
    for each in walk.nodes(node):
        for expression in each.expressions:
            for part in walk.subexpressions(expression):
                if isinstance(part, a.Call) and part.name in a.TIME_FUNCTIONS:
                    raise QueryError(f"{part.name} of what a window cuts is not built yet")

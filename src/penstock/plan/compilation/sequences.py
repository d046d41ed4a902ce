"""CQELS-CEP to steps: windows of elements, sequences with absence, joins by intersection (decision 0013).

Steps have intervals as they were before windows cut them: within one window cutting can be done last.
Where it cannot, a row is there only while the window reaches back far enough, or only from then on
when it does not (`During`). `cutting` says which windows cut the solutions of a pattern.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from penstock.algebra import nodes as a
from penstock.algebra.relations import ANY, ENDED, HULL, INTERSECTS, SEQ, IntervalRule, Relation
from penstock.algebra.scopes import ELEMENT
from penstock.algebra.sequences import sequence_problem
from penstock.algebra.windows import Kind, View, WindowSpec
from penstock.errors import QueryError
from penstock.plan import hidden, steps
from penstock.plan.analysis import walk
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.joining import TOGETHER, connected
from penstock.plan.compilation.paths import PathCompiler
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.compilation.windows import reported
from penstock.plan.sources import Sources, Window, windows
from penstock.plan.step import Step
from penstock.plan.windowing import During, Earliest, Latest, Retimed, Runs, Stamped, Timeless, Windowed
from penstock.terms import XSD, Literal, NamedNode

Cuts = tuple[WindowSpec, ...]

BETWEEN = Relation("BETWEEN", (("ls", "<=", "rs"), ("re", "<=", "le")), "Between", "with the second inside")
AFTER_BEGIN = Relation("AFTER BEGIN", (("ls", "<=", "rs"),), "AfterBegin", "the second not starting before")
BEGAN_BEFORE = Relation(
    "BEGAN BEFORE", (("rs", "<=", "le"), ("le", "<", "re")), "BeganBefore", "ending after the second began"
)
INSIDE = Relation(
    "INSIDE", (("ls", "<", "rs"), ("re", "<", "le")), "Inside", "with the second strictly inside"
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

    def in_element(self, leaf: a.BGP | a.PathPattern, context: Context, element: str | None = None) -> Step:
        """The solutions of a pattern in single elements that a window shows; a column may tell in which."""
        window = context.window
        own = frozenset((window,))
        if window.spec.kind is not Kind.TRIPLES:
            own = frozenset((window.stream,))
        inside = replace(context, window=None, dataset=replace(context.dataset, default=own))
        if element is None:
            step = self.pattern(replace(leaf, scope=ELEMENT), inside)
        else:
            step = self.bgp(leaf, replace(inside, element=True))
            step = steps.Rename(step, tuple(element if var == hidden.ELEMENT else var for var in step.vars))
        return step if window.spec.kind is Kind.TRIPLES else Windowed(step, window.spec, timeless=False)

    def _inwindow(self, node: a.InWindow, context: Context) -> Step:
        return self.pattern(node.pattern, replace(context, window=window_in(node.name, context.dataset)))

    def _background(self, node: a.Background, context: Context) -> Step:
        return self.pattern(node.pattern, context)

    def with_background(self, events: Step, known: a.Background, context: Context) -> Step:
        """Events, and what is known beside them (equation 1).

        It is looked up for events part by part. By itself it may be much more than what events ask for:
        parts that have only variables of events in common would be a product (Ω₅ of Example 9 is one).
        What is known is timeless, so whatever is joined first, the answers are the same.
        """
        parts = _parts(known.pattern)
        if len(parts) >= TOGETHER:
            parts = [known.pattern]
        found = [events, *(self.pattern(part, context) for part in parts)]
        step, *rest = (each for group in connected(found, TOGETHER) for each in group)
        for part in rest:
            step = steps.Join(step, part, INTERSECTS, IntervalRule.INTERSECTION, context.within)
        return step

    def _eventsequence(self, node: a.EventSequence, context: Context) -> Step:
        problem = sequence_problem(node.members)
        if problem is not None:
            raise QueryError(problem)
        negated = node.absent
        if not self.windows and not all(member.single for member in node.members):
            raise QueryError("absence and repetitions in SEQ are not built yet for streams without windows")
        if any(member.repeated for member in node.members):
            if negated is not None or context.window is None:
                raise QueryError("a repetition beside an absent member, or over windows, is not built yet")
            return self._with_repetitions(node.members, context)
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

    def _with_repetitions(self, members: tuple[a.Member, ...], context: Context) -> Step:
        """SEQ with runs, of one window: for every choice of the single members all that lies between them."""
        if not all(isinstance(member.pattern, a.BGP) for member in members):
            raise QueryError("a repetition beside another sequence is not built yet")
        beside: dict[int, tuple[str, str]] = {}  # of each run: the end before, the start after it
        chosen: Step | None = None
        for place in reversed(range(len(members))):
            if members[place].repeated:
                continue
            element = self.fresh(hidden.ELEMENT[1:])
            step = self.in_element(members[place].pattern, context, element)
            for run, point in (place + 1, "end"), (place - 1, "start"):
                if 0 <= run < len(members) and members[run].repeated:
                    column = self.fresh(hidden.AT[1:])
                    known = beside.get(run, (column, column))
                    beside[run] = (column, known[1]) if point == "end" else (known[0], column)
                    step = Stamped(step, column, point)
            chosen = step if chosen is None else steps.Join(step, chosen, SEQ)
        for place, columns in beside.items():
            relation = INSIDE
            if place == 0 or place == len(members) - 1:
                relation = SEQ if place else SEQ.converse
            chosen = self._with_run(chosen, members[place], columns, relation, context)
        return columns_of(chosen, tuple(filter(hidden.is_variable, chosen.vars)))

    def _with_run(
        self, chosen: Step, member: a.Member, beside: tuple[str, str], relation: Relation, context: Context
    ) -> Step:
        """The choices that have a run, with the aggregates over it."""
        start, end, begins, ends, order = (self.fresh(hidden.AT[1:]) for _ in range(5))
        chosen = Retimed(Stamped(Stamped(chosen, start, "start"), end, "end"), *beside)
        run = self.pattern(member.pattern, context)
        ties = tuple(sorted(run.vars))
        aggregates = []
        for var, aggregate in member.aggregates:
            if aggregate.distinct and aggregate.argument is None:
                raise QueryError("COUNT(DISTINCT *) over a repetition is not built yet")
            column = None
            if aggregate.argument is not None:
                column = self.fresh(hidden.AT[1:])
                run = steps.Compute(run, column, aggregate.argument)
            aggregates.append((var.name, aggregate, column))
        run = Stamped(Stamped(run, begins, "start"), ends, "end")
        cuts = self._cuts(member, context)
        if cuts:  # what is cut begins together
            early = Stamped(During(run, cuts, "start", later=False, earlier=1), order, "start")
            run = merged([early, During(run, cuts, "start", later=True, earlier=1)])
        else:
            run = Stamped(run, order, "start")
        both = steps.Join(chosen, run, relation)
        keys = tuple(var for var in chosen.vars if var not in (start, end))
        return Runs(both, keys, (start, end), (begins, ends), order, ties, tuple(aggregates))

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


def _parts(pattern: a.Pattern) -> list[a.Pattern]:
    """What a background pattern joins; of triples, those about one thing stay together."""
    if isinstance(pattern, a.Join) and pattern.relation == ANY and pattern.interval is HULL:
        return [*_parts(pattern.left), *_parts(pattern.right)]
    if not isinstance(pattern, a.BGP):
        return [pattern]
    about: dict[a.TermOrVar, list[a.TriplePattern]] = {}
    for triple in pattern.triples:
        about.setdefault(triple.subject, []).append(triple)
    return [replace(pattern, triples=tuple(triples)) for triples in about.values()]


def refuse_times(node: a.Pattern) -> None:
    """Functions of time see the interval as it is cut, which is another one at each instant."""
    for each in walk.nodes(node):
        for expression in each.expressions:
            for part in walk.subexpressions(expression):
                if isinstance(part, a.Call) and part.name in ("GETSTARTTIME", "GETDURATION"):
                    raise QueryError(f"{part.name} of what a window cuts is not built yet")

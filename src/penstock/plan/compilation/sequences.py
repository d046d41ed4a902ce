"""CQELS-CEP to steps: windows of elements, sequences with absence, joins by intersection (decision 0013).

Mostly, steps have intervals as they were before windows cut them: within one window cutting can be done
last. Where it cannot, a row is there only while the window reaches back far enough, or only from then on
when it does not (`During`). `cutting` says which windows cut the solutions of a pattern. Where this is not
enough (`must_cut_first`), windows cut what they show at each evaluation (`Cut`), and all else is as defined.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import reduce

from penstock.algebra import nodes as a
from penstock.algebra.relations import ANY, ENDED, HULL, INTERSECTS, SEQ, IntervalRule, Relation
from penstock.algebra.sequences import sequence_problem
from penstock.algebra.windows import Cuts, Kind, View, WindowSpec, reaches_back_as_far
from penstock.errors import QueryError
from penstock.plan import steps, system_columns
from penstock.plan.analysis import bounds, walk
from penstock.plan.catalog import ActiveDataset, Catalog
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.expanding import joined_in_turn
from penstock.plan.compilation.joining import TOGETHER
from penstock.plan.compilation.paths import PathCompiler
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.compilation.window_steps import Evaluations, evaluations, in_elements, reported
from penstock.plan.sources import Sources, WindowSource, windows
from penstock.plan.steps import (
    AntiJoin,
    During,
    Earliest,
    Latest,
    Retimed,
    Stamped,
    Step,
    Streamed,
    Timeless,
    Windowed,
)
from penstock.terms import NamedNode

BETWEEN = Relation("BETWEEN", (("ls", "<=", "rs"), ("re", "<=", "le")), "Between", "with the second inside")
AFTER_BEGIN = Relation("AFTER BEGIN", (("ls", "<=", "rs"),), "AfterBegin", "the second not starting before")
BEGAN_BEFORE = Relation(
    "BEGAN BEFORE", (("rs", "<=", "le"), ("le", "<", "re")), "BeganBefore", "ending after the second began"
)
ENDS_INSIDE = Relation(
    "ENDS INSIDE", (("ls", "<=", "re"), ("re", "<=", "le")), "EndsInside", "with the second ending inside"
)


def window_in(name: NamedNode, dataset: ActiveDataset) -> WindowSource:
    """The window of that name."""
    found = windows(dataset.by_name.get(name.value, frozenset()))
    if not found:
        raise QueryError(f"WINDOW {name}: there is no window of that name")
    return found[0]


def cuts(spec: WindowSpec) -> bool:
    """Whether a window cuts intervals."""
    return spec.kind is Kind.TIME or (spec.kind is Kind.LANDMARK and spec.start is not None)


def cutting(node: a.Pattern, dataset: ActiveDataset, inside: WindowSpec | None = None) -> Cuts | None:
    """The windows that cut the starts of a pattern's solutions, in a window.

    None if they are not the same for all solutions, or if it must see starts as they are cut.
    """
    if node.leaves:
        return (inside,) if inside is not None and cuts(inside) else ()
    inside = inside if node.window is None else window_in(node.window, dataset).spec
    return node.cut_by(tuple(cutting(part, dataset, inside) for part in walk.children(node)))


def must_cut_first(node: a.Pattern, dataset: ActiveDataset, inside: WindowSpec | None = None) -> bool:
    """Whether intervals must be seen as windows cut them, because cutting cannot be done last.

    Functions of time see them so; solutions of an operator may not all be cut by the same windows; and
    an operator may see starts as they are cut.
    """
    inside = inside if node.window is None else window_in(node.window, dataset).spec
    if cutting(node, dataset, inside) is None:
        return True
    if _looks_at_starts(node) and _some_cut(node, dataset, inside):
        return True
    below = (*walk.children(node), *walk.exists_patterns(node))
    return any(must_cut_first(part, dataset, inside) for part in below)


def _some_cut(node: a.Pattern, dataset: ActiveDataset, inside: WindowSpec | None) -> bool:
    """Whether a window cuts anything of a pattern: bounds on durations go down to all of it."""
    named = (each.window for each in walk.nodes(node) if each.window is not None)
    specs = (inside, *(window_in(name, dataset).spec for name in named))
    return any(spec is not None and cuts(spec) for spec in specs)


def _looks_at_starts(node: a.Pattern) -> bool:
    """Whether expressions of a pattern look at the starts of its solutions."""
    return any(
        isinstance(part, a.Call) and part.name in ("GETSTARTTIME", "GETDURATION")
        for expression in node.expressions
        for part in walk.subexpressions(expression)
    )


def come_in_order(one: Step, other: Step) -> bool:
    """Whether rows of two steps that end in some order come in that order, and leave as was known then.

    So it is in one window over time.
    """
    specs = []
    for step in (one, other):
        while isinstance(step, (steps.Filter, steps.Compute, steps.Columns, steps.Rename)):
            step = step.input
        specs.append(step.spec if isinstance(step, Windowed) else None)
    return specs[0] is not None and specs[0] == specs[1]


class SequenceCompiler(PathCompiler):
    """The part of the compiler that knows windows of elements and sequences."""

    name: str  # of the query

    def __init__(self) -> None:
        super().__init__()
        self.cut_first: Evaluations | None = None  # if windows cut what they show: when
        self.windows: Sources = frozenset()  # all of them, with the intervals of their elements

    @abstractmethod
    def pattern(self, node: a.Pattern, context: Context) -> Step: ...

    @abstractmethod
    def answers(self, query: a.Query, context: Context, *, feeds: bool) -> Step: ...

    def reported(self, query: a.Query, catalog: Catalog, context: Context, *, feeds: bool) -> Step:
        """What a continuous query gives when its windows report."""
        self.windows = frozenset(catalog.shown_by(each, timeless=False) for each in query.continuous.windows)
        evaluated = evaluations(query.continuous, catalog)
        elements = query.continuous.view is View.ELEMENT
        if elements and must_cut_first(query.pattern, context.dataset):
            self.cut_first = evaluated
            context = replace(context, began=True)
        cuts = self._cut_by(query.pattern, context) if elements else ()
        step = self.answers(query, context, feeds=False)
        if isinstance(query, (a.Construct, a.Describe)):
            step = self.once_cut(step, cuts)
        elif isinstance(query, a.Ask):
            cuts = ()
        step = reported(query, evaluated, step, cuts)
        if feeds and a.is_rule(query):
            return Streamed(step, query.template, self.name, query.target.value)
        return step

    def _cut_by(self, node: a.Pattern, context: Context) -> Cuts:
        """The windows that are yet to cut the solutions of a pattern."""
        if self.cut_first is not None:
            return ()
        inside = None if context.window is None else context.window.spec
        return cutting(node, context.dataset, inside)

    def _timestamp(self, node: a.Timestamp, context: Context) -> Step:
        """f:timestamp: the last end of an element, in any window of the query, that states the triple."""
        step = self.pattern(node.pattern, context)
        named = tuple(dict.fromkeys(part.name for part in node.triple if isinstance(part, a.Var)))
        seen = replace(context, dataset=replace(context.dataset, default=self.windows))
        stated = self.scan(node.triple, seen, unique=False)
        ended = steps.Compute(Latest(stated), node.var.name, a.Call("GETENDTIME"))
        last = Timeless(columns_of(ended, (*named, node.var.name)))
        unbound = [
            a.Call("!", (a.Call("BOUND", (a.Var(name),)),)) for name in named if name not in step.certain
        ]
        if not unbound:
            return steps.LeftJoin(step, last, ANY)
        lacking = reduce(lambda one, other: a.Call("||", (one, other)), unbound)
        whole = steps.Filter(step, a.Call("!", (lacking,)))
        return merged([steps.LeftJoin(whole, last, ANY), steps.Filter(step, lacking)])

    @abstractmethod
    def with_repetitions(self, node: a.EventSequence, context: Context) -> Step: ...

    def in_element(self, node: a.Pattern, context: Context) -> Step:
        """The solutions of a pattern in single elements that a window shows; a column may tell in which."""
        window, element = context.window, context.element_column
        own = frozenset((window,))
        if window.spec.kind is not Kind.TRIPLES:
            own = in_elements(window)
        alone = replace(context.dataset, default=own)
        inside = replace(context, window=None, element_column=None, within=None, dataset=alone)
        step = self.pattern(node, replace(inside, element=True))
        if element is None:
            step = columns_of(step, system_columns.without_element(step.vars))
        else:
            step = steps.Rename(
                step, tuple(element if var == system_columns.ELEMENT else var for var in step.vars)
            )
        if window.spec.kind is not Kind.TRIPLES:
            step = Windowed(step, window.spec, timeless=False)
        if context.began:
            step = Stamped(step, system_columns.BEGAN, "start")
        if self.cut_first is not None and cuts(window.spec):
            step = self.cut_first.cut(step, window.spec)
        return step

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
        return joined_in_turn(found, INTERSECTS, IntervalRule.INTERSECTION, context.within)

    def _eventsequence(self, node: a.EventSequence, context: Context) -> Step:
        problem = sequence_problem(node.members)
        if problem is not None:
            raise QueryError(problem)
        negated = node.absent
        if any(member.repeated for member in node.members):
            return self.with_repetitions(node, context)
        if not self.windows and negated is not None:
            raise QueryError("absence in SEQ is not built yet for streams without windows")
        if negated is None:
            return self._chain(node.members, context)
        absent = self._absent(node, context)
        specs = self._cuts(node.members[negated], context)
        before, after = node.members[:negated], node.members[negated + 1 :]
        if not before:
            return self._no_head(absent, specs, after, context)
        if not after:
            return self._no_tail(before, absent, specs, context)
        return self._seq_wo(before, absent, specs, after, context)

    def _absent(self, node: a.EventSequence, context: Context) -> Step:
        """The solutions of the negated member, as far as a bound on the sequence bounds them."""
        within = bounds.inherit(node, context.within)[node.absent]
        return self.pattern(node.members[node.absent].pattern, replace(context, began=False, within=within))

    def _cuts(self, member: a.Member, context: Context) -> Cuts:
        return self._cut_by(member.pattern, context)

    def _chain(self, members: tuple[a.Member, ...], context: Context) -> Step:
        """SEQ of single members, equations (3), (4), (10), (11); it begins where the first one does."""
        *others, last = members
        step = self.pattern(last.pattern, replace(context, began=context.began and not others))
        later = self._cuts(last, context)
        for place, member in reversed(list(enumerate(others))):
            below = replace(context, began=context.began and not place)
            left, cuts = self.pattern(member.pattern, below), self._cuts(member, context)
            branches: list[Step] = [steps.Join(left, step, SEQ, HULL, context.within)]
            if not reaches_back_as_far(later, cuts):
                branches.append(self._cut_apart(left, step, later, context))
            step, later = merged(branches), cuts
        return step

    def _cut_apart(self, left: Step, right: Step, cuts: Cuts, context: Context) -> Step:
        """Those of which the second began before the first ended, but a window has cut that off."""
        start, ended, end = (self.fresh(system_columns.AT[1:]) for _ in range(3))
        left = Stamped(Stamped(left, start, "start"), ended, "end")
        both: Step = steps.Join(left, right, BEGAN_BEFORE, HULL, context.within)
        both = During(both, cuts, ended, later=True)
        both = Retimed(Stamped(both, end, "end"), start, end)
        return columns_of(both, tuple(var for var in both.vars if var != ended))

    def _no_head(self, absent: Step, specs: Cuts, after: tuple[a.Member, ...], context: Context) -> Step:
        """Equations (6), (13): none ended before the cut start of the rest."""
        step = self._chain(after, context)
        settled = come_in_order(absent, self.pattern(after[0].pattern, replace(context, began=False)))
        found = self._anti_join(step, absent, SEQ.converse, settled=settled)
        cuts = self._cuts(after[0], context)
        if not reaches_back_as_far(cuts, specs):
            found = self._anti_join(found, During(absent, cuts, "end", later=True), ANY)
        return found

    def _no_tail(self, before: tuple[a.Member, ...], absent: Step, specs: Cuts, context: Context) -> Step:
        """Equations (7), (14): none starts, cut, after the rest has ended."""
        step = self._chain(before, context)
        if reaches_back_as_far(specs, self._cuts(before[-1], context)):
            return self._anti_join(step, absent, SEQ)
        early = self._anti_join(During(step, specs, "end", later=False), absent, SEQ)
        return merged([early, self._anti_join(During(step, specs, "end", later=True), absent, ANY)])

    def _seq_wo(
        self,
        before: tuple[a.Member, ...],
        absent: Step,
        specs: Cuts,
        after: tuple[a.Member, ...],
        context: Context,
    ) -> Step:
        """Equations (5), (8), (12), (15): none in [t₂, t₅], where t₅ and its own start are cut."""
        left, right = (self.fresh(system_columns.AT[1:]) for _ in range(2))
        own, ahead = self._cuts(before[-1], context), self._cuts(after[0], context)
        ended = Stamped(self._chain(before, context), left, "end")
        begun = Stamped(self._chain(after, replace(context, began=False)), right, "start")
        both: Step = steps.Join(ended, begun, SEQ, HULL, context.within)
        settled = come_in_order(absent, self.pattern(after[0].pattern, replace(context, began=False)))
        return self._nothing_between(both, (left, right), absent, (own, specs, ahead), settled=settled)

    def _nothing_between(
        self,
        both: Step,
        beside: tuple[str, str],
        absent: Step,
        cuts: tuple[Cuts, Cuts, Cuts],
        *,
        settled: bool = False,
    ) -> Step:
        """SEQ_WO: where nothing lies between two instants of each row, which are in columns.

        `cuts` are those of what comes before, of what is absent, and of what comes after; `settled` as in
        `AntiJoin`.
        """
        own, specs, ahead = cuts
        start, end = (self.fresh(system_columns.AT[1:]) for _ in range(2))
        gap = Retimed(Stamped(Stamped(both, start, "start"), end, "end"), *beside)
        if own == specs == ahead:
            relation = ENDS_INSIDE if specs else BETWEEN  # what is cut may begin inside though it did not
            return Retimed(self._anti_join(gap, absent, relation, specs, settled=settled), start, end)
        branches = []
        for later in (False, True) if specs else (False,):
            part = During(gap, specs, "start", later=later, earlier=1) if specs else gap
            found = self._anti_join(part, absent, ENDED if later else BETWEEN)
            if ahead:
                hidden_ends = During(absent, ahead, "end", later=True, earlier=1)
                found = self._anti_join(found, hidden_ends, ANY if later else AFTER_BEGIN)
            branches.append(found)
        return Retimed(merged(branches), start, end)

    def _anti_join(
        self, required: Step, absent: Step, relation: Relation, specs: Cuts = (), *, settled: bool = False
    ) -> Step:
        """The rows for which there is no compatible one of the others in a relation to them."""
        shared = tuple(var for var in required.vars if var in absent.vars)
        return AntiJoin(required, columns_of(absent, shared), relation, specs, settled)

    def narrowed(self, node: a.Join, step: Step, context: Context) -> Step:
        """A join by intersection, while the windows of both sides reach back to its end."""
        one, other = (self._cut_by(part, context) for part in walk.children(node))
        if one == other:
            return step
        return During(step, tuple(dict.fromkeys((*one, *other))), "end", later=False)

    def apart(self, left: Step, right: Step) -> tuple[Step, str | None]:
        """The right side of a combination, with another name for BEGAN if both have it."""
        if system_columns.BEGAN not in left.vars or system_columns.BEGAN not in right.vars:
            return right, None
        other = self.fresh(system_columns.BEGAN[1:])
        renamed = tuple(other if var == system_columns.BEGAN else var for var in right.vars)
        return steps.Rename(right, renamed), other

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

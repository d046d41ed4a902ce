"""Algebra to steps: one function per operator, and the few rewrites that pay.

On the way down go the active graph, the partition key and the bound on durations that the
filters above imply. Filters are split at `&&` and pushed below joins to the side that binds
their variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from penstock.algebra import balance
from penstock.algebra import nodes as a
from penstock.algebra.base import UnknownNode
from penstock.algebra.relations import ANY, ENDED, HULL, IntervalRule, Side
from penstock.algebra.scopes import ELEMENT, STREAM
from penstock.errors import QueryError
from penstock.functions import chance
from penstock.plan import steps, system_columns
from penstock.plan.analysis import bounds, reads, variables, walk
from penstock.plan.analysis.following import refuse_following
from penstock.plan.analysis.walk import conjuncts
from penstock.plan.catalog import Catalog
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.joining import joined
from penstock.plan.compilation.order import is_ordered, with_ties
from penstock.plan.compilation.repetitions import RepetitionCompiler
from penstock.plan.compilation.shaping import UNIT, columns_of, merged
from penstock.plan.compilation.substitution import Substitution, is_independent, of_step, remembering
from penstock.plan.compilation.window_steps import in_window
from penstock.plan.sources import Sources, Stream, only_streams, static_graphs, windows
from penstock.plan.steps import Begun, Step
from penstock.terms import BlankNode, Literal, NamedNode, Term

NOTHING = steps.InlineData((), ())


def compile_query(
    query: a.Query,
    catalog: Catalog,
    *,
    key: str | None = None,
    feeds: bool = True,
    instants: frozenset[int] = frozenset(),
) -> Step:
    """The plan of a whole query; its last step gives the answers."""
    compiler = Compiler(query)
    refuse_following(query, feeds=feeds)
    if query.continuous is not None:
        context = Context(catalog.dataset_of(query), instants, key)
        return compiler.reported(query, catalog, context, feeds=feeds)
    if query.scope == ELEMENT:
        dataset = catalog.in_elements(query.dataset)
        return steps.PerElement(compiler.in_elements(query, Context(dataset, instants, event=True)))
    return compiler.answers(query, Context(catalog.active(query.dataset), instants, key), feeds=feeds)


class Compiler(RepetitionCompiler):
    """Compiles the patterns of one query; fresh names are unique in it."""

    def __init__(self, query: a.Query) -> None:
        super().__init__()
        self._query = query
        self._fresh = 0

    @cached_property
    def name(self) -> str:
        """What equal queries share, and others do not."""
        return chance.rule_name(self._query)

    def fresh(self, kind: str) -> str:
        self._fresh += 1
        return f".{kind}{self._fresh}"

    def answers(self, query: a.Query, context: Context, *, feeds: bool) -> Step:
        """The answers of a query in its form."""
        if isinstance(query, a.Describe):
            return self.description(query, context)
        step = self.pattern(query.pattern, context)
        if isinstance(query, a.Select):
            later = dict(query.continuous.bounds) if query.continuous is not None else {}
            own = (var.name for var in query.vars if var.name not in later)
            return columns_of(step, (*own, *context.carried))
        if isinstance(query, a.Ask):
            return steps.Asked(columns_of(step, ()), context.instants)
        target = None if query.target is None else query.target.value
        instants = context.instants if feeds else frozenset()
        return steps.Constructed(step, query.template, self.name, feeds, target, instants, query.internal)

    def in_elements(self, query: a.Query, context: Context) -> Step:
        """The answers of a query to each element by itself; the last column has the element's number."""
        if isinstance(query, a.Describe):
            return self.description(query, context)
        step = self.pattern(query.pattern, context)
        if isinstance(query, a.Construct):
            return steps.Constructed(step, query.template, self.name, feeds=False, element=True)
        if isinstance(query, a.Select):
            return columns_of(step, (*(var.name for var in query.vars), system_columns.ELEMENT))
        if not step.reads_stream:
            return columns_of(steps.Asked(columns_of(step, ())), (*steps.Asked.vars, system_columns.ELEMENT))
        marked = steps.ExistsMark(
            self._elements(context), columns_of(step, context.hidden), *steps.Asked.vars
        )
        return columns_of(marked, (*steps.Asked.vars, system_columns.ELEMENT))

    def _elements(self, context: Context) -> Step:
        """All elements that have a triple, in event mode."""
        scan = steps.Scan("s", "p", "o", frozenset(map(Stream, context.instants)), element=True)
        return steps.Unique(columns_of(scan, (system_columns.ELEMENT,)))

    def _at_elements(self, step: Step, context: Context, depends: bool) -> Step:
        """In event mode: the step whose timeless rows stand for one in each element, if what becomes of
        them `depends` on it."""
        if not (context.event and depends) or system_columns.ELEMENT in step.certain:
            return step
        return steps.Join(self._elements(context), step)

    def pattern(self, node: a.Pattern, context: Context) -> Step:
        if context.outer is not None and is_independent(node, context.outer.vars):
            return context.outer.matching(self.pattern(node, replace(context, outer=None)))
        if context.window is not None and (node.leaves or node.scope == ELEMENT):
            return self.in_element(node, context)
        if node.scope == ELEMENT and not context.element:
            step = self.pattern(node, replace(context, element=True))
            return step if context.event else columns_of(step, system_columns.without_element(step.vars))
        compiled = getattr(self, "_" + type(node).__name__.rstrip("_").lower(), None)
        if compiled is None:
            raise UnknownNode(node, "how it is compiled")
        return compiled(node, context)

    def _children(self, node: a.Pattern, context: Context) -> list[tuple[a.Pattern, Context]]:
        """The node's patterns, each with the bound that it inherits."""
        children = walk.children(node)
        inherited = bounds.inherit(node, context.within)
        return [
            (child, replace(context, within=within))
            for child, within in zip(children, inherited, strict=True)
        ]

    def description(self, query: a.Describe, context: Context) -> Step:
        """DESCRIBE: each resource's triples that had ended by then, with the solution's interval."""
        described = self.pattern(query.pattern, context)
        resource, predicate, object_ = (a.Var(self.fresh(kind)) for kind in "rpo")
        triple = a.TriplePattern(resource, predicate, object_)
        triples = self.pattern(a.BGP((triple,)), replace(context, within=None))
        branches: list[Step] = []
        for subject in query.subjects:
            named = steps.Compute(described, resource.name, subject)
            bound = steps.Filter(named, a.Call("BOUND", (resource,)))
            required = columns_of(bound, (resource.name, *context.hidden, *context.carried))
            required = self._at_elements(required, context, triples.reads_stream)
            branches.append(
                steps.LeftJoin(required, triples, ENDED, instants=context.passing, interval=IntervalRule.LEFT)
            )
        step = merged(branches) if branches else NOTHING
        return steps.Constructed(step, (triple,), self.name, feeds=False, element=context.event)

    # --- leaves ---

    def scan(self, triple: a.TriplePattern, context: Context, *, unique: bool = True) -> Step:
        """The matches of a triple pattern; each occurrence counts once (`unique`)."""
        positions: list[Term | str] = []
        seen: dict[str, str] = {}
        key = None
        for position, term in zip("spo", triple, strict=True):
            if isinstance(term, a.Var):
                column = seen.setdefault(term.name, position)
                positions.append(column)
                if term.name == context.key and position != "p" and key is None:
                    key = position
            else:
                positions.append(term)
        if isinstance(positions[0], Literal) or isinstance(positions[1], (Literal, BlankNode)):
            return steps.InlineData((*seen, *context.hidden), ())
        sources = context.sources
        if context.event and not context.dataset.static_may_have(
            triple.predicate if isinstance(triple.predicate, NamedNode) else None
        ):
            sources = only_streams(sources)
        scan = self._scanned(tuple(positions), sources, key, bool(context.hidden))
        # In event mode, what static knowledge has is static, also if the element repeats it.
        repeated = context.event and bool(static_graphs(sources)) and scan.reads_stream
        if unique or repeated:
            scan = steps.Unique(scan, subsume=repeated)
        return steps.Rename(scan, (*seen, *context.hidden))

    def _scanned(
        self,
        triple: steps.Triple,
        sources: Sources,
        key: str | None,
        hidden: bool,
    ) -> Step:
        """The rows that match in all these sources."""
        seen = windows(sources)
        others = sources.difference(seen)
        branches: list[Step] = [steps.Scan(*triple, others, key, hidden)] if others or not seen else []
        branches += [in_window(window, triple, key, hidden) for window in seen]
        return merged(branches)

    def bgp(self, node: a.BGP, context: Context) -> Step:
        if not node.triples:
            return UNIT
        if len(node.triples) == 1:
            return self.scan(node.triples[0], context)
        scans = [self.scan(triple, context, unique=False) for triple in node.triples]
        return steps.Unique(joined(scans, context.within, context.relation))

    _bgp = bgp

    def _values(self, node: a.Values, context: Context) -> Step:
        return steps.InlineData(tuple(var.name for var in node.vars), node.rows)

    # --- joins ---

    def _join(self, node: a.Join, context: Context) -> Step:
        if node.interval is IntervalRule.INTERSECTION and isinstance(node.right, a.Background):
            (events, of_events), (known, of_known) = self._children(node, context)
            return self.with_background(self.pattern(events, of_events), known, of_known)
        if (step := self.around_paths(node, context)) is not None:
            return step
        left, right = (self.pattern(child, below) for child, below in self._children(node, context))
        if node.relation == ANY and node.interval is HULL and UNIT in (left, right):
            return right if left == UNIT else left
        right, began = self.apart(left, right)
        relation = node.relation if node.scope == STREAM else context.relation
        step = steps.Join(left, right, relation, node.interval, context.within)
        in_common = node.interval is IntervalRule.INTERSECTION
        if began is not None:
            step = Begun(step, began, later=in_common)
        return self.narrowed(node, step, context) if in_common else step

    def _union(self, node: a.Union_, context: Context) -> Step:
        left, right = (self.pattern(child, below) for child, below in self._children(node, context))
        if context.outer is not None:
            left, right = context.outer.alike(left, right)
        return steps.Merge(left, right)

    def _graph(self, node: a.Graph, context: Context) -> Step:
        if isinstance(node.name, NamedNode):
            if node.name.value not in context.dataset.by_name:  # SPARQL 18.6: not even the empty solution
                return _nothing(node)
            return self.pattern(node.pattern, replace(context, dataset=context.dataset.within(node.name)))
        name = node.name.name
        branches = []
        for iri, _ in context.dataset.offered:
            graph = NamedNode(iri)
            below = replace(context, dataset=context.dataset.within(graph))
            table = steps.InlineData((name,), ((graph,),))
            branches.append(steps.Join(table, self.pattern(node.pattern, below), within=context.within))
        if not branches:
            return _nothing(node)
        step = merged(branches)
        return step if context.outer is None else context.outer.bind(step, (name,))

    # --- absence ---

    def _outerjoin(self, node: a.OuterJoin, context: Context) -> Step:
        if not self.windows and not node.relation.ends_by(node.optional):
            raise QueryError(
                f"{node.word} would have to wait for ever: its optional side may end after the required one",
                hint="only what ends not later than the required side can be optional",
            )
        required, optional = self._children(node, context)
        relation, condition = node.relation, node.condition
        if node.optional is Side.LEFT:
            required, optional, relation = optional, required, relation.converse
        left, right = self.pattern(*required), self.pattern(*optional)
        left = self._at_elements(left, context, reads.absence_in_stream(node, context.dataset))
        right, began = self.apart(left, right)
        columns = (*left.vars, *(var for var in right.vars if var not in left.vars))
        outer = context.outer
        if outer is not None:
            looked_at = frozenset() if condition is None else variables.of_expression(condition)
            looked_at -= frozenset(map(a.Var, left.certain | right.certain))
            right = remembering(
                right, [n for n in outer.names if a.Var(n) in looked_at], system_columns.other
            )
            left = outer.seen(left, looked_at, seeded=True)
            if outer.tag in right.vars:
                left = outer.tagged(left)
        marks: list[tuple[str, Step]] = []
        tags: list[tuple[tuple[str, ...], str]] = []

        def sought(exists: a.Exists) -> a.Var:
            found, tag = self._sought(exists.pattern, steps.Join(left, right), context)
            marks.append((self.fresh(system_columns.MARK[1:]), found))
            tags.extend(tag)
            return a.Var(marks[-1][0])

        if condition is not None:
            condition = replace_exists(condition, sought)
        step = steps.LeftJoin(
            left,
            right,
            relation,
            condition,
            None if condition is None else bounds.duration_bound(condition),
            tuple(var for var, _ in marks),
            tuple(step for _, step in marks),
            context.passing,
            node.interval,
            tuple(tags),
        )
        if began is not None:
            step = Begun(step, began, later=node.interval is IntervalRule.INTERSECTION)
        return step if outer is None else outer.unseen(step, columns)

    def _minus(self, node: a.Minus, context: Context) -> Step:
        (pattern, below), (excluded, beside) = self._children(node, context)
        required = self.pattern(pattern, below)
        absent = self.pattern(excluded, replace(beside, began=False))
        if context.outer is not None and context.outer.tag in absent.vars:
            required = context.outer.tagged(required)
        required = self._at_elements(required, context, reads.absence_in_stream(node, context.dataset))
        return steps.Minus(required, absent, context.passing)

    def _unless(self, node: a.Unless, context: Context) -> Step:
        required, absent = self._both_sides(node, context)
        return steps.Unless(required, absent, node.within)

    def _next(self, node: a.Next, context: Context) -> Step:
        return steps.Next(*self._both_sides(node, context), context.within)

    def _both_sides(self, node: a.Unless | a.Next, context: Context) -> tuple[Step, Step]:
        if context.outer is not None:
            raise QueryError(
                f"{node.word} inside EXISTS cannot be asked for each outer solution",
                hint=f"let both sides of {node.word} bind the variables that they share with what is outside",
            )
        left, right = (self.pattern(child, below) for child, below in self._children(node, context))
        return left, right

    # --- filters and expressions ---

    def _filter(self, node: a.Filter, context: Context) -> Step:
        step, columns = self._seen_below(node, context)
        plain: list[a.Expression] = []
        others: list[a.Expression] = []
        for conjunct in conjuncts(node.condition):
            (others if _depends_on_row(conjunct) or _has_exists(conjunct) else plain).append(conjunct)
        step = push_filters(step, plain)
        step = self._at_elements(step, context, reads.absence_in_stream(node, context.dataset))
        # Behind an EXISTS a timeless solution has an interval, at each instant, for all of the condition.
        marked = []
        for conjunct in others:
            step, conjunct = self._marked(step, conjunct, context)
            marked.append(conjunct)
        # Conditions on the interval come last: joins have enforced most of them already.
        step = push_filters(step, sorted(marked, key=_depends_on_row))
        return self._unseen(step, columns, context)

    def _extend(self, node: a.Extend, context: Context) -> Step:
        step, columns = self._seen_below(node, context)
        step = self._at_elements(step, context, reads.absence_in_stream(node, context.dataset))
        step, expression = self._marked(step, node.expression, context)
        unseeded = chance.extended(node.pattern) if _depends_on_row(expression) else frozenset()
        step = steps.Compute(step, node.var.name, expression, unseeded)
        step = self._unseen(step, (*columns, node.var.name), context)
        if context.outer is not None and node.var.name in context.outer.names:
            return context.outer.bind(step, (node.var.name,))
        return step

    def _seen_below(self, node: a.Pattern, context: Context) -> tuple[Step, tuple[str, ...]]:
        """The pattern below a node as the node's expressions see it, and its own columns.

        Inside EXISTS they see outer bindings that the pattern may not have.
        """
        [(pattern, below)] = self._children(node, context)
        outer = context.outer
        if outer is None:
            step = self.pattern(pattern, below)
            return step, step.vars
        expressions = node.expressions
        looked_at = frozenset().union(*map(variables.of_expression, expressions))
        seeded = any(map(_depends_on_row, expressions))
        if is_independent(pattern, outer.vars):
            step = self.pattern(pattern, replace(below, outer=None))
            return outer.seen(step, of_step(step) | looked_at, seeded=seeded), step.vars
        step = self.pattern(pattern, below)
        looked_at -= frozenset(map(a.Var, step.certain))
        return outer.seen(step, looked_at, seeded=seeded), step.vars

    def _unseen(self, step: Step, columns: tuple[str, ...], context: Context) -> Step:
        """The step with these columns only, and without the bindings that expressions saw."""
        return columns_of(step, columns) if context.outer is None else context.outer.unseen(step, columns)

    def _marked(self, step: Step, expression: a.Expression, context: Context) -> tuple[Step, a.Expression]:
        """The step with a column for each EXISTS of the expression, which then reads that column."""

        def sought(exists: a.Exists) -> a.Var:
            nonlocal step
            var = self.fresh(system_columns.MARK[1:])
            found, tags = self._sought(exists.pattern, step, context)
            for of, tag in tags:
                step = steps.CorrelationTag(step, of, tag)
            step = steps.ExistsMark(step, found, var, context.passing)
            return a.Var(var)

        expression = replace_exists(expression, sought)
        return step, expression

    def _sought(
        self, pattern: a.Pattern, outer: Step, context: Context
    ) -> tuple[Step, tuple[tuple[tuple[str, ...], str], ...]]:
        """What an EXISTS looks for, and the tag (of which columns) by which outer solutions find it."""
        free = variables.free(pattern)
        names = tuple(var for var in outer.vars if a.Var(var) in free)
        inner = replace(context, within=None, outer=None, began=False, element_column=None)
        if is_independent(pattern, frozenset(map(a.Var, names))):
            return self.pattern(pattern, inner), ()
        tag = self.fresh(system_columns.TAG[1:])
        if context.event:
            substitution = Substitution.in_elements(outer, names, tag)
        else:
            substitution = Substitution.of(outer, names, tag, self.name)
        found = substitution.tagged(self.pattern(pattern, replace(inner, outer=substitution)))
        return columns_of(found, (tag,)), (((*names, *substitution.hidden), tag),)

    # --- solution modifiers ---

    def _project(self, node: a.Project, context: Context) -> Step:
        # What a sub-query does not project is another variable, so EXISTS substitutes nothing for it.
        outer = None if context.outer is None else context.outer.only(node.vars)
        [(pattern, below)] = self._children(node, replace(context, outer=outer))
        step = self.pattern(pattern, below)
        beside = context.hidden if context.event else context.carried
        kept = (*(var.name for var in node.vars), *beside)
        return self._unseen(step, kept, context)

    def _distinct(self, node: a.Distinct | a.Reduced, context: Context) -> Step:
        [(pattern, below)] = self._children(node, context)
        step = steps.Unique(self.pattern(pattern, below), subsume=True)
        return self.once_cut(step, self._cut_by(node, context))

    _reduced = _distinct

    def _group(self, node: a.Group, context: Context) -> Step:
        step, _ = self._seen_below(node, context)
        step = self._at_elements(step, context, step.reads_stream)
        computed: list[tuple[str, a.Expression]] = []

        def column(name: str, expression: a.Expression) -> str:
            nonlocal step
            step, expression = self._marked(step, expression, context)
            computed.append((name, expression))
            return name

        for var, expression in node.keys:
            if expression != var:
                column(var.name, expression)
        aggregates = []
        for var, aggregate in node.aggregates:
            argument = None
            if isinstance(aggregate.argument, a.Var):
                argument = aggregate.argument.name
            elif aggregate.argument is not None:
                argument = column(self.fresh("arg"), aggregate.argument)
            aggregates.append((var.name, aggregate, argument))
        aggregates += [(var, a.Aggregate("MIN", a.Var(var)), var) for var in context.carried]
        keys = tuple(var.name for var, _ in node.keys)
        groups = None if keys else UNIT
        if context.event and step.reads_stream:
            groups = None if keys else self._elements(context)
            keys = (*keys, system_columns.ELEMENT)
        outer = context.outer if context.outer is not None and context.outer.tag in step.vars else None
        if outer is not None:
            groups = None if node.keys else outer.bindings()
            keys = (*keys, outer.tag)
        step = steps.Aggregated(step, keys, tuple(aggregates), context.passing, tuple(computed), groups)
        named = {name for name, _ in computed} & set(keys)
        if context.outer is None or not named & set(context.outer.names):
            return step
        return context.outer.bind(step, named)

    def _orderby(self, node: a.OrderBy, context: Context) -> Step:
        step, columns = self._seen_below(node, context)
        step = self._at_elements(step, context, step.reads_stream)
        keys, computed = [], []
        for expression, descending in node.keys:
            if isinstance(expression, a.Var):
                keys.append((expression.name, descending))
            else:
                step, expression = self._marked(step, expression, context)
                computed.append((self.fresh("order"), expression))
                keys.append((computed[-1][0], descending))
        ordered = steps.Ordered(step, tuple(keys), context.passing, columns, tuple(computed))
        return self._unseen(ordered, columns, context)

    def _slice(self, node: a.Slice, context: Context) -> Step:
        [(pattern, below)] = self._children(node, context)
        step = self.pattern(pattern, below)
        if is_ordered(step):
            step = with_ties(step, step.vars)
        else:
            step = self._at_elements(step, context, step.reads_stream)
            step = steps.Ordered(step, (), context.passing)
        tag = system_columns.ELEMENT if context.event and step.reads_stream else None
        if context.outer is not None and context.outer.tag in step.vars:
            tag = context.outer.tag
        return steps.Sliced(step, node.offset, node.limit, tag)


# --- helpers of the rewrites -------------------------------------------------------------------


def _nothing(node: a.Pattern) -> Step:
    """No solution, in the columns that a pattern would bind."""
    return steps.InlineData(tuple(sorted(var.name for var in variables.possible(node))), ())


def push_filters(step: Step, conditions: Sequence[a.Expression]) -> Step:
    """The filters as far down as they mean the same: to the side of a join that binds their variables,
    and to the scan itself. Equal rows pass or fail together, so they may come before `Unique`."""
    staying: list[a.Expression] = []
    below: dict[str, list[a.Expression]] = {}
    for condition in conditions:
        side = _side(step, condition)
        (staying if side is None else below.setdefault(side, [])).append(condition)
    if isinstance(step, steps.Rename):
        names = dict(zip(step.vars, step.input.vars, strict=True))
        below = {side: [_renamed(each, names) for each in pushed] for side, pushed in below.items()}
    if below:
        step = replace(  # type: ignore[type-var]
            step, **{side: push_filters(getattr(step, side), pushed) for side, pushed in below.items()}
        )
    if len(staying) > balance.SHORT:
        staying = [balance.conjunction(staying)]
    for condition in staying:
        step = steps.Filter(step, condition)
    return step


def _side(step: Step, condition: a.Expression) -> str | None:
    """The input of a step that a filter can go to."""
    looked_at = frozenset(var.name for var in variables.of_expression(condition))
    return None if not looked_at or _depends_on_row(condition) else step.filtered_input(looked_at)


def _renamed(expression: a.Expression, names: dict[str, str]) -> a.Expression:
    """The expression with other names for its variables."""
    if isinstance(expression, a.Var):
        return a.Var(names[expression.name])
    if isinstance(expression, a.Call):
        return a.Call(expression.name, tuple(_renamed(arg, names) for arg in expression.args))
    return expression


_ROW_FUNCTIONS = frozenset((*a.TIME_FUNCTIONS, "RAND", "UUID", "STRUUID", "BNODE"))


def _depends_on_row(expression: a.Expression) -> bool:
    """Whether it looks at more than its variables: the interval, or the row as a seed."""
    if isinstance(expression, a.Call):
        return expression.name in _ROW_FUNCTIONS or any(map(_depends_on_row, expression.args))
    return False


def _has_exists(expression: a.Expression) -> bool:
    return any(isinstance(part, a.Exists) for part in walk.subexpressions(expression))


def replace_exists(expression: a.Expression, replacement: Callable[[a.Exists], a.Var]) -> a.Expression:
    """The expression with each EXISTS replaced by a variable that says the same."""
    if isinstance(expression, a.Exists):
        return replacement(expression)
    if isinstance(expression, a.Call):
        return a.Call(expression.name, tuple(replace_exists(arg, replacement) for arg in expression.args))
    return expression

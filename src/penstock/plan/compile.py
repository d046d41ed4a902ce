"""Algebra to steps: one function per operator, and the few rewrites that pay.

On the way down go the active graph, the partition key and the bound on durations that the
filters above imply. Filters are split at `&&` and pushed below joins to the side that binds
their variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from penstock.algebra import nodes as a
from penstock.errors import QueryError
from penstock.functions import chance
from penstock.plan import bounds, steps, variables, walk
from penstock.plan.catalog import Catalog
from penstock.plan.paths import PathCompiler, columns_of
from penstock.plan.scope import Scope
from penstock.plan.steps import Step
from penstock.terms import BlankNode, Literal, NamedNode, Term

UNIT = steps.Table((), ((),))
NOTHING = steps.Table((), ())


def compile_query(
    query: a.Query,
    catalog: Catalog,
    *,
    name: str,
    key: str | None = None,
    feeds: bool = True,
    instants: frozenset[int] = frozenset(),
) -> Step:
    """The plan of a whole query; its last step gives the answers."""
    compiler = Compiler()
    scope = Scope(catalog.active(query.dataset), instants, key)
    if isinstance(query, a.Select):
        step = compiler.pattern(query.pattern, scope)
        return columns_of(step, tuple(var.name for var in query.vars))
    if isinstance(query, a.Ask):
        return steps.Asked(columns_of(compiler.pattern(query.pattern, scope), ()), instants)
    if isinstance(query, a.Describe):
        return compiler.description(query, scope, name)
    step = compiler.pattern(query.pattern, scope)
    return steps.Constructed(step, query.template, name, feeds)


class Compiler(PathCompiler):
    """Compiles the patterns of one query; fresh names are unique in it."""

    def __init__(self) -> None:
        self._fresh = 0

    def fresh(self, kind: str) -> str:
        self._fresh += 1
        return f".{kind}{self._fresh}"

    def pattern(self, node: a.Pattern, scope: Scope) -> Step:
        if isinstance(node, a.BGP):
            return self.bgp(node, scope)
        return getattr(self, "_" + type(node).__name__.rstrip("_").lower())(node, scope)

    def _children(self, node: a.Pattern, scope: Scope) -> list[tuple[a.Pattern, Scope]]:
        """The node's patterns, each with the bound that it inherits."""
        children = walk.children(node)
        inherited = bounds.inherit(node, scope.within)
        return [
            (child, replace(scope, within=within)) for child, within in zip(children, inherited, strict=True)
        ]

    def description(self, query: a.Describe, scope: Scope, name: str) -> Step:
        """DESCRIBE: each resource's triples that had ended by then, with the solution's interval."""
        described = self.pattern(query.pattern, scope)
        resource, predicate, object_ = (a.Var(self.fresh(kind)) for kind in "rpo")
        triple = a.TriplePattern(resource, predicate, object_)
        triples = self.pattern(a.BGP((triple,)), replace(scope, within=None))
        branches: list[Step] = []
        for subject in query.subjects:
            named = steps.Compute(described, resource.name, subject)
            bound = steps.Select(named, a.Call("BOUND", (resource,)))
            required = columns_of(bound, (resource.name,))
            branches.append(steps.Outer(required, triples, "ended", instants=scope.instants, describes=True))
        step = reduce(steps.Merge, branches) if branches else NOTHING
        return steps.Constructed(step, (triple,), name, feeds=False)

    # --- leaves ---

    def scan(self, triple: a.TriplePattern, scope: Scope, *, unique: bool = True) -> Step:
        """The matches of a triple pattern; each occurrence counts once (`unique`)."""
        positions: list[Term | str] = []
        seen: dict[str, str] = {}
        key = None
        for position, term in zip("spo", triple, strict=True):
            if isinstance(term, a.Var):
                column = seen.setdefault(term.name, position)
                positions.append(column)
                if term.name == scope.key and position != "p" and key is None:
                    key = position
            else:
                positions.append(term)
        if isinstance(positions[0], Literal) or isinstance(positions[1], (Literal, BlankNode)):
            return steps.Table(tuple(seen), ())
        scan: Step = steps.Scan(*positions, scope.graph, key)
        return steps.Rename(steps.Unique(scan) if unique else scan, tuple(seen))

    def bgp(self, node: a.BGP, scope: Scope) -> Step:
        if not node.triples:
            return UNIT
        if len(node.triples) == 1:
            return self.scan(node.triples[0], scope)
        scans = [self.scan(triple, scope, unique=False) for triple in node.triples]
        step, *rest = scans
        while rest:
            # The next triple is one that is connected, so that no cartesian product arises.
            chosen = max(rest, key=lambda scan: len(set(scan.vars) & set(step.vars)))
            rest.remove(chosen)
            step = steps.Meet(step, chosen, "any", scope.within)
        return steps.Unique(step)

    def _values(self, node: a.Values, scope: Scope) -> Step:
        return steps.Table(tuple(var.name for var in node.vars), node.rows)

    # --- joins ---

    def _meet(self, node: a.Join | a.SeqJoin | a.EqJoin, scope: Scope, when: str) -> Step:
        left, right = (self.pattern(child, below) for child, below in self._children(node, scope))
        if when == "any" and UNIT in (left, right):
            return right if left == UNIT else left
        return steps.Meet(left, right, when, scope.within)

    def _join(self, node: a.Join, scope: Scope) -> Step:
        return self._meet(node, scope, "any")

    def _seqjoin(self, node: a.SeqJoin, scope: Scope) -> Step:
        return self._meet(node, scope, "seq")

    def _eqjoin(self, node: a.EqJoin, scope: Scope) -> Step:
        return self._meet(node, scope, "eq")

    def _union(self, node: a.Union_, scope: Scope) -> Step:
        return steps.Merge(*(self.pattern(child, below) for child, below in self._children(node, scope)))

    def _graph(self, node: a.Graph, scope: Scope) -> Step:
        if isinstance(node.name, NamedNode):
            return self.pattern(node.pattern, replace(scope, dataset=scope.dataset.within(node.name)))
        name = node.name.name
        branches = []
        for iri, _ in scope.dataset.named:
            graph = NamedNode(iri)
            below = replace(scope, dataset=scope.dataset.within(graph))
            table = steps.Table((name,), ((graph,),))
            branches.append(steps.Meet(table, self.pattern(node.pattern, below), "any", scope.within))
        if not branches:
            return steps.Table((name, *sorted(v.name for v in variables.possible(node.pattern))), ())
        return reduce(steps.Merge, branches)

    # --- absence ---

    def _outer(
        self,
        required: tuple[a.Pattern, Scope],
        optional: tuple[a.Pattern, Scope],
        when: str,
        condition: a.Expression | None,
        scope: Scope,
    ) -> Step:
        left, right = self.pattern(*required), self.pattern(*optional)
        left = self._with_outer(left, right.vars, scope)
        if condition is None:
            return steps.Outer(left, right, when, instants=scope.instants)
        left = self._with_outer_bindings(left, condition, scope, right.certain)
        marks: list[tuple[str, Step]] = []
        tags: dict[str, tuple[str, ...]] = {}
        inner = replace(scope, within=None, outer=steps.Meet(left, right), tags=tags)

        def sought(exists: a.Exists) -> a.Var:
            marks.append((self.fresh(steps.MARK[1:]), self.pattern(exists.pattern, inner)))
            return a.Var(marks[-1][0])

        condition = replace_exists(condition, sought)
        return steps.Outer(
            left,
            right,
            when,
            condition,
            bounds.duration_bound(condition),
            tuple(var for var, _ in marks),
            tuple(step for _, step in marks),
            scope.instants,
            tags=tuple((of, tag) for tag, of in tags.items()),
        )

    def _leftjoin(self, node: a.LeftJoin, scope: Scope) -> Step:
        required, optional = self._children(node, scope)
        return self._outer(required, optional, "ended", node.condition, scope)

    def _seqrightjoin(self, node: a.SeqRightJoin, scope: Scope) -> Step:
        optional, required = self._children(node, scope)
        return self._outer(required, optional, "before", node.condition, scope)

    def _eqleftjoin(self, node: a.EqLeftJoin, scope: Scope) -> Step:
        required, optional = self._children(node, scope)
        return self._outer(required, optional, "eq", node.condition, scope)

    def _minus(self, node: a.Minus, scope: Scope) -> Step:
        required, absent = (self.pattern(*child) for child in self._children(node, scope))
        required = self._with_outer(required, absent.vars, scope)
        return steps.Without(required, absent, scope.instants)

    # --- filters and expressions ---

    def _filter(self, node: a.Filter, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        step = self.pattern(pattern, below)
        columns = step.vars
        # Conditions on the interval come last: joins have enforced most of them already.
        for conjunct in sorted(conjuncts(node.condition), key=_depends_on_row):
            prepared, conjunct = self._marked(step, conjunct, scope)
            step = push_filter(prepared, conjunct)
        return columns_of(step, columns) if scope.outer is None else step

    def _extend(self, node: a.Extend, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        step = self.pattern(pattern, below)
        columns = (*step.vars, node.var.name)
        step, expression = self._marked(step, node.expression, scope)
        unseeded = chance.extended(node.pattern) if _depends_on_row(expression) else frozenset()
        step = steps.Compute(step, node.var.name, expression, unseeded)
        return columns_of(step, columns) if scope.outer is None else step

    def _marked(self, step: Step, expression: a.Expression, scope: Scope) -> tuple[Step, a.Expression]:
        """The step with a column for each EXISTS of the expression, which then reads that column."""
        step = self._with_outer_bindings(step, expression, scope)

        def sought(exists: a.Exists) -> a.Var:
            nonlocal step
            tags: dict[str, tuple[str, ...]] = {}
            inner = replace(scope, within=None, outer=step, tags=tags)
            var = self.fresh(steps.MARK[1:])
            found = self.pattern(exists.pattern, inner)
            for tag, of in tags.items():
                step = steps.Tagged(step, of, tag)
            step = steps.Mark(step, found, var, scope.instants)
            return a.Var(var)

        expression = replace_exists(expression, sought)
        return step, expression

    def _with_outer_bindings(
        self,
        step: Step,
        expression: a.Expression,
        scope: Scope,
        also_bound: frozenset[str] = frozenset(),
    ) -> Step:
        """Inside EXISTS: joins in the outer bindings that an expression needs and the group lacks."""
        if scope.outer is None:
            return step
        mentioned = [var.name for var in variables.of_expression(expression)]
        return self._with_outer(step, [name for name in mentioned if name not in also_bound], scope)

    def _with_outer(self, step: Step, names: Iterable[str], scope: Scope) -> Step:
        """Inside EXISTS: the step with the outer bindings of some variables it may leave open."""
        if scope.outer is None:
            return step
        wanted = frozenset(names) - step.certain
        needed = [var for var in scope.outer.vars if var in wanted]
        if not needed:
            return step
        shared = [var for var in scope.outer.vars if var in step.vars and var not in needed]
        columns = tuple(shared + needed)
        if scope.outer.certain.issuperset(columns):
            return steps.Meet(steps.Domain(scope.outer, columns), step)
        tag = f".tag({','.join(columns)})"
        scope.tags[tag] = columns
        tagged = steps.Tagged(scope.outer, columns, tag)
        return steps.Meet(steps.Domain(tagged, (*columns, tag)), step)

    # --- solution modifiers ---

    def _project(self, node: a.Project, scope: Scope) -> Step:
        # What a sub-query does not project is another variable, so EXISTS substitutes nothing in it.
        [(pattern, below)] = self._children(node, replace(scope, outer=None))
        return columns_of(self.pattern(pattern, below), tuple(var.name for var in node.vars))

    def _distinct(self, node: a.Distinct | a.Reduced, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        return steps.Unique(self.pattern(pattern, below), subsume=True)

    _reduced = _distinct

    def _group(self, node: a.Group, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        step = self.pattern(pattern, below)
        computed: list[tuple[str, a.Expression]] = []

        def column(name: str, expression: a.Expression) -> str:
            nonlocal step
            step, expression = self._marked(step, expression, scope)
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
        keys = tuple(var.name for var, _ in node.keys)
        return steps.Aggregated(step, keys, tuple(aggregates), scope.instants, tuple(computed))

    def _orderby(self, node: a.OrderBy, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        step = self.pattern(pattern, below)
        columns = step.vars
        keys, computed = [], []
        for expression, descending in node.keys:
            if isinstance(expression, a.Var):
                keys.append((expression.name, descending))
            else:
                step, expression = self._marked(step, expression, scope)
                computed.append((self.fresh("order"), expression))
                keys.append((computed[-1][0], descending))
        ordered = steps.Ordered(step, tuple(keys), scope.instants, columns, tuple(computed))
        return columns_of(ordered, columns)

    def _slice(self, node: a.Slice, scope: Scope) -> Step:
        [(pattern, below)] = self._children(node, scope)
        step = self.pattern(pattern, below)
        substituted = [var for var in step.vars if scope.outer is not None and var in scope.outer.vars]
        if substituted:
            raise QueryError(
                f"LIMIT and OFFSET inside EXISTS cannot be evaluated for each ?{substituted[0]} of the"
                " outer pattern",
                hint="leave them out (EXISTS needs only one solution), or rename the inner variable",
            )
        if is_ordered(step):
            step = with_ties(step, step.vars)
        else:
            step = steps.Ordered(step, (), scope.instants)
        return steps.Sliced(step, node.offset, node.limit)


# --- helpers of the rewrites -------------------------------------------------------------------


def conjuncts(condition: a.Expression) -> list[a.Expression]:
    """A filter holds exactly if all these hold."""
    if isinstance(condition, a.Call) and condition.name == "&&":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def push_filter(step: Step, condition: a.Expression) -> Step:
    """The filter as far down as it means the same: to the side of a join that binds its variables,
    and to the scan itself. Equal rows pass or fail together, so it may come before `Unique`."""
    needed = {var.name for var in variables.of_expression(condition)}
    if needed and not _depends_on_row(condition):
        if isinstance(step, steps.Meet):
            for side in ("left", "right"):
                if needed <= getattr(step, side).certain:
                    return replace(step, **{side: push_filter(getattr(step, side), condition)})
        # What the columns hide is another variable, even if it has the name of one that is needed.
        if isinstance(step, (steps.Columns, steps.Unique)) and needed <= frozenset(step.vars):
            return replace(step, input=push_filter(step.input, condition))
        if isinstance(step, steps.Rename) and needed <= frozenset(step.vars):
            names = dict(zip(step.vars, step.input.vars, strict=True))
            return replace(step, input=push_filter(step.input, _renamed(condition, names)))
    return steps.Select(step, condition)


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


def replace_exists(expression: a.Expression, replacement: Callable[[a.Exists], a.Var]) -> a.Expression:
    """The expression with each EXISTS replaced by a variable that says the same."""
    if isinstance(expression, a.Exists):
        return replacement(expression)
    if isinstance(expression, a.Call):
        return a.Call(expression.name, tuple(replace_exists(arg, replacement) for arg in expression.args))
    return expression


_IN_ORDER = (steps.Columns, steps.Select, steps.Compute, steps.Unique)
"""Steps that keep the order of their rows."""


def is_ordered(step: Step) -> bool:
    """Whether rows of one instant come together and in order."""
    while isinstance(step, _IN_ORDER):
        step = step.input
    return isinstance(step, steps.Ordered)


def with_ties(step: Step, vars: tuple[str, ...]) -> Step:
    """The same, where ORDER BY decides ties by the columns that are left in the end."""
    if isinstance(step, _IN_ORDER):
        return replace(step, input=with_ties(step.input, vars))
    return replace(step, ties=vars)

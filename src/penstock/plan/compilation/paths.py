"""Property paths to steps, as section 18.2.2.4 of SPARQL 1.1 translates them, with intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from penstock.algebra import nodes as a
from penstock.algebra.balance import conjunction
from penstock.algebra.relations import ANY, HULL
from penstock.algebra.scopes import STREAM
from penstock.plan import steps
from penstock.plan.analysis.unification import may_have_no_length
from penstock.plan.analysis.variables import possible
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.expanding import all_pairs, join, joined_in_turn
from penstock.plan.compilation.joining import TOGETHER
from penstock.plan.compilation.nested import ENDS, NestedCompiler, start_at
from penstock.plan.compilation.shaping import UNIT, columns_of, merged
from penstock.plan.steps import PathWalk, Step
from penstock.terms import NamedNode

AGAIN = (((0, 0, 1), (1, 0, 1)), frozenset((1,)))
"""The transitions and the accepting state of walks along one label, once or more."""


@dataclass(frozen=True)
class PathEnds:
    """The columns of the pairs that a path connects, and what is written at its ends.

    The latter matters to paths without length, and is None in the middle of a path.
    """

    x: str
    y: str
    subject: a.TermOrVar | None = None
    object: a.TermOrVar | None = None

    @property
    def columns(self) -> tuple[str, str]:
        return self.x, self.y

    def reversed(self) -> PathEnds:
        return PathEnds(self.y, self.x, self.object, self.subject)

    def constants(self, context: Context) -> list[a.TermOrVar]:
        """The ends that are one term: written so, or substituted by EXISTS."""
        return [end for end in dict.fromkeys((self.subject, self.object)) if _is_constant(end, context)]


class PathCompiler(NestedCompiler):
    """The part of the compiler that knows paths; the rest gives it scans and fresh names."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[tuple[a.Path, PathEnds, Context], Step] = {}

    @abstractmethod
    def fresh(self, kind: str) -> str: ...

    @abstractmethod
    def scan(self, triple: a.TriplePattern, context: Context, *, unique: bool = True) -> Step: ...

    @abstractmethod
    def bgp(self, node: a.BGP, context: Context) -> Step: ...

    @abstractmethod
    def pattern(self, node: a.Pattern, context: Context) -> Step: ...

    @abstractmethod
    def _children(self, node: a.Pattern, context: Context) -> list[tuple[a.Pattern, Context]]: ...

    def around_paths(self, node: a.Join, context: Context) -> Step | None:
        """The join of a group with paths over static triples: they are walked from what others bind."""
        if context.outer is not None or context.hidden or context.carried:
            return None
        parts = list(self._conjuncts(node, context))
        if len(parts) >= TOGETHER or not any(_is_static_path(*part) for part in parts):
            return None
        found = [step for part in parts if (step := self.pattern(*part)) != UNIT]
        step = joined_in_turn(found, within=context.within)
        bound = possible(node)
        return columns_of(step, tuple(name for name in step.vars if a.Var(name) in bound))

    def _conjuncts(self, node: a.Pattern, context: Context) -> Iterator[tuple[a.Pattern, Context]]:
        """What a group joins, each with what holds for it."""
        if isinstance(node, a.Join) and (node.relation, node.interval, node.scope) == (ANY, HULL, STREAM):
            for child, below in self._children(node, context):
                yield from self._conjuncts(child, below)
        elif _is_static_path(node, context):
            for part in self._links(node):
                yield part, context
        elif isinstance(node.graph, NamedNode) and node.graph.value in context.dataset.by_name:
            inside = replace(context, dataset=context.dataset.within(node.graph))
            yield from self._conjuncts(node.pattern, inside)
        else:
            yield node, context

    def _pathpattern(self, node: a.PathPattern, context: Context) -> Step:
        if context.outer is None:
            return self._between(node, context)
        ends = [end.name for end in (node.subject, node.object) if isinstance(end, a.Var)]
        names = [name for name in dict.fromkeys(ends) if name in context.outer.names]
        kinds = [replace(context, outer=outer) for outer in context.outer.by_bound(names)]
        return merged([self._between(node, kind) for kind in kinds])

    def _between(self, node: a.PathPattern, context: Context) -> Step:
        """The solutions of a path between its ends; those that EXISTS substitutes are bound."""
        if a.is_nested(node.path):
            x, y = ENDS
            step = self.nested_path(node.path, node.subject, node.object, context)
        else:
            x, y = self.fresh("x"), self.fresh("y")
            key = a.Var(context.key) if context.key is not None else None
            inner = replace(context, key={node.object: y, node.subject: x}.get(key))
            step = self.path(node.path, PathEnds(x, y, node.subject, node.object), inner)
        ends = {x: node.subject, y: node.object}
        for column, end in ends.items():
            if _is_constant(end, context):
                step = _where(step, column, end, context)
        if node.subject == node.object and isinstance(node.subject, a.Var):
            step = steps.Filter(step, a.Call("SAMETERM", (a.Var(x), a.Var(y))))
            ends = {x: node.subject}
        kept = {column: end.name for column, end in ends.items() if isinstance(end, a.Var)}
        kept |= {column: column for column in context.hidden}
        if context.outer is not None:
            step = context.outer.tagged(step)
            kept[context.outer.tag] = context.outer.tag
        return steps.Rename(columns_of(step, tuple(kept)), tuple(kept.values()))

    def path(self, path: a.Path, ends: PathEnds, context: Context) -> Step:
        """The pairs that a path connects. Closures in closures ask for the same ones many times."""
        known = (path, ends, context)
        if known not in self._paths:
            self._paths[known] = self._path(path, ends, context)
        return self._paths[known]

    def _path(self, path: a.Path, ends: PathEnds, context: Context) -> Step:
        if isinstance(path, NamedNode):
            return self.scan(a.TriplePattern(a.Var(ends.x), path, a.Var(ends.y)), context)
        if isinstance(path, a.Inverse):
            return _pairs_of(self.path(path.path, ends.reversed(), context), ends, context)
        if isinstance(path, a.Sequence):
            return self._sequence(path, ends, context)
        if isinstance(path, a.Alternative):
            return _merged(self.path(path.left, ends, context), self.path(path.right, ends, context), context)
        if isinstance(path, a.NegatedSet):
            return self._negated(path, ends, context)
        pairs = steps.Unique(self._inner(path.path, ends, context))
        if not isinstance(path, a.ZeroOrOne):
            if context.static and not ends.constants(context):
                return self._repeated_static(pairs, ends, context, or_none=isinstance(path, a.ZeroOrMore))
            pairs = self._repeated(pairs, ends, context)
        if isinstance(path, a.OneOrMore):
            return pairs
        same = a.Call("SAMETERM", (a.Var(ends.x), a.Var(ends.y)))
        zero = _merged(self._zero_length(ends, context), steps.Filter(pairs, same), context)
        longer = steps.Filter(pairs, a.Call("!", (same,)))
        return _merged(steps.Unique(zero, subsume=True), longer, context)

    def _repeated(self, pairs: Step, ends: PathEnds, context: Context) -> Step:
        """`path+`, given the pairs of the path; where an end is a term, walks begin there."""
        further = pairs.vars[2:]
        bounds = {"within": context.within, "relation": context.relation}
        constants = [end for end in (ends.subject, ends.object) if not isinstance(end, a.Var | None)]
        if not constants or further != context.hidden:
            label = steps.Rename(pairs, (*ENDS, *further))
            return steps.Rename(PathWalk((label,), *AGAIN, pairs=True, **bounds), pairs.vars)
        begin, end = ends.columns if constants[0] == ends.subject else ends.reversed().columns
        label = steps.Rename(columns_of(pairs, (begin, end, *further)), (*ENDS, *further))
        walked = PathWalk((label,), *AGAIN, start=start_at(constants[0]), **bounds)
        walked = steps.Compute(steps.Rename(walked, (end, *further)), begin, constants[0])
        return columns_of(walked, pairs.vars)

    def _repeated_static(self, pairs: Step, ends: PathEnds, context: Context, *, or_none: bool) -> Step:
        """`path+` over static triples, or `path*`, between variables."""
        label = steps.Rename(pairs, ENDS)
        transitions, accepting = AGAIN
        if not or_none:
            return steps.Rename(all_pairs((label,), transitions, accepting), ends.columns)
        zero = steps.Rename(self._zero_length(ends, context), ENDS)
        found = all_pairs((label, zero), (*transitions, (0, 1, 2)), accepting | {2})
        return steps.Rename(found, ends.columns)

    def _links(self, node: a.PathPattern) -> Iterator[a.BGP | a.PathPattern]:
        """The patterns that SPARQL translates `p/q/…` to: neighbouring links are triples of one BGP."""
        links = [node.path] if a.is_nested(node.path) else _links(node.path)
        between = [node.subject, *(a.Var(self.fresh("m")) for _ in links[1:]), node.object]
        triples: list[a.TriplePattern] = []
        for link, begin, end in zip(links, between, between[1:], strict=False):
            triple = _triple(link, begin, end)
            if triple is not None:
                triples.append(triple)
                continue
            if triples:
                yield a.BGP(tuple(triples))
                triples = []
            yield a.PathPattern(begin, link, end)
        if triples:
            yield a.BGP(tuple(triples))

    def _sequence(self, path: a.Sequence, ends: PathEnds, context: Context) -> Step:
        """`p/q/…`, between columns."""
        written = {a.Var(ends.x): ends.subject, a.Var(ends.y): ends.object}
        joined: Step | None = None
        for part in self._links(a.PathPattern(a.Var(ends.x), path, a.Var(ends.y))):
            if isinstance(part, a.BGP):
                step = self.bgp(part, context)
            else:
                x, y = part.subject, part.object
                step = self.path(part.path, PathEnds(x.name, y.name, written.get(x), written.get(y)), context)
            joined = step if joined is None else join(joined, step, context.relation, within=context.within)
        return _pairs_of(joined, ends, context)

    def _inner(self, path: a.Path, ends: PathEnds, context: Context) -> Step:
        """The pairs of the path inside `+ * ?`, between variables, and from and to constant ends.

        SPARQL's ALP evaluates the inner path at a term: only for a zero-length path inside
        does that differ from a variable bound to the term.
        """
        constants = ends.constants(context)
        if not constants or not may_have_no_length(path):
            return self.path(path, PathEnds(*ends.columns), context)
        branches = []
        for begin in (None, *constants):
            for finish in (None, *constants):
                step = self.path(path, PathEnds(*ends.columns, begin, finish), context)
                for column, end in ((ends.x, begin), (ends.y, finish)):
                    if end is not None:
                        step = _where(step, column, end, context)
                        continue
                    for constant in constants:
                        step = _where(step, column, constant, context, differs=True)
                branches.append(_pairs_of(step, ends, context))
        return reduce(lambda left, right: _merged(left, right, context), branches)

    def _negated(self, path: a.NegatedSet, ends: PathEnds, context: Context) -> Step:
        directions = []
        for names, (s, o) in ((path.forward, ends.columns), (path.backward, ends.reversed().columns)):
            if names is not None:
                p = a.Var(self.fresh("p"))
                triple = a.TriplePattern(a.Var(s), p, a.Var(o))
                step = self.scan(triple, context)
                if others := [a.Call("!", (a.Call("SAMETERM", (p, name)),)) for name in names]:
                    step = steps.Filter(step, conjunction(others))
                directions.append(columns_of(step, (*ends.columns, *context.hidden)))
        return merged(directions)

    def _zero_length(self, ends: PathEnds, context: Context) -> Step:
        if constants := ends.constants(context):
            return self._at_constants(constants, ends, context)
        s, p, o = (a.Var(self.fresh(kind)) for kind in "spo")
        triples = self.scan(a.TriplePattern(s, p, o), context, unique=False)
        hidden = context.hidden
        nodes = [
            steps.Rename(columns_of(triples, (node.name, *hidden)), (ends.x, *hidden)) for node in (s, o)
        ]
        return steps.Compute(steps.Unique(steps.Merge(*nodes), subsume=True), ends.y, a.Var(ends.x))

    def _at_constants(self, constants: list[a.TermOrVar], ends: PathEnds, context: Context) -> Step:
        """⟨c, c⟩ for the one term c that all these constants are."""
        names = [constant.name for constant in constants if isinstance(constant, a.Var)]
        if not names:
            rows = ((constants[0], constants[0]),) if len(constants) == 1 else ()
            return self._in_each_element(steps.InlineData(ends.columns, rows), context)
        bindings = context.outer.bindings(names)
        for constant in constants:
            if constant != a.Var(names[0]):
                bindings = steps.Filter(bindings, a.Call("SAMETERM", (a.Var(names[0]), constant)))
        others = (*context.outer.hidden, context.outer.tag)
        one = steps.Rename(columns_of(bindings, (names[0], *others)), (ends.x, *others))
        one = self._in_each_element(one, context)
        return _pairs_of(steps.Compute(one, ends.y, a.Var(ends.x)), ends, context)

    def _in_each_element(self, step: Step, context: Context) -> Step:
        """What holds in every graph, where the scope is an element: in each one that has a triple."""
        if not context.element:
            return columns_of(step, tuple(dict.fromkeys((*step.vars, *context.hidden))))
        triple = a.TriplePattern(*(a.Var(self.fresh(kind)) for kind in "spo"))
        triples = self.scan(triple, context, unique=False)
        return steps.Join(step, steps.Unique(columns_of(triples, context.hidden)))


def _is_static_path(node: a.Pattern, context: Context) -> bool:
    return isinstance(node, a.PathPattern) and node.scope == STREAM and context.static


def _links(path: a.Path) -> list[a.Path]:
    """The parts of a sequence path, in their order."""
    links: list[a.Path] = []
    waiting = [path]
    while waiting:
        match waiting.pop():
            case a.Sequence(left, right):
                waiting += (right, left)
            case a.Inverse(a.Sequence(left, right)):
                waiting += (a.Inverse(left), a.Inverse(right))
            case link:
                links.append(link)
    return links


def _triple(link: a.Path, x: a.TermOrVar, y: a.TermOrVar) -> a.TriplePattern | None:
    """A plain or inverse link as a triple pattern."""
    if isinstance(link, NamedNode):
        return a.TriplePattern(x, link, y)
    if isinstance(link, a.Inverse):
        return _triple(link.path, y, x)
    return None


def _is_constant(end: a.TermOrVar | None, context: Context) -> bool:
    """Whether an end is a term, or a variable for which EXISTS substitutes one."""
    if isinstance(end, a.Var):
        return context.outer is not None and end.name in context.outer.names
    return end is not None


def _where(step: Step, column: str, end: a.TermOrVar, context: Context, *, differs: bool = False) -> Step:
    """The pairs whose column is a constant end, or is not."""
    columns = step.vars
    if isinstance(end, a.Var):
        step = context.outer.bind(step, (end.name,))
        columns += (context.outer.tag,) if context.outer.tag not in columns else ()
    same = a.Call("SAMETERM", (a.Var(column), end))
    return columns_of(steps.Filter(step, a.Call("!", (same,)) if differs else same), columns)


def _pairs_of(step: Step, ends: PathEnds, context: Context) -> Step:
    """The columns of the ends, and the tag where EXISTS substitutes."""
    tagged = context.outer is not None and context.outer.tag in step.vars
    return columns_of(step, (*ends.columns, *context.hidden, *([context.outer.tag] if tagged else [])))


def _merged(left: Step, right: Step, context: Context) -> Step:
    if context.outer is not None:
        left, right = context.outer.alike(left, right)
        left, right = (columns_of(side, left.vars) for side in (left, right))
    return steps.Merge(left, right)

"""Property paths to steps, as section 18.2.2.4 of SPARQL 1.1 translates them, with intervals."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import reduce

from penstock.algebra import nodes as a
from penstock.algebra.balance import conjunction
from penstock.algebra.scopes import STREAM
from penstock.plan import steps
from penstock.plan.analysis.matching import may_have_no_length
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.nested import ENDS, NestedCompiler, start_at
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.step import Step
from penstock.terms import NamedNode

AGAIN = (((0, 0, 1), (1, 0, 1)), frozenset((1,)))
"""The transitions and the accepting state of walks along one label, once or more."""


@dataclass(frozen=True)
class Ends:
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

    def reversed(self) -> Ends:
        return Ends(self.y, self.x, self.object, self.subject)

    def constants(self, context: Context) -> list[a.TermOrVar]:
        """The ends that are one term: written so, or substituted by EXISTS."""
        return [end for end in dict.fromkeys((self.subject, self.object)) if _is_constant(end, context)]


class PathCompiler(NestedCompiler):
    """The part of the compiler that knows paths; the rest gives it scans and fresh names."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[tuple[a.Path, Ends, Context], Step] = {}

    @abstractmethod
    def fresh(self, kind: str) -> str: ...

    @abstractmethod
    def scan(self, triple: a.TriplePattern, context: Context, *, unique: bool = True) -> Step: ...

    @abstractmethod
    def bgp(self, node: a.BGP, context: Context) -> Step: ...

    def _pathpattern(self, node: a.PathPattern, context: Context) -> Step:
        if node.scope != STREAM:
            context = replace(context, element=True)
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
            step = self.path(node.path, Ends(x, y, node.subject, node.object), inner)
        ends = {x: node.subject, y: node.object}
        for column, end in ends.items():
            if _is_constant(end, context):
                step = _where(step, column, end, context)
        if node.subject == node.object and isinstance(node.subject, a.Var):
            step = steps.Select(step, a.Call("SAMETERM", (a.Var(x), a.Var(y))))
            ends = {x: node.subject}
        kept = {column: end.name for column, end in ends.items() if isinstance(end, a.Var)}
        if context.event:
            kept |= dict.fromkeys(context.hidden, *context.hidden)
        if context.outer is not None:
            step = context.outer.tagged(step)
            kept[context.outer.tag] = context.outer.tag
        return steps.Rename(columns_of(step, tuple(kept)), tuple(kept.values()))

    def path(self, path: a.Path, ends: Ends, context: Context) -> Step:
        """The pairs that a path connects. Closures in closures ask for the same ones many times."""
        known = (path, ends, context)
        if known not in self._paths:
            self._paths[known] = self._path(path, ends, context)
        return self._paths[known]

    def _path(self, path: a.Path, ends: Ends, context: Context) -> Step:
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
            pairs = self._repeated(pairs, ends, context)
        if isinstance(path, a.OneOrMore):
            return pairs
        same = a.Call("SAMETERM", (a.Var(ends.x), a.Var(ends.y)))
        zero = _merged(self._zero_length(ends, context), steps.Select(pairs, same), context)
        longer = steps.Select(pairs, a.Call("!", (same,)))
        return _merged(steps.Unique(zero, subsume=True), longer, context)

    def _repeated(self, pairs: Step, ends: Ends, context: Context) -> Step:
        """`path+`, given the pairs of the path; where an end is a term, walks begin there."""
        further = pairs.vars[2:]
        bounds = {"within": context.within, "relation": context.relation}
        constants = [end for end in (ends.subject, ends.object) if not isinstance(end, a.Var | None)]
        if not constants or further != context.hidden:
            label = steps.Rename(pairs, (*ENDS, *further))
            return steps.Rename(steps.Reach((label,), *AGAIN, pairs=True, **bounds), pairs.vars)
        begin, end = ends.columns if constants[0] == ends.subject else ends.reversed().columns
        label = steps.Rename(columns_of(pairs, (begin, end, *further)), (*ENDS, *further))
        walked = steps.Reach((label,), *AGAIN, start=start_at(constants[0]), **bounds)
        walked = steps.Compute(steps.Rename(walked, (end, *further)), begin, constants[0])
        return columns_of(walked, pairs.vars)

    def _sequence(self, path: a.Sequence, ends: Ends, context: Context) -> Step:
        """`p/q/…`: neighbouring links are triples of one BGP, as SPARQL translates them."""
        links = _links(path)
        names = [ends.x, *(self.fresh("m") for _ in links[1:]), ends.y]
        joined: Step | None = None
        triples: list[a.TriplePattern] = []

        def join(step: Step) -> None:
            nonlocal joined
            if joined is not None:
                step = steps.Join(joined, step, context.relation, within=context.within)
            joined = step

        for place, link in enumerate(links):
            begin, end = names[place], names[place + 1]
            triple = _triple(link, a.Var(begin), a.Var(end))
            if triple is not None:
                triples.append(triple)
                continue
            if triples:
                join(self.bgp(a.BGP(tuple(triples)), context))
                triples = []
            first = ends.subject if place == 0 else None
            last = ends.object if place == len(links) - 1 else None
            join(self.path(link, Ends(begin, end, first, last), context))
        if triples:
            join(self.bgp(a.BGP(tuple(triples)), context))
        return _pairs_of(joined, ends, context)

    def _inner(self, path: a.Path, ends: Ends, context: Context) -> Step:
        """The pairs of the path inside `+ * ?`, between variables, and from and to constant ends.

        SPARQL's ALP evaluates the inner path at a term: only for a zero-length path inside
        does that differ from a variable bound to the term.
        """
        constants = ends.constants(context)
        if not constants or not may_have_no_length(path):
            return self.path(path, Ends(*ends.columns), context)
        branches = []
        for begin in (None, *constants):
            for finish in (None, *constants):
                step = self.path(path, Ends(*ends.columns, begin, finish), context)
                for column, end in ((ends.x, begin), (ends.y, finish)):
                    if end is not None:
                        step = _where(step, column, end, context)
                        continue
                    for constant in constants:
                        step = _where(step, column, constant, context, differs=True)
                branches.append(_pairs_of(step, ends, context))
        return reduce(lambda left, right: _merged(left, right, context), branches)

    def _negated(self, path: a.NegatedSet, ends: Ends, context: Context) -> Step:
        directions = []
        for names, (s, o) in ((path.forward, ends.columns), (path.backward, ends.reversed().columns)):
            if names is not None:
                p = a.Var(self.fresh("p"))
                triple = a.TriplePattern(a.Var(s), p, a.Var(o))
                step = self.scan(triple, context)
                if others := [a.Call("!", (a.Call("SAMETERM", (p, name)),)) for name in names]:
                    step = steps.Select(step, conjunction(others))
                directions.append(columns_of(step, (*ends.columns, *context.hidden)))
        return merged(directions)

    def _zero_length(self, ends: Ends, context: Context) -> Step:
        if constants := ends.constants(context):
            return self._at_constants(constants, ends, context)
        s, p, o = (a.Var(self.fresh(kind)) for kind in "spo")
        triples = self.scan(a.TriplePattern(s, p, o), context, unique=False)
        hidden = context.hidden
        nodes = [
            steps.Rename(columns_of(triples, (node.name, *hidden)), (ends.x, *hidden)) for node in (s, o)
        ]
        return steps.Compute(steps.Unique(steps.Merge(*nodes), subsume=True), ends.y, a.Var(ends.x))

    def _at_constants(self, constants: list[a.TermOrVar], ends: Ends, context: Context) -> Step:
        """⟨c, c⟩ for the one term c that all these constants are."""
        names = [constant.name for constant in constants if isinstance(constant, a.Var)]
        if not names:
            rows = ((constants[0], constants[0]),) if len(constants) == 1 else ()
            return self._in_each_element(steps.Table(ends.columns, rows), context)
        bindings = context.outer.bindings(names)
        for constant in constants:
            if constant != a.Var(names[0]):
                bindings = steps.Select(bindings, a.Call("SAMETERM", (a.Var(names[0]), constant)))
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


def _triple(link: a.Path, x: a.Var, y: a.Var) -> a.TriplePattern | None:
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
    return columns_of(steps.Select(step, a.Call("!", (same,)) if differs else same), columns)


def _pairs_of(step: Step, ends: Ends, context: Context) -> Step:
    """The columns of the ends, and the tag where EXISTS substitutes."""
    tagged = context.outer is not None and context.outer.tag in step.vars
    return columns_of(step, (*ends.columns, *context.hidden, *([context.outer.tag] if tagged else [])))


def _merged(left: Step, right: Step, context: Context) -> Step:
    if context.outer is not None:
        left, right = context.outer.alike(left, right)
        left, right = (columns_of(side, left.vars) for side in (left, right))
    return steps.Merge(left, right)

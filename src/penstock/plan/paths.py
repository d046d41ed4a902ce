"""Property paths to steps, as section 18.2.2.4 of SPARQL 1.1 translates them, with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import reduce

from penstock.algebra import nodes as a
from penstock.plan import steps
from penstock.plan.matching import may_have_no_length
from penstock.plan.scope import Scope
from penstock.plan.steps import Step, columns_of
from penstock.terms import NamedNode


class PathCompiler(ABC):
    """The part of the compiler that knows paths; the rest gives it scans and fresh names."""

    @abstractmethod
    def fresh(self, kind: str) -> str: ...

    @abstractmethod
    def scan(self, triple: a.TriplePattern, scope: Scope, *, unique: bool = True) -> Step: ...

    @abstractmethod
    def bgp(self, node: a.BGP, scope: Scope) -> Step: ...

    def _pathpattern(self, node: a.PathPattern, scope: Scope) -> Step:
        if scope.outer is None:
            return self._between(node, scope)
        ends = [end.name for end in (node.subject, node.object) if isinstance(end, a.Var)]
        names = [name for name in dict.fromkeys(ends) if name in scope.outer.names]
        kinds = [replace(scope, outer=outer) for outer in scope.outer.by_bound(names)]
        return reduce(steps.Merge, [self._between(node, kind) for kind in kinds])

    def _between(self, node: a.PathPattern, scope: Scope) -> Step:
        """The solutions of a path between its ends; those that EXISTS substitutes are bound."""
        x, y = self.fresh("x"), self.fresh("y")
        key = a.Var(scope.key) if scope.key is not None else None
        inner = replace(scope, key={node.object: y, node.subject: x}.get(key))
        step = self.path(node.path, x, y, inner, node.subject, node.object)
        ends = {x: node.subject, y: node.object}
        for column, end in ends.items():
            if _is_constant(end, scope):
                step = _where(step, column, end, scope)
        if node.subject == node.object and isinstance(node.subject, a.Var):
            step = steps.Select(step, a.Call("SAMETERM", (a.Var(x), a.Var(y))))
            ends = {x: node.subject}
        kept = {column: end.name for column, end in ends.items() if isinstance(end, a.Var)}
        if scope.outer is not None:
            step = scope.outer.tagged(step)
            kept[scope.outer.tag] = scope.outer.tag
        return steps.Rename(columns_of(step, tuple(kept)), tuple(kept.values()))

    def path(
        self,
        path: a.Path,
        x: str,
        y: str,
        scope: Scope,
        subject: a.TermOrVar | None = None,
        object_: a.TermOrVar | None = None,
    ) -> Step:
        """The pairs (x, y) that a path connects; constant ends matter to zero-length paths."""
        if isinstance(path, NamedNode):
            return self.scan(a.TriplePattern(a.Var(x), path, a.Var(y)), scope)
        if isinstance(path, a.Inverse):
            return _pairs_of(self.path(path.path, y, x, scope, object_, subject), x, y, scope)
        if isinstance(path, a.Sequence):
            return self._sequence(path, x, y, scope, subject, object_)
        if isinstance(path, a.Alternative):
            left = self.path(path.left, x, y, scope, subject, object_)
            return _merged(left, self.path(path.right, x, y, scope, subject, object_), scope)
        if isinstance(path, a.NegatedSet):
            return self._negated(path, x, y, scope)
        pairs = steps.Unique(self._inner(path.path, x, y, scope, subject, object_))
        if not isinstance(path, a.ZeroOrOne):
            pairs = steps.Closure(pairs, scope.within)
        if isinstance(path, a.OneOrMore):
            return pairs
        same = a.Call("SAMETERM", (a.Var(x), a.Var(y)))
        zero = _merged(self._zero_length(x, y, scope, subject, object_), steps.Select(pairs, same), scope)
        longer = steps.Select(pairs, a.Call("!", (same,)))
        return _merged(steps.Unique(zero, subsume=True), longer, scope)

    def _sequence(
        self,
        path: a.Sequence,
        x: str,
        y: str,
        scope: Scope,
        subject: a.TermOrVar | None,
        object_: a.TermOrVar | None,
    ) -> Step:
        """`p/q/…`: neighbouring links are triples of one BGP, as SPARQL translates them."""
        links = _links(path)
        names = [x, *(self.fresh("m") for _ in links[1:]), y]
        joined: Step | None = None
        triples: list[a.TriplePattern] = []

        def join(step: Step) -> None:
            nonlocal joined
            joined = step if joined is None else steps.Meet(joined, step, "any", scope.within)

        for place, link in enumerate(links):
            begin, end = names[place], names[place + 1]
            triple = _triple(link, a.Var(begin), a.Var(end))
            if triple is not None:
                triples.append(triple)
                continue
            if triples:
                join(self.bgp(a.BGP(tuple(triples)), scope))
                triples = []
            first = subject if place == 0 else None
            last = object_ if place == len(links) - 1 else None
            join(self.path(link, begin, end, scope, first, last))
        if triples:
            join(self.bgp(a.BGP(tuple(triples)), scope))
        return _pairs_of(joined, x, y, scope)

    def _inner(
        self,
        path: a.Path,
        x: str,
        y: str,
        scope: Scope,
        subject: a.TermOrVar | None,
        object_: a.TermOrVar | None,
    ) -> Step:
        """The pairs of the path inside `+ * ?`, between variables, and from and to constant ends.

        SPARQL's ALP evaluates the inner path at a term: only for a zero-length path inside
        does that differ from a variable bound to the term.
        """
        constants = [end for end in dict.fromkeys((subject, object_)) if _is_constant(end, scope)]
        if not constants or not may_have_no_length(path):
            return self.path(path, x, y, scope)
        branches = []
        for begin in (None, *constants):
            for finish in (None, *constants):
                step = self.path(path, x, y, scope, begin, finish)
                for column, end in ((x, begin), (y, finish)):
                    if end is not None:
                        step = _where(step, column, end, scope)
                        continue
                    for constant in constants:
                        step = _where(step, column, constant, scope, differs=True)
                branches.append(_pairs_of(step, x, y, scope))
        return reduce(lambda left, right: _merged(left, right, scope), branches)

    def _negated(self, path: a.NegatedSet, x: str, y: str, scope: Scope) -> Step:
        directions = []
        for names, (s, o) in ((path.forward, (x, y)), (path.backward, (y, x))):
            if names is not None:
                p = a.Var(self.fresh("p"))
                triple = a.TriplePattern(a.Var(s), p, a.Var(o))
                step = self.scan(triple, scope)
                for name in names:
                    same = a.Call("SAMETERM", (p, name))
                    step = steps.Select(step, a.Call("!", (same,)))
                directions.append(columns_of(step, (x, y)))
        return reduce(steps.Merge, directions)

    def _zero_length(
        self,
        x: str,
        y: str,
        scope: Scope,
        subject: a.TermOrVar | None,
        object_: a.TermOrVar | None,
    ) -> Step:
        constants = list(dict.fromkeys(end for end in (subject, object_) if _is_constant(end, scope)))
        if constants:
            return self._at_constants(constants, x, y, scope)
        s, p, o = (a.Var(self.fresh(kind)) for kind in "spo")
        triples = self.scan(a.TriplePattern(s, p, o), scope, unique=False)
        ends = [steps.Rename(columns_of(triples, (end.name,)), (x,)) for end in (s, o)]
        nodes = steps.Unique(steps.Merge(*ends), subsume=True)
        return steps.Compute(nodes, y, a.Var(x))

    def _at_constants(self, ends: list[a.TermOrVar], x: str, y: str, scope: Scope) -> Step:
        """⟨c, c⟩ for the one term c that all these ends are."""
        names = [end.name for end in ends if isinstance(end, a.Var)]
        if not names:
            return steps.Table((x, y), ((ends[0], ends[0]),) if len(ends) == 1 else ())
        bindings = scope.outer.bindings(names)
        for end in ends:
            if end != a.Var(names[0]):
                bindings = steps.Select(bindings, a.Call("SAMETERM", (a.Var(names[0]), end)))
        bindings = columns_of(bindings, (names[0], scope.outer.tag))
        one = steps.Rename(bindings, (x, scope.outer.tag))
        return _pairs_of(steps.Compute(one, y, a.Var(x)), x, y, scope)


def _links(path: a.Path) -> list[a.Path]:
    """The parts of a sequence path, in their order."""
    if isinstance(path, a.Sequence):
        return _links(path.left) + _links(path.right)
    if isinstance(path, a.Inverse) and isinstance(path.path, a.Sequence):
        return [a.Inverse(link) for link in reversed(_links(path.path))]
    return [path]


def _triple(link: a.Path, x: a.Var, y: a.Var) -> a.TriplePattern | None:
    """A plain or inverse link as a triple pattern."""
    if isinstance(link, NamedNode):
        return a.TriplePattern(x, link, y)
    if isinstance(link, a.Inverse):
        return _triple(link.path, y, x)
    return None


def _is_constant(end: a.TermOrVar | None, scope: Scope) -> bool:
    """Whether an end is a term, or a variable for which EXISTS substitutes one."""
    if isinstance(end, a.Var):
        return scope.outer is not None and end.name in scope.outer.names
    return end is not None


def _where(step: Step, column: str, end: a.TermOrVar, scope: Scope, *, differs: bool = False) -> Step:
    """The pairs whose column is a constant end, or is not."""
    columns = step.vars
    if isinstance(end, a.Var):
        step = scope.outer.bind(step, (end.name,))
        columns += (scope.outer.tag,) if scope.outer.tag not in columns else ()
    same = a.Call("SAMETERM", (a.Var(column), end))
    return columns_of(steps.Select(step, a.Call("!", (same,)) if differs else same), columns)


def _pairs_of(step: Step, x: str, y: str, scope: Scope) -> Step:
    """The columns x and y, and the tag where EXISTS substitutes."""
    tagged = scope.outer is not None and scope.outer.tag in step.vars
    return columns_of(step, (x, y, scope.outer.tag) if tagged else (x, y))


def _merged(left: Step, right: Step, scope: Scope) -> Step:
    if scope.outer is not None:
        left, right = scope.outer.alike(left, right)
        left, right = (columns_of(side, left.vars) for side in (left, right))
    return steps.Merge(left, right)

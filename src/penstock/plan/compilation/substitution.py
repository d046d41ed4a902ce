"""EXISTS: when a look-up is enough, and otherwise how outer bindings are substituted.

SPARQL evaluates the pattern of EXISTS anew for each outer solution μ, with μ substituted. Most
patterns need no such thing: those of their solutions that are compatible with μ are the answer
(`is_independent`). All others are evaluated for all μ at once: each distinct μ has a tag,
each leaf is joined with what μ binds of its variables, and the tag stays in every row, so that
MINUS, LIMIT and the rest work for each μ apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.algebra import nodes as a
from penstock.algebra.facts import once
from penstock.plan import steps, system_columns
from penstock.plan.analysis.variables import Vars, certain, free, of_expression
from penstock.plan.analysis.walk import children
from penstock.plan.compilation.shaping import columns_of
from penstock.plan.steps import Step


@once
def is_independent(pattern: a.Pattern, outer: Vars) -> bool:
    """Whether the pattern with μ substituted has just those of its solutions that are compatible with μ.

    `outer` are the variables that μ may bind.
    """
    if not outer & free(pattern):
        return True
    parts = children(pattern)
    if pattern.shows is not None:
        outer &= frozenset(pattern.shows)
    if not all(is_independent(part, outer) for part in parts):
        return False
    looked_at = frozenset().union(*map(of_expression, pattern.expressions)) & outer
    unfixed = tuple(free(part) & outer for part in parts)
    return pattern.is_independent(
        a.Substituted(outer, looked_at, certain(pattern), tuple(map(certain, parts)), unfixed)
    )


@dataclass(frozen=True)
class Substitution:
    """The outer solutions of an EXISTS: what each binds, and its tag."""

    domain: Step
    names: tuple[str, ...]
    tag: str
    hidden: tuple[str, ...] = ()  # columns that belong to the outer solution: its element

    @staticmethod
    def of(outer: Step, names: tuple[str, ...], tag: str, query: str) -> Substitution:
        domain = steps.OuterBindings(steps.CorrelationTag(outer, names, tag), (*names, tag), query)
        return Substitution(domain, names, tag)

    @staticmethod
    def in_elements(outer: Step, names: tuple[str, ...], tag: str) -> Substitution:
        """The same where outer solutions belong to elements: each asks in its element."""
        tagged = steps.CorrelationTag(outer, (*names, system_columns.ELEMENT), tag)
        domain = steps.Unique(columns_of(tagged, (*names, system_columns.ELEMENT, tag)))
        return Substitution(domain, names, tag, (system_columns.ELEMENT,))

    @property
    def vars(self) -> Vars:
        return frozenset(map(a.Var, self.names))

    def by_bound(self, names: Iterable[str]) -> Iterator[Substitution]:
        """The outer solutions by which of some variables they bind; just those are substituted."""
        kinds = [self]
        for name in names:
            bound = a.Call("BOUND", (a.Var(name),))
            unbound = a.Call("!", (bound,))
            if name not in self.domain.certain:
                kinds = [
                    replace(kind, domain=steps.Filter(kind.domain, condition), names=remaining)
                    for kind in kinds
                    for condition, remaining in (
                        (bound, kind.names),
                        (unbound, tuple(each for each in kind.names if each != name)),
                    )
                ]
        yield from kinds

    def only(self, vars: Iterable[a.Var]) -> Substitution | None:
        """What is visible in a sub-SELECT: the variables that it projects."""
        names = {var.name for var in vars}
        visible = tuple(name for name in self.names if name in names)
        return replace(self, names=visible) if visible else None

    def bindings(self, names: Iterable[str] = ()) -> Step:
        """The tags, each with what its μ binds of some variables."""
        wanted = set(names)
        bound = (name for name in self.names if name in wanted)
        return columns_of(self.domain, (*bound, *self.hidden, self.tag))

    def bind(self, step: Step, names: Iterable[str]) -> Step:
        """The step's solutions for each μ that they are compatible with, these variables bound."""
        return steps.Join(self.bindings(names), step)

    def tagged(self, step: Step) -> Step:
        """The step's solutions for each μ."""
        return step if self.tag in step.vars else self.bind(step, ())

    def alike(self, left: Step, right: Step) -> tuple[Step, Step]:
        """Both sides tagged if one is."""
        if self.tag in left.vars or self.tag in right.vars:
            return self.tagged(left), self.tagged(right)
        return left, right

    def matching(self, step: Step) -> Step:
        """The solutions of an independent pattern that are compatible with μ, for each μ."""
        return self.unseen(self.seen(step, of_step(step)), step.vars)

    def seen(self, step: Step, looked_at: Vars, *, seeded: bool = False) -> Step:
        """The step with the outer bindings of some variables, as expressions see them.

        What the solutions bind themselves is remembered: where it may differ, and if an
        expression is `seeded` by it, for all of them.
        """
        names = [name for name in self.names if a.Var(name) in looked_at]
        if not names:
            return step
        copied = names if seeded else [name for name in names if name in step.vars]
        return self.bind(remembering(step, copied), names)

    def unseen(self, step: Step, columns: tuple[str, ...]) -> Step:
        """The solutions as they were before `seen`: these columns, and the tag."""
        for name in self.names:
            own = [
                a.Var(copy)
                for copy in (system_columns.own(name), system_columns.other(name))
                if copy in step.vars
            ]
            if own:
                value = own[0] if len(own) == 1 else a.Call("COALESCE", tuple(own))
                step = steps.Compute(step, name, value)
        more = (each for each in (*self.hidden, self.tag) if each in step.vars and each not in columns)
        return columns_of(step, (*columns, *more))


def remembering(step: Step, names: Iterable[str], copy=system_columns.own) -> Step:
    """The step with a copy of those variables which it may leave unbound, as it binds them itself."""
    for name in names:
        if name not in step.certain:
            step = steps.Compute(step, copy(name), a.Var(name))
    return step


def of_step(step: Step) -> Vars:
    """The variables among a step's columns."""
    return frozenset(map(a.Var, step.vars))

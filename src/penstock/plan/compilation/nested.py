"""Nested regular expressions to steps: automata that are walked, tests as sets of nodes (decision 0014)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced, conjunction
from penstock.plan import steps
from penstock.plan.analysis.automata import Automaton, Label, anywhere, automaton, still
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.expanding import all_pairs
from penstock.plan.compilation.shaping import columns_of, merged
from penstock.plan.steps import PathWalk, Step
from penstock.terms import Term

X, Y, Z = a.Var(".x"), a.Var(".y"), a.Var(".z")
ENDS = (X.name, Y.name)


class NestedCompiler(ABC):
    """The part of the compiler that knows paths with axes and tests."""

    def __init__(self) -> None:
        self._tests: dict[tuple[a.Path, Context], Step] = {}

    @abstractmethod
    def scan(self, triple: a.TriplePattern, context: Context, *, unique: bool = True) -> Step: ...

    @abstractmethod
    def _in_each_element(self, step: Step, context: Context) -> Step: ...

    def nested_path(self, path: a.Path, subject: a.TermOrVar, object_: a.TermOrVar, context: Context) -> Step:
        """The pairs (columns `.x` and `.y`) of a nested regular expression, each ⟨x, y, t, t′⟩ once.

        Where an end is a term, walks are followed from there; all pairs are made only where neither is.
        """
        context = replace(context, key=None, outer=None)
        known = next((end for end in (subject, object_) if not isinstance(end, a.Var)), None)
        wanted = (*ENDS, *context.hidden)
        if known is None and context.static and (machine := automaton(path)).accepting:
            staying, _ = self._still(path, None, context)
            return self.static_pairs(machine, staying, context)
        if known is None:
            found = self._reach(automaton(path), context, pairs=True)
        else:
            back = isinstance(subject, a.Var)
            found = self._reach(automaton(path, backwards=back), context, start=start_at(known))
            if found is not None:
                found = steps.Rename(found, (X.name if back else Y.name, *context.hidden))
                found = columns_of(steps.Compute(found, Y.name if back else X.name, known), wanted)
        staying, at_these = self._still(path, known, context)
        if found is None:
            return steps.InlineData(wanted, ()) if staying is None else columns_of(staying, wanted)
        found = steps.Unique(found)
        if staying is None:
            return found
        # Where staying needs no time, ways that lead back say nothing more.
        loops = steps.Filter(found, at_these)
        still_there = steps.Unique(merged([columns_of(staying, wanted), loops]), subsume=True)
        return merged([still_there, steps.Filter(found, a.Call("!", (at_these,)))])

    def _reach(
        self, machine: Automaton, context: Context, *, start: Step | None = None, pairs: bool = False
    ) -> Step | None:
        """Where the walks of an automaton lead; None if it has none."""
        if not machine.accepting:
            return None
        labels = tuple(self._label(label, context) for label in machine.labels)
        return PathWalk(
            labels, machine.transitions, machine.accepting, start, pairs, context.within, context.relation
        )

    def static_pairs(self, machine: Automaton, staying: Step | None, context: Context) -> Step:
        """The pairs of a path over static triples, with those of walks that stay where they are."""
        labels = tuple(self._label(label, context) for label in machine.labels)
        if staying is None:
            return all_pairs(labels, machine.transitions, machine.accepting)
        last = 1 + max(target for _, _, target in machine.transitions)
        transitions = (*machine.transitions, (0, len(labels), last))
        return all_pairs((*labels, columns_of(staying, ENDS)), transitions, machine.accepting | {last})

    def _test(self, path: a.Path, context: Context) -> Step:
        """The nodes (column `.y`) from which a path leads somewhere by some triple, found backwards."""
        known = (path, context)
        if known not in self._tests:
            found = self._reach(automaton(path, backwards=True), context)
            found = steps.InlineData((Y.name, *context.hidden), ()) if found is None else steps.Unique(found)
            if terms := still(path):  # which fulfil the test as they are
                others = [a.Call("!", (a.Call("SAMETERM", (Y, term)),)) for term in sorted(terms, key=str)]
                found = steps.Filter(found, conjunction(others))
            self._tests[known] = found
        return self._tests[known]

    # --- single steps -----------------------------------------------------------------------

    def _label(self, label: Label, context: Context) -> Step:
        """The pairs that one step of a walk connects."""
        step, backwards = label
        begin, end = (Y, X) if backwards else (X, Y)
        wanted = (*ENDS, *context.hidden)
        match step:
            case a.Axis(axis="self", term=term):
                return columns_of(steps.InlineData(ENDS, ((term, term),)), wanted)
            case a.Nested(axis="self", path=inner):
                found = steps.Compute(self._test(inner, context), X.name, Y)
                return columns_of(found, wanted)
            case a.Nested(axis=axis, path=inner):
                triples = self.scan(_along(axis, begin, end, Z), context, unique=False)
                tests = steps.Rename(self._test(inner, context), (Z.name, *context.hidden))
                found = steps.Join(triples, tests, context.relation, within=context.within)
            case a.Axis(axis=axis, term=term):
                found = self.scan(_along(axis, begin, end, Z if term is None else term), context)
                if term is not None:
                    return columns_of(found, wanted)
            case a.NegatedSet(forward=excluded):
                found = self.scan(_along("next", begin, end, Z), context, unique=False)
                if others := [a.Call("!", (a.Call("SAMETERM", (Z, name)),)) for name in excluded]:
                    found = steps.Filter(found, conjunction(others))
        return steps.Unique(columns_of(found, wanted))

    # --- walks without a triple -------------------------------------------------------------

    def _still(self, path: a.Path, known: Term | None, context: Context) -> tuple[Step | None, a.Expression]:
        """⟨x, x⟩ where a walk needs no triple: at terms of the graph, and at some in every graph.

        With it the condition on pairs that says where this is.
        """
        terms, always = still(path), anywhere(path)
        same: a.Expression = a.Call("SAMETERM", (X, Y))
        if known is not None:
            always &= {known}
            terms = frozenset((known,)) if terms is None else terms & {known}
        parts = []
        if always:
            table = steps.InlineData((X.name,), tuple((term,) for term in sorted(always, key=str)))
            parts.append(self._in_each_element(table, context))
        if terms is None:
            parts.append(self._vocabulary(context))
        else:
            at_one = [a.Call("SAMETERM", (X, term)) for term in sorted(terms, key=str)]
            same = conjunction([same, balanced(at_one, _or)]) if terms else same
            for term in sorted(terms - always, key=str):
                parts += self._occurrences(term, context)
        if not parts:
            return None, same
        columns = (X.name, *context.hidden)
        nodes = steps.Unique(merged([columns_of(part, columns) for part in parts]), subsume=True)
        return steps.Compute(nodes, Y.name, X), same

    def _occurrences(self, term: Term, context: Context) -> Iterator[Step]:
        """A term (column `.x`) as often as it stands in a triple."""
        for place in range(3):
            triple: list[a.TermOrVar] = [X, Y, Z]
            triple[place] = term
            found = self.scan(a.TriplePattern(*triple), context, unique=False)
            yield steps.Compute(columns_of(found, context.hidden), X.name, term)

    def _vocabulary(self, context: Context) -> Step:
        """All that stands in a triple (column `.x`)."""
        triples = self.scan(a.TriplePattern(X, Y, Z), context, unique=False)
        places = (columns_of(triples, (place, *context.hidden)) for place in (*ENDS, Z.name))
        return merged([steps.Rename(each, (X.name, *context.hidden)) for each in places])


def start_at(term: Term) -> Step:
    """The node that walks start from."""
    return steps.InlineData((Y.name,), ((term,),))


def _along(axis: str, begin: a.TermOrVar, end: a.TermOrVar, left: a.TermOrVar) -> a.TriplePattern:
    """The triple of a step along an axis, with what stands in the place that is left."""
    places = {"next": (begin, left, end), "edge": (begin, end, left), "node": (left, begin, end)}
    return a.TriplePattern(*places[axis])


def _or(left: a.Expression, right: a.Expression) -> a.Expression:
    return a.Call("||", (left, right))

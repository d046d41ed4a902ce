"""Repetitions in sequences to steps (decision 0013): choices of single members, each with its repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.algebra import nodes as a
from penstock.algebra.relations import HULL, SEQ
from penstock.errors import QueryError
from penstock.plan import steps, system_columns
from penstock.plan.analysis import bounds, reads, variables, walk
from penstock.plan.compilation.context import Context
from penstock.plan.compilation.sequences import SequenceCompiler
from penstock.plan.compilation.shaping import columns_of
from penstock.plan.steps import Begun, Repetitions, RepetitionsBetween, Stamped, Step, Vars
from penstock.plan.steps.repetitions import Aggregates, are_ordered
from penstock.terms import XSD, Literal

_FALSE = Literal("false", datatype=XSD.boolean)
Stamps = dict[tuple[int | None, str], str]
"""Columns with the end before and the start after a repetition, by its place; None: what is absent."""


class RepetitionCompiler(SequenceCompiler):
    """The part of the compiler that knows repetitions."""

    def with_repetitions(self, node: a.EventSequence, context: Context) -> Step:
        if not self.windows:
            return self._in_streams(node, context)
        if context.window is None:
            raise QueryError(
                "a repetition of windows is not built yet",
                hint="a repetition stands in a window: WINDOW :W { SEQ({ … }, { … }+, { … }) }",
            )
        return self._in_window(node, context)

    def _choices(
        self,
        members: Sequence[a.Member],
        absent: int | None,
        single: Callable[[int], Step],
        within: int | None,
    ) -> tuple[Step, Stamps]:
        """All choices of single members, with the ends of those beside a repetition or what is absent.

        `absent`: before which of the members that is, if it is between two.
        """
        stamps: Stamps = {}
        chosen: Step | None = None
        for place in reversed(range(len(members))):
            if members[place].repeated:
                continue
            step = single(place)
            neighbours = (other for other in (place - 1, place + 1) if 0 <= other < len(members))
            repetitions = (other for other in neighbours if members[other].repeated)
            beside = [(repetition, "after" if repetition < place else "before") for repetition in repetitions]
            beside += [
                (None, side) for side, gap in (("after", place), ("before", place + 1)) if gap == absent
            ]
            for of, side in beside:
                stamps[of, side] = self.fresh(system_columns.AT[1:])
                step = self._timed(Stamped(step, stamps[of, side], "end" if side == "before" else "start"))
            chosen = step if chosen is None else steps.Join(step, chosen, SEQ, HULL, within)
        return chosen, stamps

    def _timed(self, step: Stamped) -> Step:
        """What begins or ends a repetition is in time."""
        if step.retractable:  # a window has nothing without time
            return step
        return steps.Filter(step, a.Call("BOUND", (a.Var(step.column),)))

    def _repeated_member(self, member: a.Member, context: Context) -> tuple[Step, Vars, Aggregates]:
        """All that can be in a repetition, which columns tell its members apart, and its aggregates."""
        repetition = self.pattern(member.pattern, context)
        ties = tuple(sorted(filter(system_columns.is_variable, repetition.vars)))
        aggregates = []
        for var, aggregate in member.aggregates:
            argument = aggregate.argument
            column = None
            if isinstance(argument, a.Var) and argument.name in ties:
                column = argument.name
            elif argument is not None:
                if any(isinstance(part, a.Exists) for part in walk.subexpressions(argument)):
                    raise QueryError(f"EXISTS in {aggregate.name} over a repetition is not built yet")
                column = self.fresh(system_columns.AT[1:])
                repetition = steps.Compute(repetition, column, argument)
            aggregates.append((var.name, aggregate, column))
        return repetition, ties, tuple(aggregates)

    # --- streams ------------------------------------------------------------------------------

    def _in_streams(self, node: a.EventSequence, context: Context) -> Step:
        """EP-SPARQL: a repetition lies between two single members, so the choice says how long it can be."""
        if node.absent is not None or not all(
            member.single or place in node.inner for place, member in enumerate(node.members)
        ):
            raise QueryError("in a stream without windows a repetition stands between two members")
        outer = context.outer
        if outer is not None and node.aggregated & outer.vars:
            raise QueryError("an aggregate over a repetition in an EXISTS has the name of an outer variable")
        beside = [node.members[place].pattern for place in node.beside_repetitions]
        if context.event or not all(reads.reads_stream(each, context.dataset) for each in beside):
            return self._without_repetitions(node, context)
        inherited = bounds.inherit(node, context.within)
        inside = [replace(context, within=within) for within in inherited]

        def single(place: int) -> Step:
            return self.pattern(node.members[place].pattern, inside[place])

        chosen, stamps = self._choices(node.members, None, single, context.within)
        for place, member in enumerate(node.members):
            if member.repeated:
                repetition, ties, aggregates = self._repeated_member(member, inside[place])
                gap = stamps[place, "before"], stamps[place, "after"]
                if outer is not None:
                    chosen, repetition = outer.alike(chosen, repetition)
                chosen = RepetitionsBetween(chosen, repetition, gap, ties, aggregates, context.within)
        bound = tuple(filter(system_columns.is_variable, chosen.vars))
        return self._shown(chosen, bound, context)

    def _without_repetitions(self, node: a.EventSequence, context: Context) -> Step:
        """No solution: all of an element happens at once, and what is static begins and ends no repetition.

        Whoever looks at instants, or elements, still has to know that a stream is asked.
        """
        names = (var.name for var in sorted(variables.possible(node), key=str))
        read = [part for part in node.parts if reads.reads_stream(part, context.dataset)]
        if not read:
            return steps.InlineData((*names, *context.hidden), ())
        none = steps.Filter(self.pattern(read[0], context), _FALSE)
        return columns_of(none, (*names, *context.hidden))

    # --- windows ------------------------------------------------------------------------------

    def _in_window(self, node: a.EventSequence, context: Context) -> Step:
        """CQELS-CEP: at the beginning and the end of SEQ, a repetition reaches as far as the window."""
        positive = [member for member in node.members if not member.negated]
        absent = node.absent
        for member in positive:
            if member.single and not _is_plain(member.pattern):
                raise QueryError(
                    "a path beside a repetition is not built yet",
                    hint="say it in triples, or give it a WINDOW clause of its own",
                )

        began: list[str] = []  # the columns that say when members began before a window cut them

        def single(place: int) -> Step:
            known = replace(
                context, element_column=self.fresh(system_columns.ELEMENT[1:])
            )  # choices are told apart by it
            return self._renamed_began(self.pattern(positive[place].pattern, known), began)

        between = absent if absent in range(1, len(positive)) else None
        found, stamps = self._choices(positive, between, single, None)
        for place, member in enumerate(positive):
            if member.repeated:
                hull = self.fresh(system_columns.AT[1:]), self.fresh(system_columns.AT[1:])
                gap = stamps.get((place, "before")), stamps.get((place, "after"))
                found = self._with_repetition(found, member, gap, hull, context, began)
                if between == place:
                    stamps[None, "after"] = hull[0]
                elif between == place + 1:
                    stamps[None, "before"] = hull[1]
        if began:  # a repetition may begin before what it follows, where that is cut less
            found = steps.Rename(
                found, tuple(system_columns.BEGAN if var == began[0] else var for var in found.vars)
            )
            for other in began[1:]:
                found = Begun(found, other, later=False)
        bound = (*filter(system_columns.is_variable, found.vars), *context.carried)
        if absent is None:
            return self._shown(found, bound, context)
        lacking = self._absent(node, context)
        if context.outer is not None and context.outer.tag in lacking.vars:
            found = context.outer.tagged(found)
        if absent == 0:
            return self._anti_join(self._shown(found, bound, context), lacking, SEQ.converse)
        if absent == len(positive):
            return self._anti_join(self._shown(found, bound, context), lacking, SEQ)
        beside = stamps[None, "before"], stamps[None, "after"]
        cuts = self._cuts(node.members[absent], context)
        found = self._shown(found, (*bound, *beside), context)
        return self._shown(self._nothing_between(found, beside, lacking, (cuts, cuts, cuts)), bound, context)

    @staticmethod
    def _shown(step: Step, columns: Vars, context: Context) -> Step:
        """These columns; in an EXISTS also the tag of the outer solution that they were found for."""
        return columns_of(step, columns) if context.outer is None else context.outer.unseen(step, columns)

    def _with_repetition(
        self,
        chosen: Step,
        member: a.Member,
        gap: tuple[str | None, str | None],
        hull: tuple[str, str],
        context: Context,
        began: list[str],
    ) -> Step:
        """The choices that have a repetition, with the aggregates over it, and its hull in columns."""
        repetition, ties, aggregates = self._repeated_member(member, context)
        repetition = self._renamed_began(repetition, began)
        if context.outer is not None:
            chosen, repetition = context.outer.alike(chosen, repetition)
        # What stands behind another one that is in the window is not cut.
        cuts = self._cuts(member, context) if gap[0] is None and are_ordered(aggregates) else ()
        least = began[-1] if context.began else None
        return Repetitions(chosen, repetition, gap, ties, aggregates, hull, cuts, least)

    def _renamed_began(self, step: Step, began: list[str]) -> Step:
        """The step with a name of its own for BEGAN, if it has that; the name is added to others."""
        if system_columns.BEGAN not in step.vars:
            return step
        began.append(self.fresh(system_columns.BEGAN[1:]))
        return steps.Rename(
            step, tuple(began[-1] if var == system_columns.BEGAN else var for var in step.vars)
        )


def _is_plain(pattern: a.Pattern) -> bool:
    """Triples, perhaps with conditions: in one element, no solution is there twice."""
    while isinstance(pattern, a.Filter):
        pattern = pattern.pattern
    return isinstance(pattern, a.BGP)

"""Graph patterns over windows: CQELS-CEP's windows, sequences and background data, C-SPARQL's timestamps.

Decision 0013 has the definitions. In the GRAPH view, `WINDOW <w> { … }` is `Graph(<w>, …)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.base import (
    Aggregate,
    Bound,
    Expression,
    GraphPattern,
    Modifier,
    Node,
    StateNeed,
    Substituted,
    Var,
    Vars,
    node,
)
from penstock.algebra.patterns import TriplePattern
from penstock.algebra.windows import Cuts, reaches_back_as_far
from penstock.terms import NamedNode

if TYPE_CHECKING:
    from penstock.algebra.patterns import Pattern


@node
class InWindow(Modifier):
    """`WINDOW name { pattern }` in the ELEMENT view: (s, ω, TSP) of paper 001, section 3.2.

    Each basic graph pattern in it is matched in one element that the window shows.
    """

    name: NamedNode
    pattern: "Pattern"

    word = "WINDOW"

    @property
    def graph(self) -> NamedNode:
        return self.name

    @property
    def window(self) -> NamedNode:
        return self.name

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return False


@node
class Member(Node):
    """A member of a sequence: P, !P, or P+ with aggregates over its repetition (variable, aggregate)."""

    pattern: "Pattern"
    negated: bool = False
    repeated: bool = False
    aggregates: tuple[tuple[Var, Aggregate], ...] = ()

    @property
    def single(self) -> bool:
        """It has one solution in each solution of the sequence."""
        return not self.negated and not self.repeated


@node
class EventSequence(GraphPattern):
    """SEQ(…): a triple sequence pattern if its members are triples, an event clause if they are windows.

    Paper 001, equations (3)–(8) and (10)–(15); the repetitions are ours.
    """

    members: tuple[Member, ...]

    word = "SEQ"
    uses_in = "an aggregate of SEQ"

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return tuple(member.pattern for member in self.members)

    @property
    def computes(self) -> tuple[tuple[Var, Expression], ...]:
        return tuple(each for member in self.members for each in member.aggregates)

    @property
    def absent(self) -> int | None:
        return next((place for place, member in enumerate(self.members) if member.negated), None)

    @property
    def aggregated(self) -> Vars:
        """The variables that aggregates over repetitions bind."""
        return frozenset(var for var, _ in self.computes)

    @property
    def names(self) -> Vars:
        return self.aggregated

    def _of_singles(self, vars_of_parts: tuple[Vars, ...]) -> Vars:
        singles = (vars for member, vars in zip(self.members, vars_of_parts, strict=True) if member.single)
        return frozenset().union(*singles)

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return self._of_singles(possible) | self.aggregated

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        counted = (var for member in self.members for var, each in member.aggregates if each.name == "COUNT")
        return self._of_singles(certain) | frozenset(counted)

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        visible = (
            (*(part if member.single else ()), *(var for var, _ in member.aggregates))
            for member, part in zip(self.members, parts, strict=True)
        )
        return tuple(dict.fromkeys(var for each in visible for var in each))

    def is_independent(self, substituted: Substituted) -> bool:
        members = zip(self.members, substituted.free, strict=True)
        needed = substituted.looked_at.union(*(free for member, free in members if not member.single))
        return needed <= self._of_singles(substituted.parts) and not self.aggregated & substituted.outer

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        if None not in parts and self.absent not in (None, 0, len(parts) - 1):
            # What is absent may lie between what windows cut differently.
            if not reaches_back_as_far(parts[self.absent + 1], parts[self.absent - 1]):
                return None
        return next(cuts for member, cuts in zip(self.members, parts, strict=True) if not member.negated)

    @property
    def inner(self) -> range:
        """The places between the first and the last single member: what is there is inside the hull."""
        singles = [place for place, member in enumerate(self.members) if member.single]
        return range(singles[0] + 1, singles[-1]) if singles else range(0)

    @property
    def beside_repetitions(self) -> tuple[int, ...]:
        """The places of the single members that a repetition lies before or after."""
        positive = [place for place, member in enumerate(self.members) if not member.negated]
        pairs = [*zip(positive, positive[1:], strict=False), *zip(positive[1:], positive, strict=False)]
        found = {one for one, other in pairs if self.members[one].single and self.members[other].repeated}
        return tuple(sorted(found))

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        # A repetition at an end has all solutions that fit, also those that make it too long; and what is
        # negated before or after the others may be as long as it likes.
        between = range(1, len(self.members) - 1)
        return tuple(
            bound if member.single or place in (between if member.negated else self.inner) else None
            for place, member in enumerate(self.members)
        )

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        if any(member.repeated for member in self.members):  # what has no time begins and ends no repetition
            return False
        return all(can for member, can in zip(self.members, parts, strict=True) if not member.negated)

    def one_more_takes_away(self, place: int) -> bool:
        return super().one_more_takes_away(place) or self.members[place].repeated

    def time_moves_on(self, place: int) -> bool:
        return any(member.single for member in self.members[place + 1 :])

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        beside = self.beside_repetitions or None
        return (StateNeed(f"solutions of its {len(self.members)} members", None, bound, beside=beside),)


@node
class Background(Modifier):
    """[[P, t]]_D: a pattern over the static graphs, which hold since their last change (equation 17)."""

    pattern: "Pattern"

    title = "the background pattern"

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return ()


@node
class Timestamp(Modifier):
    """C-SPARQL's timestamp: `var` is when a window's element last stated the triple; unbound if none did."""

    pattern: "Pattern"
    var: Var
    triple: TriplePattern

    word = "f:timestamp"
    drops_intervals = True  # a solution that needs no stream has a time from it

    @property
    def names(self) -> Vars:
        return frozenset((self.var,))

    @property
    def finds(self) -> Vars:
        return self.names  # instants of elements, of which there are no more than of these

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0] | self.names


def sequence_problem(members: tuple[Member, ...]) -> str | None:
    """Why members are no sequence: at most one is negated, and no two repetitions stand side by side."""
    if sum(each.negated for each in members) > 1:
        return "SEQ has at most one negated member (CQELS-CEP, section 3.2)"
    if any(each.negated and each.repeated for each in members):
        return "a negated member cannot be repeated"
    positive = [each for each in members if not each.negated]
    if not positive:
        return "SEQ needs a member that is not negated"
    if all(each.repeated for each in positive):
        return "SEQ needs a member that is neither negated nor repeated"
    if any(one.repeated and other.repeated for one, other in zip(positive, positive[1:], strict=False)):
        return "where the first of two adjacent repetitions ends is not determined"
    return None

"""What follows something in time: what comes next, and what does not come by a deadline (decision 0001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.base import Bound, StateNeed, Substituted, TwoSided, Vars, node
from penstock.algebra.relations import HULL, SEQ, JoinBounds, Side
from penstock.algebra.windows import Cuts

if TYPE_CHECKING:
    from penstock.algebra.patterns import Pattern


@node
class Unless(TwoSided):
    """`left UNLESS right WITHIN d`: solutions of the left side, each until d microseconds after its end, if
    no compatible one of the right side starts after that end and ends by then.

    What has no interval has no deadline. When all streams are over, so is time: a deadline after the last
    end of all has not come.
    """

    left: "Pattern"
    right: "Pattern"
    within: int

    word = "UNLESS"
    absent = 1
    meets = True

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0]

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0]

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return None if any(parts) else ()

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        return bound, self.within

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        return None if parts[0] is None else parts[0] + self.within

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return False

    def one_more_takes_away(self, place: int) -> bool:
        # Of the left side, too: a circle would go on from deadline to deadline, whatever the streams say.
        return True

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        return (
            StateNeed("its left side", 0, self.within, beside=(0,)),
            StateNeed("its right side", 1, self.within - 1, absence=True),
        )


@node
class Next(TwoSided):
    """`left NEXT right`: each solution of the left side with the first of the right side that follow it: of
    those that are compatible and start after its end, all that end first.

    What has no interval is not followed by anything, and follows nothing.
    """

    left: "Pattern"
    right: "Pattern"

    word = "NEXT"
    meets = True

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] | certain[1]

    def is_independent(self, substituted: Substituted) -> bool:
        return substituted.free[1] <= substituted.parts[0]  # else others would be the first

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return None if any(parts) else ()

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return False

    def time_moves_on(self, place: int) -> bool:
        return place == 0

    def one_more_takes_away(self, place: int) -> bool:
        return place == 1

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        until = JoinBounds(SEQ, HULL, bound, longest).latest_end(Side.LEFT)
        return (StateNeed("what nothing has followed of its left side", 0, until.longest),)

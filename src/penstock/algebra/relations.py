"""How two intervals lie in time: the relations of temporal operators, and all that follows from them.

A relation between a left interval [ls, le] and a right one [rs, re] is a set of comparisons of their
end points. What kernels, analyses and `explain` need of it is derived from these comparisons, never
from its name. A timeless solution holds at every instant, so it is in every relation to everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import product

from penstock.algebra.comparisons import MIRRORED

POINTS = ("ls", "le", "rs", "re")
PAIRS = (("ls", "rs"), ("ls", "re"), ("le", "rs"), ("le", "re"))
"""The comparisons that a mask speaks of, three bits each from the lowest: `<`, `=`, `>`."""

_SIGNS = {"<": 0b001, "=": 0b010, ">": 0b100, "<=": 0b011, ">=": 0b110}
_OTHER_SIDE = {"ls": "rs", "le": "re", "rs": "ls", "re": "le"}

Comparison = tuple[str, str, str]


class Side(Enum):
    """A side of an operator that has two."""

    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> Side:
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


@dataclass(frozen=True)
class Relation:
    """The intervals that all `comparisons` hold for.

    `name` is the operator's in EP-SPARQL, `prefix` what the papers put before Join in its name,
    `words` says how the first lies to the second; `inverted`: it reads from right to left.
    """

    name: str
    comparisons: tuple[Comparison, ...]
    prefix: str
    words: str = ""
    inverted: bool = False

    def __str__(self) -> str:
        return f"{self.name} inverted" if self.inverted else self.name

    @cached_property
    def mask(self) -> int:
        """For each of `PAIRS` which of `<`, `=`, `>` can occur: the comparisons and all that they imply."""
        return _mask(self.comparisons)

    @cached_property
    def converse(self) -> Relation:
        """The same relation, read from right to left."""
        swapped = tuple((_OTHER_SIDE[x], sign, _OTHER_SIDE[y]) for x, sign, y in self.comparisons)
        if _mask(swapped) == self.mask:
            return self
        return Relation(self.name, swapped, self.prefix, self.words, not self.inverted)

    def implies(self, x: str, sign: str, y: str) -> bool:
        """Whether the comparison of a left and a right end point (or the other way round) always holds."""
        if (x, y) not in PAIRS:
            x, sign, y = y, MIRRORED[sign], x
        return (self.mask >> 3 * PAIRS.index((x, y)) & 0b111) & ~_SIGNS[sign] == 0

    @property
    def compares_starts(self) -> bool:
        return any(point.endswith("s") for x, _, y in self.comparisons for point in (x, y))

    @property
    def same_interval(self) -> bool:
        return self.implies("ls", "=", "rs") and self.implies("le", "=", "re")

    def ends_first(self, side: Side) -> bool:
        """Whether this side always ends strictly before the other: time moves on from it."""
        return self.implies("le", "<" if side is Side.LEFT else ">", "re")

    def ends_by(self, side: Side) -> bool:
        """Whether this side never ends later than the other."""
        return self.implies("le", "<=" if side is Side.LEFT else ">=", "re")

    def inside(self, side: Side) -> bool:
        """Whether this side's interval is always part of the other's."""
        starts, ends = (">=", "<=") if side is Side.LEFT else ("<=", ">=")
        return self.implies("ls", starts, "rs") and self.implies("le", ends, "re")

    def join_name(self) -> str:
        """The inner join with this relation, as the papers call it: Join, SeqJoin, EqJoin."""
        return f"{'' if self == ANY else self.prefix}Join"

    def outer_name(self, optional: Side) -> str:
        """The outer join with this relation, as the papers call it: LeftJoin, SeqRightJoin."""
        required = optional.other.value.capitalize()
        return f"{'' if self == ENDED else self.prefix}{required}Join"

    def outer_word(self, optional: Side) -> str:
        """The same as an author writes it: OPTIONAL, OPTIONALSEQ, EQUALSOPTIONAL."""
        if self in (ENDED, INTERSECTS):
            return "OPTIONAL"
        return f"OPTIONAL{self.name}" if optional is Side.LEFT else f"{self.name}OPTIONAL"


@cache
def _mask(comparisons: tuple[Comparison, ...]) -> int:
    allowed = [_SIGNS[sign] for _, sign, _ in comparisons]
    mask = 0
    for times in product(range(len(POINTS)), repeat=len(POINTS)):  # every order that four points can have
        at = dict(zip(POINTS, times, strict=True))
        if at["ls"] > at["le"] or at["rs"] > at["re"]:
            continue
        found = (_sign(at[x], at[y]) for x, _, y in comparisons)
        if all(sign & wanted for sign, wanted in zip(found, allowed, strict=True)):
            for place, (x, y) in enumerate(PAIRS):
                mask |= _sign(at[x], at[y]) << 3 * place
    return mask


def _sign(one: int, other: int) -> int:
    return _SIGNS["<"] if one < other else _SIGNS[">"] if one > other else _SIGNS["="]


ANY = Relation("ANY", (), "Any")
"""Whatever the intervals are: Join."""
SEQ = Relation("SEQ", (("le", "<", "rs"),), "Seq", "the first before the second")
"""The left ends strictly before the right starts: SeqJoin, SeqRightJoin."""
EQUALS = Relation("EQUALS", (("ls", "=", "rs"), ("le", "=", "re")), "Eq", "at the same time")
"""Both have the same interval: EqJoin, EqLeftJoin."""
ENDED = Relation("ENDED", (("re", "<=", "le"),), "Ended", "the second ended by then")
"""The right ended not later than the left: LeftJoin."""
INTERSECTS = Relation(
    "INTERSECTS", (("ls", "<=", "re"), ("rs", "<=", "le")), "Intersects", "with a common instant"
)
"""Both have an instant in common."""
DURING = Relation("DURING", (("rs", "<", "ls"), ("le", "<", "re")), "During", "the first inside the second")
STARTS = Relation("STARTS", (("ls", "=", "rs"), ("le", "<", "re")), "Starts", "the first starting the second")
FINISHES = Relation(
    "FINISHES", (("rs", "<", "ls"), ("le", "=", "re")), "Finishes", "the first finishing the second"
)
MEETS = Relation("MEETS", (("le", "=", "rs"),), "Meets", "the first ending where the second starts")
OVERLAPS = Relation(
    "OVERLAPS", (("ls", "<", "rs"), ("rs", "<", "le"), ("le", "<", "re")), "Overlaps",
    "the first overlapping the second",
)  # fmt: skip
ALLEN = (DURING, STARTS, FINISHES, MEETS, OVERLAPS)
"""Allen's other relations; as in his algebra, but a point is an interval too."""


class IntervalRule(Enum):
    """Which interval the combination of two solutions has."""

    HULL = "hull"  # from the first start to the last end
    INTERSECTION = "intersection"  # what both have in common; without that, no combination
    LEFT = "left"  # the left one's own
    RIGHT = "right"
    INSTANT = "instant"  # none of its own: it holds at each instant of evaluation, so it is timeless


HULL = IntervalRule.HULL


@dataclass(frozen=True)
class Limit:
    """An instant as a solution's own end points say it: how long after its start, after its end.

    None: that end point says nothing.
    """

    after_start: int | None = None
    after_end: int | None = None

    def __bool__(self) -> bool:
        return self.after_start is not None or self.after_end is not None

    @property
    def longest(self) -> int | None:
        """How long after its start at most, or if that is not known, after its end; None: no limit."""
        return self.after_end if self.after_start is None else self.after_start


@dataclass(frozen=True)
class JoinBounds:
    """Which solutions two sides can combine, and what one therefore knows of its partners' time.

    `within`: combinations longer than so many µs are of no use. `longest`: how long solutions of
    the left and right side can be, where that is known.
    """

    relation: Relation
    interval: IntervalRule = HULL
    within: int | None = None
    longest: tuple[int | None, int | None] = (None, None)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        common = INTERSECTS.comparisons if self.interval is IntervalRule.INTERSECTION else ()
        return self.relation.comparisons + common

    @property
    def mask(self) -> int:
        return _mask(self.comparisons)

    @property
    def longest_hull(self) -> int | None:
        """How long what a combination covers can be, if `within` speaks of that."""
        return self.within if self.interval is HULL else None

    def latest_end(self, side: Side) -> Limit:
        """Until when partners of a solution of this side can end: so long it must be remembered."""
        start, end = _ends(side)
        partner_end = _ends(side.other)[1]
        after_start, after_end = self._difference(partner_end, start), self._difference(partner_end, end)
        if after_start is not None and after_end is not None and after_start <= after_end:
            after_end = None  # no solution ends before it starts
        return Limit(after_start, after_end)

    def earliest_end(self, side: Side) -> Limit:
        """Not before which partners of a solution of this side end."""
        return self._earliest(side, _ends(side.other)[1])

    def earliest_start(self, side: Side) -> Limit:
        """Not before which partners of a solution of this side start."""
        return self._earliest(side, _ends(side.other)[0])

    def _earliest(self, side: Side, point: str) -> Limit:
        found = (self._difference(own, point) for own in _ends(side))
        after_start, after_end = (None if each is None else -each for each in found)
        if after_start is not None and after_end is not None and after_start <= after_end:
            after_start = None
        return Limit(after_start, after_end)

    def _difference(self, x: str, y: str) -> int | None:
        return self._differences.get((x, y))

    @cached_property
    def _differences(self) -> dict[tuple[str, str], int]:
        """How much later than the second end point the first can be, for those where that is bounded."""
        known: dict[tuple[str, str], int] = {(point, point): 0 for point in POINTS}

        def add(x: str, y: str, most: int | None) -> None:
            if most is not None:
                known[x, y] = min(most, known.get((x, y), most))

        add("ls", "le", 0)
        add("rs", "re", 0)
        for x, sign, y in self.comparisons:
            if sign in ("<", "<=", "="):
                add(x, y, -1 if sign == "<" else 0)
            if sign in (">", ">=", "="):
                add(y, x, -1 if sign == ">" else 0)
        for side, length in zip(Side, self.longest, strict=True):
            start, end = _ends(side)
            add(end, start, length)
        first, last = self.interval_of()
        for start, end in product(_STARTS.get(first, ()), _ENDS.get(last, ())):
            add(end, start, self.within)
        for middle, x, y in product(POINTS, repeat=3):
            if (x, middle) in known and (middle, y) in known:
                add(x, y, known[x, middle] + known[middle, y])
        return known

    def interval_of(self, timeless: Iterable[Side] = ()) -> tuple[str, str]:
        """Where a combination has its start and its end from: `left`, `right`, `least`, `greatest`, `none`.

        `timeless` are the sides that have no interval; the other one's is that of the combination.
        """
        timeless = frozenset(timeless)
        if self.interval is IntervalRule.INSTANT:
            return "none", "none"
        if self.interval in (IntervalRule.LEFT, IntervalRule.RIGHT):
            return self.interval.value, self.interval.value
        if timeless:
            side = "right" if Side.LEFT in timeless else "left"
            return side, side
        hull = self.interval is HULL
        start = _chosen(self.relation, "ls", "rs", least=hull)
        return start, _chosen(self.relation, "le", "re", least=not hull)


def _chosen(relation: Relation, left: str, right: str, *, least: bool) -> str:
    """The smaller (or larger) of a left and a right end point, and if the relation says which it is, that."""
    if relation.implies(left, "<=", right):
        return "left" if least else "right"
    if relation.implies(left, ">=", right):
        return "right" if least else "left"
    return "least" if least else "greatest"


# A combination starts not later than these points and ends not earlier than those, by where it has its
# interval from. (The later of two starts and the earlier of two ends say nothing.)
_STARTS = {"left": ("ls",), "right": ("rs",), "least": ("ls", "rs")}
_ENDS = {"left": ("le",), "right": ("re",), "greatest": ("le", "re")}


def _ends(side: Side) -> tuple[str, str]:
    return ("ls", "le") if side is Side.LEFT else ("rs", "re")

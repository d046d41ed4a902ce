"""Graph patterns: one class per operator, which says of itself what analyses ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Union

from penstock.algebra.base import (
    SIDES,
    Aggregate,
    Bound,
    Expression,
    LeafPattern,
    Modifier,
    Node,
    StateNeed,
    Substituted,
    TermOrVar,
    TwoSided,
    Var,
    Vars,
    never_fails,
    node,
    proven_bound,
    tighter,
    variables_among,
    variables_in,
)
from penstock.algebra.paths import Path, has_part_without_length, is_nested
from penstock.algebra.relations import ANY, ENDED, HULL, IntervalRule, JoinBounds, Relation, Side
from penstock.algebra.scopes import STREAM, Scope
from penstock.algebra.windows import Cuts, cut_alike
from penstock.terms import NamedNode, Term

if TYPE_CHECKING:
    from penstock.algebra.following import Next, Unless
    from penstock.algebra.sequences import Background, EventSequence, InWindow, Timestamp

# --- graph patterns ----------------------------------------------------------------------


@node
class TriplePattern(Node):
    subject: TermOrVar
    predicate: TermOrVar
    object: TermOrVar

    def __iter__(self):
        return iter((self.subject, self.predicate, self.object))


@node
class BGP(LeafPattern):
    """Triples that may come from several stream elements; the interval is their hull.

    The scope may be narrower: then all of them come from one element. `BGP(())` is the unit: one
    empty, timeless solution.
    """

    triples: tuple[TriplePattern, ...]
    scope: Scope = STREAM

    title = "the group of triples"

    @property
    def leaves(self) -> tuple[TriplePattern, ...]:
        return self.triples

    @property
    def names(self) -> Vars:
        return frozenset().union(*map(variables_among, self.triples))

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return variables_in(term for triple in self.triples for term in triple)

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        if len(self.triples) < 2 or self.scope != STREAM:  # an element is known at its end
            return ()
        return (StateNeed(f"matches of its {len(self.triples)} triples", None, bound),)


@node
class PathPattern(LeafPattern):
    """A property path that is not a plain predicate."""

    subject: TermOrVar
    path: Path
    object: TermOrVar
    scope: Scope = STREAM

    title = "the path"

    @property
    def leaves(self) -> tuple[PathPattern, ...]:
        return (self,)

    @property
    def names(self) -> Vars:
        return variables_among((self.subject, self.object))

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return variables_in((self.subject, self.object))

    def is_independent(self, substituted: Substituted) -> bool:
        # A part without length needs no triple at a term; a nested expression means the same pairs anywhere.
        return is_nested(self.path) or not has_part_without_length(self.path)


@node
class Join(TwoSided):
    """Compatible solutions whose intervals are in a relation; `interval` says which one they get.

    Join, `left SEQ right` (SeqJoin), `left EQUALS right` (EqJoin). Of triples and paths in one element: with
    the scope ELEMENT, as both sides have it.
    """

    left: "Pattern"
    right: "Pattern"
    relation: Relation = ANY
    interval: IntervalRule = HULL
    scope: Scope = STREAM

    meets = True

    @property
    def operator(self) -> str:
        return self.relation.join_name()

    @property
    def word(self) -> str:
        return "Join" if self.relation == ANY else self.relation.name

    @property
    def title(self) -> str:
        return "the join of two groups" if self.relation == ANY else self.word

    @property
    def drops_intervals(self) -> bool:
        return self.interval is not HULL

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] | certain[1]

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        if self.interval is HULL:
            return bound, bound
        own_side = self.interval.value
        return tuple(
            bound
            if own_side == side.value or (own_side == side.other.value and self.relation.inside(side))
            else None
            for side in SIDES
        )

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        if self.interval is IntervalRule.INTERSECTION and None not in parts:
            return tuple(dict.fromkeys((*parts[0], *parts[1])))
        return None if self.relation.compares_starts and any(parts) else cut_alike(parts)

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        if self.interval in (IntervalRule.LEFT, IntervalRule.RIGHT):
            return parts[0 if self.interval is IntervalRule.LEFT else 1]
        return self.interval is IntervalRule.INSTANT or all(parts)

    def time_moves_on(self, place: int) -> bool:
        return self.interval is HULL and self.relation.ends_first(SIDES[place])

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        if self.scope != STREAM:  # an element is known at its end
            return ()
        by_watermark = JoinBounds(self.relation, self.interval)
        join_bounds = JoinBounds(self.relation, self.interval, bound, longest)
        kept = [
            StateNeed(f"its {side.value} side", place, join_bounds.latest_end(side).longest)
            for place, side in enumerate(SIDES)
            if not by_watermark.latest_end(side)
        ]
        if len(kept) == 2 and kept[0].bound == kept[1].bound:
            return (StateNeed("both sides", None, kept[0].bound),)
        return tuple(kept)


@node
class OuterJoin(TwoSided):
    """The same, but solutions of the required side without a partner stay as they are.

    OPTIONAL (LeftJoin: the right side counts if it ended not later), `left OPTIONALSEQ right`
    (SeqRightJoin: the *left* side is optional and lies before), `left EQUALSOPTIONAL right`
    (EqLeftJoin: the right side is optional and simultaneous). The relation reads (left, right). In windows
    of elements OPTIONAL extends the join there is: what has an instant in common, with that interval.
    """

    left: "Pattern"
    right: "Pattern"
    relation: Relation = ENDED
    optional: Side = Side.RIGHT
    condition: Expression | None = None
    interval: IntervalRule = HULL

    meets = True

    @property
    def operator(self) -> str:
        return self.relation.outer_name(self.optional)

    @property
    def word(self) -> str:
        return self.relation.outer_word(self.optional)

    @property
    def absent(self) -> int:
        return SIDES.index(self.optional)

    @property
    def restriction(self) -> Expression | None:
        return self.condition

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[1 - self.absent]

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        if self.interval is not HULL:  # what is in common may be shorter than either side
            return None, None
        # Inside a required solution that is short enough there is none that is too long.
        optional = tighter(own, bound if self.relation.inside(self.optional) else None)
        return (optional, bound) if self.optional is Side.LEFT else (bound, optional)

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        if self.interval is IntervalRule.INTERSECTION:  # what ends in one window has the same in common
            return cut_alike(parts)
        return None if self.relation.compares_starts and any(parts) else cut_alike(parts)

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return parts[1 - self.absent]

    def time_moves_on(self, place: int) -> bool:
        return place == self.absent and self.relation.ends_first(self.optional)

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        if JoinBounds(self.relation).latest_end(self.optional):
            return ()
        limit = JoinBounds(self.relation, within=own, longest=longest).latest_end(self.optional)
        return (
            StateNeed(f"its optional {self.optional.value} side", self.absent, limit.longest, absence=True),
        )


@node
class Union_(TwoSided):
    left: "Pattern"
    right: "Pattern"

    word = "UNION"

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] & certain[1]

    def is_independent(self, substituted: Substituted) -> bool:
        return True

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return cut_alike(parts)

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        return None if None in parts else max(parts)

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return any(parts)


@node
class Minus(TwoSided):
    left: "Pattern"
    right: "Pattern"

    word = "MINUS"
    absent = 1
    needs_shared = True

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0]

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0]

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return parts[0]

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        return bound, None

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        return parts[0]

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return parts[0]

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        return (StateNeed("its right side", 1, None, absence=True),)


@node
class Filter(Modifier):
    condition: Expression
    pattern: "Pattern"

    word = "FILTER"

    @property
    def restriction(self) -> Expression:
        return self.condition

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] | (proven_bound(self.condition) & possible[0])


@node
class Extend(Modifier):
    pattern: "Pattern"
    var: Var
    expression: Expression

    word = "BIND"
    uses_in = "BIND or SELECT"

    @property
    def computes(self) -> tuple[tuple[Var, Expression], ...]:
        return ((self.var, self.expression),)

    @property
    def names(self) -> Vars:
        return frozenset((self.var,))

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0] | self.names

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] | self.names if never_fails(self.expression, certain[0]) else certain[0]

    def mixes(self, key: Var) -> str | None:
        return f"{key} gets its value from an expression, not from the stream" if key == self.var else None


@node
class Graph(Modifier):
    name: NamedNode | Var
    pattern: "Pattern"

    word = "GRAPH"

    @property
    def graph(self) -> NamedNode | Var:
        return self.name

    @property
    def names(self) -> Vars:
        return variables_among((self.name,))

    @property
    def finds(self) -> Vars:
        return self.names

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return variables_in((self.name, *parts[0]))

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0] | self.names

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] | self.names


@node
class Values(LeafPattern):
    """Inline data; None is UNDEF. Its solutions are timeless."""

    vars: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]

    word = "VALUES"
    leaves = ()

    @property
    def names(self) -> Vars:
        return frozenset(self.vars)

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return self.vars

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return self._bound(any)

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return self._bound(all)

    def _bound(self, rows: Callable[[Iterable[bool]], bool]) -> Vars:
        columns = enumerate(self.vars)
        return frozenset(var for i, var in columns if rows(row[i] is not None for row in self.rows))

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return bool(self.rows)


@node
class Group(Modifier):
    """GROUP BY over the solutions that complete at one instant.

    `keys` are (variable, expression) pairs; a plain variable has itself as expression, an
    unnamed expression a hidden variable. No keys: one implicit group per instant.
    `aggregates` bind hidden variables.
    """

    pattern: "Pattern"
    keys: tuple[tuple[Var, Expression], ...]
    aggregates: tuple[tuple[Var, Aggregate], ...]

    word = "GROUP BY"
    uses_in = "GROUP BY or an aggregate"
    per_instant = True

    @property
    def computes(self) -> tuple[tuple[Var, Expression], ...]:
        return self.keys + self.aggregates

    @property
    def names(self) -> Vars:
        return frozenset(var for var, _ in self.keys)

    @property
    def always_answers(self) -> bool:
        return not self.keys

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        keys = frozenset(var for var, value in self.keys if value != var or var in possible[0])
        return keys | {var for var, _ in self.aggregates}

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        keys = frozenset(var for var, value in self.keys if never_fails(value, certain[0]))
        return keys | {var for var, aggregate in self.aggregates if aggregate.name == "COUNT"}

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return tuple(var for var, _ in self.computes)

    def is_independent(self, substituted: Substituted) -> bool:
        plain = {var for var, expression in self.keys if expression == var} & substituted.parts[0]
        computed = {var for var, expression in self.keys if expression != var} & substituted.outer
        return substituted.free[0] | substituted.looked_at <= plain and computed <= substituted.certain

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        return None

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return True

    def mixes(self, key: Var) -> str | None:
        if not self.keys:
            return "an aggregate without GROUP BY looks at all solutions of an instant"
        return None if (key, key) in self.keys else f"GROUP BY does not group by {key}"


@node
class OrderBy(Modifier):
    """Each key is (expression, descending). Applies within one instant."""

    pattern: "Pattern"
    keys: tuple[tuple[Expression, bool], ...]

    word = uses_in = "ORDER BY"
    per_instant = True

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(expression for expression, _ in self.keys)

    def mixes(self, key: Var) -> str | None:
        return "ORDER BY looks at all solutions of an instant"


@node
class Project(Modifier):
    pattern: "Pattern"
    vars: tuple[Var, ...]

    word = "SELECT"

    @property
    def shows(self) -> tuple[Var, ...]:
        return self.vars

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        return self.vars

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0] & frozenset(self.vars)

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0] & frozenset(self.vars)

    def mixes(self, key: Var) -> str | None:
        if key in self.vars:
            return None
        return f"a SELECT inside the query, or one with DISTINCT, does not keep {key}"


@node
class Distinct(Modifier):
    pattern: "Pattern"

    word = "DISTINCT"


@node
class Reduced(Modifier):
    pattern: "Pattern"

    word = "REDUCED"


@node
class Slice(Modifier):
    """OFFSET and LIMIT within one instant."""

    pattern: "Pattern"
    offset: int = 0
    limit: int | None = None

    word = "LIMIT"
    per_instant = True

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return None if parts[0] else parts[0]  # of equal rows, intervals as they are cut decide the order

    def mixes(self, key: Var) -> str | None:
        return "LIMIT and OFFSET look at all solutions of an instant"


Pattern = Union[
    BGP,
    PathPattern,
    Join,
    OuterJoin,
    Union_,
    Minus,
    Filter,
    Extend,
    Graph,
    Values,
    Group,
    OrderBy,
    Project,
    Distinct,
    Reduced,
    Slice,
    "InWindow",
    "EventSequence",
    "Background",
    "Timestamp",
    "Unless",
    "Next",
]

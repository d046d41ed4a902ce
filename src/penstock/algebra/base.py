"""What all nodes of the algebra have, expressions, and what a graph pattern says of itself.

Analyses are folds over patterns: they ask a pattern for its parts and what it makes of them, and know
no operator. So an operator is described once, in its class; one that does not say what an analysis
asks is refused by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Union, dataclass_transform

from penstock.algebra.relations import Side
from penstock.algebra.scopes import STREAM, Scope
from penstock.algebra.windows import Cuts
from penstock.errors import InternalError
from penstock.terms import BlankNode, Literal, NamedNode, Term

if TYPE_CHECKING:
    from penstock.algebra.patterns import PathPattern, Pattern, TriplePattern


class Node:
    """The base of all nodes. The hash is computed once, and so is what analyses find out (`facts`)."""

    depth: ClassVar[int]  # how many levels of nodes it is

    @cached_property
    def facts(self) -> dict:
        """What is known of the node; no part of its value."""
        return {}

    def __post_init__(self) -> None:
        # At once, because those of the parts are known: later it would recur to the leaves.
        values = tuple(self.__dict__.values())
        self.__dict__["_hash"] = hash((type(self), *values))
        self.__dict__["depth"] = 1 + depth_of(values)

    def __hash__(self) -> int:
        return self._hash

    def __getattr__(self, name: str) -> Any:
        """Only for what is not there: who is asked as a graph pattern, and is none, is refused by name."""
        if name in _ASKED:
            raise UnknownNode(self, f"`{name}`, as graph patterns do")
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __getstate__(self) -> dict:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)  # texts have other hashes in another process
        self.__post_init__()


def depth_of(values: tuple) -> int:
    """The depth of the deepest node among these values."""
    deepest = 0
    for value in values:
        if isinstance(value, Node):
            deepest = max(deepest, value.depth)
        elif isinstance(value, tuple) and value:
            deepest = max(deepest, depth_of(value))
    return deepest


@dataclass_transform(frozen_default=True)
def node(cls):
    """A frozen dataclass that keeps the cached hash of `Node`."""
    cls = dataclass(frozen=True, eq=True)(cls)
    cls.__hash__ = Node.__hash__
    return cls


@node
class Var(Node):
    """A variable. Names that start with `.` are ours (blank nodes, fresh variables)."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"

    @property
    def hidden(self) -> bool:
        return self.name.startswith(".")


TermOrVar = Union[Term, Var]


# --- expressions -------------------------------------------------------------------------


@node
class Call(Node):
    """An operator, built-in or cast: `Call("<", (a, b))`, `Call("STRLEN", (a,))`.

    Names: || && ! = != < > <= >= + - * / UPLUS UMINUS IN NOTIN, the SPARQL built-ins in
    upper case (BOUND, IF, COALESCE, STR, …, also GETDURATION, GETSTARTTIME, GETENDTIME),
    or the IRI of a cast or extension function in angle brackets.
    """

    name: str
    args: tuple["Expression", ...] = ()


@node
class Exists(Node):
    """`EXISTS { pattern }`; NOT EXISTS is `Call("!", (Exists(p),))`."""

    pattern: "Pattern"


@node
class Aggregate(Node):
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; COUNT(*) has no argument.

    Of a run in a sequence, which is a list, also FIRST and LAST.
    """

    name: str
    argument: "Expression | None" = None
    distinct: bool = False
    separator: str | None = None


Expression = Union[Var, Term, Call, Exists, Aggregate]

TIME_FUNCTIONS = ("GETDURATION", "GETSTARTTIME", "GETENDTIME")

Vars = frozenset[Var]
NO_VARS: Vars = frozenset()

# An unbound operand is an error in these, so a filter that holds proves them bound.
_STRICT = frozenset(("=", "!=", "<", ">", "<=", ">=", "BOUND"))


def variables_among(terms: Iterable[object]) -> Vars:
    """The variables among terms and expressions."""
    return frozenset(term for term in terms if isinstance(term, Var))


def variables_in(terms: Iterable[object]) -> tuple[Var, ...]:
    """The variables among terms, in the order in which they appear first."""
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, Var)))


def never_fails(expression: Expression, bound: Vars) -> bool:
    """Whether an expression surely has a value: a constant, or a variable that is bound."""
    if isinstance(expression, Var):
        return expression in bound
    return isinstance(expression, (NamedNode, BlankNode, Literal))


def proven_bound(condition: Expression) -> Vars:
    """The variables that must be bound where a condition is true."""
    if not isinstance(condition, Call):
        return variables_among((condition,))
    if condition.name == "&&":
        return frozenset().union(*map(proven_bound, condition.args))
    if condition.name == "||":
        return frozenset.intersection(*map(proven_bound, condition.args))
    return variables_among(condition.args) if condition.name in _STRICT else NO_VARS


Bound = int | None
"""The largest duration in microseconds that is still allowed; None: no bound."""


def tighter(one: Bound, other: Bound) -> Bound:
    """The smaller of two bounds that both hold."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


# --- what a graph pattern says of itself ---------------------------------------------------------


class UnknownNode(InternalError):
    """A node that does not say of itself what a stage needs to know."""

    def __init__(self, node: object, question: str) -> None:
        super().__init__(
            f"{type(node).__name__} does not say {question}: it is no operator that this stage knows"
        )


@dataclass(frozen=True)
class StateNeed:
    """What an operator must remember: in words, of which part (None: of itself), and for how long."""

    words: str
    part: int | None
    bound: Bound
    absence: bool = False  # kept to know of absence: a filter above cannot bound it
    beside: tuple[int, ...] | None = None  # it grows if these parts read streams; None: if all do


@dataclass(frozen=True)
class Substituted:
    """What EXISTS substitutes in a pattern whose parts have just those solutions that are compatible."""

    outer: Vars  # what outer solutions may bind of the variables in it
    looked_at: Vars  # those of them that its own expressions look at
    certain: Vars  # what it binds in every solution
    parts: tuple[Vars, ...]  # what each part does
    free: tuple[Vars, ...]  # those of `outer` that each part mentions


class GraphPattern(Node):
    """The base of graph patterns."""

    word: ClassVar[str] = ""  # as its author writes it
    uses_in: ClassVar[str] = "FILTER"  # where its expressions stand, in words
    per_instant: ClassVar[bool] = False  # it looks at all solutions that complete at one instant
    # (No field of a node may have a name from here on: it would be that field's default.)
    scope: Scope = STREAM  # what its triples and paths may combine
    absent: int | None = None  # the place of the part whose solutions may be lacking
    restriction: Expression | None = None  # what all its solutions, or combinations, fulfil
    shows: tuple[Var, ...] | None = None  # the variables that can be seen from outside; None: all
    graph: NamedNode | Var | None = None  # the name of the graph that its parts look at
    window: NamedNode | None = None  # the name of the window in whose elements its parts match
    drops_intervals: bool = False  # its solutions have time that is not the hull of their parts'
    meets: bool = False  # it combines solutions of one part with those of the others
    needs_shared: bool = False  # it has no effect where its parts share no variable
    always_answers: bool = False  # it has a solution at each instant, whatever its part has

    @property
    def parts(self) -> tuple[Pattern, ...]:
        """The patterns directly below it, from left to right (without those in EXISTS)."""
        raise UnknownNode(self, "which patterns are below it")

    @property
    def computes(self) -> tuple[tuple[Var, Expression], ...]:
        """The variables that it binds to the values of expressions."""
        return ()

    @property
    def finds(self) -> Vars:
        """The variables that it binds itself, besides its parts, to terms that are there already."""
        return NO_VARS

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that stand in the node itself."""
        computed = tuple(expression for _, expression in self.computes)
        return computed if self.restriction is None else (*computed, self.restriction)

    @property
    def leaves(self) -> tuple[TriplePattern | PathPattern, ...]:
        """The triple patterns and paths that it matches itself."""
        return ()

    @property
    def names(self) -> Vars:
        """The variables that it names itself, besides its parts and expressions."""
        return NO_VARS

    @property
    def required(self) -> Pattern:
        """The part without whose solutions there is none."""
        return self.parts[1 if self.absent == 0 else 0]

    @property
    def title(self) -> str:
        """The operator in a sentence: as its author writes it, or what it is."""
        return self.word

    @property
    def operator(self) -> str:
        """The operator as the papers call it."""
        return type(self).__name__.rstrip("_")

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        """The variables bound in some solution, given those of the parts."""
        raise UnknownNode(self, "which variables it binds")

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        """The variables bound in every solution, given those of the parts."""
        raise UnknownNode(self, "which variables it always binds")

    def in_scope(self, parts: tuple[tuple[Var, ...], ...]) -> tuple[Var, ...]:
        """The variables in scope after it, in the order in which they appear, given those of the parts."""
        bound = self.binds(tuple(map(frozenset, parts)))
        own = sorted(bound.difference(*parts), key=lambda var: var.name)
        return tuple(var for var in (*(var for part in parts for var in part), *own) if var in bound)

    def is_independent(self, substituted: Substituted) -> bool:
        """Whether it, too, has then just those of its solutions that are compatible with outer ones."""
        raise UnknownNode(self, "what becomes of it where EXISTS substitutes")

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        """The windows that cut the starts of its solutions, given those of the parts.

        None if these are not the same for all solutions, or if it must see starts as they are cut.
        """
        raise UnknownNode(self, "which windows cut its solutions")

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        """The bounds on the durations of its parts, given that of its own solutions and of its condition."""
        raise UnknownNode(self, "how a bound on its duration bounds its parts")

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        """How long its solutions can be, given those of its parts and what its condition says."""
        return None

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        """Whether a solution may have no interval, given whether those of the parts may."""
        raise UnknownNode(self, "whether its solutions have intervals")

    def time_moves_on(self, place: int) -> bool:
        """Whether solutions always end after those of this part which they come from."""
        return False

    def one_more_takes_away(self, place: int) -> bool:
        """Whether another solution of this part may take a solution of the whole away."""
        return self.per_instant or place == self.absent

    def mixes(self, key: Var) -> str | None:
        """Why solutions with different values of a variable meet in it; None if they do not."""
        return None

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        """What it keeps beyond the watermark, given the bounds on its solutions and its parts' lengths."""
        raise UnknownNode(self, "what it remembers")


_ASKED = frozenset(name for name in vars(GraphPattern) if not name.startswith("_"))


class LeafPattern(GraphPattern):
    """The base of patterns without parts: what variables they bind, they find."""

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return ()

    @property
    def leaves(self) -> tuple[TriplePattern | PathPattern, ...]:
        raise UnknownNode(self, "which triples and paths it matches")

    @property
    def finds(self) -> Vars:
        return self.names

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return self.names

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return self.names

    def is_independent(self, substituted: Substituted) -> bool:
        return True

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return ()

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        return ()

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return True

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        return ()


class Modifier(GraphPattern):
    """The base of patterns with one part, whose solutions are those of it, or made of them one by one."""

    pattern: Pattern

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.pattern,)

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0]

    def certainly_binds(self, certain: tuple[Vars, ...], possible: tuple[Vars, ...]) -> Vars:
        return certain[0]

    def is_independent(self, substituted: Substituted) -> bool:
        computed = substituted.outer.intersection(var for var, _ in self.computes)
        known = substituted.looked_at <= substituted.parts[0] and computed <= substituted.certain
        return known and not self.per_instant

    def cut_by(self, parts: tuple[Cuts | None, ...]) -> Cuts | None:
        return parts[0]

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        return (None if self.per_instant else tighter(bound, own),)

    def longest(self, parts: tuple[Bound, ...], own: Bound) -> Bound:
        return tighter(parts[0], own)

    def can_be_timeless(self, parts: tuple[bool, ...]) -> bool:
        return parts[0]

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        return ()


class TwoSided(GraphPattern):
    """The base of patterns with a left and a right part."""

    left: Pattern
    right: Pattern

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.left, self.right)

    def binds(self, possible: tuple[Vars, ...]) -> Vars:
        return possible[0] | possible[1]

    def is_independent(self, substituted: Substituted) -> bool:
        if self.absent is None:
            return True if self.meets else super().is_independent(substituted)
        needed = substituted.free[self.absent] | substituted.looked_at
        return needed <= substituted.parts[1 - self.absent]

    def part_bounds(self, bound: Bound, own: Bound) -> tuple[Bound, ...]:
        return bound, bound

    def remembers(self, bound: Bound, own: Bound, longest: tuple[Bound, ...]) -> tuple[StateNeed, ...]:
        return ()


SIDES = (Side.LEFT, Side.RIGHT)
"""By the places of their parts."""

"""The timed algebra, one function per operator, each reading like its definition.

The definitions are those of section 4.2 of the EP-SPARQL paper, of section 18 of SPARQL 1.1
Query, and, for what both leave open, of docs/decisions/0001-timed-semantics.md. Solutions are
lists (multisets); every operator looks at every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, field, replace

from oracle import paths
from oracle.correlate import correlated
from oracle.expressions import aggregated, exact_place, holds, place, value_or_none
from oracle.model import (
    UNIT,
    ActiveGraph,
    Occurrence,
    Solution,
    StaticGraph,
    TimedDataset,
    combine,
    compatible,
    hull,
    solution,
    uncut_hull,
)
from oracle.reading import exists_in, reads_a_stream
from penstock.algebra import (
    BGP,
    Distinct,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Minus,
    Next,
    Node,
    OrderBy,
    OuterJoin,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Side,
    Slice,
    TriplePattern,
    Union_,
    Unless,
    Values,
    Var,
)
from penstock.algebra.scopes import ELEMENT, STREAM
from penstock.algebra.scopes import Scope as AlgebraScope
from penstock.functions import chance

PAIRS_AT_MOST = 200_000
"""More pairs of solutions than this, and a random case is not worth the oracle's time."""


class TooManySolutions(Exception):
    """The oracle looks at every pair: the case is too large for it."""


@dataclass
class Effort:
    """How many pairs of solutions have been looked at."""

    spent: int = 0
    limit: int = PAIRS_AT_MOST

    def spend(self, left: Sized, right: Sized) -> None:
        self.spent += len(left) * len(right)
        if self.spent > self.limit:
            raise TooManySolutions(f"more than {self.limit} pairs of solutions")


@dataclass(frozen=True)
class Scope:
    """Where a pattern is evaluated: the dataset, its active graph, the query's instants."""

    dataset: TimedDataset
    active: ActiveGraph
    instants: tuple[int, ...]
    now: int = 0
    base: str | None = None
    effort: Effort = field(default_factory=Effort)
    element: tuple[int, int] | None = None  # in event mode, the interval of the one that there is
    last: int | None = None  # the last end of an element of any stream

    def span(self, instant: int | None) -> tuple[int | None, int | None]:
        """The interval of what is said of an instant: the instant, or the element that ends at it."""
        return (instant, instant) if self.element is None else self.element

    def reads_a_stream(self, node) -> bool:
        return reads_a_stream(node, self.active, self.dataset)

    def solutions(self, pattern: Pattern) -> list[Solution]:
        if pattern.scope == ELEMENT and pattern != BGP((), ELEMENT):
            return _in_elements(pattern, self)
        return OPERATORS[type(pattern)](pattern, self)


def evaluate_pattern(pattern: Pattern, scope: Scope) -> list[Solution]:
    """The solutions of a pattern in the active graph."""
    return scope.solutions(pattern)


def with_scope(pattern: Pattern, scope: AlgebraScope) -> Pattern:
    """Triples, paths or a join of these with another scope; what EXISTS has substituted has none."""
    if isinstance(pattern, Join):
        left, right = with_scope(pattern.left, scope), with_scope(pattern.right, scope)
        return replace(pattern, left=left, right=right, scope=scope)
    return pattern if isinstance(pattern, Values) else replace(pattern, scope=scope)


def _in_elements(pattern: Pattern, scope: Scope) -> list[Solution]:
    """The solutions in the graph of each element that is not empty, each with the element's interval."""
    everywhere = with_scope(pattern, STREAM)
    return [
        replace(one, start=start, end=end)
        for source in scope.active
        if source.is_stream
        for triples, start, end in source.elements or ()
        if triples
        for one in evaluate_pattern(everywhere, replace(scope, active=(StaticGraph(triples),)))
    ]


# --- the leaves --------------------------------------------------------------------------


def bgp(node: BGP, scope: Scope) -> list[Solution]:
    """⟨μ, t, t′⟩ such that every triple of μ(P) occurs, and [t, t′] is the occurrences' hull.

    A set: the same ⟨μ, t, t′⟩ from different occurrences counts once. Static triples are
    timeless occurrences. No triples: the unit.
    """
    found = {UNIT}
    for triple in node.triples:
        matches = [
            match
            for source in scope.active
            for occurrence in source.occurrences
            if (match := _match(triple, occurrence)) is not None
        ]
        scope.effort.spend(found, matches)
        found = {combine(s, m) for s in found for m in matches if compatible(s, m)}
    return list(found)


def _match(pattern: TriplePattern, occurrence: Occurrence) -> Solution | None:
    """The μ that makes the pattern this occurrence's triple, with its interval."""
    mu = {}
    for wanted, term in zip(pattern, occurrence.triple, strict=True):
        if isinstance(wanted, Var):
            if mu.setdefault(wanted.name, term) != term:
                return None
        elif wanted != term:
            return None
    return solution(mu, occurrence.start, occurrence.end)


def path_pattern(node: PathPattern, scope: Scope) -> list[Solution]:
    """Property paths, see `oracle.paths`."""
    return paths.evaluate_path(
        node, lambda pattern: evaluate_pattern(pattern, scope), scope.active, scope.effort.spend
    )


def values(node: Values, scope: Scope) -> list[Solution]:
    """Inline data is timeless; UNDEF binds nothing."""
    return [
        solution({v.name: t for v, t in zip(node.vars, row, strict=True) if t is not None})
        for row in node.rows
    ]


def graph(node: Graph, scope: Scope) -> list[Solution]:
    """SPARQL 18.6: evaluated in the named graph; for a variable, in each, joined with its name."""
    if not isinstance(node.name, Var):
        if node.name not in scope.dataset.named:
            return []
        return evaluate_pattern(node.pattern, replace(scope, active=scope.dataset.named[node.name]))
    result = []
    for name, active in scope.dataset.named.items():
        is_named = solution({node.name.name: name})
        for each in evaluate_pattern(node.pattern, replace(scope, active=active)):
            if compatible(each, is_named):
                result.append(combine(each, is_named))
    return result


# --- joins -------------------------------------------------------------------------------


def _pairs(
    left: list[Solution],
    right: list[Solution],
    related: Callable[[Solution, Solution], bool],
    interval: str,
    scope: Scope,
) -> list[Solution]:
    scope.effort.spend(left, right)
    both = [(a, b) for a in left for b in right if compatible(a, b) and related(a, b)]
    return [found for a, b in both if (found := INTERVALS[interval](a, b)) is not None]


def _always(a: Solution, b: Solution) -> bool:
    return True


def before(a: Solution, b: Solution) -> bool:
    """a ends strictly before b starts; a timeless solution holds at every instant."""
    return a.timeless or b.timeless or a.end < b.start


def simultaneous(a: Solution, b: Solution) -> bool:
    """Both have the same interval; a timeless solution holds at every instant."""
    return a.timeless or b.timeless or (a.start, a.end) == (b.start, b.end)


def ended_by(a: Solution, b: Solution) -> bool:
    """a ended not later than b; a timeless solution holds at every instant."""
    return a.timeless or b.timeless or a.end <= b.end


def intersecting(a: Solution, b: Solution) -> bool:
    """Some instant is in both intervals; a timeless solution holds at every instant."""
    return a.timeless or b.timeless or (a.start <= b.end and b.start <= a.end)


def _timed(related: Callable[[Solution, Solution], bool]) -> Callable[[Solution, Solution], bool]:
    """A relation of intervals; a timeless solution holds at every instant."""
    return lambda a, b: a.timeless or b.timeless or related(a, b)


def in_common(a: Solution, b: Solution) -> Solution | None:
    """The instants that are in both intervals; without any there is no combination."""
    both = combine(a, b)
    if a.timeless or b.timeless:
        return both
    start, end = max(a.start, b.start), min(a.end, b.end)
    began = None if a.began is None and b.began is None else max(a.uncut, b.uncut)
    return replace(both, start=start, end=end, began=began) if start <= end else None


INTERVALS: dict[str, Callable[[Solution, Solution], Solution | None]] = {
    "hull": combine,
    "intersection": in_common,
    "left": lambda a, b: replace(combine(a, b), start=a.start, end=a.end, began=a.began),
    "right": lambda a, b: replace(combine(a, b), start=b.start, end=b.end, began=b.began),
    "instant": lambda a, b: replace(combine(a, b), start=None, end=None, began=None),
}
"""The combination of a left and a right solution, by where it has its interval from."""


RELATIONS: dict[str, Callable[[Solution, Solution], bool]] = {
    "ANY": _always,
    "SEQ": before,
    "EQUALS": simultaneous,
    "ENDED": lambda a, b: ended_by(b, a),
    "INTERSECTS": intersecting,
    "DURING": _timed(lambda a, b: b.start < a.start and a.end < b.end),
    "STARTS": _timed(lambda a, b: a.start == b.start and a.end < b.end),
    "FINISHES": _timed(lambda a, b: b.start < a.start and a.end == b.end),
    "MEETS": _timed(lambda a, b: a.end == b.start),
    "OVERLAPS": _timed(lambda a, b: a.start < b.start < a.end < b.end),
}
"""When a left solution and a right one are in a relation, each by its own definition."""


def join(node: Join, scope: Scope) -> list[Solution]:
    """Join(Ω, Ω′) contains ω ⋈ ω′ for all compatible ω ∈ Ω and ω′ ∈ Ω′ that are in its relation.

    SeqJoin: end(ω) < start(ω′). EqJoin: equal starts and equal ends.
    """
    left, right = evaluate_pattern(node.left, scope), evaluate_pattern(node.right, scope)
    return _pairs(left, right, RELATIONS[node.relation.name], node.interval.value, scope)


def _optional_join(
    required: list[Solution],
    optional: list[Solution],
    related: Callable[[Solution, Solution], bool],
    condition,
    interval: str,
    scope: Scope,
) -> list[Solution]:
    """All combinations that are related and satisfy F, and each required one without any.

    F sees the interval of the combination, in both parts.
    """
    result = []
    for one in required:
        pairs = _pairs([one], optional, related, interval, scope)
        matched = [each for each in pairs if condition is None or satisfies(condition, each, scope)]
        result += matched or [one]
    return result


def outer_join(node: OuterJoin, scope: Scope) -> list[Solution]:
    """LeftJoin(Ω, Ω′, F): the optional ω′ must have ended not later than ω. EqLeftJoin(Ω, Ω′, F): it
    has the same interval. SeqRightJoin(Ω′, Ω, F): it is the left side and lies before ω. In windows of
    elements: those of JOIN(Ω, Ω′) that satisfy F, and each ω that is in none of them.
    """
    related = RELATIONS[node.relation.name]
    if node.optional is Side.LEFT:
        required, optional = node.right, node.left
        of_required = lambda one, other: related(other, one)  # noqa: E731
    else:
        required, optional = node.left, node.right
        of_required = related
    return _optional_join(
        at_instants(evaluate_pattern(required, scope), scope, optional, node.condition),
        evaluate_pattern(optional, scope),
        of_required,
        node.condition,
        node.interval.value,
        scope,
    )


def union(node: Union_, scope: Scope) -> list[Solution]:
    """The multiset union of both sides."""
    return evaluate_pattern(node.left, scope) + evaluate_pattern(node.right, scope)


def minus(node: Minus, scope: Scope) -> list[Solution]:
    """Each ω for which no ω′ that ended not later is compatible and shares a bound variable."""
    required = at_instants(evaluate_pattern(node.left, scope), scope, node.right)
    removing = evaluate_pattern(node.right, scope)
    scope.effort.spend(required, removing)

    def removed(one: Solution, other: Solution) -> bool:
        shared = set(one.bindings) & set(other.bindings)
        return bool(shared) and compatible(one, other) and ended_by(other, one)

    return [one for one in required if not any(removed(one, other) for other in removing)]


def unless(node: Unless, scope: Scope) -> list[Solution]:
    """⟨μ, t₁, t₂ + d⟩ for each ⟨μ, t₁, t₂⟩ for which no ω′ that is compatible has t₂ < start(ω′) and end(ω′)
    ≤ t₂ + d, if time comes to t₂ + d. A timeless ω has no deadline, a timeless ω′ holds at every instant.
    """
    required, absent = evaluate_pattern(node.left, scope), evaluate_pattern(node.right, scope)
    scope.effort.spend(required, absent)

    def hidden(one: Solution, other: Solution) -> bool:
        by_then = other.timeless or (one.end < other.start and other.end <= one.end + node.within)
        return compatible(one, other) and by_then

    return [
        replace(one, end=one.end + node.within)
        for one in required
        if not one.timeless and one.end + node.within <= scope.last
        if not any(hidden(one, other) for other in absent)
    ]


def next_(node: Next, scope: Scope) -> list[Solution]:
    """ω ⋈ ω′ for compatible ω and ω′ with end(ω) < start(ω′), if no ω″ that is compatible with ω and has
    end(ω) < start(ω″) ends before ω′. What is timeless is not followed by anything, and follows nothing.
    """
    left, right = evaluate_pattern(node.left, scope), evaluate_pattern(node.right, scope)
    found = []
    for one in left:
        following = [each for each in right if not each.timeless and compatible(one, each)]
        following = [each for each in following if not one.timeless and one.end < each.start]
        first = min((each.end for each in following), default=None)
        nexts = [each for each in following if each.end == first]
        found += _pairs([one], nexts, RELATIONS["SEQ"], "hull", scope)
    scope.effort.spend(left, right)
    return found


def at_instants(solutions: list[Solution], scope: Scope, *others) -> list[Solution]:
    """Timeless solutions whose answer may change from instant to instant: one [t, t] each.

    `others` are the patterns and conditions on which the answer depends. If none of them
    reads a stream, a timeless solution stays timeless.
    """
    if not any(scope.reads_a_stream(other) for other in others if _is_node(other)):
        return solutions
    return [moment for each in solutions for moment in (_moments(each, scope) if each.timeless else [each])]


def _moments(timeless: Solution, scope: Scope) -> list[Solution]:
    spans = [scope.span(instant) for instant in scope.instants]
    return [replace(timeless, start=start, end=end) for start, end in spans]


def _is_node(other) -> bool:
    return isinstance(other, Node) and not isinstance(other, Var)


# --- expressions -------------------------------------------------------------------------


def filter_(node: Filter, scope: Scope) -> list[Solution]:
    """Filter(F, Ω) contains those ω for which F, with ω's interval, is true."""
    solutions = at_instants(evaluate_pattern(node.pattern, scope), scope, *exists_in(node.condition))
    return [each for each in solutions if satisfies(node.condition, each, scope)]


def extend(node: Extend, scope: Scope) -> list[Solution]:
    """Extend(Ω, v, e): v bound to the value of e; left unbound where e is an error."""
    solutions = at_instants(evaluate_pattern(node.pattern, scope), scope, *exists_in(node.expression))
    result = []
    for each in solutions:
        value = value_of(node.expression, each, scope, f"?{node.var.name}", chance.extended(node.pattern))
        added = frozenset() if value is None else frozenset({(node.var.name, value)})
        result.append(replace(each, mu=each.mu | added))
    return result


def satisfies(condition, one: Solution, scope: Scope) -> bool:
    """Whether the condition's effective boolean value is true; an error is not."""
    return holds(condition, one, lambda node: exists(node, one, scope), scope.now, scope.base)


def value_of(expression, one: Solution, scope: Scope, place: str = "", unseeded=frozenset()):
    """The value of an expression for a solution, or None where it is an error.

    Random functions draw from its place in the query and the solution, but for `unseeded`.
    """
    return value_or_none(
        expression,
        one,
        lambda node: exists(node, one, scope),
        scope.now,
        scope.base,
        place,
        unseeded,
    )


def exists(node: Exists | Pattern, one: Solution, scope: Scope) -> bool:
    """A solution of the pattern, with μ substituted, that ended not later than ω."""
    pattern = node.pattern if isinstance(node, Exists) else node
    found = evaluate_pattern(correlated(pattern, one.bindings), scope)
    return any(ended_by(each, one) for each in found)


# --- aggregates and solution modifiers: at each instant ------------------------------------


def _applications(node: Group | OrderBy | Slice, scope: Scope) -> list[tuple[int | None, list[Solution]]]:
    """(t, the solutions that end at t and the timeless ones as [t, t]) for each instant t.

    If the pattern reads no stream: one application, timeless.
    """
    solutions = evaluate_pattern(node.pattern, scope)
    if not scope.reads_a_stream(node):
        return [(None, solutions)]
    solutions = at_instants(solutions, scope, node)
    return [(t, [each for each in solutions if each.end == t]) for t in scope.instants]


def group(node: Group, scope: Scope) -> list[Solution]:
    """SPARQL 18.5.1, at each instant: a row per key with its aggregates and the group's hull.

    Without keys there is one group, also where no solution is.
    """
    result = []
    for instant, members in _applications(node, scope):
        groups: dict[tuple, list[Solution]] = {} if node.keys else {(): []}
        for member in members:
            key = tuple(value_of(expression, member, scope) for _, expression in node.keys)
            groups.setdefault(key, []).append(member)
        for key, rows in groups.items():
            row = {var.name: term for (var, _), term in zip(node.keys, key, strict=True)}
            for var, aggregate in node.aggregates:
                row[var.name] = aggregated(
                    aggregate, rows, lambda expression, one: value_of(expression, one, scope)
                )
            start, end = hull((each.start, each.end) for each in rows)
            if end is None and instant is not None:
                start, end = scope.span(instant)
            bound = {name: term for name, term in row.items() if term is not None}
            result.append(replace(solution(bound, start, end), began=uncut_hull(rows)))
    return result


def order_by(node: OrderBy, scope: Scope) -> list[Solution]:
    """Each row of each instant, knowing its place: SPARQL's order of the keys' values."""
    return [
        replace(each, order=_places(node, each, scope))
        for _, rows in _applications(node, scope)
        for each in rows
    ]


def _places(node: OrderBy, one: Solution, scope: Scope) -> tuple:
    return tuple(place(value_of(expression, one, scope), descending) for expression, descending in node.keys)


def in_order(rows: list[Solution]) -> list[Solution]:
    """The rows in a total order: their place, then each variable in name order, then the interval, also
    as it was before a window cut it.

    Rows that this does not tell apart are equal, so that LIMIT always means the same rows.
    """
    names = sorted({name for each in rows for name, _ in each.mu})

    def key(one: Solution) -> tuple:
        terms = tuple(exact_place(one.value(name)) for name in names)
        return one.order, terms, (-1, -1, -1) if one.timeless else (one.start, one.end, one.uncut)

    return sorted(rows, key=key)


def slice_(node: Slice, scope: Scope) -> list[Solution]:
    """OFFSET and LIMIT on the rows of each instant, in their total order.

    What is left is a multiset (SPARQL 18.2.4.6): a LIMIT around it knows nothing of its order.
    """
    stop = None if node.limit is None else node.offset + node.limit
    kept = (row for _, rows in _applications(node, scope) for row in in_order(rows)[node.offset : stop])
    return [replace(row, order=()) for row in kept]


def project(node: Project, scope: Scope) -> list[Solution]:
    """Only these variables; intervals and multiplicities stay."""
    wanted = {var.name for var in node.vars}
    return [
        replace(each, mu=frozenset((name, term) for name, term in each.mu if name in wanted))
        for each in evaluate_pattern(node.pattern, scope)
    ]


def distinct(node: Distinct | Reduced, scope: Scope) -> list[Solution]:
    """Each ⟨μ, t, t′⟩ once (the first in order; of those that a window has cut, the one that began first);
    no timed one whose μ is there timeless.
    """
    kept: dict[Solution, Solution] = {}
    for each in sorted(evaluate_pattern(node.pattern, scope), key=lambda s: (s.order, s.uncut or 0)):
        kept.setdefault(each, each)
    always = {each.mu for each in kept if each.timeless}
    return [each for each in kept.values() if each.timeless or each.mu not in always]


OPERATORS: dict[type, Callable] = {
    BGP: bgp,
    PathPattern: path_pattern,
    Values: values,
    Graph: graph,
    Join: join,
    OuterJoin: outer_join,
    Union_: union,
    Minus: minus,
    Unless: unless,
    Next: next_,
    Filter: filter_,
    Extend: extend,
    Group: group,
    OrderBy: order_by,
    Slice: slice_,
    Project: project,
    Distinct: distinct,
    Reduced: distinct,
}

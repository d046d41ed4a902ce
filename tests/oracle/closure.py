"""The Q-closure of a stream: the smallest set with it that the CONSTRUCT rules are closed under.

Without absence the rules are monotone, and the least fixpoint comes from applying all of them
until nothing is new. With absence, what ended by an instant is settled before time moves on:
an instant's triples are derived stratum by stratum, absence looking at finished strata only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum

import oracle.sequences  # noqa: F401 — says what sequences mean
from oracle.evaluate import Effort
from oracle.model import ActiveGraph, Occurrence, StaticGraph, Stream, TimedDataset
from oracle.queries import evaluate_query, occurrences_of
from oracle.reading import chosen, default_graph, exists_in, reads_a_stream, streams_read
from penstock.algebra import (
    BGP,
    Alternative,
    Construct,
    EventSequence,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    Minus,
    NegatedSet,
    Next,
    OrderBy,
    OuterJoin,
    PathPattern,
    Pattern,
    Sequence,
    Side,
    Slice,
    TriplePattern,
    Union_,
    Unless,
    Values,
    Var,
    ZeroOrMore,
    ZeroOrOne,
    is_nested,
)
from penstock.algebra.scopes import ELEMENT
from penstock.terms import BlankNode, NamedNode

ROUNDS_AT_MOST = 50
"""More rounds than any case of ours needs: the recursion makes terms without end."""


Derived = frozenset[tuple[NamedNode | None, Occurrence]]
"""What rules made, each with the graph that it is written into."""

LEFT_ENDS_EARLIER = ("SEQ", "DURING", "STARTS", "OVERLAPS")
"""The relations in which the left solution always ends strictly before the right one."""


class NoClosure(Exception):
    """Absence that depends on its own result at the same instant, or terms without end."""


class Use(Enum):
    """How a rule's solution at t depends on a triple pattern's matches."""

    PRESENT = "present"  # matches that end by t add solutions
    ABSENT = "absent"  # matches that end by t may take solutions away
    EARLIER = "earlier"  # only matches that end strictly before t matter


def closure(
    rules: Iterable[Construct],
    dataset: TimedDataset,
    *,
    now: int = 0,
    effort: Effort | None = None,
) -> TimedDataset:
    """The dataset with all that the rules derive."""
    rules = tuple(rules)
    if not rules:
        return dataset
    if any(has_absence(rule.pattern) for rule in rules):
        return closure_by_instants(rules, dataset, now, effort or Effort())
    return closure_by_iteration(rules, dataset, now, effort or Effort())


def closure_by_iteration(
    rules: tuple[Construct, ...], dataset: TimedDataset, now: int, effort: Effort
) -> TimedDataset:
    """clos_Q(S) for monotone rules: apply them all until nothing is new."""
    derived = _fixpoint(rules, rules, dataset, frozenset(), now, effort)
    return with_derived(dataset, rules, derived)


def closure_by_instants(
    rules: tuple[Construct, ...], dataset: TimedDataset, now: int, effort: Effort
) -> TimedDataset:
    """clos_Q(S): timeless triples first, then instant by instant, each by strata."""
    beginning = dataset.before(min(_all_instants(dataset), default=0))
    derived: Derived = frozenset()
    for stratum in _strata(rules, with_derived(beginning, rules, derived), time_moves=False):
        derived = _fixpoint(stratum, rules, beginning, derived, now, effort)
    for instant in _all_instants(dataset):
        so_far = dataset.before(instant + 1)
        for stratum in _strata(rules, with_derived(so_far, rules, derived), time_moves=True):
            derived = _fixpoint(stratum, rules, so_far, derived, now, effort)
    return with_derived(dataset, rules, derived)


def _fixpoint(
    applied: Iterable[Construct],
    rules: tuple[Construct, ...],
    dataset: TimedDataset,
    derived: Derived,
    now: int,
    effort: Effort,
) -> Derived:
    for _ in range(ROUNDS_AT_MOST):
        enriched = with_derived(dataset, rules, derived)
        more = derived.union(
            *(
                {(rule.target, made) for made in occurrences_of(answers)}
                for rule in applied
                for answers in [evaluate_query(rule, enriched, now=now, effort=effort)]
            )
        )
        if more == derived:
            return derived
        derived = more
    raise NoClosure(f"the rules have derived {len(derived)} triples and are not done")


def with_derived(dataset: TimedDataset, rules: tuple[Construct, ...], derived: Derived) -> TimedDataset:
    """The dataset with these derived triples in the graphs that they are written into.

    The derived stream of a graph has the instants of the streams that it comes from: the ends
    of derived triples are among them. Rules that read no stream derive static triples only.
    """
    graphs: dict[NamedNode | None, ActiveGraph] = {}
    for target, read in _streams_behind(dataset, rules).items():
        made = frozenset(occurrence for graph, occurrence in derived if graph == target)
        graphs[target] = (StaticGraph(frozenset(o.triple for o in made if o.end is None)),)
        if read:
            timed = frozenset(o for o in made if o.end is not None)
            instants = frozenset(instant for stream in read for instant in stream.instants)
            graphs[target] = (Stream(timed, instants), *graphs[target])
    return _with_graphs(dataset, graphs)


def _with_graphs(dataset: TimedDataset, graphs: Mapping[NamedNode | None, ActiveGraph]) -> TimedDataset:
    """The dataset with more sources in some graphs; None is the default graph of every query."""
    named = dict(dataset.named)
    for name, sources in graphs.items():
        if name is not None:
            named[name] = (*named.get(name, ()), *sources)
    return replace(dataset, named=named, derived=tuple(graphs.get(None, ())))


def _streams_behind(
    dataset: TimedDataset, rules: tuple[Construct, ...]
) -> dict[NamedNode | None, frozenset[Stream]]:
    """For each graph that rules write the streams that these read, if need be through other rules."""
    behind: dict[NamedNode | None, frozenset[Stream]] = {rule.target: frozenset() for rule in rules}
    while True:
        seen = _with_graphs(dataset, {target: tuple(streams) for target, streams in behind.items()})
        more = dict(behind)
        for rule in rules:
            own = chosen(seen, rule.dataset)
            more[rule.target] |= streams_read(rule.pattern, default_graph(own), own)
        if more == behind:
            return behind
        behind = more


def _all_instants(dataset: TimedDataset) -> list[int]:
    sources = [*dataset.default, *(s for graph in dataset.named.values() for s in graph)]
    return sorted({instant for source in sources for instant in source.instants})


# --- who depends on whom at one instant ----------------------------------------------------


def has_absence(pattern: Pattern) -> bool:
    """Whether more matches can take a solution away."""
    return any(use is Use.ABSENT for _, use, _ in _uses(pattern, Use.PRESENT, None))


def _strata(
    rules: tuple[Construct, ...], dataset: TimedDataset, *, time_moves: bool
) -> list[list[Construct]]:
    """The rules in groups, each after those it needs at the same instant.

    Rules that need each other are one group; absence within a group has no least closure.
    """
    needs: dict[int, set[int]] = {}
    for here, rule in enumerate(rules):
        own = chosen(dataset, rule.dataset)
        uses = _uses(rule.pattern, Use.PRESENT, own if time_moves else None)
        needs[here] = {
            there
            for triple, use, graph in uses
            if use is not Use.EARLIER
            for there, other in enumerate(rules)
            if _reads(rule, graph, other) and any(_may_match(made, triple) for made in other.template)
        }
    reach = {rule: _reachable(rule, needs) for rule in needs}
    groups: list[list[int]] = []
    for rule in sorted(needs, key=lambda each: len(reach[each] | {each})):
        for group in groups:
            if rule in reach[group[0]] and group[0] in reach[rule]:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        _refuse_own_absence([rules[each] for each in group], dataset, time_moves)
    return [[rules[each] for each in group] for group in groups]


def _reachable(rule: int, needs: dict[int, set[int]]) -> set[int]:
    reached: set[int] = set()
    new = set(needs[rule])
    while new:
        reached |= new
        new = {far for near in new for far in needs[near]} - reached
    return reached


def _refuse_own_absence(group: list[Construct], dataset: TimedDataset, time_moves: bool) -> None:
    if not time_moves and all(reads_every_time(rule, dataset) for rule in group):
        return  # these rules derive nothing timeless
    for rule in group:
        own = chosen(dataset, rule.dataset)
        for triple, use, graph in _uses(rule.pattern, Use.PRESENT, own if time_moves else None):
            seen = [other for other in group if _reads(rule, graph, other)]
            made_here = any(_may_match(made, triple) for other in seen for made in other.template)
            if use is Use.ABSENT and made_here:
                raise NoClosure(f"a rule needs the absence of what it derives: {triple}")


def reads_every_time(rule: Construct, dataset: TimedDataset) -> bool:
    own = chosen(dataset, rule.dataset)
    return certainly_timed(rule.pattern, default_graph(own), own)


def _reads(rule: Construct, graph: NamedNode | Var | None, other: Construct) -> bool:
    """Whether a pattern of a rule in this graph (None: its default graph) sees what another one writes."""
    clause = rule.dataset
    if graph is None:
        return other.target is None or (clause is not None and other.target in clause.default)
    if other.target is None or (clause is not None and other.target not in clause.named):
        return False
    return isinstance(graph, Var) or graph == other.target


def _inside(node: Graph, dataset: TimedDataset | None) -> TimedDataset | None:
    """The dataset as the pattern of GRAPH sees it; with a variable, all named graphs at once."""
    if dataset is None:
        return None
    graphs = dataset.named.values() if isinstance(node.name, Var) else [dataset.named.get(node.name, ())]
    return replace(dataset, default=tuple(s for graph in graphs for s in graph), derived=())


def _uses(
    node, use: Use, dataset: TimedDataset | None
) -> Iterator[tuple[TriplePattern, Use, NamedNode | Var | None]]:
    """Each triple pattern, with how the solution depends on it, and its graph if it is in a named one.

    With a dataset, the earlier side of SEQ counts as earlier where the later side certainly
    is timed; without one, it counts as if time stood still.
    """
    absent = use if use is Use.EARLIER else Use.ABSENT
    if isinstance(node, (BGP, PathPattern)) and node.scope == ELEMENT:
        return  # what rules derive is in no element
    if isinstance(node, BGP):
        yield from ((triple, use, None) for triple in node.triples)
    elif isinstance(node, PathPattern):
        yield from ((triple, use, None) for triple in _path_triples(node.path, *_are_terms(node)))
    elif isinstance(node, Join) and node.relation.name in LEFT_ENDS_EARLIER:
        moves = dataset is not None and certainly_timed(node.right, default_graph(dataset), dataset)
        yield from _uses(node.left, Use.EARLIER if moves else use, dataset)
        yield from _uses(node.right, use, dataset)
    elif isinstance(node, (Join, Union_)):
        yield from _uses(node.left, use, dataset)
        yield from _uses(node.right, use, dataset)
    elif isinstance(node, OuterJoin):
        required, optional = _required_and_optional(node)
        moves = node.optional is Side.LEFT and node.relation.name in LEFT_ENDS_EARLIER
        yield from _uses(required, use, dataset)
        yield from _uses(optional, Use.EARLIER if moves and dataset is not None else absent, dataset)
        yield from _expression_uses(node.condition, absent, dataset)
    elif isinstance(node, Minus):
        yield from _uses(node.left, use, dataset)
        yield from _uses(node.right, absent, dataset)
    elif isinstance(node, Next):
        yield from _uses(node.left, Use.EARLIER if dataset is not None else use, dataset)
        yield from _uses(node.right, absent, dataset)
    elif isinstance(node, Unless):
        yield from _uses(node.left, absent, dataset)
        yield from _uses(node.right, absent, dataset)
    elif isinstance(node, Filter):
        yield from _uses(node.pattern, use, dataset)
        yield from _expression_uses(node.condition, absent, dataset)
    elif isinstance(node, Extend):
        yield from _uses(node.pattern, use, dataset)
        yield from _expression_uses(node.expression, absent, dataset)
    elif isinstance(node, (Group, Slice)):
        yield from _uses(node.pattern, absent, dataset)
        for _, expression in (*node.keys, *node.aggregates) if isinstance(node, Group) else ():
            yield from _expression_uses(expression, absent, dataset)
    elif isinstance(node, EventSequence):  # with repetitions, each between two members that have time
        last = max(place for place, member in enumerate(node.members) if member.repeated)
        for place, member in enumerate(node.members):
            later = [each.pattern for each in node.members[place + 1 :] if each.single]
            moves = dataset is not None and (
                place <= last or any(certainly_timed(each, default_graph(dataset), dataset) for each in later)
            )
            standing = absent if member.repeated else use
            yield from _uses(member.pattern, Use.EARLIER if moves else standing, dataset)
    elif isinstance(node, Values):
        return
    elif isinstance(node, Graph):
        for triple, how, graph in _uses(node.pattern, use, _inside(node, dataset)):
            yield triple, how, node.name if graph is None else graph
    elif isinstance(node, OrderBy):
        yield from _uses(node.pattern, use, dataset)
        for expression, _ in node.keys:
            yield from _expression_uses(expression, absent, dataset)
    else:  # Project, Distinct, Reduced
        yield from _uses(node.pattern, use, dataset)


def _required_and_optional(node: OuterJoin | Minus) -> tuple[Pattern, Pattern]:
    if isinstance(node, OuterJoin) and node.optional is Side.LEFT:
        return node.right, node.left
    return node.left, node.right


def _expression_uses(expression, use: Use, dataset: TimedDataset | None):
    for found in exists_in(expression):
        assert isinstance(found, Exists)
        yield from _uses(found.pattern, use, dataset)


def _are_terms(node: PathPattern) -> tuple[bool, bool]:
    return not isinstance(node.subject, Var), not isinstance(node.object, Var)


def _path_triples(path, from_term: bool = False, to_term: bool = False) -> list[TriplePattern]:
    """A triple pattern for each predicate that the path may step over."""
    anything = TriplePattern(Var("s"), Var("p"), Var("o"))
    if isinstance(path, NamedNode):
        return [TriplePattern(Var("s"), path, Var("o"))]
    if isinstance(path, NegatedSet) or is_nested(path):
        return [anything]
    if isinstance(path, Inverse):
        return _path_triples(path.path, to_term, from_term)
    if isinstance(path, Sequence):
        return _path_triples(path.left, from_term) + _path_triples(path.right, False, to_term)
    if isinstance(path, Alternative):
        return [t for side in (path.left, path.right) for t in _path_triples(side, from_term, to_term)]
    inner = _path_triples(path.path)
    if isinstance(path, (ZeroOrMore, ZeroOrOne)) and not (from_term or to_term):
        return [anything, *inner]  # between variables, a path without length begins at any triple
    return inner


def _may_match(made: TriplePattern, wanted: TriplePattern) -> bool:
    """Whether an instance of a template triple can match a triple pattern."""
    return all(
        isinstance(m, (Var, BlankNode)) or isinstance(w, Var) or m == w
        for m, w in zip(made, wanted, strict=True)
    )


def certainly_timed(node: Pattern, active: ActiveGraph, dataset: TimedDataset) -> bool:
    """Whether the pattern can have no timeless solution."""
    if isinstance(node, (BGP, PathPattern)) and node.scope == ELEMENT:
        return True
    if isinstance(node, BGP):
        timeless = [o for source in active if not source.is_stream for o in source.occurrences]
        return any(
            not any(_may_match(TriplePattern(*occurrence.triple), triple) for occurrence in timeless)
            for triple in node.triples
        )
    if isinstance(node, (PathPattern, Values)):
        return False
    if isinstance(node, Graph):
        if isinstance(node.name, Var):
            graphs = list(dataset.named.values())
        else:
            graphs = [dataset.named.get(node.name, ())]
        return all(certainly_timed(node.pattern, graph, dataset) for graph in graphs)
    if isinstance(node, Join):
        return any(certainly_timed(side, active, dataset) for side in (node.left, node.right))
    if isinstance(node, Union_):
        return all(certainly_timed(side, active, dataset) for side in (node.left, node.right))
    if isinstance(node, (OuterJoin, Minus)):
        required, optional = _required_and_optional(node)
        other = reads_a_stream(optional, active, dataset)
        return other or certainly_timed(required, active, dataset)
    if isinstance(node, (Group, OrderBy, Slice)):
        return reads_a_stream(node, active, dataset)
    if isinstance(node, EventSequence | Next | Unless):
        return True
    return certainly_timed(node.pattern, active, dataset)

"""What probably was not meant: the warnings of `penstock check`.

    unbounded-state     an operator remembers for ever, because no getDURATION() bounds it
    cartesian-sequence  two sides that meet share no variable: every pair is an answer
    all-pairs           nothing binds an end of a path of any length
    no-effect           a MINUS whose sides share no variable removes nothing
    never-bound         a variable is used, but no pattern that is seen there binds it
    unknown-source      FROM or GRAPH names nothing that is registered
    unknown-function    a function nobody knows: its expression is an error in every solution
    type-error          an expression whose types do not fit: an error in every solution, too
    unread-stream       no query reads a registered stream (unread-graph: a static graph)

and those of `windows` about windows.

Each is a `Finding` at the place of its cause: the operator, the triple, the name, the expression.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.facts import once, place_of
from penstock.algebra.nodes import (
    BGP,
    Call,
    Construct,
    Describe,
    Exists,
    Expression,
    ParsedQuery,
    Pattern,
    Var,
)
from penstock.algebra.scopes import STREAM
from penstock.errors import Finding, Span
from penstock.functions.builtins import FUNCTIONS, PREDICATES
from penstock.functions.evaluate import known_function
from penstock.plan.advice.all_pairs import all_pairs
from penstock.plan.advice.contradictions import contradictions
from penstock.plan.advice.retention import Memory, author_name, memories
from penstock.plan.advice.type_errors import type_errors
from penstock.plan.advice.window_findings import window_findings
from penstock.plan.analysis.bounds import duration_bound
from penstock.plan.analysis.leaves import query_leaves
from penstock.plan.analysis.reads import reads_stream
from penstock.plan.analysis.variables import Vars, of_expression, of_template, of_terms, possible
from penstock.plan.analysis.walk import (
    children,
    conjuncts,
    exists_patterns,
    nodes,
    subexpressions,
)
from penstock.plan.catalog import ActiveDataset, Catalog, unknown_source_hint
from penstock.plan.sources import Source, Static, Stream, WindowSource, timed
from penstock.plan.wording import in_words, leaf_text
from penstock.terms import NamedNode

_BOUND_IT = 'FILTER (getDURATION() < "PT1H"^^xsd:dayTimeDuration)'


def query_findings(parsed: ParsedQuery, catalog: Catalog) -> tuple[Finding, ...]:
    """The findings about one query, those about what it names first."""
    query = parsed.query
    dataset = _known_part(catalog, parsed)
    place = _Places(dict(parsed.spans))
    found = [
        *_unknown_sources(parsed, catalog),
        *_unknown_functions(query.pattern),
        *type_errors(query.pattern),
        *contradictions(query.pattern),
        *_never_bound(parsed, place),
        *_cartesian(query.pattern, dataset, place, ()),
        *_unbounded(query.pattern, dataset, place),
        *all_pairs(query.pattern, dataset),
        *window_findings(parsed, dataset, catalog),
    ]
    if query.scope != STREAM:  # an element is small, and forgotten at once
        large = ("cartesian-sequence", "unbounded-state", "all-pairs")
        found = [each for each in found if each.code not in large]
    if query.continuous is not None:  # what windows show is bounded by these
        found = [each for each in found if each.code != "unbounded-state"]
    found = [each if each.span else replace(each, span=parsed.place) for each in found]
    return tuple(dict.fromkeys(found))


def run_findings(
    queries: Sequence[ParsedQuery], catalog: Catalog, *, rules: bool = False
) -> tuple[Finding, ...]:
    """The findings about what is registered: streams and static graphs that nobody reads.

    If there are `rules`, these read the graphs that have no name.
    """
    read: set[Source] = set()
    for parsed in queries:
        for leaf in query_leaves(parsed.query, _known_part(catalog, parsed)):
            for each in leaf.sources:
                read |= each.streams if isinstance(each, WindowSource) else {each}
    found = []
    for place, stream in enumerate(catalog.streams):
        if Stream(place) not in read:
            found.append(_unread("stream", stream.iri))
    for place, graph in enumerate(catalog.graphs):
        if Static(place) not in read and not (rules and graph.iri is None):
            found.append(_unread("graph", graph.iri))
    return tuple(dict.fromkeys(found))


def _unread(kind: str, iri: str | None) -> Finding:
    name = f"<{iri}>" if iri is not None else "that was given without a name"
    if iri is None:
        hint = "leave FROM out, or give it a name and say FROM or GRAPH with that name"
    elif kind == "graph":
        hint = f"read it with GRAPH <{iri}> {{ … }} or FROM <{iri}>, or give it without a name"
    else:
        hint = f"read it with GRAPH <{iri}> {{ … }} or FROM <{iri}>"
    what = "stream" if kind == "stream" else "static graph"
    return Finding(f"unread-{kind}", f"no query reads the {what} {name}", hint)


def _known_part(catalog: Catalog, parsed: ParsedQuery) -> ActiveDataset:
    """The query's dataset, without the names that nothing is registered under."""
    clause = parsed.query.dataset
    if clause is not None:
        unknown = catalog.unknown(clause)
        clause = replace(
            clause,
            default=tuple(name for name in clause.default if name not in unknown),
            named=tuple(name for name in clause.named if name not in unknown),
        )
    if parsed.query.continuous is not None:
        return catalog.over_windows(clause, parsed.query.continuous)
    return catalog.active(clause)


@dataclass(frozen=True)
class _Places:
    """Where the variables of a query stand."""

    spans: dict[Var, Span]

    def first(self, variables: Iterable[Var]) -> Span | None:
        """The foremost place of any of these variables."""
        known = [self.spans[var] for var in variables if var in self.spans]
        return min(known, key=lambda span: (span.line, span.column), default=None)


# --- names that nothing is known under -------------------------------------------------------


def _unknown_sources(parsed: ParsedQuery, catalog: Catalog) -> Iterator[Finding]:
    for name in catalog.unknown(parsed.query.dataset):
        message = f"FROM {name} names no registered stream or graph"
        hint = unknown_source_hint(name.value, catalog.names())
        yield Finding("unknown-source", message, hint, parsed.query.dataset.facts.get(name))
    named = _known_part(catalog, parsed)
    for node in nodes(parsed.query.pattern):
        if not isinstance(node.graph, NamedNode):
            continue
        if not named.graph(node.name):
            iri = node.name.value
            if catalog.named(iri):
                message = f"GRAPH {node.name} matches nothing: FROM NAMED does not list it"
                yield Finding("unknown-source", message, f"add FROM NAMED <{iri}>", place_of(node))
            else:
                message = f"GRAPH {node.name} names no registered stream or graph"
                hint = unknown_source_hint(iri, catalog.names())
                yield Finding("unknown-source", message, hint, place_of(node))


def _unknown_functions(pattern: Pattern) -> Iterator[Finding]:
    for node in nodes(pattern):
        for expression in node.expressions:
            for part in subexpressions(expression):
                if isinstance(part, Call) and not known_function(part.name):
                    close = difflib.get_close_matches(part.name, [*FUNCTIONS, *PREDICATES], n=1)
                    yield Finding(
                        "unknown-function",
                        f"the function {part.name} is not known; calling it is an error in every solution",
                        f"did you mean {close[0]}?" if close else None,
                        place_of(part),
                    )


# --- variables that nothing binds ------------------------------------------------------------


def _never_bound(parsed: ParsedQuery, place: _Places) -> Iterator[Finding]:
    query = parsed.query
    used = list(_uses(query.pattern, frozenset()))
    visible = possible(query.pattern)
    if isinstance(query, Construct):
        used.append(("the CONSTRUCT template", of_template(query.template), visible))
    elif isinstance(query, Describe):
        used.append(("DESCRIBE", of_terms(query.subjects), visible))
    everywhere = frozenset().union(*(possible(node) for node in nodes(query.pattern)))
    reported: set[Var] = set()
    for where, variables, bound in used:
        for var in sorted(variables - bound, key=lambda var: var.name):
            if var.hidden or var in reported:
                continue
            reported.add(var)
            message = f"{var} in {where} is never bound there"
            at = place_of(var) or place.first((var,))
            yield Finding("never-bound", message, _hint(var, bound, everywhere), at)


def _hint(var: Var, bound: Vars, everywhere: Vars) -> str | None:
    if var in everywhere:
        return (
            f"{var} is bound elsewhere in the query, but an expression sees only its own group; "
            "move it outwards, or let the inner SELECT name the variable"
        )
    names = sorted(other.name for other in bound | everywhere if not other.hidden)
    close = difflib.get_close_matches(var.name, names, n=1, cutoff=0.7)
    return f"did you mean ?{close[0]}?" if close else "no pattern of the query has this variable"


def _uses(pattern: Pattern, outer: Vars) -> Iterator[tuple[str, Vars, Vars]]:
    """Each place that uses variables: what it is, which ones, and those that are bound there.

    `outer` are the variables that an EXISTS around it substitutes.
    """
    bound = frozenset().union(outer, *(possible(child) for child in children(pattern)))
    for expression in pattern.expressions:
        parts = list(subexpressions(expression))
        yield pattern.uses_in, of_terms(parts), bound
        for part in parts:
            if isinstance(part, Exists):
                yield from _uses(part.pattern, bound)
    inside = outer
    if pattern.shows is not None:
        yield pattern.word, frozenset(pattern.shows), bound
        inside = outer & frozenset(pattern.shows)
    for child in children(pattern):
        yield from _uses(child, inside)


# --- sides that meet without a shared variable -----------------------------------------------


def _cartesian(
    pattern: Pattern, dataset: ActiveDataset, place: _Places, conditions: tuple[Expression, ...]
) -> Iterator[Finding]:
    """Sides that share no variable; `conditions` of filters above may relate them after all."""
    if pattern.shows is not None:
        conditions = ()
    parts = children(pattern)
    if pattern.meets and len(parts) == 2 and pattern.scope == STREAM:
        left, right = map(possible, parts)
        if (
            all(reads_stream(part, dataset) for part in parts)
            and not _related(left, right, (*conditions, *pattern.expressions))
            and not _constants(parts[0]) & _constants(parts[1])
        ):
            what = "two groups" if pattern.word == "Join" else f"the sides of {pattern.word}"
            yield _cartesian_finding(what, left, right, place_of(pattern) or place.first(right))
    elif pattern.needs_shared and not frozenset.intersection(*map(possible, parts)):
        yield Finding(
            "no-effect",
            f"{pattern.word} removes nothing, because its sides share no variable",
            "FILTER NOT EXISTS { … } removes also then",
            place_of(pattern) or place.first(possible(parts[1])),
        )
    elif len(pattern.leaves) > 1 and pattern.scope == STREAM and timed(dataset.default):
        yield from _unconnected(pattern, place, conditions)
    elif len(parts) == 1 and pattern.restriction is not None:
        conditions = (*conditions, pattern.restriction)
    inside = dataset if pattern.graph is None else dataset.within(pattern.graph)
    for child in parts:
        yield from _cartesian(child, inside, place, conditions)
    for inner in exists_patterns(pattern):
        yield from _cartesian(inner, inside, place, ())


def _related(left: Vars, right: Vars, conditions: Iterable[Expression]) -> bool:
    """Whether two sets of variables overlap, or a condition speaks of both."""
    if not left or not right or left & right:
        return True
    return any(
        mentioned & left and mentioned & right
        for condition in conditions
        for conjunct in conjuncts(condition)
        for mentioned in (of_expression(conjunct),)
    )


@once
def _constants(pattern: Pattern) -> frozenset[NamedNode]:
    """The resources that triple patterns name as subject or object: a shared one connects."""
    return frozenset(
        term
        for node in nodes(pattern)
        for leaf in node.leaves
        for term in (leaf.subject, leaf.object)
        if isinstance(term, NamedNode)
    )


def _unconnected(pattern: BGP, place: _Places, conditions: tuple[Expression, ...]) -> Iterator[Finding]:
    """A BGP whose triple patterns fall apart into groups without a shared variable."""
    having: defaultdict[object, list[object]] = defaultdict(list)  # what a thing is connected with
    for number, triple in enumerate(pattern.triples):
        for thing in (*of_terms(triple), *_constants(BGP((triple,)))):
            having[thing].append(number)
            having[number].append(thing)
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        for var in of_expression(conjunct):
            having[var].append(conjunct)
            having[conjunct].append(var)
    first = next((n for n, triple in enumerate(pattern.triples) if of_terms(triple)), 0)
    reached: dict[object, None] = {first: None}
    waiting: list[object] = [first]
    while waiting:
        for thing in having[waiting.pop()]:
            if thing not in reached:
                reached[thing] = None
                waiting.append(thing)
    for number, triple in enumerate(pattern.triples):
        if number not in reached and of_terms(triple):
            what = f"`{leaf_text(triple)}` and the triples before it"
            at = place_of(triple) or place.first(of_terms(triple))
            yield _cartesian_finding(what, of_terms(reached), of_terms(triple), at)
            return


def _cartesian_finding(what: str, left: Vars, right: Vars, at: Span | None) -> Finding:
    shown = [in_words(sorted(str(v) for v in side if not v.hidden)) for side in (left, right)]
    on_each = f" (here {shown[0]}, there {shown[1]})" if all(shown) else ""
    return Finding(
        "cartesian-sequence",
        f"{what} share no variable{on_each}: everything on one side meets everything on the other",
        "use the same variable on both sides, or relate them with a FILTER",
        at,
    )


# --- operators that remember for ever --------------------------------------------------------


def _unbounded(pattern: Pattern, dataset: ActiveDataset, place: _Places) -> Iterator[Finding]:
    endless = [memory for memory in memories(pattern, None, dataset) if memory.bound is None]
    waiting = [memory for memory in endless if not memory.absence]
    if waiting:
        keeps = dict.fromkeys(f"{author_name(m)} remembers {m.keeps}" for m in waiting)
        yield Finding(
            "unbounded-state",
            f"{in_words(keeps)} for ever, because no filter bounds getDURATION()",
            _bounding_hint(pattern),
            _place_of_memory(waiting[0]) or place.first(possible(waiting[0].kept)),
        )
    for memory in endless:
        if memory.absence:
            yield _unbounded_absence(memory, place)


def _bounding_hint(pattern: Pattern) -> str:
    """How to bound; with a word on filters that try to and do not succeed."""
    for node in nodes(pattern):
        for expression in node.expressions:
            parts = subexpressions(expression)
            measured = any(isinstance(p, Call) and p.name == "GETDURATION" for p in parts)
            if node.restriction is expression and measured and duration_bound(expression) is None:
                return (
                    "a filter on getDURATION() bounds if it demands < or <= and a constant length "
                    "in days, hours, minutes and seconds"
                )
    return f"add {_BOUND_IT}"


def _unbounded_absence(memory: Memory, place: _Places) -> Finding:
    name = author_name(memory)
    if name == "EXISTS" or not memory.node.meets:
        hint = (
            f"{name} looks at the whole past; OPTIONAL {{ … {_BOUND_IT} }} with FILTER(!BOUND(…)) "
            "looks back only so far"
        )
    else:
        hint = f"put {_BOUND_IT} inside the optional group, so that older matches do not count"
    return Finding(
        "unbounded-state",
        f"{name} remembers {memory.keeps} for ever",
        hint,
        _place_of_memory(memory) or place.first(possible(memory.kept)),
    )


def _place_of_memory(memory: Memory) -> Span | None:
    """The operator that remembers; of a group of triples the first one, of EXISTS the expression."""
    if memory.operator == "EXISTS":
        found = (part for each in memory.node.expressions for part in subexpressions(each))
        return next((place_of(p) for p in found if isinstance(p, Exists) and p.pattern is memory.kept), None)
    return next((place_of(leaf) for leaf in memory.node.leaves), place_of(memory.node))

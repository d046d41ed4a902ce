"""From parsed queries to the plan of a run: programs, keys, steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

from penstock.algebra.nodes import Ask, Construct, Describe, Node, ParsedQuery, Query, Select, is_rule
from penstock.algebra.scopes import ELEMENT
from penstock.algebra.windows import Kind, StreamOperator
from penstock.errors import QueryError
from penstock.plan.analysis import outputs
from penstock.plan.analysis.keys import ELEMENT_KEY, Key, NoKey, reads_timed
from penstock.plan.analysis.program_keys import find_program_keys
from penstock.plan.analysis.reads import query_needs_instants
from penstock.plan.analysis.recursion import RuleProgram, feeding, nothing_fed, programs
from penstock.plan.analysis.rule_graphs import instants_of, with_rules
from penstock.plan.catalog import Catalog, unknown_source
from penstock.plan.compilation.compile import compile_query
from penstock.plan.steps import Step

KINDS = {Select: "select", Construct: "construct", Ask: "ask", Describe: "describe"}


@dataclass(frozen=True)
class PlannedQuery:
    """A query with its steps and the key by which its solutions are spread."""

    name: str
    kind: str
    columns: tuple[str, ...]
    step: Step
    key: Key | NoKey
    parsed: ParsedQuery


@dataclass(frozen=True)
class Plan:
    """All queries of a run."""

    catalog: Catalog
    queries: tuple[PlannedQuery, ...]
    programs: tuple[RuleProgram, ...]
    feeds: bool = True  # what CONSTRUCT derives enters the streams

    def __getstate__(self) -> dict:
        # What is below another thing comes before it, so that pickle, which recurs, finds it written.
        return {_PARTS: list(_bottom_up(self.queries)), **vars(self)}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update({name: value for name, value in state.items() if name != _PARTS})


_PARTS = " parts"


def _bottom_up(queries: Sequence[PlannedQuery]) -> Iterator[Step | Node]:
    """All steps and nodes of the queries, each after its parts."""
    seen: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(query, False) for query in queries]
    while waiting:
        thing, entered = waiting.pop()
        if entered:
            yield thing
        elif isinstance(thing, tuple):
            waiting += [(part, False) for part in thing]
        elif is_dataclass(thing) and id(thing) not in seen:
            seen.add(id(thing))
            if isinstance(thing, (Step, Node)):
                waiting.append((thing, True))
            waiting += [(getattr(thing, field.name), False) for field in fields(thing)]


def make_plan(
    parsed: Sequence[ParsedQuery],
    catalog: Catalog,
    names: Sequence[str],
    *,
    feeds: bool = True,
    keys: Mapping[int, str | None] = MappingProxyType({}),
) -> Plan:
    """Plans the queries together. `feeds=False`: CONSTRUCT results do not enter the streams.

    `keys` are the variables (or None) by which the stored rows of some queries are spread.
    """
    queries = [each.query for each in parsed]
    if feeds:
        catalog = catalog.with_targets(queries)
    for each in parsed:
        _refuse_unknown(each, catalog, _given_as_solutions(parsed, names))
    if feeds:
        catalog = with_rules(catalog, queries)
    in_elements = [query.scope == ELEMENT for query in queries]
    datasets = [catalog.dataset_of(query) for query in queries]
    fed = feeding(queries, datasets) if feeds else nothing_fed(queries)
    instants = instants_of(queries, datasets)
    try:
        if feeds:
            fed = replace(fed, notified=outputs.notified(fed, catalog, datasets, instants))
            outputs.refuse_own_output(fed, names)
        groups = programs(fed, names)
    except QueryError as error:  # with several queries it says which
        raise (error.located(parsed[0].text, parsed[0].origin) if len(parsed) == 1 else error) from None
    chosen: dict[int, Key | NoKey] = {}
    for group, found in zip(groups, find_program_keys(groups, fed, datasets, keys), strict=True):
        members = group.queries
        if any(query_needs_instants(queries[i], datasets[i], fed.timeless[i]) for i in members):
            # Only the first shard knows all instants; a better reason stays.
            found = found if isinstance(found, NoKey) else _NEEDS_INSTANTS
        if not isinstance(found, NoKey):
            apart = (_kept_together(queries[i], key) for i, key in zip(members, found, strict=True))
            found = next(filter(None, apart), found)
            found = outputs.kept_in_one(group, fed, datasets, names) or found
        for place, i in enumerate(members):
            chosen[i] = found if isinstance(found, NoKey) else found[place] or _READS_NOTHING
    for i, alone in enumerate(in_elements):
        if alone:
            chosen[i] = ELEMENT_KEY if reads_timed(queries[i], datasets[i]) else _READS_NOTHING
    for i, kept in keys.items():
        if not in_elements[i] and reads_timed(queries[i], datasets[i]):
            _refuse_other_key(names[i], kept, chosen[i])
    planned = []
    for i, (each, name) in enumerate(zip(parsed, names, strict=True)):
        key = chosen[i]
        step = compile_query(
            each.query,
            catalog,
            key=key.column,
            feeds=feeds,
            # An element is in a stream, wherever what else there is comes from.
            instants=instants[i].streams if in_elements[i] else instants[i].asked,
        )
        _refuse_undecidable(step)
        kind = KINDS[type(each.query)]
        planned.append(PlannedQuery(name, kind, step.vars, step, key, each))
    for rules, readers in (join_bounds for group in groups for join_bounds in group.meetings):
        for rule in rules:
            if planned[rule].step.after_the_fact:
                raise QueryError(
                    f"the rule `{names[rule]}` feeds `{names[readers[0]]}`, but {_AFTER_THE_FACT}",
                    hint="rules and what they feed need combinations with the hull of both intervals",
                )
    return Plan(catalog, tuple(planned), groups, feeds)


def _refuse_other_key(name: str, kept: str | None, now: Key | NoKey) -> None:
    """Refuse to go on with a query whose stored rows are in other partitions than those of its new ones."""
    key = now.column
    if key == kept:
        return
    there, here = (f"spread by ?{each}" if each else "in one partition" for each in (kept, key))
    raise QueryError(
        f"`{name}` cannot go on: its rows are {there} in the checkpoint, and with these queries they have"
        f" to be {here}" + (f" ({now.reason})" if isinstance(now, NoKey) else ""),
        hint="begin a new checkpoint with all of them, or leave out the query that reads what it gives",
    )


def _refuse_unknown(parsed: ParsedQuery, catalog: Catalog, solutions: Mapping[str, str]) -> None:
    """Refuse FROM and windows that name what is neither registered nor given.

    `solutions` are the names under which queries give what is no stream, with those of the queries.
    """
    unknown = [
        (name.value, unknown_source(name.value, catalog.names()), parsed.query.dataset.facts.get(name))
        for name in catalog.unknown(parsed.query.dataset)
    ]
    windows = () if parsed.query.continuous is None else parsed.query.continuous.windows
    places = parsed.window_places or (None,) * len(windows)
    for window, place in zip(windows, places, strict=True):
        if not catalog.streams_called(window.stream.value):
            iri = window.stream.value
            unknown.append((iri, catalog.unknown_stream(iri), place))
    for iri, error, place in unknown:
        if iri in solutions:
            error = QueryError(
                f"<{iri}> is what `{solutions[iri]}` is registered as, but it gives solutions, and a stream "
                "has triples",
                hint="let it CONSTRUCT triples that others can read",
            )
        error.span = place
        raise error.located(parsed.text, parsed.origin)


def _given_as_solutions(parsed: Sequence[ParsedQuery], names: Sequence[str]) -> dict[str, str]:
    """What queries are registered as that make no triples, and how these are called."""
    return {
        each.stream.value: name
        for each, name in zip(parsed, names, strict=True)
        if each.stream is not None and not is_rule(each.query)
    }


_AFTER_THE_FACT = "a combination with another interval than the hull may be known only after it has ended"


def _refuse_undecidable(last: Step) -> None:
    """Refuse what asks for all solutions that end by an instant, where some of them are known only later."""
    for step in last.walk():
        if any(below.after_the_fact for below in step.awaited):
            raise QueryError(
                f"{step.name} cannot be decided: it needs all solutions that end by an instant, "
                f"but {_AFTER_THE_FACT}",
                hint="use the hull there, or leave the operator out",
            )


def _kept_together(query: Query, key: Key | None) -> NoKey | None:
    """Why a continuous query cannot be spread by its key; None if it can."""
    if query.continuous is None:
        return None
    if any(window.spec.kind is Kind.TRIPLES for window in query.continuous.windows):
        return NoKey("a window of the last triples counts all triples of its stream")
    new_or_gone = query.continuous.operator is not StreamOperator.RSTREAM
    if new_or_gone and key is not None and isinstance(query, Select) and key.variable not in query.vars:
        return NoKey(f"{query.continuous.operator.value} compares solutions that do not show {key.variable}")
    return None


_NEEDS_INSTANTS = NoKey("static solutions count at every instant of the streams")
_READS_NOTHING = NoKey("the query reads no stream, so there is nothing to distribute")

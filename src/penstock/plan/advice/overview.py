"""What `penstock explain` says of a run as a whole: its sources, who feeds whom, what is shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.algebra.nodes import is_rule
from penstock.plan import steps
from penstock.plan.analysis.rule_graphs import target_of
from penstock.plan.catalog import Catalog
from penstock.plan.planning import Plan, PlannedQuery
from penstock.plan.sources import RuleGraph, Source, Static, Stream, WindowSource
from penstock.plan.steps import Step
from penstock.plan.wording import in_words

MOST_NAMES = 8
"""Names of queries or sources in one line; of the others their number is told."""


@dataclass(frozen=True)
class Input:
    """Where a registered stream or graph comes from, as its user said it."""

    iri: str | None
    place: str = ""


class Overview:
    """The plan of a run, seen as a whole. `streams` and `graphs` say where those of the catalog come from.

    `remembered` is what each step keeps, and how long, in the words of its operator. `rules` are told as
    they are, and so is what becomes of the queries of a checkpoint (`fates`); of the queries, the first
    `given` are the user's, the others are rules as queries. `generations` are the batches that the queries
    began with: steps that remember are shared by those of one. `internal_queries` only feed
    others. `closes`: elements are closed under rules; `decodes_all`: all of their predicates are decoded;
    `follows`: changes of static graphs are taken in.
    """

    def __init__(
        self,
        plan: Plan,
        remembered: Mapping[Step, tuple[str, ...]],
        streams: Sequence[Input] = (),
        graphs: Sequence[Input] = (),
        *,
        rules: Sequence[tuple[str, str]] = (),
        given: int | None = None,
        generations: Sequence[int] = (),
        internal_queries: Collection[int] = (),
        shards: int = 1,
        closes: bool = False,
        decodes_all: bool = False,
        follows: bool = False,
        fates: Sequence[str] = (),
    ) -> None:
        self.plan = plan
        self.remembered = remembered
        self.streams = list(streams) or [Input(each.iri) for each in plan.catalog.streams]
        self.graphs = list(graphs) or [Input(each.iri) for each in plan.catalog.graphs]
        self.rules = rules
        self.given = len(plan.queries) if given is None else given
        self.generations = generations or (0,) * len(plan.queries)
        self.internal_queries = frozenset(internal_queries)
        self.shards = shards
        self.closes = closes
        self.decodes_all = decodes_all
        self.follows = follows
        self.fates = fates

    # --- the run ---

    def lines(self, assumed: bool) -> Iterator[str]:
        """The sources and the queries; `assumed`: nobody has said which streams there are."""
        if assumed:
            yield f"assumed  {_assumed(self.plan.catalog)}"
        else:
            for each in self.streams:
                yield f"stream   {_input(each)}"
        for each in self.graphs:
            yield f"graph    {_input(each)}" + (", whose changes are followed" if self.follows else "")
        width = max((len(name) for name, _ in self.rules), default=0)
        for name, why in self.rules:
            yield f"rule     {name:{width}}  {why}"
        given = self.plan.queries[: self.given]
        if len(given) > 1:
            width = max(len(query.name) for query in given)
            for place, query in enumerate(given):
                yield f"query    {query.name:{width}}  {self._feeding(place)}"
        for program in self.plan.programs:
            for circle in program.circles:
                names = _named(self.plan.queries[i].name for i in circle)
                yield f"recurs   {names} {'feed each other' if len(circle) > 1 else 'feeds itself'}"
            if max(program.strata, default=0):
                layers: dict[int, list[str]] = {}
                for place, stratum in zip(program.queries, program.strata, strict=True):
                    layers.setdefault(stratum, []).append(self.plan.queries[place].name)
                order = ", then ".join(_named(layers[stratum]) for stratum in sorted(layers))
                yield f"order    {order}: what looks for absence comes after what derives"
        for fate in self.fates:
            yield f"state    {fate}"
        if shared := [step for step in self._users if len(self._users[step]) > 1]:
            whole = len(self._users)
            yield f"shared   {len(shared)} of {whole} steps work for several queries"

    def _feeding(self, place: int) -> str:
        kind = self.plan.queries[place].kind.upper()
        feeds = [f"feeds {_named(self.feeds(place))}"] if self.feeds(place) else []
        fed = [f"fed by {_named(self.fed_by(place))}"] if self.fed_by(place) else []
        return ", ".join([kind, *fed, *feeds])

    # --- a query in it ---

    @cached_property
    def _links(self) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """The names of the queries that each query feeds, and of those that it is fed by."""
        feeds: dict[int, dict[int, None]] = {}
        fed: dict[int, dict[int, None]] = {}
        for program in self.plan.programs:
            for rules, queries in program.meetings:
                for rule in rules:
                    feeds.setdefault(rule, {}).update(dict.fromkeys(queries))
                for query in queries:
                    fed.setdefault(query, {}).update(dict.fromkeys(rules))
        named = [
            {place: [self.plan.queries[i].name for i in sorted(others)] for place, others in each.items()}
            for each in (feeds, fed)
        ]
        return named[0], named[1]

    def feeds(self, place: int) -> list[str]:
        """The names of the queries that read what a rule derives."""
        return self._links[0].get(place, [])

    def fed_by(self, place: int) -> list[str]:
        """The names of the rules whose triples a query reads."""
        return self._links[1].get(place, [])

    def reads(self, place: int) -> str:
        """What the triple patterns of a query look at."""
        found: dict[Source, None] = {}
        for step in self.plan.queries[place].step.walk(everywhere=True):
            if isinstance(step, steps.Scan):
                found.update(dict.fromkeys(step.sources))
        fed_by = frozenset(self.fed_by(place))
        names = [name for source in sorted(found, key=_order) if (name := self._source(source, fed_by))]
        return _named(dict.fromkeys(names)) or "nothing"

    def _source(self, source: Source, fed_by: frozenset[str]) -> str | None:
        match source:
            case Stream(place=place):
                return f"stream {_input(self.streams[place])}"
            case Static(place=place):
                return f"graph {_input(self.graphs[place])}"
            case RuleGraph(iri=iri):  # read, but maybe nobody writes into it
                rules = [name for name in self._writers.get(iri, ()) if name in fed_by]
                into = f" into <{iri}>" if iri is not None else ""
                return f"what {_named(rules)} derive{'s' if len(rules) == 1 else ''}{into}" if rules else None
        raise TypeError(f"{type(source).__name__} is not a source")

    @cached_property
    def _writers(self) -> dict[str | None, list[str]]:
        """The names of the rules that write each graph."""
        found: dict[str | None, list[str]] = {}
        for query in self.plan.queries:
            if is_rule(query.parsed.query):
                found.setdefault(target_of(query.parsed.query), []).append(query.name)
        return found

    @cached_property
    def _users(self) -> dict[tuple[Step, int], list[int]]:
        """The steps of the run with the queries that they work for; those that remember by generation."""
        found: dict[tuple[Step, int], list[int]] = {}
        for place, query in enumerate(self.plan.queries):
            for step in dict.fromkeys(query.step.walk(everywhere=True)):
                found.setdefault(self._of(step, place), []).append(place)
        return found

    def _of(self, step: Step, place: int) -> tuple[Step, int]:
        return step, self.generations[place] if step.remembers else 0

    def memory(self, query: PlannedQuery) -> list[str]:
        """What the steps of a query remember beyond the watermark, from the last step to the first."""
        remarks = Counter(
            f"{step.name} remembers {what}"
            for step in reversed(list(query.step.walk()))
            for what in self.remembered.get(step, ())
        )
        return [f"{line} ({times} of them)" if times > 1 else line for line, times in remarks.items()]

    @cached_property
    def user(self) -> dict[Step, PlannedQuery]:
        """The first query that each step works for."""
        return {step: self.plan.queries[places[0]] for (step, _), places in reversed(self._users.items())}

    def shared_with(self, step: Step, place: int) -> str:
        """The other queries that a step of a query works for, too; empty if there are none."""
        users = self._users[self._of(step, place)]
        return _named(self.plan.queries[other].name for other in users if other != place)


def _assumed(catalog: Catalog) -> str:
    names = [f"<{stream.iri}>" for stream in catalog.streams if stream.iri is not None]
    named = f", and {_named(names)} as stream{'s' if len(names) > 1 else ''}" if names else ""
    return f"one stream without a name{named}; --stream and --graph explain a run as it will be"


def _input(each: Input) -> str:
    if each.iri is None:
        return each.place or "without a name"
    return f"<{each.iri}>" + (f" = {each.place}" if each.place else "")


def _named(names: Iterable[str]) -> str:
    """Names in words; of many the first, and how many more."""
    names = list(names)
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} more"]
    return in_words(names)


def _order(source: Source) -> tuple:
    return (Stream, WindowSource, Static, RuleGraph).index(type(source)), str(source)

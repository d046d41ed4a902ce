"""Where a query without answers dried up: how many rows each pattern had, and what let none through."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.algebra.printing import to_sexpr
from penstock.algebra.relations import ANY
from penstock.engine.counting import RowCounts
from penstock.engine.network import Network
from penstock.plan import steps, system_columns
from penstock.plan.analysis.keys import ELEMENT_KEY
from penstock.plan.compilation.prefilters import prefilters_for
from penstock.plan.planning import PlannedQuery
from penstock.plan.sources import streams
from penstock.plan.steps import Expand, PathWalk, RepetitionsBetween, Stamped, Step
from penstock.plan.steps.step import SameColumns
from penstock.plan.wording import expression_text, in_words
from penstock.terms import NamedNode
from penstock.timeline import SECOND, format_duration

_MOST_REASONS = 4
_SOME = 5


@dataclass(frozen=True)
class Diagnosis:
    """Why a query has no answers: rows by triple pattern, and the steps that gave none of what they got."""

    query: str
    patterns: tuple[tuple[int, str], ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        width = max((len(f"{rows:,}") for rows, _ in self.patterns), default=1)
        lines = [f"{self.query} has no answers"]
        lines += [
            f"  {rows:>{width},} {'row ' if rows == 1 else 'rows'}  {text}" for rows, text in self.patterns
        ]
        lines += [f"  {reason}" for reason in self.reasons]
        return "\n".join(lines)


def lacking(query: PlannedQuery, net: Network, generation: int, counts: RowCounts) -> Iterator[steps.Scan]:
    """The scans of a query without answers whose predicate has not occurred."""
    place = net.places(generation)
    if counts.given.get(place[query.step], 0):
        return
    for step in query.step.walk():
        if isinstance(step, steps.Scan) and streams(step.sources) and isinstance(step.predicate, NamedNode):
            if place[step] not in counts.occurred:
                yield step


def diagnose(
    query: PlannedQuery,
    net: Network,
    generation: int,
    counts: RowCounts,
    occurring: Collection[str] = (),
) -> Diagnosis | None:
    """Why a query has had no answers so far; None if it had some.

    `occurring` are predicates of the streams, for a guess at what was meant.
    """
    found = _Search(query, net, generation, counts, occurring)
    if found.given(query.step):
        return None
    reasons = tuple(dict.fromkeys([*found.dry(query.step), *found.misspelt(query.step)]))
    reasons = reasons or (found.apart(query.step),)
    if len(reasons) > _MOST_REASONS:
        reasons = (*reasons[:_MOST_REASONS], f"… and {len(reasons) - _MOST_REASONS} more")
    patterns = [(found.matched(leaf), found.pattern(leaf)) for leaf in found.leaves(query.step)]
    return Diagnosis(query.name, tuple(patterns), reasons)


class _Search:
    """Goes down from a query's last step to where rows went in and none came out."""

    def __init__(
        self,
        query: PlannedQuery,
        net: Network,
        generation: int,
        counts: RowCounts,
        occurring: Collection[str],
    ) -> None:
        self.net = net
        self.place = net.places(generation)
        self.counts = counts
        self.occurring = occurring
        self.prefixes = query.parsed.prefixes
        self.in_elements = query.key == ELEMENT_KEY

    def given(self, step: Step) -> int:
        return self.counts.given.get(self.place[step], 0)

    def matched(self, leaf: Step) -> int:
        """What a pattern matched in time, whatever filters took away."""
        at = self.place[_scan_of(leaf)]
        return self.counts.matched.get(at, 0) - self.counts.late.get(at, 0)

    def leaves(self, step: Step) -> list[Step]:
        """The patterns below a step, as the query names their variables."""
        found = [below for below in step.walk() if _scan_of(below) is not None]
        inside = {part for leaf in found for part in leaf.walk() if part is not leaf}
        return [leaf for leaf in found if leaf not in inside]

    def dry(self, step: Step) -> Iterator[str]:
        """The reasons why a step that gives nothing gives nothing."""
        if _scan_of(step) is not None:
            if not self._passed_over(step):
                yield self._of_pattern(step)
            return
        if not step.inputs:
            yield "there is nothing to begin with: VALUES without rows, or a graph that no source has"
            return
        empty = self._to_blame(step)
        for below in empty:
            yield from self.dry(below)
        if not empty:
            yield self._of_step(step)

    def _to_blame(self, step: Step) -> list[Step]:
        """The inputs because of whose lack of rows a step gives none; empty if it is its own doing."""
        given = tuple(bool(self.given(below)) for below in step.inputs)
        if step.gives(given):
            return []
        lacking = [place for place, gives in enumerate(given) if not gives]
        decisive = [each for each in lacking if not step.gives(tuple(i != each for i in range(len(given))))]
        return [step.inputs[place] for place in decisive or lacking]

    def _passed_over(self, leaf: Step) -> bool:
        """Whether nobody looked at what a pattern matched: others matched nothing in those elements."""
        return self.in_elements and bool(self.matched(leaf)) and not self.given(_scan_of(leaf))

    def apart(self, step: Step) -> str:
        """What is to be said where all patterns match, but in different elements."""
        return f"no element has matches of all it needs: {self._patterns(step)}"

    def misspelt(self, step: Step) -> Iterator[str]:
        """Patterns that need not match, as in OPTIONAL and EXISTS, with predicates that do not occur."""
        for leaf in self.leaves(step):
            scan = _scan_of(leaf)
            if isinstance(scan.predicate, NamedNode) and self.place[scan] not in self.counts.occurred:
                yield self._of_pattern(leaf)

    # --- in words ---

    def pattern(self, leaf: Step) -> str:
        """A triple pattern as in the query."""
        scan, names = _scan_of(leaf), _names(leaf)
        return " ".join(
            self._variable(names[term]) if isinstance(term, str) else self._term(term)
            for term in (scan.subject, scan.predicate, scan.object)
        )

    def _variable(self, name: str) -> str:
        return "[]" if name.startswith(".") else f"?{name}"

    def _term(self, term) -> str:
        return to_sexpr(term, prefixes=self.prefixes)

    def _patterns(self, step: Step) -> str:
        return in_words(f"`{self.pattern(leaf)}`" for leaf in self.leaves(step)) or "a part without patterns"

    def _condition(self, step: steps.Filter, names: Mapping[str, str] = MappingProxyType({})) -> str:
        return f"FILTER ({expression_text(step.condition, self.prefixes, names)})"

    def _of_pattern(self, leaf: Step) -> str:
        scan, text = _scan_of(leaf), f"`{self.pattern(leaf)}`"
        at, matched = self.place[scan], self.matched(leaf)
        filters = [step for step in leaf.walk() if isinstance(step, steps.Filter)]
        if matched and filters:
            # Rows that comparisons with constants rule out do not even reach the filters.
            guilty, rows = filters, matched
            if self.given(scan):
                guilty = [next((each for each in filters if not self.given(each)), filters[-1])]
                rows = self.given(guilty[0].input)
            conditions = in_words(self._condition(each, _names(leaf)) for each in guilty)
            return f"{conditions} let none of {_count(rows)} of {text} through"
        if self.counts.late.get(at):
            return f"all {_count(self.counts.late[at])} of {text} came too late: --lateness waits for them"
        if not scan.sources:
            return f"{text} reads a graph that no source has"
        if isinstance(scan.predicate, NamedNode) and at not in self.counts.occurred:
            return f"{text} matched nothing: {self._term(scan.predicate)} does not occur{self._guess(scan)}"
        wanted = [t for t in (scan.subject, scan.object) if not isinstance(t, str)]
        if wanted and isinstance(scan.predicate, NamedNode):
            terms = in_words(map(self._term, wanted))
            return f"{text} matched nothing: {self._term(scan.predicate)} occurs, but not with {terms}"
        return f"{text} matched nothing"

    def _guess(self, scan: steps.Scan) -> str:
        """The predicate that was probably meant, or some that occur."""
        assert isinstance(scan.predicate, NamedNode)
        near = nearest(scan.predicate.value, self.occurring)
        if near is not None:
            return f"; did you mean {self._term(NamedNode(near))}?"
        others = sorted(self.occurring)[:_SOME]
        if not others or not streams(scan.sources):
            return ""
        more = " …" if len(self.occurring) > _SOME else ""
        return f"; the streams have {', '.join(self._term(NamedNode(each)) for each in others)}{more}"

    def _of_step(self, step: Step) -> str:
        match step:
            case steps.Filter(input=Stamped()):
                return (
                    f"a repetition lies between what has time: none of {_count(self.given(step.input))} of"
                    f" {self._patterns(step.input)} has"
                )
            case steps.Filter():
                return f"{self._condition(step)} let none of {_count(self.given(step.input))} through"
            case steps.Join():
                return self._of_join(step)
            case PathWalk():
                return f"no way along {self._patterns(step)} leads to an end of its path"
            case Expand():
                along = in_words(dict.fromkeys(map(self._patterns, step.labels)))
                return (
                    f"no way along {along} leads on from {_count(self.given(step.input))} of"
                    f" {self._patterns(step.input)}"
                )
            case RepetitionsBetween():
                return (
                    f"no repetition: {_count(self.given(step.repetition))} of"
                    f" {self._patterns(step.repetition)}, but none between what begins and"
                    f" ends one ({_count(self.given(step.required))} of"
                    f" {self._patterns(step.required)}), or time has not passed its end"
                )
            case steps.Next():
                left, right = (
                    f"{_count(self.given(side))} of {self._patterns(side)}" for side in step.inputs
                )
                return f"none of {left} is followed by one of {right}, or time has not passed its end"
            case steps.Unless():
                return (
                    f"UNLESS left none of {_count(self.given(step.required))} of"
                    f" {self._patterns(step.required)}: {self._patterns(step.absent)} came within"
                    f" {format_duration(step.within)}, or time has not passed the deadline"
                )
            case steps.Minus():
                return f"MINUS removed all {_count(self.given(step.required))}"
            case steps.Sliced():
                return f"OFFSET and LIMIT left none of {_count(self.given(step.inputs[0]))}"
            case steps.Constructed():
                return (
                    f"the template makes no triple from {_count(self.given(step.input))}: a variable of it"
                    " is unbound, or a literal would be a subject or predicate"
                )
            case steps.LeftJoin() | steps.ExistsMark() | steps.Aggregated() | steps.Ordered() | steps.Asked():
                return (
                    f"{_count(self.given(step.inputs[0]))} of {self._patterns(step.inputs[0])} wait until"
                    " time has passed their end"
                )
        inputs = (f"{_count(self.given(below))} of {self._patterns(below)}" for below in step.inputs)
        return f"nothing is left of {' and '.join(inputs)}"

    def _of_join(self, step: steps.Join) -> str:
        shared = [self._variable(var) for var in step.shared if system_columns.is_variable(var)]
        wanted = [f"with the same {in_words(shared)}"] if shared else []
        if step.relation.words:
            wanted.append(step.relation.words)
        if step.within is not None:
            # A length below a limit is at most a microsecond less than it.
            limit = step.within + 1 if (step.within + 1) % (SECOND // 1000) == 0 else step.within
            wanted.append(f"within {format_duration(limit)}")
        readers = [
            self.net.steps[edge.target] for edge in self.net.edges if step == self.net.steps[edge.source]
        ]
        if prefilters_for(step, readers) is not None:  # the join leaves out what the filter would
            wanted.append(f"and such that {in_words(self._condition(each) for each in readers)}")
        sides = (f"{_count(self.given(side))} of {self._patterns(side)}" for side in (step.left, step.right))
        pairs = f"no two {', '.join(wanted)}" if wanted else "no two"
        name = "the join" if step.relation == ANY else step.relation.name
        return f"{name} let nothing through: {' and '.join(sides)}, but {pairs}"


def nearest(iri: str, others: Collection[str]) -> str | None:
    """The IRI that is most like another one: the same local name, or a few letters off."""
    name = _local_name(iri)
    same = [other for other in sorted(others) if _local_name(other).lower() == name.lower()]
    if same:
        return max(same, key=lambda other: difflib.SequenceMatcher(None, iri, other).ratio())
    names = {_local_name(other).lower(): other for other in sorted(others)}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)
    return names[close[0]] if close else None


def _local_name(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1]


def _scan_of(step: Step) -> steps.Scan | None:
    """The scan of a pattern: the step itself, or below what chooses and names its rows."""
    if isinstance(step, steps.Rename):
        step = step.input
        while isinstance(step, SameColumns):
            step = step.input
    return step if isinstance(step, steps.Scan) else None


def _names(leaf: Step) -> dict[str, str]:
    """The variables of a pattern by the positions of its scan."""
    below = leaf.input if isinstance(leaf, steps.Rename) else leaf
    return dict(zip(below.vars, leaf.vars, strict=True))


def _count(rows: int) -> str:
    return f"{rows:,} {'row' if rows == 1 else 'rows'}"

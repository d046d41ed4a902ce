"""What `penstock explain` says of a plan: key, memory, steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from penstock.algebra.printing import to_sexpr
from penstock.algebra.relations import HULL
from penstock.errors import shortened
from penstock.plan import steps
from penstock.plan.advice.overview import Overview
from penstock.plan.analysis.keys import ELEMENT_KEY, Key
from penstock.plan.compilation.sieves import Sieve, sieves
from penstock.plan.planning import PlannedQuery
from penstock.plan.sources import streams
from penstock.plan.steps import Step
from penstock.plan.system_columns import ELEMENT
from penstock.plan.wording import in_words
from penstock.terms import NamedNode
from penstock.timeline import format_duration

_IRI = re.compile(r"<([^<>\s]+)>")
_LONGEST = 120
"""Characters of an expression that are shown."""
_MOST_NAMES = 8
_STAGE = 10  # characters before what a stage does


def explain_plan(overview: Overview, only: Sequence[int] | None = None, *, assumed: bool = False) -> str:
    """The run as a whole; then, query by query (or of some, `only`), the partition key (or why there is
    none), what operators remember, and the steps. Rules that run as queries come after these."""
    parts = ["\n".join(overview.lines(assumed))]
    every = range(len(overview.plan.queries))
    for place in every if only is None else only:
        query = overview.plan.queries[place]
        if len(every) > 1:
            origin = f"{query.parsed.origin}:" if query.parsed.origin else "line "
            parts.append(f"== {query.name}  {query.kind.upper()}, {origin}{query.parsed.place.line}")
        parts.append(f"reads          {overview.reads(place)}\n{_key_line(query)}")
        parts.append(_block("memory", overview.memory(query) or [_nothing_kept(query)]))
        parts.append(_block("steps", _tree(place, overview)))
    return "\n\n".join(part for part in parts if part)


def _block(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _key_line(query: PlannedQuery) -> str:
    if query.key == ELEMENT_KEY:
        return "partition key  the element: answered where it is read, because all of it is there"
    if isinstance(query.key, Key):
        return f"partition key  {query.key.variable}: rows with different values never meet"
    reason = _IRI.sub(
        lambda iri: to_sexpr(NamedNode(iri[1]), prefixes=query.parsed.prefixes), query.key.reason
    )
    return f"partition key  none, so it runs in one partition: {reason}"


def _nothing_kept(query: PlannedQuery) -> str:
    if isinstance(query.step, steps.PerElement):
        return "nothing: an element is forgotten when it has been answered"
    return "nothing beyond the watermark"


def explain_stages(overview: Overview, *, assumed: bool = False) -> str:
    """The stages of the run on Spark (`ARCHITECTURE.md`), and what each does for these queries."""
    plan = overview.plan
    in_shards = dict.fromkeys(step for query in plan.queries for step in query.step.walk())
    everywhere = dict.fromkeys(step for query in plan.queries for step in query.step.walk(everywhere=True))
    scans = [step for step in everywhere if isinstance(step, steps.Scan)]
    alone = [query for query in plan.queries if query.key == ELEMENT_KEY]
    keyed = [query for query in plan.queries if query.key.column and query not in alone]
    together = [query for query in plan.queries if query not in keyed and query not in alone]
    sieved = sieves(query.step for query in plan.queries)
    gives = [query for place, query in enumerate(plan.queries) if place not in overview.internal_queries]
    found = {
        "source": [_counted(len(overview.streams), "stream") + (", assumed" if assumed else "")],
        "decode": [_decoded(scans, overview)],
        "reason": [_reasoning(overview)],
        "match": [_counted(len(scans), "triple pattern")],
        "answer": [f"each element by itself: {_names(alone)}"] if alone else [],
        "exchange": [
            *([f"by key to {_counted(overview.shards, 'shard')}: {_names(keyed)}"] if keyed else []),
            *([f"by element to {_counted(overview.shards, 'shard')}: {_names(alone)}"] if alone else []),
            *([f"to the first shard: {_names(together)}"] if together else []),
        ],
        "detect": [
            _counted(len(in_shards), "step")
            + f", of which {sum(not step.memoryless for step in in_shards)} have state"
        ],
        "emit": [f"answers of {_names(gives)}"],
    }
    found["source"] += [each.place for each in overview.streams if each.place]
    found["match"] += [_label(scan, overview.user[scan]) + _only(sieved.get(scan, ())) for scan in scans]
    found["detect"] += [_label(step, overview.user[step]) for step in in_shards if not step.memoryless]
    found["detect"] += [f"static knowledge: {each.place}" for each in overview.graphs if each.place]
    return "\n".join(
        f"{stage:{_STAGE}}{line}" if not number else " " * (_STAGE + 2) + line
        for stage, lines in found.items()
        for number, line in enumerate(lines)
    )


def _names(queries: Sequence[PlannedQuery]) -> str:
    return in_words([query.name for query in queries], most=_MOST_NAMES)


def _decoded(scans: Sequence[steps.Scan], overview: Overview) -> str:
    """Which predicates of the streams become columns."""
    if overview.decodes_all:
        return "all predicates"
    read = {scan.predicate: scan for scan in scans if streams(scan.sources)}
    names = (
        to_sexpr(term, prefixes=overview.user[scan].parsed.prefixes)
        for term, scan in read.items()
        if not isinstance(term, str)
    )
    return f"the predicates {in_words(list(names), most=_MOST_NAMES)}" if read else "no predicate"


def _reasoning(overview: Overview) -> str:
    if not overview.closes:
        return "elements stay as they are"
    return f"elements are closed under {_counted(len(overview.rules), 'rule')}"


def _only(sieve: Sieve) -> str:
    """Which rows of a scan go on, if not all."""
    if not sieve:
        return ""
    kept = " or ".join(" and ".join(map(str, reader)) for reader in sieve)
    return shortened(f"  only {kept}", _LONGEST)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _tree(place: int, overview: Overview) -> Iterator[str]:
    """The steps of a query, each above its inputs; what stands there already is not shown again."""
    query = overview.plan.queries[place]
    shown: set[Step] = set()
    waiting = [(query.step, 0, "")]
    while waiting:
        step, depth, above = waiting.pop()
        again = step in shown and step.parts
        others = overview.shared_with(step, place)
        remarks = ["as above"] if again else [f"shared with {others}"] if others != above else []
        yield "  " * depth + _label(step, query) + "".join(f"  ({remark})" for remark in remarks)
        if not again:
            shown.add(step)
            waiting += [(below, depth + 1, others) for below in reversed(step.parts)]


def _label(step: Step, query: PlannedQuery) -> str:
    """A step in one line: its name and what is not another step."""
    prefixes = query.parsed.prefixes
    if isinstance(step, steps.Scan):
        terms = (step.subject, step.predicate, step.object)
        shown = " ".join(f"?{t}" if isinstance(t, str) else to_sexpr(t, prefixes=prefixes) for t in terms)
        return f"{step.name} {shown}" + (f"  key ?{step.key}" if step.key else "")
    parts = [step.name]
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name == "within" and value is not None:
            parts.append(f"within {format_duration(value)}")
        elif field.name == "interval" and value is not HULL:
            parts.append(value.value)
        elif field.name in ("condition", "expression") and value is not None:
            written = " ".join(to_sexpr(value, prefixes=prefixes).split())
            parts.append(shortened(written, _LONGEST))
        elif field.name == "var":
            parts.append(f"?{value} :=")
        elif field.name in ("vars", "keys") and isinstance(value, tuple):
            parts.append(" ".join(_column(column) for column in value))
        elif field.name == "transitions":  # of states, by the inputs in their order
            moves = (f"{source} to {target} by {label + 1}" for source, label, target in value)
            parts.append(shortened(", ".join(moves), _LONGEST))
        elif field.name == "accepting":
            parts.append(f"until {in_words(sorted(value), 'or')}")
        elif field.name in ("offset", "limit") and value:
            parts.append(f"{field.name} {value}")
    return " ".join(part for part in parts if part)


def _column(column: str | tuple[str, bool]) -> str:
    if isinstance(column, tuple):
        return f"{'desc ' if column[1] else ''}?{column[0]}"
    return "element" if column == ELEMENT else f"?{column}"

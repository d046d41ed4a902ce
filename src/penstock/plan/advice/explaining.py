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
from penstock.plan.hidden import ELEMENT
from penstock.plan.planning import PlannedQuery
from penstock.plan.step import Step
from penstock.plan.walks import Walks
from penstock.plan.wording import in_words
from penstock.terms import NamedNode
from penstock.timeline import format_duration

_IRI = re.compile(r"<([^<>\s]+)>")
_LONGEST = 120
"""Characters of an expression that are shown."""


def explain_plan(overview: Overview, places: Sequence[int], *, assumed: bool = False) -> str:
    """The run as a whole; then, query by query, the partition key (or why there is none), what
    operators remember, and the steps."""
    parts = ["\n".join(overview.lines(assumed))]
    for place in places:
        query = overview.plan.queries[place]
        if overview.given > 1:
            origin = f"{query.parsed.origin}:" if query.parsed.origin else "line "
            parts.append(f"== {query.name}  {query.kind.upper()}, {origin}{query.parsed.place.line}")
        parts.append(f"reads          {overview.reads(place)}\n{_key_line(query)}")
        parts.append(_block("memory", overview.memory(query) or [_nothing_kept(query)]))
        parts.append(_block("steps", _tree(query, overview)))
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


def explain_steps(overview: Overview) -> str:
    """The run on Spark: the stages, and what each does for these queries."""
    plan = overview.plan
    found: dict[Step, None] = {}
    for query in plan.queries:
        found.update(dict.fromkeys(query.step.walk(everywhere=True)))
    scans = [step for step in found if isinstance(step, steps.Scan)]
    alone = [query for query in plan.queries if query.key == ELEMENT_KEY]
    keyed = [query for query in plan.queries if isinstance(query.key, Key) and query not in alone]
    in_shards = dict.fromkeys(step for query in plan.queries for step in query.step.walk())
    stateful = [s for s in in_shards if s.waits or isinstance(s, (steps.Join, Walks))]
    sieved = sieves(query.step for query in plan.queries)
    lines = [
        "source    splits of files by byte range (Python data source, one task per core)",
        *(f"            {each.place}" for each in overview.streams if each.place),
        "decode    bytes to columns of term ids, instants and intervals",
        f"reason    whole elements, with static knowledge at hand: {_reasoning(overview)}",
        "match     " + _counted(len(scans), "triple pattern"),
        *(f"            {_label(scan, overview.user[scan])}{_only(sieved.get(scan, ()))}" for scan in scans),
        *_answered(alone),
        "exchange  one Arrow payload per split and shard, grouped by shard",
        f"            {_counted(len(keyed), 'query', 'queries')} spread by key,"
        + (f" the answers of {len(alone)} by the element," if alone else "")
        + f" {len(plan.queries) - len(keyed) - len(alone)} in the first shard",
        "detect    transformWithState over shards, state in RocksDB as appended chunks",
        *(f"            {_label(step, overview.user[step])}" for step in stateful),
        *(f"            static knowledge: {each.place}" for each in overview.graphs if each.place),
        "emit      foreachBatch: sinks write each batch once, by its number",
    ]
    return "\n".join(lines)


def _reasoning(overview: Overview) -> str:
    if len(overview.plan.queries) > overview.given or not overview.rules:  # rules over streams are queries
        return "nothing to add or to drop"
    return f"closed under {_counted(len(overview.rules), 'rule')}"


def _answered(alone: Sequence[PlannedQuery]) -> Iterator[str]:
    """What is answered before the exchange."""
    if alone:
        yield "answer    " + _counted(len(alone), "query", "queries") + ", for each element by itself"


def _only(sieve: Sieve) -> str:
    """Which rows of a scan go on, if not all."""
    if not sieve:
        return ""
    kept = " or ".join(" and ".join(map(str, reader)) for reader in sieve)
    return shortened(f"  only {kept}", _LONGEST)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _tree(query: PlannedQuery, overview: Overview) -> Iterator[str]:
    """The steps, each above its inputs; what stands there already is not shown again."""
    shown: set[Step] = set()
    waiting = [(query.step, 0, "")]
    while waiting:
        step, depth, told = waiting.pop()
        again = step in shown and step.parts
        others = overview.shared_with(step, query)
        remarks = ["as above"] if again else [f"shared with {others}"] if others != told else []
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
        return f"Scan {shown}" + (f"  key ?{step.key}" if step.key else "")
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

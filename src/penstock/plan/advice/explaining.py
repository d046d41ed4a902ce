"""What `penstock explain` says of a plan: key, memory, steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from penstock.algebra.printing import to_sexpr
from penstock.algebra.relations import HULL
from penstock.plan import steps
from penstock.plan.advice.retention import describe_memory
from penstock.plan.analysis.keys import Key, NoKey
from penstock.plan.planning import Plan, PlannedQuery
from penstock.plan.steps import Step
from penstock.timeline import format_duration


def explain_plan(query: PlannedQuery, plan: Plan) -> str:
    """The partition key (or why there is none), what operators remember, and the steps."""
    lines = [_key_line(query.key), ""]
    dataset = plan.catalog.active(query.parsed.query.dataset)
    memory = describe_memory(query.parsed.query.pattern, None, dataset)
    lines += ["memory", *(f"  {line}" for line in memory or ["nothing beyond the watermark"])]
    lines += ["", "steps", *(f"  {line}" for line in _tree(query.step, query))]
    return "\n".join(lines)


def _key_line(key: Key | NoKey) -> str:
    if isinstance(key, Key):
        return f"partition key  {key.variable}: rows with different values never meet"
    return f"partition key  none, so it runs in one partition: {key.reason}"


def explain_steps(plan: Plan) -> str:
    """The run on Spark: the stages, and what each does for these queries."""
    found: dict[Step, None] = {}
    for query in plan.queries:
        found.update(dict.fromkeys(query.step.walk()))
    scans = [step for step in found if isinstance(step, steps.Scan)]
    stateful = [s for s in found if s.waits or isinstance(s, (steps.Join, steps.Closure))]
    keyed = [query for query in plan.queries if isinstance(query.key, Key)]
    lines = [
        "source    splits of files by byte range (Python data source, one task per core)",
        "decode    bytes to columns of term ids, instants and intervals",
        "match     " + _counted(len(scans), "triple pattern"),
        *(f"            {_label(scan)}" for scan in scans),
        "exchange  one Arrow payload per split and shard, grouped by shard",
        f"            {_counted(len(keyed), 'query', 'queries')} spread by key,"
        f" {len(plan.queries) - len(keyed)} in the first shard",
        "detect    transformWithState over shards, state in RocksDB as appended chunks",
        *(f"            {_label(step)}" for step in stateful),
        "emit      foreachBatch: sinks write each batch once, by its number",
    ]
    return "\n".join(lines)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _tree(step: Step, query: PlannedQuery) -> Iterator[str]:
    """The steps, each above its inputs; what stands there already is not shown again."""
    shown: set[Step] = set()
    waiting = [(step, 0)]
    while waiting:
        step, depth = waiting.pop()
        again = step in shown and step.inputs
        yield "  " * depth + _label(step, query) + ("  (as above)" if again else "")
        if not again:
            shown.add(step)
            waiting += [(below, depth + 1) for below in reversed(step.inputs)]


def _label(step: Step, query: PlannedQuery | None = None) -> str:
    """A step in one line: its name and what is not another step."""
    prefixes = query.parsed.prefixes if query else ()
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
            parts.append(to_sexpr(value, prefixes=prefixes).replace("\n", " "))
        elif field.name == "var":
            parts.append(f"?{value} :=")
        elif field.name in ("vars", "keys") and isinstance(value, tuple):
            parts.append(" ".join(_column(column) for column in value))
        elif field.name in ("offset", "limit") and value:
            parts.append(f"{field.name} {value}")
    return " ".join(part for part in parts if part)


def _column(column: str | tuple[str, bool]) -> str:
    if isinstance(column, tuple):
        return f"{'desc ' if column[1] else ''}?{column[0]}"
    return f"?{column}"

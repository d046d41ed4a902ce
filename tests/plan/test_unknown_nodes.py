"""An operator says itself what each stage asks of it; one that does not is refused by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from penstock.algebra import nodes as a
from penstock.algebra.base import GraphPattern, Modifier, UnknownNode, node
from penstock.algebra.printing import to_sexpr
from penstock.engine.network import Network
from penstock.engine.shard import Shard
from penstock.languages import parse_query
from penstock.languages.visibility import in_scope
from penstock.plan import steps
from penstock.plan.advice.findings import query_findings
from penstock.plan.advice.retention import memories
from penstock.plan.analysis.bounds import longest
from penstock.plan.analysis.keys import find_key
from penstock.plan.analysis.leaves import query_leaves
from penstock.plan.analysis.reads import can_be_timeless, needs_instants, reads_stream, sources_read
from penstock.plan.analysis.variables import certain, free, possible
from penstock.plan.catalog import Catalog
from penstock.plan.compilation.compile import compile_query
from plan.texts import pattern, push_bounds

CATALOG = Catalog()
PARSED = parse_query("ASK {}")
DATASET = CATALOG.active(None)


@node
class Stranger(a.Node):
    """No graph pattern at all."""

    pattern: a.Pattern


@node
class Undescribed(GraphPattern):
    """A graph pattern that says nothing of itself."""

    pattern: a.Pattern


@node
class Twice(Modifier):
    """A described one that nobody can compile: analyses take it as it says it is."""

    pattern: a.Pattern
    word = "TWICE"


def query_of(node: a.Pattern) -> a.Select:
    return a.Select(a.Project(node, (a.Var("s"),)), (a.Var("s"),))


STAGES = {
    "variables": possible,
    "certain variables": certain,
    "free variables": free,
    "bounds": lambda node: push_bounds(node, 5),
    "lengths": longest,
    "streams": lambda node: reads_stream(node, DATASET),
    "sources": lambda node: sources_read(node, DATASET),
    "timeless solutions": lambda node: can_be_timeless(node, DATASET),
    "instants": lambda node: needs_instants(node, DATASET),
    "leaves": lambda node: list(query_leaves(query_of(node), DATASET)),
    "keys": lambda node: find_key(query_of(node), DATASET),
    "memory": lambda node: list(memories(node)),
    "findings": lambda node: query_findings(replace(PARSED, query=query_of(node)), CATALOG),
    "compilation": lambda node: compile_query(query_of(node), CATALOG),
    "scope": in_scope,
    "printing": to_sexpr,
}
STAGE = pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)


@STAGE
@pytest.mark.parametrize("unknown", [Stranger, Undescribed])
def test_every_stage_refuses_by_its_name_what_says_nothing_of_itself(stage, unknown):
    inner = pattern("?s :a ?o . ?s :b ?p FILTER (?o > 1)")
    for odd in (unknown(inner), a.Filter(a.Var("s"), unknown(inner)), a.Join(unknown(inner), inner)):
        with pytest.raises(UnknownNode, match=f"^{unknown.__name__} does not say "):
            stage(odd)


@STAGE
def test_what_is_described_needs_no_stage_to_know_it(stage):
    odd = Twice(pattern("{ ?s :a ?o } SEQ { ?s :b ?p }"))
    if stage in (STAGES["compilation"], STAGES["printing"]):
        with pytest.raises(UnknownNode, match="^Twice does not say how it is"):
            stage(odd)
    else:
        assert stage(odd) is not stage


def test_a_step_without_an_operator_is_refused_by_its_name():
    @dataclass(frozen=True)
    class Odd(steps.Step):
        vars = ()
        certain = frozenset()

    with pytest.raises(UnknownNode, match="^Odd does not say how it runs"):
        Shard(Network([Odd()]), ["odd"], {}, {}, [], 0)

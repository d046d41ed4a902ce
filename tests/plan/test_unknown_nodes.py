"""An operator says itself what each stage asks of it; one that does not is refused by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.algebra import nodes as a
from penstock.algebra.base import GraphPattern, StateNeed, UnknownNode, node
from penstock.algebra.printing import to_sexpr
from penstock.algebra.windows import NOW
from penstock.columns.terms import TermTable
from penstock.engine.choice import operator_of
from penstock.engine.counting import RowCounts
from penstock.engine.diagnosis import diagnose
from penstock.engine.digests import digests
from penstock.engine.expressions import Evaluator
from penstock.engine.network import Network, network
from penstock.engine.operators import Operator, OperatorContext
from penstock.engine.remembering import remembered
from penstock.engine.shard import Shard
from penstock.engine.store import until_end
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.languages.visibility import in_scope
from penstock.plan import steps
from penstock.plan.advice.explaining import _label
from penstock.plan.advice.findings import query_findings
from penstock.plan.advice.retention import memories
from penstock.plan.analysis.bounds import longest
from penstock.plan.analysis.keys import NoKey, find_key
from penstock.plan.analysis.leaves import query_leaves
from penstock.plan.analysis.new_terms import made_variables
from penstock.plan.analysis.outputs import _gives_static
from penstock.plan.analysis.reads import can_be_timeless, needs_instants, reads_stream, sources_read
from penstock.plan.analysis.recursion import rules_and_scans
from penstock.plan.analysis.variables import certain, free, possible
from penstock.plan.analysis.wanted import wanted
from penstock.plan.catalog import ActiveDataset, Catalog, StreamName
from penstock.plan.compilation.compile import compile_query
from penstock.plan.compilation.order import is_ordered
from penstock.plan.compilation.sequences import cutting, must_cut_first
from penstock.plan.compilation.shaping import columns_of
from penstock.plan.compilation.substitution import is_independent
from penstock.plan.planning import PlannedQuery, _refuse_undecidable
from penstock.plan.sources import Stream
from penstock.plan.steps import Step, Windowed
from penstock.plan.steps.step import step_class
from penstock.reason.clauses import clauses_of
from penstock.rules.restrictions import refuse
from penstock.rules.rule import Rule
from plan.texts import iri, pattern, push_bounds

ARITY = pytest.mark.parametrize("arity", [0, 1, 2, 3])

# --- graph patterns --------------------------------------------------------------------------

CATALOG = Catalog()
PARSED = parse_query("ASK {}")
DATASET = CATALOG.active(None)
NOTHING = ActiveDataset(frozenset())
QUESTIONS = frozenset(name for name in vars(GraphPattern) if not name.startswith("_"))
ASKED: set[str] = set()
S, P = a.Var("s"), a.Var("p")


@node
class Stranger(a.Node):
    """No graph pattern at all."""

    below: tuple[a.Pattern, ...]


@node
class Undescribed(GraphPattern):
    """A graph pattern that says nothing of itself."""

    below: tuple[a.Pattern, ...]


@node
class Described(GraphPattern):
    """One that says all that is asked, of any number of parts; and notes what is.

    Its solutions are those of the first part, as long as the others have none, with ?p beside them.
    """

    below: tuple[a.Pattern, ...]
    word = "ODD"

    def __getattribute__(self, name):
        if name in QUESTIONS:
            ASKED.add(name)
        return super().__getattribute__(name)

    @property
    def parts(self):
        return self.below

    @property
    def absent(self):
        return len(self.below) - 1 if len(self.below) > 1 else None

    @property
    def finds(self):
        return frozenset((P,))

    names = finds

    def binds(self, possible):
        return self.finds.union(*possible[:1])

    def certainly_binds(self, certain, possible):
        return self.finds.union(*certain[:1])

    def is_independent(self, substituted):
        return False

    def cut_by(self, parts):
        return None

    def part_bounds(self, bound, own):
        return (bound, None, None)[: len(self.below)]

    def longest(self, parts, own):
        return 7

    def can_be_timeless(self, parts):
        return False

    def remembers(self, bound, own, longest):
        return (StateNeed("odd things", None, bound),)


def one(number: int) -> a.Pattern:
    return pattern(f"?s :a{number} ?o{number} . ?s :b ?p{number} FILTER (?o{number} > 1)")


def odd(kind: type, arity: int) -> a.Pattern:
    return kind(tuple(map(one, range(arity))))


def query_of(node: a.Pattern) -> a.Select:
    return a.Select(a.Project(node, (S,)), (S,))


def rule_of(node: a.Pattern) -> a.ParsedRule:
    insert = a.Insert(node, (a.QuadPattern(None, a.TriplePattern(S, P, S)),))
    return a.ParsedRule(insert=insert, text="", place=PARSED.place, language="sparql")


STAGES = {
    "variables": (possible, "binds"),
    "certain variables": (certain, "certainly_binds"),
    "free variables": (free, "names"),
    "scope": (in_scope, "binds"),
    "new terms": (made_variables, "computes"),
    "what EXISTS substitutes": (lambda node: is_independent(node, frozenset((S, P))), "is_independent"),
    "windows that cut": (lambda node: cutting(node, DATASET), "cut_by"),
    "cutting first": (lambda node: must_cut_first(node, DATASET), "cut_by"),
    "bounds": (lambda node: push_bounds(node, 5), "part_bounds"),
    "lengths": (longest, "longest"),
    "streams": (lambda node: reads_stream(node, DATASET), "leaves"),
    "sources": (lambda node: sources_read(node, DATASET), "leaves"),
    "timeless solutions": (lambda node: can_be_timeless(node, NOTHING), "can_be_timeless"),
    "instants": (lambda node: needs_instants(node, DATASET), "always_answers"),
    "static solutions": (lambda node: _gives_static(query_of(node), DATASET), "leaves"),
    "leaves": (lambda node: list(query_leaves(query_of(node), DATASET)), "leaves"),
    "what is wanted": (lambda node: wanted([replace(PARSED, query=query_of(node))]), "leaves"),
    "keys": (lambda node: find_key(query_of(node), DATASET), "leaves"),
    "memory": (lambda node: list(memories(node)), "remembers"),
    "findings": (
        lambda node: query_findings(replace(PARSED, query=query_of(node)), CATALOG), "needs_shared"
    ),
    "compilation": (lambda node: compile_query(query_of(node), CATALOG), None),
    "printing": (to_sexpr, None),
    "rules": (lambda node: refuse("odd", rule_of(node)), None),
    "clauses": (lambda node: clauses_of([Rule("odd", inserts=(rule_of(node),))]), None),
}  # fmt: skip
STAGE = pytest.mark.parametrize("stage", STAGES)
REFUSED = (UnknownNode, QueryError)
BY_WORD = "^{} does not say |: ODD cannot stand in a rule|uses ODD, which a rule cannot"


@ARITY
@STAGE
@pytest.mark.parametrize("unknown", [Stranger, Undescribed])
def test_every_stage_refuses_by_its_name_what_says_nothing_of_itself(stage, unknown, arity):
    run, _ = STAGES[stage]
    found = odd(unknown, arity)
    for each in (found, a.Filter(S, found), a.Join(found, one(9))):
        with pytest.raises(REFUSED, match=unknown.__name__):
            run(each)


@ARITY
@STAGE
def test_what_is_described_is_asked_and_needs_no_stage_to_know_it(stage, arity):
    run, question = STAGES[stage]
    found = odd(Described, arity)
    ASKED.clear()
    if question is None:
        with pytest.raises(REFUSED, match=BY_WORD.format("Described")):
            run(found)
    else:
        run(found)
        assert question in ASKED


@ARITY
@STAGE
def test_what_leaves_out_an_answer_is_refused_where_it_is_asked_for(stage, arity):
    """Whatever has no answer of its own that does no harm."""
    run, question = STAGES[stage]
    silent = type("Silent", (Described,), {question: vars(GraphPattern)[question]} if question else {})
    harmless = question in ("names", "computes", "longest", "leaves", "always_answers", "needs_shared")
    if not harmless:
        with pytest.raises(REFUSED, match=BY_WORD.format("Silent")):
            run(odd(silent, arity))


@ARITY
def test_analyses_answer_as_it_says(arity):
    found = odd(Described, arity)
    first = [a.Var(name) for name in ("s", "o0", "p0")][: 3 * bool(arity)]
    assert in_scope(found) == (*first, P) and possible(found) == {*first, P}
    assert not is_independent(found, frozenset((P,))) and longest(found) == 7
    assert cutting(found, DATASET) is None and must_cut_first(found, DATASET)
    assert not can_be_timeless(found, DATASET) and made_variables(found) == frozenset()


def test_values_that_come_from_nowhere_are_refused():
    silent = type("Silent", (Described,), {"finds": frozenset()})
    binding = type("Binding", (silent,), {"binds": lambda self, possible: frozenset((P,))})
    with pytest.raises(UnknownNode, match=r"^Binding does not say where the values of \?p come from"):
        made_variables(odd(binding, 1))


# --- steps -----------------------------------------------------------------------------------


@step_class
class Bare(Step):
    """A step that says nothing of itself."""

    below: tuple[Step, ...]


@step_class
class Odd(Bare):
    """One that says what is asked, but that nothing runs."""

    vars = ("x",)
    certain = frozenset(vars)

    def gives(self, inputs):
        return bool(inputs) and all(inputs)


@step_class
class Waiting(Odd):
    """One that waits for instants, and does not say whose."""

    waits = True


def staying(number: int) -> Step:
    return steps.Scan("s", iri(f"p{number}"), "o", frozenset((Stream(0),)))


def known(number: int) -> Step:
    return steps.InlineData(("x",), ((iri(f"x{number}"),),))


def leaving(number: int) -> Step:
    return Windowed(staying(number), NOW, timeless=True)


def step_of(kind: type, arity: int, below=staying) -> Step:
    return kind(tuple(map(below, range(arity))))


def net_of(step: Step) -> Network:
    return network([(step, 0)])


def planned(step: Step) -> PlannedQuery:
    return PlannedQuery("odd", "select", ("x",), step, NoKey("odd"), PARSED)


def digested(step: Step) -> list[str]:
    return digests(net_of(step), Catalog(streams=(StreamName(),)), lambda scan: "")


STEP_STAGES = {
    "columns": lambda step: columns_of(step, ("x",)).certain,
    "operators": operator_of,
    "what is remembered": lambda step: remembered([step]),
    "shards": lambda step: Shard(net_of(step), [*"abcdefghij"], {}, {}, [], 0),
    "digests": digested,
    "diagnosis": lambda step: diagnose(planned(step), net_of(step), 0, RowCounts()),
}
"""The stages that ask a step something, or must know what it is."""
RUNNING = ("operators", "what is remembered", "shards")
WHERE_ASKED = {
    "digests": lambda below, arity: not arity or below is known,  # what is static makes another step
    "diagnosis": lambda below, arity: arity,  # without inputs none is to blame
}
"""The stages that ask a step only where it matters."""


@ARITY
@pytest.mark.parametrize("below", [staying, leaving, known])
@pytest.mark.parametrize("stage", STEP_STAGES)
def test_steps_are_asked_or_refused_by_name(stage, below, arity):
    run = STEP_STAGES[stage]
    if stage in WHERE_ASKED and not WHERE_ASKED[stage](below, arity):
        assert run(step_of(Bare, arity, below))
    else:
        with pytest.raises(UnknownNode, match=r"^Bare does not say "):
            run(step_of(Bare, arity, below))
    found = step_of(Odd, arity, below)
    if stage in RUNNING:
        rows = "can leave" if below is leaving and arity else "stay"
        with pytest.raises(UnknownNode, match=f"^Odd does not say how it runs where rows {rows}"):
            run(found)
    else:
        assert run(found)


@ARITY
def test_what_every_step_is_asked_has_an_answer_that_does_no_harm(arity):
    """What nothing is said of is not shared, waits for nobody, feeds nobody, and keeps no order."""
    found = step_of(Odd, arity)
    assert found.remembers and not found.awaited and not found.feeds and not found.instants
    assert len(net_of(found).edges) == arity and rules_and_scans([found]) == []
    assert not any(map(found.delayed, range(arity))) and found.longest is None
    assert _label(found, planned(found)) == "Odd" and not is_ordered(found)
    _refuse_undecidable(found)
    leaves = step_of(Odd, arity, leaving)
    assert leaves.retractable == leaves.emits_retractions == bool(arity)
    # Each input by itself may be to blame, if the step says so.
    reasons = diagnose(planned(found), net_of(found), 0, RowCounts()).reasons
    assert len(reasons) == max(1, arity)


@ARITY
def test_who_waits_must_say_for_which_instants(arity):
    assert step_of(Waiting, arity).awaited == tuple(map(staying, range(arity)))
    with pytest.raises(UnknownNode, match=r"^Waiting does not say `instants`"):
        net_of(step_of(Waiting, arity))


def test_who_says_that_it_remembers_nothing_may_not_remember():
    forgetful = step_class(type("Forgetful", (Odd,), {"memoryless": True}))
    terms = TermTable()
    operator = type("Remembering", (Operator,), {})(
        step_of(forgetful, 1), "odd", OperatorContext(terms, Evaluator(terms, 0))
    )
    with pytest.raises(UnknownNode, match=r"^Forgetful does not say that it remembers something"):
        operator.store("rows", ("x",), until_end)

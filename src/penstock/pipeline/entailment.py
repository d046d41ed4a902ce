"""What rules make of the knowledge of a run, where the kernel runs them (`rules/executors` says when).

Static knowledge (all graphs without a name together) is closed once, on the driver, and takes the place
of what was given; the reason stage is handed what it needs to close each element above it.
`docs/decisions/0010-reasoning.md`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.algebra.nodes import ParsedQuery, Statement
from penstock.algebra.printing import to_sexpr
from penstock.engine.digests import RulesIdentity, digest_of
from penstock.errors import Finding, InputError, PenstockError, QueryError
from penstock.knowledge.files import GraphFiles
from penstock.knowledge.graphs import Knowledge, StaticGraph, graph_of, triples_without
from penstock.plan.analysis.walk import nodes
from penstock.plan.analysis.wanted import wanted
from penstock.plan.wording import in_words
from penstock.reason.answering import WantedClosure
from penstock.reason.closing import Closure
from penstock.reason.conflicts import Conflict, conflict_text
from penstock.reason.elements import ElementReasoner
from penstock.reason.evaluation import OPTIONS
from penstock.reason.selecting import Selection, Wanted
from penstock.reason.stage import Reasoner
from penstock.rules.executors import Applied, Executor, RuleConfig, applied
from penstock.rules.instant import at_instant
from penstock.rules.restrictions import findings
from penstock.rules.rule import Rule


@dataclass(frozen=True)
class ElementRules:
    """Makes the reasoner of a process; this is what travels."""

    rules: tuple[Rule, ...]
    wanted: Wanted | None = None  # by the queries; None: all that follows

    def __call__(self, knowledge: Knowledge) -> ElementReasoner:
        return ElementReasoner(self.rules, knowledge, wanted=self.wanted)


@dataclass(frozen=True)
class RulePlan:
    """What rules have made of the graphs of a run, and what they do to its streams."""

    graphs: tuple[StaticGraph, ...]
    applied: Applied
    rules: tuple[Rule, ...] = ()
    selection: Selection | None = None  # of rules that can contribute to answers, where there is no stream
    reasoning: ElementRules | None = None
    conflicts: tuple[Conflict, ...] = ()  # in static knowledge
    derived: int = 0  # static triples
    dropped: tuple[tuple[str, int], ...] = ()  # by rule: what would have a literal as its subject
    identity: RulesIdentity = RulesIdentity()  # noqa: RUF009 — frozen
    expressions: tuple[StaticGraph, ...] = ()  # what is said of the class expressions in the queries
    closure: Closure | None = None  # of static knowledge, if it changes and elements meet it

    def described(self, reasoner: Reasoner) -> tuple[tuple[str, str], ...]:
        """The rules that a run uses, by name, and what they mean: of elements, those that can contribute."""
        selection = self.selection
        if selection is None and isinstance(reasoner, ElementReasoner):
            selection = reasoner.selection
        return tuple(
            (rule.name, rule.meaning)
            for rule in self.rules
            if selection is None or rule.name in selection.rules
        )


def closure_of(rules: Sequence[Rule], graphs: Sequence[StaticGraph], key: int, *, changing: bool) -> Closure:
    """Everything that follows from the graphs without a name; rules read the others by GRAPH."""
    closure = Closure(rules, key, replace(OPTIONS, witnesses=not changing))
    for graph in graphs:
        if graph.iri is not None:
            closure.add_named(graph.iri, graph.triples, graph.terms)
    for graph in graphs:
        if graph.iri is None:
            closure.add(graph.triples, graph.terms)
    return closure


def _closed(closure: Closure | WantedClosure, graphs: Sequence[StaticGraph]) -> tuple[StaticGraph, ...]:
    """The graphs, of which those without a name are one, which is closed."""
    named = (graph for graph in graphs if graph.iri is not None)
    return StaticGraph.of(None, closure.triples, closure.terms), *named


def entailed(
    graphs: Sequence[StaticGraph],
    queries: Sequence[ParsedQuery],
    entailment: RuleConfig,
    key: int,
    *,
    now: int = 0,
    changing: bool = False,
    static: bool = False,
) -> RulePlan:
    """Closes static knowledge, and prepares what is done to streams (a run that is `static` has none).

    Static knowledge is closed under all rules, for what elements bring may need any of it; where there are
    no streams, as far as the queries want it. Knowledge that may be `changing` has no digest.
    """
    how = applied(queries, entailment)
    if how.executor is None:
        return RulePlan(tuple(graphs), how)
    expressions = (graph_of(how.expressions, None, key=key),) if how.expressions else ()
    graphs = [*(graph.keyed(key) for graph in graphs), *expressions]
    rules = at_instant(entailment.rules, now)
    some = not entailment.all_rules and how.executor is Executor.KERNEL
    want = wanted(how.queries) if some else None
    if static and want is not None:
        closure = WantedClosure(rules, graphs, want, key)
        selection = closure.selection
    else:
        closure, selection = closure_of(rules, graphs, key, changing=changing), None
    found = RulePlan(
        tuple(graphs),
        how,
        rules,
        selection,
        conflicts=tuple(closure.conflicts()),
        derived=closure.inferred.shape[1],
        dropped=tuple(sorted(closure.dropped.items())),
        expressions=expressions,
    )
    if how.executor is Executor.NETWORK:
        return found
    first, *named = _closed(closure, graphs)
    # An empty graph that nobody gave would be one more for queries to read: all would begin anew with the
    # first rule. Where knowledge changes, something may follow from named graphs later.
    given = len(first) or changing or static or len(named) < len(graphs)
    graphs = (first, *named) if given else tuple(named)
    contents = [part for graph in graphs for part in (graph.iri or "", graph.digest)]
    identity = RulesIdentity(
        tuple((rule.name, _digest(rule)) for rule in entailment.rules),
        "" if changing else digest_of(*contents),  # what changes has versions, which are told
    )
    kept = closure if changing else None
    return replace(found, graphs=graphs, reasoning=ElementRules(rules, want), identity=identity, closure=kept)


@contextlib.contextmanager
def in_network(how: Applied) -> Iterator[None]:
    """Where each rule is fine and all together cannot be planned, say what else there is."""
    try:
        yield
    except QueryError as error:
        if how.executor is Executor.NETWORK:
            how = "use --scope element, or drop the rule (`# drop: NAME` in a file of your own)"
            error.hint = f"{how}; else {error.hint}" if error.hint else how
        raise


def rule_findings(entailment: RuleConfig) -> Iterator[tuple[Statement | None, Finding]]:
    """What looks wrong about the rules of a run."""
    for rule in entailment.rules:
        yield from findings(rule)
    if left_out := [rule.name for rule in entailment.left_out]:
        finding = Finding(
            "rule-left-out",
            f"over streams {in_words(left_out)} would make new terms without end, and"
            f" {'is' if len(left_out) == 1 else 'are'} left out",
            hint="--scope element has all rules",
        )
        yield None, finding
    joining = [rule.name for rule in entailment.rules if _joins(rule)]
    if joining and entailment.executor is Executor.NETWORK and entailment.within is None:
        finding = Finding(
            "unbounded-state",
            f"rules over streams remember for ever what they have seen: {in_words(joining, most=_SHOWN)}",
            hint="--within DURATION says how far apart premises may be; --scope element needs no memory",
        )
        yield None, finding


def _joins(rule: Rule) -> bool:
    """Whether a rule has more than one premise, which may then come from different elements."""
    patterns = [each.insert.pattern for each in rule.inserts] + [each.query.pattern for each in rule.checks]
    return any(sum(len(node.leaves) for node in nodes(pattern)) > 1 for pattern in patterns)


def _digest(rule: Rule) -> str:
    """The same for rules that say the same; comments and layout do not count."""
    return digest_of(
        *(to_sexpr(each.insert) for each in rule.inserts), *(to_sexpr(each.query) for each in rule.checks)
    )


# --- knowledge that changes ----------------------------------------------------------------


class ClosedFiles:
    """Files of static knowledge that are followed (`GraphFiles`), and their graphs as rules close them.

    The closure is maintained: what has come is added to it, and what has gone is taken away.
    """

    def __init__(self, files: GraphFiles, entailed: RulePlan, strict: bool = False) -> None:
        self.files = files
        self.rules = entailed.rules
        self.expressions = entailed.expressions
        self.strict = strict
        self.report: Callable[[PenstockError], None] = lambda problem: None
        self._closure = entailed.closure
        self._known = tuple(files.graphs)  # what the closure is of

    @property
    def watched(self) -> bool:
        return self.files.watched

    def news(self, report: Callable[[PenstockError], None]) -> bool:
        self.report = report
        return self.files.news(report)

    @property
    def graphs(self) -> Sequence[StaticGraph]:
        """The graphs as they are now, closed; contradictions are reported, with `strict` refused."""
        if self._closure is None:
            return [*self.files.graphs, *self.expressions]
        key = self._closure.key
        before, now = (
            [*(graph.keyed(key) for graph in some), *self.expressions]
            for some in (self._known, self.files.graphs)
        )
        try:
            _brought_up(self._closure, before, now)
        except PenstockError:  # somewhere on the way: a rule invents without end
            self._closure = closure_of(self.rules, before, key, changing=True)
            raise
        conflicts = self._closure.conflicts()
        if conflicts:
            problem = _inconsistent(conflicts, self.rules)
            if self.strict:
                _brought_up(self._closure, now, before)
                problem.hint = "the change is not taken in; correct it"
                raise problem
            self.report(problem)
        self._known = tuple(self.files.graphs)
        return _closed(self._closure, now)


def _brought_up(closure: Closure, before: Sequence[StaticGraph], now: Sequence[StaticGraph]) -> None:
    """Makes a closure of some graphs one of others, by what is different."""
    names = dict.fromkeys(graph.iri for graph in (*before, *now))
    for name in names:
        gone, come = ([graph for graph in some if graph.iri == name] for some in (before, now))
        closure.remove(triples_without(gone, come), name)
    for name in names:
        gone, come = ([graph for graph in some if graph.iri == name] for some in (before, now))
        for graph in come:
            triples = triples_without([graph], gone)
            terms = graph.terms.subset(triples.reshape(-1))
            if name is None:
                closure.add(triples, terms)
            else:
                closure.add_named(name, triples, terms)


# --- what is told of it --------------------------------------------------------------------

_SHOWN = 10


def _inconsistent(conflicts: Sequence[Conflict], rules: Sequence[Rule]) -> InputError:
    first, *others = conflicts
    more = f"\nand {len(others):,} more contradictions" if others else ""
    return InputError(f"the static knowledge is inconsistent: {conflict_text(first, rules)}{more}")


def refuse_conflicts(entailed: RulePlan) -> None:
    """With --strict, contradictory static knowledge does not run."""
    if entailed.conflicts:
        problem = _inconsistent(entailed.conflicts, entailed.rules)
        problem.hint = "correct it, drop the rule, or leave out --strict"
        raise problem


def refuse_inconsistent(records: Sequence[Mapping[str, Any]]) -> None:
    """With --strict, a run stops at the first element that contradicts what is known."""
    for record in records:
        said = record["triples"] or [f"?{name} = {text}" for name, text in record["bindings"].items()]
        who = f"the element {record['graph'] or ''} of {record['source']}" if record["source"] else "what"
        raise InputError(
            f"{who} that ended at {record['end']} is inconsistent:"
            + "\n    ".join([f" {record['rule']}: {record['meaning']}", *said]),
            hint="correct it, drop the rule, or leave out --strict: then it goes to the --inconsistent file",
        )


def conflict_findings(entailed: RulePlan) -> list[Finding]:
    """The contradictions in static knowledge, as warnings."""
    rules = entailed.rules
    found = [
        Finding("inconsistent", f"the static knowledge is inconsistent: {conflict_text(conflict, rules)}")
        for conflict in entailed.conflicts[:_SHOWN]
    ]
    more = len(entailed.conflicts) - _SHOWN
    if more > 0:
        found.append(Finding("inconsistent", f"the static knowledge has {more:,} more contradictions"))
    return found

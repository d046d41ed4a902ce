"""The query forms: from the solutions of a pattern to timed answers (SPARQL 18.5, 16)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from oracle.evaluate import Effort, Scope, at_instants, ended_by, evaluate_pattern
from oracle.model import Occurrence, Solution, TimedDataset, solution
from oracle.reading import chosen, default_graph, instants_of
from penstock.algebra import (
    BGP,
    Ask,
    Construct,
    Describe,
    Query,
    Select,
    TriplePattern,
    Var,
)
from penstock.functions.chance import rule_name, solution_seed, template_blank
from penstock.terms import XSD, BlankNode, Literal, NamedNode, Term

SUBJECT, PREDICATE, OBJECT = "subject", "predicate", "object"
ANSWER = "answer"


@dataclass(frozen=True)
class Answers:
    """What a query answers: the columns, and a multiset of timed rows.

    SELECT has its variables; CONSTRUCT and DESCRIBE have subject, predicate and object, each
    ⟨triple, t, t′⟩ once; ASK has one boolean column.
    """

    columns: tuple[str, ...]
    rows: tuple[Solution, ...]

    def counted(self) -> Counter:
        return Counter(self.rows)


def evaluate_query(
    query: Query,
    dataset: TimedDataset,
    *,
    now: int = 0,
    base: str | None = None,
    effort: Effort | None = None,
) -> Answers:
    """The answers of one query; rules have already added their triples to the dataset."""
    dataset = chosen(dataset, query.dataset)
    active = default_graph(dataset)
    instants = tuple(instants_of(query, dataset))
    scope = Scope(dataset, active, instants, now, base, effort or Effort())
    return evaluate_form(query, scope)


def evaluate_form(query: Query, scope: Scope) -> Answers:
    """The answers of a query in a scope."""
    return _FORMS[type(query)](query, scope)


def select(query: Select, scope: Scope) -> Answers:
    """The solutions of the pattern, which has the projection and the modifiers in it."""
    names = tuple(var.name for var in query.vars)
    return Answers(names, tuple(evaluate_pattern(query.pattern, scope)))


def construct(query: Construct, scope: Scope) -> Answers:
    """σ(P_q) of section 4.2: the template's triples, with the solution's interval; a set.

    A triple with an unbound variable, a literal subject or a predicate that is no IRI is
    left out. Blank nodes of the template are fresh for each ⟨μ, t, t′⟩.
    """
    rows = {
        solution({SUBJECT: s, PREDICATE: p, OBJECT: o}, one.start, one.end)
        for one in evaluate_pattern(query.pattern, scope)
        for s, p, o in instantiated(query, one)
    }
    return Answers((SUBJECT, PREDICATE, OBJECT), tuple(rows))


def instantiated(query: Construct, one: Solution) -> list[tuple[Term, Term, Term]]:
    """The valid triples of the template for one solution."""
    triples = []
    for triple in query.template:
        s, p, o = (_instance(query, part, one) for part in triple)
        if isinstance(s, (NamedNode, BlankNode)) and isinstance(p, NamedNode) and o is not None:
            triples.append((s, p, o))
    return triples


def _instance(query: Construct, part, one: Solution) -> Term | None:
    if isinstance(part, Var):
        return one.value(part.name)
    if isinstance(part, BlankNode):
        return fresh_blank_node(query, part.value, one)
    return part


def fresh_blank_node(query: Construct, label: str, one: Solution) -> BlankNode:
    """The blank node that stands for a template's label in ⟨rule, μ, t, t′⟩: always the same."""
    seed = solution_seed(one.mu, one.start, one.end)
    return template_blank(rule_name(query), label, seed)


def ask(query: Ask, scope: Scope) -> Answers:
    """At each instant t: is there a solution that ends at t, or a timeless one?"""
    found = evaluate_pattern(query.pattern, scope)
    if not scope.reads_a_stream(query.pattern):
        return Answers((ANSWER,), (solution({ANSWER: _boolean(bool(found))}),))
    return Answers(
        (ANSWER,),
        tuple(
            solution({ANSWER: _boolean(any(s.timeless or s.end == t for s in found))}, t, t)
            for t in scope.instants
        ),
    )


def _boolean(value: bool) -> Literal:
    return Literal("true" if value else "false", datatype=XSD.boolean)


def describe(query: Describe, scope: Scope) -> Answers:
    """The triples of the default graph about the resource that ended not later; a set.

    They take the solution's interval, as those of CONSTRUCT do. The description reads the
    default graph: if that has a stream, a timeless solution stands for one at each instant.
    """
    about = BGP((TriplePattern(Var("s"), Var("p"), Var("o")),))
    found = at_instants(evaluate_pattern(query.pattern, scope), scope, about)
    rows = set()
    for one in found:
        resources = {_resource(subject, one) for subject in query.subjects}
        for occurrence in (o for source in scope.active for o in source.occurrences):
            ended = ended_by(Solution(start=occurrence.start, end=occurrence.end), one)
            if occurrence.subject in resources and ended:
                s, p, o = occurrence.triple
                rows.add(solution({SUBJECT: s, PREDICATE: p, OBJECT: o}, one.start, one.end))
    return Answers((SUBJECT, PREDICATE, OBJECT), tuple(rows))


def _resource(subject, one: Solution) -> Term | None:
    return one.value(subject.name) if isinstance(subject, Var) else subject


def occurrences_of(answers: Answers) -> frozenset[Occurrence]:
    """The answers of a CONSTRUCT as the occurrences that enter the stream."""
    return frozenset(
        Occurrence(*(row.value(name) for name in (SUBJECT, PREDICATE, OBJECT)), row.start, row.end)
        for row in answers.rows
    )


_FORMS = {Select: select, Construct: construct, Ask: ask, Describe: describe}

"""The query forms: from the solutions of a pattern to timed answers (SPARQL 18.5, 16)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from oracle.evaluate import Effort, Scope, at_instants, ended_by, evaluate_pattern
from oracle.model import (
    ActiveGraph,
    Occurrence,
    Solution,
    Source,
    Stream,
    TimedDataset,
    solution,
    stream_of,
)
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
from penstock.algebra.scopes import ELEMENT
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
    sources = (*dataset.default, *(source for graph in dataset.named.values() for source in graph))
    last = max((instant for each in sources if each.is_stream for instant in each.instants), default=None)
    dataset = chosen(dataset, query.dataset)
    if query.scope == ELEMENT:
        return evaluate_in_elements(query, dataset, now, base, effort or Effort())
    return _evaluate(query, dataset, now, base, effort or Effort(), last=last)


def _evaluate(
    query: Query,
    dataset: TimedDataset,
    now: int,
    base: str | None,
    effort: Effort,
    element: tuple[int, int] | None = None,
    last: int | None = None,
) -> Answers:
    active = default_graph(dataset)
    instants = tuple(instants_of(query, dataset))
    return evaluate_form(query, Scope(dataset, active, instants, now, base, effort, element, last))


def evaluate_in_elements(
    query: Query, dataset: TimedDataset, now: int, base: str | None, effort: Effort
) -> Answers:
    """Event mode (decision 0008): for each element that has a triple, the query over a stream of just
    this element, and the static graphs. Answers with an interval are the element's, and have its interval;
    those without one follow from static knowledge alone, and are given once.
    """
    dataset = replace(dataset, derived=())
    without = _evaluate(query, _with_one(dataset, None, None), now, base, effort)
    rows = [row for row in without.rows if row.timeless]
    sources = (*dataset.default, *(source for graph in dataset.named.values() for source in graph))
    streams = {id(source): source for source in sources if source.is_stream}.values()
    for stream in streams:
        for element in stream.elements or ():
            triples, start, end = element
            if triples:
                alone = _with_one(dataset, stream, element)
                found = _evaluate(query, alone, now, base, effort, (start, end)).rows
                rows += [replace(row, start=start, end=end) for row in found if not row.timeless]
    return Answers(without.columns, tuple(rows))


def _with_one(dataset: TimedDataset, stream: Stream | None, element) -> TimedDataset:
    """The dataset with one element of one stream only. A graph is a set: of the triples that
    a static graph of the same graph has, too, the element adds nothing.
    """

    def reduced(graph: ActiveGraph) -> ActiveGraph:
        known = {o.triple for source in graph if not source.is_stream for o in source.occurrences}

        def one(source: Source) -> Source:
            if source is not stream:
                return stream_of(()) if source.is_stream else source
            triples, start, end = element
            new = frozenset(Occurrence(*triple, start, end) for triple in triples - known)
            return Stream(new, frozenset((end,)), (element,))

        return tuple(map(one, graph))

    return TimedDataset(reduced(dataset.default), {name: reduced(g) for name, g in dataset.named.items()})


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
    left out. Blank nodes of the template are fresh for each ⟨μ, t, t′⟩. Of equal triples that a window has
    cut, the one that began first is kept.
    """
    found = sorted(evaluate_pattern(query.pattern, scope), key=lambda one: one.uncut or 0)
    rows = [
        replace(solution({SUBJECT: s, PREDICATE: p, OBJECT: o}, one.start, one.end), began=one.began)
        for one in found
        for s, p, o in instantiated(query, one)
    ]
    return Answers((SUBJECT, PREDICATE, OBJECT), tuple(dict.fromkeys(rows)))


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
    seed = solution_seed(one.mu, one.uncut, one.end)
    return template_blank(rule_name(query), label, seed)


def ask(query: Ask, scope: Scope) -> Answers:
    """At each instant t: is there a solution that ends at t, or a timeless one?"""
    found = evaluate_pattern(query.pattern, scope)
    if not scope.reads_a_stream(query.pattern):
        return Answers((ANSWER,), (solution({ANSWER: _boolean(bool(found))}),))
    return Answers(
        (ANSWER,),
        tuple(
            solution({ANSWER: _boolean(any(s.timeless or s.end == t for s in found))}, *scope.span(t))
            for t in scope.instants
        ),
    )


def _boolean(value: bool) -> Literal:
    return Literal("true" if value else "false", datatype=XSD.boolean)


def describe(query: Describe, scope: Scope) -> Answers:
    """The triples of the default graph about the resource that ended not later; a set.

    They take the solution's interval, as those of CONSTRUCT do, and of equal ones that a window has cut the
    one that began first is kept. The description reads the
    default graph: if that has a stream, a timeless solution stands for one at each instant.
    """
    about = BGP((TriplePattern(Var("s"), Var("p"), Var("o")),))
    found = at_instants(evaluate_pattern(query.pattern, scope), scope, about)
    rows = []
    for one in sorted(found, key=lambda one: one.uncut or 0):
        resources = {_resource(subject, one) for subject in query.subjects}
        for occurrence in (o for source in scope.active for o in source.occurrences):
            ended = ended_by(Solution(start=occurrence.start, end=occurrence.end), one)
            if occurrence.subject in resources and ended:
                s, p, o = occurrence.triple
                row = solution({SUBJECT: s, PREDICATE: p, OBJECT: o}, one.start, one.end)
                rows.append(replace(row, began=one.began))
    return Answers((SUBJECT, PREDICATE, OBJECT), tuple(dict.fromkeys(rows)))


def _resource(subject, one: Solution) -> Term | None:
    return one.value(subject.name) if isinstance(subject, Var) else subject


def occurrences_of(answers: Answers) -> frozenset[Occurrence]:
    """The answers of a CONSTRUCT as the occurrences that enter the stream."""
    return frozenset(
        Occurrence(*(row.value(name) for name in (SUBJECT, PREDICATE, OBJECT)), row.start, row.end)
        for row in answers.rows
    )


_FORMS = {Select: select, Construct: construct, Ask: ask, Describe: describe}

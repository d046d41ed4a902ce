"""Contradictions in words: which rule found them, what that means, and what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.algebra import nodes as a
from penstock.algebra.printing import to_sexpr
from penstock.errors import shortened
from penstock.reason.classes import Classes
from penstock.reason.clauses import Clause
from penstock.reason.equality import depends
from penstock.reason.evaluation import RuleEvaluation
from penstock.rules.rule import Rule
from penstock.terms import RDF, Term


@dataclass(frozen=True)
class Conflict:
    """A contradiction: the rule that found it, what that means, and the terms that it is about."""

    rule: str
    meaning: str
    bindings: tuple[tuple[str, Term], ...]


def conflicts_in(evaluation: RuleEvaluation, meanings: dict[str, str]) -> list[tuple[int, Conflict]]:
    """What checks have found, with the element that it is about."""
    found: dict[tuple[int, Conflict], None] = {}
    for clause, _, columns in evaluation.reported:
        if clause.rule not in meanings:
            continue
        if evaluation.classes:
            columns = _expanded(clause, columns, evaluation.classes)
        for element, *ids in np.unique(columns, axis=1).T.tolist():
            terms = (
                (var.name, evaluation.terms.term(id_))
                for var, id_ in zip(clause.shown, ids, strict=True)
                if id_
            )
            found.setdefault((element, Conflict(clause.rule, meanings[clause.rule], tuple(terms))))
    return list(found)


def _expanded(clause: Clause, columns: np.ndarray, classes: Classes) -> np.ndarray:
    """What is shown of a check's solutions, for everything that a solution stands for."""
    predicates = {atom.predicate for atom in clause.body}
    open_ = set(clause.variables()) - depends(clause)
    for place, var in enumerate(clause.shown, 1):
        if var in open_:
            columns[place] = classes.of(columns[place])
    columns = np.unique(columns, axis=1)
    for place, var in enumerate(clause.shown, 1):
        if var in open_:
            places, ids = classes.stands_for(columns[place], iris=var in predicates)
            columns = columns[:, places]
            columns[place] = ids
    return columns


_LONGEST = 600  # characters of a line


def conflict_text(conflict: Conflict, rules: Iterable[Rule] = ()) -> str:
    """A contradiction: its rule, what it means, and below that the triples that contradict each other.

    The triples are those of the rule's pattern; where it does not select the variables of any, the values of
    those that it does.
    """
    head = f"{conflict.rule}: {conflict.meaning}" if conflict.meaning else conflict.rule
    rule = next((rule for rule in rules if rule.name == conflict.rule), None)
    axioms = axioms_of(rule, dict(conflict.bindings)) if rule is not None else []
    if not axioms:
        axioms = [f"?{name} = {term}" for name, term in conflict.bindings]
    return "\n".join([head, *(shortened(f"    {axiom}", _LONGEST) for axiom in axioms)])


def axioms_of(rule: Rule, bindings: Mapping[str, Term | str]) -> list[str]:
    """The triples of a rule's patterns that the bindings (terms, or their texts) make whole."""
    found: dict[str, None] = {}
    for check in rule.checks:
        for triple in _triples(check.query.pattern):
            terms = [bindings.get(term.name) if isinstance(term, a.Var) else term for term in triple]
            if None not in terms:
                subject, predicate, object_ = (
                    term if isinstance(term, str) else to_sexpr(term, prefixes=check.prefixes)
                    for term in terms
                )
                verb = "a" if terms[1] == RDF.type else predicate
                found.setdefault(f"{subject} {verb} {object_}")
    return list(found)


def _triples(pattern: a.Pattern) -> Sequence[a.TriplePattern]:
    """The triples that must all be there: none of alternatives, none of other graphs."""
    if isinstance(pattern, (a.Union_, a.Graph)):
        return ()
    own = tuple(leaf for leaf in pattern.leaves if isinstance(leaf, a.TriplePattern))
    return own + tuple(triple for part in pattern.parts for triple in _triples(part))

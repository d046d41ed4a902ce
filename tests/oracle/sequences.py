"""Sequences of mappings with intervals: the operators of paper 001, section 4.2, and repetitions.

Ω is a list of timed solutions: a bag whose different members are the set that the paper speaks of. Names
of end points are the paper's: ω₁ has [t₁, t₂], ω₂ [t₃, t₄], in SEQ_WO ω₃ has [t₅, t₆]. A timeless
solution (static knowledge, in EP-SPARQL) holds at every instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from oracle.evaluate import OPERATORS, Scope, before, evaluate_pattern, in_common, in_order, value_of
from oracle.expressions import aggregated
from oracle.model import Solution, combine, compatible, hull, uncut_hull
from oracle.window_model import EventSequence, Member, checked

Omega = list[Solution]
Evaluation = Callable[[Member], Omega]
"""[[P, t]] or [[W, t]] of a member."""


def join(one: Omega, other: Omega) -> Omega:
    """JOIN(Ω₁, Ω₂): compatible ones, with the intersection of their intervals, if there is one."""
    both = [in_common(a, b) for a in one for b in other if compatible(a, b)]
    return [each for each in both if each is not None]


def either(one: Omega, other: Omega) -> Omega:
    """OR(Ω₁, Ω₂)."""
    return one + other


def followed(one: Solution, other: Solution) -> Solution:
    """⟨μ₁ ∪ μ₂, [t₁, t₄]⟩; without cutting, too, it begins where the first one does."""
    both = combine(one, other)
    return both if one.timeless else replace(both, began=one.began)


def seq(one: Omega, other: Omega) -> Omega:
    """SEQ(Ω₁, Ω₂): ⟨μ₁ ∪ μ₂, [t₁, t₄]⟩ for compatible ones with t₂ < t₃."""
    return [followed(a, b) for a in one for b in other if compatible(a, b) and before(a, b)]


def within(inner: Solution, left: Solution, right: Solution) -> bool:
    """[t₃, t₄] ⊆ [t₂, t₅]: between the end of the one and the start of the other, the instants included."""
    return (inner.timeless or left.timeless or left.end <= inner.start) and (
        inner.timeless or right.timeless or inner.end <= right.start
    )


def seq_wo(one: Omega, absent: Omega, other: Omega) -> Omega:
    """SEQ_WO(Ω₁, Ω₂, Ω₃): SEQ(Ω₁, Ω₃) without an ω₂ compatible with μ₁ ∪ μ₃ and [t₃, t₄] ⊆ [t₂, t₅]."""
    return [
        followed(a, c)
        for a in one
        for c in other
        if compatible(a, c)
        and before(a, c)
        and not any(compatible(b, combine(a, c)) and within(b, a, c) for b in absent)
    ]


def no_head(absent: Omega, other: Omega) -> Omega:
    """NO_HEAD(Ω₁, Ω₂): those ω₂ without a compatible ω₁ with t₂ < t₃."""
    return [b for b in other if not any(compatible(a, b) and before(a, b) for a in absent)]


def no_tail(one: Omega, absent: Omega, instant: int | None) -> Omega:
    """NO_TAIL(Ω₁, Ω₂, t): those ω₁ without a compatible ω₂ with t₂ < t₃ and t₄ ≤ t."""

    def follows(a: Solution, b: Solution) -> bool:
        in_time = b.timeless or instant is None or b.end <= instant
        return compatible(a, b) and before(a, b) and in_time

    return [a for a in one if not any(follows(a, b) for b in absent)]


# --- equations (3)–(8) and (10)–(15) --------------------------------------------------------


def sequence(members: tuple[Member, ...], evaluation: Evaluation, instant: int | None) -> Omega:
    """[[SEQ(…), t]] by the paper's equations; they know no repetition."""
    negated = [place for place, each in enumerate(members) if each.negated]
    if not negated:  # (3), (4); (10), (11)
        first, *rest = members
        return (
            seq(evaluation(first), sequence(tuple(rest), evaluation, instant)) if rest else evaluation(first)
        )
    (place,) = negated
    left, right = members[:place], members[place + 1 :]
    absent = evaluation(members[place])
    if not left:  # (6), (13)
        return no_head(absent, sequence(right, evaluation, instant))
    if not right:  # (7), (14); t is the instant of the evaluation, as in Example 8
        return no_tail(sequence(left, evaluation, instant), absent, instant)
    return seq_wo(
        sequence(left, evaluation, instant), absent, sequence(right, evaluation, instant)
    )  # (5), (8); (12), (15)


# --- repetitions ------------------------------------------------------------------------------


def run_between(candidates: Omega, chosen: Solution, left: Solution | None, right: Solution | None) -> Omega:
    """The maximal run: all candidates compatible with what was chosen, after `left` and before `right`."""
    members = [
        each
        for each in candidates
        if compatible(each, chosen)
        and (left is None or before(left, each))
        and (right is None or before(each, right))
    ]
    return in_repetition(members)


def in_repetition(members: Iterable[Solution]) -> Omega:
    """The members of a repetition as a list: by start, end, and terms by their variables' names."""
    by_terms = in_order([replace(each, order=()) for each in members])
    return sorted(by_terms, key=lambda s: (-1, 0, 0) if s.timeless else (0, s.start, s.end))


def chains(single: list[Omega]) -> list[tuple[Solution, ...]]:
    """Every choice of a solution for each, all compatible, each ending before the next one starts."""
    found: list[tuple[Solution, ...]] = [()]
    for solutions in single:
        found = [
            (*chain, each)
            for chain in found
            for each in solutions
            if all(compatible(one, each) for one in chain)
            and (not chain or before(reduce(combine, chain), each))
        ]
    return found


def repeated_sequence(
    members: tuple[Member, ...],
    evaluation: Evaluation,
    instant: int | None,
    value: Callable,
) -> Omega:
    """SEQ with repetitions: for every choice of the single members the maximal run of each repeated one."""
    positive = [each for each in members if not each.negated]
    omegas = [evaluation(each) for each in members]
    of_positive = [omega for each, omega in zip(members, omegas, strict=True) if not each.negated]
    singles = [place for place, each in enumerate(positive) if not each.repeated]
    result = []
    for chain in chains([of_positive[place] for place in singles]):
        at = dict(zip(singles, chain, strict=True))
        runs = [place for place in range(len(positive)) if place not in at]
        beside = [at[place + side] for place in runs for side in (-1, 1) if place + side in at]
        if any(each.timeless for each in beside):
            continue  # what has no time begins and ends no repetition
        chosen = reduce(combine, chain)
        parts = [
            [at[place]]
            if place in at
            else run_between(of_positive[place], chosen, at.get(place - 1), at.get(place + 1))
            for place in range(len(positive))
        ]
        if not all(parts) or _is_excluded(members, omegas, parts, chosen, instant):
            continue
        computed = {
            var.name: of_run(aggregate, run, value)
            for member, run in zip(positive, parts, strict=True)
            for var, aggregate in member.aggregates
        }
        mu = chosen.mu | {(name, term) for name, term in computed.items() if term is not None}
        flat = [each for part in parts for each in part]
        start, end = hull((each.start, each.end) for each in flat)
        result.append(Solution(mu, start, end, began=uncut_hull(flat)))
    return result


def _is_excluded(
    members: tuple[Member, ...],
    omegas: list[Omega],
    parts: list[Omega],
    chosen: Solution,
    instant: int | None,
) -> bool:
    """Whether a solution of the negated member lies where none may."""
    for place, member in enumerate(members):
        if member.negated:
            before_it = [each for part in parts[:place] for each in part]
            after_it = [each for part in parts[place:] for each in part]
            left = Solution(chosen.mu, *hull((s.start, s.end) for s in before_it))
            right = Solution(chosen.mu, *hull((s.start, s.end) for s in after_it))
            if not before_it:
                return not no_head(omegas[place], [right])
            if not after_it:
                return not no_tail([left], omegas[place], instant)
            return not seq_wo([left], omegas[place], [right])
    return False


def of_run(aggregate, run: Omega, value: Callable):
    """An aggregate over a repetition; FIRST and LAST take the value of the first and the last member."""
    if aggregate.name in ("FIRST", "LAST"):
        return value(aggregate.argument, run[0 if aggregate.name == "FIRST" else -1])
    if aggregate.argument is None and aggregate.distinct:
        run = [Solution(each.mu) for each in run]  # different members differ in what they bind
    return aggregated(aggregate, run, value)


def event_sequence(node: EventSequence, scope: Scope) -> Omega:
    """[[SEQ(…), t]] in a scope; outside of windows (EP-SPARQL) there is no t."""
    members = checked(node).members
    instant = getattr(scope, "instant", None)

    def evaluation(member: Member) -> Omega:
        return evaluate_pattern(member.pattern, scope)

    if not any(each.repeated for each in members):
        return sequence(members, evaluation, instant)
    return repeated_sequence(members, evaluation, instant, lambda e, one: value_of(e, one, scope))


OPERATORS[EventSequence] = event_sequence

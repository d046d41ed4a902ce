"""Members of sequences: what is negated, what is repeated, aggregates over repetitions (decision 0013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.facts import placed
from penstock.algebra.sequences import sequence_problem
from penstock.errors import Span
from penstock.languages.queries import SparqlTranslator
from penstock.languages.text import tokens_of
from penstock.languages.visibility import in_scope

_HINTS = {
    "negated": "the sequence is parted at it, into what comes before and what comes after; what else must "
    "not happen is said by an event clause of its own, or with MINUS or NOT EXISTS",
    "alone": "what does not happen can be before, between or after things that do",
    "repetitions": "a repetition is found from what happens before or after it",
    "adjacent": "put what they have in common into one, or a member that is not repeated between them",
    "both": "a repetition has at least one member: that there is none is !{ … }",
}


@dataclass(frozen=True)
class Written:
    """A member, where it stands, and its tree."""

    member: a.Member
    place: Span
    tree: Tree | Token


class SequenceTranslator(SparqlTranslator):
    """Sequences of members, for the languages that have them."""

    def statement(self, tree: Tree, **about) -> a.Statement:
        self._whole = tree
        return super().statement(tree, **about)

    def repetition(self, tree: Tree, pattern: a.Pattern) -> a.Member:
        """`{ … }+ (AVG(?v) AS ?mean)`; `pattern` is what its braces say."""
        aggregates: dict[a.Var, a.Aggregate] = {}
        for value in tree.children[2:]:
            node, token = value.children
            var = self.var(token)
            if var in aggregates or var in in_scope(pattern):
                raise self.source.error(
                    f"the aggregate is called {var}, and {var} is in use already",
                    token,
                    "choose a new name after AS",
                )
            for used in tokens_of(node):
                if used.type == "VAR" and self.var(used) not in in_scope(pattern):
                    raise self.source.error(
                        f"{used} is not in the repetition, and this is about its members",
                        used,
                        "aggregate a variable of the group before `+`; what stands beside the repetition is "
                        "combined with the result, in FILTER, BIND or SELECT",
                    )
            aggregates[var] = self.aggregate(node)
        return a.Member(pattern, repeated=True, aggregates=tuple(aggregates.items()))

    def event_sequence(self, written: Sequence[Written], place: Span) -> a.EventSequence:
        """The sequence of these members, if it has a meaning."""
        members = tuple(each.member for each in written)
        self._check_members(written, members)
        self._check_aggregates(written)
        for each in written:
            if each.member.repeated:
                self._own_variables(each, members)
        return placed(a.EventSequence(members), place)

    def _check_members(self, written: Sequence[Written], members: tuple[a.Member, ...]) -> None:
        problem = sequence_problem(members)
        if problem is None:
            return
        negated = [each for each in written if each.member.negated]
        positive = [each for each in written if not each.member.negated]
        if len(negated) > 1:
            place, hint = negated[1].place, _HINTS["negated"]
        elif any(each.member.repeated for each in negated):
            place, hint = negated[0].place, _HINTS["both"]
        elif not positive or all(each.member.repeated for each in positive):
            place, hint = written[0].place, _HINTS["alone" if not positive else "repetitions"]
        else:
            place, hint = _second_of_two(positive), _HINTS["adjacent"]
        raise self.source.error(problem, place, hint)

    def _check_aggregates(self, written: Sequence[Written]) -> None:
        """Each name of an aggregate is new in the sequence."""
        others = (each.member.pattern for each in written if not each.member.repeated)
        taken = {var for pattern in others for var in in_scope(pattern)}
        for each in written:
            for value in each.tree.children[2:] if each.member.aggregates else ():
                var = self.var(value.children[1])
                if var in taken:
                    raise self.source.error(
                        f"the aggregate is called {var}, and {var} is in use already",
                        value.children[1],
                        "choose a new name after AS",
                    )
                taken.add(var)

    def _own_variables(self, repeated: Written, members: tuple[a.Member, ...]) -> None:
        """Refuse that what only a repetition has is used outside of it."""
        singles = {var for each in members if each.single for var in in_scope(each.pattern)}
        own = {var for var in in_scope(repeated.member.pattern) if not var.hidden} - singles
        inside = {id(token) for token in tokens_of(repeated.tree)}
        for token in tokens_of(self._whole):
            if token.type == "VAR" and id(token) not in inside and self.var(token) in own:
                raise self.source.error(
                    f"{token} is in a repetition only, where it has many values",
                    token,
                    f"say at the repetition what is made of them, as in {{ … }}+ (MAX({token}) AS ?largest)",
                )


def _second_of_two(positive: Sequence[Written]) -> Span:
    for one, other in zip(positive, positive[1:], strict=False):
        if one.member.repeated and other.member.repeated:
            return other.place
    raise AssertionError("no two repetitions side by side")

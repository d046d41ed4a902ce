"""EP-SPARQL: what it adds to the translation of SPARQL (paper section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.facts import placed
from penstock.algebra.relations import ALLEN, EQUALS, SEQ, Relation, Side
from penstock.errors import InputError
from penstock.languages.groups import GroupParts, with_filter
from penstock.languages.queries import SparqlTranslator
from penstock.languages.registrations import RegistrationTranslator
from penstock.languages.sequences import SequenceTranslator, Written
from penstock.terms import XSD
from penstock.timeline import LONGEST, exact_duration

Operator = Callable[[GroupParts, GroupParts], a.Pattern]


def joining(relation: Relation) -> Operator:
    """An operator that joins groups whose solutions are in this relation."""

    def join(left: GroupParts, right: GroupParts) -> a.Pattern:
        return a.Join(with_filter(*left), with_filter(*right), relation)

    return join


def optionalseq(left: GroupParts, right: GroupParts) -> a.Pattern:
    """The left group is optional: its own filters are the condition."""
    pattern, condition = left
    return a.OuterJoin(pattern, with_filter(*right), SEQ, Side.LEFT, condition)


def equalsoptional(left: GroupParts, right: GroupParts) -> a.Pattern:
    """The right group is optional: its own filters are the condition."""
    pattern, condition = right
    return a.OuterJoin(with_filter(*left), pattern, EQUALS, condition=condition)


def following(left: GroupParts, right: GroupParts) -> a.Pattern:
    """The left group with the first of the right one that follows it."""
    return a.Next(with_filter(*left), with_filter(*right))


_OPERANDS = ("group_graph_pattern", "repetition", "deadline")
_DEADLINE = 'write { … } UNLESS { … } WITHIN "PT15M"^^xsd:duration'
_BETWEEN = "it stands between two groups that are not repeated: { … } SEQ { … }+ SEQ { … }"


class EpSparqlTranslator(SequenceTranslator, RegistrationTranslator):
    """SPARQL with temporal operators between groups."""

    INFIX = SparqlTranslator.INFIX | {
        **{relation.name: joining(relation) for relation in (SEQ, EQUALS, *ALLEN)},
        "OPTIONALSEQ": optionalseq,
        "EQUALSOPTIONAL": equalsoptional,
        "NEXT": following,
    }

    def statement(self, tree: Tree, **about) -> a.Statement:
        said = self.registration(tree)
        parsed = super().statement(said.query, **(about | said.about))
        return self.registered(parsed, said.stream) if said.stream is not None else parsed

    def infix_chain(self, children: list[Tree | Token]) -> a.Pattern:
        if _repeated(children[0]):
            raise self._not_between(children[0])
        for operator, group in zip([None, *children[1::2]], children[::2], strict=True):
            if group.data == "deadline" and (operator is None or operator.type != "UNLESS"):
                raise self.source.error("WITHIN says until when UNLESS waits", group.children[1], _DEADLINE)
        return super().infix_chain(children)

    def combined(self, parts: GroupParts, operators: Sequence[Token], groups: Sequence[Tree]) -> GroupParts:
        """SEQs with a repetition among what they combine are one sequence (decision 0013)."""
        if operators[0].type == "UNLESS":
            for operator, group in zip(operators, groups, strict=True):
                unless = self._unless(with_filter(*parts), operator, group)
                parts = placed(unless, self.source.span_of(operator)), None
            return parts
        repeated = [group for group in groups if _repeated(group)]
        if not repeated:
            return super().combined(parts, operators, groups)
        if operators[0].type != "SEQ":
            raise self._not_between(repeated[0])
        if _repeated(groups[-1]):
            raise self._not_between(groups[-1])
        first = self.source.span_of(operators[0])
        written = [Written(a.Member(with_filter(*parts)), first, operators[0])]
        for group in groups:
            inner = group.children[0] if _repeated(group) else group
            pattern = with_filter(*self.group_parts(inner))
            member = self.repetition(group, pattern) if _repeated(group) else a.Member(pattern)
            place = self.source.span(group.meta.start_pos, group.meta.end_pos)
            written.append(Written(member, place, group))
        return self.event_sequence(written, first), None

    def _unless(self, required: a.Pattern, operator: Token, group: Tree) -> a.Pattern:
        if group.data != "deadline":
            raise self.source.error("UNLESS does not say until when: WITHIN is missing", operator, _DEADLINE)
        absent, _, length = group.children
        literal = self.constant(length)
        if literal.datatype not in (XSD.duration, XSD.dayTimeDuration, XSD.string):
            raise self.source.error("a length of time is an xsd:duration", length, _DEADLINE)
        try:
            within = exact_duration(literal.value)
        except InputError as problem:
            raise self.source.error(problem.message, length, problem.hint) from None
        if within <= 0 or within.denominator != 1 or within >= LONGEST:
            raise self.source.error(
                "UNLESS waits some time: whole microseconds, and less than 9,999 years", length, _DEADLINE
            )
        return a.Unless(required, self.group(absent), int(within))

    def _not_between(self, tree: Tree):
        plus = tree.children[1]
        return self.source.error("nothing says where this repetition begins or ends", plus, _BETWEEN)

    def where_pattern(self, tree: Tree) -> a.Pattern:
        """Without outer braces, all that follows WHERE makes one group."""
        if len(tree.children) == 1:
            return super().where_pattern(tree)
        split = next(
            (
                index
                for index, child in enumerate(tree.children)
                if isinstance(child, Tree) and child.data not in _OPERANDS
            ),
            len(tree.children),
        )
        chain = Tree("group_or_union", tree.children[:split])
        with self.aggregating(None):
            return with_filter(*self.elements([chain, *tree.children[split:]]))


def _repeated(tree: Tree) -> bool:
    return tree.data == "repetition"

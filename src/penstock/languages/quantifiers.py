"""How often a member of a sequence happens: `{ … }{3}`, `{ … }{2,5}`, `{ … }{2,}`, `{ … }*` (decision 0013).

A quantifier says how many there are between its neighbours: the repetition of `{ … }+` is the longest, and
this is its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import conjunction
from penstock.errors import Span
from penstock.languages.groups import with_filter
from penstock.languages.leaves import number
from penstock.languages.sequences import SequenceTranslator, Written

_CASES = (
    "write the cases: WINDOW :W { { SEQ({ … }, { … }{1,3}, { … }) } UNION { SEQ({ … }, !{ … }, { … }) } }"
)


@dataclass(frozen=True)
class Quantifier:
    """The least and the largest number of members; None: any."""

    least: int
    most: int | None


class QuantifierTranslator(SequenceTranslator):
    """Sequences whose members may have quantifiers."""

    def quantifier(self, node: Tree | Token) -> Quantifier:
        if isinstance(node, Token):
            return Quantifier(0, None if node.type == "STAR" else 1)
        least, *most = map(int, node.children)
        found = Quantifier(least, least if node.data == "exactly" else most[0] if most else None)
        if found.most is not None and (found.most == 0 or found.most < found.least):
            raise self.source.error(
                "no repetition is as long as this", node, "as in { … }{2,5}; that there is none is !{ … }"
            )
        return found

    def quantified_sequence(
        self, written: Sequence[Written], ranges: Mapping[int, Quantifier], place: Span
    ) -> a.Pattern:
        """The sequence whose repetitions have lengths in these ranges, by the places of members."""
        whole = self.event_sequence(written, place)
        if not ranges:
            return whole
        members: list[Written] = []
        conditions: list[a.Expression] = []
        for at, each in enumerate(written):
            if at in ranges and ranges[at].least == 0:  # it asks for nothing
                self._check_any_number(written, at, ranges[at])
            else:
                members.append(self._counted(each, ranges[at], conditions) if at in ranges else each)
        return with_filter(self.event_sequence(members, place), conjunction(conditions))

    def _check_any_number(self, written: Sequence[Written], at: int, allowed: Quantifier) -> None:
        """Refuse what says more than that there may be any number between two members."""
        beside = written[at - 1 : at + 2 : 2] if at else ()
        if allowed.most is not None:
            problem = f"none, or at most {allowed.most}, is not built"
        elif written[at].member.aggregates:
            problem = "aggregates over a repetition that may have no member are not built"
        elif len(beside) < 2 or not all(each.member.single for each in beside):
            problem = "* stands between two members that are neither negated nor repeated"
        else:
            return
        raise self.source.error(problem, written[at].place, _CASES)

    def _counted(self, written: Written, allowed: Quantifier, conditions: list[a.Expression]) -> Written:
        """The repetition with the number of its members, on which there are conditions."""
        bounds = [(">=", allowed.least)] if allowed.least > 1 else []
        bounds += [("<=", allowed.most)] if allowed.most is not None else []
        if not bounds:
            return written
        count = self.fresh("n")
        conditions += [a.Call(sign, (count, number(str(bound)))) for sign, bound in bounds]
        counted = (*written.member.aggregates, (count, a.Aggregate("COUNT", None)))
        return replace(written, member=replace(written.member, aggregates=counted))

"""EP-SPARQL: what it adds to the translation of SPARQL (paper section 4.2)."""

from __future__ import annotations

from collections.abc import Callable

from lark import Tree

from penstock.algebra import nodes as a
from penstock.algebra.relations import ALLEN, EQUALS, SEQ, Relation, Side
from penstock.languages.groups import GroupParts, with_filter
from penstock.languages.queries import SparqlTranslator

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


class EpSparqlTranslator(SparqlTranslator):
    """SPARQL with temporal operators between groups."""

    INFIX = SparqlTranslator.INFIX | {
        **{relation.name: joining(relation) for relation in (SEQ, EQUALS, *ALLEN)},
        "OPTIONALSEQ": optionalseq,
        "EQUALSOPTIONAL": equalsoptional,
    }

    def where_pattern(self, tree: Tree) -> a.Pattern:
        """Without outer braces, all that follows WHERE makes one group."""
        if len(tree.children) == 1:
            return super().where_pattern(tree)
        split = next(
            (
                index
                for index, child in enumerate(tree.children)
                if isinstance(child, Tree) and child.data != "group_graph_pattern"
            ),
            len(tree.children),
        )
        chain = Tree("group_or_union", tree.children[:split])
        with self.aggregating(None):
            return with_filter(*self.elements([chain, *tree.children[split:]]))

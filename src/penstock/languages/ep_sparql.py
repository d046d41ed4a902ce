"""EP-SPARQL: what it adds to the translation of SPARQL (paper section 4.2)."""

from __future__ import annotations

from lark import Tree

from penstock.algebra import nodes as a
from penstock.languages.groups import GroupParts, with_filter
from penstock.languages.queries import SparqlTranslator


def seq(left: GroupParts, right: GroupParts) -> a.Pattern:
    return a.SeqJoin(with_filter(*left), with_filter(*right))


def equals(left: GroupParts, right: GroupParts) -> a.Pattern:
    return a.EqJoin(with_filter(*left), with_filter(*right))


def optionalseq(left: GroupParts, right: GroupParts) -> a.Pattern:
    """The left group is optional: its own filters are the condition."""
    pattern, condition = left
    return a.SeqRightJoin(pattern, with_filter(*right), condition)


def equalsoptional(left: GroupParts, right: GroupParts) -> a.Pattern:
    """The right group is optional: its own filters are the condition."""
    pattern, condition = right
    return a.EqLeftJoin(with_filter(*left), pattern, condition)


class EpSparqlTranslator(SparqlTranslator):
    """SPARQL with temporal operators between groups."""

    INFIX = SparqlTranslator.INFIX | {
        "SEQ": seq,
        "EQUALS": equals,
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

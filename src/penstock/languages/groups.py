"""Group graph patterns to the algebra (SPARQL 1.1, section 18.2.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from itertools import groupby

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced, conjunction
from penstock.languages.expressions import ExpressionTranslator
from penstock.languages.scope import in_scope
from penstock.languages.triples import UNIT, Block, join

GroupParts = tuple[a.Pattern, a.Expression | None]


def with_filter(pattern: a.Pattern, condition: a.Expression | None) -> a.Pattern:
    return pattern if condition is None else a.Filter(condition, pattern)


def union(left: GroupParts, right: GroupParts) -> a.Pattern:
    return a.Union_(with_filter(*left), with_filter(*right))


class GroupTranslator(ExpressionTranslator):
    """Groups: what stands in them from left to right, their filters at the end."""

    INFIX: dict[str, Callable[[GroupParts, GroupParts], a.Pattern]] = {"UNION": union}

    def group(self, tree: Tree) -> a.Pattern:
        return with_filter(*self.group_parts(tree))

    def group_parts(self, tree: Tree) -> GroupParts:
        """A group without its own filters, and these: OPTIONAL takes them as its condition."""
        with self.aggregating(None):
            if tree.children and tree.children[0].data == "sub_select":
                return self.sub_select(tree.children[0]), None
            return self.elements(tree.children)

    def elements(self, children: list[Tree]) -> GroupParts:
        """The elements of a group. A filter does not end a basic graph pattern."""
        pattern: a.Pattern = UNIT
        block = Block()
        filters: list[a.Expression] = []
        for child in children:
            if child.data == "triples_block":
                self.triples_block(child, block)
            elif child.data == "filter":
                filters.append(self.expression(child.children[0]))
            else:
                pattern = join(pattern, block.pattern())
                block = Block()
                pattern = getattr(self, f"_add_{child.data}")(pattern, child)
        return join(pattern, block.pattern()), conjunction(filters)

    def _add_group_or_union(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return join(before, self.infix_chain(tree.children))

    def _add_optional(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return a.LeftJoin(before, *self.group_parts(tree.children[0]))

    def _add_minus(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return a.Minus(before, self.group(tree.children[0]))

    def _add_graph(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        name, group = tree.children
        return join(before, a.Graph(self.var_or_iri(name), self.group(group)))

    def _add_service(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        raise self.source.error(
            "SERVICE is not supported",
            tree.children[0],
            "load the remote data as a static graph and use GRAPH",
        )

    def _add_bind(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        expression, token = tree.children
        var = self.var(token)
        if var in in_scope(before):
            raise self.source.error(
                f"BIND gives {var} a value, but {var} is already in use before it",
                token,
                "choose a new name for the result, or compare with FILTER",
            )
        return a.Extend(before, var, self.expression(expression))

    def _add_inline_data(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return join(before, self.values(tree))

    def values(self, tree: Tree) -> a.Values:
        """A data block: rows of one variable, or rows in parentheses."""
        head, *rows = tree.children
        tokens = [token for token in head.children if token.type == "VAR"]
        variables = tuple(self.var(token) for token in tokens)
        for index, token in enumerate(tokens):
            if variables[index] in variables[:index]:
                raise self.source.error(f"VALUES names {token} twice", token)
        result = []
        for row in rows:
            cells = [cell for cell in row.children if getattr(cell, "type", None) != "NIL"]
            if len(cells) != len(variables):
                expected = f"{len(variables)} variable{'' if len(variables) == 1 else 's'}"
                found = f"{len(cells)} value{'' if len(cells) == 1 else 's'}"
                raise self.source.error(
                    f"VALUES has {expected}, but this row has {found}",
                    row if row.children else head,
                    "UNDEF stands for a value that is left open",
                )
            result.append(tuple(self._value(cell) for cell in cells))
        return a.Values(variables, tuple(result))

    def _value(self, cell: Tree | Token):
        return None if getattr(cell, "type", None) == "UNDEF" else self.constant(cell)

    # --- infix operators ------------------------------------------------------------------

    def infix_chain(self, children: list[Tree | Token]) -> a.Pattern:
        """`{ … } UNION { … } …`, from left to right."""
        parts = self.group_parts(children[0])
        following = list(zip(children[1::2], children[2::2], strict=True))
        for operator, run in groupby(following, key=lambda pair: pair[0].type):
            groups = [parts, *(self.group_parts(group) for _, group in run)]
            combine = self.INFIX[operator]
            if operator == "UNION":
                parts = balanced(groups, lambda one, other: (union(one, other), None))
            else:
                parts = reduce(lambda one, other: (combine(one, other), None), groups)  # noqa: B023
        return with_filter(*parts)

    @abstractmethod
    def sub_select(self, tree: Tree) -> a.Pattern:
        """A sub-query; queries.py says how."""

"""Group graph patterns to the algebra (SPARQL 1.1, section 18.2.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import groupby

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced, conjunction
from penstock.algebra.facts import placed
from penstock.languages.expressions import ExpressionTranslator
from penstock.languages.triples import UNIT, Block, join
from penstock.languages.visibility import in_scope

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
        return self.beneath(join(pattern, block.pattern())), conjunction(filters)

    def beneath(self, pattern: a.Pattern) -> a.Pattern:
        """The pattern below expressions that were just translated; a language may need more of it."""
        return pattern

    def _add_group_or_union(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return self._joined(before, self.infix_chain(tree.children), tree)

    def _joined(self, before: a.Pattern, pattern: a.Pattern, tree: Tree) -> a.Pattern:
        """The join with what stands before; its place is where the later part begins."""
        node = join(before, pattern)
        if node is not before and node is not pattern:
            start = tree.meta.start_pos
            placed(node, self.source.span(start, start + 1))
        return node

    def _add_optional(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        optional, condition = self.group_parts(tree.children[0])
        return placed(a.OuterJoin(before, optional, condition=condition), self.source.keyword_of(tree))

    def _add_minus(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        return placed(a.Minus(before, self.group(tree.children[0])), self.source.keyword_of(tree))

    def _add_graph(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        name, group = tree.children
        graph = a.Graph(self.var_or_iri(name), self.group(group))
        return self._joined(before, placed(graph, self.source.span_of(name)), tree)

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
        value = self.expression(expression)
        return a.Extend(self.beneath(before), var, value)

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
        for _, run in groupby(following, key=lambda pair: pair[0].type):
            operators, groups = zip(*run, strict=True)
            parts = self.combined(parts, operators, groups)
        return with_filter(*parts)

    def combined(self, parts: GroupParts, operators: Sequence[Token], groups: Sequence[Tree]) -> GroupParts:
        """A run of the same operator: what stands before it, and the groups after each."""
        others = [self.group_parts(group) for group in groups]
        kind = operators[0].type
        if kind == "UNION":
            return balanced([parts, *others], lambda one, other: (union(one, other), None))
        for operator, other in zip(operators, others, strict=True):
            parts = placed(self.INFIX[kind](parts, other), self.source.span_of(operator)), None
        return parts

    @abstractmethod
    def sub_select(self, tree: Tree) -> a.Pattern:
        """A sub-query; queries.py says how."""

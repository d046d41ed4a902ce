"""Expressions to the algebra, and the rules for aggregates in them (sections 11 and 17)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, field

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced
from penstock.algebra.facts import placed
from penstock.languages.leaves import number, string
from penstock.languages.triples import TripleTranslator
from penstock.terms import NamedNode

_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}


@dataclass
class Aggregation:
    """A query level with GROUP BY or aggregates, while its clauses are translated.

    Outside an aggregate, an expression sees the group's keys and the names that SELECT has
    given already. Another variable is refused in SELECT (`strict`) and stands for a SAMPLE in
    HAVING and ORDER BY (18.2.4.1). `named` are names of SELECT that HAVING may use too: where
    the pattern does not bind them, they could only be errors there.
    """

    known: set[a.Var]
    strict: bool = True
    named: dict[a.Var, a.Expression] = field(default_factory=dict)
    aggregates: dict[a.Aggregate, a.Var] = field(default_factory=dict)


class ExpressionTranslator(TripleTranslator, ABC):
    """Expressions; aggregates become the hidden variables that their group binds."""

    def __init__(self, *args, **keywords) -> None:
        super().__init__(*args, **keywords)
        self._aggregation: Aggregation | None = None
        self._inside_aggregate = False

    @contextmanager
    def aggregating(self, aggregation: Aggregation | None):
        """Translate under these aggregation rules (None: aggregates are not allowed)."""
        before = self._aggregation, self._inside_aggregate
        self._aggregation, self._inside_aggregate = aggregation, False
        try:
            yield
        finally:
            self._aggregation, self._inside_aggregate = before

    def expression(self, node: Tree | Token) -> a.Expression:
        if isinstance(node, Token):
            return self._variable(node) if node.type == "VAR" else self.constant(node)
        expression = getattr(self, f"_{node.data}")(node)
        if isinstance(expression, a.Call):
            placed(expression, self.source.span(node.meta.start_pos, node.meta.end_pos))
        return expression

    def _expressions(self, nodes) -> tuple[a.Expression, ...]:
        return tuple(self.expression(node) for node in nodes)

    def _variable(self, token: Token) -> a.Expression:
        var = self.var(token)
        level = self._aggregation
        if level is None or self._inside_aggregate or var in level.known:
            return var
        if level.strict:
            raise self.not_grouped(var, token)
        if var in level.named:
            return level.named[var]
        return self._aggregate_var(a.Aggregate("SAMPLE", var))

    def not_grouped(self, var: a.Var, token: Token):
        """The error for a variable that has no single value in a group."""
        return self.source.error(
            f"{var} is not grouped: it has no single value in a group",
            token,
            f"add {var} to GROUP BY, or aggregate it, as in (SAMPLE({var}) AS {var}_sample)",
        )

    # --- operators ------------------------------------------------------------------------

    def _binary(self, tree: Tree) -> a.Expression:
        left, operator, right = tree.children
        if operator.type in ("AND", "OR"):
            parts = self._expressions(chain(tree, operator.type))
            return balanced(parts, lambda one, other: a.Call(str(operator), (one, other)))
        return a.Call(str(operator), (self.expression(left), self.expression(right)))

    def _additive(self, tree: Tree) -> a.Expression:
        """`?x -1*2`: the number's sign is the operator."""
        left, term = tree.children
        left_expression = self.expression(left)
        sign, right = self._signed_term(term)
        return a.Call(sign, (left_expression, right))

    def _signed_term(self, tree: Tree) -> tuple[str, a.Expression]:
        if len(tree.children) == 1:
            text = str(tree.children[0])
            return text[0], number(text[1:])
        inner, operator, factor = tree.children
        sign, left = self._signed_term(inner)
        return sign, a.Call(str(operator), (left, self.expression(factor)))

    def _not_(self, tree: Tree) -> a.Expression:
        return a.Call("!", (self.expression(tree.children[0]),))

    def _plus(self, tree: Tree) -> a.Expression:
        return a.Call("UPLUS", (self.expression(tree.children[1]),))

    def _minus_(self, tree: Tree) -> a.Expression:
        return a.Call("UMINUS", (self.expression(tree.children[1]),))

    def _in_list(self, tree: Tree) -> a.Expression:
        return a.Call("IN", self._in_arguments(tree))

    def _not_in_list(self, tree: Tree) -> a.Expression:
        return a.Call("NOTIN", self._in_arguments(tree))

    def _in_arguments(self, tree: Tree) -> tuple[a.Expression, ...]:
        left, members = tree.children
        return (self.expression(left), *self._expressions(_listed(members)))

    # --- calls ----------------------------------------------------------------------------

    def _builtin(self, tree: Tree) -> a.Expression:
        token, *arguments = tree.children
        name = token.upper()
        name = _SYNONYMS.get(name, name)
        if len(arguments) == 1 and isinstance(arguments[0], Tree):
            if arguments[0].data == "expression_list":
                arguments = _listed(arguments[0])
        args = self._expressions(_without_nil(arguments))
        if name == "IRI" and self.names.base is not None:
            # IRI() completes relative IRIs at run time, with the base of the query
            args += (NamedNode(self.names.base),)
        return a.Call(name, args)

    def _function_call(self, tree: Tree) -> a.Expression:
        function, arguments = tree.children
        nodes = _listed(arguments)
        if nodes and getattr(nodes[0], "type", None) == "DISTINCT":
            raise self.source.error(
                "only the aggregates of SPARQL itself take DISTINCT",
                nodes[0],
                "these are COUNT, SUM, MIN, MAX, AVG, SAMPLE and GROUP_CONCAT",
            )
        return a.Call(f"<{self.iri(function).value}>", self._expressions(nodes))

    def _exists(self, tree: Tree) -> a.Expression:
        return placed(a.Exists(self.group(tree.children[0])), self.source.keyword_of(tree))

    def _not_exists(self, tree: Tree) -> a.Expression:
        return a.Call("!", (self._exists(tree),))

    # --- aggregates -----------------------------------------------------------------------

    def _aggregate(self, tree: Tree) -> a.Expression:
        token = tree.children[0]
        name = token.upper()
        if self._inside_aggregate:
            raise self.source.error(
                f"{name} stands inside another aggregate",
                token,
                "compute the inner aggregate in a sub-query",
            )
        if self._aggregation is None:
            raise self.source.error(
                f"the aggregate {name} cannot stand here",
                token,
                "aggregates belong in SELECT, HAVING and ORDER BY",
            )
        return self._aggregate_var(self.aggregate(tree))

    def aggregate(self, tree: Tree) -> a.Aggregate:
        """An aggregate by itself."""
        token, *rest = tree.children
        distinct = getattr(rest[0], "type", None) == "DISTINCT"
        argument, *options = rest[1:] if distinct else rest
        self._inside_aggregate = True
        try:
            star = getattr(argument, "type", None) == "STAR"
            value = None if star else self.expression(argument)
        finally:
            self._inside_aggregate = False
        separator = string(options[0].children[-1]) if options else None
        return a.Aggregate(token.upper(), value, distinct, separator)

    def _aggregate_var(self, aggregate: a.Aggregate) -> a.Var:
        """The hidden variable of an aggregate; equal aggregates share one."""
        found = self._aggregation.aggregates
        if aggregate not in found:
            found[aggregate] = self.fresh("a")
        return found[aggregate]

    @abstractmethod
    def group(self, tree: Tree) -> a.Pattern:
        """A group graph pattern; groups.py says how."""


def chain(tree: Tree, operator: str) -> list[Tree | Token]:
    """The operands of `x && y && …`, which the grammar nests to the left."""
    operands = []
    node: Tree | Token = tree
    while isinstance(node, Tree) and node.data == "binary" and node.children[1].type == operator:
        operands.append(node.children[2])
        node = node.children[0]
    return [node, *reversed(operands)]


def replace_vars(expression: a.Expression, values: dict[a.Var, a.Expression]) -> a.Expression:
    """The expression with variables replaced by what they stand for."""
    if isinstance(expression, a.Var):
        return values.get(expression, expression)
    if isinstance(expression, a.Call):
        return a.Call(expression.name, tuple(replace_vars(x, values) for x in expression.args))
    return expression


def _without_nil(nodes: list) -> list:
    return [node for node in nodes if getattr(node, "type", None) != "NIL"]


def _listed(tree: Tree) -> list:
    """The members of a list in parentheses.

    `()` reaches us as the one token NIL, which elsewhere is a term; no expression has it.
    """
    return _without_nil(tree.children)

"""Query forms, solution modifiers and rules to the algebra (SPARQL 1.1, sections 15, 16 and 18.2.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import conjunction
from penstock.algebra.facts import placed
from penstock.languages.expressions import Aggregation, replace_vars
from penstock.languages.groups import GroupTranslator, with_filter
from penstock.languages.text import tokens_of
from penstock.languages.triples import UNIT, Block, TripleTemplate, join
from penstock.languages.visibility import in_scope, visible


@dataclass
class Modifiers:
    """The parts of a solution modifier, as far as they are there."""

    group: Tree | None = None
    having: Tree | None = None
    order: Tree | None = None
    offset: int = 0
    limit: int | None = None


class SparqlTranslator(GroupTranslator):
    """SPARQL 1.1: from the syntax tree of a statement to its algebra. Each statement has its own."""

    def statement(self, tree: Tree, **about) -> a.Statement:
        """A statement of a module, here a query or a rule; `about` is what all statements have."""
        if tree.data in ("insert", "insert_data"):
            return a.ParsedRule(insert=self._insert(tree), **about)
        form, *values = tree.children
        query = getattr(self, f"_{form.data}")(form, values[0] if values else None)
        return a.ParsedQuery(query=query, **about)

    # --- query forms ----------------------------------------------------------------------

    def _select_query(self, tree: Tree, values: Tree | None) -> a.Select:
        pattern, variables = self._select(tree, values)
        return a.Select(pattern, variables, self._dataset(tree))

    def sub_select(self, tree: Tree) -> a.Pattern:
        pattern, _ = self._select(tree, _child(tree, "values_clause"))
        return placed(pattern, self.source.keyword_of(tree))

    def _construct_query(self, tree: Tree, values: Tree | None) -> a.Construct:
        template_tree = _child(tree, "construct_template")
        if template_tree is None:  # CONSTRUCT WHERE { … }: the pattern is the template
            template_tree = _child(tree, "construct_where")
            block = Block()
            for triples in template_tree.children:
                self.triples_block(triples, block)
            where = block.pattern()
        else:
            where = self._where(tree)
        template = TripleTemplate(template_tree)
        for graph in template_tree.find_data("quads_of_graph"):
            raise self.source.error(
                "GRAPH cannot stand in the template of CONSTRUCT: what is constructed are triples",
                self.source.keyword_of(graph),
                "write its triples without GRAPH; triples of named graphs are added by a rule: "
                "INSERT { GRAPH … { … } } WHERE { … }",
            )
        for triples in template_tree.children:
            self.triples_block(triples, template)
        pattern = self._modified(where, tree, values)
        return a.Construct(pattern, tuple(dict.fromkeys(template.parts)), self._dataset(tree))

    def _insert(self, tree: Tree) -> a.Insert:
        quads, *where = tree.children
        if not where:
            self._refuse_variables(quads)
        template = TripleTemplate(quads)
        found: dict[a.QuadPattern, None] = {}
        for part in quads.children:
            graph, block = (None, part) if part.data == "triples_block" else self._graph_and_block(part)
            already = len(template.parts)
            if block is not None:
                self.triples_block(block, template)
            found.update((a.QuadPattern(graph, triple), None) for triple in template.parts[already:])
        return a.Insert(self._where(tree), tuple(found))

    def _graph_and_block(self, tree: Tree) -> tuple[a.TermOrVar, Tree | None]:
        name, *block = tree.children
        return self.var_or_iri(name), block[0] if block else None

    def _refuse_variables(self, quads: Tree) -> None:
        for token in tokens_of(quads):
            if token.type == "VAR":
                raise self.source.error(
                    f"INSERT DATA says what holds always, and {token} is a variable",
                    token,
                    "a rule with variables is written INSERT { … } WHERE { … }",
                )

    def _ask_query(self, tree: Tree, values: Tree | None) -> a.Ask:
        return a.Ask(self._modified(self._where(tree), tree, values), self._dataset(tree))

    def _describe_query(self, tree: Tree, values: Tree | None) -> a.Describe:
        pattern = self._modified(self._where(tree), tree, values)
        tokens = [child for child in tree.children if isinstance(child, Token)]
        if tokens[0].type == "STAR":
            subjects = visible(pattern)
        else:
            subjects = tuple(dict.fromkeys(self.var_or_iri(token) for token in tokens))
        return a.Describe(pattern, subjects, self._dataset(tree))

    def _dataset(self, tree: Tree) -> a.Dataset | None:
        trees = [
            child
            for child in tree.children
            if isinstance(child, Tree) and child.data in ("from_default", "from_named")
        ]
        tokens = [child.children[0] for child in trees]
        clauses = [(child.data, self.iri(token)) for child, token in zip(trees, tokens, strict=True)]
        if not clauses:
            return None
        default = dict.fromkeys(iri for kind, iri in clauses if kind == "from_default")
        named = dict.fromkeys(iri for kind, iri in clauses if kind == "from_named")
        dataset = a.Dataset(tuple(default), tuple(named))
        for token, (_, iri) in zip(tokens, clauses, strict=True):
            dataset.facts.setdefault(iri, self.source.span_of(token))
        return dataset

    def _where(self, tree: Tree) -> a.Pattern:
        where = _child(tree, "where_clause")
        return UNIT if where is None else self.where_pattern(where)

    def where_pattern(self, tree: Tree) -> a.Pattern:
        """What stands after WHERE."""
        return self.group(tree.children[0])

    # --- SELECT and solution modifiers ----------------------------------------------------

    def _select(self, tree: Tree, values: Tree | None) -> tuple[a.Pattern, tuple[a.Var, ...]]:
        clause = _child(tree, "select_clause")
        keyword, *items = clause.children
        quantifier = None
        if getattr(items[0], "type", None) in ("DISTINCT", "REDUCED"):
            quantifier = items.pop(0).type
        pattern, variables = self._solutions(self._where(tree), tree, values, items)
        modifiers = self._modifiers(tree)
        pattern = a.Project(pattern, variables)
        if quantifier is not None:
            pattern = a.Distinct(pattern) if quantifier == "DISTINCT" else a.Reduced(pattern)
        return _sliced(pattern, modifiers), variables

    def _modified(self, where: a.Pattern, tree: Tree, values: Tree | None) -> a.Pattern:
        """The pattern of a query form without SELECT, with its modifiers."""
        pattern, _ = self._solutions(where, tree, values, [])
        return _sliced(pattern, self._modifiers(tree))

    def _modifiers(self, tree: Tree) -> Modifiers:
        found = Modifiers()
        for part in _child(tree, "solution_modifier").children:
            kind = part.data.removesuffix("_clause")
            setattr(found, kind, int(part.children[0]) if kind in ("limit", "offset") else part)
        return found

    def _solutions(
        self, where: a.Pattern, tree: Tree, values: Tree | None, items: list[Tree | Token]
    ) -> tuple[a.Pattern, tuple[a.Var, ...]]:
        """Section 18.2.4 up to ORDER BY: grouping, HAVING, VALUES, SELECT expressions, order."""
        modifiers = self._modifiers(tree)
        star = next((item for item in items if getattr(item, "type", None) == "STAR"), None)
        clauses = [*items, modifiers.having, modifiers.order]
        level = None
        keys: tuple[tuple[a.Var, a.Expression], ...] = ()
        if modifiers.group is not None or any(_has_aggregate(clause) for clause in clauses):
            if star is not None:
                raise self.source.error(
                    "SELECT * cannot stand in a query that groups",
                    star,
                    "name the variables of GROUP BY and the aggregates that you want",
                )
            keys = self._group_keys(modifiers.group, where)
            level = Aggregation({var for var, _ in keys})

        data = None if values is None else self.values(values)
        taken = set(in_scope(where)) if level is None else set(level.known)
        taken.update(data.vars if data is not None else ())
        with self.aggregating(level):
            variables, extensions = self._projection(items, taken)
            names = {var for var, _ in extensions}
            if level is not None:
                level.strict = False
                level.known -= names
                for var, value in extensions:
                    if var not in in_scope(where):
                        level.named[var] = replace_vars(value, level.named)
            having = conjunction([self.expression(part) for part in _parts(modifiers.having)])
            if level is not None:
                level.known |= names
            order = tuple(self._order_key(key) for key in _parts(modifiers.order))

        pattern = self.beneath(where)
        if level is not None:
            aggregates = tuple((var, aggregate) for aggregate, var in level.aggregates.items())
            pattern = a.Group(pattern, keys, aggregates)
        pattern = with_filter(pattern, having)
        if data is not None:
            pattern = join(pattern, data)
        if star is not None:
            variables = visible(pattern)
        for var, expression in extensions:
            pattern = a.Extend(pattern, var, expression)
        return (a.OrderBy(pattern, order) if order else pattern), variables

    def _projection(
        self, items: list[Tree | Token], taken: set[a.Var]
    ) -> tuple[tuple[a.Var, ...], list[tuple[a.Var, a.Expression]]]:
        """The variables of SELECT in their order, and the expressions among them."""
        variables: dict[a.Var, None] = {}
        extensions: list[tuple[a.Var, a.Expression]] = []
        level = self._aggregation
        for item in items:
            if isinstance(item, Token):
                if item.type == "VAR":
                    var = self.var(item)
                    if level is not None and var not in level.known:
                        raise self.not_grouped(var, item)
                    variables[var] = None
                continue
            node, token = item.children
            var = self.var(token)
            if var in variables:
                raise self.source.error(f"SELECT names {var} twice", token, "choose another name after AS")
            if var in taken:
                raise self.source.error(
                    f"SELECT gives {var} a value, but {var} is already bound in the pattern",
                    token,
                    "choose a new name after AS",
                )
            extensions.append((var, self.expression(node)))
            variables[var] = None
            if level is not None:
                level.known.add(var)
        return tuple(variables), extensions

    def _group_keys(self, tree: Tree | None, where: a.Pattern) -> tuple[tuple[a.Var, a.Expression], ...]:
        keys: dict[a.Var, a.Expression] = {}
        bound = in_scope(where)
        for key in _parts(tree):
            node, *alias = key.children
            expression = self.expression(node)
            if alias:
                var = self.var(alias[0])
                if var in bound or var in keys:
                    raise self.source.error(
                        f"GROUP BY gives {var} a value, but {var} is already in use",
                        alias[0],
                        "choose a new name after AS",
                    )
                keys[var] = expression
            elif isinstance(expression, a.Var):
                keys[expression] = expression
            else:
                keys[self.fresh("g")] = expression
        return tuple(keys.items())

    def _order_key(self, tree: Tree) -> tuple[a.Expression, bool]:
        *direction, node = tree.children
        return self.expression(node), bool(direction) and direction[0].type == "DESC"


def _child(tree: Tree, data: str) -> Tree | None:
    for child in tree.children:
        if isinstance(child, Tree) and child.data == data:
            return child
    return None


def _parts(tree: Tree | None) -> list:
    return [] if tree is None else tree.children


def _sliced(pattern: a.Pattern, modifiers: Modifiers) -> a.Pattern:
    if modifiers.limit is None and modifiers.offset == 0:
        return pattern
    return a.Slice(pattern, modifiers.offset, modifiers.limit)


def _has_aggregate(node: Tree | Token | None) -> bool:
    return any(tree.data == "aggregate" for tree in _own_trees(node))


def _own_trees(node: Tree | Token | None) -> Iterator[Tree]:
    """The sub-trees of a clause that belong to its own query level."""
    if isinstance(node, Tree) and node.data != "group_graph_pattern":
        yield node
        for child in node.children:
            yield from _own_trees(child)

"""C-SPARQL: what it adds to the translation of SPARQL over windows."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import conjunction
from penstock.algebra.base import variables_among
from penstock.algebra.facts import placed
from penstock.languages.groups import GroupParts, with_filter
from penstock.languages.visibility import always_bound, in_scope
from penstock.languages.window_clauses import WindowTranslator
from penstock.terms import BlankNode, Literal, NamedNode

TIMESTAMP = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"
_HOW = "write f:timestamp(?s, ?p, ?o) for a triple of the pattern, or f:timestamp(?v) for those with ?v in it"

Stamp = tuple[a.Var, Tree, tuple[a.Expression, ...]]
"""A call of the timestamp function: the variable that stands for it, its place, its arguments."""


class CSparqlTranslator(WindowTranslator):
    """A query reads what the windows of FROM STREAM show, beside its static graphs."""

    TITLE = "C-SPARQL"
    EXAMPLE = "FROM STREAM <…> [RANGE 10m STEP 1m]"

    def __init__(self, *args, **keywords) -> None:
        super().__init__(*args, **keywords)
        self._stamps: list[Stamp] = []

    def declare_windows(self, form: Tree) -> None:
        for clause in form.children:
            kind = getattr(clause, "data", None)
            if kind in ("stream_window", "named_stream_window"):
                _, stream, spec = clause.children
                named = kind == "named_stream_window"
                if named and stream.type != "VAR" and self.iri(stream) in (w.name for w in self.windows):
                    raise self.source.error(
                        f"there is a window of {stream} with its name already",
                        stream,
                        "FROM NAMED STREAM names a window after its stream; another one can be FROM STREAM",
                    )
                self.add_window(self.iri(stream) if named and stream.type != "VAR" else None, stream, spec)

    # --- aggregates that extend solutions -----------------------------------------------------

    def where_pattern(self, tree: Tree) -> a.Pattern:
        """AGGREGATE gives each solution the values of its group, beside what it has (Barbieri et al.)."""
        group, *clauses = tree.children
        solutions = pattern = self.group(group)
        filters: list[a.Expression] = []
        for part in (part for clause in clauses for part in clause.children):
            with self.aggregating(None):
                if part.data == "filter":
                    filters.append(self.expression(part.children[0]))
                else:
                    values = self._group_value(solutions, part, in_scope(pattern))
                    pattern = placed(a.Join(pattern, values), self.source.span_of(part))
        return with_filter(self.beneath(pattern) if clauses else pattern, conjunction(filters))

    def _group_value(self, solutions: a.Pattern, tree: Tree, taken: Collection[a.Var]) -> a.Group:
        name, what, *keys = tree.children
        if self.var(name) in taken:
            raise self.source.error(f"{name} is in use already", name, "choose a new name for the aggregate")
        for key in keys:
            if self.var(key) not in always_bound(solutions):
                how = "may leave" if self.var(key) in in_scope(solutions) else "leaves"
                raise self.source.error(
                    f"WHERE {how} {key} unbound, and solutions without it have no group",
                    key,
                    "group by what each solution has",
                )
        if isinstance(what, Tree):
            aggregate = self.aggregate(what)
        elif what.type == "COUNT":
            aggregate = a.Aggregate("COUNT", None)
        else:
            word = what.upper()
            raise self.source.error(f"{word} of what?", what, f"name a variable: ({name}, {word}(?v), …)")
        grouped = dict.fromkeys(self.var(key) for key in keys)
        return a.Group(solutions, tuple((var, var) for var in grouped), ((self.var(name), aggregate),))

    # --- the timestamp function -------------------------------------------------------------

    def group_parts(self, tree: Tree) -> GroupParts:
        outer, self._stamps = self._stamps, []
        try:
            return super().group_parts(tree)
        finally:
            self._stamps = outer

    def _function_call(self, tree: Tree) -> a.Expression:
        call = super()._function_call(tree)
        if call.name != f"<{TIMESTAMP}>":
            return call
        if len(call.args) not in (1, 3):
            raise self.source.error(f"f:timestamp takes 1 or 3 arguments, not {len(call.args)}", tree, _HOW)
        for argument in call.args:
            if not isinstance(argument, (a.Var, NamedNode, Literal, BlankNode)):
                raise self.source.error("f:timestamp takes variables and terms", tree, _HOW)
        if len(call.args) == 1 and not isinstance(call.args[0], a.Var):
            raise self.source.error("f:timestamp of one thing takes a variable", tree, _HOW)
        if self._aggregation is not None and not self._inside_aggregate:
            raise self.source.error(
                "f:timestamp looks at single solutions, and these are grouped",
                tree,
                "aggregate it, as in MAX(f:timestamp(…)), or group by it",
            )
        var = self.fresh("t")
        self._stamps.append((var, tree, call.args))
        return var

    def beneath(self, pattern: a.Pattern) -> a.Pattern:
        stamps, self._stamps = self._stamps, []
        for var, tree, arguments in stamps:
            for missing in variables_among(arguments) - set(in_scope(pattern)):
                raise self.source.error(
                    f"f:timestamp looks at the solutions of its group, and these do not bind {missing}",
                    tree,
                    _HOW,
                )
            if len(arguments) == 3:
                pattern = a.Timestamp(pattern, var, a.TriplePattern(*arguments))
            else:
                pattern = self._of_variable(pattern, var, tree, arguments[0])
        return pattern

    def _of_variable(self, pattern: a.Pattern, var: a.Var, tree: Tree | Token, of: a.Var) -> a.Pattern:
        """The last of the instants at which the triples with a variable in them were stated."""
        stated = [triple for triple in _triples(pattern) if of in triple]
        if not stated:
            raise self.source.error(f"no triple of this group has {of} in it", tree, _HOW)
        if len(stated) == 1:
            return a.Timestamp(pattern, var, stated[0])
        each = [self.fresh("t") for _ in stated]
        for one, triple in zip(each, stated, strict=True):
            pattern = a.Timestamp(pattern, one, triple)
        return a.Extend(pattern, var, reduce(_later, each))


def _later(one: a.Expression, other: a.Expression) -> a.Expression:
    """The later of two instants; of one that is unbound, the other."""
    both = a.Call("IF", (a.Call(">", (one, other)), one, other))
    return a.Call("COALESCE", (both, one, other))


def _triples(pattern: a.Pattern) -> list[a.TriplePattern]:
    """The triples of a group itself: neither what is optional or excluded, nor what is in other graphs."""
    match pattern:
        case a.BGP():
            return list(pattern.triples)
        case a.Join():
            return [*_triples(pattern.left), *_triples(pattern.right)]
        case a.OuterJoin() | a.Minus():
            return _triples(pattern.left)
        case a.Filter() | a.Extend() | a.Timestamp():
            return _triples(pattern.pattern)
    return []

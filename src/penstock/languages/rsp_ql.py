"""RSP-QL: what it adds to the translation of SPARQL over windows."""

from __future__ import annotations

from lark import Tree

from penstock.algebra import nodes as a
from penstock.algebra.balance import balanced
from penstock.algebra.facts import placed
from penstock.algebra.windows import WindowSpec
from penstock.errors import Span
from penstock.languages.triples import join
from penstock.languages.window_clauses import NamedWindowTranslator
from penstock.terms import NamedNode


class RspQlTranslator(NamedWindowTranslator):
    """A window is a graph: `WINDOW <w> { … }` is `GRAPH <w> { … }`."""

    TITLE = "RSP-QL"
    EXAMPLE = "FROM NAMED WINDOW :w ON :stream [RANGE PT10M STEP PT1M]"
    ISO = True
    KEEPS_ALL = "[RANGE UNBOUNDED STEP PT1M]"

    def _add_window_clause(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        name, group = tree.children
        inside, place = self.group(group), self.source.span_of(name)
        if name.type != "VAR":
            found = placed(a.Graph(self.known_window(name), inside), place)
        else:
            var = self.var(name)
            names = [window.name for window in self.windows if window.name is not None]
            if not names:
                raise self.source.error(
                    f"there is no window that {name} could be", name, f"declare one, as in {self.EXAMPLE}"
                )
            found = balanced([self._one_of(var, each, inside, place) for each in names], a.Union_)
        return self._joined(before, found, tree)

    def _one_of(self, var: a.Var, name: NamedNode, inside: a.Pattern, place: Span) -> a.Pattern:
        """WINDOW ?w ranges over the windows of the query, as GRAPH ?g over graphs (SPARQL 1.1, 18.6)."""
        return join(placed(a.Graph(name, inside), place), a.Values((var,), ((name,),)))

    # --- windows as others write them -----------------------------------------------------------

    def _from_to_window(self, tree: Tree) -> WindowSpec:
        """[FROM NOW-PT2H TO NOW STEP PT1H] is [RANGE PT2H STEP PT1H]."""
        begin, end, *slide = tree.children
        width, delay = self._before_now(begin), self._before_now(end)
        if delay:
            raise self.source.error(
                "a window that ends before now is not built",
                self.extent(end),
                "a window up to now may reach as far back, as in [RANGE PT2H STEP PT1H]; which part of it an "
                "event is in is told by a time that it states itself",
            )
        if width <= 0:
            raise self.source.error(
                "this window begins when it ends",
                self.extent(begin),
                "as in [FROM NOW-PT2H TO NOW STEP PT1H]",
            )
        return self._of_width(tree, width, slide)

    def _before_now(self, tree: Tree) -> int:
        now, *back = tree.children
        if now.upper() != "NOW":
            raise self.source.error(f"{now} is no instant", now, "as in [FROM NOW-PT2H TO NOW STEP PT1H]")
        if not back:
            return 0
        length = self.duration(back[-1])
        return length if len(back) == 2 else -length

    def _elements_window(self, tree: Tree) -> WindowSpec:
        count = tree.children[0]
        raise self.source.error(
            "a window that counts elements is not built",
            self.extent(tree),
            f"windows count triples: [TRIPLES {count}] has the last {count}; where each element has k of "
            f"them, write k times {count}",
        )

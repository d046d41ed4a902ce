"""RSP-QL: what it adds to the translation of SPARQL over windows."""

from __future__ import annotations

from lark import Tree

from penstock.algebra import nodes as a
from penstock.algebra.facts import placed
from penstock.languages.windows import NamedWindowTranslator


class RspQlTranslator(NamedWindowTranslator):
    """A window is a graph: `WINDOW <w> { … }` is `GRAPH <w> { … }`."""

    TITLE = "RSP-QL"
    EXAMPLE = "FROM NAMED WINDOW :w ON :stream [RANGE PT10M STEP PT1M]"
    ISO = True
    KEEPS_ALL = "[RANGE UNBOUNDED STEP PT1M]"

    def _add_window_clause(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        name, group = tree.children
        graph = a.Graph(self.known_window(name), self.group(group))
        return self._joined(before, placed(graph, self.source.span_of(name)), tree)

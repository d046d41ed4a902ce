"""Where UNLESS and NEXT cannot stand.

They look at what comes after an element; and an answer that ends at a deadline ends at no instant of
the streams.
"""

from __future__ import annotations

from penstock.algebra.nodes import Ask, Construct, Next, Pattern, Query, Unless
from penstock.algebra.scopes import ELEMENT
from penstock.errors import QueryError
from penstock.plan.analysis.walk import children, nodes

_REGISTER = "REGISTER STREAM <name> AS CONSTRUCT … makes a stream of it, which other queries read"


def refuse_following(query: Query, *, feeds: bool) -> None:
    """Refuse them where instants of the streams, or single elements, are all that is looked at."""
    if query.scope == ELEMENT:
        for node in nodes(query.pattern):
            if not isinstance(node, (Unless, Next)):
                continue
            raise QueryError(
                f"{node.word} looks at what comes later, and this query at each element by itself",
                hint="leave out --query-scope element",
            )
        return
    if isinstance(query, Ask):
        _refuse_below(query.pattern, "ASK")
    for node in nodes(query.pattern):
        if node.per_instant:
            _refuse_below(node, node.word)
    if feeds and isinstance(query, Construct) and query.target is None:
        _refuse_below(query.pattern, "a rule that all queries read")


def _refuse_below(pattern: Pattern, what: str) -> None:
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Unless):
            raise QueryError(
                f"{what} looks at the instants of the streams, and a deadline of UNLESS is none of them",
                hint=_REGISTER,
            )
        waiting += children(node)

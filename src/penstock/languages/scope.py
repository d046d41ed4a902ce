"""Which variables a pattern may bind: the "in scope" of SPARQL 1.1, section 18.2.1."""

from __future__ import annotations

from penstock.algebra import nodes as a


def in_scope(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """The variables in scope after a pattern, in the order in which they first appear."""
    return tuple(dict.fromkeys(_walk(pattern)))


def visible(pattern: a.Pattern) -> tuple[a.Var, ...]:
    """What `*` stands for: the variables in scope that the author named."""
    return tuple(var for var in in_scope(pattern) if not var.hidden)


def _walk(pattern: a.Pattern):
    match pattern:
        case a.BGP():
            for triple in pattern.triples:
                yield from (term for term in triple if isinstance(term, a.Var))
        case a.PathPattern():
            yield from (t for t in (pattern.subject, pattern.object) if isinstance(t, a.Var))
        case a.Minus():
            yield from _walk(pattern.left)
        case a.Filter() | a.OrderBy() | a.Distinct() | a.Reduced() | a.Slice():
            yield from _walk(pattern.pattern)
        case a.Extend():
            yield from _walk(pattern.pattern)
            yield pattern.var
        case a.Graph():
            if isinstance(pattern.name, a.Var):
                yield pattern.name
            yield from _walk(pattern.pattern)
        case a.Values() | a.Project():
            yield from pattern.vars
        case a.Group():
            yield from (var for var, _ in pattern.keys)
            yield from (var for var, _ in pattern.aggregates)
        case _:  # the binary operators
            yield from _walk(pattern.left)
            yield from _walk(pattern.right)

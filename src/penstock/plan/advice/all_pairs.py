"""Paths that are found between all pairs of nodes, because nothing binds an end of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.algebra.facts import place_of
from penstock.algebra.nodes import (
    Background,
    Graph,
    Join,
    OneOrMore,
    Path,
    PathPattern,
    Pattern,
    Var,
    ZeroOrMore,
)
from penstock.algebra.relations import ANY, HULL
from penstock.algebra.scopes import STREAM
from penstock.errors import Finding
from penstock.plan.analysis.reads import leaf_sources
from penstock.plan.analysis.variables import Vars, certain
from penstock.plan.analysis.walk import children, exists_patterns
from penstock.plan.catalog import ActiveDataset
from penstock.plan.sources import static, windows
from penstock.plan.wording import leaf_text


def all_pairs(pattern: Pattern, dataset: ActiveDataset, beside: Vars = frozenset()) -> Iterator[Finding]:
    """The paths of any length between two variables that have to be found for all pairs.

    `beside` are the variables that the rest of its group binds: a static path is walked from these.
    """
    inside = dataset if pattern.graph is None else dataset.within(pattern.graph)
    if isinstance(pattern, PathPattern):
        if _is_long(pattern) and pattern.scope == STREAM:
            sources = leaf_sources(pattern, dataset)
            bound = static(sources) and {pattern.subject, pattern.object} & beside
            if not bound and not windows(sources):
                yield _finding(pattern, static(sources))
        return
    parts = children(pattern)
    if not (isinstance(pattern, Background | Graph) or _is_group(pattern)):
        beside = frozenset()
    for place, part in enumerate(parts):
        others = _certain(parts[:place] + parts[place + 1 :]) if _is_group(pattern) else ()
        yield from all_pairs(part, inside, beside.union(*others))
    for inner in exists_patterns(pattern):
        yield from all_pairs(inner, inside)


def _is_group(pattern: Pattern) -> bool:
    """Whether its sides are joined in any order."""
    plain = isinstance(pattern, Join) and pattern.relation == ANY and pattern.interval is HULL
    return plain or isinstance(pattern, Join) and isinstance(pattern.right, Background)


def _certain(parts: Iterable[Pattern]) -> Iterator[Vars]:
    """What each of these binds that is not a path between variables itself."""
    for part in parts:
        if isinstance(part, Background | Graph) or _is_group(part):
            yield from _certain(children(part))
        elif not (isinstance(part, PathPattern) and _is_long(part)):
            yield certain(part)


def _is_long(pattern: PathPattern) -> bool:
    ends = isinstance(pattern.subject, Var) and isinstance(pattern.object, Var)
    return ends and _repeats(pattern.path)


def _repeats(path: Path) -> bool:
    """Whether it has a part of any length (those in tests are found once for each node)."""
    if isinstance(path, OneOrMore | ZeroOrMore):
        return True
    inner = (getattr(path, name, None) for name in ("left", "right"))
    below = getattr(path, "path", None) if not hasattr(path, "axis") else None
    return any(part is not None and _repeats(part) for part in (*inner, below))


def _finding(pattern: PathPattern, is_static: bool) -> Finding:
    others = ", or bind one of them in the same group" if is_static else ""
    return Finding(
        "all-pairs",
        f"`{leaf_text(pattern)}` is found between all pairs of nodes: up to the square of how many there are",
        f"write a term at one of its ends{others}",
        place_of(pattern),
    )

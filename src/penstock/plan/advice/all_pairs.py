"""Paths that are found between all pairs of nodes, because nothing binds an end of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.algebra.facts import place_of
from penstock.algebra.nodes import (
    Alternative,
    Background,
    Graph,
    Inverse,
    Join,
    OneOrMore,
    Path,
    PathPattern,
    Pattern,
    Sequence,
    Var,
    ZeroOrMore,
    ZeroOrOne,
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
        sources = leaf_sources(pattern, dataset)
        if pattern.scope == STREAM and not windows(sources) and _is_long(pattern, static(sources)):
            if not (static(sources) and {pattern.subject, pattern.object} & beside):
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
        elif not (isinstance(part, PathPattern) and _is_long(part, True)):
            yield certain(part)


def _is_long(pattern: PathPattern, is_static: bool) -> bool:
    ends = isinstance(pattern.subject, Var) and isinstance(pattern.object, Var)
    return ends and _repeats(pattern.path, is_static)


def _repeats(path: Path, is_static: bool) -> bool:
    """Whether it has a part of any length that no other link of the path begins or ends.

    Tests are found once for each node. A static path is walked from the links that are no repetitions.
    """
    match path:
        case OneOrMore() | ZeroOrMore():
            return True
        case Inverse(path=inner) | ZeroOrOne(path=inner):
            return _repeats(inner, is_static)
        case Sequence(left=left, right=right):
            found = [_repeats(link, is_static) for link in (left, right)]
            return all(found) if is_static else any(found)
        case Alternative(left=left, right=right):
            return _repeats(left, is_static) or _repeats(right, is_static)
    return False


def _finding(pattern: PathPattern, is_static: bool) -> Finding:
    others = ", or bind one of them in the same group" if is_static else ""
    return Finding(
        "all-pairs",
        f"`{leaf_text(pattern)}` is found between all pairs of nodes: up to the square of how many there are",
        f"write a term at one of its ends{others}",
        place_of(pattern),
    )

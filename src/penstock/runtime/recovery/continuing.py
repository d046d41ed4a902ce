"""Going on with other queries: what becomes of each when a run takes up a checkpoint.

A query that computes what one in the checkpoint did goes on, maybe under another name; every other one
begins with the next batch, and answers as if its streams began with it. Which batch each query began
with, its *generation*, tells its state from that of others (`engine/network.py`). `go_on` is all that has
to be done between stopping a run and starting it again with other queries.

`generations` in `checkpoint.json` says which queries ran since which batch. One whose first batch was
never finished has left nothing behind: the one before it still counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from penstock.engine.digests import QueryIdentity, RulesIdentity, gone_on
from penstock.plan.wording import in_words


class Fate(StrEnum):
    """What becomes of a query."""

    GOES_ON = "goes on"
    STARTS = "starts now"
    REMOVED = "removed"
    CHANGED = "changed"  # not a query, but rules or knowledge by which elements are closed


@dataclass(frozen=True)
class Continued:
    """What becomes of one query when a run goes on from a checkpoint."""

    query: str
    fate: Fate
    before: str | None = None  # what it was called, if it has another name now
    note: str = ""  # of what is changed: how, and what that means

    @property
    def is_news(self) -> bool:
        """Whether there is something to say of it: it does not simply go on."""
        return self.fate is not Fate.GOES_ON or self.before is not None

    def __str__(self) -> str:
        if self.fate is Fate.CHANGED:
            return f"{self.query} changed: {self.note}"
        if self.fate is Fate.REMOVED:
            return f"{self.query} was removed, its state is dropped"
        if self.fate is Fate.GOES_ON:
            return f"{self.query} goes on" + (f"; it was called {self.before}" if self.before else "")
        return f"{self.query} starts now" + (f": {self.note}" if self.note else "")


def continued(before: Sequence[QueryIdentity], now: Sequence[QueryIdentity]) -> tuple[Continued, ...]:
    """What becomes of the queries that were there before, and of those that are there now."""
    same = _same(before, now)
    algebra = {query.name: query.algebra for query in before if query.name not in same.values()}
    found = []
    for query in now:
        if query.name in same:
            earlier = same[query.name]
            found.append(Continued(query.name, Fate.GOES_ON, earlier if earlier != query.name else None))
        else:
            anew = algebra.get(query.name)
            note = "" if anew is None else "its text changed" if anew != query.algebra else _OTHER_SOURCES
            found.append(Continued(query.name, Fate.STARTS, note=note))
    kept = {query.name for query in now if query.name not in same} | set(same.values())
    return (*found, *(Continued(query.name, Fate.REMOVED) for query in before if query.name not in kept))


def _same(before: Sequence[QueryIdentity], now: Sequence[QueryIdentity]) -> dict[str, str]:
    """The queries that go on, and what they were called."""
    return gone_on({query.name: query.last for query in before}, {query.name: query.last for query in now})


_OTHER_SOURCES = "static graphs or rules changed that its plan depends on"
_STAYS = "what patterns remember of earlier elements was derived before, and stays"
_MOST_RULES = 8


def rules_continued(before: RulesIdentity, now: RulesIdentity) -> tuple[Continued, ...]:
    """What becomes of what earlier rules, or from earlier knowledge, have derived from elements."""
    old, new = dict(before.rules), dict(now.rules)
    ways = {
        "added": [name for name in new if name not in old],
        "changed": [name for name in new if name in old and new[name] != old[name]],
        "removed": [name for name in old if name not in new],
    }
    found = [
        f"{in_words(names, most=_MOST_RULES)} {'was' if len(names) == 1 else 'were'} {way}"
        for way, names in ways.items()
        if names
    ]
    if found:
        return (Continued("the rules", Fate.CHANGED, note=f"{'; '.join(found)}; {_STAYS}"),)
    if before.knowledge != now.knowledge and new:
        return (Continued("the static knowledge behind the rules", Fate.CHANGED, note=_STAYS),)
    return ()


Generations = list[dict[str, Any]]


def generation_of(batch: int, queries: Sequence[QueryIdentity], rules: RulesIdentity) -> dict[str, Any]:
    """What is recorded of queries and rules that run from a batch on."""
    return {"from": batch, "queries": [asdict(query) for query in queries], "rules": asdict(rules)}


def queries_of(generation: dict[str, Any]) -> tuple[QueryIdentity, ...]:
    return tuple(QueryIdentity(**query) for query in generation["queries"])


def rules_of(generation: dict[str, Any]) -> RulesIdentity:
    kept = generation.get("rules", {})
    return RulesIdentity(tuple(map(tuple, kept.get("rules", ()))), kept.get("knowledge", ""))


def last_generation(generations: Generations, finished: int) -> dict[str, Any] | None:
    """The generation that has left its state behind, if a batch was finished (the last of that number)."""
    return next((generation for generation in reversed(generations) if generation["from"] <= finished), None)


def go_on(
    generations: Generations,
    finished: int,
    now: Sequence[QueryIdentity],
    rules: RulesIdentity = RulesIdentity(),  # noqa: B008 — frozen
) -> tuple[Generations, tuple[Continued, ...]]:
    """The generations with the one that begins now, and what becomes of the queries and of the rules."""
    last = last_generation(generations, finished)
    if last is None:
        return [generation_of(0, now, rules)], ()
    before = queries_of(last)
    same, began = _same(before, now), {query.name: query.generation for query in before}
    now = [
        replace(query, generation=began[same[query.name]] if query.name in same else finished + 1)
        for query in now
    ]
    fates = (*continued(before, now), *rules_continued(rules_of(last), rules))
    if before == tuple(now) and rules_of(last) == rules:
        return [last], fates
    return [last, generation_of(finished + 1, now, rules)], fates

"""Going on with other queries: what becomes of each when a run takes up a checkpoint.

Steps are known by their digests (`engine/digests.py`). Shards find out by themselves which of their
state is still wanted; here it is found out for people, and recorded for the next run. `go_on` is all
that has to be done between stopping a run and starting it again with other queries.

`lives` in `checkpoint.json` says which queries ran since which batch. A life whose first batch was never
finished has left nothing behind: the one before it still counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from penstock.engine.digests import QueryIdentity, RulesIdentity, gone_on
from penstock.plan.wording import in_words


class Fate(StrEnum):
    """What becomes of a query."""

    GOES_ON = "goes on"
    PARTLY_NEW = "partly new"
    STARTS = "starts now"
    REMOVED = "removed"
    CHANGED = "changed"  # not a query, but rules or knowledge by which elements are closed


@dataclass(frozen=True)
class Continued:
    """What becomes of one query when a run goes on from a checkpoint."""

    query: str
    fate: Fate
    steps: int = 0
    new: int = 0  # steps that remember nothing yet
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
        if self.fate is Fate.PARTLY_NEW:
            return f"{self.query} goes on; {self.new} of its {self.steps} steps are new"
        kept = self.steps - self.new
        return f"{self.query} starts now" + (
            f"; {kept} of its {self.steps} steps were there before" if kept else ""
        )


def continued(before: Sequence[QueryIdentity], now: Sequence[QueryIdentity]) -> tuple[Continued, ...]:
    """What becomes of the queries that were there before, and of those that are there now."""
    same = gone_on({query.name: query.last for query in before}, {query.name: query.last for query in now})
    known = {step for query in before for step in query.steps}
    names = {query.name for query in before} - set(same.values())
    found = []
    for query in now:
        size, new = len(query.steps), sum(step not in known for step in query.steps)
        if query.name in same:
            earlier = same[query.name]
            renamed = earlier if earlier != query.name else None
            found.append(Continued(query.name, Fate.GOES_ON, size, new, renamed))
        else:
            fate = Fate.PARTLY_NEW if query.name in names and new < size else Fate.STARTS
            found.append(Continued(query.name, fate, size, new))
    kept = {query.name for query in now if query.name not in same} | set(same.values())
    return (*found, *(Continued(query.name, Fate.REMOVED) for query in before if query.name not in kept))


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


Lives = list[dict[str, Any]]


def life_of(batch: int, queries: Sequence[QueryIdentity], rules: RulesIdentity) -> dict[str, Any]:
    """What is recorded of queries and rules that run from a batch on."""
    return {"from": batch, "queries": [asdict(query) for query in queries], "rules": asdict(rules)}


def queries_of(life: dict[str, Any]) -> tuple[QueryIdentity, ...]:
    return tuple(QueryIdentity(**query | {"steps": tuple(query["steps"])}) for query in life["queries"])


def rules_of(life: dict[str, Any]) -> RulesIdentity:
    kept = life.get("rules", {})
    return RulesIdentity(tuple(map(tuple, kept.get("rules", ()))), kept.get("knowledge", ""))


def lived(lives: Lives, finished: int) -> dict[str, Any] | None:
    """The life that has left its state behind, if a batch was finished (the last one of that number)."""
    return next((life for life in reversed(lives) if life["from"] <= finished), None)


def go_on(
    lives: Lives,
    finished: int,
    now: Sequence[QueryIdentity],
    rules: RulesIdentity = RulesIdentity(),  # noqa: B008 — frozen
) -> tuple[Lives, tuple[Continued, ...]]:
    """The lives with the one that begins now, and what becomes of the queries and of the rules."""
    last = lived(lives, finished)
    if last is None:
        return [life_of(0, now, rules)], ()
    before = queries_of(last)
    fates = (*continued(before, now), *rules_continued(rules_of(last), rules))
    if before == tuple(now) and rules_of(last) == rules:
        return [last], fates
    return [last, life_of(finished + 1, now, rules)], fates

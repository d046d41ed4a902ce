"""The keys of a program of rules: a derived triple must stay in its partition.

Where a rule's triple can match a look-up of a leaf, the rule's key stands at the place where the
look-up has its query's key. So of a key only the places matter at which it stands: what a junction
has to know of all its rules and readers is a handful of sets of places, however many they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from penstock.plan.analysis.keys import Key, NoKey, find_key, possible_keys, reads_timed
from penstock.plan.analysis.recursion import Feeding, Made, RuleProgram, Sought
from penstock.plan.catalog import ActiveDataset
from penstock.plan.wording import leaf_text

Keys = tuple[Key | None, ...]

_FREE = -1
"""The places of no key: what is timeless is in every partition."""
_Places = int  # as bits: subject, object; or _FREE
_Options = frozenset[_Places]

_KEPT_WITHOUT = NoKey("the state in the checkpoint has all its rows in one partition")

ATTEMPTS = 1000
"""After so many choices that led nowhere a program goes without a key."""


def find_program_keys(
    programs: Sequence[RuleProgram],
    fed: Feeding,
    datasets: Sequence[ActiveDataset],
    kept: Mapping[int, str | None] = MappingProxyType({}),
) -> list[Keys | NoKey]:
    """For each program a key of each of its queries, or why it has none.

    A query that reads no stream has None: every partition can evaluate it whole. `kept` are keys
    (variables, or None: no key) by which the stored state of some queries is spread; they are
    chosen again if they still can be.
    """
    program_of = {place: number for number, program in enumerate(programs) for place in program.queries}
    met: list[list[int]] = [[] for _ in programs]
    for number, junction in enumerate(fed.junctions):
        met[program_of[fed.made[junction.made[0]].rule]].append(number)
    return [
        _program_keys(program, fed, datasets, junctions, kept)
        for program, junctions in zip(programs, met, strict=True)
    ]


def _program_keys(
    program: RuleProgram,
    fed: Feeding,
    datasets: Sequence[ActiveDataset],
    junctions: list[int],
    kept: Mapping[int, str | None],
) -> Keys | NoKey:
    wanted = {
        place: kept[place]
        for place in program.queries
        if place in kept and reads_timed(fed.queries[place], datasets[place])
    }
    if wanted and not any(wanted.values()):
        return _KEPT_WITHOUT
    choices: dict[int, Keys] = {}
    for place in program.queries:
        query, dataset, timeless = fed.queries[place], datasets[place], fed.timeless[place]
        if not reads_timed(query, dataset):
            choices[place] = (None,)
            continue
        choices[place] = possible_keys(query, dataset, timeless)
        if not choices[place]:
            reason = find_key(query, dataset, timeless)
            assert isinstance(reason, NoKey)
            return reason
    if wanted and all(wanted.values()):
        as_kept = {
            place: tuple(key for key in keys if key and key.variable.name == wanted.get(place)) or keys
            for place, keys in choices.items()
        }
        search = _Search(fed, junctions, as_kept)
        if search.succeeds():
            return tuple(as_kept[place][0] for place in program.queries)
    search = _Search(fed, junctions, choices)
    if search.succeeds():
        return tuple(choices[place][0] for place in program.queries)
    made, sought = search.clash
    return NoKey(
        f"`{leaf_text(fed.queries[made.rule].template[made.triple])}` of a rule feeds "
        f"`{leaf_text(sought.leaf.pattern)}`, and their "
        "queries cannot have their keys at the same place there"
    )


class _Search:
    """One key per query that all junctions agree on; earlier choices are preferred.

    A key stays a choice as long as each triple and look-up that its query has at a junction agrees
    with some choice of everybody on the other side. What is left open then is tried out.
    """

    def __init__(self, fed: Feeding, numbers: Iterable[int], choices: dict[int, Keys]) -> None:
        self.fed = fed
        self.choices = choices
        self.clash: tuple[Made | Sought, Made | Sought] | None = None  # the first one
        self.options: dict[int, tuple[Counter[_Options], Counter[_Options]]] = {}  # there are, on each side
        self.parts: dict[int, list[_Part]] = {place: [] for place in choices}
        for number in numbers:
            self.options[number] = (Counter(), Counter())
            for side in (0, 1):
                for part in self._side(number, side):
                    self.parts[part.owner].append((number, side, part))
                    self.options[number][side][self._options(part)] += 1
        self.waiting = dict.fromkeys(self.options)  # the junctions that may exclude more

    def _side(self, number: int, side: int) -> Sequence[Made | Sought]:
        junction = self.fed.junctions[number]
        if side:
            return [self.fed.sought[each] for each in junction.sought]
        return [self.fed.made[each] for each in junction.made]

    def succeeds(self) -> bool:
        if not (self._keep_in_place() and self._exclude([])):
            return False
        open_queries = [place for place, keys in self.choices.items() if len(keys) > 1]
        way: list[tuple[Keys, list[tuple[int, Keys]]]] = []  # other keys to try, what the choice changed
        untried: Keys | None = None
        failures = 0
        while len(way) < len(open_queries):
            place = open_queries[len(way)]
            untried = self.choices[place] if untried is None else untried
            if failures > ATTEMPTS or not (untried or way):
                return False
            if not untried:
                untried, changed = way.pop()
                self._undo(changed)
                continue
            changed = []
            self._narrow(place, untried[:1], changed)
            if self._exclude(changed):
                way.append((untried[1:], changed))
                untried = None
            else:
                self._undo(changed)
                untried = untried[1:]
                failures += 1
        return True

    def _keep_in_place(self) -> bool:
        """A rule that feeds itself has its key at the same place in what it makes and in what it seeks."""
        for place, parts in self.parts.items():
            by_junction: dict[int, tuple[list[Made], list[Sought]]] = {}
            for number, side, part in parts:
                by_junction.setdefault(number, ([], []))[side].append(part)
            for made, sought in by_junction.values():
                if made and sought:
                    kept = tuple(key for key in self.choices[place] if self._stays(key, made, sought))
                    if not kept:
                        self.clash = (made[0], sought[0])
                        return False
                    self._narrow(place, kept, [])
        return True

    def _stays(self, key: Key | None, made: Iterable[Made], sought: Iterable[Sought]) -> bool:
        one = {self._places(part, key) for part in made}
        other = {self._places(part, key) for part in sought}
        return all(_agree(a, b) for a in one for b in other)

    def _exclude(self, changed: list[tuple[int, Keys]]) -> bool:
        """Takes away the keys that cannot be, and notes the choices before; False: nothing is left."""
        while self.waiting:
            number, _ = self.waiting.popitem()
            for side in (0, 1):
                others = tuple(self.options[number][1 - side])
                for part in self._side(number, side):
                    keys = self.choices[part.owner]
                    kept = tuple(key for key in keys if _supported(self._places(part, key), others))
                    if not kept:
                        self._note_clash(number, side, part, keys[0])
                        self.waiting.clear()
                        return False
                    self._narrow(part.owner, kept, changed)
        return True

    def _note_clash(self, number: int, side: int, part: Made | Sought, key: Key | None) -> None:
        if self.clash is None:
            places = self._places(part, key)
            others = self._side(number, 1 - side)
            other = next(each for each in others if not _supported(places, (self._options(each),)))
            self.clash = (other, part) if side else (part, other)

    def _narrow(self, place: int, keys: Keys, changed: list[tuple[int, Keys]]) -> None:
        if len(keys) < len(self.choices[place]):
            changed.append((place, self.choices[place]))
            self.waiting |= dict.fromkeys(self._set(place, keys))

    def _undo(self, changed: list[tuple[int, Keys]]) -> None:
        for place, keys in reversed(changed):
            self._set(place, keys)

    def _set(self, place: int, keys: Keys) -> list[int]:
        """Gives a query these choices; the junctions that had nothing like it."""
        before = [self._options(part) for _, _, part in self.parts[place]]
        self.choices[place] = keys
        new = []
        for (number, side, part), old in zip(self.parts[place], before, strict=True):
            there, now = self.options[number][side], self._options(part)
            if now != old:
                there[old] -= 1
                if not there[old]:
                    del there[old]
                if now not in there:
                    new.append(number)
                there[now] += 1
        return new

    def _options(self, part: Made | Sought) -> _Options:
        return frozenset(self._places(part, key) for key in self.choices[part.owner])

    def _places(self, part: Made | Sought, key: Key | None) -> _Places:
        """Where a key stands in a template triple or look-up."""
        if key is None:
            return _FREE
        if isinstance(part, Made):
            triple = self.fed.queries[part.rule].template[part.triple]
        else:
            triple = part.look_up
        return (triple.subject == key.variable) | (triple.object == key.variable) << 1


_Part = tuple[int, int, Made | Sought]
"""What a query has at a junction: its number, on which side, and what."""


def _agree(one: _Places, other: _Places) -> bool:
    """Whether a derived triple belongs to the same partition on both sides."""
    return one == _FREE or other == _FREE or bool(one & other)


def _supported(places: _Places, others: Iterable[_Options]) -> bool:
    """Whether everybody on the other side has a choice that agrees."""
    return all(any(_agree(places, other) for other in options) for options in others)

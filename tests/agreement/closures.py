"""Closures in the engine against the naive fixpoint of the same texts (`oracle/rules.py`).

A case is rules, static knowledge and the elements of a stream: the rules of a regime, some rules of the
libraries, or rules as users write them. The static knowledge comes in portions, the elements in batches
of any size, options are switched off at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random

import numpy as np
from pyoxigraph import Literal, Quad, Store

from oracle.canonical import canonical
from oracle.model import Triple
from oracle.ontologies import element, knowledge
from oracle.rule_sets import rule_set
from oracle.rules import Meaning, NoFixpoint, meaning_by_element
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.reason.closing import Closure
from penstock.reason.conflicts import Conflict
from penstock.reason.elements import ElementReasoner
from penstock.reason.evaluation import Options
from penstock.reason.leading import MemoLimits
from penstock.rules import library
from penstock.rules.reading import read_rules
from penstock.rules.rule import REGIMES, Rule
from penstock.terms import BlankNode, NamedNode, Term

KEY = 7
MOST_QUADS = 1500
TINY = MemoLimits(cells=2, misses=1, harm=1, ways=1, heads=1, room=40, epoch=3)
"""Cases whose fixpoint is larger are left out."""


@dataclass(frozen=True)
class ClosureCase:
    """Rules, what is always true, and what elements say; how it is all handed over."""

    seed: int
    rules: tuple[tuple[str, str], ...]  # names and texts
    static: tuple[Triple, ...]
    elements: tuple[tuple[Triple, ...], ...]
    portions: tuple[int, ...] = ()  # where the static knowledge is cut
    batches: tuple[int, ...] = ()  # before which elements batches begin
    passing: tuple[Triple, ...] = ()  # static triples that come first, and are taken away again
    leaving: tuple[int, ...] = ()  # where these are cut
    options: Options = field(default_factory=Options)

    def __str__(self) -> str:
        lines = [f"case {self.seed}: {self.options}, cut at {self.portions}, batches at {self.batches}"]
        lines += [f"--- {name}\n{text.strip()}" for name, text in self.rules]
        lines += ["--- static", *(" ".join(map(str, triple)) for triple in self.static)]
        lines += [f"--- removed, cut at {self.leaving}"] if self.passing else []
        lines += [" ".join(map(str, triple)) for triple in self.passing]
        for number, triples in enumerate(self.elements):
            lines += [f"--- element {number}", *(" ".join(map(str, triple)) for triple in triples)]
        return "\n".join(lines)

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.rules]


# --- making cases --------------------------------------------------------------------------


@lru_cache(maxsize=None)
def every_rule() -> dict[str, Rule]:
    """All rules of the libraries, by name."""
    return {name: library.rule(name) for name in library.entries()}


def of_regime(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((rule.name, rule.text) for rule in library.regime(name))


def make_case(seed: int, kind: str | None = None) -> ClosureCase:
    """A random case: of a regime, of some rules of the libraries, or of rules of a user's own."""
    random = Random(f"closures {seed}")
    kind = kind or random.choice((*REGIMES, "owl2-rl", "some", "some", "some", "own", "own", "own"))
    if kind == "own":
        rules = tuple((f"own{n}", text) for n, text in enumerate(rule_set(random)))
        static = knowledge(random, random.choice((0, 0, 1)), random.randint(4, 24))
    else:
        rules = of_regime(kind) if kind in REGIMES else some_rules(random)
        static = knowledge(random, random.randint(1, 9), random.randint(0, 12))
    passing = ()
    if random.random() < 0.35:
        drawn = knowledge(random, random.randint(0, 3), random.randint(1, 8))
        passing = tuple(triple for triple in drawn if triple not in static)
    elements = [element(random, random.randint(0, 4)) for _ in range(random.choice((0, 1, 3)))]
    case = ClosureCase(seed, rules, tuple(static), tuple(map(tuple, elements)), passing=passing)
    return handed_over(case, random)


def some_rules(random: Random) -> tuple[tuple[str, str], ...]:
    chosen = random.sample(list(every_rule().values()), random.randint(3, 40))
    return tuple((rule.name, rule.text) for rule in chosen)


def handed_over(case: ClosureCase, random: Random) -> ClosureCase:
    size, count = len(case.static), len(case.elements)
    return replace(
        case,
        portions=tuple(sorted(random.randint(0, size) for _ in range(random.choice((0, 0, 1, 3))))),
        batches=tuple(sorted(random.randint(0, count) for _ in range(random.choice((0, 1, 2))))),
        leaving=tuple(sorted(random.randint(0, len(case.passing)) for _ in range(random.choice((0, 1, 3))))),
        options=Options(
            *(random.random() < 0.7 for _ in range(3)),
            memory=random.choice([TINY, MemoLimits(cells=4, harm=3, epoch=9), MemoLimits()]),
            at_a_time=random.choice([3, 40, Options().at_a_time]),
        ),
    )


# --- what is right -------------------------------------------------------------------------


def expected(case: ClosureCase) -> Meaning:
    elements = [(frozenset(triples), n, n) for n, triples in enumerate(case.elements)]
    return meaning_by_element(case.texts, case.static, elements, most=MOST_QUADS)


# --- what the engine makes of it -----------------------------------------------------------


def rules_of(case: ClosureCase) -> list[Rule]:
    known = every_rule()
    found = []
    for name, text in case.rules:
        rule = known.get(name)
        if rule is None or rule.text != text:
            [rule] = read_rules(f"# name: {name}\n# meaning: {name}\n{text}").rules
        found.append(rule)
    return found


def closed_in_engine(case: ClosureCase, rules: Sequence[Rule]) -> Closure:
    made = Closure(rules, KEY, case.options)
    if case.passing:
        _add(made, case.passing)
    for portion in _cut(case.static, case.portions):
        _add(made, portion)
    for portion in _cut(case.passing, case.leaving) if case.passing else ():
        made.remove(graph_of(portion, None, key=KEY).triples)
    return made


def _add(closure: Closure, triples: Sequence[Triple]) -> None:
    added = graph_of(triples, None, key=KEY)
    closure.add(added.triples, added.terms)


def _cut(items: Sequence, places: Sequence[int]) -> Iterator[Sequence]:
    cuts = [0, *places, len(items)]
    return (items[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False))


def occurrences_of(elements: Iterable[tuple[int, Sequence[Triple]]]) -> Occurrences:
    """Elements, each with its number, as the decoder gives them."""
    table, rows = TermTable(key=KEY), []
    for number, triples in elements:
        for triple in triples:
            rows.append((*(table.add(term) for term in triple), number, number, -1 - number))
    columns = np.array(rows, np.int64).reshape(-1, 6).T.copy()
    return Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])


def triples_of(triples: np.ndarray, terms: TermTable) -> list[Triple]:
    return [tuple(terms.term(id_) for id_ in triple) for triple in triples.T.tolist()]


def elements_in_engine(
    case: ClosureCase, rules: Sequence[Rule], static: Closure
) -> Iterator[tuple[list[Triple], list[Conflict]]]:
    """What follows from each element, batch by batch, all by one reasoner."""
    reasoner = ElementReasoner(rules, Knowledge((None,), (static.triples,), static.terms), case.options)
    for batch in _cut(list(enumerate(case.elements)), case.batches):
        found = reasoner.close(occurrences_of(batch))
        known = TermTable(found.terms, key=KEY)
        for number, _ in batch:
            own = found.element == -1 - number
            assert (found.start[own] == number).all() and (found.end[own] == number).all()
            triples = triples_of(np.stack([found.subject, found.predicate, found.object])[:, own], known)
            yield triples, [each for of, each in reasoner.conflicts if of == -1 - number]


# --- the comparison ------------------------------------------------------------------------


class Comparable:
    """Triples of both sides in one form: blank nodes of the case by name, invented ones by their use,
    literals as pyoxigraph keeps them."""

    def __init__(self, case: ClosureCase) -> None:
        everything = [*case.static, *case.passing, *(t for each in case.elements for t in each)]
        self.given = {term for triple in everything for term in triple if isinstance(term, BlankNode)}
        self.stored: dict[Literal, Literal] = {}

    def term(self, term: Term) -> Term:
        if term in self.given:
            return NamedNode(f"urn:blank:{term.value}")
        return self._kept(term) if isinstance(term, Literal) else term

    def _kept(self, literal: Literal) -> Literal:
        if literal not in self.stored:
            store = Store()
            store.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), literal))
            self.stored[literal] = next(iter(store)).object
        return self.stored[literal]

    def graph(self, triples: Iterable[Triple]) -> Counter:
        named = [tuple(map(self.term, triple)) for triple in triples]
        if not any(isinstance(term, BlankNode) for triple in named for term in triple):
            return Counter(tuple(map(str, triple)) for triple in named)
        rows = (dict(zip("123", triple, strict=True)) for triple in named)
        found = canonical((row, None, None) for row in rows)
        return Counter(tuple(text for _, text in row) for row, _, _ in found.elements())

    def conflict(self, rule: str, bindings: Iterable[tuple[str, Term]]) -> tuple:
        shown = ((name, self.term(term)) for name, term in bindings)
        return rule, frozenset((n, "invented" if isinstance(t, BlankNode) else str(t)) for n, t in shown)


def differences(case: ClosureCase, right: Meaning | None = None) -> list[str]:
    """What the engine makes other than the oracle; empty if they agree."""
    right = right or expected(case)
    form, lines = Comparable(case), []
    rules = rules_of(case)
    names = [name for name, _ in case.rules]

    def compare(what: str, wanted: Counter, found: Counter) -> None:
        lines.extend(f"{what} lacks {each}" for each in sorted(map(str, wanted - found))[:5])
        lines.extend(f"{what} has {each}" for each in sorted(map(str, found - wanted))[:5])

    def conflicts(what: str, wanted, found: Iterable[Conflict]) -> None:
        said = Counter({form.conflict(names[rule], solution) for rule, solution in wanted})
        compare(what, said, Counter({form.conflict(each.rule, each.bindings) for each in found}))

    closure = closed_in_engine(case, rules)
    static = triples_of(closure.triples, closure.terms)
    compare("the closure", form.graph(right.static), form.graph(static))
    inferred = triples_of(closure.inferred, closure.terms)
    compare("what is inferred", form.graph(right.static - set(case.static)), form.graph(inferred))
    conflicts("the static knowledge", right.conflicts, closure.conflicts())
    if lines:
        return lines
    both = zip(right.elements, right.element_conflicts, strict=True)
    engine = elements_in_engine(case, rules, closure)
    for number, (((wanted, _, _), clashes), (found, told)) in enumerate(zip(both, engine, strict=True)):
        compare(f"element {number}", form.graph(right.static | wanted), form.graph({*static, *found}))
        if len(found) != len(wanted):
            lines.append(f"element {number} has {len(found)} triples, {len(wanted)} are right")
        conflicts(f"element {number}", clashes, told)
    return lines


def disagreement(case: ClosureCase) -> list[str] | None:
    """The same; None if the fixpoint is too large."""
    try:
        right = expected(case)
    except NoFixpoint:
        return None
    return differences(case, right)


# --- making a failing case small -----------------------------------------------------------


def shrunk(case: ClosureCase) -> ClosureCase:
    """A smallest case, by leaving out one thing at a time, that still fails."""
    while True:
        for smaller in simpler(case):
            if disagreement(smaller):
                case = smaller
                break
        else:
            return case


def simpler(case: ClosureCase) -> Iterator[ClosureCase]:
    """The case without one rule, element or triple, or handed over more simply."""
    for each in ("portions", "batches", "leaving"):
        if getattr(case, each):
            yield replace(case, **{each: ()})
    for each in ("representatives", "specialise", "transitive"):
        if getattr(case.options, each):
            yield replace(case, options=replace(case.options, **{each: False}))
    for half in (case.rules[::2], case.rules[1::2], *_without(case.rules)):
        if half and len(half) < len(case.rules):
            yield replace(case, rules=half)
    for static in _without(case.static):
        yield replace(case, static=static, portions=tuple(min(cut, len(static)) for cut in case.portions))
    for fewer in _without(case.passing):
        yield replace(case, passing=fewer, leaving=tuple(min(cut, len(fewer)) for cut in case.leaving))
    for elements in _without(case.elements):
        yield replace(case, elements=elements, batches=tuple(min(c, len(elements)) for c in case.batches))
    for place, triples in enumerate(case.elements):
        for fewer in _without(triples):
            yield replace(case, elements=(*case.elements[:place], fewer, *case.elements[place + 1 :]))


def _without(items: tuple) -> Iterator[tuple]:
    for place in range(len(items)):
        yield items[:place] + items[place + 1 :]

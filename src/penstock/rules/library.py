"""The rules that come with Penstock: texts in `library/`, a file for each, and the regimes that have them.

A rule exists once, whatever the number of regimes; its header says which have it and what they call it.
A set of rules is made of regimes, rules of the library by their names, and files of one's own, which add
rules, replace those of the same name and drop others.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.errors import Finding, QueryError, UsageError, is_there
from penstock.rules.reading import Drop, RuleText, files_at, read_file
from penstock.rules.rule import REGIMES, Rule

DIRECTORY = Path(__file__).parent / "library"
DESCRIPTIONS = {
    "rdf": "RDF 1.1 Semantics: the entailment patterns of section 8.1.1 and RDF's axiomatic triples",
    "rdfs": "RDF 1.1 Semantics: RDF, the entailment patterns of section 9.2.1 and RDFS's axiomatic triples",
    "rhodf": "ρdf, the core of RDFS: table 1 of Muñoz, Pérez and Gutierrez, 2009",
    "dstar": "D*, RDFS with datatypes: table 4 of ter Horst, 2005",
    "p": "P, a part of OWL that goes with D*: table 7 of ter Horst, 2005",
    "owl2-rl": "OWL 2 RL/RDF: tables 4–9 of OWL 2 Profiles, with its conditions for contradictions",
    "swclos2": "SWCLOS2: the additional and the unsatisfiability rules of its manual, tables 13.4 and 13.5",
    "owl2-direct": "Our own, for queries with class expressions: what OWL 2 RL leaves out, to go with it",
}
assert tuple(DESCRIPTIONS) == REGIMES


@dataclass(frozen=True)
class Entry:
    """What the header of a rule of the library says."""

    name: str
    regimes: tuple[tuple[str, str], ...]  # that have it, and what it is called there
    meaning: str
    is_check: bool  # whether it finds contradictions

    def called(self, regime: str) -> tuple[str, ...]:
        """What a regime calls it; nothing if it is none of its rules."""
        return tuple(alias for each, alias in self.regimes if each == regime)


@cache
def entries() -> dict[str, Entry]:
    """The rules of the library by name.

    A look at the first lines only: nobody parses a hundred rules to use one.
    """
    found = {}
    for path in sorted(DIRECTORY.glob("*.rq"), key=lambda path: natural(path.stem)):
        with path.open(encoding="utf-8") as file:
            (_, name), (_, regimes), (kind, meaning) = (_said(file.readline()) for _ in range(3))
        aliases_in = tuple(
            (regime, alias)
            for regime, aliases in re.findall(r"([^\s,()]+)(?: \(([^()]*)\))?", regimes)
            for alias in (aliases or name).split(", ")
        )
        found[name] = Entry(name, aliases_in, meaning, kind == "contradiction")
    return found


def _said(line: str) -> tuple[str, str]:
    key, _, value = line.removeprefix("# ").partition(": ")
    return key, value.strip()


def natural(name: str) -> list[str | int]:
    """A key that sorts rdfs2 before rdfs10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@cache
def rule(name: str) -> Rule:
    """A rule of the library by its name."""
    [found] = read_file(DIRECTORY / f"{name}.rq").rules
    return found


def regime(name: str) -> tuple[Rule, ...]:
    """The rules of a regime."""
    return tuple(rule(entry.name) for entry in entries_of(name))


def entries_of(regime: str) -> list[Entry]:
    """What the rules of a regime say of themselves."""
    if regime not in REGIMES:
        hint = _hint(regime, REGIMES) or f"the regimes are {', '.join(REGIMES)}"
        raise UsageError(f"there is no regime {regime!r}", hint=hint)
    return [entry for entry in entries().values() if entry.called(regime)]


def named(name: str) -> tuple[Rule, ...]:
    """The rules that are called so: the one of that name, else those that regimes call so."""
    if not (found := _called_so(name)):
        hint = _hint(name, _all_names()) or "penstock rules list shows them"
        raise UsageError(f"there is no rule {name!r}", hint=hint)
    return found


def _called_so(name: str) -> tuple[Rule, ...]:
    if name in entries():
        return (rule(name),)
    found = (entry.name for entry in entries().values() if name in (alias for _, alias in entry.regimes))
    return tuple(map(rule, found))


def _all_names() -> set[str]:
    return {*entries(), *(alias for entry in entries().values() for _, alias in entry.regimes)}


def _hint(name: str, known: Iterable[str]) -> str | None:
    """The names that are nearest to one that is not known."""
    by_case = {each.lower(): each for each in sorted(known)}
    close = [by_case[each] for each in difflib.get_close_matches(name.lower(), by_case, 3, 0.7)]
    close = close or [by_case[each] for each in by_case if each.startswith(name.lower())][:3]
    return f"did you mean {' or '.join(close)}?" if close else None


def ruleset(wanted: Iterable[str | Path], texts: Iterable[RuleText] = ()) -> list[Rule]:
    """The rules that regimes, names of the library's rules, files and directories make together.

    Regimes and rules of the library come first, wherever they stand. Then each file in its turn, and after
    them `texts`: their rules replace those that are called the same, or are added, and those that they
    drop go.
    """
    rules: dict[str, Rule] = {}
    files: list[Path] = []
    for each in wanted:
        if isinstance(each, str) and not _is_path(each):
            rules |= {rule.name: rule for rule in _from_library(each)}
        elif is_there(each):
            files += files_at(Path(each))
        else:
            raise UsageError(f"there is no file with rules {each}")
    for found in (*(read_file(path, only_rules=True) for path in files), *texts):
        for drop in found.drops:
            del rules[_dropped(drop, rules)]
        for rule in found.rules:
            rules = _with(rules, rule)
    return list(rules.values())


def _is_path(text: str) -> bool:
    """Whether a text is meant as a path: it names a place, or is there, and is no regime."""
    if text in REGIMES:
        return False
    return "/" in text or text.endswith((".rq", ".ru")) or is_there(text)


def _from_library(name: str) -> Iterable[Rule]:
    if name in REGIMES:
        return regime(name)
    if found := _called_so(name):
        return found
    hint = _hint(name, {*REGIMES, *_all_names()}) or f"the regimes are {', '.join(REGIMES)}"
    raise UsageError(f"there is no regime, no rule and no file {name!r}", hint=hint)


def _called(name: str, rules: dict[str, Rule]) -> Iterator[str]:
    """The names of the rules that are called so: by name, else by what a regime calls them."""
    if name in rules:
        yield name
    else:
        yield from (each.name for each in rules.values() if name in each.names)


def _dropped(drop: Drop, rules: dict[str, Rule]) -> str:
    found = list(_called(drop.name, rules))
    if len(found) == 1:
        return found[0]
    if found:
        message, hint = f"{drop.name} is what several rules are called", f"name one: {', '.join(found)}"
    else:
        message = f"there is no rule {drop.name!r} to drop"
        hint = _hint(drop.name, {name for each in rules.values() for name in each.names})
    raise QueryError(message, hint=hint, span=drop.span, text=drop.text, origin=drop.origin)


def unknown_drops(drops: Iterable[Drop]) -> Iterator[Finding]:
    """What is dropped and is no rule of the library."""
    for drop in drops:
        if not _called_so(drop.name):
            hint = _hint(drop.name, _all_names()) or "penstock rules list shows the regimes and their rules"
            yield Finding("unknown-rule", f"the library has no rule {drop.name!r} to drop", hint, drop.span)


def _with(rules: dict[str, Rule], rule: Rule) -> dict[str, Rule]:
    """The rules with one more, which stands in the place of those that it replaces."""
    replaced = set(_called(rule.name, rules))
    if not replaced:
        return rules | {rule.name: rule}
    made: dict[str, Rule] = {}
    for name, each in rules.items():
        if name not in replaced:
            made[name] = each
        elif rule.name not in made:
            made[rule.name] = rule
    return made

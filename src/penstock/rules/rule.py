"""What a rule is: a name, what it means, and statements of SPARQL that say it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.nodes import ParsedQuery, ParsedRule

REGIMES = ("rdf", "rdfs", "rhodf", "dstar", "p", "owl2-rl", "swclos2", "owl2-direct")
"""The names of the regimes: sets of rules that specifications and papers define."""

SURROGATES = "urn:penstock:literal#"
"""IRIs that stand for literals where RDF has none, as subjects: internal to rules, no query sees them."""


@dataclass(frozen=True)
class Rule:
    """A rule of some regimes, or of a user's own.

    It adds what its INSERTs say. An unsatisfiability condition has SELECTs instead: each solution of
    theirs is a contradiction.
    """

    name: str
    inserts: tuple[ParsedRule, ...] = ()
    checks: tuple[ParsedQuery, ...] = ()
    meaning: str = ""  # in a sentence; of a check, what is contradictory
    regimes: tuple[tuple[str, str], ...] = ()  # that have it, and what it is called there
    origin: str | None = None
    text: str = ""  # its own, header included

    @property
    def names(self) -> tuple[str, ...]:
        """All that it is called: its name, then what regimes call it."""
        return tuple(dict.fromkeys((self.name, *(alias for _, alias in self.regimes))))

"""What a query language is: its grammar, its translation, and what its authors are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.algebra.nodes import ParsedQuery, ParsedRule, Statement
from penstock.languages.foreign import Foreign

if TYPE_CHECKING:
    from penstock.languages.queries import SparqlTranslator

StandsFor = Callable[[Statement], tuple[ParsedQuery | ParsedRule, ...]]


@dataclass(frozen=True)
class Hints:
    """Words of a language that errors know the place of."""

    begin: tuple[str, ...]  # with which a statement begins
    after_braces: tuple[str, ...]  # stand after WHERE { … }
    in_braces: tuple[str, ...]  # stand inside them
    foreign: tuple[Foreign, ...]  # languages that it is taken for, and what one writes instead
    refused: tuple[tuple[str, str], ...] = ()  # words of statements that are not read, and what one does
    unread: tuple[tuple[str, str, str], ...] = ()  # other such words, what they say, and what one does


@dataclass(frozen=True)
class Language:
    """A query language.

    `grammars` are files, each extends those before; `start` is the rule of a whole module. The
    `translator` makes a statement of each of its trees that is no declaration of a prologue. Queries and
    rules run as they are; `kinds` has its other kinds of statements, each with what says which of these
    it stands for. A kind that is not there is refused by its name.
    """

    name: str  # in --language
    title: str  # in messages
    grammars: tuple[str, ...]
    translator: type[SparqlTranslator]
    hints: Hints
    endings: tuple[str, ...] = ()  # of file names
    start: str = "module"
    kinds: tuple[tuple[type[Statement], StandsFor], ...] = ()

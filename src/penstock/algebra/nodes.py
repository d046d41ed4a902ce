"""The timed algebra: frozen nodes over timed solution mappings ⟨μ, [t₁, t₂]⟩.

One class per operator of SPARQL 1.1 (section 18 of the recommendation) and of EP-SPARQL
(section 4.2 of the paper). Nodes are values: equal nodes mean equal results, which is
how several queries come to share their common parts. Here are queries and rules; expressions are in `base`,
paths in `paths`, graph patterns in `patterns`, and all of them can be had from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

from penstock.algebra.base import *  # noqa: F403
from penstock.algebra.base import Node, TermOrVar, Var, depth_of, node
from penstock.algebra.following import *  # noqa: F403
from penstock.algebra.paths import *  # noqa: F403
from penstock.algebra.patterns import *  # noqa: F403
from penstock.algebra.patterns import Pattern, TriplePattern
from penstock.algebra.scopes import STREAM, Scope
from penstock.algebra.sequences import *  # noqa: F403
from penstock.algebra.windows import Continuous
from penstock.errors import Span
from penstock.terms import NamedNode

# --- queries -----------------------------------------------------------------------------
#
# The scope of a query, where it is not the stream, holds for all of it: with ELEMENT the query is evaluated
# for each element by itself, over its triples and static knowledge (decision 0008: event mode).
# A query that is `continuous` is evaluated over what its windows show at the instants at which they report
# (decision 0013). A CONSTRUCT that is, writes into the stream `target`, which others may name; without one it
# is only given.


@node
class Dataset(Node):
    """FROM and FROM NAMED. `None`: the query has no dataset clause at all."""

    default: tuple[NamedNode, ...]
    named: tuple[NamedNode, ...]


@node
class Select(Node):
    """`pattern` includes the projection and all solution modifiers; `vars` in their order."""

    pattern: Pattern
    vars: tuple[Var, ...]
    dataset: Dataset | None = None
    scope: Scope = STREAM
    continuous: Continuous | None = None


@node
class Construct(Node):
    """`template` may hold blank nodes: they are fresh in each solution.

    As a rule it writes into the graph `target`; None: into the default graph of every query. If these
    are `internal` of rules, a predicate may be any term.
    """

    pattern: Pattern
    template: tuple[TriplePattern, ...]
    dataset: Dataset | None = None
    target: NamedNode | None = None
    internal: bool = False
    scope: Scope = STREAM
    continuous: Continuous | None = None


@node
class Ask(Node):
    pattern: Pattern
    dataset: Dataset | None = None
    scope: Scope = STREAM
    continuous: Continuous | None = None


@node
class Describe(Node):
    """`subjects` are the terms and variables after DESCRIBE (all visible ones for `*`)."""

    pattern: Pattern
    subjects: tuple[TermOrVar, ...]
    dataset: Dataset | None = None
    scope: Scope = STREAM
    continuous: Continuous | None = None


Query = Union[Select, Construct, Ask, Describe]


def is_rule(query: Query) -> bool:
    """Whether other queries may read what it constructs.

    What is made of one element is only given, and so is what windows make, unless it is a stream with a name.
    """
    if not isinstance(query, Construct) or query.scope != STREAM:
        return False
    return query.continuous is None or query.target is not None


# --- rules -------------------------------------------------------------------------------


@node
class QuadPattern(Node):
    """A triple of a rule's template, and the graph that it is put into (None: the default graph)."""

    graph: TermOrVar | None
    triple: TriplePattern


@node
class Insert(Node):
    """`INSERT { template } WHERE { pattern }`; INSERT DATA has the empty group as its pattern.

    `template` may hold blank nodes: they are invented for each solution.
    """

    pattern: Pattern
    template: tuple[QuadPattern, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a module, and where it came from.

    What it says is in the fields that its kind adds. A language that has declarations brings a kind for
    each, a subclass, and says what it stands for (`Language.kinds`).
    """

    text: str  # of the whole module: places are places in it
    place: Span  # where the statement begins
    extent: tuple[int, int] = (0, 0)  # the stretch of the text that it is
    origin: str | None = None
    language: str
    name: str | None = None  # as its author calls it, or after its file; not yet distinct
    prefixes: tuple[tuple[str, str], ...] = ()  # that hold for it
    spans: tuple[tuple[Var, Span], ...] = ()  # where each named variable stands first

    @property
    def depth(self) -> int:
        """How many levels of nodes it is."""
        return depth_of(tuple(vars(self).values()))


@dataclass(frozen=True, kw_only=True)
class ParsedQuery(Statement):
    """A statement that runs: a query, or a rule (CONSTRUCT, whose triples other queries read)."""

    query: Query
    window_places: tuple[Span, ...] = ()  # where its windows, if it has some, say what they hold
    stream: NamedNode | None = None  # that it is registered as, whether it makes triples or not


@dataclass(frozen=True, kw_only=True)
class ParsedRule(Statement):
    """An INSERT of SPARQL Update: what it says holds whenever its pattern does."""

    insert: Insert


def with_scope(parsed: ParsedQuery, scope: Scope) -> ParsedQuery:
    """The same with a scope for the whole query; a continuous query looks at its windows anyway."""
    if parsed.query.continuous is not None:
        return parsed
    return replace(parsed, query=replace(parsed.query, scope=scope))


@dataclass(frozen=True, kw_only=True)
class Module:
    """What a file holds: its statements, in their order."""

    statements: tuple[Statement, ...]
    text: str
    origin: str | None = None
    language: str

    @property
    def queries(self) -> tuple[ParsedQuery, ...]:
        """The statements that run."""
        return tuple(each for each in self.statements if isinstance(each, ParsedQuery))

    @property
    def rules(self) -> tuple[ParsedRule, ...]:
        """The statements that say what follows from what."""
        return tuple(each for each in self.statements if isinstance(each, ParsedRule))

"""The timed algebra: frozen nodes over timed solution mappings ⟨μ, [t₁, t₂]⟩.

One class per operator of SPARQL 1.1 (section 18 of the recommendation) and of EP-SPARQL
(section 4.2 of the paper). Nodes are values: equal nodes mean equal results, which is
how several queries come to share their common parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Union, dataclass_transform

from penstock.algebra.relations import ANY, ENDED, HULL, IntervalRule, Relation, Side
from penstock.errors import Span
from penstock.terms import NamedNode, Term


class Node:
    """The base of all nodes. The hash is computed once, and so is what analyses find out (`facts`)."""

    depth: ClassVar[int]  # how many levels of nodes it is

    @cached_property
    def facts(self) -> dict:
        """What is known of the node; no part of its value."""
        return {}

    def __post_init__(self) -> None:
        # At once, because those of the parts are known: later it would recur to the leaves.
        values = tuple(self.__dict__.values())
        self.__dict__["_hash"] = hash((type(self), *values))
        self.__dict__["depth"] = 1 + _depth(values)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)  # texts have other hashes in another process
        self.__post_init__()


def _depth(values: tuple) -> int:
    """The depth of the deepest node among these values."""
    deepest = 0
    for value in values:
        if isinstance(value, Node):
            deepest = max(deepest, value.depth)
        elif isinstance(value, tuple) and value:
            deepest = max(deepest, _depth(value))
    return deepest


@dataclass_transform(frozen_default=True)
def _node(cls):
    """A frozen dataclass that keeps the cached hash of `Node`."""
    cls = dataclass(frozen=True, eq=True)(cls)
    cls.__hash__ = Node.__hash__
    return cls


@_node
class Var(Node):
    """A variable. Names that start with `.` are ours (blank nodes, fresh variables)."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"

    @property
    def hidden(self) -> bool:
        return self.name.startswith(".")


TermOrVar = Union[Term, Var]


# --- expressions -------------------------------------------------------------------------


@_node
class Call(Node):
    """An operator, built-in or cast: `Call("<", (a, b))`, `Call("STRLEN", (a,))`.

    Names: || && ! = != < > <= >= + - * / UPLUS UMINUS IN NOTIN, the SPARQL built-ins in
    upper case (BOUND, IF, COALESCE, STR, …, also GETDURATION, GETSTARTTIME, GETENDTIME),
    or the IRI of a cast or extension function in angle brackets.
    """

    name: str
    args: tuple["Expression", ...] = ()


@_node
class Exists(Node):
    """`EXISTS { pattern }`; NOT EXISTS is `Call("!", (Exists(p),))`."""

    pattern: "Pattern"


@_node
class Aggregate(Node):
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; COUNT(*) has no argument."""

    name: str
    argument: "Expression | None" = None
    distinct: bool = False
    separator: str | None = None


Expression = Union[Var, Term, Call, Exists, Aggregate]

TIME_FUNCTIONS = ("GETDURATION", "GETSTARTTIME", "GETENDTIME")


# --- property paths ----------------------------------------------------------------------


@_node
class Inverse(Node):
    path: "Path"


@_node
class Sequence(Node):
    left: "Path"
    right: "Path"


@_node
class Alternative(Node):
    left: "Path"
    right: "Path"


@_node
class ZeroOrMore(Node):
    path: "Path"


@_node
class OneOrMore(Node):
    path: "Path"


@_node
class ZeroOrOne(Node):
    path: "Path"


@_node
class NegatedSet(Node):
    """`!(a|^b)`: any predicate but these forwards, any but those backwards.

    A direction that is not mentioned is None: `!(a)` does not look backwards.
    """

    forward: tuple[NamedNode, ...] | None
    backward: tuple[NamedNode, ...] | None = None


Path = Union[NamedNode, Inverse, Sequence, Alternative, ZeroOrMore, OneOrMore, ZeroOrOne, NegatedSet]


# --- graph patterns ----------------------------------------------------------------------


@_node
class TriplePattern(Node):
    subject: TermOrVar
    predicate: TermOrVar
    object: TermOrVar

    def __iter__(self):
        return iter((self.subject, self.predicate, self.object))


@_node
class BGP(Node):
    """Triples that may come from several stream elements; the interval is their hull.

    `BGP(())` is the unit: one empty, timeless solution.
    """

    triples: tuple[TriplePattern, ...]


@_node
class PathPattern(Node):
    """A property path that is not a plain predicate."""

    subject: TermOrVar
    path: Path
    object: TermOrVar


@_node
class Join(Node):
    """Compatible solutions whose intervals are in a relation; `interval` says which one they get.

    Join, `left SEQ right` (SeqJoin), `left EQUALS right` (EqJoin).
    """

    left: "Pattern"
    right: "Pattern"
    relation: Relation = ANY
    interval: IntervalRule = HULL

    @property
    def name(self) -> str:
        return self.relation.join_name()

    @property
    def word(self) -> str:
        return "Join" if self.relation == ANY else self.relation.name


@_node
class OuterJoin(Node):
    """The same, but solutions of the required side without a partner stay as they are.

    OPTIONAL (LeftJoin: the right side counts if it ended not later), `left OPTIONALSEQ right`
    (SeqRightJoin: the *left* side is optional and lies before), `left EQUALSOPTIONAL right`
    (EqLeftJoin: the right side is optional and simultaneous). The relation reads (left, right).
    """

    left: "Pattern"
    right: "Pattern"
    relation: Relation = ENDED
    optional: Side = Side.RIGHT
    condition: Expression | None = None

    @property
    def name(self) -> str:
        return self.relation.outer_name(self.optional)

    @property
    def word(self) -> str:
        return self.relation.outer_word(self.optional)


@_node
class Union_(Node):
    left: "Pattern"
    right: "Pattern"


@_node
class Minus(Node):
    left: "Pattern"
    right: "Pattern"


@_node
class Filter(Node):
    condition: Expression
    pattern: "Pattern"


@_node
class Extend(Node):
    pattern: "Pattern"
    var: Var
    expression: Expression


@_node
class Graph(Node):
    name: NamedNode | Var
    pattern: "Pattern"


@_node
class Values(Node):
    """Inline data; None is UNDEF. Its solutions are timeless."""

    vars: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@_node
class Group(Node):
    """GROUP BY over the solutions that complete at one instant.

    `keys` are (variable, expression) pairs; a plain variable has itself as expression, an
    unnamed expression a hidden variable. No keys: one implicit group per instant.
    `aggregates` bind hidden variables.
    """

    pattern: "Pattern"
    keys: tuple[tuple[Var, Expression], ...]
    aggregates: tuple[tuple[Var, Aggregate], ...]


@_node
class OrderBy(Node):
    """Each key is (expression, descending). Applies within one instant."""

    pattern: "Pattern"
    keys: tuple[tuple[Expression, bool], ...]


@_node
class Project(Node):
    pattern: "Pattern"
    vars: tuple[Var, ...]


@_node
class Distinct(Node):
    pattern: "Pattern"


@_node
class Reduced(Node):
    pattern: "Pattern"


@_node
class Slice(Node):
    """OFFSET and LIMIT within one instant."""

    pattern: "Pattern"
    offset: int = 0
    limit: int | None = None


Pattern = Union[
    BGP,
    PathPattern,
    Join,
    OuterJoin,
    Union_,
    Minus,
    Filter,
    Extend,
    Graph,
    Values,
    Group,
    OrderBy,
    Project,
    Distinct,
    Reduced,
    Slice,
]


# --- queries -----------------------------------------------------------------------------


@_node
class Dataset(Node):
    """FROM and FROM NAMED. `None`: the query has no dataset clause at all."""

    default: tuple[NamedNode, ...]
    named: tuple[NamedNode, ...]


@_node
class Select(Node):
    """`pattern` includes the projection and all solution modifiers; `vars` in their order."""

    pattern: Pattern
    vars: tuple[Var, ...]
    dataset: Dataset | None = None


@_node
class Construct(Node):
    """`template` may hold blank nodes: they are fresh in each solution.

    As a rule it writes into the graph `target`; None: into the default graph of every query.
    """

    pattern: Pattern
    template: tuple[TriplePattern, ...]
    dataset: Dataset | None = None
    target: NamedNode | None = None


@_node
class Ask(Node):
    pattern: Pattern
    dataset: Dataset | None = None


@_node
class Describe(Node):
    """`subjects` are the terms and variables after DESCRIBE (all visible ones for `*`)."""

    pattern: Pattern
    subjects: tuple[TermOrVar, ...]
    dataset: Dataset | None = None


Query = Union[Select, Construct, Ask, Describe]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a module, and where it came from.

    What it says is in the fields that its kind adds. A language that has declarations or registrations
    brings a kind for each: a subclass of this one, or of `ParsedQuery` if it runs.
    """

    text: str  # of the whole module: places are places in it
    place: Span  # where the statement begins
    written: str  # the statement's own part of the text
    origin: str | None = None
    language: str
    name: str | None = None  # as its author calls it, or after its file; not yet distinct
    prefixes: tuple[tuple[str, str], ...] = ()  # that hold for it
    base: str | None = None  # that holds for it
    spans: tuple[tuple[Var, Span], ...] = ()  # where each named variable stands first

    @property
    def depth(self) -> int:
        """How many levels of nodes it is."""
        return _depth(tuple(vars(self).values()))


@dataclass(frozen=True, kw_only=True)
class ParsedQuery(Statement):
    """A statement that runs: a query, or a rule (CONSTRUCT, whose triples other queries read)."""

    query: Query


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

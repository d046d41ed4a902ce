"""The timed algebra: frozen nodes over timed solution mappings ⟨μ, [t₁, t₂]⟩.

One class per operator of SPARQL 1.1 (section 18 of the recommendation) and of EP-SPARQL
(section 4.2 of the paper). Nodes are values: equal nodes mean equal results, which is
how several queries come to share their common parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from penstock.errors import Span
from penstock.terms import NamedNode, Term


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. Names that start with `.` are ours (blank nodes, fresh variables)."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"

    @property
    def hidden(self) -> bool:
        return self.name.startswith(".")


TermOrVar = Union[Term, Var]


# --- expressions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, built-in or cast: `Call("<", (a, b))`, `Call("STRLEN", (a,))`.

    Names: || && ! = != < > <= >= + - * / UPLUS UMINUS IN NOTIN, the SPARQL built-ins in
    upper case (BOUND, IF, COALESCE, STR, …, also GETDURATION, GETSTARTTIME, GETENDTIME),
    or the IRI of a cast or extension function in angle brackets.
    """

    name: str
    args: tuple["Expression", ...] = ()


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS { pattern }`; NOT EXISTS is `Call("!", (Exists(p),))`."""

    pattern: "Pattern"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; COUNT(*) has no argument."""

    name: str
    argument: "Expression | None" = None
    distinct: bool = False
    separator: str | None = None


Expression = Union[Var, Term, Call, Exists, Aggregate]

TIME_FUNCTIONS = ("GETDURATION", "GETSTARTTIME", "GETENDTIME")


# --- property paths ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inverse:
    path: "Path"


@dataclass(frozen=True, slots=True)
class Sequence:
    left: "Path"
    right: "Path"


@dataclass(frozen=True, slots=True)
class Alternative:
    left: "Path"
    right: "Path"


@dataclass(frozen=True, slots=True)
class ZeroOrMore:
    path: "Path"


@dataclass(frozen=True, slots=True)
class OneOrMore:
    path: "Path"


@dataclass(frozen=True, slots=True)
class ZeroOrOne:
    path: "Path"


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """`!(a|^b)`: any predicate but these forwards, any but those backwards.

    A direction that is not mentioned is None: `!(a)` does not look backwards.
    """

    forward: tuple[NamedNode, ...] | None
    backward: tuple[NamedNode, ...] | None = None


Path = Union[NamedNode, Inverse, Sequence, Alternative, ZeroOrMore, OneOrMore, ZeroOrOne, NegatedSet]


# --- graph patterns ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriplePattern:
    subject: TermOrVar
    predicate: TermOrVar
    object: TermOrVar

    def __iter__(self):
        return iter((self.subject, self.predicate, self.object))


@dataclass(frozen=True, slots=True)
class BGP:
    """Triples that may come from several stream elements; the interval is their hull.

    `BGP(())` is the unit: one empty, timeless solution.
    """

    triples: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A property path that is not a plain predicate."""

    subject: TermOrVar
    path: Path
    object: TermOrVar


@dataclass(frozen=True, slots=True)
class Join:
    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL: the right side counts if it ended not later than the left solution."""

    left: "Pattern"
    right: "Pattern"
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class SeqJoin:
    """`left SEQ right`: left ends strictly before right starts."""

    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class EqJoin:
    """`left EQUALS right`: both have the same interval."""

    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class SeqRightJoin:
    """`left OPTIONALSEQ right`: the *left* side is optional and lies before."""

    left: "Pattern"
    right: "Pattern"
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class EqLeftJoin:
    """`left EQUALSOPTIONAL right`: the right side is optional and simultaneous."""

    left: "Pattern"
    right: "Pattern"
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union_:
    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class Minus:
    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expression
    pattern: "Pattern"


@dataclass(frozen=True, slots=True)
class Extend:
    pattern: "Pattern"
    var: Var
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    name: NamedNode | Var
    pattern: "Pattern"


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data; None is UNDEF. Its solutions are timeless."""

    vars: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY over the solutions that complete at one instant.

    `keys` are (variable, expression) pairs; a plain variable has itself as expression, an
    unnamed expression a hidden variable. No keys: one implicit group per instant.
    `aggregates` bind hidden variables.
    """

    pattern: "Pattern"
    keys: tuple[tuple[Var, Expression], ...]
    aggregates: tuple[tuple[Var, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class OrderBy:
    """Each key is (expression, descending). Applies within one instant."""

    pattern: "Pattern"
    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class Project:
    pattern: "Pattern"
    vars: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    pattern: "Pattern"


@dataclass(frozen=True, slots=True)
class Reduced:
    pattern: "Pattern"


@dataclass(frozen=True, slots=True)
class Slice:
    """OFFSET and LIMIT within one instant."""

    pattern: "Pattern"
    offset: int = 0
    limit: int | None = None


Pattern = Union[
    BGP,
    PathPattern,
    Join,
    LeftJoin,
    SeqJoin,
    EqJoin,
    SeqRightJoin,
    EqLeftJoin,
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


@dataclass(frozen=True, slots=True)
class Dataset:
    """FROM and FROM NAMED. `None`: the query has no dataset clause at all."""

    default: tuple[NamedNode, ...]
    named: tuple[NamedNode, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """`pattern` includes the projection and all solution modifiers; `vars` in their order."""

    pattern: Pattern
    vars: tuple[Var, ...]
    dataset: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Construct:
    """`template` may hold blank nodes: they are fresh in each solution."""

    pattern: Pattern
    template: tuple[TriplePattern, ...]
    dataset: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    pattern: Pattern
    dataset: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    """`subjects` are the terms and variables after DESCRIBE (all visible ones for `*`)."""

    pattern: Pattern
    subjects: tuple[TermOrVar, ...]
    dataset: Dataset | None = None


Query = Union[Select, Construct, Ask, Describe]


@dataclass(frozen=True)
class ParsedQuery:
    """A query as the languages hand it over: the algebra, and where it came from."""

    query: Query
    text: str
    origin: str | None = None
    language: str = "ep-sparql"
    prefixes: tuple[tuple[str, str], ...] = ()
    spans: tuple[tuple[Var, Span], ...] = ()  # where each named variable stands first

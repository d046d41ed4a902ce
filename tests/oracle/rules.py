"""What rules mean: the naive fixpoint of their texts, in a SPARQL engine that is not ours.

A rule is SPARQL text: `INSERT … WHERE …`, several of them with `;` between, or a SELECT each of whose
solutions is a contradiction. Every INSERT is applied to everything, over and over, until nothing is new.
pyoxigraph reads and runs the texts; what is here is only the loop, and two definitions that SPARQL Update
does not have: what a blank node of a template stands for, and what a stream element's consequences are.

pyoxigraph keeps numbers and times by value ("01"^^xsd:integer comes out as 1, xsd:int as xsd:integer),
so `kept` says which terms come out of it as they went in; cases are made of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Store, parse

from oracle.closure import closure
from oracle.model import TimedDataset, Triple
from penstock.languages import parse_query
from penstock.terms import Term

MOST_QUADS = 20_000
"""More than any case of ours needs: the rules make terms without end."""

Solution = frozenset[tuple[str, Term]]


class NoFixpoint(Exception):
    """The rules make terms without end."""


# --- texts ---------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<iri><[^<>"{}|^`\\\s]*>)
      | (?P<string>\"{3}.*?(?<!\\)\"{3} | '{3}.*?(?<!\\)'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
      | (?P<blank>_:[\w.·-]*[\w·-] | \[)
      | (?P<variable>[?$]\w+)
      | (?P<brace>[{}])
      | (?P<prologue>(?:PREFIX\s+\S*?:|BASE)\s*<[^>]*>)
      | (?P<word>\w+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Operation:
    """One statement of a rule, with the prologue that holds for it."""

    prologue: str
    text: str
    template: str = ""  # what stands in the braces after INSERT
    where: str = ""  # the rest, from WHERE on

    @property
    def asks(self) -> bool:
        return not self.template

    @property
    def invents(self) -> bool:
        """Whether its template has blank nodes."""
        return bool(self.where) and any(m.lastgroup == "blank" for m in _TOKEN.finditer(self.template))


@lru_cache(maxsize=None)
def operations(text: str) -> tuple[Operation, ...]:
    """The statements of a rule's text."""
    prologue, pieces, depth = "", [""], 0
    for token in _TOKEN.finditer(text):
        kind, said = token.lastgroup, token.group()
        if kind == "comment":
            continue
        if kind == "prologue" and depth == 0:
            prologue += said + "\n"
            continue
        if depth == 0 and (said == ";" or kind == "word" and said.upper() in ("INSERT", "SELECT")):
            pieces.append("")
        depth += {"{": 1, "}": -1}.get(said, 0)
        pieces[-1] += "" if said == ";" and depth == 0 else said
    return tuple(_operation(prologue, piece.strip()) for piece in pieces if piece.strip())


def _operation(prologue: str, text: str) -> Operation:
    word = re.match(r"\w+", text).group().upper()
    if word == "SELECT":
        return Operation(prologue, text)
    assert word == "INSERT", f"a rule inserts, or selects contradictions: {text}"
    begin = text.index("{")
    end = _closing(text, begin)
    return Operation(prologue, text, text[begin + 1 : end], text[end + 1 :].strip())


def _closing(text: str, begin: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return token.start()
    raise ValueError(f"braces do not match: {text}")


# --- the fixpoint --------------------------------------------------------------------------


def fixpoint(
    texts: Sequence[str], triples: Iterable[Triple], named: Iterable[Quad] = (), most: int = MOST_QUADS
) -> frozenset[Triple]:
    """The triples of the default graph, and all that the rules derive for it."""
    triples = tuple(triples)
    return shown(default_graph(closed(texts, triples, named, most)), triples)


def closed(
    texts: Sequence[str], triples: Iterable[Triple], named: Iterable[Quad] = (), most: int = MOST_QUADS
) -> Store:
    """A store with these triples in its default graph, closed under the rules."""
    store = Store()
    store.extend([*(Quad(*triple) for triple in triples), *named])
    inserts = [
        (rule, place, each)
        for rule, text in enumerate(texts)
        for place, each in enumerate(operations(text))
        if not each.asks
    ]
    seen = dict.fromkeys(inserts, -1)  # how much there was when it was last applied
    size = len(store)
    while any(seen[insert] != size for insert in inserts):
        for insert in inserts:
            if seen[insert] != size:
                seen[insert] = size
                _apply(*insert, store)
                size = len(store)
                if size > most:
                    raise NoFixpoint(f"{size} quads, and the rules are not done")
    return store


def _apply(rule: int, place: int, insert: Operation, store: Store) -> None:
    if not insert.invents:
        store.update(insert.prologue + insert.text)
        return
    solutions = _solutions(insert.prologue + "SELECT DISTINCT * " + insert.where, store)
    quads = _template(insert.prologue, insert.template)
    for solution in solutions:
        said = sorted((name, str(term)) for name, term in solution.items())
        made = (_instance(quad, solution, f"{rule} {place} {said}") for quad in quads)
        store.extend([quad for quad in made if quad is not None])


def _solutions(text: str, store: Store) -> list[dict[str, Term]]:
    found = store.query(text)
    names = [variable.value for variable in found.variables]
    return [{n: row[n] for n in names if row[n] is not None} for row in list(found)]


VARIABLE = "urn:oracle:variable#"


@lru_cache(maxsize=None)
def _template(prologue: str, template: str) -> tuple[Quad, ...]:
    """The quads of a template, read as Turtle: a variable is an IRI of its name, a blank node is one."""
    said = _TOKEN.sub(
        lambda m: f"<{VARIABLE}{m.group()[1:]}>" if m.lastgroup == "variable" else m.group(), template
    )
    inside = re.compile(r"\bGRAPH\s+<([^>]*)>\s*\{([^{}]*)\}", re.IGNORECASE)
    parts = [(DefaultGraph(), piece) for piece in inside.sub("\0", said).split("\0")]
    parts += [(NamedNode(graph), piece) for graph, piece in inside.findall(said)]
    return tuple(
        Quad(quad.subject, quad.predicate, quad.object, graph)
        for graph, piece in parts
        if piece.strip(" .\n\t")
        for quad in parse(prologue + piece.strip(" .\n\t") + " .", format=RdfFormat.TURTLE)
    )


def _instance(quad: Quad, solution: dict[str, Term], whose: str) -> Quad | None:
    """A quad of a template for one solution; None if that is no RDF.

    A blank node of a template is a new node for each solution; for the same solution of the same rule
    it is the same.
    """
    terms = []
    for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
        if isinstance(term, BlankNode):
            term = BlankNode("i" + blake2b(f"{whose} {term.value}".encode(), digest_size=8).hexdigest())
        elif isinstance(term, NamedNode) and term.value.startswith(VARIABLE):
            term = solution.get(term.value[len(VARIABLE) :])
        terms.append(term)
    subject, predicate, _, graph = terms
    if None in terms or isinstance(subject, Literal) or isinstance(graph, Literal):
        return None
    return Quad(*terms) if isinstance(predicate, NamedNode) else None


def default_graph(store: Store) -> frozenset[Triple]:
    found = store.quads_for_pattern(None, None, None, DefaultGraph())
    return frozenset((quad.subject, quad.predicate, quad.object) for quad in found)


def shown(triples: Iterable[Triple], given: Iterable[Triple] = ()) -> frozenset[Triple]:
    """What is given, and of the rest what has no IRI that stands for a literal: those are internal."""
    given = frozenset(given)
    return given | {triple for triple in triples if not any(map(_stands_for_a_literal, triple))}


def _stands_for_a_literal(term: Term) -> bool:
    return isinstance(term, NamedNode) and term.value.startswith("urn:penstock:literal#")


def contradictions(texts: Sequence[str], store: Store) -> frozenset[tuple[int, Solution]]:
    """What the SELECTs among the rules find in a closed store: which text, and a solution of it."""
    return frozenset(
        (rule, frozenset(solution.items()))
        for rule, text in enumerate(texts)
        for each in operations(text)
        if each.asks
        for solution in _solutions(each.prologue + each.text, store)
    )


def kept(term: Term) -> bool:
    """Whether a store gives this term back as it is."""
    store = Store()
    store.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), term))
    return next(iter(store)).object == term


# --- elements ------------------------------------------------------------------------------

Element = tuple[frozenset[Triple], int, int]
"""Triples, start and end."""


@dataclass(frozen=True)
class Meaning:
    """Static knowledge and elements, closed: what is true always, and what during each element."""

    static: frozenset[Triple]
    elements: tuple[Element, ...]
    conflicts: frozenset[tuple[int, Solution]]  # of the static knowledge
    element_conflicts: tuple[frozenset[tuple[int, Solution]], ...]  # beyond those


def meaning_by_element(
    texts: Sequence[str],
    static: Iterable[Triple],
    elements: Iterable[Element],
    named: Iterable[Quad] = (),
    most: int = MOST_QUADS,
) -> Meaning:
    """Scope *element*: premises are the static knowledge and the triples of one element.

    Each element is closed on its own with the static knowledge. What it says itself, and what follows
    beyond the closure of the static knowledge, has its interval.
    """
    static, named = frozenset(static), tuple(named)
    always = closed(texts, static, named, most)
    timeless, known = shown(default_graph(always), static), contradictions(texts, always)
    closures, conflicts = [], []
    for triples, start, end in elements:
        store = closed(texts, static | triples, named, most)
        closures.append((shown(default_graph(store) - timeless, triples), start, end))
        conflicts.append(contradictions(texts, store) - known)
    return Meaning(timeless, tuple(closures), known, tuple(conflicts))


def meaning_by_stream(texts: Sequence[str], dataset: TimedDataset, within: str | None = None) -> TimedDataset:
    """Scope *stream*: premises may come from several elements, and the consequence has their hull.

    This is the Q-closure under the same rules as CONSTRUCTs; with `within`, a duration in SPARQL's
    notation, the hull is no longer than that. What follows from static knowledge alone has no length.
    """
    bound = f" FILTER(COALESCE(getDURATION() <= {within}, true))" if within else ""
    rules = [
        parse_query(f"{each.prologue}CONSTRUCT {{ {each.template} }} WHERE {{ {_group(each)}{bound} }}").query
        for text in texts
        for each in operations(text)
        if not each.asks
    ]
    return closure(rules, dataset)


def _group(insert: Operation) -> str:
    """What stands in the braces of its WHERE; nothing for INSERT DATA."""
    return insert.where[insert.where.index("{") + 1 : insert.where.rindex("}")] if insert.where else ""

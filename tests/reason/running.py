"""Streams and knowledge for runs with rules, and what the definitions say of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from oracle.notation import triples
from oracle.rules import Meaning, meaning_by_element
from penstock.knowledge.graphs import StaticGraph, graph_of
from penstock.rules.library import ruleset
from penstock.rules.reading import read_rules
from penstock.rules.rule import Rule
from penstock.terms import NamedNode, Term
from penstock.timeline import format_instant, parse_instant

NAMES = (
    "cax-sco scm-sco prp-dom prp-rng prp-trp prp-symp prp-spo2 cls-int1 cax-dw cls-nothing2 eq-sym eq-trans"
    " eq-rep-s eq-rep-o"
)
PREFIXES = (
    "PREFIX : <http://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
    " PREFIX owl: <http://www.w3.org/2002/07/owl#> "
)
OWN = "# name: busy\n# meaning: Who works on two things is busy.\n" + (
    PREFIXES + "INSERT { ?x a :Busy } WHERE { ?x :worksOn ?a, ?b FILTER(?a != ?b) }"
)
ONTOLOGY = """
    :Dog rdfs:subClassOf :Animal . :Cat rdfs:subClassOf :Animal ; owl:disjointWith :Dog .
    :Animal rdfs:subClassOf :Thing . :Thing rdfs:subClassOf :Animal .
    :owns rdfs:domain :Person ; rdfs:range :Animal . :knows a owl:SymmetricProperty .
    :partOf a owl:TransitiveProperty . :hasUncle owl:propertyChainAxiom (:hasParent :hasBrother) .
    :PetOwner owl:intersectionOf (:Person :Happy) .
    :i0 a :Dog ; :partOf :i1 . :i2 a :Happy ; :hasBrother :i3 ; :worksOn :i1 . :i4 owl:sameAs :i5 .
"""
PREDICATES = "owns knows partOf hasParent hasBrother worksOn level".split()
CLASSES = "Dog Cat Person Happy Animal".split()
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
BEGIN = parse_instant("2026-05-01T08:00:00Z")
SECOND = 1_000_000

Triple = tuple[Term, Term, Term]


def ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def rules() -> list[Rule]:
    return ruleset(NAMES.split(), [read_rules(OWN, origin="own.rq")])


@cache  # the nodes of its lists have other names each time it is read
def knowledge() -> frozenset[Triple]:
    return frozenset(triples(PREFIXES + ONTOLOGY))


def graphs(key: int) -> list[StaticGraph]:
    """The knowledge, in two graphs that are closed together."""
    known = sorted(knowledge(), key=str)
    return [graph_of(known[::2], None, key=key), graph_of(known[1::2], None, key=key)]


@dataclass(frozen=True)
class Element:
    name: str
    triples: tuple[Triple, ...]
    start: int
    end: int

    @property
    def graph(self) -> str:
        return f"<urn:{self.name}#t={format_instant(self.start)},{format_instant(self.end)}>"

    @property
    def lines(self) -> str:
        return "".join(f"{' '.join(map(str, triple))} {self.graph} .\n" for triple in self.triples)


def elements(seed: int, count: int) -> list[Element]:
    """Elements one after the other, each of a few triples about things that others speak of, too."""
    random = Random(seed)
    things = [ex(f"i{i}") for i in range(8)]
    found = []
    for number in range(count):
        said: dict[Triple, None] = {}
        for _ in range(random.randint(1, 6)):
            if random.random() < 0.4:
                said[random.choice(things), NamedNode(RDF_TYPE), ex(random.choice(CLASSES))] = None
            else:
                said[random.choice(things), ex(random.choice(PREDICATES)), random.choice(things)] = None
        start = BEGIN + number * SECOND
        end = start + random.choice((0, 500_000))
        found.append(Element(f"e{number}", tuple(said), start, end))
    return found


def meaning(of: list[Element]) -> Meaning:
    texts = [rule.text for rule in rules()]
    return meaning_by_element(texts, knowledge(), [(frozenset(e.triples), e.start, e.end) for e in of])


QUERIES = (
    "SELECT ?x ?y WHERE { ?x a ?y }",
    "SELECT ?x ?y WHERE { ?x :partOf ?y }",
    "SELECT ?x ?y WHERE { ?x :hasUncle|:knows ?y }",
)

Row = tuple[str, str, int | None, int | None]


def expected(known: Meaning) -> list[set[Row]]:
    """The answers, read off the closed elements."""
    parts = [(known.static, None, None), *known.elements]
    rows: list[set[Row]] = [set(), set(), set()]
    for said, start, end in parts:
        for s, p, o in said:
            for place, wanted in enumerate(((RDF_TYPE,), ("partOf",), ("hasUncle", "knows"))):
                if p.value in {name if ":" in name else ex(name).value for name in wanted}:
                    rows[place].add((str(s), str(o), start, end))
    return rows


def conflicts(known: Meaning, of: list[Element]) -> set[tuple]:
    names = [rule.name for rule in rules()]
    return {
        (element.graph, names[rule], frozenset((var, str(term)) for var, term in solution))
        for element, found in zip(of, known.element_conflicts, strict=True)
        for rule, solution in found
    }


def written(of: list[Element], directory: Path, files: int) -> Path:
    """The elements in files one after the other."""
    directory.mkdir()
    size = -(-len(of) // files)
    for number in range(files):
        part = of[number * size : (number + 1) * size]
        (directory / f"{number:03d}.nq").write_text("".join(element.lines for element in part))
    return directory

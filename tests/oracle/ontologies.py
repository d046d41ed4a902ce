"""Random small ontologies and data, of few names, so that things meet.

Every kind of axiom that OWL 2 RL knows, cycles, lists of every length and broken ones, literals whose values
are equal though their texts differ, and now and then what no modeller would write: schema about the schema,
equal classes and properties, and schema triples inside the elements of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from oracle.model import Triple
from penstock.terms import RDF, XSD, BlankNode, Literal, NamedNode, Namespace, Term

OWL = Namespace("http://www.w3.org/2002/07/owl#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")

EX = "http://example.org/"
CLASSES = tuple(NamedNode(f"{EX}C{n}") for n in range(5))
PROPERTIES = tuple(NamedNode(f"{EX}p{n}") for n in range(4))
VALUES = tuple(NamedNode(f"{EX}d{n}") for n in range(2))
INDIVIDUALS = tuple(NamedNode(f"{EX}{n}") for n in "abcdef")
NODES = tuple(BlankNode(n) for n in "xy")
DATATYPES = (XSD.integer, XSD.decimal, XSD.double, XSD.string, XSD.boolean, XSD.date, RDFS.Literal)
LITERALS = (
    Literal("1", datatype=XSD.integer),
    Literal("1", datatype=XSD.decimal),
    Literal("1", datatype=XSD.double),
    Literal("2", datatype=XSD.integer),
    Literal("2.5", datatype=XSD.decimal),
    Literal("true", datatype=XSD.boolean),
    Literal("1"),
    Literal("one", language="en"),
    Literal("one"),
    Literal("one", datatype=XSD.integer),
    Literal("2026-11-15", datatype=XSD.date),
)
"""All of them come out of pyoxigraph's store as they went in (`rules.kept`)."""


class Ontology:
    """Axioms as triples, drawn one after the other; blank nodes of expressions are numbered."""

    def __init__(self, random: Random, literals: Sequence[Literal] = LITERALS) -> None:
        self.random = random
        self.literals = literals
        self.triples: list[Triple] = []
        self.count = 0

    def say(self, *triples: Triple) -> None:
        self.triples += triples

    def node(self) -> BlankNode:
        self.count += 1
        return BlankNode(f"e{self.count}")

    # names

    def a_class(self, depth: int = 1) -> Term:
        """A class with a name; now and then an expression."""
        chance = self.random.random()
        if depth and chance < 0.2:
            return self.expression(depth - 1)
        if chance < 0.23:
            return self.random.choice((OWL.Thing, OWL.Nothing, RDFS.Resource, XSD.integer, RDFS.Literal))
        return self.random.choice(CLASSES)

    def a_property(self) -> Term:
        return self.random.choice(PROPERTIES + VALUES[: self.random.random() < 0.2])

    def any_property(self) -> Term:
        return self.random.choice(PROPERTIES + VALUES)

    def individual(self) -> Term:
        return self.random.choice(INDIVIDUALS[:4] if self.random.random() < 0.85 else INDIVIDUALS[4:] + NODES)

    def thing(self) -> Term:
        return self.random.choice(self.literals) if self.random.random() < 0.2 else self.individual()

    # lists and expressions

    def a_list(self, items: Sequence[Term]) -> Term:
        """A list; now and then it loops, has no end, or two heads or two tails."""
        if not items:
            return RDF.nil
        cells = [self.node() for _ in items]
        for cell, item, rest in zip(cells, items, [*cells[1:], RDF.nil], strict=True):
            self.say((cell, RDF.first, item), (cell, RDF.rest, rest))
        if self.random.random() < 0.1:
            cell, other = self.random.choice(cells), self.random.choice(cells)
            way = self.random.randrange(4)
            if way == 0:
                self.say((cell, RDF.rest, other))
            elif way == 1:
                self.say((cell, RDF.first, self.random.choice(CLASSES + PROPERTIES)))
            elif way == 2:
                self.triples.remove((cells[-1], RDF.rest, RDF.nil))
            else:
                self.triples = [t for t in self.triples if t[:2] != (cell, RDF.first)]
        return cells[0]

    def listed(self, draw: Callable[[], Term], most: int = 4) -> Term:
        length = self.random.choice((0, 1, 2, 2, 2, 3, 3, most))
        return self.a_list([draw() for _ in range(length)])

    def expression(self, depth: int = 0) -> Term:
        """A class expression."""
        self.count += 1
        node = self.node() if self.random.random() < 0.7 else self.random.choice(CLASSES)

        def inner() -> Term:
            return self.a_class(depth)

        kind = self.random.randrange(9)
        if kind == 0:
            self.say((node, OWL.intersectionOf, self.listed(inner)))
        elif kind == 1:
            self.say((node, OWL.unionOf, self.listed(inner)))
        elif kind == 2:
            self.say((node, OWL.oneOf, self.listed(self.individual)))
        elif kind == 3:
            self.say((node, OWL.complementOf, inner()))
        else:
            self.restriction(node, kind, inner)
        return node

    def restriction(self, node: Term, kind: int, inner: Callable[[], Term]) -> None:
        self.say((node, OWL.onProperty, self.any_property()))
        if self.random.random() < 0.5:
            self.say((node, RDF.type, OWL.Restriction))
        if kind == 4:
            self.say((node, OWL.someValuesFrom, inner()))
        elif kind == 5:
            self.say((node, OWL.allValuesFrom, inner()))
        elif kind == 6:
            self.say((node, OWL.hasValue, self.thing()))
        elif kind == 7:
            self.say((node, OWL.maxCardinality, self.number()))
        else:
            self.say((node, OWL.maxQualifiedCardinality, self.number()))
            self.say((node, OWL.onClass, self.random.choice((OWL.Thing, self.random.choice(CLASSES)))))

    def number(self) -> Literal:
        return Literal(self.random.choice("0112"), datatype=XSD.integer)

    # axioms

    def axiom(self) -> None:
        """One axiom of any kind."""
        self.random.choices(*zip(*AXIOMS, strict=True))[0](self)

    def subclass(self) -> None:
        self.say((self.a_class(), RDFS.subClassOf, self.a_class()))

    def equivalent_classes(self) -> None:
        self.say((self.random.choice(CLASSES), OWL.equivalentClass, self.a_class()))

    def class_expression(self) -> None:
        self.say(
            (self.expression(1), self.random.choice((RDFS.subClassOf, OWL.equivalentClass)), self.a_class())
        )

    def disjoint_classes(self) -> None:
        if self.random.random() < 0.5:
            self.say((self.a_class(), OWL.disjointWith, self.a_class()))
        else:
            self.among(OWL.AllDisjointClasses, OWL.members, self.a_class)

    def among(self, kind: Term, members: Term, draw: Callable[[], Term]) -> None:
        node = self.node()
        self.say((node, RDF.type, kind), (node, members, self.listed(draw)))

    def subproperty(self) -> None:
        self.say((self.any_property(), RDFS.subPropertyOf, self.any_property()))

    def equivalent_properties(self) -> None:
        self.say((self.any_property(), OWL.equivalentProperty, self.any_property()))

    def domain_or_range(self) -> None:
        self.say((self.any_property(), self.random.choice((RDFS.domain, RDFS.range)), self.a_class()))

    def range_of_values(self) -> None:
        self.say((self.random.choice(VALUES), RDFS.range, self.random.choice(DATATYPES)))

    def characteristic(self) -> None:
        kinds = (OWL.TransitiveProperty, OWL.SymmetricProperty, OWL.FunctionalProperty)
        kinds += (OWL.InverseFunctionalProperty, OWL.IrreflexiveProperty, OWL.AsymmetricProperty)
        self.say((self.a_property(), RDF.type, self.random.choice(kinds)))

    def inverse(self) -> None:
        self.say((self.a_property(), OWL.inverseOf, self.a_property()))

    def chain(self) -> None:
        self.say((self.a_property(), OWL.propertyChainAxiom, self.listed(self.a_property)))

    def key(self) -> None:
        self.say((self.a_class(), OWL.hasKey, self.listed(self.any_property, 3)))

    def disjoint_properties(self) -> None:
        if self.random.random() < 0.5:
            self.say((self.any_property(), OWL.propertyDisjointWith, self.any_property()))
        else:
            self.among(OWL.AllDisjointProperties, OWL.members, self.any_property)

    def same(self) -> None:
        self.say((self.individual(), OWL.sameAs, self.individual()))

    def different(self) -> None:
        if self.random.random() < 0.5:
            self.say((self.individual(), OWL.differentFrom, self.individual()))
        else:
            members = self.random.choice((OWL.members, OWL.distinctMembers))
            self.among(OWL.AllDifferent, members, self.individual)

    def negative(self) -> None:
        node = self.node()
        target = (OWL.targetIndividual, self.individual())
        if self.random.random() < 0.5:
            target = (OWL.targetValue, self.random.choice(self.literals))
        self.say((node, OWL.sourceIndividual, self.individual()), (node, *target))
        self.say((node, OWL.assertionProperty, self.any_property()))

    def declaration(self) -> None:
        self.say(
            self.random.choice(
                (
                    (self.random.choice(CLASSES), RDF.type, self.random.choice((OWL.Class, RDFS.Class))),
                    (self.random.choice(PROPERTIES), RDF.type, OWL.ObjectProperty),
                    (self.random.choice(VALUES), RDF.type, OWL.DatatypeProperty),
                    (self.any_property(), RDF.type, RDF.Property),
                    (NamedNode(f"{EX}dt"), RDF.type, RDFS.Datatype),
                )
            )
        )

    def meta(self) -> None:
        """Schema about the schema, and names that are classes, properties and individuals at once."""
        classes, properties = self.random.choice(CLASSES), self.any_property()
        schema = (RDF.type, RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, OWL.sameAs, OWL.equivalentClass)
        self.say(
            self.random.choice(
                (
                    (properties, RDFS.subPropertyOf, self.random.choice(schema)),
                    (self.random.choice(schema), RDFS.subPropertyOf, properties),
                    (self.random.choice(schema[1:]), RDFS.domain, classes),
                    (classes, OWL.sameAs, self.random.choice(CLASSES)),
                    (properties, OWL.sameAs, self.any_property()),
                    (classes, RDF.type, self.random.choice(CLASSES)),
                    (classes, RDFS.subClassOf, OWL.TransitiveProperty),
                    (properties, RDF.type, classes),
                    (properties, self.random.choice(PROPERTIES), classes),
                    (RDFS.subClassOf, OWL.inverseOf, properties),
                    (RDF.type, OWL.equivalentProperty, properties),
                    (RDF.first, RDFS.range, classes),
                )
            )
        )

    # data

    def fact(self) -> None:
        chance = self.random.random()
        if chance < 0.35:
            self.say((self.individual(), RDF.type, self.random.choice(CLASSES)))
        elif chance < 0.8:
            self.say((self.individual(), self.random.choice(PROPERTIES), self.individual()))
        else:
            self.say((self.individual(), self.any_property(), self.random.choice(self.literals)))


AXIOMS: tuple[tuple[Callable[[Ontology], None], int], ...] = (
    (Ontology.subclass, 6),
    (Ontology.equivalent_classes, 2),
    (Ontology.class_expression, 6),
    (Ontology.disjoint_classes, 1),
    (Ontology.subproperty, 4),
    (Ontology.equivalent_properties, 1),
    (Ontology.domain_or_range, 4),
    (Ontology.range_of_values, 1),
    (Ontology.characteristic, 4),
    (Ontology.inverse, 2),
    (Ontology.chain, 2),
    (Ontology.key, 2),
    (Ontology.disjoint_properties, 1),
    (Ontology.same, 1),
    (Ontology.different, 1),
    (Ontology.negative, 1),
    (Ontology.declaration, 2),
    (Ontology.meta, 1),
)


def knowledge(
    random: Random, axioms: int, facts: int, literals: Sequence[Literal] = LITERALS
) -> list[Triple]:
    """An ontology and data, in any order, no triple twice."""
    made = Ontology(random, literals)
    for _ in range(axioms):
        made.axiom()
    for _ in range(facts):
        made.fact()
    found = list(dict.fromkeys(made.triples))
    random.shuffle(found)
    return found


def element(random: Random, facts: int, literals: Sequence[Literal] = LITERALS) -> list[Triple]:
    """The triples of a stream element: data, now and then an axiom."""
    made = Ontology(random, literals)
    made.count = 1000 * (1 + random.randrange(50))  # expressions of its own
    for _ in range(facts):
        made.axiom() if random.random() < 0.08 else made.fact()
    return list(dict.fromkeys(made.triples))

"""Rules of tests, by name: what a rule may have, and what meets what."""

from __future__ import annotations

from penstock.languages import parse
from penstock.rules.rule import Rule

PREFIXES = """PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX : <http://example.org/>
"""


def rule(name: str, text: str) -> Rule:
    module = parse(PREFIXES + text)
    return Rule(name, module.rules, module.queries, f"what {name} means", text=PREFIXES + text)


RULES = {
    "subclass": "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }",
    "subclasses": "INSERT { ?c rdfs:subClassOf ?e } WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e }",
    "domain": "INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y }",
    "range": "INSERT { ?y a ?c } WHERE { ?p rdfs:range ?c . ?x ?p ?y }",
    "subproperty": """INSERT { ?x ?q ?y }
        WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y FILTER (!sameTerm(?p, ?q)) }""",
    "inverse": "INSERT { ?y ?q ?x } WHERE { ?p owl:inverseOf ?q . ?x ?p ?y }",
    "transitive": "INSERT { ?x ?p ?z } WHERE { ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z }",
    "some": "INSERT { ?u a ?x } WHERE { ?x owl:someValuesFrom ?y ; owl:onProperty ?p . ?u ?p ?v . ?v a ?y }",
    "intersection": """INSERT { GRAPH ?l { ?x :inAll ?l } }
        WHERE { ?l rdf:first ?c ; rdf:rest rdf:nil . ?x a ?c } ;
        INSERT { GRAPH ?l { ?x :inAll ?l } }
        WHERE { ?l rdf:first ?c ; rdf:rest ?r . ?x a ?c . GRAPH ?r { ?x :inAll ?r } } ;
        INSERT { ?x a ?c } WHERE { ?c owl:intersectionOf ?l . GRAPH ?l { ?x :inAll ?l } }""",
    "members": "INSERT { ?y a ?d } WHERE { ?c owl:intersectionOf/rdf:rest*/rdf:first ?d . ?y a ?c }",
    "reaches": "INSERT { ?x :reaches ?y } WHERE { ?x (:p|^:q)+ ?y }",
    "near": "INSERT { ?x :near ?y } WHERE { ?x :p? ?y }",
    "either": "INSERT { ?x :in :Either } WHERE { { ?x a :A } UNION { ?x :q ?y VALUES ?y { :a :b 1 } } }",
    "self": "INSERT { ?x a :Loop } WHERE { ?x ?p ?x }",
    "other": "INSERT { ?x :other ?y } WHERE { ?x a ?c . ?y a ?c FILTER (?x != ?y && isIRI(?c)) }",
    "label": "INSERT { ?x :label ?l } WHERE { ?x a ?c BIND (CONCAT('a ', STRAFTER(STR(?c), 'org/')) AS ?l) }",
    "event": "INSERT { [] :of ?x ; :by ?y } WHERE { ?x :q ?y }",
    "not": "INSERT { ?x :seen true } WHERE { ?x !(:p|rdf:type) ?y }",
    "facts": "INSERT DATA { :A rdfs:subClassOf :B . :a a :A }",
    "literal": "INSERT { ?y a ?c } WHERE { ?x :v ?y . ?y2 a ?c }",
    "apart": "SELECT ?x WHERE { ?c owl:disjointWith ?d . ?x a ?c, ?d }",
}


def rules(*names: str) -> list[Rule]:
    return [rule(name, RULES[name]) for name in names]

"""Some rules for elements, as texts and as a program: what follows from the triples of an element."""

from __future__ import annotations

from oracle.model import Triple
from oracle.vocabulary import PROLOGUE, iri
from penstock.pipeline.entailment import ElementRules
from penstock.rules.reading import read_rules

RULES = """
# rule: near
INSERT { ?y :near ?x } WHERE { ?x :knows ?y } ;
# rule: back
INSERT { ?y :near ?x } WHERE { ?x :near ?y } ;
# rule: load
INSERT { ?x :price ?n } WHERE { ?x :load ?n } ;
# rule: both
INSERT { ?x :knows ?z } WHERE { ?x :price ?n . ?x :near ?z }
"""


def rules() -> ElementRules:
    return ElementRules(tuple(read_rules(PROLOGUE + RULES).rules))


def follows(graph: frozenset[Triple]) -> frozenset[Triple]:
    """What the rules derive from the triples of an element, beside them."""
    price, load, knows, near = (iri(f":{name}") for name in ("price", "load", "knows", "near"))
    found = set(graph)
    while True:
        new = {(o, near, s) for s, p, o in found if p in (knows, near)}
        new |= {(s, price, o) for s, p, o in found if p == load}
        priced = {s for s, p, _ in found if p == price}
        new |= {(s, knows, o) for s, p, o in found if p == near and s in priced}
        if new <= found:
            return frozenset(found) - frozenset(graph)
        found |= new

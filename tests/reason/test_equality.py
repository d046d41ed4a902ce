"""Equality by representatives gives what the texts give, in every position and under every condition."""

from __future__ import annotations

import random

import pytest
from pyoxigraph import Quad
from tests.reason.rule_texts import RULES, rule
from tests.reason.test_closing import OWL, RDFS, ex, terms_of, unnamed

from oracle.rules import NoFixpoint, contradictions, default_graph
from oracle.rules import closed as naively_closed
from penstock.knowledge.graphs import graph_of
from penstock.reason.clauses import clauses_of
from penstock.reason.closing import Closure
from penstock.reason.equality import equality_in
from penstock.reason.evaluation import Options
from penstock.rules.library import ruleset
from penstock.terms import RDF, BlankNode, Literal, NamedNode

SAME, DIFFERENT = NamedNode(OWL + "sameAs"), NamedNode(OWL + "differentFrom")
KEY = 7
EQUALITY = {
    "sym": "INSERT { ?y owl:sameAs ?x } WHERE { ?x owl:sameAs ?y }",
    "trans": "INSERT { ?x owl:sameAs ?z } WHERE { ?x owl:sameAs ?y . ?y owl:sameAs ?z }",
    "rep-s": "INSERT { ?b ?p ?o } WHERE { ?s ?p ?o . ?s owl:sameAs ?b }",
    "rep-p": "INSERT { ?s ?b ?o } WHERE { ?b owl:sameAs ?p . ?s ?p ?o }",
    "rep-o": "INSERT { ?s ?p ?b } WHERE { ?o owl:sameAs ?b . ?s ?p ?o }",
}
REFLEXIVE = "INSERT { ?s owl:sameAs ?s . ?p owl:sameAs ?p . ?o owl:sameAs ?o } WHERE { ?s ?p ?o }"
OTHERS = {
    **RULES,
    "functional": """INSERT { ?y1 owl:sameAs ?y2 } WHERE { ?p a owl:FunctionalProperty .
        ?x ?p ?y1 . ?x ?p ?y2 FILTER (!sameTerm(?y1, ?y2)) }""",
    "at most one": """INSERT { ?y1 owl:sameAs ?y2 } WHERE { ?p :most ?n . ?x ?p ?y1 . ?x ?p ?y2
        FILTER (?n = 1 && !sameTerm(?y1, ?y2)) }""",
    "key": """INSERT { GRAPH ?p { ?x :agrees ?y } } WHERE { ?p :keyOf ?c . ?x a ?c ; ?p ?v . ?y ?p ?v ; a ?c
        FILTER (!sameTerm(?x, ?y)) } ;
        INSERT { ?x owl:sameAs ?y } WHERE { ?p :keyOf ?c . GRAPH ?p { ?x :agrees ?y } }""",
    "two internal graphs": """INSERT { GRAPH :w { ?x :twin ?x } } WHERE { ?x a ?c } ;
        INSERT { GRAPH :w { ?x :pair ?y } } WHERE { ?x :p ?y FILTER (!sameTerm(?x, ?y)) } ;
        INSERT { ?x :both ?y } WHERE { GRAPH :w { ?x :twin ?y . ?x :pair ?y } }""",
    "kinds": """INSERT { ?x a :Named } WHERE { ?x :p ?y FILTER (isIRI(?x) && !isIRI(?y)) } ;
        INSERT { ?y a :Nameless } WHERE { ?x ?p ?y FILTER (isBlank(?y) && sameTerm(?p, :p)) }""",
    "same term": "INSERT { ?x :is ?y } WHERE { ?x :p ?z . ?y :q ?z FILTER (sameTerm(?x, ?y)) }",
    "not a": "INSERT { ?x :not :a } WHERE { ?x a ?c FILTER (!sameTerm(?x, :a) && ?c != :A) }",
    "all three": """INSERT { ?x :three ?z } WHERE { ?x :p ?y . ?y :q ?z
        FILTER (!sameTerm(?x, ?y) && !sameTerm(?y, ?z) && !sameTerm(?x, ?z)) }""",
    "as predicate": "INSERT { :a ?x :b } WHERE { ?x a ?c }",
    "differ": "SELECT ?x ?y WHERE { ?x owl:sameAs ?y . ?x owl:differentFrom ?y }",
    "others": "SELECT ?x ?p ?y WHERE { ?x ?p ?y . ?x a ?c . ?y a ?c FILTER (!sameTerm(?x, ?y)) }",
    "far": "INSERT { ?x :far ?y } WHERE { ?x :p+ ?y FILTER (!sameTerm(?x, ?y)) }",
    "all ends": "SELECT ?x ?y WHERE { ?x :p+ ?z . ?z :q+ ?y }",
}
THINGS = [*(ex(name) for name in "abcABpq"), BlankNode("n"), BlankNode("m")]
OBJECTS = [*THINGS, Literal("1"), Literal("x", language="en")]
PREDICATES = [
    *(ex(name) for name in ("p", "q", "v", "p", "q")),
    *[RDF.type] * 3,
    *(NamedNode(RDFS + name) for name in ("subClassOf", "domain", "range", "subPropertyOf")),
    NamedNode(OWL + "inverseOf"),
    NamedNode(OWL + "disjointWith"),
    DIFFERENT,
]
SAID = [
    (ex("p"), RDF.type, NamedNode(OWL + "FunctionalProperty")),
    (ex("q"), RDF.type, NamedNode(OWL + "TransitiveProperty")),
    (ex("q"), ex("most"), Literal("1", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))),
    (ex("p"), ex("keyOf"), ex("A")),
    (SAME, RDF.type, ex("A")),
    (ex("q"), SAME, RDF.type),
    (ex("twin"), SAME, ex("pair")),
]


def graph(random_: random.Random) -> list:
    made = random_.sample(SAID[:4], random_.randint(0, 4))
    if random_.random() < 0.1:
        made += random_.sample(SAID[4:], 1)
    for _ in range(random_.randint(1, 9)):
        made.append((random_.choice(THINGS), random_.choice(PREDICATES), random_.choice(OBJECTS)))
    for _ in range(random_.randint(0, 4)):
        objects = OBJECTS if random_.random() < 0.2 else THINGS
        made.append((random_.choice(THINGS), SAME, random_.choice(objects)))
    random_.shuffle(made)
    return made


def closure(rules, portions, options, named=()) -> Closure:
    made = Closure(rules, KEY, options)
    if named:
        added = graph_of([(q.subject, q.predicate, q.object) for q in named], None, key=KEY)
        made.add_named("http://example.org/g", added.triples, added.terms)
    for portion in portions:
        added = graph_of(portion, None, key=KEY)
        made.add(added.triples, added.terms)
    return made


def case(seed: int):
    random_ = random.Random(seed)
    names = random_.sample(sorted(OTHERS), random_.randint(1, 7))
    rules = [rule(name, text) for name, text in EQUALITY.items()]
    rules += [rule(name, OTHERS[name]) for name in names]
    if random_.random() < 0.5:
        rules.append(rule("ref", REFLEXIVE))
    triples, named = graph(random_), []
    if random_.random() < 0.2:
        rules.append(rule("given", "INSERT { ?x :given ?y } WHERE { GRAPH ?g { ?x :p ?y } ?x a ?c }"))
        named = [
            Quad(random_.choice(THINGS), ex("p"), random_.choice(OBJECTS), ex("g"))
            for _ in range(random_.randint(1, 3))
        ]
    cuts = sorted(random_.randint(0, len(triples)) for _ in range(2))
    portions = [triples[i:j] for i, j in zip([0, *cuts], [*cuts, len(triples)], strict=True)]
    return rules, portions, triples, named


def told(made: Closure) -> set:
    return {(each.rule, frozenset(each.bindings)) for each in made.conflicts()}


def agrees(seed: int) -> None:
    rules, portions, triples, named = case(seed)
    texts = [each.text for each in rules]
    try:
        store = naively_closed(texts, triples, named, most=4000)
    except NoFixpoint:
        return
    known = {(rules[number].name, frozenset(solution)) for number, solution in contradictions(texts, store)}
    expected = default_graph(store)
    for representatives in (True, False):
        made = closure(
            rules, portions, Options(representatives=representatives, most_invented=4000, at_a_time=4), named
        )
        assert unnamed(terms_of(made.triples, made.terms)) == unnamed(expected)
        assert made.triples.shape[1] == len(expected)
        assert unnamed(terms_of(made.inferred, made.terms)) == unnamed(
            t for t in expected if t not in set(triples)
        )
        if "event" not in {each.name for each in rules}:
            assert told(made) == known


@pytest.mark.sample(40)
@pytest.mark.parametrize("seed", range(150))
def test_as_if_materialised(seed):
    agrees(seed)


def rules_of(*texts: str) -> list:
    return [rule(f"r{number}", text) for number, text in enumerate(texts)]


def test_the_library_has_it():
    assert equality_in(clauses_of(ruleset(["owl2-rl"]))).predicate == SAME
    assert equality_in(clauses_of(ruleset(["rdfs"]))) is None


@pytest.mark.parametrize(
    "change, known",
    [
        ({}, True),
        ({"trans": None}, True),  # replacing objects does it
        ({"sym": None}, False),
        ({"rep-p": None}, False),
        ({"rep-s": "INSERT { ?x ?p ?o } WHERE { ?x owl:sameAs ?s . ?s ?p ?o }"}, True),
        # The value of what is the same as a literal: no literal is replaced otherwise.
        ({"rep-o": "INSERT { ?s ?p ?b } WHERE { ?b owl:sameAs ?o . ?s ?p ?o }"}, False),
        ({"rep-s": "INSERT { ?b ?p ?o } WHERE { ?s owl:sameAs ?b . ?s ?p ?o FILTER isIRI(?b) }"}, False),
        ({"rep-s": "INSERT { ?b ?p ?s } WHERE { ?s owl:sameAs ?b . ?s ?p ?o }"}, False),
        ({"rep-s": "INSERT { ?b ?p ?o . ?o a :Value } WHERE { ?s owl:sameAs ?b . ?s ?p ?o }"}, True),
        ({"any": "INSERT { GRAPH :g { ?s ?p ?o } } WHERE { ?s ?p ?o }"}, False),
    ],
)
def test_which_clauses_are_an_equality(change, known):
    texts = [text for text in {**EQUALITY, **change}.values() if text]
    found = equality_in(clauses_of(rules_of(*texts)))
    assert (found is not None) == known
    if known and change.get("rep-s", "").count(" . ?o a"):
        assert any(len(clause.head) == 1 and clause.head[0].predicate == RDF.type for clause in found.clauses)


def test_an_equality_may_have_any_name():
    texts = [text.replace("owl:sameAs", ":is") for text in EQUALITY.values()]
    made = closure(rules_of(*texts), [[(ex("a"), ex("is"), ex("b")), (ex("a"), ex("p"), ex("c"))]], Options())
    assert made._run.classes.size == 2
    assert (ex("b"), ex("p"), ex("c")) in terms_of(made.triples, made.terms)


def test_many_that_are_the_same_are_few_rows():
    members, values = 200, 4
    same = [(ex(f"i{i}"), SAME, ex(f"i{i + 1}")) for i in range(members - 1)]
    said = [(ex(f"i{i}"), ex(f"p{j}"), ex(f"o{i}-{j}")) for i in range(members) for j in range(values)]
    rules = [*rules_of(*EQUALITY.values()), rule("other", OTHERS["functional"])]
    for portions in ([same + said], [said, same], [said[:99], same[::2], said[99:], same[1::2]]):
        made = closure(rules, portions, Options())
        assert made.triples.shape[1] == members * members + members * members * values
        assert made.inferred.shape[1] == made.triples.shape[1] - len(said) - len(same)
        assert made._run.quads.present().size == members * values + 1
        assert made._run.quads.count < 4 * members * values


def test_what_a_functional_property_makes_the_same():
    many = 300
    rules = [*rules_of(*EQUALITY.values()), rule("functional", OTHERS["functional"])]
    said = [(ex("x"), ex("p"), ex(f"v{i}")) for i in range(many)]
    made = closure(rules, [SAID[:1], said], Options())
    assert made.triples.shape[1] == 1 + many + many * many
    assert made._run.quads.count < 5 * many


@pytest.mark.parametrize(
    "about", [(SAME, SAME, ex("is")), (ex("w"), SAME, ex("u")), (ex("a"), SAME, ex("b"))]
)
def test_what_cannot_be_borne_is_told_apart_by_the_texts(about):
    """The equality itself, a constant of a named graph, and internal graphs that several atoms look into."""
    rules = [*rules_of(*EQUALITY.values()), rule("two internal graphs", OTHERS["two internal graphs"])]
    said = [(ex("a"), RDF.type, ex("A")), (ex("a"), ex("p"), ex("b")), about]
    made = closure(rules, [said[:1], said[1:]], Options())
    assert made._run.equality is None
    expected = default_graph(naively_closed([each.text for each in rules], said))
    assert terms_of(made.triples, made.terms) == expected


@pytest.mark.parametrize("seed", range(60))
def test_what_goes_is_the_same_no_more(seed):
    rules, portions, triples, named = case(seed)
    texts = [each.text for each in rules]
    random_ = random.Random(seed)
    made = closure(rules, portions, Options(most_invented=4000), named)
    there = set(triples)
    for _ in range(3):
        gone = set(random_.sample(sorted(there, key=str), min(len(there), random_.randint(1, 3))))
        removed = graph_of(list(gone), None, key=KEY)
        made.remove(removed.triples)
        there -= gone
        if random_.random() < 0.5:
            more = graph(random_)[:3]
            added = graph_of(more, None, key=KEY)
            made.add(added.triples, added.terms)
            there |= set(more)
        store = naively_closed(texts, there, named)
        assert unnamed(terms_of(made.triples, made.terms)) == unnamed(default_graph(store))
        if "event" not in {each.name for each in rules}:
            assert told(made) == {
                (rules[number].name, frozenset(solution)) for number, solution in contradictions(texts, store)
            }

"""The closure in the engine and the naive fixpoint of the same texts, on small random graphs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.reason.rule_texts import RULES, rule, rules

from oracle.rules import closed as naively_closed
from oracle.rules import contradictions, default_graph
from penstock.columns.terms import TermTable
from penstock.decode.occurrences import Occurrences
from penstock.errors import InputError
from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.reason import evaluation, kernel
from penstock.reason.closing import Closure
from penstock.reason.elements import ElementReasoner
from penstock.reason.evaluation import OPTIONS, Options
from penstock.reason.leading import MemoLimits
from penstock.terms import RDF, XSD, BlankNode, Literal, NamedNode, Term

EX, RDFS, OWL = (
    "http://example.org/",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
Triple = tuple[Term, Term, Term]


def ex(name: str) -> NamedNode:
    return NamedNode(EX + name)


THINGS: list[Term] = [ex(name) for name in "abcABC"] + [BlankNode("n"), ex("p"), ex("q")]
OBJECTS: list[Term] = [
    *THINGS,
    Literal("1"),
    Literal("x", language="en"),
    OWL_TRANSITIVE := NamedNode(OWL + "TransitiveProperty"),
]
PREDICATES = [
    *(ex(name) for name in ("p", "q", "v", "p", "q")),
    *[RDF.type] * 4,
    *(NamedNode(RDFS + name) for name in ("subClassOf", "subClassOf", "domain", "range", "subPropertyOf")),
    *(
        NamedNode(OWL + name)
        for name in ("inverseOf", "someValuesFrom", "onProperty", "intersectionOf", "disjointWith")
    ),
    NamedNode(RDF.type.value.replace("type", "first")),
    NamedNode(RDF.type.value.replace("type", "rest")),
]
TINY = Options(memory=MemoLimits(cells=2, misses=1, harm=1, ways=1, heads=1, room=40, epoch=3), at_a_time=3)
"""What is remembered of leading atoms is full at once, does not pay, has too many rows, each now and then."""
NIL = NamedNode(RDF.type.value.replace("type", "nil"))


def graph(random_: random.Random, size: int) -> list[Triple]:
    subjects = [each for each in THINGS if not isinstance(each, Literal)]
    objects = [*OBJECTS, NIL]
    return [
        (random_.choice(subjects), random_.choice(PREDICATES), random_.choice(objects)) for _ in range(size)
    ]


def terms_of(triples: np.ndarray, terms: TermTable) -> set[Triple]:
    return {tuple(terms.term(id_) for id_ in triple) for triple in triples.T.tolist()}


def closure_of(names, portions, key=7, options=OPTIONS) -> Closure:
    made = Closure(rules(*names), key, options)
    for portion in portions:
        added = graph_of(portion, None, key=key)
        made.add(added.triples, added.terms)
    return made


def unnamed(triples) -> list:
    """Blank nodes that were invented have other names in the two engines: only how many there are."""
    return sorted(
        str(tuple("_" if isinstance(t, BlankNode) and t.value != "n" else t for t in triple))
        for triple in triples
    )


@pytest.mark.parametrize("seed", range(150))
def test_closure_is_the_naive_fixpoint(seed):
    random_ = random.Random(seed)
    names = random_.sample(sorted(RULES), random_.randint(1, 9))
    triples = graph(random_, random_.randint(0, 14))
    cut = random_.randint(0, len(triples))
    made = closure_of(names, [triples[:cut], triples[cut:]], options=TINY if seed % 2 else OPTIONS)
    store = naively_closed([each.text for each in rules(*names)], triples)
    assert unnamed(terms_of(made.triples, made.terms)) == unnamed(default_graph(store))
    explicit = set(triples)
    assert unnamed(terms_of(made.inferred, made.terms)) == unnamed(
        t for t in default_graph(store) if t not in explicit
    )
    assert bool(made.conflicts()) == bool(contradictions([each.text for each in rules(*names)], store))


def test_what_an_element_has_brought_in_an_earlier_portion_is_not_forgotten():
    """The first who is looked at in the second portion has no :q, the next one has: it came in the first."""
    join = rule("join", "PREFIX : <http://example.org/> INSERT { ?x :r ?z } WHERE { ?x :p ?y . ?y :q ?z }")
    told = [(2, "b", "q", "c"), (3, "b", "s", "c"), (1, "a", "p", "b"), (2, "a", "p", "b")]
    table = TermTable(key=7)
    columns = np.array([(*(table.add(ex(each)) for each in spo), 0, 0, -n) for n, *spo in told], np.int64).T
    given = Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])
    nothing = Knowledge((None,), (np.empty((3, 0), np.int64),), TermTable(key=7))
    found = ElementReasoner([join], nothing, Options(at_a_time=2)).close(given)
    assert found.element[len(told) :].tolist() == [-2]


@pytest.mark.parametrize("seed", range(100))
def test_elements_are_closed_each_by_itself(seed):
    random_ = random.Random(seed)
    key = 7
    names = random_.sample(sorted(RULES.keys() - {"event"}), random_.randint(1, 9))
    texts = [each.text for each in rules(*names)]
    static = graph(random_, random_.randint(0, 8))
    elements = [graph(random_, random_.randint(0, 6)) for _ in range(4)]
    base = closure_of(names, [static], key)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    table, rows = TermTable(key=key), []
    for number, element in enumerate(elements):
        for triple in element:
            rows.append((*(table.add(term) for term in triple), number, number, -1 - number))
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    given = Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])
    found = ElementReasoner(rules(*names), knowledge, TINY if seed % 2 else OPTIONS).close(given)
    known = TermTable(found.terms)
    closed_static = default_graph(naively_closed(texts, static))
    for number, element in enumerate(elements):
        rows = found.element == -1 - number
        triples = np.stack([found.subject, found.predicate, found.object])[:, rows]
        expected = (
            default_graph(naively_closed(texts, [*static, *element])) if element else set(closed_static)
        )
        assert terms_of(triples, known) == (set(expected) - set(closed_static)) | set(element)
        assert (found.end[rows] == number).all()


def test_conditions_on_what_is_bound_by_bind_or_made_by_a_function():
    a_rule = rule(
        "made",
        """INSERT { ?x :made ?y } WHERE { ?x a ?c BIND (IF(sameTerm(?x, :a), ?c, "no") AS ?y)
        FILTER (isIRI(?y) && !sameTerm(?y, :B) && sameTerm(STR(?x), STR(:a))) }""",
    )
    said = [(ex(name), RDF.type, ex(kind)) for name in "ab" for kind in "AB"]
    made = Closure([a_rule], 7)
    start = graph_of(said, None, key=7)
    made.add(start.triples, start.terms)
    assert terms_of(made.inferred, made.terms) == {(ex("a"), ex("made"), ex("A"))}


def test_what_is_no_triple_is_dropped_and_counted():
    made = closure_of(["literal"], [[(ex("a"), ex("v"), Literal("1")), (ex("a"), RDF.type, ex("A"))]])
    assert made.inferred.shape[1] == 0
    assert made.dropped == {"literal": 1}


@pytest.mark.parametrize("options", [OPTIONS, TINY, Options(specialise=False)])
@pytest.mark.parametrize("count", [3, 40, 500])
def test_a_row_that_derives_more_than_there_is_room_for(count, options):
    """It is taken again with more room: what it derives, drops and gives out counts once."""
    texts = (
        "INSERT { ?y :r ?b . ?a :r ?b . ?b :s ?x } WHERE { ?a :q ?b . ?x :p ?y }",
        "INSERT { ?a :t ?n } WHERE { ?a :q ?b . ?x :p ?y BIND (STR(?b) AS ?n) }",
        "SELECT ?b WHERE { ?a :q ?b . ?x :p ?y }",
    )
    triples = [(ex(f"a{n}"), ex("q"), ex(f"b{n}")) for n in range(count)]
    given = graph_of([*triples, (ex("x"), ex("p"), Literal("l"))], None, key=7)
    names = ("pairs", "texts", "check")
    made = Closure([rule(name, text) for name, text in zip(names, texts, strict=True)], 7, options)
    made.add(given.triples, given.terms)
    assert made.dropped == {"pairs": count}
    assert made.derived == {"pairs": 2 * count, "texts": count}
    assert made.triples.shape[1] == 4 * count + 1
    assert len(made.conflicts()) == count
    assert sum(len(elements) for _, elements, _ in made._run.reported) == count


@pytest.mark.parametrize("options", [OPTIONS, TINY, Options(specialise=False)])
def test_a_rule_with_more_heads_than_bits(options):
    heads = " . ".join(f"?x :h{number} ?y" for number in range(70))
    given = graph_of([(ex(f"a{n}"), ex("p"), ex("b")) for n in range(50)], None, key=7)
    made = Closure([rule("many", f"INSERT {{ {heads} }} WHERE {{ ?x :p ?y }}")], 7, options)
    made.add(given.triples, given.terms)
    assert made.derived == {"many": 3500}


def test_inventing_without_end_is_stopped():
    endless = rule("endless", "INSERT { ?y :p [] } WHERE { ?x :p ?y }")
    made = Closure([endless], 7, Options(most_invented=50))
    start = graph_of([(ex("a"), ex("p"), ex("b"))], None, key=7)
    with pytest.raises(InputError, match="endless invents blank nodes without end: 51"):
        made.add(start.triples, start.terms)


@pytest.mark.parametrize("options", [Options(most_invented=50), Options(most_generations=50)])
def test_computing_without_end_is_stopped(options):
    counting = rule("counting", "INSERT { ?x :v ?n } WHERE { ?x :v ?k BIND (?k + 1 AS ?n) }")
    made = Closure([counting], 7, options)
    start = graph_of([(ex("a"), ex("v"), Literal("1", datatype=XSD.integer))], None, key=7)
    with pytest.raises(InputError, match="the rule counting computes new terms without end: 51 so far"):
        made.add(start.triples, start.terms)


@pytest.mark.parametrize("times", [2, 10])
def test_computing_ever_longer_texts_is_stopped(times: int):
    doubling = rule(
        "doubling",
        f"INSERT {{ ?x :v ?t }} WHERE {{ ?x :v ?u BIND (CONCAT({', '.join(['?u'] * times)}) AS ?t) }}",
    )
    start = graph_of([(ex("a"), ex("v"), Literal("abc"))], None, key=7)
    with pytest.raises(
        InputError, match=r"doubling computes new terms without end: one of \d,\d+,\d+ bytes so far"
    ):
        Closure([doubling], 7).add(start.triples, start.terms)
    long = graph_of([(ex("a"), ex("p"), Literal("abc" * 1_000_000))], None, key=7)  # not made by a rule
    once = Closure([rule("once", "INSERT { ?x :v ?t } WHERE { ?x :p ?u BIND (CONCAT(?u, ?u) AS ?t) }")], 7)
    once.add(long.triples, long.terms)
    assert once.derived == {"once": 1}


def test_computing_that_ends_and_inventing_for_each_of_many_are_not_stopped():
    texts = {
        "counting": "INSERT { ?x :v ?n } WHERE { ?x :v ?k BIND (?k + 1 AS ?n) FILTER (?n < 40) }",
        "same": "INSERT { ?x :w ?n } WHERE { ?x :v ?k BIND (?k AS ?n) }",
        "event": "INSERT { [] :of ?x ; :at ?l } WHERE { ?x :p ?y BIND (STR(?y) AS ?l) }",
        "noted": "INSERT { ?e :noted [] } WHERE { ?e :of ?x }",
    }
    made = Closure([rule(*each) for each in texts.items()], 7, Options(most_invented=50, most_generations=50))
    things = [(ex(f"a{i}"), ex("p"), ex(f"b{i}")) for i in range(120)]
    start = graph_of([*things, (ex("a"), ex("v"), Literal("1", datatype=XSD.integer))], None, key=7)
    made.add(start.triples, start.terms)
    assert made.derived == {"counting": 38, "same": 39, "event": 240, "noted": 120}


def test_a_contradiction_names_its_rule_and_its_terms():
    disjoint = NamedNode(OWL + "disjointWith")
    made = closure_of(
        ["apart", "subclass"],
        [[(ex("A"), disjoint, ex("B")), (ex("a"), RDF.type, ex("A")), (ex("a"), RDF.type, ex("B"))]],
    )
    [conflict] = made.conflicts()
    assert (conflict.rule, conflict.bindings) == ("apart", (("x", ex("a")),))


def element_of(triples) -> Occurrences:
    table = TermTable(key=7)
    rows = [(*(table.add(term) for term in triple), 0, 0, -1) for triple in triples]
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return Occurrences(*columns[:5], terms=table.chunk(), element=columns[5])


def test_elements_see_what_holds_anyway_in_named_graphs():
    tabled = rule(
        "tabled",
        """INSERT DATA { GRAPH :w { :small :under 5 } } ;
        INSERT { ?x a ?c } WHERE { ?x :v ?n . GRAPH :w { ?c :under ?most } FILTER (?n < ?most) }""",
    )
    base = Closure([tabled], 7)
    knowledge = Knowledge((None,), (base.triples,), base.terms)
    integer = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    given = element_of([(ex("a"), ex("v"), Literal("3", datatype=integer))])
    found = ElementReasoner([tabled], knowledge).close(given)
    triples = np.stack([found.subject, found.predicate, found.object])
    assert (ex("a"), RDF.type, ex("small")) in terms_of(triples, TermTable(found.terms))


def test_more_rows_than_can_be_numbered_are_refused(monkeypatch):
    monkeypatch.setattr(evaluation, "MOST_ROWS", 20)
    with pytest.raises(InputError, match="more than 20 triples follow"):
        closure_of(["transitive"], [[(ex("p"), RDF.type, OWL_TRANSITIVE)]])  # few are fine
        closure_of(
            ["transitive"],
            [
                [
                    (ex("p"), RDF.type, OWL_TRANSITIVE),
                    *((ex(f"n{i}"), ex("p"), ex(f"n{i + 1}")) for i in range(9)),
                ]
            ],
        )


@pytest.mark.parametrize(
    "text",
    [None, "INSERT { ?x :p ?y } WHERE { ?x :p ?y }", "INSERT { ?x ?p ?y } WHERE { ?x ?p ?y . ?x ?p ?y }"],
)
def test_no_rules_and_rules_that_say_what_is_there(text):
    made = Closure([] if text is None else [rule("same", text)], 7)
    for said in ([], [(ex("a"), ex("p"), ex("b"))], [(ex("a"), ex("p"), ex("c"))]):
        added = graph_of(said, None, key=7)
        made.add(added.triples, added.terms)
    assert (made.triples.shape[1], made.inferred.shape[1], made.conflicts()) == (2, 0, [])


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?x :h [ :h ?y ] } WHERE { ?x :p*/:q ?y }",
        "INSERT { ?y :h _:n . _:n :h ?z } WHERE { ?x :p*/:p ?y . ?y :p ?z }",
        "INSERT { [] :of ?x ; :by ?y } WHERE { ?x :q ?z . ?x :p? ?y }",
    ],
)
def test_a_solution_has_one_invented_node_however_long_its_path_is(text):
    triples = [(ex(s), ex(p), ex(o)) for s, p, o in ("apa", "apb", "bpa", "aqb", "bqa")]
    made = Closure([rule("own", text)], 7)
    added = graph_of(triples, None, key=7)
    made.add(added.triples, added.terms)
    store = naively_closed([rule("own", text).text], triples)
    assert unnamed(terms_of(made.triples, made.terms)) == unnamed(default_graph(store))


class OutOfTime(Exception):
    """What a signal's handler raises."""


def test_what_a_signal_raises_while_a_kernel_runs_is_raised(monkeypatch):
    """Now and then compiled code has a result and an exception; Python makes a SystemError of both."""

    def interrupted(*_):
        try:
            raise OutOfTime
        except OutOfTime as cause:
            raise SystemError("returned a result with an exception set") from cause

    monkeypatch.setattr(kernel, "close", interrupted)
    with pytest.raises(OutOfTime):
        closure_of(["subclass"], [[(ex("a"), RDF.type, ex("A"))]])


def test_python_sees_to_signals_however_many_solutions_rows_have(monkeypatch):
    calls, taken = 0, kernel.taken

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return taken(*arguments)

    monkeypatch.setattr(kernel, "taken", counted)
    every = rule("every", "INSERT { ?x :q ?z } WHERE { ?x :p ?y . ?y :p ?z }")  # 900 solutions of 60 rows
    many = [(ex(f"n{i}"), ex("p"), ex("n")) for i in range(30)]
    many += [(ex("n"), ex("p"), ex(f"m{i}")) for i in range(30)]
    given = graph_of(many, None, key=7)
    seen = []
    for at_a_time in (2, 1 << 16):
        calls = 0
        made = Closure([every], 7, Options(at_a_time=at_a_time))
        made.add(given.triples, given.terms)
        assert made.inferred.shape[1] == 900
        seen.append(calls)
    assert seen[0] > 30 + seen[1]


PRODUCTS = {
    "of what is the same": """INSERT { ?x2 ?p ?y2 }
        WHERE { ?x1 ?p ?c . ?x1 owl:sameAs ?x2 . ?y1 owl:sameAs ?y2 }""",
    "of three parts": "INSERT { ?x :q ?z } WHERE { ?x :p ?y . ?k :p ?l . ?m :p/:p ?z }",
    "with conditions": """INSERT { ?x :q ?k }
        WHERE { ?x :p ?y . ?k :p ?l FILTER (isIRI(?y) && ?l != :b && ?x != ?k) }""",
    "as a condition": "INSERT { ?x a :On } WHERE { ?x :p ?y . :a :p ?l }",
    "of whole triples": "INSERT { ?x ?p ?y } WHERE { ?x :p ?y . ?y :p ?z . ?k ?p ?l }",
    "with several conclusions": """INSERT { ?x2 :with ?y2 . ?y1 ?p ?c }
        WHERE { ?x1 ?p ?c . ?x1 owl:sameAs ?x2 . ?y1 owl:sameAs ?y2 }""",
    "with a value": "INSERT { ?x :q ?n } WHERE { ?x :p ?y . ?k :p ?l BIND (STR(?k) AS ?n) }",
}


@pytest.mark.parametrize("text", PRODUCTS.values(), ids=PRODUCTS)
def test_premises_that_share_no_variable_are_no_product(text):
    own = rule("own", text)
    same = NamedNode(OWL + "sameAs")
    triples = [(ex(s), ex("p"), ex(o)) for s, o in ("ab", "bc", "ac", "cd")] + [(ex("a"), same, ex("d"))]
    made = Closure([own], 7)
    added = graph_of(triples, None, key=7)
    made.add(added.triples, added.terms)
    assert set(terms_of(made.triples, made.terms)) == default_graph(naively_closed([own.text], triples))


@pytest.mark.parametrize("name, inferred", [
    ("of what is the same", 6 * 20 * 20), ("with several conclusions", 20 * 40 - 40 + 20 * 20),
])  # fmt: skip
def test_a_product_takes_as_long_as_what_follows_from_it(monkeypatch, name: str, inferred: int):
    """Of 20 pairs all things become the same: there are millions of combinations of premises, and some
    thousand conclusions."""
    solved = 0
    taken = kernel.taken

    def counted(*arguments):
        nonlocal solved
        before = int(arguments[-1][kernel.SOLVED])
        found = taken(*arguments)
        solved += int(arguments[-1][kernel.SOLVED]) - before
        return found

    monkeypatch.setattr(kernel, "taken", counted)
    same = NamedNode(OWL + "sameAs")
    triples = [(ex(f"a{i}"), same, ex(f"b{i}")) for i in range(20)]
    triples += [(ex(f"a{i}"), ex(f"p{i % 5}"), ex(f"c{i}")) for i in range(20)]
    made = Closure([rule("own", PRODUCTS[name])], 7)
    added = graph_of(triples, None, key=7)
    made.add(added.triples, added.terms)
    assert made.inferred.shape[1] == inferred
    assert solved < 100_000

"""Rules that feed queries: who feeds whom, in which order, and which recursion is refused."""

from __future__ import annotations

import pytest

from penstock.algebra import Query, Var
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.plan.analysis import recursion
from penstock.plan.analysis.new_terms import made_variables
from penstock.plan.analysis.recursion import Feeding, RuleProgram, Sought, feeding
from penstock.plan.analysis.rule_graphs import QueryInstants, instants_of, with_rules
from penstock.plan.catalog import Catalog, GraphName, StreamName
from penstock.plan.planning import make_plan
from penstock.plan.sources import RuleGraph, behind_number
from plan.texts import PREFIXES, SLIDING_SUM, iri, pattern, query

ONE_STREAM = Catalog()


def fed(queries: list[Query], catalog: Catalog = ONE_STREAM) -> Feeding:
    catalog = with_rules(catalog, queries)
    return feeding(queries, [catalog.active(query.dataset) for query in queries])


def connections(found: Feeding) -> list[tuple[int, Sought]]:
    """Each rule with each look-up that finds a triple of it."""
    return [
        (found.made[made].rule, found.sought[sought])
        for junction in found.junctions
        for made in junction.made
        for sought in junction.sought
    ]


def programs(queries: list[Query], catalog: Catalog, names=None) -> tuple[RuleProgram, ...]:
    return recursion.programs(fed(queries, catalog), names)


def shape(*texts: str, catalog: Catalog = ONE_STREAM):
    """Each program as its queries in order with their strata."""
    found = programs([query(text) for text in texts], catalog)
    return [list(zip(program.queries, program.strata, strict=True)) for program in found]


def refusal(*texts: str, catalog: Catalog = ONE_STREAM) -> QueryError:
    names = [f"{letter}.rq" for letter in "abcdef"[: len(texts)]]
    with pytest.raises(QueryError) as caught:
        programs([query(text) for text in texts], catalog, names)
    return caught.value


MAKES_Q = "CONSTRUCT { ?s :q ?o } WHERE { ?s :p ?o }"
MAKES_R = "CONSTRUCT { ?s :r ?o } WHERE { ?s :q ?o }"


# --- who feeds whom --------------------------------------------------------------------------


def test_a_rule_feeds_the_leaves_that_its_template_can_match():
    queries = [query(MAKES_Q), query("SELECT * { ?a :p ?b . ?b :q ?c . ?c ?any ?d }")]
    found = connections(fed(queries))
    assert [(rule, sought.query) for rule, sought in found] == [(0, 1), (0, 1)]
    assert {sought.look_up.predicate for _, sought in found} == {iri("q"), Var("any")}


def test_derived_triples_are_in_no_named_graph():
    catalog = Catalog(streams=(StreamName(iri("s").value),))
    assert shape(MAKES_Q, "SELECT * { GRAPH :s { ?s :q ?o } }", catalog=catalog) == [
        [(0, 0)],
        [(1, 0)],
    ]


def test_queries_that_rules_link_form_one_program_rules_first():
    assert shape("SELECT * { ?s :r ?o }", MAKES_R, MAKES_Q, "SELECT * { ?s :x ?o }") == [
        [(2, 0), (1, 0), (0, 0)],
        [(3, 0)],
    ]


def test_two_selects_are_linked_through_the_rule_that_feeds_both():
    assert shape("SELECT * { ?s :q 1 }", MAKES_Q, "SELECT * { ?s :q 2 }") == [[(1, 0), (0, 0), (2, 0)]]


def test_absence_of_derived_triples_is_asked_in_a_higher_stratum():
    assert shape("SELECT * { ?s :a ?o MINUS { ?s :r 1 } }", MAKES_R, MAKES_Q) == [[(2, 0), (1, 0), (0, 1)]]
    counting = "CONSTRUCT { ?s :n ?n } WHERE { SELECT ?s (COUNT(*) AS ?n) { ?s :q ?o } GROUP BY ?s }"
    assert shape("ASK { ?s :n ?n }", counting, MAKES_Q) == [[(2, 0), (1, 1), (0, 2)]]


def test_absence_of_earlier_triples_needs_no_higher_stratum():
    (program,) = shape(MAKES_Q, "SELECT * { { ?s :q ?o } OPTIONALSEQ { ?s :a ?o } }")
    assert sorted(program) == [(0, 0), (1, 0)]


def test_programs_know_whether_they_are_recursive():
    step = "CONSTRUCT { ?a :far ?c } WHERE { ?a :far ?b . ?b :far ?c }"
    straight, recursive = programs([query(MAKES_Q), query(step)], ONE_STREAM)
    assert not straight.recursive and recursive.recursive
    assert {rule for rule, _ in connections(fed([query(MAKES_Q), query(step)]))} == {1}


# --- recursion that is fine ------------------------------------------------------------------


def test_transitive_closure_is_fine():
    assert shape(
        "CONSTRUCT { ?a :far ?b } WHERE { ?a :near ?b }",
        "CONSTRUCT { ?a :far ?c } WHERE { ?a :far ?b . ?b :near ?c }",
    ) == [[(0, 0), (1, 0)]]


def test_the_papers_sliding_sum_is_fine():
    (program,) = programs([query(SLIDING_SUM)], ONE_STREAM)
    assert program.recursive
    found = [sought for _, sought in connections(fed([query(SLIDING_SUM)]))]
    assert all(sought.later for sought in found) and any(sought.absent for sought in found)


def test_counting_on_through_time_is_fine():
    shape("CONSTRUCT { :n :is ?m } WHERE { { :n :is ?n } SEQ { :tick :at ?t } BIND (?n + 1 AS ?m) }")


def test_copies_and_choices_make_no_new_terms():
    shape("CONSTRUCT { ?a :p ?c } WHERE { ?a :p ?b BIND (IF(?b > 1, ?a, ?b) AS ?c) }")
    shape("CONSTRUCT { ?a :p ?c } WHERE { ?a :p ?b BIND (getENDTIME() AS ?c) }")
    shape("CONSTRUCT { ?a :p ?c } WHERE { ?a :p ?b BIND (?b > 1 AS ?c) }")


def test_new_terms_that_do_not_come_back_are_fine():
    shape("CONSTRUCT { ?a :p ?b . ?a :next ?c } WHERE { ?a :p ?b BIND (?b + 1 AS ?c) }")


# --- recursion that is refused ---------------------------------------------------------------


def test_a_rule_that_counts_without_time_moving_on_never_ends():
    error = refusal("CONSTRUCT { :n :is ?m } WHERE { :n :is ?n BIND (?n + 1 AS ?m) }")
    assert "this recursion would never end" in error.message
    assert "the rule `a.rq` feeds itself" in error.message and "?m" in error.message
    assert "SEQ" in error.hint


def test_a_blank_node_in_the_template_is_a_new_term():
    assert "the blank node" in refusal("CONSTRUCT { _:b :p ?x } WHERE { ?x :p ?y }").message


def test_new_terms_may_take_a_detour_over_other_rules():
    error = refusal(
        "CONSTRUCT { ?s :q ?o } WHERE { ?s :p ?o }",
        "CONSTRUCT { ?s :p ?t } WHERE { ?s :q ?o BIND (CONCAT(?o, 'x') AS ?t) }",
        "SELECT * { ?s :q ?o }",
    )
    assert "`a.rq` and `b.rq` feed each other" in error.message
    assert "c.rq" not in error.message


@pytest.mark.parametrize(
    "where",
    [
        "?s :a ?o OPTIONAL { ?s :q ?x } FILTER (!BOUND(?x))",
        "?s :a ?o MINUS { ?s :q ?x }",
        "?s :a ?o FILTER NOT EXISTS { ?s :q ?x }",
        "{ ?s :a ?o } EQUALSOPTIONAL { ?s :q ?x }",
        "{ SELECT ?s (MAX(?x) AS ?o) { ?s :q ?x } GROUP BY ?s }",
        "{ SELECT ?s ?o { ?s :q ?o } LIMIT 1 }",
    ],
)
def test_absence_of_what_the_rule_itself_derives_is_refused(where):
    error = refusal(f"CONSTRUCT {{ ?s :q ?o }} WHERE {{ {where} }}")
    assert "through an absence" in error.message and "a.rq" in error.message
    assert error.hint


def test_the_same_absence_on_the_earlier_side_of_a_seq_is_fine():
    shape("CONSTRUCT { ?s :q ?o } WHERE { { ?s :q ?x } OPTIONALSEQ { ?s :a ?o } }")
    shape("CONSTRUCT { ?s :q ?o } WHERE { { ?s :a ?o MINUS { ?s :q ?x } } SEQ { ?s :b ?o } }")


def test_absence_in_a_cycle_of_two_rules_is_refused():
    error = refusal(
        "CONSTRUCT { ?s :q ?o } WHERE { ?s :a ?o MINUS { ?s :r ?o } }",
        "CONSTRUCT { ?s :r ?o } WHERE { ?s :q ?o }",
    )
    assert "`a.rq` and `b.rq` feed each other" in error.message


def test_time_does_not_move_on_where_the_later_side_may_be_static():
    counting = "CONSTRUCT { :n :is ?m } WHERE { { :n :is ?n } SEQ { :tick :at ?t } BIND (?n + 1 AS ?m) }"
    refusal(counting, catalog=Catalog(graphs=(GraphName(),)))
    labels = GraphName(predicates=frozenset({iri("label").value}))
    shape(counting, catalog=Catalog(graphs=(labels,)))
    refusal(counting, "CONSTRUCT { :tick :at 1 } WHERE {}")


# --- what rules make -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("?a :p ?b BIND (?b + 1 AS ?c)", "c"),
        ("?a :p ?b BIND (?b + 1 AS ?c) BIND (?c AS ?d) BIND (?b AS ?e)", "c d"),
        ("?a :p ?b BIND (2 + 3 AS ?c)", ""),
        ("?a :p ?b BIND (UUID() AS ?c)", "c"),
        ("?a :p ?b BIND (STR(?b) AS ?c)", ""),
        ("{ SELECT (SUM(?b) AS ?c) (MIN(?b) AS ?d) { ?a :p ?b } }", "c"),
        ("{ SELECT (MIN(?b + 1) AS ?d) { ?a :p ?b } }", "d"),
    ],
)
def test_variables_with_new_terms(text, made):
    visible = {var.name for var in made_variables(pattern(text)) if not var.hidden}
    assert visible == set(made.split())


def test_timeless_triples_come_from_rules_over_static_knowledge_also_in_several_steps():
    queries = [
        query("CONSTRUCT { ?s :r ?o } WHERE { ?s :q ?o }"),
        query("CONSTRUCT { ?s :q ?o } WHERE { GRAPH :g { ?s :p ?o } }"),
        query("CONSTRUCT { ?s :t ?o } WHERE { ?s :u ?o }"),
    ]
    catalog = Catalog(graphs=(GraphName(iri("g").value),))
    queries.append(query("SELECT * { ?s ?p ?o . ?a :q ?b . ?c :r ?d . ?e :t ?f }"))
    *_, found = fed(queries, catalog).timeless
    assert {look_up.predicate for _, look_up in found} == {iri("q"), iri("r"), Var("p")}


def test_rules_over_streams_lend_their_instants_to_those_who_read_derived_triples():
    catalog = Catalog(streams=(StreamName(iri("a").value), StreamName(iri("b").value)))
    queries = [
        query("CONSTRUCT { ?s :q ?o } FROM :a WHERE { ?s :p ?o }"),
        query("SELECT * FROM :b { ?s :q ?o }"),
        query("SELECT * { GRAPH :b { ?s :q ?o } }"),
    ]
    catalog = with_rules(catalog, queries)
    assert catalog.rules == (RuleGraph(timed=True, written=True),)
    datasets = [catalog.active(q.dataset) for q in queries]
    derived = behind_number(None)
    assert instants_of(queries, datasets) == [
        QueryInstants(frozenset({0, derived}), frozenset({0})),
        QueryInstants(frozenset({1, derived}), frozenset({0, 1})),
        QueryInstants(frozenset({1}), frozenset({1})),
    ]
    assert with_rules(catalog, queries[1:]).rules == (RuleGraph(),)


@pytest.mark.parametrize("form", ["SELECT (COUNT(*) AS ?n)", "ASK"])
def test_which_rules_write_a_stream_is_nothing_to_the_plan_of_its_readers(form: str):
    """So these go on, with what they remember, when one of the rules comes or goes."""
    catalog = Catalog(streams=(StreamName(iri("a").value), StreamName(iri("b").value)))
    rule = "REGISTER STREAM :o AS CONSTRUCT { ?s :q ?o } FROM :%s WHERE { ?s :p ?o }"
    window = "CONSTRUCT { ?s :q ?o } FROM NAMED WINDOW :w ON :a [NOW] WHERE { WINDOW :w { ?s :p ?o } }"
    texts = {
        "reader": f"{form} FROM :o {{ ?s :q ?o }}",
        "a": rule % "a",
        "b": rule % "b",
        "c": f"REGISTER STREAM :o AS {window}",
    }
    languages = {"c": "cqels-cep"}

    def plan_of(*names: str):
        parsed = [
            parse_query(PREFIXES + texts[name], language=languages.get(name, "ep-sparql")) for name in names
        ]
        reader, *_ = make_plan(parsed, catalog, names).queries
        return reader.step

    assert plan_of("reader", "a") == plan_of("reader", "b") == plan_of("reader", "b", "a")
    assert plan_of("reader", "c") == plan_of("reader", "c", "a")

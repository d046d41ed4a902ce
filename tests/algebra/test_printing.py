"""The algebra as S-expressions."""

from __future__ import annotations

import pytest

from penstock import algebra as a
from penstock.algebra import UnknownNode
from penstock.algebra.printing import to_sexpr
from penstock.algebra.windows import last
from penstock.terms import XSD, BlankNode, Literal, NamedNode

S, P, X = a.Var("s"), NamedNode("http://example.org/p"), a.Var("o")
ONE = Literal("1", datatype=XSD.integer)
BGP = a.BGP((a.TriplePattern(S, P, X),))
SPO = "(bgp (triple ?s <http://example.org/p> ?o))"
PREFIXES = [("ex", "http://example.org/"), ("xsd", XSD.base)]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (a.BGP(()), "(bgp)"),
        (BGP, SPO),
        (
            a.PathPattern(S, a.Inverse(a.Sequence(P, P)), X),
            "(path ?s (inv (seq <http://example.org/p> <http://example.org/p>)) ?o)",
        ),
        (
            a.Alternative(P, a.ZeroOrMore(P)),
            "(alt <http://example.org/p> (ZeroOrMorePath <http://example.org/p>))",
        ),
        (a.Axis("edge"), "edge"),
        (a.Axis("self", ONE), "(self:: 1)"),
        (a.Inverse(a.Nested("node", a.Axis("next", P))), "(inv (node::[] (next:: <http://example.org/p>)))"),
        (a.NegatedSet((P,), ()), "(alt (notoneof <http://example.org/p>) (inv (notoneof)))"),
        (a.NegatedSet(None, (P,)), "(inv (notoneof <http://example.org/p>))"),
        (a.NegatedSet((), None), "(notoneof)"),
        (
            a.Filter(a.Call("!", (a.Exists(a.BGP(())),)), a.BGP(())),
            "(Filter (! (EXISTS (bgp))) (bgp))",
        ),
        (a.Join(a.BGP(()), a.BGP(())), "(Join (bgp) (bgp))"),
        (a.Join(a.BGP(()), a.BGP(()), a.SEQ), "(SeqJoin (bgp) (bgp))"),
        (a.Join(a.BGP(()), a.BGP(()), a.EQUALS), "(EqJoin (bgp) (bgp))"),
        (a.Union_(a.BGP(()), a.BGP(())), "(Union (bgp) (bgp))"),
        (a.Minus(a.BGP(()), a.BGP(())), "(Minus (bgp) (bgp))"),
        (a.OuterJoin(a.BGP(()), a.BGP(())), "(LeftJoin (bgp) (bgp))"),
        (
            a.Join(a.BGP(()), a.BGP(()), a.INTERSECTS, a.IntervalRule.INTERSECTION),
            "(IntersectsJoin intersection (bgp) (bgp))",
        ),
        (a.OuterJoin(a.BGP(()), a.BGP(()), a.ANY), "(AnyLeftJoin (bgp) (bgp))"),
        (a.Join(a.BGP(()), a.BGP(()), a.ENDED), "(EndedJoin (bgp) (bgp))"),
        (a.OuterJoin(a.BGP(()), a.BGP(()), condition=S), "(LeftJoin (bgp) (bgp) ?s)"),
        (a.OuterJoin(a.BGP(()), a.BGP(()), a.SEQ, a.Side.LEFT, S), "(SeqRightJoin (bgp) (bgp) ?s)"),
        (a.OuterJoin(a.BGP(()), a.BGP(()), a.EQUALS, condition=S), "(EqLeftJoin (bgp) (bgp) ?s)"),
        (a.Extend(a.BGP(()), S, ONE), "(Extend ?s 1 (bgp))"),
        (a.Graph(S, a.BGP(())), "(Graph ?s (bgp))"),
        (a.Values((S, X), ((ONE, None),)), "(Values (?s ?o) (row 1 UNDEF))"),
        (
            a.Group(a.BGP(()), ((S, S), (X, ONE)), ((a.Var(".a1"), a.Aggregate("COUNT")),)),
            "(Group (?s (?o 1)) ((?.a1 (COUNT *))) (bgp))",
        ),
        (a.Aggregate("GROUP_CONCAT", S, True, ";"), '(GROUP_CONCAT distinct ?s (separator ";"))'),
        (a.OrderBy(a.BGP(()), ((S, True), (X, False))), "(OrderBy ((desc ?s) (asc ?o)) (bgp))"),
        (a.Distinct(a.Reduced(a.BGP(()))), "(Distinct (Reduced (bgp)))"),
        (a.Slice(a.BGP(()), 2), "(Slice 2 _ (bgp))"),
        (a.Slice(a.BGP(()), 0, 5), "(Slice 0 5 (bgp))"),
        (
            a.Select(a.Project(a.BGP(()), (S,)), (S,), a.Dataset((P,), (P,))),
            "(Select (?s)\n  (dataset (from <http://example.org/p>) (from-named <http://example.org/p>))\n"
            "  (Project (?s) (bgp)))",
        ),
        (
            a.Construct(a.BGP(()), (a.TriplePattern(BlankNode("x"), P, X),)),
            "(Construct (template (triple _:x <http://example.org/p> ?o)) (bgp))",
        ),
        (a.Ask(a.BGP(())), "(Ask (bgp))"),
        (a.Describe(a.BGP(()), (P, S)), "(Describe (<http://example.org/p> ?s) (bgp))"),
        (a.Call("<http://example.org/p>", (S,)), "(<http://example.org/p> ?s)"),
        (a.Call("GETDURATION"), "(GETDURATION)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_node(node, text):
    assert to_sexpr(node) == text


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (Literal("-1", datatype=XSD.integer), "-1"),
        (Literal("1.5", datatype=XSD.decimal), "1.5"),
        (Literal("1e3", datatype=XSD.double), "1e3"),
        (Literal("true", datatype=XSD.boolean), "true"),
        (Literal("abc", datatype=XSD.integer), f'"abc"^^<{XSD.base}integer>'),
        (Literal("1", datatype=XSD.decimal), f'"1"^^<{XSD.base}decimal>'),
        (Literal("1.5", datatype=XSD.double), f'"1.5"^^<{XSD.base}double>'),
        (Literal("1", datatype=XSD.boolean), f'"1"^^<{XSD.base}boolean>'),
        (Literal("1"), '"1"'),
        (Literal('a "b"\n'), r'"a \"b\"\n"'),
        (Literal("a", language="en"), '"a"@en'),
    ],
)
def test_only_literals_whose_digits_say_their_datatype_are_bare(literal, text):
    assert to_sexpr(literal) == text


def test_prefixes_shorten_iris_datatypes_and_functions():
    duration = Literal("P1D", datatype=XSD.duration)
    call = a.Call("<http://example.org/f>", (P, duration, NamedNode("http://example.org/a/b")))
    assert to_sexpr(call, prefixes=PREFIXES) == ('(ex:f ex:p "P1D"^^xsd:duration <http://example.org/a/b>)')


def test_long_forms_are_indented():
    pattern = a.Project(a.Join(BGP, a.Join(BGP, BGP, a.SEQ), a.SEQ), (S, X))
    assert (
        to_sexpr(pattern)
        == f"""\
(Project (?s ?o)
  (SeqJoin
    {SPO}
    (SeqJoin
      {SPO}
      {SPO})))"""
    )


def test_what_is_no_node_is_refused():
    with pytest.raises(UnknownNode, match="int does not say how it is printed"):
        to_sexpr(42)


def test_a_continuous_query_says_its_windows_and_its_sequence():
    window = a.Window(NamedNode("http://ex.org/w"), NamedNode("http://ex.org/s"), last(5))
    triple = a.TriplePattern(a.Var("x"), NamedNode("http://ex.org/p"), a.Var("y"))
    count = (a.Var("n"), a.Aggregate("COUNT"))
    members = (
        a.Member(a.BGP((triple,))),
        a.Member(a.BGP((triple,)), repeated=True, aggregates=(count,)),
        a.Member(a.BGP((triple,)), negated=True),
    )
    how = a.Continuous((window,), a.ON_CHANGE, a.StreamOperator.ISTREAM, a.View.ELEMENT)
    query = a.Ask(a.InWindow(window.name, a.EventSequence(members)), continuous=how)
    assert (
        to_sexpr(query, prefixes=[("", "http://ex.org/")]).split()
        == (
            "(Ask (window :w :s time width=5 slide=1 opening closed) (report change time) (istream element)"
            " (Window :w (Seq (bgp (triple ?x :p ?y)) (repeated (?n (COUNT *)) (bgp (triple ?x :p ?y)))"
            " (not (bgp (triple ?x :p ?y))))))"
        ).split()
    )

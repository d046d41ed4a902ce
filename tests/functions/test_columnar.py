"""Expressions over columns answer as one by one, and are asked less often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.nodes import Call, Expression, Var
from penstock.columns.terms import TermTable
from penstock.columns.texts import Texts, absolute, joined
from penstock.functions.columnar import distinct, is_made_of_texts, made_of_texts
from penstock.functions.errors import ExpressionError
from penstock.functions.evaluate import EvaluationContext, compile_term
from penstock.terms import RDF, XSD, BlankNode, Literal, NamedNode, Term

X, Y = Var("x"), Var("y")
BASE = NamedNode("http://example.org/base/")
SURROGATE = Call(
    "IRI",
    (
        Call(
            "CONCAT",
            (
                Literal("urn:penstock:literal#"),
                Call(
                    "SHA1",
                    (
                        Call(
                            "CONCAT",
                            (
                                Call("LANG", (X,)),
                                Literal(" "),
                                Call("STR", (Call("DATATYPE", (X,)),)),
                                Literal(" "),
                                Call("STR", (X,)),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)

PLAIN: list[Term] = [
    Literal("plain"),
    Literal("grün ☃"),
    Literal(""),
    Literal("tagged", language="en"),
    Literal("tagged", language="de-at"),
    Literal("12", datatype=XSD.integer),
    Literal("012", datatype=XSD.integer),
    Literal("12.50", datatype=XSD.decimal),
    Literal("2026-01-01T00:00:00.5Z", datatype=XSD.dateTime),
    Literal("<b>", datatype=RDF.HTML),
]
ODD: list[Term] = [
    Literal('a "quoted" \\ text\n'),
    Literal("\x7f", language="fr"),
    NamedNode("http://example.org/a"),
    NamedNode("http://example.org/ü"),
    BlankNode("b1"),
]


def one_by_one(expression: Expression, row: dict[str, Term | None]) -> Term | None:
    try:
        return compile_term(expression)(row.get, EvaluationContext())
    except ExpressionError:
        return None


def by_columns(
    expression: Expression, rows: list[dict[str, Term | None]]
) -> tuple[list[Term | None], list[bool]]:
    """The values, where they are known, and where that is."""
    table = TermTable(key=5)
    columns = {
        name: np.array([0 if row[name] is None else table.add(row[name]) for row in rows], np.int64)
        for name in rows[0]
    }
    chosen, numbers = distinct(expression, columns, table)
    ids, known = made_of_texts(expression, chosen, table)
    return [table.term(id_) if id_ else None for id_ in ids[numbers].tolist()], known[numbers].tolist()


EXPRESSIONS = [
    SURROGATE,
    Call("STR", (X,)),
    Call("CONCAT", (X, Y)),
    Call("CONCAT", (Literal("a"), Call("STR", (X,)), Call("LANG", (X,)), Call("STR", (Y,)))),
    Call("MD5", (Call("STR", (X,)),)),
    Call("SHA512", (X,)),
    Call("SHA256", (Call("CONCAT", (X, Call("SHA384", (Literal("constant"),)))),)),
    Call("IRI", (Call("CONCAT", (Literal("urn:x:"), Call("STR", (X,)))),)),
    Call("IRI", (Call("CONCAT", (Literal("http://example.org/"), Call("STR", (X,)))), BASE)),
    Call("URI", (Call("STR", (X,)), BASE)),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({name: st.sampled_from([*PLAIN, *ODD, None]) for name in "xy"}),
        min_size=1,
        max_size=12,
    )
)
def test_what_is_made_of_texts_is_what_one_by_one_makes(expression, rows):
    assert is_made_of_texts(expression)
    found, known = by_columns(expression, rows)
    for row, value, is_known in zip(rows, found, known, strict=True):
        if is_known:
            assert value == one_by_one(expression, row)
        else:
            assert value is None


def test_of_literals_that_are_written_plainly_everything_is_known():
    rows = [{"x": each, "y": None} for each in PLAIN]
    assert by_columns(SURROGATE, rows)[1] == [True] * len(rows)
    assert by_columns(SURROGATE, [{"x": ODD[0], "y": None}])[1] == [False]


def test_an_unbound_variable_and_a_blank_node_have_no_text():
    rows = [{"x": None, "y": None}, {"x": ODD[-1], "y": None}, {"x": PLAIN[0], "y": None}]
    assert by_columns(Call("STR", (X,)), rows) == ([None, None, PLAIN[0]], [True] * 3)


@pytest.mark.parametrize(
    "expression",
    [
        X,
        Literal("constant"),
        Call("LANG", (X,)),  # of few kinds, one by one
        Call("CONCAT", ()),
        Call("CONCAT", (Literal("a"), Literal("b"))),  # looks at nothing
        Call("CONCAT", (X, Literal("a", language="en"))),
        Call("CONCAT", (X, Literal('"'))),
        Call("CONCAT", (X, Call("LANG", (Call("STRLANG", (X, Literal("en"))),)))),
        Call("CONCAT", (X, Call("CONCAT", (Call("LANG", (Y,)), Call("STRUUID", ()))))),
        Call("CONCAT", (X, Call("STR", (Call("NOW", ()),)))),
        Call("IRI", (X,)),
        Call("IRI", ()),
        Call("IRI", (Call("STR", (X,)), Y)),
        Call("STR", (X, Y)),
        Call("UCASE", (X,)),
    ],
    ids=str,
)
def test_other_expressions_are_left_to_one_by_one(expression):
    assert not is_made_of_texts(expression)


def few(expression: Expression, terms: list[Term | None]) -> int:
    """For how many of these an expression is evaluated."""
    table = TermTable(key=5)
    column = np.array([0 if term is None else table.add(term) for term in terms], np.int64)
    chosen, numbers = distinct(expression, {"x": column}, table)
    for term, id_ in zip(terms, chosen["x"][numbers].tolist(), strict=True):
        other = table.term(id_) if id_ else None
        assert one_by_one(expression, {"x": term}) == one_by_one(expression, {"x": other})
    return len(chosen["x"])


def test_of_what_is_looked_at_by_its_kind_each_kind_is_looked_at_once():
    many = [Literal(str(i)) for i in range(100)]
    many += [Literal(str(i), language=tag) for i in range(100) for tag in ("en", "de")]
    many += [Literal(str(i), datatype=XSD[name]) for i in range(100) for name in ("integer", "token")]
    many += [NamedNode(f"http://example.org/{i}") for i in range(100)]
    many += [BlankNode(f"b{i}") for i in range(100)] + [None] * 100
    tag, datatype = Call("LANG", (X,)), Call("DATATYPE", (X,))
    is_text = Call("||", (Call("!=", (tag, Literal(""))), Call("=", (datatype, XSD.string))))
    for expression in (tag, datatype, is_text, Call("ISIRI", (X,)), Call("BOUND", (X,))):
        assert few(expression, many) == 8
    assert few(Call("&&", (Call("ISIRI", (X,)), Call("=", (X, many[0])))), many) == 701


def test_texts_are_joined_with_what_stands_for_all():
    one, two, none = Texts.of([b"a", b"", b"ccc"]), Texts.of([b"-"]), Texts.of([])
    assert joined(one, two, one).to_arrow().to_pylist() == [b"a-a", b"-", b"ccc-ccc"]
    assert joined(two, one, two).to_arrow().to_pylist() == [b"-a-", b"--", b"-ccc-"]
    assert joined(two, two).to_arrow().to_pylist() == [b"--"]
    assert joined(two, none).to_arrow().to_pylist() == []


@settings(max_examples=500, deadline=None)
@given(st.lists(st.text("aZ0:/#.-_~+?%[]@ é", max_size=12), max_size=20))
def test_what_is_certain_to_be_an_iri_is_one(texts):
    texts += [
        "urn:x:y",
        "http://example.org/a#b",
        "x:",
        "x://h",
        "x://h:1",
        "x:#a#b",
        "9:a",
        "://a",
        "x:///a",
    ]
    found = absolute(*Texts.of([text.encode() for text in texts])).tolist()
    assert found[-9:] == [True, True, True, True, False, False, False, False, False]
    for text, certain in zip(texts, found, strict=True):
        if certain:
            assert NamedNode(text).value == text

"""Texts of hashed ids: chunks travel, tables remember and forget."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.columns.ids import HASHED, hash_text, id_of, term_text
from penstock.columns.terms import TermChunk, TermTable
from penstock.errors import InputError
from penstock.terms import XSD, BlankNode, Literal, NamedNode
from penstock.timeline import format_instant

TERMS = [
    NamedNode("http://example.org/a"),
    BlankNode("b1"),
    Literal("grün\n"),
    Literal("chat", language="fr"),
    Literal("1e5", datatype=XSD.double),
    Literal("12.50", datatype=XSD.decimal),
    Literal("2026-01-01T00:00:00.5Z", datatype=XSD.dateTime),
]


def chunk_of(texts: list[bytes], key: int = 0) -> TermChunk:
    """A chunk of the given texts (each as often as you like)."""
    table = TermTable(key=key)
    for text in texts:
        table.add_text(text)
    return table.chunk()


def test_a_term_comes_back_from_its_id():
    table = TermTable()
    ids = [table.add(term) for term in TERMS]
    assert ids == [id_of(term) for term in TERMS]
    assert [table.term(id_) for id_ in ids] == TERMS
    assert table.size == 5  # the last two carry their value in the id


def test_texts_keep_the_order_and_show_unbound_as_null():
    table = TermTable()
    ids = np.array([table.add(term) for term in TERMS] + [0] + [table.add(TERMS[0])])
    expected = [*(term_text(term) for term in TERMS), None, term_text(TERMS[0])]
    assert table.texts(ids).to_pylist() == expected
    assert table.texts(np.array([], np.int64)).to_pylist() == []


def test_an_unknown_id_is_an_error_and_not_a_wrong_term():
    table = TermTable()
    with pytest.raises(KeyError):
        table.term(HASHED + 5)
    with pytest.raises(KeyError):
        table.texts(np.array([HASHED + 5]))
    with pytest.raises(KeyError):
        table.subset(np.array([HASHED + 5]))


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(min_size=1, max_size=40), max_size=30), max_size=6))
def test_a_table_holds_the_union_of_its_chunks(batches):
    table, expected = TermTable(), {}
    for batch in batches:
        chunk = chunk_of(batch)
        assert chunk.ids.tolist() == sorted({hash_text(text) for text in batch})
        table.add_chunk(chunk)
        expected |= {hash_text(text): text for text in batch}
    assert table.size == len(expected)
    whole = table.chunk()
    assert {int(i): whole.text(n) for n, i in enumerate(whole.ids)} == expected


def test_many_chunks_grow_the_table_without_losing_a_text():
    table = TermTable()
    for batch in range(20):
        table.add_chunk(chunk_of([b"<a:%d>" % (batch * 300 + i) for i in range(500)]))
    assert table.size == 19 * 300 + 500
    ids = np.array([hash_text(b"<a:%d>" % i) for i in range(table.size)])
    assert table.texts(ids).to_pylist() == [b"<a:%d>" % i for i in range(table.size)]


def test_two_terms_with_one_id_stop_the_run():
    id_ = hash_text(b"<a:x>")
    forged = TermChunk(np.array([id_]), np.array([0, 5]), np.frombuffer(b"<a:y>", np.uint8))
    table = TermTable(chunk_of([b"<a:x>"]))
    with pytest.raises(InputError, match="same id"):
        table.add_chunk(forged)
    table = TermTable(forged)
    with pytest.raises(InputError, match="same id"):
        table.add(NamedNode("a:x"))


def test_a_subset_has_each_hashed_id_once():
    table = TermTable()
    ids = np.array([table.add(term) for term in TERMS])
    chunk = table.subset(np.concatenate([ids, ids, [0]]))
    assert chunk.ids.tolist() == sorted(id_ for id_ in ids.tolist() if id_ >= HASHED)
    assert {chunk.text(i) for i in range(len(chunk))} == {term_text(t) for t in TERMS[:5]}


def test_retain_forgets_the_rest():
    table = TermTable()
    ids = [table.add(NamedNode(f"a:{i}")) for i in range(5000)]
    before = table.nbytes
    assert table.term(ids[0]) == NamedNode("a:0")
    table.retain(np.array([ids[7], ids[9], 0, HASHED + 1]))
    assert table.size == 2 and table.nbytes < before
    assert table.term(ids[7]) == NamedNode("a:7")
    assert ids[0] not in table and ids[9] in table
    with pytest.raises(KeyError):
        table.term(ids[0])
    assert table.add(NamedNode("a:0")) == ids[0] and table.size == 3


def test_tables_pickle():
    table = TermTable(chunk_of([b"<a:1>", b"<a:2>"]))
    assert pickle.loads(pickle.dumps(table)).chunk().texts() == table.chunk().texts()


numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?", fullmatch=True)
moments = st.builds(
    lambda micros, digits: f"{format_instant(micros)[:19]}{fraction(micros, digits)}Z",
    st.integers(-(2**54) + 1, 2**54 - 1),
    st.integers(0, 6),
)


def fraction(micros: int, digits: int) -> str:
    return f".{micros % 1_000_000:06d}"[: digits + 1] if digits else ""


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.builds(Literal, numbers, datatype=st.sampled_from([XSD.decimal, XSD.double, XSD.float]))
        | st.builds(Literal, st.integers(-(2**53), 2**53).map(str), datatype=st.just(XSD.integer))
        | st.builds(Literal, moments, datatype=st.just(XSD.dateTime))
        | st.builds(Literal, st.sampled_from(["true", "false"]), datatype=st.just(XSD.boolean))
        | st.builds(Literal, st.text(max_size=5)),
        max_size=10,
    )
)
@example([Literal("1970-01-01T00:00:00Z", datatype=XSD.dateTime)])
@example([Literal("1600-02-29T23:59:59.000001Z", datatype=XSD.dateTime)])
@example([Literal("-0.005", datatype=XSD.decimal), Literal("-0", datatype=XSD.integer)])
def test_inline_values_are_written_as_their_terms_are(terms):
    table = TermTable()
    ids = np.array([table.add(term) for term in terms], np.int64)
    assert table.texts(ids).to_pylist() == [term_text(term) for term in terms]


# --- answers: every text once ---


def test_encoded_columns_hold_every_text_once():
    table = TermTable()
    ids = [table.add(term) for term in TERMS]
    column = table.encoded(np.array([ids[0], 0, *ids, 0]))
    assert column.to_pylist() == [str(TERMS[0]), None, *map(str, TERMS), None]
    assert column.dictionary.to_pylist() == [*map(str, TERMS)]
    assert table.encoded(np.array([], np.int64)).to_pylist() == []
    assert table.encoded(np.array([0, 0], np.int64)).to_pylist() == [None, None]


def test_encoding_takes_any_number_of_terms():
    table = TermTable()
    ids = np.array([table.add(Literal(f"{i % 5000}", datatype=XSD.integer)) for i in range(9000)])
    assert table.encoded(ids).to_pylist() == table.texts(ids).cast(pa.binary()).cast(pa.string()).to_pylist()


def test_a_part_of_a_chunk_is_what_some_ids_need():
    chunk = chunk_of([b"<a:%d>" % i for i in range(100)])
    wanted = [hash_text(b"<a:%d>" % i) for i in (70, 3, 3)]
    part = chunk.subset(np.array([*wanted, 0, id_of(TERMS[5])]))
    assert sorted(part.texts().to_pylist()) == [b"<a:3>", b"<a:70>"]
    assert sorted(part.ids.tolist()) == sorted(set(wanted))
    with pytest.raises(KeyError, match="no text"):
        chunk.subset(np.array([HASHED + 5]))


def test_of_an_offer_only_what_is_accepted_is_taken_over():
    texts = [b"<http://example.org/%d>" % i for i in range(100)]
    chunk = chunk_of(texts)
    table = TermTable()
    table.offer(chunk)
    table.accept([chunk.ids[:3], chunk.ids[1:4]], most=0)
    assert len(table) == 4
    assert table.texts(chunk.ids[:4]).to_pylist() == [chunk.text(i) for i in range(4)]
    with pytest.raises(KeyError):
        table.texts(chunk.ids[4:5])


def test_an_offered_text_is_found_before_anybody_accepts_it():
    chunk = chunk_of([b"<http://example.org/a>", b"<http://example.org/b>"])
    for look in (
        lambda table: table.texts(chunk.ids).to_pylist(),
        lambda table: [table.term(int(id_)) for id_ in chunk.ids],
        lambda table: table.subset(chunk.ids).texts().to_pylist(),
        lambda table: [id_ in table for id_ in chunk.ids.tolist()],
        lambda table: table.chunk().texts().to_pylist(),
    ):
        offered, added = TermTable(), TermTable(chunk)
        offered.offer(chunk)
        assert look(offered) == look(added)


def test_two_texts_of_one_id_are_noticed_when_they_are_accepted():
    chunk = chunk_of([b"<http://example.org/a>"])
    other = TermChunk(chunk.ids, chunk.offsets, np.frombuffer(b"<http://example.org/b>", np.uint8))
    table = TermTable(chunk)
    table.offer(other)
    with pytest.raises(InputError, match="same id"):
        table.accept([chunk.ids], most=0)


@pytest.mark.parametrize("key", [0, 7])
def test_many_terms_at_once_are_as_one_by_one(key):
    many, one = TermTable(key=key), TermTable(key=key)
    terms = [
        *TERMS,
        *TERMS[:3],
        Literal("12.5", datatype=XSD.decimal),
        Literal(""),
        Literal('\t"\\\r\n\u2028'),
    ]
    ids = many.add_all(terms)
    assert ids.tolist() == [one.add(term) for term in terms]
    assert many.terms(ids) == terms == [one.term(id_) for id_ in ids.tolist()]
    assert len(many) == len(one)
    assert many.add_all([]).tolist() == [] == many.terms(np.empty(0, np.int64))


def test_many_terms_at_once_notice_a_collision():
    table = TermTable()
    text = term_text(TERMS[0])
    table.add_chunk(
        TermChunk(
            np.array([hash_text(text)]), np.array([0, len(text)]), np.frombuffer(b"x" * len(text), np.uint8)
        )
    )
    with pytest.raises(InputError, match="same id|collision|one id"):
        table.add_all([TERMS[1], TERMS[0]])


@pytest.mark.parametrize(
    "text",
    [
        "0.12345678901234567890", "-50.123456789012345678", "99999999999999999.5", "0.00000000000000000001",
        "000000000000000000000001.5", "123456789012345678901234567890.1", "0." + "0" * 299 + "1",
        "0." + "0" * 320 + "1", "+1.0000000000000000", "-0.0000000000000000", "1." + "0" * 400 + "1",
    ],
)  # fmt: skip
def test_decimals_that_are_hashed_are_read_from_their_texts(text: str):
    table = TermTable()
    [value], [known] = table.decimals(np.array([table.add(Literal(text, datatype=XSD.decimal))]))
    exact = Decimal(text)
    assert not known or abs(Fraction(float(value)) - Fraction(exact)) <= abs(Fraction(exact)) / 2**50
    assert known == (text[0] != "+" and exact < 10**17 and (exact >= 1 or exact.adjusted() >= -300))


@pytest.mark.parametrize("term", [NamedNode("x:1.5"), Literal("1.5"), Literal("-", datatype=XSD.decimal),
                                  Literal("1.5.5", datatype=XSD.decimal), Literal("", datatype=XSD.decimal),
                                  Literal("12345678901234567890", datatype=XSD.integer)])  # fmt: skip
def test_what_is_no_decimal_is_not_read_as_one(term):
    table = TermTable()
    assert table.decimals(np.array([table.add(term)]))[1].tolist() == [False]

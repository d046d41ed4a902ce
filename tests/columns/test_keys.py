"""Ids by a run's key: nobody can craft two terms with one id, and every place uses the same key."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pytest

from penstock.columns.ids import HASHED, hash_bytes, hash_text, id_of, secret_of
from penstock.columns.terms import TermTable
from penstock.knowledge.graphs import graph_of
from penstock.terms import XSD, Literal, NamedNode

KEYS = [0, 1, 0x2718281828459045, (1 << 62) - 1]
MULTIPLIER, WORD = 0xC6A4A7935BD1E995, (1 << 64) - 1


def murmur(text: bytes, seed: int) -> int:
    """MurmurHash64A of whole blocks."""
    state = seed ^ len(text) * MULTIPLIER & WORD
    for at in range(0, len(text), 8):
        state = (state ^ mixed(text[at : at + 8])) * MULTIPLIER & WORD
    state = (state ^ state >> 47) * MULTIPLIER & WORD
    return state ^ state >> 47


def mixed(block: bytes) -> int:
    word = int.from_bytes(block, "little") * MULTIPLIER & WORD
    return (word ^ word >> 47) * MULTIPLIER & WORD


def other(block: bytes) -> bytes:
    """The block that differs in the first bit when it is mixed; two of them in a row cancel out."""
    inverse = pow(MULTIPLIER, -1, 1 << 64)
    word = (mixed(block) ^ 1 << 63) * inverse & WORD
    return ((word ^ word >> 47) * inverse & WORD).to_bytes(8, "little")


def test_texts_that_collide_in_murmur_for_every_seed_have_different_ids():
    one, two = b"<http://", b"e.org/a>"
    texts = [b"--------" + one + two, b"--------" + other(one) + other(two)]
    assert texts[0] != texts[1]
    for seed in [0x9747B28C8F1BBCDC, *range(20)]:
        assert murmur(texts[0], seed) == murmur(texts[1], seed)
    for key in KEYS:
        assert hash_text(texts[0], key) != hash_text(texts[1], key)


def test_a_word_that_is_known_of_one_secret_cancels_nothing_for_another():
    # What makes a factor 0 under one key swallows the other word; under no other key.
    word = int(secret_of(5)[1]).to_bytes(8, "little")
    texts = [word + b"01234567", word + b"76543210"]
    assert hash_text(texts[0], 5) == hash_text(texts[1], 5)  # so who knows the key can craft them
    for key in KEYS:
        assert hash_text(texts[0], key) != hash_text(texts[1], key)


def test_ids_of_hashed_terms_differ_between_keys_and_inline_ones_do_not():
    term, number = NamedNode("http://e.org/a"), Literal("1.50", datatype=XSD.decimal)
    assert len({id_of(term, key) for key in KEYS}) == len(KEYS)
    assert len({id_of(number, key) for key in KEYS}) == 1
    assert all(id_of(term, key) >= HASHED for key in KEYS)


def test_a_table_keeps_its_key_on_its_way_to_another_process():
    table = TermTable(key=KEYS[2])
    id_ = table.add(NamedNode("http://e.org/a"))
    there = pickle.loads(pickle.dumps(table))
    assert id_ in there and there.add(NamedNode("http://e.org/a")) == id_ and len(there) == 1


def test_a_graph_with_another_key_is_the_same_graph():
    nodes = [NamedNode(f"http://e.org/{i}") for i in range(50)]
    random = Random(1)
    triples = [(random.choice(nodes), nodes[0], random.choice(nodes)) for _ in range(100)]
    triples += [(nodes[1], nodes[2], Literal(str(i), datatype=XSD.integer)) for i in range(5)]
    first = graph_of(triples, "http://e.org/g")
    assert first.keyed(0) is first
    moved, expected = first.keyed(KEYS[2]), graph_of(triples, "http://e.org/g", key=KEYS[2])
    assert not np.array_equal(first.triples, moved.triples)
    np.testing.assert_array_equal(moved.triples, expected.triples)
    np.testing.assert_array_equal(moved.terms.ids, expected.terms.ids)
    assert moved.terms.texts() == expected.terms.texts()
    assert moved.predicates() == first.predicates()


@pytest.mark.parametrize("key", KEYS)
def test_texts_of_any_length_and_place_have_their_own_ids(key):
    whole = bytes(range(1, 100))
    texts = [whole[:size] for size in range(99)]
    texts += [b"\0" * size for size in range(1, 99)]
    ids = [hash_text(text, key) for text in texts]
    assert len(set(ids)) == len(texts)
    # What stands before and behind a text, readable or not, is no part of it.
    for text, id_ in zip(texts, ids, strict=True):
        for around in ((b"", b"x"), (b"abc", b""), (b"abcdefghi", b"0123456789")):
            buffer = np.frombuffer(around[0] + text + around[1], np.uint8)
            assert hash_bytes(buffer, len(around[0]), len(around[0]) + len(text), key) == id_


@pytest.mark.parametrize("key", [0, 0x2718281828459045])
def test_similar_texts_do_not_collide_and_every_bit_is_used(key):
    count = 250_000
    ids = np.array([hash_text(b"<http://example.org/sensor/%d>" % i, key) for i in range(count)])
    short = np.array([hash_text(b"<e:%d>" % i, key) for i in range(count)])
    everything = np.concatenate([ids, short])
    assert len(np.unique(everything)) == 2 * count
    for few in (ids, short):
        for bit in range(62):  # each is set in half of them, give or take six standard deviations
            assert abs(int((few >> bit & 1).sum()) - count / 2) < 6 * count**0.5 / 2
        # A bit more or less in the text changes about half of the bits of the id.
        changed = few[1:] ^ few[:-1]
        bits = np.unpackbits(changed.view(np.uint8)).sum() / len(changed)
        assert 30.5 < bits < 31.5

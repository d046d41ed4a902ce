"""LUBM's data is the reference data, to the byte; a stream of it says the same, department by department."""

from __future__ import annotations

import gzip
import hashlib
import random

import numpy as np
import pytest
import zstandard

from penstock.cli import call
from penstock.decode.decoder import Decoder
from penstock.errors import StorageError, UsageError
from penstock.scenarios.lubm import profile
from penstock.scenarios.lubm.chance import below, new_state, sample, set_seed
from penstock.scenarios.lubm.generating import BEGIN, LARGEST, PERIOD, Lubm
from penstock.scenarios.lubm.lines import LONGEST_LINE
from penstock.scenarios.lubm.writing import write
from shared_data import shared

DIGEST = "f0100dd6648f7821da3a32874243e9f3731ba11e956945e517828090126b15b9"


def text(data: Lubm) -> bytes:
    return b"".join(bytes(part.text) for part in data.parts())


# --- random numbers ---


class Java:
    """java.util.Random as its documentation defines it, in plain integers."""

    def __init__(self, seed: int) -> None:
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
        self.drawn = 0

    def next(self, bits: int) -> int:
        self.drawn += 1
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self.seed >> (48 - bits)

    def next_int(self, bound: int) -> int:
        if bound & (bound - 1) == 0:
            return (bound * self.next(31)) >> 31
        while True:
            bits = self.next(31)
            value = bits % bound
            if bits - value + (bound - 1) < 1 << 31:
                return value


@pytest.mark.parametrize(
    ("seed", "bound", "numbers"),
    [
        (42, 100, [30, 63, 48, 84, 70, 25]),
        (42, 64, [46, 3, 43, 3, 19, 60]),
        (5 * -(1 << 31) + 7, (1 << 30) + 1, [192338444, 807340589, 284910894, 588106882, 237012852]),
    ],
)
def test_numbers_are_those_of_java(seed: int, bound: int, numbers: list[int]):
    """What a Java printed for `new Random(seed).nextInt(bound)`."""
    state = new_state()
    set_seed(state, seed)
    assert [below(state, bound) for _ in numbers] == numbers


@pytest.mark.parametrize("seed", [0, 1, 42, -1, -(1 << 31), 5 * -(1 << 31) + 7])
def test_numbers_follow_the_definition_for_every_kind_of_bound(seed: int):
    state, java = new_state(), Java(seed)
    set_seed(state, seed)
    bounds = [1, 2, 3, 7, 64, 100, 1000, 1 << 30, (1 << 30) + 1, (1 << 31) - 1] * 20
    assert [below(state, bound) for bound in bounds] == [java.next_int(bound) for bound in bounds]
    assert java.drawn > len(bounds)  # some draws were rejected and repeated


def test_a_sample_is_drawn_from_what_is_left():
    chance = random.Random(1)
    for seed in range(200):
        pool = chance.randint(1, 120)
        size = chance.randint(0, pool)
        state, java = new_state(), Java(seed)
        set_seed(state, seed)
        out, in_order = np.empty(size, np.int64), np.empty(size, np.int64)
        sample(state, size, pool, out, in_order)
        left, expected = list(range(pool)), []
        for _ in range(size):
            expected.append(left.pop(java.next_int(len(left))))
        assert out.tolist() == expected


# --- the data ---


def test_one_university_is_the_reference_data():
    path = shared("lubm", "data", "lubm1.nt.gz")
    if path is None:
        pytest.skip("the LUBM data is not beside the repository")
    with gzip.open(path) as file:
        reference = file.read()
    generated = text(Lubm(1))
    assert set(generated.splitlines()) == set(reference.splitlines())
    assert generated == reference  # in the same order, too


def test_one_university_is_always_the_same():
    """The digest is of the reference data."""
    assert hashlib.sha256(text(Lubm(1))).hexdigest() == DIGEST


@pytest.mark.parametrize(
    ("universities", "triples"),
    [(1, 100_545), (5, 624_534), (10, 1_272_577), pytest.param(100, 13_405_383, marks=pytest.mark.slow)],
)
def test_as_many_triples_as_the_paper_counts(universities: int, triples: int):
    assert sum(part.triples for part in Lubm(universities).parts()) == triples


def test_every_triple_is_there_once():
    """Also where universities from beyond the pool of degrees are generated."""
    for data in (Lubm(5), Lubm(3, index=profile.UNIVERSITY_POOL - 2)):
        lines = text(data).splitlines()
        assert len(set(lines)) == len(lines) == sum(part.triples for part in data.parts())
        types = {line.split()[0] for line in lines if line.endswith(b"#University> .")}
        for index in range(data.index, data.index + data.universities):
            assert f"<http://www.University{index}.edu>".encode() in types


def test_a_university_does_not_depend_on_where_generation_begins():
    together = [part for part in _copied(Lubm(4, stream=True)) if part[0] == 3]
    alone = _copied(Lubm(1, index=3, stream=True))
    assert [_triples(part[1]) for part in together] == [_triples(part[1]) for part in alone]


def _copied(data: Lubm) -> list[tuple[int, bytes]]:
    return [(part.university, bytes(part.text)) for part in data.parts()]


def _triples(quads: bytes) -> list[bytes]:
    return [line.rsplit(b" ", 2)[0] for line in quads.splitlines()]


def test_seeds_make_different_universities():
    assert len({hashlib.sha256(text(Lubm(1, seed))).digest() for seed in range(4)}) == 4


def test_the_largest_names_have_room():
    data = Lubm(1, seed=LARGEST, index=LARGEST, stream=True)
    lines = text(data).splitlines()
    assert b"University2147483647" in lines[-1]
    assert max(map(len, lines)) < LONGEST_LINE
    assert sum(part.triples for part in data.parts()) == len(lines)


def test_no_department_has_more_than_there_is_room_for():
    largest = max(part.triples for part in Lubm(40).parts())
    assert profile.MOST_TRIPLES * 0.6 < largest < profile.MOST_TRIPLES


# --- the stream ---


def test_a_stream_has_a_department_per_element_and_says_the_same():
    quads = text(Lubm(2, stream=True))
    found, taken = Decoder("nquads").decode(quads)
    assert taken == len(quads) and not found.rejects
    departments = quads.count(b"univ-bench.owl#Department> <http")
    assert found.elements == departments == len(np.unique(found.element)) > 30
    assert found.instants.tolist() == [BEGIN + number * PERIOD for number in range(departments)]
    by_element = set(zip(found.element.tolist(), *(c.tolist() for c in found.columns[:3]), strict=True))
    assert len(by_element) == len(found)  # nothing twice in an element
    assert set(_triples(quads)) == {line[:-2] for line in text(Lubm(2)).splitlines()}


# --- files ---


def test_the_name_of_a_file_says_how_it_is_written(tmp_path):
    plain = text(Lubm(1))
    for name, opened in (
        ("a.nt", bytes),
        ("a.nq", bytes),
        ("a.nt.gz", gzip.decompress),
        ("deep/er/a.nt.zst", lambda packed: zstandard.ZstdDecompressor().stream_reader(packed).read()),
    ):
        assert write(Lubm(1), str(tmp_path / name)) == 100_545
        assert opened((tmp_path / name).read_bytes()) == plain


def test_the_same_data_is_the_same_file(tmp_path):
    for name in ("a.nq.gz", "b.nq.gz"):
        write(Lubm(1, stream=True), str(tmp_path / name))
    assert (tmp_path / "a.nq.gz").read_bytes() == (tmp_path / "b.nq.gz").read_bytes()


def test_a_directory_gets_a_file_for_each_university(tmp_path):
    told = []
    directory = tmp_path / "universities"
    triples = write(Lubm(3, index=8), str(directory), lambda *numbers: told.append(numbers))
    files = sorted(directory.iterdir())
    assert [file.name for file in files] == [f"university-{n}.nt" for n in ("08", "09", "10")]
    assert b"".join(file.read_bytes() for file in files) == text(Lubm(3, index=8))
    assert told[-1] == (3, triples) and told == sorted(told)
    with pytest.raises(UsageError, match="is not empty"):
        write(Lubm(1), str(directory))


def test_standard_output(capfdbinary):
    assert call(["lubm", "generate", "--universities", "1"]) == 0
    out, said = capfdbinary.readouterr()
    assert out == text(Lubm(1))
    assert b"100,545 triples of 1 university (" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--universities", "0"], "0 universities cannot be generated"),
        (["--universities", "-3"], "-3 universities cannot be generated"),
        (["--seed", "-1"], "the seed -1 is out of range"),
        (["--seed", str(LARGEST + 1)], "the seed 2147483648 is out of range"),
        (["--index", "-1"], "the index -1 is out of range"),
        (["--index", str(LARGEST), "--universities", "2"], "there is no university 2147483648"),
        (["--out", "a.ttl"], "a.ttl: what is generated is N-Triples or N-Quads"),
        (["--out", "a.nt", "--stream"], "a.nt: N-Triples have no graphs"),
    ],
)
def test_a_wrong_call_is_told(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(["lubm", "generate", *arguments]) == UsageError.exit_code
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told(capsys, tmp_path):
    (tmp_path / "file").touch()
    assert call(["lubm", "generate", "--out", str(tmp_path / "file" / "a.nt")]) == StorageError.exit_code
    assert "cannot write" in capsys.readouterr().err

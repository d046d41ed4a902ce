"""Decoding the splits of a run: whatever is in the input, the batch gets through."""

from __future__ import annotations

import pytest

from penstock.decode import lines
from penstock.errors import InputError
from penstock.runtime.intake.decoding import file_decoder
from penstock.sources.splits import Split
from penstock.sources.streams import StreamSpec


def split_of(path, whole: bool) -> Split:
    size = path.stat().st_size
    return Split(0, 0, str(path), 0, size, 0, size, whole)


def nquads(count: int) -> list[str]:
    return [f"<x:s> <x:p> <x:o{n}> <x:{n}#t=2026-01-01T00:00:{n:02d}Z> .\n" for n in range(count)]


@pytest.fixture
def fails(monkeypatch):
    """A decoder that has a fault which nobody knows of."""
    scan = lines.scan

    def faulty(data, **options):
        if b"poison" in bytes(data):
            raise OverflowError("Python int too large to convert to C long")
        return scan(data, **options)

    monkeypatch.setattr(lines, "scan", faulty)


@pytest.mark.parametrize("at", [[0], [17], [39], [3, 4, 30]])
def test_a_failure_is_a_reject_of_the_element_that_it_is_about(tmp_path, fails, at):
    texts = nquads(40)
    for n in at:
        texts[n] = texts[n].replace("<x:p>", "<x:poison>")
    path = tmp_path / "a.nq"
    path.write_text("".join(texts))
    decoder = file_decoder(StreamSpec(None, (str(path),)), None, False)
    found = decoder.decode(split_of(path, False))
    assert found.elements == len(found) == 40 - len(at)
    assert [reject.line for reject in found.rejects] == [n + 1 for n in at]
    assert found.rejects[0].reason.startswith("this cannot be decoded: OverflowError")
    assert "poison" in found.rejects[0].text
    late = decoder.late(split_of(path, False), 2**62)
    assert late.num_rows == 40 - len(at)
    with pytest.raises(OverflowError):
        file_decoder(StreamSpec(None, (str(path),)), None, True).decode(split_of(path, False))


def test_a_table_without_the_columns_is_a_reject(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,value\n1,2\n")
    spec = StreamSpec(None, (str(path),))
    [reject] = file_decoder(spec, None, False).decode(split_of(path, True)).rejects
    assert "the table has no column s" in reject.reason
    with pytest.raises(InputError, match="no column s"):
        file_decoder(spec, None, True).decode(split_of(path, True))

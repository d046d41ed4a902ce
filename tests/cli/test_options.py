"""How the values of options are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.options import Named, existing_queries, read_named
from penstock.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("prices.nq", "a=b.nq"):
        Path(name).touch()


@pytest.mark.parametrize(
    ("text", "iri", "source"),
    [
        ("prices.nq", None, "prices.nq"),
        ("-", None, "-"),
        ("a=b.nq", None, "a=b.nq"),
        ("http://example.org/s=prices.nq", "http://example.org/s", "prices.nq"),
        ("urn:stocks=-", "urn:stocks", "-"),
        ("http://example.org/?x=1=prices.nq", "http://example.org/?x=1", "prices.nq"),
        ("http://example.org/s=a=b.nq", "http://example.org/s", "a=b.nq"),
    ],
)
def test_a_source_may_have_a_name(text, iri, source):
    assert read_named(text, "--stream") == Named(iri, source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.nq", "no such file or directory"),
        ("urn:stocks=nowhere.nq", "no such file or directory: nowhere.nq"),
        ("stocks=prices.nq", "'stocks' is not an absolute IRI"),
        ("urn:stocks=", r"no such file or directory: \(empty\)"),
    ],
)
def test_what_is_not_there_is_the_callers_fault(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        read_named(text, "--stream")
    assert caught.value.exit_code == 2 and "--stream" in caught.value.message


def test_queries_are_files():
    assert existing_queries([Path("prices.nq")]) == [Path("prices.nq")]
    with pytest.raises(UsageError, match="no query file q.rq"):
        existing_queries([Path("q.rq")])
    with pytest.raises(UsageError, match="is a directory"):
        existing_queries([Path(".")])

"""Directories as streams: an empty one is refused at once, files that are not read are mentioned."""

from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.runtime.intake.inputs import check_inputs, input_findings
from penstock.sources.streams import StreamSpec


def test_a_directory_without_a_stream_is_refused_unless_it_is_followed(tmp_path):
    streams = [StreamSpec(None, (str(tmp_path),))]
    with pytest.raises(UsageError, match="has no file of a stream: it is empty"):
        check_inputs(streams)
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden.nq").touch()
    with pytest.raises(UsageError, match="has no file of a stream, only notes.txt"):
        check_inputs(streams)
    check_inputs(streams, follow=True)
    check_inputs([StreamSpec(None, (str(tmp_path),), format="nquads")])


def test_files_that_are_not_read_are_mentioned(tmp_path):
    for name in ("a.nq", "b.txt", "c.md", "d.nq.bz2", "e.ttl", "_f.txt"):
        (tmp_path / name).touch()
    streams = [StreamSpec(None, (str(tmp_path),))]
    check_inputs(streams)
    [finding] = input_findings(streams)
    assert finding.message.endswith("not read: b.txt, c.md, d.nq.bz2 and 1 more")
    assert not input_findings([StreamSpec(None, (str(tmp_path / "a.nq"),))])
    assert not input_findings([StreamSpec(None, (str(tmp_path),), format="nquads")])

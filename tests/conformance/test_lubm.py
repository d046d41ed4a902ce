"""LUBM without reasoning: the reference answers where none is needed."""

from __future__ import annotations

import pytest

from conformance import lubm
from conformance.running import expected_failures

pytestmark = pytest.mark.skipif(not lubm.at_hand(), reason="the LUBM data is not beside the repository")


def _params():
    listed = expected_failures("lubm")
    for name in lubm.QUERIES:
        marks = [pytest.mark.xfail(strict=True, reason=listed[name])] if name in listed else []
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", _params())
def test_a_query_has_the_reference_answers(name: str):
    assert lubm.answers(name) == lubm.reference(name)

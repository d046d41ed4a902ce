"""f:timestamp of what is known without the stream, too: one answer, with the time that a window has."""

from __future__ import annotations

import pytest

from docs import windows
from docs.page import Example

QUERY = """
REGISTER QUERY Stated AS
PREFIX : <http://example.org/>
PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>
SELECT ?x ?l ?y (f:timestamp(?y, :knows, ?x) AS ?at)
FROM STREAM :s [RANGE 3s STEP 1s]
WHERE { ?x :label ?l . ?y :knows ?x }
"""
GRAPH = """
PREFIX : <http://example.org/>
:a :knows :b, :c, :d, :e . :b :label "b" . :c :label "c" . :d :label "d" . :e :label "e" .
"""
STREAM = """
PREFIX : <http://example.org/>
<urn:e1#t=2026-05-01T08:00:01Z> { :a :knows :b }
<urn:e2#t=2026-05-01T08:00:02Z> { :a :knows :c, :d }
"""


@pytest.mark.parametrize("shards", [1, 2, 8])
def test_a_static_solution_is_answered_once(shards):
    example = Example("stated", (QUERY,), GRAPH, None, STREAM, "")
    header, rows = windows.by_the_engine(example, "c-sparql", shards)
    # The oracle's answers without a value are texts of None.
    defined = {
        tuple("" if cell == "None" else cell for cell in row): times
        for row, times in windows.by_definition(example, "c-sparql")[1].items()
    }
    assert rows == defined
    assert rows.total() == 4 * len({row[header.index("end")] for row in rows})

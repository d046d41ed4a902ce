"""Whatever decodes, in whatever format, gives terms the ids of the run's key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.decode.facts import facts, stated

from penstock.columns.ids import id_of
from penstock.columns.terms import TermTable
from penstock.decode.decoder import decode_file
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import concat
from penstock.terms import NamedNode

KEY = 0x2718281828459045
NOON = "2026-01-01T12:00:00Z"
MAP = {
    "tableSchema": {
        "aboutUrl": "http://e/{id}",
        "columns": [
            {"name": "v", "propertyUrl": "http://e/p", "lang": "en"},
            {"name": "w", "propertyUrl": "http://e/q", "valueUrl": "http://e/{w}"},
        ],
    },
    "penstock:time": "when",
}
ROWS = {"id": ["a", "b"], "v": ["x", "y"], "w": ["c", "d"], "when": [NOON, NOON]}
TRIPLES = {
    "s": ["http://e/a", "_:b"], "p": ["http://e/p", "http://e/q"], "o": ['"x"@EN', '"y\\u00e9"'],
    "start": [NOON, NOON], "graph": ["http://e/g", "_:h"],
}  # fmt: skip


def csv(columns) -> str:
    quoted = [[str(cell).replace('"', '""') for cell in row] for row in zip(*columns.values(), strict=True)]
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [list(columns), *quoted])


STREAMS = {
    "compact.nq": f"<http://e/s> <http://e/p> <http://e/o> <http://e/g#t={NOON}> .\n",
    "odd.nq": f'_:s <http://e/p>  "\\u00e9"@EN <http://e/g#t={NOON}> .# odd\n'
    + "<http://e/s> <http://e/q> _:s _:g .\n"
    + stated("_:g", NOON),
    "s.trig": f"<http://e/g#t={NOON}> {{ <http://e/s> <http://e/p> [ <http://e/q> 'x' ] }}",
    "s.jsonld": f'{{"@id": "http://e/g#t={NOON}", "@graph": {{"@id": "http://e/s", "http://e/p": "x"}}}}',
    "s.csv": csv(TRIPLES),
    "mapped.csv": csv(ROWS),
}


def written(tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.table(ROWS if "mapped" in name else TRIPLES), path)
    else:
        path.write_text(STREAMS[name])
    return path


@pytest.mark.parametrize("name", [*STREAMS, "s.parquet", "mapped.parquet"])
def test_ids_are_those_of_the_key(tmp_path, name):
    path = written(tmp_path, name)
    options = {"map": read_map(MAP)} if "mapped" in name else {}

    def decoded(key, **more):
        found = concat(decode_file(path, source="s", key=key, strict=True, **options, **more))
        table = TermTable(found.terms)
        assert len(found) and len(found.terms)
        for column in (*found.columns[:3], found.graph):
            for id_ in column[column != 0].tolist():
                assert id_ == id_of(table.term(id_), key)
        return found

    expected = facts(decoded(0))
    assert facts(decoded(KEY)) == expected
    asked = np.array([id_of(NamedNode("http://e/p"), KEY)])
    kept = facts(decoded(KEY, keep_predicates=asked))
    assert kept == [fact for fact in expected if "<http://e/p>" in fact]
    assert len(decoded(KEY, named=True).graph)

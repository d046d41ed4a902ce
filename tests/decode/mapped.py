"""Tables that are decoded by a map."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from tests.decode.facts import facts

from penstock.decode.decoder import decode_file
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import concat

NOON = "2026-01-01T12:00:00Z"


def a_map(*columns, time="when", **more):
    schema = {"aboutUrl": "http://e/{id}", "propertyUrl": "http://e/{_name}", "columns": list(columns)}
    return {"tableSchema": schema, "penstock:time": time, **more}


def decoded(path, document, **options):
    return concat(decode_file(path, source="s", map=read_map(document), **options))


def of_csv(tmp_path, text, document, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return decoded(path, document, **options)


def of_table(tmp_path, columns, document, **options):
    path = tmp_path / "t.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
    return decoded(path, document, **options)


def objects(found) -> list[str]:
    return [fact.split(" ", 2)[2].rsplit(" @ ", 1)[0] for fact in facts(found)]


STATION = a_map(
    {"name": "id", "suppressOutput": True},
    {"name": "temp", "datatype": "decimal"},
    {"name": "n", "datatype": "integer"},
    {"name": "ok", "datatype": "boolean"},
    {"name": "note", "lang": "DE"},
    {"name": "at", "valueUrl": "http://e/place/{at}"},
    {"name": "type", "virtual": True, "propertyUrl": "rdf:type", "valueUrl": "http://e/Reading"},
)
SIMPLE = a_map({"name": "id", "suppressOutput": True}, {"name": "v", "datatype": "integer"})

"""Casts between the XSD types (SPARQL 1.1, section 17.5)."""

from __future__ import annotations

import pytest

from functions.notation import ERROR, expected, value

MOMENT = '"2026-01-31T12:30:00Z"^^xsd:dateTime'


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (("xsd:integer", '"+007"'), "7"),
        (("xsd:integer", '" 7 "'), "7"),
        (("xsd:integer", "-1.9"), "-1"),
        (("xsd:integer", "1e3"), "1000"),
        (("xsd:integer", "true"), "1"),
        (("xsd:integer", '"1.5"'), ERROR),
        (("xsd:integer", '"NaN"^^xsd:double'), ERROR),
        (("xsd:integer", '"INF"^^xsd:float'), ERROR),
        (("xsd:integer", '"7"@en'), ERROR),
        (("xsd:integer", ":a"), ERROR),
        (("xsd:integer", '"x"^^xsd:integer'), ERROR),
        (("xsd:integer", MOMENT), ERROR),
        (("xsd:decimal", '"1.50"'), "1.5"),
        (("xsd:decimal", "3"), '"3"^^xsd:decimal'),
        (("xsd:decimal", "1.5e0"), "1.5"),
        (("xsd:decimal", "1e-7"), "0.0000001"),
        (("xsd:decimal", '"1e3"'), ERROR),
        (("xsd:decimal", '"0.1"^^xsd:float'), "0.1"),
        (("xsd:double", '"1e3"'), '"1.0E3"^^xsd:double'),
        (("xsd:double", '"INF"'), '"INF"^^xsd:double'),
        (("xsd:double", '"+INF"'), '"INF"^^xsd:double'),
        (("xsd:double", "0"), '"0.0E0"^^xsd:double'),
        (("xsd:double", "0.001"), '"1.0E-3"^^xsd:double'),
        (("xsd:double", "123456"), '"1.23456E5"^^xsd:double'),
        (("xsd:double", "false"), '"0.0E0"^^xsd:double'),
        (("xsd:double", '"one"'), ERROR),
        (("xsd:double", '"inf"'), ERROR),
        (("xsd:float", "0.1"), '"1.0E-1"^^xsd:float'),
        (("xsd:float", "16777217"), '"1.6777216E7"^^xsd:float'),
        (("xsd:float", "1e300"), '"INF"^^xsd:float'),
        (("xsd:boolean", '"true"'), "true"),
        (("xsd:boolean", '"0"'), "false"),
        (("xsd:boolean", "0.0"), "false"),
        (("xsd:boolean", "2"), "true"),
        (("xsd:boolean", '"NaN"^^xsd:double'), "false"),
        (("xsd:boolean", '"T"'), ERROR),
        (("xsd:boolean", '"2"'), ERROR),
        (("xsd:boolean", ":a"), ERROR),
        (("xsd:string", ":a"), '"http://example.org/a"'),
        (("xsd:string", "_:a"), ERROR),
        (("xsd:string", "1.50"), '"1.5"'),
        (("xsd:string", "1.5e0"), '"1.5"'),
        (("xsd:string", "1e7"), '"1.0E7"'),
        (("xsd:string", "007"), '"7"'),
        (("xsd:string", '"1"^^xsd:boolean'), '"true"'),
        (("xsd:string", '"a"'), '"a"'),
        (("xsd:string", '"x"^^:t'), '"x"'),
        (("xsd:dateTime", '"2026-01-31T12:30:00Z"'), MOMENT),
        (("xsd:dateTime", '"2026-01-31"^^xsd:date'), '"2026-01-31T00:00:00"^^xsd:dateTime'),
        (("xsd:dateTime", '"2026-02-30T00:00:00Z"'), ERROR),
        (("xsd:dateTime", "5"), ERROR),
        (("xsd:date", MOMENT), '"2026-01-31Z"^^xsd:date'),
        (("xsd:date", '"2026-01-31+01:00"'), '"2026-01-31+01:00"^^xsd:date'),
        (("xsd:time", MOMENT), '"12:30:00Z"^^xsd:time'),
        (("xsd:date", '"12:30:00"^^xsd:time'), ERROR),
        (("xsd:duration", '"P1Y2M3DT4H5M6.7S"'), '"P1Y2M3DT4H5M6.7S"^^xsd:duration'),
        (("xsd:duration", '"PT90M"'), '"PT1H30M"^^xsd:duration'),
        (("xsd:duration", '"P"'), ERROR),
        (("xsd:duration", '"P1DT"'), ERROR),
        (("xsd:dayTimeDuration", '"P1M2D"^^xsd:duration'), '"P2D"^^xsd:dayTimeDuration'),
        (("xsd:yearMonthDuration", '"P1M2D"^^xsd:duration'), '"P1M"^^xsd:yearMonthDuration'),
        (("xsd:dayTimeDuration", '"P1M"'), ERROR),
        (("xsd:int", '"12"'), '"12"^^xsd:int'),
        (("xsd:byte", "300"), ERROR),
        (("xsd:nonNegativeInteger", "-1"), ERROR),
        (("xsd:integer", "?unbound"), ERROR),
    ],
)
def test_casts(written, answer):
    assert value(written) == expected(answer)

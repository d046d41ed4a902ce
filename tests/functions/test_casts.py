"""Casts between the XSD types (SPARQL 1.1, section 17.5)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from functions.notation import ERROR, expected, value
from penstock.functions import numeric

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
        (("xsd:decimal", "1e-7"), '"%s"^^xsd:decimal' % format(Decimal(1e-7), "f")),
        (("xsd:decimal", "1e22"), '"10000000000000000000000"^^xsd:decimal'),
        (("xsd:decimal", '"-0.0"^^xsd:double'), '"0"^^xsd:decimal'),
        (("xsd:decimal", '"1e3"'), ERROR),
        (("xsd:decimal", '"0.1"^^xsd:float'), "0.100000001490116119384765625"),
        (("xsd:double", '"-0.0"^^xsd:decimal'), '"0.0E0"^^xsd:double'),
        (("xsd:float", '"-0.0"^^xsd:decimal'), '"0.0E0"^^xsd:float'),
        (("xsd:double", '"-0"^^xsd:integer'), '"0.0E0"^^xsd:double'),
        # just above the middle between two floats; the nearest double is the middle itself
        (("xsd:float", "1.00000005960464477539062500001"), '"1.0000001E0"^^xsd:float'),
        (("xsd:float", '"1.00000005960464477539062500001"'), '"1.0000001E0"^^xsd:float'),
        (("xsd:float", "1.00000017881393432617187499999"), '"1.0000001E0"^^xsd:float'),
        (("xsd:float", "-1.00000005960464477539062500001"), '"-1.0000001E0"^^xsd:float'),
        (("xsd:float", "154742504910672534362390528"), '"1.5474251E26"^^xsd:float'),
        (("xsd:string", '"PT36H"^^xsd:dayTimeDuration'), '"P1DT12H"'),
        (("xsd:string", '"P14M"^^xsd:yearMonthDuration'), '"P1Y2M"'),
        (("xsd:string", '"-PT0S"^^xsd:duration'), '"PT0S"'),
        (("xsd:string", '"2026-01-31T24:00:00.50-00:00"^^xsd:dateTime'), '"2026-01-31T24:00:00.50-00:00"'),
        (("xsd:string", '"2026-01-31T24:00:00.00-00:00"^^xsd:dateTime'), '"2026-02-01T00:00:00Z"'),
        (("xsd:string", '"24:00:00"^^xsd:time'), '"00:00:00"'),
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


def test_floats_are_written_with_the_fewest_digits_that_read_back():
    random = Random(1)
    for _ in range(3_000):
        [single] = struct.unpack("f", random.randbytes(4))
        if math.isfinite(single) and single:
            written = numeric.canonical(numeric.Number(numeric.FLOAT, single))
            assert numeric.read_float(written).value == single
            assert digits(written) == digits(np.format_float_scientific(np.float32(single)))


def digits(text: str) -> int:
    """How many digits a number in scientific notation has, but for zeros at its ends."""
    return len(text.lower().partition("e")[0].strip("-").replace(".", "").strip("0"))

"""Instants: one range in every way of stating a time, and one reading that others share."""

from __future__ import annotations

import io
import json
import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import Store

from penstock.decode.decoder import Decoder
from penstock.decode.lexical import read_instant
from penstock.decode.mapping.clock import instants_in
from penstock.errors import InputError
from penstock.sources.elements import instant_of
from penstock.timeline import EARLIEST, FOREVER, LATEST, NEVER, format_instant, parse_instant

XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
REFUSED = [
    "99999999999999999999-01-01T00:00:00Z",
    "-" + "9" * 5000 + "-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "0000-12-31T00:00:00Z",
    "-0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T24:00:00Z",
    "10000-01-01T00:00:00+14:00",  # in UTC still 9999, but five digits are no year of ours
    "0000-12-31T14:00:00-14:00",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00+14:01",
    "2026-01-01T00:00:00-00:60",
    "2026-01-01T24:00:00.5Z",
    "2026-01-01T24:00:01Z",
    "2026-02-29T00:00:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "٢٠٢٦-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z\u00a0",
]
ACCEPTED = {
    "0001-01-01T00:00:00Z": EARLIEST,
    "0001-01-01T14:00:00+14:00": EARLIEST,
    "9999-12-31T23:59:59.9999999Z": LATEST,
    "9999-12-31T09:59:59.999999-14:00": LATEST,
    "9999-12-31T24:00:00+14:00": LATEST + 1 - 14 * 3600 * 10**6,
    "9999-12-30T24:00:00Z": LATEST + 1 - 24 * 3600 * 10**6,
    "1969-12-31T23:59:59.9999995Z": -1,
    " 1970-01-01T00:00:00+00:00\n": 0,
}


def in_formats(instant: str) -> dict[str, tuple[str, bytes]]:
    """An element with this time in all the ways that there are, each before a good one."""
    good = "2026-01-01T00:00:00Z"
    typed = json.dumps(instant, ensure_ascii=False) + f"^^<{XSD}dateTime>"
    name = instant.strip(" \n")  # which cannot be in an IRI
    fine = f"<x:s> <x:p> <x:good> <x:g#t={good}> .\n"
    stated = f"<x:e> <{PROV}generatedAtTime> {typed} .\n"
    span = (
        f"<x:e> <{PROV}startedAtTime> {typed} .\n"
        f'<x:e> <{PROV}endedAtTime> "9999-12-31T23:59:59.999999Z"^^<{XSD}dateTime> .\n'
    )
    quad = "<x:s> <x:p> <x:bad> <x:e> .\n"
    document = {"@id": "x:e", "@graph": [{"@id": "x:s", "x:p": {"@id": "x:bad"}}]}
    stating = {**document, f"{PROV}generatedAtTime": instant}
    naming = {**document, "@id": f"x:g#t={name}"}
    fine_json = {"@id": f"x:g#t={good}", "@graph": [{"@id": "x:s", "x:p": {"@id": "x:good"}}]}
    rows = {"s": ["x:s"] * 2, "p": ["x:p"] * 2, "o": ["x:bad", "x:good"]}
    table = io.BytesIO()
    pq.write_table(pa.table({**rows, "start": [instant, good], "end": [instant, good]}), table)
    ways = {
        "graph name": ("nquads", f"<x:s> <x:p> <x:bad> <x:g#t={name}> .\n{fine}"),
        "end in the graph name": (
            "nquads",
            f"<x:s> <x:p> <x:bad> <x:g#t=0001-01-01T00:00:00Z,{name}> .\n{fine}",
        ),
        "stated": ("nquads", f"{quad}{stated}{fine}"),
        "start": ("nquads", f"{quad}{span}{fine}"),
        "TriG graph name": ("trig", f"<x:g#t={name}> {{ <x:s> <x:p> <x:bad> }}\n{_as_trig(fine)}"),
        "TriG stated": ("trig", f"<x:e> {{ <x:s> <x:p> <x:bad> }} {stated}{_as_trig(fine)}"),
        "JSON-LD graph name": ("jsonld", f"{json.dumps(naming)}\n{json.dumps(fine_json)}\n"),
        "JSON-LD stated": ("jsonld", f"{json.dumps(stating)}\n{json.dumps(fine_json)}\n"),
        "CSV": ("csv", f's,p,o,start\nx:s,x:p,x:bad,"{instant}"\nx:s,x:p,x:good,{good}\n'),
        "CSV end": (
            "csv",
            f's,p,o,start,end\nx:s,x:p,x:bad,0001-01-01T00:00:00Z,"{instant}"\nx:s,x:p,x:good,{good},\n',
        ),
        "Parquet": ("parquet", table.getvalue()),
    }
    return {
        way: (form, text if isinstance(text, bytes) else text.encode()) for way, (form, text) in ways.items()
    }


def _as_trig(quad: str) -> str:
    s, p, o, g, _ = quad.split()
    return f"{g} {{ {s} {p} {o} }}\n"


def _objects(found) -> list[bytes]:
    return [found.terms.text(list(found.terms.ids).index(id_)) for id_ in found.object.tolist()]


@pytest.mark.parametrize("way", in_formats("x"))
@pytest.mark.parametrize("instant", REFUSED, ids=lambda text: text[:32])
def test_an_instant_that_no_stream_may_have_is_a_reject_however_it_is_stated(instant, way):
    form, data = in_formats(instant)[way]
    found, _ = Decoder(form, source="s").decode(data)
    assert b"<x:bad>" not in _objects(found)
    assert len(found.rejects) == 1 and len(found.rejects[0].reason) < 400, found.rejects
    assert found.instants.tolist() == [parse_instant("2026-01-01T00:00:00Z")]
    assert _objects(found) == [b"<x:good>"]


@pytest.mark.parametrize("instant", ACCEPTED)
def test_the_first_and_the_last_instant_are_accepted_however_they_are_stated(instant):
    for way, (form, data) in in_formats(instant).items():
        found, _ = Decoder(form, source="s").decode(data)
        assert not found.rejects, way
        ends = dict(zip(_objects(found), found.end.tolist(), strict=True))
        assert ends[b"<x:bad>"] == (LATEST if way == "start" else ACCEPTED[instant]), way


def test_timestamps_of_any_unit_keep_to_the_range():
    for unit, per_second in {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}.items():
        most, least = 2**63 - 1, -(2**63)
        first = max(EARLIEST * per_second // 10**6, least)
        last = min((LATEST + 1) * per_second // 10**6 - 1, most)
        values = [first, last, -1, None] + [
            v for v in (first - 1, last + 1, most, least) if least <= v <= most
        ]
        instants, faults, _ = instants_in(pa.array(values, pa.timestamp(unit, "UTC")), "start")
        good = [v is not None and first <= v <= last for v in values]
        expected = [v * 10**6 // per_second if ok else NEVER for v, ok in zip(values, good, strict=True)]
        assert instants.tolist() == expected, unit
        assert sorted(faults) == [i for i, ok in enumerate(good) if not ok and i != 3], unit


def test_elements_from_python_keep_to_the_range():
    west = timezone(timedelta(hours=-14))
    assert instant_of(datetime.max.replace(tzinfo=timezone.utc)) == LATEST
    for outside in (datetime.max.replace(tzinfo=west), LATEST + 1, EARLIEST - 1, 10**30):
        with pytest.raises(InputError, match="outside the years 1 to 9999"):
            instant_of(outside)


def test_any_instant_can_be_shown():
    assert format_instant(EARLIEST) == "0001-01-01T00:00:00.000Z"
    assert format_instant(LATEST) == "9999-12-31T23:59:59.999999Z"
    for micros in (EARLIEST - 1, LATEST + 1, -(2**62), FOREVER, NEVER + 1):
        assert format_instant(micros) == _numpy_text(micros)


def _numpy_text(micros: int) -> str:
    text = str(np.datetime64(micros, "us"))
    whole, digits = text.split(".")
    sign, year, rest = re.fullmatch(r"(-?)(\d+)(-.*)", whole).groups()
    return f"{sign}{int(year):04d}{rest}.{digits if int(digits) % 1000 else digits[:3]}Z"


# --- against another reader of xsd:dateTime ---

STORE = Store()
two = st.integers(0, 99).map(lambda n: f"{n:02d}")
years = st.one_of(
    st.integers(1, 9999).map(lambda n: f"{n:04d}"),
    st.sampled_from(["0000", "0001", "9999", "10000", "-0001", "02026", "2024", "2100", "123", "2000000000"]),
)
usual = st.builds(
    "{}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}{}{}".format,
    years,
    st.integers(1, 12),
    st.integers(1, 31),
    st.integers(0, 24),
    st.sampled_from([0, 0, 59, 30]),
    st.sampled_from([0, 0, 59]),
    st.sampled_from(["", ".0", ".5", ".123456", ".999999999", ".0000001", "."]),
    st.sampled_from(
        ["Z", "+00:00", "-00:00", "+14:00", "-14:00", "+05:30", "+14:01", "-13:59", "+23:00", "", "z"]
    ),
)
unusual = st.builds(
    "{}-{}-{}T{}:{}:{}{}".format, years, two, two, two, two, two, st.sampled_from(["Z", "+01:60"])
)
mutated = st.builds(
    lambda text, at, more: text[: at % (len(text) + 1)] + more + text[at % (len(text) + 1) + 1 :],
    usual,
    st.integers(0, 40),
    st.sampled_from(["", " ", "0", "9", "-", "+", ":", "T", "é", "٣", "\t"]),
)


def by_oxigraph(text: str) -> int | None:
    """The instant as pyoxigraph's xsd:dateTime understands it, in whole microseconds.

    Only years that are written 0001 to 9999 are instants, whatever their zones make of them.
    """
    if not re.match(r"(?!0000)[0-9]{4}-", text):
        return None
    literal = json.dumps(text, ensure_ascii=False) + f"^^<{XSD}dateTime>"
    fields = "year month day hours minutes seconds tz".split()
    selection = " ".join(f"({name}(?t) AS ?{name})" for name in fields)
    [row] = STORE.query(f"SELECT {selection} WHERE {{ VALUES ?t {{ {literal} }} }}")
    if row["year"] is None or not row["tz"].value:
        return None
    year, month, day, hours, minutes = (int(row[name].value) for name in fields[:5])
    zone = row["tz"].value
    shift = 0
    if zone != "Z":
        shift = int(zone[1:3]) * 60 + int(zone[4:6])
        shift = shift if zone[0] == "-" else -shift
    days = int(np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "D").astype(int))
    seconds = days * 86400 + hours * 3600 + (minutes + shift) * 60 + Fraction(row["seconds"].value)
    micros = seconds * 10**6 // 1
    return micros if EARLIEST <= micros <= LATEST else None


@settings(max_examples=500, deadline=None)
@example("2026-01-01T00:00:00+14:01")
@example("2026-01-01T24:00:00.0Z")
@example("10000-01-01T00:00:00+14:00")
@example("0000-12-31T14:00:00-14:00")
@example("9999-12-31T24:00:00+14:00")
@example("0001-01-01T00:00:00-14:00")
@given(st.one_of(usual, unusual, mutated))
def test_instants_are_read_as_another_parser_reads_them(text):
    try:
        instant = parse_instant(text)
    except InputError:
        instant = None
    assert instant == by_oxigraph(text.strip(" \t"))  # which takes no white space around a value
    data = np.frombuffer(text.encode(), np.uint8)
    plain, at, _ = read_instant(data.ctypes.data, 0, len(data))
    if plain != NEVER and at == len(data):
        assert plain == instant
    if instant is not None:
        assert parse_instant(format_instant(instant)) == instant

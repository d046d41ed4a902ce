"""Times of tables: how they are written, in which zone, and what is none."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest
from tests.decode.facts import reasons
from tests.decode.mapped import a_map, of_table

from penstock.decode.mapping.clock import instants_in
from penstock.decode.mapping.document import read_map
from penstock.decode.mapping.suggest import suggested
from penstock.decode.occurrences import concat
from penstock.errors import InputError
from penstock.timeline import format_instant


@pytest.mark.parametrize(
    ("values", "format", "zone", "expected"),
    [
        (["2026-05-01T08:00:00Z", "2026-05-01 10:00+02:00", "2026-05-01T08:00:00.123456789Z"], None, None,
         ["08:00:00.000", "08:00:00.000", "08:00:00.123456"]),
        (["2026-05-01T10:00:00", "2026-05-01", "2026-05-01T08:00Z"], None, "Europe/Vienna",
         ["08:00:00.000", "22:00:00.000", "08:00:00.000"]),
        (["1.5.2026 9:07", "01.05.2026 09:07"], "d.M.yyyy H:mm", "UTC", ["09:07:00.000"] * 2),
        (["May 1, 2026 9:07:05.25 PM"], "MMM d, yyyy h:mm:ss.SSS a", "UTC", ["21:07:05.250"]),
        (["20260501T090705123+0100"], "yyyyMMdd'T'HHmmssSSSX", None, ["08:07:05.123"]),
        (["1777622400", "1777622400.5", "-1"], "epoch-s", None,
         ["08:00:00.000", "08:00:00.500", "23:59:59.000"]),
        ([1777622400123], "epoch-ms", None, ["08:00:00.123"]),
        ([1777622400123456], "epoch-us", None, ["08:00:00.123456"]),
        ([1777622400123456789, -1], "epoch-ns", None, ["08:00:00.123456", "23:59:59.999999"]),
        ([1777622400.25], "epoch-s", None, ["08:00:00.250"]),
        ([date(2026, 5, 1)], None, "Asia/Kolkata", ["18:30:00.000"]),
    ],
)  # fmt: skip
def test_times(values, format, zone, expected):
    instants, faults, _ = instants_in(pa.array(values), "t", [format], zone)
    assert not faults
    assert [format_instant(each)[11:-1] for each in instants.tolist()] == expected


@pytest.mark.parametrize(
    ("values", "format", "zone"),
    [
        (["2026-05-01T10:00:00"], None, None),
        (["2026-02-29T10:00:00Z", "2026-05-01T25:00:00Z", "2026-05-01T10:60:00Z", "x",
          "2026-05-01T10:00:00ZZ", "0000-01-01T00:00:00Z", "2026-05-01T10:00:00+14:01",
          "9999-12-31T23:59:59-01:00"], None, "UTC"),
        (["13:00 PM"], "hh:mm a", "UTC"),
        (["1777622400x", "1e9"], "epoch-s", None),
        (["99999999999999999", "9999999999999999999999"], "epoch-s", None),
        ([2**62, -(2**63)], "epoch-ms", None),
        ([1e300, float("inf")], "epoch-s", None),
        ([2**64 - 1], "epoch-us", None),
    ],
)  # fmt: skip
def test_times_that_are_none(values, format, zone):
    column = pa.array(values, pa.uint64() if values == [2**64 - 1] else None)
    _, faults, _ = instants_in(column, "t", [format], zone)
    assert sorted(faults) == list(range(len(values)))


MIXED = ["2026-05-01T08:00:00Z", "01.05.2026 10:05", "05/13/2026 9:00 PM", "1777622400", "soon", "03/04/2026"]
SAID = ["iso", "dd.MM.yyyy HH:mm", "MM/dd/yyyy hh:mm a", "dd/MM/yyyy", "MM/dd/yyyy", "epoch-s"]


def test_several_formats_in_one_column(tmp_path):
    time = {"instant": "when", "format": SAID, "timezone": "Europe/Vienna"}
    document = a_map({"name": "v", "datatype": "integer"}, time=time)
    found = of_table(tmp_path, {"id": list("abcdef"), "v": [1, 2, 3, 4, 5, 6], "when": MIXED}, document)
    assert [format_instant(each)[:16] for each in found.start.tolist()] == [
        "2026-05-01T08:00", "2026-05-01T08:05", "2026-05-13T19:00", "2026-05-01T08:00",
    ]  # fmt: skip
    assert reasons(found) == [
        (5, f"when: 'soon' is written in none of the formats {', '.join(SAID)}"),
        (6, "when: '03/04/2026' is 2026-04-03T00:00:00.000 by dd/MM/yyyy and 2026-03-04T00:00:00.000 by"
            " MM/dd/yyyy, and nothing tells which"),
    ]  # fmt: skip


def test_formats_that_read_the_same_do_not_contradict():
    both = instants_in(pa.array(["2026-05-01 10:00", "05/05/2026"]), "t",
                       [None, "yyyy-MM-dd HH:mm", "dd/MM/yyyy", "MM/dd/yyyy"], "UTC")  # fmt: skip
    assert not both.faults and [format_instant(each)[:10] for each in both.instants.tolist()] == [
        "2026-05-01", "2026-05-05",
    ]  # fmt: skip
    numbers = instants_in(pa.array([1777622400]), "t", [None, "epoch-s"])
    assert format_instant(numbers.instants[0])[:16] == "2026-05-01T08:00"


@pytest.mark.parametrize(
    ("formats", "said"),
    [
        ([], "an empty list"),
        (["epoch-s", "epoch-ms"], "any number would be epoch-s as well as epoch-ms"),
        (["iso", "dd/MM/foo"], "which is not known"),
        (["iso", 7], "must be a text"),
    ],
)
def test_lists_of_formats_that_make_no_sense(formats, said):
    with pytest.raises(InputError, match=said):
        read_map(a_map({"name": "v"}, time={"instant": "when", "format": formats}))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["01.05.2026 10:00", "31.05.2026 10:00"], {"format": "dd.MM.yyyy HH:mm", "timezone": "UTC"}),
        (["13/05/2026", "03/04/2026"], {"format": "dd/MM/yyyy", "timezone": "UTC"}),
        (["05/13/2026", "03/04/2026"], {"format": "MM/dd/yyyy", "timezone": "UTC"}),
        (["05/06/2026", "03/03/2026"], {"format": ["dd/MM/yyyy", "MM/dd/yyyy"], "timezone": "UTC"}),
        (["2026-05-01T08:00:00Z", "2026-05-01T08:01Z", "13.05.2026 10:00 +02", "?"],
         {"format": ["iso", "dd.MM.yyyy HH:mm X"]}),
        (["2026-05-01T08:00:00Z", "2026-05-01T08:01Z", "1777622400"], {"format": ["iso", "epoch-s"]}),
        (["2026-05-01T08:00:00Z", "soon"], None),
        (["1777622400", "1777622401"], None),  # of a column that is not called so
    ],
)  # fmt: skip
def test_the_suggestion_knows_how_times_are_written(texts, expected):
    found = suggested(pa.table({"Zeit": texts, "v": ["a"] * len(texts)}))
    assert found.get("penstock:time") == ({"instant": "Zeit"} | expected if expected is not None else None)


def test_clocks_that_are_put_back_and_forth():
    twice, never = "2026-10-25T02:30:00", "2026-03-29T02:30:00"
    instants, faults, _ = instants_in(pa.array([twice, never]), "t", [None], "Europe/Vienna")
    assert not faults and [format_instant(i)[:16] for i in instants.tolist()] == [
        "2026-10-25T00:30", "2026-03-29T01:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "expected", "counted"),
    [("first", "2026-10-25T00:30", 2), ("last", "2026-10-25T01:30", 2), ("reject", None, 0)],
)
@pytest.mark.parametrize("stamps", [False, True])
def test_a_map_says_what_a_local_time_is_that_comes_twice(tmp_path, policy, expected, counted, stamps):
    twice, once = datetime(2026, 10, 25, 2, 30), datetime(2026, 10, 25, 3, 30)
    times = [once, twice, twice, once] if stamps else [str(each) for each in (once, twice, twice, once)]
    time = {"instant": "when", "timezone": "Europe/Vienna", "ambiguous": policy}
    document = a_map({"name": "id", "suppressOutput": True}, {"name": "v", "datatype": "integer"}, time=time)
    found = of_table(tmp_path, {"id": list("abcd"), "v": [1, 2, 3, 4], "when": times}, document)
    assert found.ambiguous == counted
    instants = {format_instant(each)[:16] for each in found.start.tolist()}
    assert instants == {"2026-10-25T02:30", expected} - {None}
    why = "when: 2026-10-25 02:30:00 comes twice in Europe/Vienna, where the clock is put back"
    assert reasons(found) == ([(2, why), (3, why)] if expected is None else [])
    both = concat([found, found])
    assert both.ambiguous == 2 * counted and len(both.rejects) == 2 * len(found.rejects)

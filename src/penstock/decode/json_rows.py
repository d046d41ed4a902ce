"""Lines of plain JSON objects as rows: one compiled pass finds the wanted members of each line.

A column's name is the path to a member, with dots between nested names. The pass checks the
syntax and notes where values stand; a line or value that is not plain goes through `json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.columns.interning import LENGTH_BITS, LONGEST, frozen, gather
from penstock.decode.mapping.cells import (
    JSON_BOOLEAN,
    JSON_DECIMAL,
    JSON_DOUBLE,
    JSON_INTEGER,
    JSON_STRING,
    Cells,
)
from penstock.jit import njit

_ABSENT, _ESCAPED, _LIST = 100, 101, 102  # besides the JSON_… kinds
_DEEPEST = 60


@njit(cache=True)
def _space(data, at, end):
    while at < end and (data[at] == 32 or data[at] == 9 or data[at] == 13):
        at += 1
    return at


@njit(cache=True)
def _string(data, at, end):
    """From behind the opening quote: (place of the closing one or -1, whether it has escapes)."""
    escaped = False
    while at < end:
        byte = data[at]
        if byte == 34:
            return at, escaped
        if byte < 32:
            return -1, escaped
        if byte == 92:
            escaped = True
            at += 1
        at += 1
    return -1, escaped


@njit(cache=True)
def _digits(data, at, end):
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@njit(cache=True)
def _number(data, at, end):
    """(place after a number or -1, its kind)."""
    kind = JSON_INTEGER
    if data[at] == 45:
        at += 1
    after = _digits(data, at, end)
    if after == at or (data[at] == 48 and after > at + 1):
        return -1, kind
    at = after
    if at < end and data[at] == 46:
        kind = JSON_DECIMAL
        after = _digits(data, at + 1, end)
        if after == at + 1:
            return -1, kind
        at = after
    if at < end and (data[at] == 101 or data[at] == 69):
        kind = JSON_DOUBLE
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        after = _digits(data, at, end)
        if after == at:
            return -1, kind
        at = after
    return at, kind


@njit(cache=True)
def _word(data, at, end, word):
    if end - at < len(word):
        return False
    for i in range(len(word)):
        if data[at + i] != word[i]:
            return False
    return True


@njit(cache=True)
def _line(data, at, end, names, name_ends, kinds, begins, ends, path, lengths, lists):
    """Notes the wanted members of one object; whether the line is plain JSON."""
    at = _space(data, at, end)
    if at >= end or data[at] != 123:
        return False
    depth = 1
    listed = 0  # how many of the open containers are lists
    outer = -1  # the column whose value is the outermost list
    size = 0  # of the path to the current container
    at = _space(data, at + 1, end)
    before = True  # nothing was in this container yet
    while depth > 0:
        if at >= end:
            return False
        closer = 93 if lists[depth] else 125
        if data[at] == closer:
            depth -= 1
            if closer == 93:
                listed -= 1
                if listed == 0 and outer >= 0:
                    ends[outer] = at + 1
                    outer = -1
            size = lengths[depth] if depth > 0 else 0
            before = False
            at = _space(data, at + 1, end)
            continue
        if not before:
            if data[at] != 44:
                return False
            at = _space(data, at + 1, end)
            if at >= end:
                return False
        column = -1
        here = size
        if not lists[depth]:
            if data[at] != 34:
                return False
            close, escaped = _string(data, at + 1, end)
            if close < 0 or (escaped and listed == 0):
                return False
            if listed == 0:
                if here > 0:
                    path[here] = 46
                    here += 1
                if here + close - at > len(path) - 2:
                    return False
                for i in range(at + 1, close):
                    path[here] = data[i]
                    here += 1
                begin = 0
                for c in range(len(name_ends)):
                    if name_ends[c] - begin == here:
                        same = True
                        for i in range(here):
                            if names[begin + i] != path[i]:
                                same = False
                                break
                        if same:
                            column = c
                    begin = name_ends[c]
            at = _space(data, close + 1, end)
            if at >= end or data[at] != 58:
                return False
            at = _space(data, at + 1, end)
            if at >= end:
                return False
        begin = at
        byte = data[at]
        kind = _ABSENT
        if byte == 123 or byte == 91:
            if depth == _DEEPEST:
                return False
            if column >= 0:
                kinds[column] = _ABSENT
            if byte == 91:
                if listed == 0 and column >= 0:
                    kinds[column] = _LIST
                    begins[column] = at
                    outer = column
                listed += 1
            depth += 1
            lists[depth] = byte == 91
            lengths[depth] = here
            size = here
            before = True
            at = _space(data, at + 1, end)
            continue
        if byte == 34:
            close, escaped = _string(data, at + 1, end)
            if close < 0:
                return False
            kind = _ESCAPED if escaped else JSON_STRING
            begin = at if escaped else at + 1
            stop = close + 1 if escaped else close
            at = close + 1
        elif byte == 45 or 48 <= byte <= 57:
            at, kind = _number(data, at, end)
            if at < 0:
                return False
            stop = at
        elif _word(data, at, end, b"true"):
            at += 4
            stop = at
            kind = JSON_BOOLEAN
        elif _word(data, at, end, b"false"):
            at += 5
            stop = at
            kind = JSON_BOOLEAN
        elif _word(data, at, end, b"null"):
            at += 4
            stop = at
        else:
            return False
        if column >= 0:
            kinds[column] = kind
            begins[column] = begin
            ends[column] = stop
        before = False
        at = _space(data, at, end)
    return at >= end


@njit(cache=True)
def _lines(data, line_begins, line_ends, names, name_ends, kinds, begins, ends, plain):
    path = np.empty(4096, np.uint8)
    lengths = np.zeros(_DEEPEST + 1, np.int64)  # of the path at each depth
    lists = np.zeros(_DEEPEST + 1, np.bool_)  # whether the container at a depth is a list
    for i in range(len(line_begins)):
        plain[i] = _line(
            data, line_begins[i], line_ends[i], names, name_ends, kinds[i], begins[i], ends[i], path,
            lengths, lists,
        )  # fmt: skip


class JsonMember:
    """A value in a line that `json` has read."""

    __slots__ = ("kind", "text")

    def __init__(self, value: Any) -> None:
        if isinstance(value, bool):
            self.kind, self.text = JSON_BOOLEAN, "true" if value else "false"
        elif isinstance(value, _Number):
            self.kind, self.text = value.kind, str(value)
        else:
            self.kind, self.text = JSON_STRING, str(value)


class _Number(str):
    """A number as it is written."""

    kind = JSON_INTEGER

    def __new__(cls, text: str) -> _Number:
        made = super().__new__(cls, text)
        if "e" in text.lower():
            made.kind = JSON_DOUBLE
        elif "." in text:
            made.kind = JSON_DECIMAL
        return made


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def load(text: bytes | str) -> Any:
    """`json.loads` that keeps numbers as they are written."""
    return json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_constant)


def _members(value: Any) -> list[JsonMember]:
    """The scalars of a value: of a list all its items, of an object none."""
    if value is None or isinstance(value, dict):
        return []
    if isinstance(value, list):
        return [member for each in value for member in _members(each)]
    return [JsonMember(value)]


def _at_path(value: Any, name: str) -> Any:
    """A member by its dotted path; a name with dots in it is found as well."""
    if isinstance(value, dict):
        if name in value and not isinstance(value[name], dict):
            return value[name]
        head, dot, rest = name.partition(".")
        while dot:
            found = _at_path(value.get(head), rest) if isinstance(value.get(head), dict) else None
            if found is not None:
                return found
            more, dot, rest = rest.partition(".")
            head += "." + more
    return None


def read_lines(
    data: bytes, begins: np.ndarray, ends: np.ndarray, names: Sequence[str]
) -> tuple[dict[str, Cells], dict[int, str]]:
    """The wanted members of the lines begins…ends as columns, and what is wrong with which line."""
    count, width = len(begins), len(names)
    kinds = np.full((count, width), _ABSENT, np.int64)
    value_begins, value_ends = np.zeros((2, count, width), np.int64)
    plain = np.zeros(count, np.bool_)
    array = frozen(np.frombuffer(data, np.uint8))
    texts = "".join(names).encode()
    name_ends = np.cumsum([len(name.encode()) for name in names]).astype(np.int64)
    _lines(
        array, begins, ends, frozen(np.frombuffer(texts, np.uint8)), name_ends, kinds, value_begins,
        value_ends, plain,
    )  # fmt: skip
    kinds[~plain] = _ABSENT
    faults: dict[int, str] = {}
    extra: dict[int, list[tuple[int, JsonMember]]] = {}  # by column: row and value
    for row in np.flatnonzero(~plain).tolist():
        try:
            value = load(data[begins[row] : ends[row]])
            if not isinstance(value, dict):
                raise ValueError("the line is not a JSON object")
            for column, name in enumerate(names):
                found = _members(_at_path(value, name))
                extra.setdefault(column, []).extend((row, member) for member in found)
        except RecursionError:
            faults[row] = "the line is nested too deeply"
        except UnicodeDecodeError:
            faults[row] = "the line is not UTF-8 text"
        except json.JSONDecodeError as problem:
            faults[row] = f"the line is not JSON: {problem.msg}"
        except ValueError as problem:
            faults[row] = str(problem)
    columns = {}
    for column, name in enumerate(names):
        of = kinds[:, column]
        for kind in (_ESCAPED, _LIST):
            for row in np.flatnonzero(of == kind).tolist():
                token = data[value_begins[row, column] : value_ends[row, column]]
                try:
                    extra.setdefault(column, []).extend((row, m) for m in _members(load(token)))
                except (ValueError, RecursionError):
                    faults[row] = f"the value of {name!r} is not JSON"
        there = np.flatnonzero(of < _ABSENT)
        places = value_begins[there, column] << LENGTH_BITS | (
            np.minimum(value_ends[there, column] - value_begins[there, column], LONGEST)
        )
        offsets, found = gather(array, places)
        values = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(there), [None, pa.py_buffer(offsets), pa.py_buffer(found)]
        )
        columns[name] = _with(there, values, of[there], extra.get(column, []), faults)
    return columns, faults


def _with(
    rows: np.ndarray,
    values: pa.Array,
    kinds: np.ndarray,
    extra: list[tuple[int, JsonMember]],
    faults: dict[int, str],
) -> Cells:
    """Cells of plain values and of those that were read one by one, in the order of the rows."""
    try:
        texts = values.cast(pa.large_string())
    except pa.ArrowInvalid:
        good = np.ones(len(values), np.bool_)
        for at, value in enumerate(values.to_pylist()):
            try:
                value.decode()
            except UnicodeDecodeError:
                good[at] = False
                faults[int(rows[at])] = "the line is not UTF-8 text"
        rows, kinds = rows[good], kinds[good]
        texts = values.filter(pa.array(good)).cast(pa.large_string())
    if extra:
        more = pa.array([_encodable(member.text) for _, member in extra], pa.large_string())
        rows = np.concatenate([rows, [row for row, _ in extra]])
        kinds = np.concatenate([kinds, [member.kind for _, member in extra]])
        texts = pa.concat_arrays([texts, more])
        order = np.argsort(rows, kind="stable")
        rows, kinds, texts = rows[order], kinds[order], texts.take(pa.array(order))
    return Cells(rows, texts, kinds)


def _encodable(text: str) -> str:
    """A text without lone surrogates, which no RDF term can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""The way in: a task reads its splits, decodes them, reasons, and routes what it found to the shards.

One row per split and shard goes into the exchange, with everything the shard must see as one
payload. Every shard gets a row from every split, if only to learn how far time has come. One
of them also learns where the split is and when its earliest element ended: only behind the
exchange is the watermark known, and if that is before it, the split is read once more.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pyarrow as pa

from penstock.decode.occurrences import Reject
from penstock.runtime.contract import SplitDecoder
from penstock.runtime.failures import errors_located
from penstock.runtime.intake.reasoned import report_of
from penstock.runtime.job import Job
from penstock.runtime.messages import CONTROL, ORIGIN, PAYLOAD, REASONED, REJECTED
from penstock.sources.splits import Control, Split
from penstock.timeline import NEVER

ARROW_SCHEMA = pa.schema(
    [
        ("shard", pa.int32()),
        ("kind", pa.int32()),
        ("place", pa.int32()),  # the order in which a shard takes its rows
        ("stream", pa.int32()),
        ("latest", pa.int64()),  # the latest end of an element of the split
        ("elements", pa.int64()),
        ("occurrences", pa.int64()),
        ("bytes", pa.int64()),
        ("payload", pa.binary()),
    ]
)
REJECT_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("line", pa.int64()),
        ("reason", pa.string()),
        ("text", pa.string()),
        ("unit", pa.string()),
    ]
)

_decoders: dict[tuple[str, int, int], SplitDecoder] = {}  # by run, version of knowledge, stream


def to_ipc(table: pa.Table | pa.RecordBatch) -> bytes:
    """A table as the bytes of an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def rejects_table(rejects: list[Reject]) -> pa.Table:
    return pa.table(
        [
            [reject.source for reject in rejects],
            [reject.line for reject in rejects],
            [reject.reason for reject in rejects],
            [reject.text for reject in rejects],
            [reject.unit for reject in rejects],
        ],
        schema=REJECT_SCHEMA,
    )


def _decoder_for(job: Job, stream: int, knowledge: int) -> SplitDecoder:
    """The stream's decoder, kept in the worker: it may hold compiled code and term tables."""
    key = (job.run, knowledge, stream)
    if key not in _decoders:
        for stale in [each for each in _decoders if each[:2] != key[:2]]:
            del _decoders[stale]
        program = job.at(knowledge)
        _decoders[key] = job.decoder(job.streams[stream], program.keep_predicates, job.strict, program.key)
    return _decoders[key]


def _batches(rows: Iterable[tuple]) -> Iterator[pa.RecordBatch]:
    """A batch for each row: so its payload, which may be large, is not copied."""
    for *row, payload in rows:
        columns = [
            pa.array([value], type=field.type) for value, field in zip(row, ARROW_SCHEMA, strict=False)
        ]
        columns.append(pa.nulls(1, pa.binary()) if payload is None else _as_binary(payload))
        yield pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _as_binary(payload: bytes) -> pa.Array:
    offsets = pa.py_buffer(struct.pack("=2i", 0, len(payload)))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(payload)])


def take_in(job: Job, split: Split, knowledge: int = 0) -> Iterator[pa.RecordBatch]:
    """Decode one split and route it: the rows that it sends into the exchange.

    `knowledge` is the version of static knowledge that holds for its elements.
    """
    program = job.at(knowledge)
    decoder = _decoder_for(job, split.stream, knowledge)
    occurrences = decoder.decode(split)
    latest = int(occurrences.instants[-1]) if len(occurrences.instants) else NEVER
    payloads: dict[int, list[bytes]] = {}
    place = f"the bytes {split.start} to {split.end} of {split.path}"
    with errors_located(f"reasoning about {place}"):
        closed = program.reason(occurrences)
        report = report_of(program.reasoner, occurrences, closed, decoder, split)
    with errors_located(f"matching {place}"):
        for shard, payload in program.route(split.stream, closed):
            payloads.setdefault(shard, []).append(payload)
    rows = []
    for shard, key in enumerate(job.keys):
        # The counts travel once, with the row for shard 0.
        counts = (
            (occurrences.elements, len(occurrences), split.end - split.start) if shard == 0 else (0, 0, 0)
        )
        for payload in payloads.get(shard, [None]):
            rows.append((key, PAYLOAD, split.order, split.stream, latest, *counts, payload))
            counts = (0, 0, 0)
    if occurrences.rejects:
        table = to_ipc(rejects_table(occurrences.rejects))
        rows.append(
            (job.keys[0], REJECTED, split.order, split.stream, NEVER,
             len(occurrences.rejects), 0, 0, table)
        )  # fmt: skip
    if report is not None:
        rows.append((job.keys[0], REASONED, split.order, split.stream, NEVER, 0, 0, 0, report))
    if len(occurrences.instants):
        origin = {"earliest": int(occurrences.instants[0]), "split": split.to_json()}
        key = job.keys[split.order % len(job.keys)]
        rows.append((key, ORIGIN, split.order, split.stream, NEVER, 0, 0, 0, json.dumps(origin).encode()))
    return _batches(rows)


def late_elements(job: Job, origin: bytes, watermark: int, knowledge: int = 0) -> bytes | None:
    """The elements of a split that ended before a watermark, from its ORIGIN row; None without any."""
    said = json.loads(origin)
    if said["earliest"] >= watermark:
        return None
    split = Split.from_json(said["split"])
    return to_ipc(_decoder_for(job, split.stream, knowledge).late(split, watermark))


def announce(job: Job, control: Control) -> Iterator[pa.RecordBatch]:
    """Tell every shard how far the streams are."""
    said = json.dumps(asdict(control)).encode()
    return _batches((key, CONTROL, -1, -1, NEVER, 0, 0, 0, said) for key in job.keys)

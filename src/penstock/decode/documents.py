"""TriG and JSON-LD to occurrences: parsed by pyoxigraph, brought to rows as canonical lines."""

from __future__ import annotations

import json

import numpy as np
from pyoxigraph import RdfFormat, parse

from penstock.decode.canonical import NumberedLabels, Unusable, canonical_line
from penstock.decode.lines import last_newline, line_at, shown, strict_error, syntax_reason
from penstock.decode.nquads import keep_table, scan
from penstock.decode.occurrences import Occurrences, Reject, empty
from penstock.decode.settle import Written, settle
from penstock.decode.times import TimePredicates


class DocumentDecoder:
    """What TriG and JSON-LD share: documents whose elements need not be contiguous."""

    def __init__(
        self,
        source: str,
        times: TimePredicates,
        *,
        strict: bool = False,
        keep_predicates: np.ndarray | None = None,
        named: bool = False,
    ) -> None:
        self.source = source
        self.times = times
        self.strict = strict
        self.keep = keep_table(None if named else keep_predicates)
        self.named = named
        self.stated = times.ids()

    def _write(
        self,
        document: bytes | memoryview,
        format_: RdfFormat,
        labels: NumberedLabels,
        origin: int,
        written: Written,
    ) -> list[str]:
        """Adds a document's quads to the written lines; what could not be used, and why.

        A SyntaxError leaves the quads before it written.
        """
        unusable = []
        for quad in parse(bytes(document), format_):
            try:
                written.add(canonical_line(quad, labels, self.times), origin)
            except Unusable as problem:
                unusable.append(str(problem))
        return unusable

    def _settle(self, written: Written, faults: list[tuple[int, str, str]]) -> Occurrences:
        """The occurrences of the written lines, whose origins are line numbers here.

        A fault is a line number, a reason and a text.
        """
        nothing = scan(b"", keep=self.keep, stated=self.stated)
        more = scan(
            b"".join(written.lines), keep=self.keep, stated=self.stated, trusted=True, named=self.named
        )
        settled = settle(nothing, more, written, group=True, named=self.named)
        rejects = [Reject(self.source, line, reason, text) for line, reason, text in faults]
        for line, reason in settled.faults(lambda origin: b""):
            rejects.append(Reject(self.source, line, reason, ""))
        rejects.sort(key=lambda reject: reject.line)
        if self.strict and rejects:
            raise strict_error(rejects[0])
        return settled.occurrences(rejects)


class TrigDecoder(DocumentDecoder):
    """Decodes TriG, which has to be there as a whole."""

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a TriG document, and how many bytes and lines they took.

        Quads do not tell their line, so a faulty element is reported at the first line.
        """
        if not final:
            return empty(), 0, 0
        written, faults = Written(), []
        try:
            unusable = self._write(data, RdfFormat.TRIG, NumberedLabels(self.source), first_line, written)
            faults += [(first_line, reason, "") for reason in unusable]
        except SyntaxError as problem:
            line = first_line + (problem.lineno or 1) - 1
            reason = syntax_reason(problem)
            if problem.offset:
                reason += f" (column {problem.offset})"
            text = _nth_line(data, (problem.lineno or 1) - 1)
            faults.append((line, f"{reason}; the rest of the TriG document is lost", shown(text)))
        lines = bytes(data).count(b"\n")
        return self._settle(written, faults), len(data), lines


class JsonLdDecoder(DocumentDecoder):
    """Decodes JSON-LD with one document per line, or a whole piece that is one document."""

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a piece, and how many of its bytes and lines they took."""
        limit = len(data) if final else last_newline(data)
        if first_line == 1 and not _is_json(line_at(data, 0)) and final and _is_json(bytes(data)):
            documents = [(1, bytes(data))]
        else:
            lines = bytes(memoryview(data)[:limit]).split(b"\n")
            documents = list(enumerate(lines, first_line))
        written, faults = Written(), []
        for line, document in documents:
            if not document.strip():
                continue
            labels = NumberedLabels(self.source, document)
            try:
                unusable = self._write(document, RdfFormat.JSON_LD, labels, line, written)
                faults += [(line, reason, shown(document)) for reason in unusable]
            except SyntaxError as problem:
                written.drop(line)
                reason = syntax_reason(problem)
                if "LoadDocumentCallback" in reason:
                    reason = "remote JSON-LD contexts are not loaded; write the context inline"
                faults.append((line, reason, shown(document)))
        lines = bytes(memoryview(data)[:limit]).count(b"\n")
        return self._settle(written, faults), limit, lines


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _nth_line(data: bytes | memoryview, n: int) -> bytes:
    lines = bytes(data).split(b"\n", n + 1)
    return lines[n] if n < len(lines) else b""

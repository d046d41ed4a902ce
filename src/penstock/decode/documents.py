"""TriG and JSON-LD to occurrences: parsed by pyoxigraph, brought to rows as canonical lines."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable, Sequence

import numpy as np
from pyoxigraph import DefaultGraph, Quad, QuadParser, RdfFormat, parse

from penstock.decode.assign_times import TimedRows, WrittenLines, assign_times_in_documents
from penstock.decode.canonical import NumberedLabels, Unusable, canonical_line
from penstock.decode.element_decoder import ElementDecoder
from penstock.decode.jsonld import is_json, may_be_one, refusal, vanished
from penstock.decode.limits import EXPANSION, LEAST_EXPANSION
from penstock.decode.lines import last_newline, line_at, shown, strict_error, syntax_reason
from penstock.decode.nquads import scan
from penstock.decode.occurrences import Occurrences, Reject, empty
from penstock.decode.relative import MARK, UNRESOLVED, relative_reason, unresolved_reason
from penstock.decode.splitting import STATEMENT
from penstock.terms import BlankNode, NamedNode, Triple


class DocumentDecoder(ElementDecoder):
    """What TriG and JSON-LD share: documents whose elements need not be contiguous."""

    def _assign_times(
        self,
        written: WrittenLines,
        places: Sequence[int],
        numbers: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> tuple[TimedRows, list[tuple[int, int, str]]]:
        """The timed rows of the written lines, and origin, line and reason of their faults."""
        rows = scan(
            b"".join(written.lines),
            keep=self.keep,
            stated=self.stated,
            key=self.key,
            trusted=True,
            named=self.named,
        )
        timed = assign_times_in_documents(
            rows, written, np.array(places, np.int64), numbers, named=self.named
        )
        return timed, timed.located_faults(lambda origin: b"")

    def _occurrences(self, timed: TimedRows, rejects: list[Reject]) -> Occurrences:
        rejects.sort(key=lambda reject: reject.line)
        if self.strict and rejects:
            raise strict_error(rejects[0])
        return timed.occurrences(rejects)

    def _line_of(self, quad: Quad, labels: NumberedLabels) -> bytes:
        line = canonical_line(quad, labels, self.times)
        if MARK in line and (reason := relative_reason(quad)):
            raise Unusable(reason)
        return line


class TrigDecoder(DocumentDecoder):
    """Decodes TriG, which has to be there as a whole, or in parts of whole statements."""

    part = 0  # where in its file the text begins: blank nodes are others in each part
    lines_before = 0

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a TriG document, and how many bytes and lines they took.

        An element with a quad that cannot be used is rejected. After a syntax error there is
        no way to go on.
        """
        if not final:
            return empty(), 0, 0
        data = bytes(data)
        written, numbers = WrittenLines(), array("q")  # which quad of the document each line is
        places = array("q")  # and on which line of the file that stands
        bad: dict[bytes | None, tuple[int, str]] = {}
        rejects = []
        labels = NumberedLabels(f"{self.source} {self.part}" if self.part else self.source)
        room = max(LEAST_EXPANSION, EXPANSION * len(data))
        lines = _ByLines(data)
        number = -1
        try:
            quads = parse(lines, RdfFormat.TRIG, base_iri=self.base)
            for number, quad in enumerate(quads):  # noqa: B007 — asked for below
                try:
                    line = self._line_of(quad, labels)
                except Unusable as problem:
                    bad.setdefault(self._element(quad, labels), (number, str(problem)))
                    continue
                room -= len(line)
                if room < 0:
                    bad[None] = (number, "prefixes make the document too long; the rest of it is lost")
                    break
                written.add(line, first_line)
                numbers.append(number)
                places.append(self.lines_before + lines.number)
            if number < 0 and (reason := _broken_prologue(quads)):
                rejects.append(self._reject(data, first_line, 1, reason))
        except SyntaxError as problem:
            rejects.append(self._broken(data, first_line, problem))
        except MemoryError:  # the parser's way to say that a token does not fit into its buffer
            number = numbers[-1] if numbers else 0
            bad[None] = (number, "a term is longer than 16 MiB; the rest of the document is lost")
        if bad:
            kept = [i for i, line in enumerate(written.lines) if self._about(line) not in bad]
            written = WrittenLines([written.lines[i] for i in kept], [first_line] * len(kept))
            numbers, places = (array("q", [each[i] for i in kept]) for each in (numbers, places))
        timed, found = self._assign_times(written, places, self.elements.numbered)
        faults = [*bad.values(), *((numbers[index], reason) for _, index, reason in found)]
        places = self._lines_of({number for number, _ in faults}, data)
        for number, reason in faults:
            line = places.get(number, 1)
            rejects.append(
                Reject(self.source, first_line + line - 1, reason, shown(_nth_line(data, line - 1)))
            )
        return self._occurrences(timed, rejects), len(data), data.count(b"\n")

    def _broken(self, data: bytes, first_line: int, problem: SyntaxError) -> Reject:
        number = problem.lineno or 1
        reason = syntax_reason(problem)
        if problem.offset:
            reason += f" (column {problem.offset})"
        return self._reject(data, first_line, number, f"{reason}; the rest of the TriG document is lost")

    def _reject(self, data: bytes, first_line: int, number: int, reason: str) -> Reject:
        """The reject for a line, by its number in the document."""
        return Reject(self.source, first_line + number - 1, reason, shown(_nth_line(data, number - 1)))

    def _element(self, quad: Quad, labels: NumberedLabels) -> bytes | None:
        """The name of the element that a quad belongs to, None if to none."""
        name = quad.graph_name
        if isinstance(name, DefaultGraph):
            name = quad.subject
            if quad.predicate not in self.times:
                return None
        if isinstance(name, Triple):
            return None
        return (labels(name) if isinstance(name, BlankNode) else str(name)).encode()

    def _about(self, line: bytes) -> bytes:
        """The name of the element that a canonical line belongs to; empty if to none."""
        subject, predicate, graph = STATEMENT.match(line).groups()
        if graph is None:
            return subject if NamedNode(predicate[1:-1].decode()) in self.times else b""
        return graph

    def _lines_of(self, numbers: set[int], data: bytes) -> dict[int, int]:
        """On which line of a document its quads with these numbers end.

        Quads do not tell; so it is parsed again, and the parser gets line after line.
        """
        lines = _ByLines(data)
        places: dict[int, int] = {}
        last = max(numbers, default=-1)
        try:
            for number, _ in enumerate(parse(lines, RdfFormat.TRIG, base_iri=self.base)):
                if number in numbers:
                    places[number] = lines.number
                if number >= last:
                    break
        except (SyntaxError, MemoryError):
            pass  # which was reported
        return places


class JsonLdDecoder(DocumentDecoder):
    """Decodes JSON-LD with one document per line, or a whole piece that is one document.

    A document is used whole, or rejected once.
    """

    def decode(
        self, data: bytes | memoryview, *, first_line: int = 1, final: bool = True
    ) -> tuple[Occurrences, int, int]:
        """The occurrences of a piece, and how many of its bytes and lines they took."""
        if first_line == 1 and may_be_one(data):
            if not final:
                return empty(), 0, 0
            one = is_json(bytes(data))
        else:
            one = False
        limit = len(data) if final else last_newline(data)
        text = bytes(memoryview(data)[:limit])
        if one and len(text) > self.limits.document:
            reason = self.limits.document_reason()
            return Occurrences(rejects=[Reject(self.source, 1, reason, shown(text))]), limit, 0
        documents = [(1, text)] if one else list(enumerate(text.split(b"\n"), first_line))
        written, reasons = WrittenLines(), {}
        texts = dict(documents)
        for line, document in documents:
            if document.strip() and (reason := self._write(document, line, written)):
                written.drop(line)
                reasons[line] = reason
        # The place of a document is where its line begins.
        lengths = [len(document) + 1 for _, document in documents]
        begins = dict(zip(texts, np.cumsum([0, *lengths]).tolist(), strict=False))
        timed, found = self._assign_times(
            written, [begins[line] for line in written.origins], self.elements.at
        )
        for line, _, reason in found:
            reasons.setdefault(line, reason)
        rejects = [Reject(self.source, line, reason, shown(texts[line])) for line, reason in reasons.items()]
        return self._occurrences(timed, rejects), limit, text.count(b"\n")

    def _write(self, document: bytes, line: int, written: WrittenLines) -> str | None:
        """Adds a document's quads to the written lines; or why it cannot be used."""
        if reason := refusal(document):
            return reason
        labels = NumberedLabels(self.source, document)
        before = len(written.lines)
        try:
            for quad in parse(document, RdfFormat.JSON_LD, base_iri=self.base):
                written.add(self._line_of(quad, labels), line)
        except Unusable as problem:
            return str(problem)
        except MemoryError:
            return "a string is longer than 16 MiB"
        except SyntaxError as problem:
            reason = syntax_reason(problem)
            if "LoadDocumentCallback" in reason:
                reason = "remote JSON-LD contexts are not loaded; write the context into the document"
            return reason
        if reason := vanished(document, self.base):
            return reason
        if len(written.lines) == before:
            return "the document states nothing: no key of it stands for an IRI, or it has no value"
        return None


def _broken_prologue(quads: QuadParser) -> str | None:
    """What is wrong with the prologue of a document that has nothing else, if something is."""
    declared = [*quads.prefixes.values()]
    if quads.base_iri not in (None, UNRESOLVED):
        declared.append(quads.base_iri)
    return next(filter(None, map(unresolved_reason, declared)), None)


class _ByLines(io.RawIOBase):
    """A document that is read line by line; `number` is the line that was read last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = self._end = 0
        self.number = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._at == self._end < len(self._data):
            self._end = self._data.find(b"\n", self._at) + 1 or len(self._data)
            self.number += 1
        end = self._end if size < 0 else min(self._end, self._at + size)
        some, self._at = self._data[self._at : end], end
        return some


def _nth_line(data: bytes, n: int) -> bytes:
    at = 0
    for _ in range(n):
        at = data.find(b"\n", at) + 1
    return line_at(data, at)

"""Reads the examples of a documentation page.

An example is a run of fenced blocks under a heading, in this order: one or more `sparql`
blocks (several: rules first, the last one is asked), at most one `turtle` block (a static
graph; an IRI in angle brackets after `turtle` names it), one `trig` block (the stream) and
one `csv` block (the answers of the last query, in any order, as `penstock run --format csv`
writes them).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

KINDS = {"sparql", "turtle", "trig", "csv"}
_FENCE = re.compile(r"^```(\w+)(?: <([^>\n]*)>)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A query, a stream, and what must come out."""

    title: str
    queries: tuple[str, ...]
    graph: str | None
    graph_name: str | None
    stream: str
    answers: str

    def expected(self) -> tuple[list[str], Counter]:
        return read_answers(self.answers)


def read_answers(text: str) -> tuple[list[str], Counter]:
    """The header and the rows as a multiset."""
    header, *rows = csv.reader(text.splitlines())
    return header, Counter(tuple(row) for row in rows)


def examples_of(page: Path) -> list[Example]:
    """All examples of a page; a block that belongs to none is a mistake."""
    text = page.read_text("utf-8")
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(text)]
    examples: list[Example] = []
    blocks: list[tuple[str, str]] = []
    graph_name = None
    for fence in _FENCE.finditer(text):
        if fence[1] not in KINDS:
            continue
        blocks.append((fence[1], fence[3]))
        graph_name = fence[2] or graph_name
        if fence[1] != "csv":
            continue
        heading = [title for at, title in headings if at < fence.start()][-1]
        kinds = [kind for kind, _ in blocks]
        assert re.fullmatch(r"(sparql )+(turtle )?trig csv", " ".join(kinds)), (heading, kinds)
        content = {kind: body for kind, body in blocks}
        examples.append(
            Example(
                title=f"{len(examples) + 1} {heading}",
                queries=tuple(body for kind, body in blocks if kind == "sparql"),
                graph=content.get("turtle"),
                graph_name=graph_name,
                stream=content["trig"],
                answers=content["csv"],
            )
        )
        blocks, graph_name = [], None
    assert not blocks, f"blocks without answers at the end of {page.name}"
    return examples

"""What the languages of windows mean without saying it (decision 0013)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.windows import ON_CHANGE, ON_CLOSE, Report, Shows, StreamOperator, View


@dataclass(frozen=True)
class Convention:
    """What a language has by convention: when it reports, what it gives, what a window shows and is."""

    report: Report
    operator: StreamOperator | None  # None: the query says it
    shows: Shows
    view: View


CONVENTIONS = {
    "C-SPARQL": Convention(ON_CLOSE, StreamOperator.RSTREAM, Shows.CLOSED, View.GRAPH),
    "RSP-QL": Convention(ON_CLOSE, None, Shows.PRESENT, View.GRAPH),
    "CQELS-CEP": Convention(ON_CHANGE, StreamOperator.ISTREAM, Shows.CLOSED, View.ELEMENT),
}

"""Continuous queries as text, in the languages that can say them.

What the languages share is the body: a SELECT, CONSTRUCT or ASK as SPARQL writes it, with `GRAPH :w` where
a window is meant. It becomes algebra by the parser that there is; RSP-QL writes `WINDOW :w` instead.
Repetitions, and the aggregates beside them, are written as decision 0013 proposes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from oracle.vocabulary import BASE, PROLOGUE, TICK
from oracle.window_model import (
    CONVENTIONS,
    NOW,
    ContinuousQuery,
    Kind,
    Report,
    StreamOperator,
    Window,
    WindowSpec,
)
from penstock.terms import NamedNode

STAMP = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>\n"


@dataclass(frozen=True)
class Said:
    """A query as a language says it, and what is set beside the text because it has another convention."""

    language: str
    text: str
    report: Report | None = None
    operator: StreamOperator | None = None


def short(name: NamedNode) -> str:
    return ":" + name.value.removeprefix(BASE)


def seconds(duration: int) -> int:
    count, rest = divmod(duration, TICK)
    if rest:
        raise ValueError(f"{duration} is no number of seconds")
    return count


# --- windows -------------------------------------------------------------------------------------


def window_in(language: str, spec: WindowSpec) -> str | None:
    """The window in brackets; None if the language has no words for it."""
    convention = CONVENTIONS[language]
    if spec.start is not None or (spec.kind is Kind.TIME and spec.shows is not convention.shows):
        return None
    return {"C-SPARQL": _csparql, "RSP-QL": _rspql, "CQELS-CEP": _cqels}[language](spec)


def _csparql(spec: WindowSpec) -> str | None:
    if spec.kind is Kind.TRIPLES:
        step = "" if spec.slide == 1 else f" STEP {spec.slide}"
        return f"[RANGE TRIPLES {spec.width}{step}]"
    if spec.continuous or spec.opening:
        return None
    if spec.kind is Kind.LANDMARK:
        return f"[RANGE UNBOUNDED STEP {seconds(spec.slide)}s]"
    if spec.width == spec.slide:
        return f"[RANGE {seconds(spec.width)}s TUMBLING]"
    return f"[RANGE {seconds(spec.width)}s STEP {seconds(spec.slide)}s]"


def _rspql(spec: WindowSpec) -> str | None:
    if spec.kind is Kind.TRIPLES:
        step = "" if spec.slide == 1 else f" STEP {spec.slide}"
        return f"[TRIPLES {spec.width}{step}]"
    if spec.continuous or spec.opening:
        return None
    step = f"STEP PT{seconds(spec.slide)}S"
    if spec.kind is Kind.LANDMARK:
        return f"[RANGE UNBOUNDED {step}]"
    return f"[RANGE PT{seconds(spec.width)}S {step}]"


def _cqels(spec: WindowSpec) -> str | None:
    if spec == NOW:
        return "[NOW]"
    if spec.kind is Kind.TRIPLES:
        step = "" if spec.slide == 1 else f" SLIDE {spec.slide}"
        return f"[TRIPLES {spec.width}{step}]"
    if spec.kind is Kind.LANDMARK:
        return "[ALL]" if spec.continuous else f"[ALL SLIDE {seconds(spec.slide)}s]"
    if spec.continuous:  # CQELS's own are closed: [t − T, t]
        return f"[RANGE {seconds(spec.width)}s]" if spec.opening else None
    return None if spec.opening else f"[RANGE {seconds(spec.width)}s SLIDE {seconds(spec.slide)}s]"


# --- queries -----------------------------------------------------------------------------------------


def said_in(language: str, query: ContinuousQuery, body: str) -> Said | None:
    """The query as a language says it; None if it cannot.

    `body` is the query without prologue and dataset, its first ` WHERE ` standing before its pattern.
    """
    convention = CONVENTIONS[language]
    windows = [window_in(language, window.spec) for window in query.windows]
    if query.view is not convention.view or None in windows:
        return None
    operator = None if convention.operator in (None, query.operator) else query.operator
    clauses = [_clause(language, w, text) for w, text in zip(query.windows, windows, strict=True)]
    if None in clauses:
        return None
    report = None if query.report == convention.report else query.report
    head, prologue = "", PROLOGUE
    if language == "C-SPARQL":
        every = ""
        if query.report.period is not None and query.report == Report(period=query.report.period):
            every, report = f" COMPUTED EVERY {seconds(query.report.period)}s", None
        head = f"REGISTER QUERY Asked{every} AS\n"
        prologue = PROLOGUE + (STAMP if "f:timestamp" in body else "")
    elif language == "RSP-QL":
        head = f"REGISTER {query.operator.value} :out AS\n"
    text = _with_clauses(body, " ".join(clauses))
    for window in query.windows:
        if language == "RSP-QL" and window.name is not None:
            named = short(window.name)
            text = re.sub(rf"\bGRAPH {re.escape(named)}\b", f"WINDOW {named}", text)
    whole = f"{prologue}{head}{text}" if language == "RSP-QL" else f"{head}{prologue}{text}"
    return Said(language, whole, report, operator)


def _clause(language: str, window: Window, spec: str | None) -> str | None:
    """The clause of the dataset that declares a window."""
    stream = short(window.stream)
    if language == "C-SPARQL":
        return f"FROM STREAM {stream} {spec}" if window.name is None else None
    return None if window.name is None else f"FROM NAMED WINDOW {short(window.name)} ON {stream} {spec}"


def _with_clauses(body: str, clauses: str) -> str:
    before, where, after = body.partition(" WHERE ")
    if not where:  # ASK { … }
        before, brace, after = body.partition("{")
        return f"{before}{clauses} {brace}{after}"
    return f"{before} {clauses} WHERE {after}"

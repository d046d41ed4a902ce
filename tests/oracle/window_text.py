"""Continuous queries as text, in the languages that can say them.

What the languages share is the body: a SELECT, CONSTRUCT or ASK as SPARQL writes it, with `GRAPH :w` where
a window is meant. It becomes algebra by the parser that there is; RSP-QL writes `WINDOW :w` instead.
What is not the convention of a language is said by REPORT and SELECT ISTREAM; repetitions, and the
aggregates beside them, are written as decision 0013 says.
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
    Tick,
    Window,
    WindowSpec,
)
from penstock.terms import NamedNode
from penstock.timeline import format_instant

STAMP = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>\n"


@dataclass(frozen=True)
class Said:
    """A query as a language says it; `plain`: with nothing but the convention of the language."""

    language: str
    text: str
    plain: bool


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
    if spec.kind is Kind.TIME and spec.shows is not convention.shows:
        return None
    text = {"C-SPARQL": _csparql, "RSP-QL": _rspql, "CQELS-CEP": _cqels}[language](spec)
    if spec.start is None or text is None:
        return text
    return f'{text[:-1]} STARTING "{format_instant(spec.start)}"^^xsd:dateTime]'


def _csparql(spec: WindowSpec) -> str | None:
    if spec.kind is Kind.TRIPLES:
        step = "" if spec.slide == 1 else f" STEP {spec.slide}"
        return f"[RANGE TRIPLES {spec.width}{step}]"
    if spec.kind is Kind.LANDMARK:
        step = "" if spec.continuous else f" STEP {seconds(spec.slide)}s"
        return f"[RANGE UNBOUNDED{step}]"
    if spec.continuous or spec.opening:
        return None
    if spec.width == spec.slide:
        return f"[RANGE {seconds(spec.width)}s TUMBLING]"
    return f"[RANGE {seconds(spec.width)}s STEP {seconds(spec.slide)}s]"


def _rspql(spec: WindowSpec) -> str | None:
    if spec.kind is Kind.TRIPLES:
        step = "" if spec.slide == 1 else f" STEP {spec.slide}"
        return f"[TRIPLES {spec.width}{step}]"
    step = "" if spec.continuous else f" STEP PT{seconds(spec.slide)}S"
    if spec.kind is Kind.LANDMARK:
        return f"[RANGE UNBOUNDED{step}]"
    if spec.continuous or spec.opening:
        return None
    return f"[RANGE PT{seconds(spec.width)}S{step}]"


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


def report_in(language: str, report: Report) -> str:
    """The clause that says when windows report."""
    period = "" if report.period is None else seconds(report.period)
    conditions = {
        "ON CLOSE": report.close,
        "ON CHANGE": report.change,
        "NOT EMPTY": report.non_empty,
        f"EVERY PT{period}S" if language == "RSP-QL" else f"EVERY {period}s": report.period is not None,
        "ON TUPLE": report.tick is Tick.TUPLE,
    }
    return "REPORT " + ", ".join(words for words, said in conditions.items() if said)


# --- queries -----------------------------------------------------------------------------------------


def said_in(language: str, query: ContinuousQuery, body: str) -> Said | None:
    """The query as a language says it; None if it cannot.

    `body` is the query without prologue and dataset, its first ` WHERE ` standing before its pattern.
    """
    convention = CONVENTIONS[language]
    windows = [window_in(language, window.spec) for window in query.windows]
    if query.view is not convention.view or None in windows:
        return None
    plain = True
    if convention.operator not in (None, query.operator):
        plain, body = False, re.sub(r"\A\w+", rf"\g<0> {query.operator.value}", body)
    clauses = [_clause(language, w, text) for w, text in zip(query.windows, windows, strict=True)]
    if None in clauses:
        return None
    report = "" if query.report == convention.report else report_in(language, query.report)
    head, prologue = "", PROLOGUE
    if language == "C-SPARQL":
        every = ""
        if query.report.period is not None and query.report == Report(period=query.report.period):
            every, report = f" COMPUTED EVERY {seconds(query.report.period)}s", ""
        head = f"REGISTER QUERY Asked{every} AS\n"
        prologue = PROLOGUE + (STAMP if "f:timestamp" in body else "")
    elif language == "RSP-QL":
        head = f"REGISTER {query.operator.value} :out AS\n"
    text = _with_clauses(body, " ".join([*clauses, report]).rstrip())
    for window in query.windows:
        if language == "RSP-QL" and window.name is not None:
            named = short(window.name)
            text = re.sub(rf"\bGRAPH {re.escape(named)}\b", f"WINDOW {named}", text)
    whole = f"{prologue}{head}{text}" if language == "RSP-QL" else f"{head}{prologue}{text}"
    return Said(language, whole, plain and not report)


def _clause(language: str, window: Window, spec: str | None) -> str | None:
    """The clause of the dataset that declares a window."""
    stream = short(window.stream)
    if language == "C-SPARQL":
        return f"FROM STREAM {stream} {spec}" if window.name is None else None
    return None if window.name is None else f"FROM NAMED WINDOW {short(window.name)} ON {stream} {spec}"


def _with_clauses(body: str, clauses: str) -> str:
    before, where, after = body.partition(" WHERE ")
    if body.startswith("ASK"):  # a WHERE would be that of a sub-query
        before, brace, after = body.partition("{")
        return f"{before}{clauses} {brace}{after}"
    return f"{before} {clauses} WHERE {after}"

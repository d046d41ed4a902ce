"""Queries over windows: windows in brackets, reports and stream operators (decision 0013)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from lark import Token, Tree

from penstock.algebra import nodes as a
from penstock.algebra.windows import (
    Bound,
    Continuous,
    Kind,
    Report,
    Shows,
    StreamOperator,
    Tick,
    Window,
    WindowSpec,
)
from penstock.errors import Span
from penstock.languages.conventions import CONVENTIONS, Convention
from penstock.languages.durations import DurationTranslator
from penstock.languages.registrations import RegistrationTranslator
from penstock.terms import NamedNode


class WindowTranslator(RegistrationTranslator, DurationTranslator):
    """SPARQL over windows; a language says what it is called and how it calls things."""

    TITLE: ClassVar[str]
    SLIDE: ClassVar[str] = "STEP"
    EXAMPLE: ClassVar[str]  # a window, as one declares it

    def __init__(self, *args, **keywords) -> None:
        super().__init__(*args, **keywords)
        self.windows: list[Window] = []
        self._brackets: list[Span] = []  # where the windows say what they hold

    @property
    def convention(self) -> Convention:
        return CONVENTIONS[self.TITLE]

    # --- statements -----------------------------------------------------------------------

    def statement(self, tree: Tree, **about) -> a.Statement:
        if tree.data not in ("register", "query"):
            return super().statement(tree, **about)
        said = self.registration(tree)
        about |= said.about
        periods = [self._positive(part.children[0], "a period") for part in said.more]
        form = said.query.children[0]
        registered = said.kind if said.kind is not None and said.kind.type == "STREAM_OPERATOR" else None
        operator = self._operator(said.query, registered)
        bounds = self._bounds(form)
        self.declare_windows(form)
        report = self._report(form, periods[0] if periods else None)
        parsed = super().statement(said.query, **about)
        if not self.windows:
            raise self.source.error(
                "the query has no window, so there is nothing that it could be evaluated over",
                about["place"],
                f"declare one, as in {self.EXAMPLE}; what has no windows is a query of EP-SPARQL",
            )
        self._check_report(report, form)
        self._check_bounds(bounds)
        asked = tuple((var.name, which) for _, var, which, _ in bounds)
        continuous = Continuous(tuple(self.windows), report, operator, self.convention.view, asked)
        assert isinstance(parsed, a.ParsedQuery)
        query = replace(parsed.query, continuous=continuous)
        for place, var, _, _ in bounds:
            query = replace(query, vars=(*query.vars[:place], var, *query.vars[place:]))
        parsed = replace(parsed, query=query, window_places=tuple(self._brackets))
        return self.registered(parsed, said.stream)

    def _operator(self, query: Tree, registered: Token | None) -> StreamOperator:
        form = query.children[0]
        clause = next((each for each in form.children if _is(each, "select_clause")), form)
        own = [each for each in clause.children if _is(each, "STREAM_OPERATOR")]
        clause.children = [each for each in clause.children if not _is(each, "STREAM_OPERATOR")]
        for token in query.scan_values(lambda each: _is(each, "STREAM_OPERATOR")):
            raise self.source.error(
                f"{token.upper()} says what becomes of the answers of a whole query",
                token,
                "write it in the outermost SELECT, CONSTRUCT or ASK",
            )
        if own and registered is not None:
            raise self.source.error(
                f"the query is registered as {registered.upper()} already", own[0], "say it once"
            )
        said = own[0] if own else registered
        if said is None:
            return self.convention.operator or StreamOperator.RSTREAM
        return StreamOperator(said.upper())

    # --- bounds of windows ------------------------------------------------------------------

    def _bounds(self, form: Tree) -> list[tuple[int, a.Var, Bound, Token]]:
        """The columns of SELECT that say what windows showed: their places, which are taken out of it."""
        clause = next((each for each in form.children if _is(each, "select_clause")), None)
        if clause is None:
            return []
        columns = [each for each in clause.children if _is(each, "VAR") or _is(each, "select_expression")]
        found: list[tuple[int, a.Var, Bound, Token]] = []
        for place, column in enumerate(columns):
            if isinstance(column, Token):
                continue
            call, name = column.children
            if isinstance(call, Tree) and _is(call, "builtin") and _is(call.children[0], "WINDOW_FUNCTION"):
                assert isinstance(name, Token)
                clause.children.remove(column)
                which = Bound.START if str(call.children[0]).lower() == "getwindowstart" else Bound.END
                found.append((place, self.var(name), which, name))
        named = {str(each) for each in form.scan_values(lambda each: _is(each, "VAR"))}
        for number, (_, _, _, token) in enumerate(found):
            if token in named or token in [other for *_, other in found[:number]]:
                raise self.source.error(f"{token} is used elsewhere", token, "choose a new name after AS")
        if found and len(found) == len(columns):
            raise self.source.error(
                "SELECT has nothing but the bounds of windows", found[0][3], "name a variable or a count, too"
            )
        return found

    def _check_bounds(self, bounds: list[tuple[int, a.Var, Bound, Token]]) -> None:
        for window, place in zip(self.windows, self._brackets, strict=True):
            if bounds and window.spec.kind is Kind.TRIPLES:
                raise self.source.error(
                    "this window counts triples, and has no bounds in time",
                    place,
                    "leave getWINDOWSTART() and getWINDOWEND() out, or use a window over time",
                )

    def _builtin(self, tree: Tree) -> a.Expression:
        if _is(tree.children[0], "WINDOW_FUNCTION"):
            raise self.source.error(
                f"{tree.children[0]}() is known when an answer is given, and only then",
                tree.children[0],
                f"it stands alone in the outermost SELECT, as in SELECT ?x ({tree.children[0]}() AS ?at)",
            )
        return super()._builtin(tree)

    # --- reports --------------------------------------------------------------------------

    def _report(self, form: Tree, period: int | None) -> Report:
        clauses = [each for each in form.children if _is(each, "report")]
        if not clauses:
            return self.convention.report if period is None else Report(period=period)
        if len(clauses) > 1:
            raise self.source.error("REPORT is said twice", self.extent(clauses[1]), _ALL_IN_ONE)
        report = Report(period=period)
        for condition in clauses[0].children:
            match condition.data:
                case "on_close":
                    report = replace(report, close=True)
                case "on_change":
                    report = replace(report, change=True)
                case "on_tuple":
                    report = replace(report, tick=Tick.TUPLE)
                case "not_empty":
                    report = replace(report, non_empty=True)
                case _ if report.period is not None:
                    raise self.source.error(
                        "there is another period already", self.extent(condition), "a query has one"
                    )
                case _:
                    report = replace(report, period=self._positive(condition.children[0], "a period"))
        return report

    def _check_report(self, report: Report, form: Tree) -> None:
        """Refuse what would report at every instant."""
        if report.change or report.period is not None or report.tick is Tick.TUPLE:
            return
        if not report.close:
            clause = next(each for each in form.children if _is(each, "report"))
            raise self.source.error(
                "this would report at every instant at which there is something in a window",
                self.extent(clause),
                "say when, too: REPORT ON CHANGE, NOT EMPTY, or ON CLOSE, or EVERY …",
            )
        for window, place in zip(self.windows, self._brackets, strict=True):
            if window.spec.continuous:
                raise self.source.error(
                    "this window closes at every instant, and would report as often",
                    place,
                    f"give it a {self.SLIDE}, or say REPORT ON CHANGE",
                )

    # --- windows --------------------------------------------------------------------------

    @abstractmethod
    def declare_windows(self, form: Tree) -> None:
        """Take the windows that the dataset of a query declares."""

    def add_window(self, name: NamedNode | None, stream: Token, spec: Tree) -> None:
        if stream.type == "VAR":
            raise self.source.error(
                f"{stream} is a variable, and a window reads one stream", stream, "name the stream by its IRI"
            )
        self.windows.append(Window(name, self.iri(stream), self.window_spec(spec)))
        self._brackets.append(self.extent(spec))

    def window_spec(self, tree: Tree) -> WindowSpec:
        """What stands in brackets."""
        return getattr(self, f"_{tree.data}")(tree)

    def _range_window(self, tree: Tree) -> WindowSpec:
        start = self._starting(tree)
        width_tree, *more = (each for each in tree.children if not _is(each, "starting"))
        return self._of_width(tree, self._positive(width_tree, "a window's width"), more, start)

    def _of_width(
        self, tree: Tree, width: int, more: Sequence[Tree | Token], start: int | None = None
    ) -> WindowSpec:
        if not more:
            return self.without_slide(tree, width, start)
        slide = width if _is(more[0], "TUMBLING") else self._positive(more[0], f"a {self.SLIDE}")
        return WindowSpec(Kind.TIME, width, slide, start, shows=self.convention.shows)

    def without_slide(self, tree: Tree, width: int, start: int | None) -> WindowSpec:
        """[RANGE …] and nothing more: tumbling, mostly."""
        return WindowSpec(Kind.TIME, width, width, start, shows=self.convention.shows)

    def _triples_window(self, tree: Tree) -> WindowSpec:
        width, *slide = (self._positive_count(token) for token in tree.children)
        return WindowSpec(Kind.TRIPLES, width, slide[0] if slide else 1, shows=Shows.CLOSED)

    def _landmark_window(self, tree: Tree) -> WindowSpec:
        durations = [each for each in tree.children if _is(each, "duration")]
        slide = self._positive(durations[0], f"a {self.SLIDE}") if durations else 1
        return WindowSpec(Kind.LANDMARK, slide=slide, start=self._starting(tree))

    def _starting(self, tree: Tree) -> int | None:
        clause = next((each for each in tree.children if _is(each, "starting")), None)
        return None if clause is None else self.instant(clause.children[0])

    def _positive(self, tree: Tree, what: str) -> int:
        length = self.duration(tree)
        if length <= 0:
            how = "negative" if length < 0 else "zero"
            raise self.source.error(
                f"{what} cannot be {how}", self.extent(tree), "it is a length of time, longer than nothing"
            )
        return length

    def _positive_count(self, token: Token) -> int:
        count = int(token)
        if count <= 0:
            raise self.source.error(f"a number of triples cannot be {count}", token, "it is at least 1")
        return count

    def extent(self, tree: Tree) -> Span:
        """Where a tree stands, with the words that are not in it."""
        return self.source.span(tree.meta.start_pos, tree.meta.end_pos)


_ALL_IN_ONE = "conditions that must all hold stand in one, as in REPORT ON CLOSE, NOT EMPTY"


def _is(node: Tree | Token, kind: str) -> bool:
    return (node.data if isinstance(node, Tree) else node.type) == kind


class NamedWindowTranslator(WindowTranslator):
    """FROM NAMED WINDOW <w> ON <s> [ … ], and WINDOW <w> { … }."""

    def declare_windows(self, form: Tree) -> None:
        for clause in form.children:
            if _is(clause, "declared_window") or _is(clause, "window_as"):
                (spec,) = (each for each in clause.children if isinstance(each, Tree))
                names = [each for each in clause.children if not _is(each, "STREAM") and each is not spec]
                name, stream = reversed(names) if _is(clause, "window_as") else names
                # YASPER and RSP-JS write [RANGE 5 s, SLIDE 1s]; so does CQELS-CEP, which means another thing,
                # but without the word STREAM
                self.units_too = len(names) + 1 < len(clause.children)
                self.declare_window(name, stream, spec)
        self.units_too = False

    def declare_window(self, name: Token, stream: Token, spec: Tree) -> NamedNode:
        iri = self.window_name(name)
        if any(window.name == iri for window in self.windows):
            raise self.source.error(
                f"there is a window {name} already", name, "each window of a query has a name of its own"
            )
        self.add_window(iri, stream, spec)
        return iri

    def window_name(self, token: Token) -> NamedNode:
        if token.type == "VAR":
            raise self.source.error(
                f"{token} is a variable, and WINDOW names one window", token, "name it as it is declared"
            )
        return self.iri(token)

    def known_window(self, token: Token) -> NamedNode:
        """The name of a window that is declared."""
        name = self.window_name(token)
        if any(window.name == name for window in self.windows):
            return name
        declared = ", ".join(self.names.shown(window.name) for window in self.windows if window.name)
        raise self.source.error(
            f"there is no window {token}",
            token,
            f"declared are {declared}" if declared else f"declare it, as in {self.EXAMPLE}",
        )

    def _add_graph(self, before: a.Pattern, tree: Tree) -> a.Pattern:
        name = tree.children[0]
        if name.type != "VAR" and any(window.name == self.iri(name) for window in self.windows):
            raise self.source.error(f"{name} is a window", name, f"write WINDOW {name} {{ … }}")
        return super()._add_graph(before, tree)

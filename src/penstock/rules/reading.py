"""Texts with rules: statements, and the headers in the comments before them.

    # name: cax-sco
    # regimes: owl2-rl, rdfs (rdfs9)
    # meaning: An instance of a class is an instance of its superclasses.
    INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }

A header holds for the statement after it, and for those that follow it after a semicolon. An INSERT without
header is a rule, too, and called after its file; other statements are queries. `# drop: NAME, NAME` takes
rules of a regime away.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from penstock.algebra.nodes import (
    Construct,
    Insert,
    Module,
    ParsedQuery,
    ParsedRule,
    QuadPattern,
    Select,
    Statement,
)
from penstock.errors import InputError, QueryError, Span, UsageError
from penstock.languages import ENDINGS, LANGUAGES, parse
from penstock.languages.text import QueryText
from penstock.rules.restrictions import refuse
from penstock.rules.rule import REGIMES, Rule

KEYS = ("name", "regimes", "meaning", "contradiction", "drop")
_LINE = re.compile(r"^\ufeff?[ \t]*\#+[ \t]*([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*?)[ \t]*\r?$", re.M)
_NAME = re.compile(r"[^\s,()]+")
_NAMES = re.compile(rf"{_NAME.pattern}(?:[ \t]*,[ \t]*{_NAME.pattern})*")
_REGIME = re.compile(r"([^\s,()]+)[ \t]*(?:\(([^()]*)\))?[ \t]*(?:,|$)[ \t]*")
_HIDING = re.compile(r"<[^<>\s]*>|\#[^\r\n]*")
_SEMICOLON = re.compile(rf"({_HIDING.pattern})|;")
_OUTLINE = re.compile(
    r"^\ufeff?[ \t]*\#+[ \t]*name[ \t]*:(?P<name>.*)$|"
    + _HIDING.pattern
    + r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?P<brace>[{}])|(?P<end>;)"""
    r"|\b(?P<begin>INSERT|SELECT|CONSTRUCT|ASK|DESCRIBE)\b",
    re.I | re.M,
)
_WITHOUT_NAME = "rule"


@dataclass(frozen=True)
class Drop:
    """A rule that a text takes away, and where it says so."""

    name: str
    span: Span
    text: str
    origin: str | None = None


@dataclass(frozen=True)
class RuleText:
    """What a text holds."""

    rules: tuple[Rule, ...]
    queries: tuple[ParsedQuery, ...]
    drops: tuple[Drop, ...]


@dataclass
class _Value:
    text: str
    start: int  # in the whole text
    end: int


@dataclass
class _Header:
    """What the comments before a statement say of it."""

    values: dict[str, _Value] = field(default_factory=dict)
    begin: int = -1  # of its first line
    end: int = -1  # of its last line

    @property
    def name(self) -> str | None:
        return self.values["name"].text if "name" in self.values else None

    @property
    def kind(self) -> str | None:
        """Which of the two sentences it has."""
        return next((key for key in ("contradiction", "meaning") if key in self.values), None)


@dataclass
class _Draft:
    """A rule in the making."""

    header: _Header | None
    statements: list[ParsedRule | ParsedQuery]

    @property
    def is_check(self) -> bool:
        return isinstance(self.statements[0], ParsedQuery)


def read_rules(
    text: str,
    *,
    origin: str | None = None,
    address: str | None = None,
    language: str | None = None,
    name: str | None = None,
    only_rules: bool = False,
) -> RuleText:
    """The rules and queries of a text, found at an address; errors name the rule that they are in."""
    if not _HIDING.sub("", text).strip("\ufeff \t\r\n;"):  # it may do nothing but drop rules
        found = _Reader(Module(statements=(), text=text, origin=origin, language="")).read()
        if found.drops:
            return found
    try:
        module = parse(text, origin=origin, address=address, language=language, name=name)
    except QueryError as error:
        if error.span is not None and (rule := _rule_at(text, error.span.line)):
            error.message = f"rule {rule}: {error.message}"
        raise
    if not only_rules:
        return rules_of(module)
    found = rules_of(replace(module, statements=tuple(map(_as_rule, module.statements))))
    if found.queries:
        raise _no_rule(found.queries[0], "a SELECT without a header")
    return found


def read_file(path: Path, *, language: str | None = None, only_rules: bool = False) -> RuleText:
    """The rules and queries of a file; if it may have `only_rules`, a CONSTRUCT is one, too."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is not UTF-8 text: {problem.reason}") from None
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from None
    address = path.absolute().as_uri()
    return read_rules(text, origin=str(path), address=address, language=language, only_rules=only_rules)


def files_at(path: Path) -> list[Path]:
    """The files with rules that a path names: itself, or all that are in a directory, by their names."""
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix.lower() in ENDINGS and each.is_file())
    if not found:
        endings = ", ".join(ENDINGS)
        raise UsageError(f"there are no rules in the directory {path}", hint=f"their files end in {endings}")
    return found


def rules_of(module: Module) -> RuleText:
    """The rules and queries of a text that is parsed already."""
    return _Reader(module).read()


def _rule_at(text: str, line: int) -> str | None:
    """The name of the rule in which a line stands, of a text that is no module: if a header gives it one."""
    before = "".join(text.splitlines(keepends=True)[:line])
    name, depth, begun, ended = None, 0, False, False
    for found in _OUTLINE.finditer(before):
        if found["brace"]:
            depth += 1 if found["brace"] == "{" else -1
        elif depth > 0:
            continue
        elif found["name"] is not None:
            name, begun = found["name"].strip(), False
        elif found["end"]:
            ended = True
        elif found["begin"]:  # the header holds for the first statement, and for what follows a semicolon
            name = name if ended or not begun else None
            begun, ended = True, False
    return name


def _as_rule(statement: Statement) -> Statement:
    """In a text that has nothing but rules, CONSTRUCT says what INSERT does."""
    if not isinstance(statement, ParsedQuery) or isinstance(statement.query, Select):
        return statement  # it may be a check
    query = statement.query
    if not isinstance(query, Construct) or query.dataset or query.continuous or statement.stream:
        what = type(query).__name__.upper()
        raise _no_rule(statement, f"this {what}")
    template = tuple(QuadPattern(query.target, triple) for triple in query.template)
    said = {each.name: getattr(statement, each.name) for each in fields(Statement)}
    return ParsedRule(**said, insert=Insert(query.pattern, template))


def _no_rule(statement: Statement, what: str) -> QueryError:
    return QueryError(
        f"{what} is a query, and this text is read for its rules",
        hint="a rule is INSERT or CONSTRUCT { … } WHERE { … }, and what must not be a SELECT under"
        " `# contradiction: …`; what is to be answered is given as a query",
        span=statement.place,
        text=statement.text,
        origin=statement.origin,
    )


class _Reader:
    """Goes through the statements of a module and what stands between them."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.source = QueryText(module.text, module.origin)
        self.drops: list[Drop] = []
        # Over queries, what looks like a bad header is a comment.
        keys = (line[1].lower() for line in _LINE.finditer(module.text))
        self.has_rules = bool(module.rules) or not module.statements or "contradiction" in keys

    def read(self) -> RuleText:
        drafts: list[_Draft] = []
        queries: list[ParsedQuery] = []
        open_draft: _Draft | None = None  # which takes what follows after a semicolon
        done = 0
        for statement in self.module.statements:
            start, end = statement.extent
            header = self._header(done, start)
            between = _HIDING.sub("", self.module.text[done:start])
            done = end
            if type(statement) not in (ParsedRule, ParsedQuery):
                open_draft = None
                for each in self._stands_for(statement):
                    if isinstance(each, ParsedQuery):
                        queries.append(each)
                    else:
                        drafts.append(_Draft(None, [each]))
                continue
            if header is None and open_draft is not None and ";" in between:
                if isinstance(statement, ParsedQuery) == open_draft.is_check:
                    open_draft.statements.append(statement)
                    continue
            open_draft = None
            if self._is_query(statement, header):
                queries.append(statement)
                continue
            drafts.append(_Draft(header, [statement]))
            open_draft = drafts[-1] if header is not None else None
        self._header(done, len(self.module.text), last=True)
        alone = len(drafts) == 1 and not queries
        names = self._names(drafts)
        rules = tuple(self._rule(draft, name, alone) for draft, name in zip(drafts, names, strict=True))
        return RuleText(rules, tuple(queries), tuple(self.drops))

    def _stands_for(self, statement: Statement) -> tuple[ParsedQuery | ParsedRule, ...]:
        """The queries and rules that a statement of another kind stands for."""
        language, kind = LANGUAGES[self.module.language], type(statement)
        stands_for = dict(language.kinds).get(kind)
        if stands_for is None:
            raise self.source.error(
                f"nothing takes a statement of this kind ({kind.__name__}): it would be read and forgotten",
                statement.place,
                f"the row of {language.title} in LANGUAGES must say what it stands for",
            )
        return stands_for(statement)

    def _is_query(self, statement: ParsedRule | ParsedQuery, header: _Header | None) -> bool:
        """Whether a statement is a query, and no part of a rule."""
        kind = None if header is None else header.kind
        if isinstance(statement, ParsedRule):
            if kind == "contradiction":
                raise self._error(
                    header,
                    "contradiction",
                    "a contradiction is what a SELECT finds, and this header stands over an INSERT",
                    "an INSERT has `# meaning: …`; a condition that must not hold is a SELECT",
                )
            return False
        if kind == "contradiction":
            if not isinstance(statement.query, Select):
                form = type(statement.query).__name__.upper()
                raise self._error(
                    header,
                    "contradiction",
                    f"a contradiction is what a SELECT finds, and this header stands over {form}",
                    "select the variables that show what is contradictory",
                )
            return False
        named = header is not None and header.name and _NAME.fullmatch(header.name)
        if named and ("meaning" in header.values or "regimes" in header.values):
            key = "meaning" if "meaning" in header.values else "regimes"
            raise self._error(
                header,
                key,
                "this is the header of a rule, and the statement after it is a query",
                "a condition that must not hold has `# contradiction: …`; over a query, remove it",
            )
        return True

    # --- headers --------------------------------------------------------------------------

    def _header(self, start: int, end: int, *, last: bool = False) -> _Header | None:
        """The header in a stretch between two statements."""
        header = _Header()
        for line in _LINE.finditer(self.module.text, start, end):
            key, value = line[1].lower(), _Value(line[2], line.start(2), line.end(2))
            if key == "drop":
                self._drop(value)
                continue
            if key not in KEYS:
                continue
            if self.has_rules:
                self._check_line(header, key, value, line)
            header.values[key] = value
            header.begin = line.start() if header.begin < 0 else header.begin
            header.end = line.end()
        if not header.values or not self.has_rules:
            return header if header.values else None
        if last:
            raise self._without_statement(header)
        if {"meaning", "contradiction"} <= header.values.keys():
            raise self._error(
                header,
                "contradiction",
                "a rule has a `meaning:` or a `contradiction:`, and this header has both",
                "what adds triples and what must not hold are two rules",
            )
        self._look_for_misspelt(header, start, end)
        return header

    def _check_line(self, header: _Header, key: str, value: _Value, line: re.Match[str]) -> None:
        if key == "name":
            self._check_name(value)
        elif not value.text:
            where = _Value("", *line.span(1))
            raise self._problem(header.name, where, f"`# {key}:` says nothing", "write it out, or remove it")
        if key in header.values:
            if key == "name":
                raise self._without_statement(header)
            raise self._problem(header.name, value, f"`# {key}:` stands twice in this header", None)

    def _look_for_misspelt(self, header: _Header, start: int, end: int) -> None:
        """`# regime: …` among the lines of a header, or beside them, is meant as one of them."""
        for line in _LINE.finditer(self.module.text, start, end):
            key = line[1].lower()
            near = line.end() + 1 >= header.begin and line.start() <= header.end + 1
            close = difflib.get_close_matches(key, KEYS, 1, 0.8)
            if near and close and key not in KEYS:
                where = _Value(key, *line.span(1))
                message, hint = f"a header has no `{line[1]}:`", f"did you mean `{close[0]}:`?"
                raise self._problem(header.name, where, message, hint)

    def _check_name(self, value: _Value) -> None:
        if not _NAME.fullmatch(value.text):
            raise self._problem(
                None,
                value,
                f"{value.text!r} is not the name of a rule" if value.text else "this name is empty",
                "a name is one word, without commas and parentheses, as in cax-sco",
            )

    def _drop(self, value: _Value) -> None:
        if not _NAMES.fullmatch(value.text):
            if not self.has_rules:
                return
            message = "this is no list of rules to drop" if value.text else "`# drop:` names no rule"
            raise self._problem(None, value, message, "name them, as in # drop: cax-sco, prp-dom")
        for name in _NAME.finditer(value.text):
            start = value.start + name.start()
            span = self.source.written_span(start, start + len(name[0]))
            self.drops.append(Drop(name[0], span, self.module.text, self.module.origin))

    def _regimes(self, header: _Header, name: str) -> tuple[tuple[str, str], ...]:
        if "regimes" not in header.values:
            return ()
        value = header.values["regimes"]
        found: list[tuple[str, str]] = []
        done = 0
        while done < len(value.text):
            one = _REGIME.match(value.text, done)
            where = _Value("", value.start + done, value.end)
            if one is None:
                raise self._problem(
                    name,
                    where,
                    "this is no list of regimes",
                    "it is written `# regimes: owl2-rl, rdfs (rdfs9)`, in brackets what it is called there",
                )
            if one[1] not in REGIMES:
                where.end = where.start + len(one[1])
                close = difflib.get_close_matches(one[1].lower(), REGIMES, 1)
                hint = f"did you mean {close[0]}?" if close else f"the regimes are {', '.join(REGIMES)}"
                raise self._problem(name, where, f"there is no regime {one[1]!r}", hint)
            found += ((one[1], alias) for alias in _NAME.findall(one[2] or name))
            done = one.end()
        return tuple(found)

    # --- rules ----------------------------------------------------------------------------

    def _names(self, drafts: list[_Draft]) -> list[str]:
        """The names of rules: as their headers say, else after the file."""
        by_name: dict[str, _Draft] = {}
        for draft in drafts:
            if draft.header is not None and (name := draft.header.name):
                if name in by_name:
                    where = draft.header.values["name"]
                    first = self.source.written_span(by_name[name].header.values["name"].start, 0).line
                    raise self._problem(
                        None,
                        where,
                        f"there are two rules {name!r}, the other one in line {first}",
                        "give each a name of its own; statements of one rule are separated by ;",
                    )
                by_name[name] = draft
        names = []
        number = 0
        for draft in drafts:
            name = draft.header.name if draft.header is not None else None
            while name is None:
                number += 1
                stem = draft.statements[0].name or _WITHOUT_NAME
                candidate = stem if number == 1 else f"{stem}-{number}"
                name = None if candidate in by_name else candidate
            names.append(name)
        return names

    def _rule(self, draft: _Draft, name: str, alone: bool) -> Rule:
        statements = tuple(replace(each, name=name) for each in draft.statements)
        for statement in statements:
            refuse(name, statement)
        header = draft.header or _Header()
        kind = header.kind
        return Rule(
            name,
            inserts=() if draft.is_check else statements,
            checks=statements if draft.is_check else (),
            meaning=header.values[kind].text if kind else "",
            regimes=self._regimes(header, name),
            origin=self.module.origin,
            text=self.module.text if alone else self._text(draft),
        )

    def _text(self, draft: _Draft) -> str:
        """A rule's own text, with the prefixes that are declared further up."""
        first, last = draft.statements[0], draft.statements[-1]
        start, end = first.extent[0], last.extent[1]
        header = ""
        if draft.header is not None:
            header = self.module.text[draft.header.begin : draft.header.end].strip() + "\n"
            start = draft.header.end
        before = _SEMICOLON.sub(lambda found: found[1] or "", self.module.text[start : first.extent[0]])
        body = (before + self.module.text[first.extent[0] : end]).strip()
        lines = [
            f"PREFIX {prefix}: <{iri}>\n"
            for prefix, iri in first.prefixes
            if re.search(rf"(?:(?<![\w.:<-])|[?$]\w+){re.escape(prefix)}:", body)
            and not re.search(rf"(?i)\bPREFIX\s+{re.escape(prefix)}:", body)
        ]
        return header + "".join(lines) + body + "\n"

    # --- errors ---------------------------------------------------------------------------

    def _problem(self, rule: str | None, where: _Value, message: str, hint: str | None) -> QueryError:
        span = self.source.written_span(where.start, max(where.end, where.start + 1))
        return self.source.error(f"rule {rule}: {message}" if rule else message, span, hint)

    def _error(self, header: _Header, key: str, message: str, hint: str) -> QueryError:
        return self._problem(header.name, header.values[key], message, hint)

    def _without_statement(self, header: _Header) -> QueryError:
        key = "name" if "name" in header.values else next(iter(header.values))
        return self._error(
            header,
            key,
            "no statement follows this header",
            "a header stands directly before INSERT … WHERE …, or before the SELECT of a contradiction",
        )

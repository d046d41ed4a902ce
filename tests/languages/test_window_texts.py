"""Random queries over windows as text: what is parsed is what was written (decision 0013)."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import fields, replace

import pytest

from oracle.vocabulary import iri
from oracle.window_generator import REPEATED, make_repetition_case, make_window_case
from oracle.window_model import StreamOperator
from penstock.algebra import Construct, Extend, Node, Timestamp, Var
from penstock.errors import QueryError
from penstock.languages import parse_query
from windows.cases import CASES, continuous, in_rspql

COUNT = int(os.environ.get("PENSTOCK_TEXTS", "400"))
LANGUAGES = {"C-SPARQL": "c-sparql", "RSP-QL": "rsp-ql", "CQELS-CEP": "cqels-cep"}


def with_names(node, names: dict[Var, Var]):
    """The node with other names for some variables."""
    if isinstance(node, Var):
        return names.get(node, node)
    if isinstance(node, tuple):
        return tuple(with_names(each, names) for each in node)
    if isinstance(node, Node):
        return replace(
            node, **{field.name: with_names(getattr(node, field.name), names) for field in fields(node)}
        )
    return node


def without_names_of_stamps(node):
    """Timestamps under numbered names, in their order, and no BIND that only gives one another name.

    Aggregates (`.a1`) are not told apart: a sub-query has its own.
    """
    names: dict[Var, Var] = {}

    def plain(node):
        if isinstance(node, tuple):
            return tuple(plain(each) for each in node)
        if isinstance(node, Var) and node.name.startswith(".a"):
            return Var(".a")
        if not isinstance(node, Node):
            return node
        made = replace(node, **{field.name: plain(getattr(node, field.name)) for field in fields(node)})
        if isinstance(made, Extend) and isinstance(made.expression, Var) and made.expression in names:
            names[made.var] = names[made.expression]
            return made.pattern
        if isinstance(made, Timestamp):
            names[made.var] = Var(f"stamp{len(set(names.values()))}")
        return made

    made = plain(node)
    return with_names(made, names) if names else made


REPETITION = re.compile(r"\{[^{}]*\}\+(?: \(\w+\([^()]*\) AS \?\w+\))*")


def parsed_or_refused(text: str, language: str):
    """The query; None if it uses outside of a repetition what only that has (decision 0013)."""
    try:
        return parse_query(text, language=language).query
    except QueryError as problem:
        name = re.fullmatch(r"\?(\w+) is in a repetition only, .*", problem.message)[1]
        others = REPETITION.sub("", text)
        having = [each for each in REPETITION.findall(text) if re.search(rf"\?{name}\b", each)]
        assert len(having) > 1 or re.search(rf"\?{name}\b", others), text
        return None


def check(said, query) -> bool:
    parsed = parsed_or_refused(said.text, LANGUAGES[said.language])
    if parsed is None:
        return False
    expected = query.registered
    if said.language == "RSP-QL" and isinstance(expected, Construct):
        expected = replace(expected, target=iri(":out"))
    assert parsed.continuous == expected.continuous, said.text
    assert without_names_of_stamps(parsed) == without_names_of_stamps(expected), said.text
    return True


def test_what_is_printed_is_parsed_to_the_same():
    seen = Counter()
    for seed in (*range(COUNT), *range(REPEATED, REPEATED + COUNT // 4)):
        case = make_window_case(seed)
        for said in case.said:
            seen[said.language if check(said, case.query) else "refused"] += 1
    assert min(seen[language] for language in LANGUAGES) >= COUNT // 10
    assert seen["refused"] < 0.05 * sum(seen.values())


def test_what_is_printed_in_ep_sparql_is_parsed_to_the_same():
    same = 0
    for seed in range(COUNT):
        case = make_repetition_case(seed)
        if (parsed := parsed_or_refused(case.text, "ep-sparql")) is not None:
            assert parsed == case.query, case.text
            same += 1
    assert same > 0.9 * COUNT


@pytest.mark.parametrize("operator", StreamOperator)
def test_the_cases_of_the_table_are_parsed_to_the_same(operator):
    said = 0
    for case in CASES:
        if (text := in_rspql(case, operator)) is not None:
            said += check(text, continuous(case, operator))
    assert said > 20

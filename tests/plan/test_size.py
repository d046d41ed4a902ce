"""Long and deep queries: planned in proportion to their length, or refused by a limit that is named."""

from __future__ import annotations

import pickle

import pytest

from penstock import Engine, pipeline
from penstock.algebra.nodes import BGP
from penstock.errors import QueryError
from penstock.languages import DEEPEST, parse_query
from penstock.plan.analysis.components import components
from penstock.plan.catalog import StreamName
from penstock.plan.compilation import joining
from penstock.plan.sources import Stream
from penstock.plan.steps import Join, Rename, Scan, Step
from penstock.terms import NamedNode

PROLOGUE = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def times(count: int, piece: str, between: str = " ") -> str:
    """The piece so many times, with `#` as the number."""
    return between.join(piece.replace("#", str(i)) for i in range(count))


def nested(count: int, before: str, middle: str, after: str) -> str:
    return before * count + middle + after * count


LONG = {
    "triple patterns of one subject": times(1000, "?s :p# ?o#", " . "),
    "triple patterns in a chain": " . ".join(f"?v{i} :p ?v{i + 1}" for i in range(1000)),
    "triple patterns in a tree": " . ".join(f"?v{i // 2} :p{i} ?v{i + 1}" for i in range(1000)),
    "triple patterns with nothing in common": times(1000, "?s# :p# ?o#", " . "),
    "UNION": times(500, "{ ?s :p# ?o FILTER (?o > #) }", " UNION "),
    "SEQ": times(100, "{ ?s :p# ?o# }", " SEQ ") + ' FILTER (getDURATION() < "PT1H"^^xsd:duration)',
    "OPTIONAL": "?s :p ?o " + times(100, "OPTIONAL { ?s :p# ?o# }"),
    "filters": times(300, "?s :p# ?o#", " . ") + " " + times(300, "FILTER (?o# > 1)"),
    "&&": "?s :p ?o FILTER (" + times(1000, "?o != #", " && ") + ")",
    "||": "?s :p ?o FILTER (" + times(1000, "?o = #", " || ") + ")",
    "IN": "?s :p ?o FILTER (?o IN (" + times(10000, "#", ",") + "))",
    "a path sequence": "?s " + times(1000, ":p#", "/") + " ?o",
    "a closure of a path sequence": "?s (" + times(200, ":p#", "/") + ")+ ?o",
    "path alternatives": "?s " + times(1000, ":p#", "|") + " ?o",
    "a negated set": "?s !(" + times(1000, ":p#", "|") + ") ?o",
    "a list": "?s :p (" + times(500, "#") + ")",
    "a string": '?s :p "' + "x" * 5_000_000 + '"',
    "a string of escapes": '?s :p "' + "\\n" * 1_000_000 + '"',
    "a name": "?s :" + "x" * 5_000_000 + " ?o",
    "parentheses": "?s :p ?o FILTER (" + nested(5000, "(", "?o", ")") + ")",
}
# As deep as it may be; `#` levels more are refused.
DEEP = {
    "groups": lambda n: nested(n, "{ ?s :p ?o ", "", "}"),
    "OPTIONAL in OPTIONAL": lambda n: nested(n, "OPTIONAL { ?s :p ?o ", "", "}"),
    "OPTIONAL after OPTIONAL": lambda n: times(n, "OPTIONAL { ?s :p# ?o# }"),
    "MINUS": lambda n: "?s :p ?o " + times(n, "MINUS { ?s :p# ?o }"),
    "BIND": lambda n: "?s :p ?o " + times(n, "BIND (?o + # AS ?o#)"),
    "SEQ": lambda n: times(n, "{ ?s :p# ?o# }", " SEQ "),
    "a sum": lambda n: "?s :p ?o FILTER (" + times(n, "?o", " + ") + " > 1)",
    "negation": lambda n: "?s :p ?o FILTER (" + nested(n, "!(", "?o", ")") + ")",
    "functions": lambda n: "?s :p ?o FILTER (" + nested(n, "STR(", "?o", ")") + " > 1)",
    "closures": lambda n: "?s " + nested(n, "(", ":p", ")+") + " ?o",
}


def ways_through(text: str) -> Step:
    """Parses, checks, explains, plans, sends, opens and steps; the plan's last step."""
    parsed = parse_query(text)
    assert list(pipeline.check([parsed])) is not None
    engine = Engine().add_query(text)
    for stage in ("algebra", "plan", "spark"):
        assert engine.explain(stage=stage)
    program = pipeline.program([parsed], [StreamName()], shards=2, now=0)
    sent = pickle.loads(pickle.dumps(program))
    assert sent.digests == program.digests and sent.queries == program.queries
    assert sent.open(0).step([], 0, True) == []
    return program.plan.queries[0].step


@pytest.mark.sample(3)
@pytest.mark.parametrize("pattern", LONG.values(), ids=LONG)
def test_long_queries_are_planned(pattern: str):
    ways_through(f"{PROLOGUE} SELECT * {{ {pattern} }}")


def test_a_long_rule_is_planned():
    made = times(500, "?s :q# ?o", " . ")
    ways_through(f"{PROLOGUE} CONSTRUCT {{ {made} }} {{ {times(500, '?s :p# ?o', ' . ')} }}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("pattern", DEEP.values(), ids=DEEP)
def test_deep_queries_are_planned_up_to_a_limit_and_refused_above_it(pattern):
    ways_through(f"{PROLOGUE} SELECT * {{ {pattern(DEEPEST - 10)} }}")
    for levels in (DEEPEST + 1, 10 * DEEPEST):
        with pytest.raises(QueryError, match=f"nested too deeply: it may have {DEEPEST} levels"):
            parse_query(f"{PROLOGUE} SELECT * {{ {pattern(levels)} }}")


def test_sub_queries_in_sub_queries_are_refused_where_they_are_too_deep():
    ways_through(PROLOGUE + "SELECT * {" + nested(30, "{ SELECT * { ?s :p ?o ", "", "} }") + "}")
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_query(PROLOGUE + "SELECT * {" + nested(500, "{ SELECT * { ?s :p ?o ", "", "} }") + "}")


@pytest.mark.parametrize(
    "pattern",
    [
        ":a " + nested(12, "(", ":p?", ")*") + " :b",
        "?s :p ?o0 "
        + " ".join(
            f"FILTER EXISTS {{ ?s :p ?o{i + 1} MINUS {{ ?s :q ?o{i + 1} FILTER (?o{i + 1} > ?o{i}) }}"
            for i in range(30)
        )
        + "}" * 30,
    ],
    ids=["closures between constants", "EXISTS in EXISTS"],
)
def test_parts_that_are_used_many_times_are_planned_and_shown_once(pattern: str):
    ways_through(f"{PROLOGUE} SELECT * {{ {pattern} }}")


def test_limits_can_be_given():
    text = "SELECT * { ?s ?p 1 . ?s ?p 2 }"
    assert parse_query(text, longest=len(text), deepest=5)
    with pytest.raises(QueryError, match=f"has {len(text)} characters, and at most 29 are read"):
        parse_query(text, longest=29)
    with pytest.raises(QueryError, match="it may have 4 levels"):
        parse_query(text, deepest=4)


# --- joining ---------------------------------------------------------------------------------


def scan(number: int, *names: str) -> Step:
    return Rename(Scan("s", NamedNode(f"http://e/{number}"), "o", frozenset((Stream(0),))), names)


def meets(step: Step) -> list[Join]:
    return [each for each in step.walk() if isinstance(each, Join)]


def test_a_short_group_is_joined_one_by_one_with_what_is_connected(monkeypatch):
    monkeypatch.setattr(joining, "TOGETHER", 4)
    parts = [scan(0, "a", "b"), scan(1, "c", "d"), scan(2, "b", "c"), scan(3, "a", "d")]
    found = meets(joining.joined(parts, 7))
    assert [each.right for each in found] == [parts[2], parts[1], parts[3]]
    assert {each.within for each in found} == {7}


@pytest.mark.parametrize("together", [2, 3, 5])
@pytest.mark.parametrize(
    "ends",
    [
        lambda i: (f"v{i}", f"v{i + 1}"),
        lambda i: (f"v{i // 2}", f"v{i + 1}"),
        lambda i: ("s", f"v{i}"),
        lambda i: (f"v{i * 7 % (i + 1)}", f"v{i + 1}"),
    ],
    ids=["chain", "tree", "star", "graph"],
)
def test_a_long_group_is_joined_in_parts_without_cartesian_products(monkeypatch, together, ends):
    monkeypatch.setattr(joining, "TOGETHER", together)
    parts = [scan(i, *ends(i)) for i in range(200)]
    step = joining.joined(parts, None)
    assert {each for each in step.walk() if isinstance(each, Rename)} == set(parts)
    assert len(meets(step)) == len(parts) - 1
    assert all(each.shared for each in meets(step))


def test_parts_without_anything_in_common_are_joined_too(monkeypatch):
    monkeypatch.setattr(joining, "TOGETHER", 3)
    step = joining.joined([scan(i, f"a{i}", f"b{i}") for i in range(50)], None)
    assert len(step.vars) == 100


def test_components_of_a_long_chain_and_a_long_circle():
    chain = [(i, i + 1) for i in range(5000)]
    assert components(5001, chain) == [[i] for i in range(5001)]
    assert components(5001, [*chain, (5000, 0)]) == [list(range(5001))]


def test_equal_nodes_are_equal_whatever_is_known_of_them():
    one, other = (parse_query(f"{PROLOGUE} SELECT * {{ ?s :p ?o }}").query.pattern for _ in range(2))
    one.facts["x"] = 1
    assert one == other and hash(one) == hash(other) and one != BGP(())
    assert pickle.loads(pickle.dumps(one)) == one and "x" not in pickle.loads(pickle.dumps(one)).facts

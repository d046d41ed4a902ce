"""Joins in every relation and with every interval rule, which no language writes yet, against the oracle."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from random import Random

import pytest

from agreement.comparing import compared
from agreement.engine_runs import engine_answers, keep, occurrences_of, program_of
from agreement.tunings import tiny
from oracle.cases import Case, Element, StreamData
from oracle.generator import answers, make_case
from oracle.query_text import QueryWriter, Style
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, iri
from penstock import algebra as a
from penstock.errors import QueryError
from penstock.languages import parse_query
from penstock.plan import steps
from penstock.terms import Literal
from penstock.timeline import NEVER

TINY = tiny(Random("intervals"))
RELATIONS = (a.ANY, a.SEQ, a.EQUALS, a.ENDED, a.INTERSECTS, *a.ALLEN)
BOUNDS = ("", "", 'FILTER (getDURATION() <= "PT2S"^^xsd:dayTimeDuration)')


def varied(node, random: Random, interval: a.IntervalRule | None):
    """The same, its joins in random relations and the first of them with this interval rule."""
    if isinstance(node, tuple):
        return tuple(varied(each, random, interval) for each in node)
    if not isinstance(node, a.Node):
        return node
    changed = {each.name: varied(getattr(node, each.name), random, interval) for each in fields(node)}
    if isinstance(node, a.Join) and random.random() < 0.7:
        changed["relation"] = random.choice(RELATIONS)
        changed["interval"] = interval or random.choice(list(a.IntervalRule))
    return replace(node, **changed)


def interval_case(seed: int, interval: a.IntervalRule | None = None) -> Case:
    random = Random(f"intervals {seed}")
    data = make_case(seed, 30)
    writer = QueryWriter(random, Style(depth=1, exists=False))
    distinct = random.choice(("", "", "DISTINCT "))
    where = f"{writer.chain(1).text} {random.choice(BOUNDS)}"
    text = f"{PROLOGUE} SELECT {distinct}* WHERE {{ {where} }}"
    query = varied(parse_query(text).query, random, interval)
    return replace(data, queries=(text,), algebra=(query,))


REFUSED = "known only after it has ended"


@pytest.mark.sample(1)
@pytest.mark.parametrize("interval", a.IntervalRule, ids=lambda rule: rule.value)
def test_combinations_have_the_interval_of_their_rule(interval: a.IntervalRule):
    counts = compared(partial(interval_case, interval=interval), range(60), REFUSED)
    assert counts["agree"] > 25 and counts["with answers"] > 12, counts


def test_joins_of_joins_with_other_intervals():
    counts = compared(interval_case, range(500, 560), REFUSED)
    assert counts["agree"] > 25 and counts["with answers"] > 12, counts


# --- what is refused, and what must be remembered -----------------------------------------------------

A, B = (f"?x :{name} ?{variable}" for name, variable in (("price", "n"), ("load", "m")))


def joined(relation: a.Relation, interval: a.IntervalRule, where: str = f"{{ {A} }} SEQ {{ {B} }}") -> Case:
    """A query over long and short intervals of one subject, its join replaced."""
    text = f"{PROLOGUE} SELECT * WHERE {{ {where} }}"

    def replaced(node):
        if isinstance(node, a.Join) and node.relation == a.SEQ:
            return replace(node, relation=relation, interval=interval)
        if not isinstance(node, a.Node):
            return node
        return replace(node, **{each.name: replaced(getattr(node, each.name)) for each in fields(node)})

    random = Random(7)
    elements = []
    for tick in range(200):
        name = random.choice((":price", ":load"))
        triple = (iri(":a"), iri(name), Literal(str(tick)))
        length = random.choice((0, 1, 4)) * TICK
        end = EPOCH + tick // 2 * TICK
        elements.append(Element((triple,), end - length, end))
    batches = tuple(((0, place), (0, place + 1)) for place in range(0, 200, 2))
    algebra = (replaced(parse_query(text).query),)
    return Case(3, (StreamData(None, tuple(elements)),), (), (text,), 0, batches, algebra=algebra)


def remembered(case: Case) -> int:
    """The most rows that the stores of a join held after a batch, with tiny thresholds."""
    program = program_of(case, 1, TINY)
    shard = program.open(0)
    most, stored = 0, {}
    watermark = NEVER
    for batch in case.batches:
        elements = [case.streams[s].elements[e] for s, e in batch]
        payloads = [payload for _, payload in program.route(0, occurrences_of(elements, program.key))]
        list(shard.answers(payloads, watermark, False))
        watermark = max(element.end for element in elements)
        list(shard.answers([], watermark, False))
        keep(stored, shard)
        joins = [op for op in shard.shard.operators if type(op).__name__ == "JoinOperator"]
        most = max(most, sum(len(store) for op in joins for store in op.stores))
    return most


SHORT = 'FILTER (getDURATION() < "PT5S"^^xsd:dayTimeDuration)'
BOTH_SHORT = f"{{ {A} {SHORT} }} SEQ {{ {B} {SHORT} }}"


@pytest.mark.parametrize(
    ("relation", "interval", "where", "bounded"),
    [
        (a.INTERSECTS, a.IntervalRule.INTERSECTION, f"{{ {A} }} SEQ {{ {B} }}", False),
        # a short intersection does not say that what it is of is short
        (a.INTERSECTS, a.IntervalRule.INTERSECTION, f"{{ {A} }} SEQ {{ {B} }} {SHORT}", False),
        (a.INTERSECTS, a.IntervalRule.INTERSECTION, BOTH_SHORT, True),
        (a.INTERSECTS, a.IntervalRule.HULL, f"{{ {A} }} SEQ {{ {B} }} {SHORT}", True),
        (a.INTERSECTS, a.IntervalRule.INSTANT, BOTH_SHORT, True),
        (a.FINISHES, a.IntervalRule.INTERSECTION, f"{{ {A} }} SEQ {{ {B} }}", True),
        (a.DURING, a.IntervalRule.LEFT, f"{{ {A} }} SEQ {{ {B} {SHORT} }}", True),
        (a.DURING, a.IntervalRule.RIGHT, f"{{ {A} }} SEQ {{ {B} }} {SHORT}", True),
        (a.DURING, a.IntervalRule.LEFT, f"{{ {A} }} SEQ {{ {B} }} {SHORT}", False),
    ],
)
def test_what_is_remembered_follows_from_the_relation_the_rule_and_the_lengths(
    relation, interval, where, bounded
):
    case = joined(relation, interval, where)
    [expected] = answers(case)
    for restore in (False, True):
        assert engine_answers(case, restore=restore, tuning=TINY) == [expected]
    assert expected, "nothing is combined"
    most = remembered(case)
    assert most < 30 if bounded else most > 60, most


def test_a_short_solution_is_not_short_any_more_with_what_came_long_before_it():
    where = f"{{ {{ ?x :load ?k }} OPTIONALSEQ {{ {A} {SHORT} }} }} SEQ {{ {B} {SHORT} }}"
    for text, known in ((where, None), (BOTH_SHORT, 5 * TICK - 1)):
        plan = program_of(joined(a.INTERSECTS, a.IntervalRule.INTERSECTION, text), 1).plan
        [join] = [each for each in plan.queries[0].step.walk() if isinstance(each, steps.Join)]
        assert (join.left.longest, join.right.longest) == (known, 5 * TICK - 1)
        assert bool(join.join_bounds.latest_end(a.Side.RIGHT)) == (known is not None)


@pytest.mark.parametrize(
    ("where", "operator"),
    [
        (f"?x :knows ?y OPTIONAL {{ {{ {A} }} SEQ {{ {B} }} }}", "LeftJoin"),
        (f"?x :knows ?y MINUS {{ {{ {A} }} SEQ {{ {B} }} }}", "Minus"),
        (f"?x :knows ?y FILTER EXISTS {{ {{ {A} }} SEQ {{ {B} }} }}", "ExistsMark"),
        (f"{{ SELECT (COUNT(*) AS ?k) {{ {{ {A} }} SEQ {{ {B} }} }} }}", "Aggregated"),
    ],
)
@pytest.mark.parametrize("interval", [rule for rule in a.IntervalRule if rule is not a.HULL])
def test_what_needs_all_solutions_by_an_instant_is_refused_if_some_are_known_later(where, operator, interval):
    with pytest.raises(QueryError, match=f"{operator} cannot be decided"):
        program_of(joined(a.INTERSECTS, interval, where), 1)
    program_of(joined(a.INTERSECTS, a.HULL, where), 1)

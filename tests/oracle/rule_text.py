"""Random sets of CONSTRUCT rules: acyclic ones, and recursion in which time moves on."""

from __future__ import annotations

from random import Random

from oracle.query_text import QueryWriter, Style
from oracle.vocabulary import PROLOGUE


def random_rules(random: Random) -> tuple[list[str], dict[str, str]]:
    """Rules, and the predicates that they make with the kind of their objects."""
    return random.choice(
        (simple, simple, chained, transitive, counting, absence, latest, blank_nodes, free, free)
    )(random)


def _rule(template: str, where: str) -> str:
    return f"{PROLOGUE}CONSTRUCT {{ {template} }} WHERE {{ {where} }}"


def _bound(random: Random) -> str:
    return f'"PT{random.randint(2, 6)}S"^^xsd:duration'


def simple(random: Random):
    """A complex event from a sequence, as in query (4) of the paper."""
    numbers = random.choice((":price", ":load"))
    compare = random.choice(("<", ">", "<="))
    where = f"{{ ?x {numbers} ?n }} SEQ {{ ?x {numbers} ?m }} FILTER (?m {compare} ?n)"
    return [_rule("?x :moved ?m .", where)], {":moved": "number"}


def chained(random: Random):
    """A rule that reads what another one makes."""
    first = _rule("?x :met ?y .", "?x :knows ?y . ?x :price ?n .")
    operator = random.choice(
        ("SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "DURING", "FINISHES", "MEETS")
    )
    second = _rule("?y :metby ?x .", f"{{ ?x :met ?y }} {operator} {{ ?x :load ?n }}")
    return random.sample([first, second], 2), {":met": "resource", ":metby": "resource"}


def transitive(random: Random):
    """Recursion at one instant, without new terms."""
    base = _rule("?x :reaches ?y .", f"?x {random.choice((':knows', ':near'))} ?y .")
    operator = random.choice(("SEQ", "DURING", "STARTS", "OVERLAPS", "MEETS"))
    step = random.choice(
        ("?x :reaches ?y . ?y :knows ?z .", f"{{ ?x :reaches ?y }} {operator} {{ ?y :knows ?z }}")
    )
    return [base, _rule("?x :reaches ?z .", step)], {":reaches": "resource"}


def counting(random: Random):
    """Recursion with new terms, through the earlier side of SEQ, as in query (5)."""
    base = _rule("?x :count 1 .", "?x :price ?n .")
    bound = f" FILTER (getDURATION() < {_bound(random)})" if random.random() < 0.6 else ""
    step = f"{{ ?x :count ?k }} SEQ {{ ?x :price ?n }} BIND (?k + 1 AS ?m){bound}"
    return [base, _rule("?x :count ?m .", step)], {":count": "number"}


def absence(random: Random):
    """Absence of what another rule makes."""
    first = _rule("?x :busy ?n .", f"{{ ?x :load ?n }} SEQ {{ ?x {_property(random)} ?m }}")
    test = random.choice(
        (
            "?x :price ?n FILTER NOT EXISTS { ?x :busy ?m }",
            "?x :price ?n MINUS { ?x :busy ?m }",
            "?x :price ?n OPTIONAL { ?x :busy ?m } FILTER (!BOUND(?m))",
            "{ ?x :busy ?m } OPTIONALSEQ { ?x :price ?n } FILTER (!BOUND(?m))",
        )
    )
    return [first, _rule("?x :idle ?n .", test)], {":busy": "number", ":idle": "number"}


def _property(random: Random) -> str:
    return random.choice((":price", ":load"))


def latest(random: Random):
    """Recursion through absence, which the earlier side of SEQ makes safe, as in query (5)."""
    base = _rule("?x :total ?n .", "?x :load ?n .")
    where = (
        "{ { ?x :total ?k } SEQ { ?x :price ?n } } EQUALSOPTIONAL "
        "{ { ?x :total ?k } SEQ { ?x :price ?b } SEQ { ?x :price ?n } } "
        f"BIND (?k + ?n AS ?m) FILTER (!BOUND(?b) && getDURATION() < {_bound(random)})"
    )
    return [base, _rule("?x :total ?m .", where)], {":total": "number"}


def blank_nodes(random: Random):
    """A node of its own for every solution."""
    where = random.choice(("?x :price ?n . ?x :load ?m .", "{ ?x :price ?n } SEQ { ?x :load ?m }"))
    rule = _rule("?x :saw _:e . _:e :low ?n . _:e :high ?m .", where)
    return [rule], {":saw": "resource", ":low": "number", ":high": "number"}


def free(random: Random):
    """Any pattern that does not read what rules make."""
    writer = QueryWriter(random, Style(depth=1))
    where = writer.group(1)
    resources = [name for name in where.names if name in ("x", "y", "z")]
    subject = f"?{random.choice(resources)}" if resources else ":a"
    objects = [name for name in where.names if name in ("x", "y", "z")] or ["x"]
    rule = _rule(f"{subject} :linked ?{random.choice(objects)} .", where.text)
    return [rule], {":linked": "resource"}

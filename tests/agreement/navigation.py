"""Random graphs and nested regular expressions, and the pairs of the printed semantics."""

from __future__ import annotations

from collections import Counter
from random import Random

from oracle.canonical import canonical
from oracle.cases import Case, GraphData
from oracle.model import Triple
from oracle.nested import printed
from oracle.nested_text import nested_text
from oracle.vocabulary import PROLOGUE, VALUES, iri
from penstock import algebra as a
from penstock.languages import parse_query

ENDS = (("?x", "?y"), (":a", "?y"), ("?x", ":b"), (":near", ":near"), ("?x", "?x"), ("?x", '"x"'))


def navigable_graph(random: Random) -> list[Triple]:
    """Triples in which the same names stand in all places; literals are objects."""
    names = [iri(each) for each in random.sample((":a", ":b", ":knows", ":near", ":kind", ":K"), 5)]
    values = [*names, random.choice(VALUES["label"]), random.choice(VALUES["number"])]
    count = random.choice((0, 1, 3, 6, 9, 12, 15, 18, 21))
    triples = ((random.choice(names), random.choice(names), random.choice(values)) for _ in range(count))
    return list(dict.fromkeys(triples))


def path_of(text: str) -> a.Path:
    pattern = parse_query(f"{PROLOGUE} SELECT * WHERE {{ ?x {text} ?y }}").query.pattern
    while not isinstance(pattern, a.PathPattern):
        pattern = pattern.pattern
    return pattern.path


def static_case(seed: int) -> tuple[Case, list[Counter]]:
    """A graph, an expression between all kinds of ends, and what the printed semantics says."""
    random = Random(f"nested {seed}")
    graph = navigable_graph(random)
    text = nested_text(random, random.choice((0, 1, 1, 2, 2, 3)))
    pairs = printed(path_of(text), graph)
    queries = tuple(f"{PROLOGUE} SELECT * WHERE {{ {s} {text} {o} }}" for s, o in ENDS)
    expected = []
    for subject, object_ in ENDS:
        rows = set()
        for pair in pairs:
            bound: dict = {}
            for end, term in zip((subject, object_), pair, strict=True):
                wanted = bound.setdefault(end[1:], term) if end.startswith("?") else constant(end)
                if wanted != term:
                    break
            else:
                rows.add(tuple(bound.items()))
        expected.append(canonical((dict(row), None, None) for row in rows))
    return Case(seed, (), (GraphData(None, tuple(graph)),), queries, 0, ()), expected


def constant(text: str):
    return VALUES["label"][0] if text == '"x"' else iri(text)

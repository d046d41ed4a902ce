"""Random graphs and nested regular expressions, and the pairs of the printed semantics."""

from __future__ import annotations

from collections import Counter
from random import Random

from oracle.canonical import canonical
from oracle.cases import Case, Element, GraphData, StreamData
from oracle.model import Triple
from oracle.nested import printed
from oracle.nested_text import nested_text
from oracle.vocabulary import EPOCH, PROLOGUE, TICK, VALUES, iri
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


# --- static paths beside what binds their ends -----------------------------------------------------------

LINKS = (":knows", ":near", ":kind", "^:knows", "^:near", "!:knows", "(:knows|^:near)", "(:near/:kind)")


def repeated_text(random: Random) -> str:
    """A path of SPARQL that has a part of any length."""
    link = random.choice(LINKS) + random.choice("++**?")
    before, after = (random.choice(("", random.choice(LINKS) + random.choice(("", "", "?")))) for _ in "ba")
    text = "/".join(part for part in (before, link, after) if part)
    return random.choice((text, f"^({text})", f"({text})+", f"({text}|:near)"))


def beside_case(seed: int) -> Case:
    """Paths over a static graph, whose ends a stream binds, or other patterns, or nothing."""
    random = Random(f"beside {seed}")
    graph = dict.fromkeys((*navigable_graph(random), *navigable_graph(random)))
    names = [iri(each) for each in (":a", ":b", ":near", ":knows", ":elsewhere")]

    def said(count: int) -> tuple[Triple, ...]:
        return tuple((random.choice(names), iri(":says"), random.choice(names)) for _ in range(count))

    times = [EPOCH + second * TICK for second in range(random.choice((0, 3, 6, 6)))]
    elements = tuple(Element(said(random.choice((1, 2, 3))), each, each + TICK) for each in times)
    streams = (StreamData(None, elements),) if random.random() < 0.85 else ()
    places = [(0, place) for place in range(len(elements))] if streams else []
    cut = random.randrange(len(places) + 1)
    batches = (tuple(places[:cut]), tuple(places[cut:]))
    queries = tuple(f"{PROLOGUE} SELECT * WHERE {{ {_beside(random)} }}" for _ in range(2))
    return Case(seed, streams, (GraphData(iri(":g1"), tuple(graph)),), queries, 0, batches)


def _beside(random: Random) -> str:
    """A group with a path in a static graph, beside something else in it or in the stream."""

    def path() -> str:
        plain = random.random() < 0.5
        text = repeated_text(random) if plain else nested_text(random, random.choice((0, 1, 2)))
        return f"?{random.choice('abc')} {text} ?{random.choice('abcd')}"

    def known() -> str:
        return random.choice((path(), path(), path(), "?b :knows ?c", "?c :near ?d", "?b ?q :a"))

    parts = [
        f"GRAPH :g1 {{ {' . '.join(known() for _ in range(random.choice((1, 1, 2, 3))))} }}",
        random.choice(("?a :says ?b", "?a :says ?b", "?b :says ?a . ?e :says ?b", "")),
        random.choice(("", "", "", "VALUES ?b { :a :b }", "{ ?a :says ?e } SEQ { ?e :says ?b }")),
    ]
    random.shuffle(parts)
    if random.random() < 0.4:
        words = random.choice(("OPTIONAL", "FILTER EXISTS", "MINUS"))
        parts.append(random.choice(("FILTER (?b != :a)", f"{words} {{ GRAPH :g1 {{ {path()} }} }}")))
    if random.random() < 0.1:
        parts.insert(0, "OPTIONAL { ?c :says ?b }")
    return " ".join(parts)

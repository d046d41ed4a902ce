"""Random histories of a run: a stream in batches, and queries that come, go and change between them.

history = make_history(17)
print(history)               # reproducible, to be put into a bug report

Most queries of a history are variants of one or two of them (another projection, HAVING, FILTER, aggregate,
stream operator, the same under another name), so that they would share most of their steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from oracle.cases import Case, Element, GraphData, StreamData
from oracle.history_rules import PLAIN, RULES, Rules, construct_of
from oracle.history_rules import random_rules as rules_by_life
from oracle.query_text import QueryWriter, Style
from oracle.rule_text import random_rules
from oracle.stream_data import batched, delayed, random_graphs, random_streams, random_triple
from oracle.vocabulary import PROLOGUE, STREAM_NAMES, iri
from oracle.window_generator import denser, of_elements, of_graphs, random_spec
from oracle.window_model import CONVENTIONS, StreamOperator
from oracle.window_text import said_in, short, window_in
from penstock.algebra import Construct, ParsedQuery
from penstock.algebra.nodes import with_scope
from penstock.algebra.scopes import ELEMENT, STREAM, Scope
from penstock.languages import parse_query

EP_SPARQL = "EP-SPARQL"
OUTPUT = ":o1"
"""The stream that queries of a history give, if some do."""


@dataclass(frozen=True)
class Text:
    """A query as it is written; `by_element`: it is asked of each element by itself."""

    language: str
    text: str
    by_element: bool = False

    @cached_property
    def parsed(self) -> ParsedQuery:
        parsed = parse_query(self.text, language=self.language.lower())
        return with_scope(parsed, ELEMENT) if self.by_element else parsed

    @property
    def gives(self) -> bool:
        """Whether it gives the stream that others read."""
        return f" {OUTPUT} AS" in self.text

    @property
    def reads(self) -> bool:
        return f" {OUTPUT} " in self.text and not self.gives

    def __str__(self) -> str:
        mode = ", for each element" if self.by_element else ""
        return f"[{self.language}{mode}] {self.text.removeprefix(PROLOGUE)}"


@dataclass(frozen=True)
class QueryHistory:
    """Streams, graphs and the order of arrival (`data`), and the queries by name since some batches.

    `lives` are (number of the first batch, queries). `known`: from which batches on there are other static
    graphs than those of the data; `rules`: from which on other rules, whose premises are in `scope` and at
    most so many seconds apart (`within`).
    """

    data: Case
    lives: tuple[tuple[int, Mapping[str, Text]], ...]
    known: tuple[tuple[int, tuple[GraphData, ...]], ...] = ()
    rules: tuple[tuple[int, Rules], ...] = ()
    scope: Scope = ELEMENT
    within: int | None = None

    def knowing(self, batch: int) -> Case:
        """The data with the static graphs that hold when queries begin with a batch."""
        found = [self.data.graphs, *(graphs for begin, graphs in self.known if begin <= batch)]
        return replace(self.data, graphs=found[-1])

    def ruled(self, batch: int) -> Rules:
        """The rules that there are when queries begin with a batch."""
        return [(), *(rules for begin, rules in self.rules if begin <= batch)][-1]

    def closing(self, batch: int) -> Rules:
        """Those of them by which elements are closed."""
        return self.ruled(batch) if self.scope is ELEMENT else ()

    def constructs(self, batch: int) -> dict[str, Text]:
        """Rules over streams, by name: they are queries that nobody sees the answers of."""
        if self.scope is ELEMENT:
            return {}
        within = None if self.within is None else f'"PT{self.within}S"^^xsd:duration'
        return {name: Text(EP_SPARQL, construct_of(name, within)) for name in self.ruled(batch)}

    def life(self, batch: int) -> int:
        """The batch that the life of a batch began with."""
        return max(begin for begin, _ in self.lives if begin <= batch)

    @property
    def seed(self) -> int:
        return self.data.seed

    def __str__(self) -> str:
        coming = {place for batch in self.data.batches for place in batch}
        lines = [f"history {self.seed}: make_history({self.seed})"]
        hidden = False
        for line in str(self.data).splitlines()[1:]:  # without elements that never come
            place = re.match(r"  (\d+)\.(\d+) at ", line)
            if place or not line.startswith("      "):
                hidden = bool(place) and tuple(map(int, place.groups())) not in coming
            if not hidden:
                lines.append(line)
        for begin, rules in self.rules:
            scope = f"scope {self.scope}, within {self.within} s" if self.within else f"scope {self.scope}"
            lines.append(f"from batch {begin} on {'these' if rules else 'no'} rules, {scope}")
            lines += [f"      {RULES[name]}" for name in rules]
        for begin, graphs in self.known:
            for graph in graphs:
                lines.append(f"from batch {begin} on graph {graph.name or '(no name)'}")
                lines += [f"      {' '.join(map(str, triple))} ." for triple in graph.triples]
        for begin, queries in self.lives:
            lines.append(f"from batch {begin} on")
            lines += [f"  {name}: {text}".replace("\n", "\n      ") for name, text in queries.items()]
        return "\n".join(lines)


def make_history(seed: int, size: int = 20) -> QueryHistory:
    """The history with this number; in one in three some elements are late, one in four has rules."""
    random, ruling = Random(f"query history {seed}"), Random(f"rules of history {seed}")
    ruled = (ELEMENT, ELEMENT, STREAM)[ruling.randrange(3)] if ruling.random() < 0.25 else None
    streams, lateness, batches = random_streams(random, random.randint(size // 2, size))
    arrival = [place for batch in batches for place in batch]
    while len(batches) < 4:
        batches = batched(random, arrival)
    streams = [
        StreamData(iri(STREAM_NAMES[n]), tuple(denser(random, element) for element in each.elements))
        for n, each in enumerate(streams)
    ]
    graphs = random_graphs(random, max(2, size // 3)) if random.random() < 0.5 else []
    if ruled and ruling.random() < 0.7:
        while all(graph.name is not None for graph in graphs):  # what rules join elements with
            graphs = random_graphs(ruling, max(2, size // 3))
    data = Case(seed, tuple(streams), tuple(graphs), (), lateness, tuple(batches))
    if random.random() < 0.33:
        data = delayed(data)
    texts = Texts(random, data, ruled)
    data, lives = replace(data, graphs=texts.graphs), tuple(_lives(random, texts, len(batches)))
    known, graphs = [], texts.graphs
    for cut, _ in lives[1:]:
        if graphs and random.random() < 0.3:
            graphs = tuple(_changed(random, graph) for graph in graphs)
            known.append((cut, graphs))
    rules = [(0, PLAIN)] if texts.closed else []
    within = None
    if ruled:
        rules = rules_by_life(ruling, [begin for begin, _ in lives], texts.graphs, ruled)
        within = ruling.choice((None, 2, 4)) if ruled is STREAM else None
    return QueryHistory(data, lives, tuple(known), tuple(rules), ruled or ELEMENT, within)


def _changed(random: Random, graph: GraphData) -> GraphData:
    """Maybe without some triples, and with others."""
    kept = [triple for triple in graph.triples if random.random() < 0.8]
    more = [random_triple(random) for _ in range(random.choice((0, 1)))]
    return replace(graph, triples=tuple(sorted({*kept, *more}, key=str)))


def _lives(random: Random, texts: Texts, batches: int) -> Iterator[tuple[int, dict[str, Text]]]:
    """What runs since when: at each cut some queries leave, are changed or renamed, and others come.

    Who reads a stream that only queries give leaves with the last of these.
    """
    possible = range(1, 1 + max(2, batches * 3 // 4))  # most of what matters comes after a cut
    cuts = sorted(random.sample(possible, min(len(possible), random.choice((1, 2, 2, 3, 4)))))
    names = iter(f"q{number}" for number in range(1000))
    now = {next(names): texts.one() for _ in range(random.choice((1, 2, 2, 3)))}
    gone: list[tuple[str, Text]] = []
    yield 0, (now := _fed(dict(_once(now))) or {next(names): texts.giving or texts.one()})
    for cut in cuts:
        following: dict[str, Text] = {}
        for name, text in now.items():
            roll = random.random()
            if roll < 0.2:
                gone.append((name, text))
            elif roll < 0.35:
                following[name] = texts.one()
            elif roll < 0.42:
                following[next(names)] = text
            else:
                following[name] = text
        for _ in range(random.choice((0, 1, 1, 2))):
            roll = random.random()
            if gone and roll < 0.3:  # it comes back
                name, text = random.choice(gone)
                following.setdefault(name, text)
            elif now and roll < 0.45:  # one that is there, under another name
                following[next(names)] = random.choice([*now.values()])
            else:
                following[next(names)] = texts.one()
        items = _once(following) or [(next(names), texts.one())]
        if random.random() < 0.3:
            random.shuffle(items)
        yield cut, (now := _fed(dict(items)) or {next(names): texts.giving or texts.one()})


def _once(queries: Mapping[str, Text]) -> list[tuple[str, Text]]:
    """The queries by name, each rule only once: two that began at other times would feed each other."""
    found: dict[Text | str, tuple[str, Text]] = {}
    for name, text in queries.items():
        found.setdefault(text if "CONSTRUCT" in text.text and not text.gives else name, (name, text))
    return [*found.values()]


def _fed(queries: Mapping[str, Text]) -> dict[str, Text]:
    """The queries without those that read a stream that none of them gives."""
    given = any(text.gives for text in queries.values())
    return {name: text for name, text in queries.items() if given or text.gives or not text.reads}


class Texts:
    """The queries of a history: variants of a few."""

    def __init__(self, random: Random, data: Case, ruled: Scope | None = None) -> None:
        self.random = random
        self.data = data
        self.closed = random.random() < 0.12 and not ruled  # under the same rules all the time
        self.streams = [short(each.name) for each in data.streams]
        self.graphs: tuple[GraphData, ...] = () if self.closed else data.graphs
        self.others: list[Text] = []  # beside the variants: rules, queries that give a stream, any query
        self.by_stream = ruled is STREAM  # then there are neither windows nor other rules
        self.reading = OUTPUT if random.random() < 0.2 and not self.by_stream else None
        if not self.by_stream and random.random() < 0.2:
            self._add_rules()
        self.giving = None
        if self.reading:
            self.others += [self._giving() for _ in range(random.choice((1, 2)))]
            self.giving = self.others[-1]
            self._without_default_graph()
        for _ in range(random.choice((0, 0, 1, 2))):
            self.others += self._any()
        self.bases = [self._base() for _ in range(random.choice((1, 1, 2)))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self) -> Text:
        if self.others and self.chance(0.35):
            return self.random.choice(self.others)
        return self._variant(*self.random.choice(self.bases))

    # --- variants ------------------------------------------------------------------------------

    def _base(self) -> tuple[str, str, str]:
        """A language, its windows (in EP-SPARQL none), and a pattern that binds ?x and ?n."""
        language = EP_SPARQL
        if not self.by_stream:
            language = self.random.choice((*CONVENTIONS, "CQELS-CEP", EP_SPARQL))
        stream = self.reading if self.reading and self.chance(0.6) else self.random.choice(self.streams)
        if language == EP_SPARQL:
            return language, f"FROM {stream}" if stream == self.reading else "", self._in_stream()
        window = None
        while window is None:
            window = window_in(language, random_spec(self.random, CONVENTIONS[language]))
        if language == "C-SPARQL":
            return language, f"FROM STREAM {stream} {window}", self._in_graph()
        pattern = self._in_graph() if language == "RSP-QL" else self._in_elements()
        return language, f"FROM NAMED WINDOW :w ON {stream} {window}", f"WINDOW :w {{ {pattern} }}"

    def _variant(self, language: str, windows: str, pattern: str) -> Text:
        operator = ""
        if language != EP_SPARQL:
            usual = CONVENTIONS[language].operator
            operator = usual.value if usual and self.chance(0.5) else self.random.choice(OPERATORS)
        if self.chance(0.2):
            pattern += f" FILTER (?n {self.random.choice(('>', '<', '!='))} {self.random.randint(1, 3)})"
        head, tail = self._form()
        if operator and head.startswith("SELECT") and "TRIPLES" not in windows and self.chance(0.2):
            head += f" (getWINDOW{self.random.choice(('START', 'END'))}() AS ?bound)"
        return self._written(language, operator, windows, pattern, head, tail)

    def _form(self) -> tuple[str, str]:
        number = self.random.choice(
            ("AVG(?n)", "COUNT(*)", "SUM(?n)", "COUNT(DISTINCT ?n)", "MIN(?n)", "MAX(?n)")
        )
        having = ""
        if self.chance(0.4):
            limit = self.random.choice(("1", "2", "1.5"))
            having = f" HAVING ({number} {self.random.choice(('>', '<'))} {limit})"
        listed = self.random.choice(("SAMPLE(?n)", 'GROUP_CONCAT(?n ; SEPARATOR = ",")'))
        return self.random.choice(
            (
                ("SELECT ?x ?n", ""),
                ("SELECT ?x", ""),
                ("SELECT DISTINCT ?x", ""),
                ("SELECT DISTINCT ?x ?n", ""),
                (f"SELECT ?x ({number} AS ?k)", f" GROUP BY ?x{having}"),
                (f"SELECT ?x ({number} AS ?k)", f" GROUP BY ?x{having}"),
                (f"SELECT ?x ({number} AS ?k) (COUNT(?n) AS ?m)", f" GROUP BY ?x{having}"),
                (f"SELECT ?n ({number} AS ?k)", " GROUP BY ?n"),
                (f"SELECT ({number} AS ?k)", having),
                (f"SELECT ?x ({listed} AS ?k)", " GROUP BY ?x"),
                ("SELECT ?x ?n", f" ORDER BY ?n ?x LIMIT {self.random.randint(1, 3)}"),
                ("ASK", ""),
                ("DESCRIBE ?x", ""),
            )
        )

    def _written(
        self, language: str, operator: str, windows: str, pattern: str, head: str, tail: str, gives: str = ""
    ) -> Text:
        where = f"{windows} {'' if head == 'ASK' else 'WHERE '}{{ {pattern} }}{tail}"
        if language == EP_SPARQL:
            register = f"REGISTER STREAM {gives} AS\n" if gives else ""
            by_element = not (windows or gives or self.by_stream) and self.chance(0.15)
            return Text(language, f"{PROLOGUE}{register}{head} {where}", by_element)
        if language == "RSP-QL":
            return Text(language, f"{PROLOGUE}REGISTER {operator} {gives or ':out'} AS\n{head} {where}")
        kind, _, rest = head.partition(" ")
        if operator != CONVENTIONS[language].operator.value:
            kind += f" {operator}"
        register = f"REGISTER STREAM {gives} AS\n" if gives else ""
        if language == "C-SPARQL":
            register = register or "REGISTER QUERY Asked AS\n"
            return Text(language, f"{register}{PROLOGUE}{kind} {rest} {where}")
        return Text(language, f"{PROLOGUE}{register}{kind} {rest} {where}")

    # --- patterns that bind ?x and ?n ----------------------------------------------------------------

    def _triple(self, object_: str = "?n") -> str:
        return f"?x {self.random.choice((':price', ':price', ':load'))} {object_}"

    def _in_graph(self) -> str:
        link = self.random.choice((":knows", ":near"))
        return self.random.choice(
            (
                self._triple(),
                self._triple(),
                f"{self._triple()} . ?x {link} ?y",
                f"{self._triple()} OPTIONAL {{ ?x {link} ?y }}",
                f"{self._triple()} OPTIONAL {{ {self._triple('?m')} FILTER (?m > ?n) }}",
                f"{self._triple()} MINUS {{ ?x {link} ?y }}",
                f"{self._triple()} FILTER NOT EXISTS {{ ?x {link} ?y }}",
                f"{self._triple()} FILTER EXISTS {{ ?y {link} ?z FILTER (?x = ?z) }}",
                f"?x {link}+ ?y . ?y :price ?n",
                "{ ?x :price ?n } UNION { ?x :load ?n }",
                f"{{ SELECT ?x (MAX(?m) AS ?n) WHERE {{ {self._triple('?m')} }} GROUP BY ?x }}",
                f"{{ SELECT DISTINCT ?x ?n WHERE {{ {self._triple()} . ?x {link} ?y }} }}",
                f"?x {link} ?y BIND (1 AS ?n)",
            )
        )

    def _in_elements(self) -> str:
        link = self.random.choice((":knows", ":near"))
        one, other, third = f"{{ {self._triple()} }}", f"{{ {self._triple('?m')} }}", f"{{ ?x {link} ?y }}"
        often = self.random.choice(("+", "+", "{2}", "{2,}", "{1,2}"))
        run = f"{{ ?x :price ?p }}{often} (AVG(?p) AS ?n)"
        return self.random.choice(
            (
                self._triple(),
                f"{self._triple()} . ?x {link} ?y",
                f"{{ {self._triple()} }} UNION {{ ?x {link} ?n }}",
                f"SEQ({one}, {other})",
                f"SEQ({third}, {one})",
                f"SEQ({one}, !{third}, {other})",
                f"SEQ(!{third}, {one})",
                f"SEQ({one}, !{third})",
                f"SEQ({third}, {run})",
                f"SEQ({run}, {third})",
                f"SEQ({third}, {run}, {other})",
            )
        )

    def _in_stream(self) -> str:
        link = self.random.choice((":knows", ":near"))
        one, other, third = f"{{ {self._triple()} }}", f"{{ {self._triple('?m')} }}", f"{{ ?x {link} ?y }}"
        bound = f' FILTER (getDURATION() < "PT{self.random.randint(2, 8)}S"^^xsd:duration)'
        pattern = self.random.choice(
            (
                f"{one} SEQ {other}",
                f"{one} SEQ {third} SEQ {other}",
                f"{one} EQUALS {third}",
                f"{one} OPTIONALSEQ {third}",
                f"{one} EQUALSOPTIONAL {third}",
                f"{one} SEQ {{ ?x :price ?p }}+ (AVG(?p) AS ?k1) SEQ {third}",
                f"{one} DURING {third}",
            )
        )
        if self.chance(0.5):
            return self._in_graph()
        return pattern + (bound if self.chance(0.5) else "")

    # --- rules, streams that queries give, and queries of any form --------------------------------------

    def _add_rules(self) -> None:
        """Rules whose triples EP-SPARQL queries read."""
        self._without_default_graph()
        while True:
            rules, derived = random_rules(self.random)
            if not any(sign in rule for rule in rules for sign in ("?p ?o", "!:", "!(", "!^")):
                break
        self.others += [Text(EP_SPARQL, rule) for rule in rules]
        writer = QueryWriter(self.random, Style(derived=derived, depth=1))
        self.others += [each for each in (self._asked(writer) for _ in range(2)) if each]

    def _without_default_graph(self) -> None:
        """So that what is derived has time: what has none is knowledge, with which queries begin anew."""
        self.graphs = tuple(graph for graph in self.graphs if graph.name is not None)

    def _giving(self) -> Text:
        """A query that gives the stream that others read."""
        before, self.reading = self.reading, None
        language, windows, pattern = self._base()
        self.reading = before
        operator = self.random.choice(OPERATORS)
        head = self.random.choice(("CONSTRUCT { ?x :price ?n }", "CONSTRUCT { ?x :price ?n . ?x :knows :a }"))
        return self._written(language, operator, windows, pattern, head, "", gives=OUTPUT)

    def _any(self) -> list[Text]:
        """A query of any form, and maybe another with another stream operator."""
        if self.by_stream or self.chance(0.3):
            names = [short(each.name) for each in (*self.data.streams, *self.graphs) if each.name is not None]
            following = {self.random.choice(("deadlines", "following")): self.chance(0.7)}
            style = Style(graphs=names, depth=self.random.choice((1, 2)), **following)
            found = self._asked(QueryWriter(self.random, style))
            return [found] if found else []
        language = self.random.choice((*CONVENTIONS, "CQELS-CEP"))
        make = of_elements if language == "CQELS-CEP" else of_graphs
        query, body = make(self.random, replace(self.data, graphs=self.graphs), language)
        variants = [query]
        if self.chance(0.5):
            variants.append(replace(query, operator=self.random.choice(list(StreamOperator))))
        found = (said_in(language, each, body) for each in variants)
        return [Text(language, said.text) for said in found if said is not None]

    def _asked(self, writer: QueryWriter) -> Text | None:
        text = Text(EP_SPARQL, writer.query(), not self.by_stream and self.chance(0.15))
        return None if isinstance(text.parsed.query, Construct) else text


OPERATORS = tuple(each.value for each in StreamOperator)


# --- making a failing history smaller ----------------------------------------------------------------


def shrunk_history(history: QueryHistory, fails: Callable[[QueryHistory], bool]) -> QueryHistory:
    """A smallest history, by leaving out one thing at a time, that still fails."""
    while (smaller := next(filter(fails, simpler(history)), None)) is not None:
        history = smaller
    return history


def simpler(history: QueryHistory) -> Iterator[QueryHistory]:
    """The history without one query, one cut, one graph or one element."""
    lives = history.lives
    for place in range(1, len(lives)):
        yield replace(history, lives=lives[:place] + lives[place + 1 :])
        if place == 1:
            yield replace(history, lives=((0, lives[1][1]), *lives[2:]))
    for name in dict.fromkeys(name for _, queries in lives for name in queries):
        rest = [(begin, {n: t for n, t in queries.items() if n != name}) for begin, queries in lives]
        if all(queries for _, queries in rest):
            yield replace(history, lives=tuple(rest))
        for place, (begin, queries) in enumerate(lives):
            less = {n: t for n, t in queries.items() if n != name}
            if less and len(less) < len(queries):
                yield replace(history, lives=(*lives[:place], (begin, less), *lives[place + 1 :]))
    for place, (begin, rules) in enumerate(history.rules):
        yield replace(history, rules=history.rules[:place] + history.rules[place + 1 :])
        for rule in rules:
            less = (begin, tuple(each for each in rules if each != rule))
            yield replace(history, rules=(*history.rules[:place], less, *history.rules[place + 1 :]))
    for place in range(len(history.known)):
        yield replace(history, known=history.known[:place] + history.known[place + 1 :])
    data = history.data
    for number in range(0 if history.known else len(data.graphs)):
        yield replace(history, data=replace(data, graphs=data.graphs[:number] + data.graphs[number + 1 :]))
    for batch, places in enumerate(data.batches):
        for place in places:
            less = tuple(each for each in places if each != place)
            batches = (*data.batches[:batch], less, *data.batches[batch + 1 :])
            yield replace(history, data=replace(data, batches=batches))
    for number, stream in enumerate(data.streams):
        for place, element in enumerate(stream.elements):
            for triple in element.triples if (number, place) in sum(data.batches, ()) else ():
                less = Element(tuple(t for t in element.triples if t != triple), element.start, element.end)
                elements = (*stream.elements[:place], less, *stream.elements[place + 1 :])
                streams = list(data.streams)
                streams[number] = StreamData(stream.name, elements)
                yield replace(history, data=replace(data, streams=tuple(streams)))

"""Random EP-SPARQL queries as text, over the small vocabulary of the random streams.

Patterns share their variables, so that many of the queries have answers. Every operator of
the language occurs; nothing here knows the algebra, so that the parser is tried as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from oracle.expression_text import condition, having, kind_of, value
from oracle.nested_text import nested_text
from oracle.vocabulary import (
    CLASSES,
    LABELS,
    NUMBERS,
    PREDICATES,
    PROLOGUE,
    RESOURCES,
    WEIGHTS,
)

POOLS = {
    "resource": ("x", "y", "z"),
    "number": ("n", "m", "k"),
    "label": ("l", "l2"),
    "class": ("c", "c2"),
}
CONSTANTS = {"resource": RESOURCES, "number": NUMBERS, "label": LABELS, "class": CLASSES}
ALLEN = ("DURING", "STARTS", "FINISHES", "MEETS", "OVERLAPS")
SEQUENCE_OPERATORS = 2 * ("SEQ", "SEQ", "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "UNION") + ALLEN
PLAIN_OPERATORS = ("UNION",)


@dataclass(frozen=True)
class Part:
    """A piece of pattern text (without its braces) and the variables it may bind, in order."""

    text: str
    names: tuple[str, ...] = ()

    def braced(self) -> str:
        return "{ " + self.text + " }"


@dataclass
class Style:
    """What a query may contain."""

    temporal: bool = True  # the EP-SPARQL operators and time functions
    graphs: Sequence[str] = ()  # names that GRAPH and FROM NAMED may mention
    derived: dict[str, str] = field(default_factory=dict)  # predicates that rules make: their kind
    limits: bool = True  # LIMIT, SAMPLE, GROUP_CONCAT: defined by us, not by SPARQL
    depth: int = 2
    nested: bool = False  # many paths, most of them with axes or tests
    exists: bool = False  # mostly EXISTS, and in it what depends on the outer solution
    repeated: bool = False  # most chains of groups have a repetition
    deadlines: bool = False  # most chains of groups have UNLESS
    following: bool = False  # most chains of groups have NEXT


def names_in(parts: Iterable[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.names))


class QueryWriter:
    """Writes one query after the other from one source of randomness."""

    def __init__(self, random: Random, style: Style) -> None:
        self.random = random
        self.style = style
        self.fresh = 0
        self.outer: tuple[str, ...] = ()  # inside EXISTS: the variables around it

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def new_name(self, kind: str = "any") -> str:
        self.fresh += 1
        return f"{'nb' if kind == 'number' else 'b'}{self.fresh}"

    # --- triples ---------------------------------------------------------------------------

    def predicates(self) -> dict[str, str]:
        return {**PREDICATES, **self.style.derived}

    def triple(self, near: Sequence[str], avoid: Sequence[str] = ()) -> Part:
        """A triple pattern whose subject is, mostly, one of the variables near."""
        known = [name for name in near if kind_of(name) == "resource"]
        if known and self.chance(0.85):
            subject = self.random.choice(known)
        else:
            subject = self.random.choices(POOLS["resource"], (12, 2, 1))[0]
        names = [subject]
        text = f"?{subject}"
        if self.chance(0.05):
            names, text = [], self.random.choice(RESOURCES)
        if self.style.derived and self.chance(0.5):
            predicate = self.random.choice(list(self.style.derived))
        else:
            predicate = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if self.chance(0.5 if self.style.nested else 0.13):
            path, object_, more = self.path_and_object()
            return Part(f"{text} {path} {object_}", tuple(names + more))
        kind = self.predicates()[predicate]
        if self.chance(0.04):
            return Part(f"{text} ?p ?o", (*names, "p", "o"))
        if self.chance(0.04):
            return Part(f"{text} {predicate} []", tuple(names))
        if self.chance(0.07):
            return Part(f"{text} {predicate} {self.random.choice(CONSTANTS[kind])}", tuple(names))
        others = [name for name in POOLS[kind] if name not in names] or list(POOLS[kind])
        pool = [name for name in others if name not in avoid] or others
        object_ = self.random.choice(pool if self.chance(0.85) else others)
        return Part(f"{text} {predicate} ?{object_}", tuple(dict.fromkeys([*names, object_])))

    def bgp(self, most: int = 3, near: Sequence[str] = (), avoid: Sequence[str] = ()) -> Part:
        """One to three triples that hang together."""
        parts: list[Part] = []
        for _ in range(self.random.choices((1, 2, 3), (6, 3, 1 if most > 2 else 0))[0] if most > 1 else 1):
            parts.append(self.triple(names_in(parts) or near, (*avoid, *names_in(parts))))
        return Part(" . ".join(part.text for part in parts) + " .", names_in(parts))

    def path_and_object(self) -> tuple[str, str, list[str]]:
        path = self.path(self.random.choice((1, 1, 2)))
        if self.style.nested and self.chance(0.8):
            path = nested_text(self.random, self.random.choice((0, 1, 1, 2, 3)))
        if self.chance(0.15):
            return path, self.random.choice(RESOURCES), []
        name = self.random.choice(POOLS["resource"][1:])
        return path, f"?{name}", [name]

    def path(self, depth: int) -> str:
        """A property path of any kind."""
        step = self.random.choice((":knows", ":near", ":knows", ":near", ":kind"))
        if depth == 0:
            return step
        kind = self.random.choice(("/", "|", "^", "+", "*", "?", "!", "+", "/"))
        if kind == "/" or kind == "|":
            return f"({self.path(depth - 1)}{kind}{self.path(depth - 1)})"
        if kind == "^":
            return f"^({self.path(depth - 1)})"
        if kind == "!":
            return self.random.choice(
                (f"!{step}", f"!({step}|:price|:load)", f"!^{step}", f"!(:kind|^{step})")
            )
        inner = step if self.chance(0.6) else f"({self.path(depth - 1)})"
        return f"{inner}{kind}"

    # --- group graph patterns ---------------------------------------------------------------

    def group(self, depth: int, near: Sequence[str] = (), avoid: Sequence[str] = ()) -> Part:
        """The inside of a group graph pattern: a core, and what acts on it."""
        if depth <= 0 or self.chance(0.35):
            core = self.bgp(near=near, avoid=avoid)
        elif self.style.temporal or self.chance(0.4):
            core = self.chain(depth, near)
        else:
            core = self.bgp(near=near, avoid=avoid)
        parts = [core]
        if depth > 0:
            for _ in range(self.random.choices((0, 1, 2), (4, 4, 1))[0]):
                parts.append(self.extra(depth, names_in(parts)))
        if self.chance(0.08):
            parts.append(self.bgp(1, near=names_in(parts)))
        if self.chance(0.12):
            parts.append(Part(self.filter_on(names_in(parts))))
        return Part(" ".join(part.text for part in parts), names_in(parts))

    def chain(self, depth: int, near: Sequence[str] = ()) -> Part:
        """Groups with infix operators between them: `{ … } SEQ { … } EQUALS { … }`."""
        if self.style.repeated and self.chance(0.7):
            return self.with_runs(depth, near)
        operators = SEQUENCE_OPERATORS if self.style.temporal else PLAIN_OPERATORS
        first = self.group(depth - 1, near) if self.chance(0.4) else self.bgp(2, near)
        parts, text = [first], first.braced()
        for _ in range(self.random.choice((1, 1, 1, 2))):
            known = names_in(parts)
            resources = [name for name in known if kind_of(name) == "resource"]
            others = [name for name in known if name not in resources]
            if self.chance(0.35):
                following = self.group(depth - 1, resources, others)
            else:
                following = self.bgp(2, resources, others)
            if self.chance(0.15):
                following = Part(f"{following.text} {self.filter_on(following.names)}", following.names)
            if self.style.deadlines and self.chance(0.6):
                seconds = self.random.choice((1, 2, 3, 5, 8))
                text += f' UNLESS {following.braced()} WITHIN "PT{seconds}S"'
                continue  # what is absent binds nothing
            operator = "NEXT" if self.style.following and self.chance(0.7) else self.random.choice(operators)
            text += f" {operator} {following.braced()}"
            parts.append(following)
        return Part(text, names_in(parts))

    def with_runs(self, depth: int, near: Sequence[str]) -> Part:
        """`{ … } SEQ { … }+ (AVG(?n) AS ?nb1) SEQ { … }`, with one run or two, and other groups between."""
        single = [self.member(depth, near)]
        parts, texts = list(single), [single[0].braced()]
        for _ in range(self.random.choice((1, 1, 1, 2))):
            known = [name for name in names_in(single) if kind_of(name) == "resource"]
            run = self.run(known)
            parts.append(run)
            for _ in range(self.random.choice((1, 1, 1, 2))):
                single.append(self.member(depth, known))
                parts.append(single[-1])
            texts += [run.text, *(part.braced() for part in parts[parts.index(run) + 1 :])]
        return Part(" SEQ ".join(texts), names_in(parts))

    def member(self, depth: int, near: Sequence[str]) -> Part:
        """A group that is not repeated; some have the same solution more than once."""
        if self.chance(0.15):
            one, other = self.bgp(1, near), self.bgp(1, near)
            return Part(f"{one.braced()} UNION {other.braced()}", names_in((one, other)))
        return self.group(depth - 1, near) if self.chance(0.2) else self.bgp(2, near)

    def run(self, known: Sequence[str]) -> Part:
        """What is repeated: nothing else has its own variables, and it shares others."""
        own = [self.new_name("number"), self.new_name("number")]
        subject = f"?{self.random.choice(known)}" if known else RESOURCES[0]
        predicate = self.random.choice((":price", ":load", ":price", ":knows"))
        text = f"{subject} {predicate} ?{own[0]}"
        if self.chance(0.15):
            text = f"{{ {text} }} UNION {{ {subject} :load ?{own[0]} }}"
        elif self.chance(0.15):
            text += f" OPTIONAL {{ {subject} :load ?{own[1]} }}"
        elif self.chance(0.15):
            text += f" . {subject} :price ?{own[1]}"
        own = [name for name in own if f"?{name}" in text]
        if self.chance(0.2):
            text += f" {self.filter_on((own[0], own[-1]))}"
        names, values = [], []
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            names.append(self.new_name("number"))
            values.append(f" ({self.of_run(own, subject if known else f'?{own[0]}')} AS ?{names[-1]})")
        return Part("{ " + text + " }+" + "".join(values), tuple(names))

    def of_run(self, own: Sequence[str], shared: str) -> str:
        """An aggregate over a repetition."""
        if self.chance(0.4):
            variable = shared if self.chance(0.1) else f"?{self.random.choice(own)}"
            return f"{self.random.choice(('FIRST', 'LAST'))}({variable})"
        if self.chance(0.1):
            return self.random.choice(("COUNT(DISTINCT *)", f"SUM(?{own[0]} * 2)", "MAX(getSTARTTIME())"))
        return self.aggregate(own[:1])

    def extra(self, depth: int, known: tuple[str, ...]) -> Part:
        """Something that acts on what precedes it in the group."""
        kinds = {
            "optional": 5,
            "minus": 2,
            "exists": 3,
            "filter": 3,
            "bind": 3,
            "values": 1,
            "subselect": 2,
            "graph": 2 if self.style.graphs else 0,
            "nested": 1,
        }
        if self.style.exists:
            kinds |= {"minus": 6, "subselect": 6, "exists": 4} if self.outer else {"exists": 15}
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        if kind in ("filter", "bind"):
            known = (*known, *self.outer)
        return getattr(self, kind)(depth, known)

    def optional(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, known, known)
        text = inside.text
        if self.chance(0.35):
            text += " " + self.filter_on((*inside.names, *known))
        return Part("OPTIONAL { " + text + " }", inside.names)

    def minus(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, known, known if self.chance(0.6) else ())
        return Part("MINUS " + inside.braced())

    def exists(self, depth: int, known: tuple[str, ...]) -> Part:
        around = self.outer
        if self.style.exists:
            self.outer = tuple(dict.fromkeys((*around, *known)))
            depth = max(depth, self.random.choice((1, 2)))
        inside = self.group(depth - 1, known, known if self.chance(0.6) else ())
        self.outer = around
        if self.chance(0.25):
            inside = Part(f"{inside.text} {self.filter_on((*inside.names, *known))}")
        negated = "NOT " if self.chance(0.5) else ""
        if self.chance(0.2):
            other = condition(self.random, known, temporal=self.style.temporal)
            operator = self.random.choice(("&&", "||"))
            return Part(f"FILTER ({other} {operator} {negated}EXISTS {inside.braced()})")
        if self.chance(0.15):
            name = self.new_name()
            return Part(f"BIND ({negated}EXISTS {inside.braced()} AS ?{name})", (name,))
        return Part(f"FILTER {negated}EXISTS {inside.braced()}")

    def filter(self, depth: int, known: tuple[str, ...]) -> Part:
        return Part(self.filter_on(known))

    def filter_on(self, names: Sequence[str]) -> str:
        return f"FILTER ({condition(self.random, names, temporal=self.style.temporal)})"

    def bind(self, depth: int, known: tuple[str, ...]) -> Part:
        text, kind = value(self.random, known, temporal=self.style.temporal)
        name = self.new_name(kind)
        return Part(f"BIND ({text} AS ?{name})", (name,))

    def values(self, depth: int, known: tuple[str, ...]) -> Part:
        name = self.random.choice(known or ("x",))
        pool = CONSTANTS.get(kind_of(name), RESOURCES)
        rows = self.random.sample(list(pool), min(len(pool), self.random.choice((2, 3))))
        if self.chance(0.15):
            rows.append("UNDEF")
        return Part(f"VALUES ?{name} {{ {' '.join(rows)} }}", (name,))

    def nested(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, known, ())
        return Part(inside.braced(), inside.names)

    def graph(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, known, ())
        if self.chance(0.4):
            return Part(f"GRAPH ?g {inside.braced()}", (*inside.names, "g"))
        name = ":nowhere" if self.chance(0.1) else self.random.choice(self.style.graphs)
        return Part(f"GRAPH {name} {inside.braced()}", inside.names)

    def subselect(self, depth: int, known: tuple[str, ...]) -> Part:
        inside = self.group(depth - 1, (*known, *self.outer), ())
        if self.outer and self.chance(0.4):
            names = inside.names if self.chance(0.5) else names_in((inside, Part("", self.outer)))
            inside = Part(f"{inside.text} {self.filter_on((*inside.names, *self.outer))}", names)
        text, names = self.selection(inside, sub=True)
        return Part("{ " + text + " }", names)

    # --- query forms -------------------------------------------------------------------------

    def selection(self, where: Part, *, sub: bool = False, bare: str | None = None):
        """`SELECT … WHERE …` with its modifiers, and the names of its columns."""
        pattern = bare or where.braced()
        shape = self.random.choices(
            ("plain", "distinct", "expressions", "aggregates", "ordered"),
            (3, 2, 2, 3, 2 if self.style.limits else 0),
        )[0]
        visible = [name for name in where.names if name != "p"] or ["x"]
        if shape == "aggregates":
            return self.aggregation(where, pattern)
        chosen = visible
        if sub and len(visible) > 1:
            chosen = self.random.sample(visible, self.random.randint(1, len(visible)))
        elif self.chance(0.4) and len(visible) > 1:
            chosen = visible[: self.random.randint(1, len(visible))]
        columns = " ".join(f"?{name}" for name in chosen)
        if shape == "plain":
            star = not sub and self.chance(0.25)
            return f"SELECT {'*' if star else columns} WHERE {pattern}", tuple(chosen)
        if shape == "distinct":
            word = "DISTINCT" if self.chance(0.85) else "REDUCED"
            return f"SELECT {word} {columns} WHERE {pattern}", tuple(chosen)
        if shape == "expressions":
            text, kind = value(self.random, where.names, temporal=self.style.temporal)
            name = self.new_name(kind)
            return f"SELECT {columns} ({text} AS ?{name}) WHERE {pattern}", (*chosen, name)
        keys = self.random.sample(visible, min(len(visible), self.random.choice((1, 2))))
        order = " ".join(f"DESC(?{k})" if self.chance(0.4) else f"?{k}" for k in keys)
        distinct = "DISTINCT " if self.chance(0.2) else ""
        limit = f" LIMIT {self.random.randint(1, 3)}" if self.chance(0.8) else ""
        offset = " OFFSET 1" if self.chance(0.2) else ""
        return (
            f"SELECT {distinct}{columns} WHERE {pattern} ORDER BY {order}{limit}{offset}",
            tuple(chosen),
        )

    def aggregation(self, where: Part, pattern: str):
        """`SELECT key… (aggregate AS …) WHERE … GROUP BY key… HAVING …`."""
        visible = [name for name in where.names if name != "p"] or ["x"]
        keys = self.random.sample(visible, min(len(visible), self.random.choice((0, 1, 1, 2))))
        columns = [f"?{key}" for key in keys]
        names = list(keys)
        for _ in range(self.random.choice((1, 1, 2))):
            name = self.new_name("number")
            columns.append(f"({self.aggregate(visible)} AS ?{name})")
            names.append(name)
        text = f"SELECT {' '.join(columns)} WHERE {pattern}"
        if keys:
            text += " GROUP BY " + " ".join(f"?{key}" for key in keys)
        if self.chance(0.25):
            text += f" HAVING ({having(self.random, visible)})"
        return text, tuple(names)

    def aggregate(self, visible: Sequence[str]) -> str:
        numbers = [name for name in visible if kind_of(name) == "number"]
        name = self.random.choice(numbers or visible)
        functions = ["COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX"]
        if self.style.limits:
            functions += ["SAMPLE", "GROUP_CONCAT"]
        function = self.random.choice(functions)
        if function == "COUNT" and self.chance(0.5):
            return "COUNT(*)"
        distinct = "DISTINCT " if self.chance(0.25) else ""
        if function == "GROUP_CONCAT":
            return f'GROUP_CONCAT({distinct}?{name} ; SEPARATOR = ",")'
        if self.style.temporal and self.chance(0.12):
            return f"{self.random.choice(('MIN', 'MAX'))}(getSTARTTIME())"
        return f"{function}({distinct}?{name})"

    def query(self) -> str:
        """One query of any form."""
        form = self.random.choices(("select", "construct", "ask", "describe"), (14, 2, 1, 1))[0]
        clause = self.dataset_clause()
        where = self.group(self.style.depth)
        bare = None
        if self.style.temporal and form == "select" and self.chance(0.2):
            where = self.chain(self.style.depth)  # the written form without the outer braces
            bare = where.text
            if self.chance(0.6):
                bare += f" {self.filter_on(where.names)}"
        if form == "select":
            text = self.selection(where, bare=bare)[0]
            return PROLOGUE + text.replace(" WHERE ", f" {clause}WHERE ", 1)
        if form == "ask":
            return PROLOGUE + f"ASK {clause}{where.braced()}"
        resources = [name for name in where.names if kind_of(name) == "resource"]
        if form == "describe":
            about = f"?{self.random.choice(resources)}" if resources else RESOURCES[0]
            return PROLOGUE + f"DESCRIBE {about} {clause}WHERE {where.braced()}"
        subject = self.random.choice(resources) if resources else None
        object_ = f"?{where.names[-1]}" if where.names else "true"
        template = f"{f'?{subject}' if subject else RESOURCES[0]} :made {object_} ."
        if self.chance(0.25) and where.names and not self.hides(where.text):
            template += f" _:made :of ?{self.random.choice(where.names)} ."
        return PROLOGUE + f"CONSTRUCT {{ {template} }} {clause}WHERE {where.braced()}"

    def hides(self, text: str) -> bool:
        """Whether a solution has bindings that the query does not name."""
        return any(sign in text for sign in ("[]", "/", "|", "!", "+", "*", "^", "?)"))

    def dataset_clause(self) -> str:
        if not self.style.graphs or self.style.derived or not self.chance(0.08):
            return ""
        default = self.random.sample(self.style.graphs, 1)[0]
        named = "".join(f"FROM NAMED {n} " for n in self.style.graphs if self.chance(0.7))
        return f"FROM {default} {named}"

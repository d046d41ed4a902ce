"""Random sets of rules as users write them: recursive Datalog in SPARQL's words, over few predicates.

Bodies are triple patterns, paths, GRAPH, UNION, FILTER, BIND and VALUES; heads may write internal graphs.
Rules that make terms (BIND, blank nodes) write predicates of a higher level than all they read, and
where there are such rules none reads any predicate at all (`?p`, paths without length): every fixpoint is
finite.
"""

from __future__ import annotations

from random import Random

from oracle.ontologies import CLASSES, EX, INDIVIDUALS, PROPERTIES, VALUES

PROLOGUE = f"PREFIX : <{EX}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
DATA = [f":{each.value[len(EX) :]}" for each in (*PROPERTIES[:2], VALUES[0])]
MADE = (":q0", ":q1")
"""Predicates that rules write and read."""
HIGHER = (":h0", ":h1", ":h2")
"""Predicates that rules with new terms write; each is read by rules of the later ones only."""
WORKINGS = (":w0", ":w1")
NAMES = [f":{each.value[len(EX) :]}" for each in INDIVIDUALS[:3]]
KINDS = [f":{each.value[len(EX) :]}" for each in CLASSES[:3]]

TESTS = (
    "?{0} != ?{1}",
    "?{0} = ?{1}",
    "sameTerm(?{0}, ?{1})",
    "isIRI(?{0})",
    "!isLiteral(?{0})",
    "isLiteral(?{0}) || isBlank(?{1})",
    "?{0} > 1",
    "?{0} + 1 = 2",
    "?{0} IN (:a, :b, 1)",
    "?{0} NOT IN (:a, 2.5)",
    "datatype(?{0}) = xsd:integer",
    "STRLEN(STR(?{0})) > 3",
    'lang(?{0}) = "en"',
    'REGEX(STR(?{0}), "[abC]$")',
    "BOUND(?{0})",
    "IF(isIRI(?{0}), ?{0} = ?{1}, ?{0} < 2)",
)
TERMS = (
    "?{0} + 1",
    "STR(?{0})",
    'IRI(CONCAT(STR(?{0}), "-", STR(?{1})))',
    "IF(isIRI(?{0}), ?{0}, ?{1})",
    "STRDT(STR(?{0}), xsd:string)",
    "COALESCE(?{0} + 1, ?{1})",
    "datatype(?{0})",
)


class Writer:
    """Writes one set of rules."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.levels = [level for level in range(len(HIGHER)) if random.random() < 0.3]

    def rules(self) -> list[str]:
        made = [self.rule() for _ in range(self.random.randint(1, 5))]
        made += [self.making(level) for level in self.levels]
        self.random.shuffle(made)
        return made

    def rule(self) -> str:
        """A rule without new terms: reads and writes as it likes."""
        body, names = self.body((*DATA, *MADE))
        heads = (*MADE, *MADE, DATA[0], DATA[1], "a")
        inserts = " . ".join(self.head(names, heads) for _ in range(self.random.choice((1, 1, 2))))
        if self.random.random() < 0.2:
            return self.with_internal_graph(inserts, body, names)
        return f"{PROLOGUE}INSERT {{ {inserts} }} WHERE {{ {body} }}"

    def with_internal_graph(self, inserts: str, body: str, names: list[str]) -> str:
        """The same by way of a named graph, which other rules with internal graphs read too."""
        graph = self.random.choice((":g", f"?{names[0]}"))
        word, one, other = self.random.choice(WORKINGS), names[0], names[-1]
        kept = f"GRAPH {graph} {{ ?{one} {word} ?{other} }}"
        seen = self.random.choice((kept, f"GRAPH ?g {{ ?{one} {word} ?{other} }}"))
        head = f"?{one} {self.random.choice(MADE)} ?{other}"
        return (
            f"{PROLOGUE}INSERT {{ {kept} }} WHERE {{ {body} }} ;\nINSERT {{ {head} . {seen_head(seen)} }} "
            f"WHERE {{ {seen} }}"
        )

    def making(self, level: int) -> str:
        """A rule that makes terms: blank nodes of its own, or what an expression gives."""
        body, names = self.body((*DATA, *MADE, *HIGHER[:level]))
        word = HIGHER[level]
        one, other = self.random.choice(names), self.random.choice(names)
        if self.random.random() < 0.5:
            inserts = self.random.choice(
                (
                    f"?{one} {word} _:n",
                    f"?{one} {word} _:n . _:n {word} ?{other}",
                    f"?{one} {word} [ {word} ?{other} ]",
                    f"_:m {word} _:n . _:n {word} ?{one}",
                )
            )
            return f"{PROLOGUE}INSERT {{ {inserts} }} WHERE {{ {body} }}"
        term = self.random.choice(TERMS).format(one, other)
        return f"{PROLOGUE}INSERT {{ ?{one} {word} ?new }} WHERE {{ {body} BIND({term} AS ?new) }}"

    # heads and bodies

    def head(self, names: list[str], words: tuple[str, ...]) -> str:
        word = self.random.choice(words)
        subject = (
            f"?{self.random.choice(names)}" if self.random.random() < 0.93 else self.random.choice(NAMES)
        )
        if word == "a":
            return f"{subject} a {self.random.choice(KINDS)}"
        if self.random.random() < 0.05:
            word = f"?{self.random.choice(names)}"
        return f"{subject} {word} ?{self.random.choice(names)}"

    def body(self, words: tuple[str, ...]) -> tuple[str, list[str]]:
        """The inside of a WHERE, and the variables that it certainly binds."""
        count = self.random.choice((1, 1, 2, 2, 3))
        names = ["x", "y", "z", "v"][: count + 1]
        parts, bound = [], []
        for place in range(count):
            one, other = names[place], names[place + 1]
            if self.random.random() < 0.06:
                other = self.random.choice(names[: place + 1])
            if self.random.random() < 0.3:
                one, other = other, one
            parts.append(self.pattern(one, other, words))
            bound += [one, other]
        if count < 3 and self.random.random() < 0.15:  # what shares no variable with the rest
            parts.append(self.pattern("k", "l", words))
            bound += self.random.choice(((), ("k",), ("l",), ("k", "l")))
        bound = list(dict.fromkeys(name for name in bound if any(f"?{name}" in each for each in parts)))
        if self.random.random() < 0.1:
            values = " ".join(self.random.sample([*NAMES, "1", '"one"', *KINDS], 3))
            parts.append(f"VALUES ?{self.random.choice(bound)} {{ {values} }}")
        if self.random.random() < 0.3:
            test = self.random.choice(TESTS).format(self.random.choice(bound), self.random.choice(bound))
            parts.append(f"FILTER({test})")
        return " ".join(parts), bound

    def pattern(self, one: str, other: str, words: tuple[str, ...]) -> str:
        """Something that binds both variables."""
        chance = self.random.random()
        if chance < 0.12:
            return f"?{one} {self.path(words)} ?{other} ."
        if chance < 0.2:
            left, right = (self.triple(one, other, words) for _ in range(2))
            return f"{{ {left} }} UNION {{ {right} }}"
        if chance < 0.24:
            return f"GRAPH ?g {{ ?{one} {self.random.choice(WORKINGS)} ?{other} }}"
        if chance < 0.3 and not self.levels:
            return f"?{one} ?p ?{other} ."
        if chance < 0.34 and not self.levels:
            return f"{self.triple(one, other, words)} . ?{one} ?p [] ."
        return self.triple(one, other, words) + " ."

    def triple(self, one: str, other: str, words: tuple[str, ...]) -> str:
        if self.random.random() < 0.15:
            return f"?{one} a {self.random.choice(KINDS)} . ?{one} {self.random.choice(words)} ?{other}"
        if self.random.random() < 0.08:
            return f"?{one} a ?{other}"
        return f"?{one} {self.random.choice(words)} ?{other}"

    def path(self, words: tuple[str, ...]) -> str:
        one, other = self.random.choice(words), self.random.choice(words)
        steps = (
            f"{one}/{other}",
            f"^{one}",
            f"{one}|{other}",
            f"{one}+",
            f"({one}|^{other})+",
            f"{one}*/{other}",
        )
        without = () if self.levels else (f"{one}*", f"{one}?", f"({one}/{other})*")
        return self.random.choice(steps + without)


def seen_head(pattern: str) -> str:
    """A second thing to write: the same into another internal graph."""
    return pattern.replace("GRAPH ?g", "GRAPH :again").replace(WORKINGS[0], WORKINGS[1])


def rule_set(random: Random) -> list[str]:
    return Writer(random).rules()

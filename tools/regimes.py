"""Writes the pages of the regimes, in docs/regimes, from the rule files.

    PYTHONPATH=src .venv/bin/python tools/regimes.py

A test says when they are no longer what the rule files say.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from penstock.rules.library import DESCRIPTIONS, Entry, entries_of, natural, rule

PAGES = Path(__file__).resolve().parent.parent / "docs" / "regimes"
TITLES = {
    "rdf": "RDF",
    "rdfs": "RDFS",
    "rhodf": "ρdf",
    "dstar": "D*",
    "p": "P",
    "owl2-rl": "OWL 2 RL",
    "swclos2": "SWCLOS2",
    "owl2-direct": "OWL 2, for class expressions in queries",
}
LITERALS = (
    """A literal is no subject in RDF: what a rule would derive of one is dropped, and counted by rule."""
)
NOTES = {
    "rdf": f"""\
`rdfD1` says of the node that stands for a literal which datatype it has. The node is an IRI,
`urn:penstock:literal#…`, and internal: neither queries nor materialised triples show it. {LITERALS}""",
    "rdfs": f"""\
RDFS contains RDF. As in the specification's patterns, which are informative, a class is a subclass of
itself only if it is known to be an `rdfs:Class`. The axiomatic triples of `rdf:_1`, `rdf:_2`, … are
infinitely many: `rdfs-members` has those of the ones that are used. {LITERALS}""",
    "rhodf": """\
Where the paper's table has one rule for several properties (6d, 7b), there is a rule for each. Rule 1,
that a graph entails its subgraphs and instances, is what a query does.""",
    "dstar": f"""\
D* gives each literal a blank node that stands for it (`lg`), so that something can be derived of it,
and takes what is derived back to the literal (`gl`). Here these nodes are IRIs,
`urn:penstock:literal#…`, made of the literal: all rules then have the same node for the same literal.
They are internal: neither queries nor materialised triples show them.
D* and P are meant to be used together: `--rules dstar --rules p`. {LITERALS}""",
    "p": """\
P is meant to be used together with D*: `--rules dstar --rules p`. Its rules for classes say
`rdfs:Class`; `rdfp9` holds for `owl:Class` as well, which is what ontologies say.""",
    "owl2-rl": f"""\
All rules of tables 4 to 9. Cardinalities are compared by value, so that `1`, an `xsd:integer`, is as
good as the `"1"^^xsd:nonNegativeInteger` of the specification.

**Lists.** A member of a list is found by the path `rdf:rest*/rdf:first`. Where all members must hold
(`cls-int1`, `prp-spo2`, `prp-key`), the rule recurs from the list's end, with an internal graph that
is named after the list: patterns of the default graph do not see them. A list that loops, or never ends
in `rdf:nil`, thus derives nothing.

**Datatypes.** {LITERALS} The other datatype rules are about what literals are, and are written for what
follows from it: `dt-type2` for restrictions to some values from a datatype, `dt-eq` for triples with
literals that denote the same, `dt-diff` and `dt-not-type` for contradictions. Values are those of XML
Schema and OWL 2: an `xsd:float` is never the same as an `xsd:decimal`, and times with different time
zones are not the same. `dt-spaces` is no rule of the specification, but internal to two.""",
    "swclos2": """\
The manual's tables 13.4 and 13.5, which go with D* and P. Three rules are not sound in OWL's own
semantics: `rule8`, `rule12a` and `rule12b` are as the manual has them. `swclos2-differs` are the
internal graphs of `swclos2-oneof`. What the manual calls `u equivalentOf v` is `owl:equivalentClass`.""",
    "owl2-direct": """\
Rules of ours, sound in the direct semantics of OWL 2, that go with OWL 2 RL: `--rules owl2-rl --rules
owl2-direct`. OWL 2 RL derives nothing for restrictions to at least or exactly so many values, and little
for complements, as its ontologies may not ask for these; a query may:

```sparql
SELECT ?x { ?x a [ owl:onProperty :child ; owl:minQualifiedCardinality 1 ; owl:onClass :Woman ] }
```

With this regime, queries have the direct semantics too. A class expression of a query, written with blank
nodes and without variables, is not looked for in the data: it says which class is meant, and its triples
are told to the rules, if these know its words. No variable is bound to it, and variables for classes
(after `a`, beside `rdfs:subClassOf` and the like) are bound to classes with a name only. Without this
regime a query looks for triples as it says, and blank nodes are answers as others are.

With these rules and those of RDF, RDFS and OWL 2 RL, Penstock passes all 66
entailment tests of the W3C SPARQL 1.1 suite that need no RIF.""",
}


def page(regime: str) -> str:
    entries = sorted(entries_of(regime), key=lambda entry: (entry.is_check, natural(entry.called(regime)[0])))
    checks = sum(entry.is_check for entry in entries)
    counted = f"{len(entries) - checks} rules" + (
        f", {checks} conditions for contradictions" if checks else ""
    )
    return "\n".join(
        [
            "<!-- Written by tools/regimes.py from the rule files: change those. -->",
            "",
            f"# {TITLES[regime]}: `--rules {regime}`",
            "",
            _filled(f"{DESCRIPTIONS[regime]}. {counted}."),
            "",
            *(f"{_filled(each)}\n" for each in NOTES[regime].split("\n\n")),
            f"`penstock rules copy {regime} DIR` makes files of them, to be edited and used instead.",
            "",
            "| rule | file | what it means |",
            "|---|---|---|",
            *(_row(entry, regime) for entry in entries),
            "",
            *(_section(entry, regime) for entry in entries),
        ]
    )


def _filled(paragraph: str) -> str:
    if paragraph.startswith("```"):
        return paragraph
    return textwrap.fill(" ".join(paragraph.split()), 108, break_long_words=False, break_on_hyphens=False)


def _row(entry: Entry, regime: str) -> str:
    called = _title(entry, regime)
    meaning = ("*contradiction:* " if entry.is_check else "") + entry.meaning
    return f"| [{called}](#{_anchor(called)}) | {entry.name} | {meaning} |"


def _title(entry: Entry, regime: str) -> str:
    return ", ".join(entry.called(regime))


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


def _section(entry: Entry, regime: str) -> str:
    others = [
        f"{each} ({alias})" if alias != entry.name else each
        for each, alias in entry.regimes
        if each != regime
    ]
    told = f" Also in {', '.join(others)}." if others else ""
    meaning = f"Contradiction: {entry.meaning}" if entry.is_check else entry.meaning
    text = rule(entry.name).text.rstrip()
    return f"## {_title(entry, regime)}\n\n{meaning}{told}\n\n```sparql\n{text}\n```\n"


def main() -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    for regime in DESCRIPTIONS:
        (PAGES / f"{regime}.md").write_text(page(regime), encoding="utf-8")


if __name__ == "__main__":
    main()

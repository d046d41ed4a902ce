"""What repetitions cannot say is refused where it stands, in both languages that have them."""

from __future__ import annotations

import pytest

from penstock.errors import QueryError
from penstock.languages import parse_query

PROLOGUE = "PREFIX : <http://example.org/>\n"


def ep_sparql(where: str) -> str:
    return f"{PROLOGUE}SELECT * WHERE {{ {where} }}"


def cqels_cep(sequence: str) -> str:
    window = "FROM NAMED WINDOW :W ON :s [RANGE 1h]"
    return f"{PROLOGUE}SELECT * {window} WHERE {{ WINDOW :W {{ SEQ({sequence}) }} }}"


RUN = "{ ?x :q ?v }+"
REFUSED = [
    (
        ep_sparql("{ ?x :p ?y } SEQ { ?x :q ?v }+ (SUM(?v - ?y) AS ?n) SEQ { ?x :r ?z }"),
        "?y is not in",
    ),
    (cqels_cep("{ ?x :p ?y }, { ?x :q ?v }+ (LAST(?z) AS ?n), { ?x :r ?z }"), "?z is not in the repetition"),
    (cqels_cep(f"{{ ?x :p ?y }}, {RUN} (COUNT(*) AS ?n), !{{ ?x :r ?n }}"), "?n is in use already"),
    (ep_sparql(f"{{ ?x :p ?y }} SEQ {RUN} (COUNT(*) AS ?y) SEQ {{ ?x :r ?z }}"), "?y is in use already"),
    (ep_sparql(f"{{ ?x :p ?v }} SEQ {RUN} (COUNT(*) AS ?v) SEQ {{ ?x :r ?z }}"), "?v is in use already"),
    (ep_sparql(f"{{ ?x :p ?y }} SEQ {RUN} SEQ {{ ?x :r ?z }} FILTER (?v > 1)"), "?v is in a repetition only"),
    (ep_sparql(f"{{ ?x :p ?y }} SEQ {RUN}"), "nothing says where this repetition begins or ends"),
    (ep_sparql(f"{RUN} SEQ {{ ?x :p ?y }}"), "nothing says where this repetition begins or ends"),
    (ep_sparql(f"{{ ?x :p ?y }} UNION {RUN} UNION {{ ?x :p ?y }}"), "nothing says where this repetition"),
    (
        ep_sparql(f"{{ ?x :p ?y }} SEQ {RUN} SEQ {{ ?x :s ?w }}+ SEQ {{ ?x :r ?z }}"),
        "two adjacent",
    ),
    (cqels_cep(f"{{ ?x :p ?y }}, !{RUN}, {{ ?x :r ?z }}"), "a negated member cannot be repeated"),
    (cqels_cep(f"{RUN}, !{{ ?x :p ?y }}"), "neither negated nor repeated"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_has_no_meaning(text: str, why: str):
    language = "cqels-cep" if "WINDOW" in text else "ep-sparql"
    with pytest.raises(QueryError) as refused:
        parse_query(text, language=language)
    assert why in refused.value.message
    assert refused.value.hint

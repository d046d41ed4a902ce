"""Compiles all kernels ahead, so that the first run does not wait for it: `python -m penstock.api.warm`.

What was compiled is kept beside the sources (`__pycache__`, see `penstock.jit`), once for each
combination of types that a kernel is called with. So small queries are run here, in this process and without
Spark, on one stream in two formats, that call every kernel as ordinary runs do.
"""

from __future__ import annotations

from penstock import pipeline
from penstock.api.materialisation import materialised
from penstock.decode.decoder import Decoder, warm_up
from penstock.decode.mapping.document import read_map
from penstock.decode.occurrences import Occurrences
from penstock.engine.program import Program
from penstock.knowledge.graphs import Knowledge, graph_of
from penstock.languages import parse_query
from penstock.plan.catalog import StreamName
from penstock.reason.elements import ElementReasoner
from penstock.rules.reading import read_rules
from penstock.terms import NamedNode
from penstock.timeline import NEVER

PROLOGUE = "PREFIX : <http://e.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
QUERIES = (
    # Sequences with a key and a bound, on numbers of all kinds.
    """SELECT ?s ?a ?b (?a + ?b AS ?c) WHERE { ?s :p ?a } SEQ { ?s :p ?b }
       FILTER ( ?b < ?a * 0.8 && ?a > 1 && ?b != 1.5e0 && getDURATION() < "PT20M"^^xsd:duration )""",
    # Absence, union, and what stays unbound.
    """SELECT ?s ?b ?c WHERE { ?s :p ?a OPTIONAL { ?s :q ?b } OPTIONAL { ?a :r ?c }
       FILTER NOT EXISTS { ?s :never ?a } MINUS { ?s :never ?b } }""",
    "SELECT DISTINCT ?s WHERE { { ?s :p ?a } UNION { ?s :q ?a } FILTER ( ?s != :x || ?a < 5 ) }",
    "SELECT * WHERE { { ?s :p ?a } OPTIONALSEQ { ?s :q ?b } }",
    "SELECT * WHERE { { ?s :p ?a } EQUALSOPTIONAL { ?s :q ?b } }",
    "SELECT * WHERE { { ?s :p ?a } EQUALS { ?s :p ?b } }",
    # Groups, order, and rules that feed the stream.
    """SELECT ?s (AVG(?a) AS ?mean) (COUNT(*) AS ?n) (getENDTIME() AS ?at)
       WHERE { ?s :p ?a } GROUP BY ?s HAVING (COUNT(*) > 0) ORDER BY ?mean LIMIT 3""",
    'CONSTRUCT { ?s :derived ?a } WHERE { ?s :p ?a FILTER (?a > 2 && ?a < "9"^^xsd:decimal) }',
    "SELECT ?s ?z WHERE { ?s :derived ?a ; :q ?b . ?s (:p|:q)+ ?z }",
)
STREAM = "http://e.org/stream"
CONTINUOUS = {
    # Averages and sets of a window that slides; sequences with absence and a repetition; a static path.
    "c-sparql": """REGISTER QUERY q AS PREFIX : <http://e.org/> SELECT ?s (AVG(?a) AS ?mean) (COUNT(*) AS ?n)
        FROM STREAM :stream [RANGE 60s STEP 20s] WHERE { ?s :p ?a . ?s :q ?b } GROUP BY ?s""",
    "rsp-ql": """PREFIX : <http://e.org/> REGISTER ISTREAM :out AS SELECT DISTINCT ?s
        FROM NAMED WINDOW :w ON :stream [RANGE PT60S STEP PT20S] WHERE { WINDOW :w { ?s :p ?a } }""",
    "cqels-cep": """PREFIX : <http://e.org/> SELECT ?s ?n ?z FROM NAMED WINDOW :w ON :stream [RANGE 60s]
        WHERE { WINDOW :w { SEQ({ ?s :p ?a }, !{ ?s :never ?b }, { ?s :p ?c }) }
                WINDOW :w { SEQ({ ?s :p ?d }, { ?s :p ?e }+ (COUNT(*) AS ?n), { ?s :p ?f }) }
                ?s :q+ ?z }""",
}
SAMPLES = {
    "nquads": """\
<http://e.org/s> <http://e.org/p> "4.2"^^<http://www.w3.org/2001/XMLSchema#decimal> <x:1#t={0}:00Z> .
<http://e.org/s> <http://e.org/q> "text"@en <x:1#t={0}:00Z> .
_:b <http://e.org/p> "7"^^<http://www.w3.org/2001/XMLSchema#integer> <x:2#t={0}:01Z> .
<http://e.org/s> <http://e.org/p> "2.5E0"^^<http://www.w3.org/2001/XMLSchema#double> <x:3> .
<x:3> <http://www.w3.org/ns/prov#generatedAtTime> "{0}:02Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<http://e.org/s> <http://e.org/p> <http://e.org/o> <x:4#t={0}:03Z,{0}:04Z> .
""",
    "csv": """\
s,p,o,start
<http://e.org/s>,<http://e.org/p>,"""
    '"""3""^^<http://www.w3.org/2001/XMLSchema#integer>"'
    """,{0}:05Z
""",
}
RULES = """PREFIX : <http://e.org/>
INSERT { ?x :r ?y } WHERE { ?x :q ?y FILTER (?x != ?y && STR(?x) != "") } ;
INSERT { ?x :q ?z } WHERE { ?x :q ?y . ?y :q ?z } ;
INSERT { GRAPH ?x { ?y :t [] } } WHERE { ?x :q/:r* ?y } ;
INSERT { ?x :u ?y } WHERE { GRAPH ?x { ?y :t ?z } }
# contradiction: none
SELECT ?x WHERE { ?x :never ?x }
"""
MAP = {
    "tableSchema": {
        "aboutUrl": "http://e.org/{id}",
        "columns": [{"name": "v", "propertyUrl": "http://e.org/p", "datatype": "integer"}],
    },
    "penstock:time": "when",
}


def warm() -> None:
    """Calls every kernel once; takes seconds where nothing is compiled yet."""
    warm_up()
    Decoder("jsonl", map=read_map(MAP)).decode(b'{"id": "a b", "v": 1, "when": "2026-01-01T00:00:00Z"}\n')
    reason()
    queries = [parse_query(PROLOGUE + text) for text in QUERIES]
    s, q, o = (NamedNode(f"http://e.org/{name}") for name in "sqo")
    known = graph_of([(s, q, o)], None)
    for several in (queries, *([query] for query in queries)):
        for graphs in ((), (known,)):
            run(pipeline.program(several, [StreamName(None)], graphs, shards=2, now=0))
    windows = [parse_query(text, language=language) for language, text in CONTINUOUS.items()]
    run(pipeline.program(windows, [StreamName(STREAM)], (known,), shards=2, now=0))


def reason() -> None:
    """Closes a graph, and elements above it."""
    rules = read_rules(RULES).rules
    s, q, o, p = (NamedNode(f"http://e.org/{name}") for name in "sqop")
    closure = materialised([graph_of([(s, q, o), (o, q, p)], None)], rules).closure
    knowledge = Knowledge((None,), (closure.triples,), closure.terms)
    elements = Decoder("nquads").decode(SAMPLES["nquads"].format("2026-01-01T00:00").encode())[0]
    for wanted in (None, frozenset({(q, None)})):
        ElementReasoner(rules, knowledge, wanted=wanted).close(elements)


def run(program: Program) -> None:
    """Three small batches through all shards, with the state stored and restored between them."""
    live = [program.open(number) for number in range(program.shards)]
    watermark = NEVER
    for minute in range(3):
        payloads: list[list[bytes]] = [[] for _ in live]
        for format_, text in SAMPLES.items():
            found = _decoded(format_, text.format(f"2026-01-01T00:{minute:02d}"), program)
            for shard, payload in program.route(0, found):
                payloads[shard].append(payload)
            watermark = max(watermark, int(found.instants[-1]))
        for number, shard in enumerate(live):
            shard.step(payloads[number], watermark, ended=minute == 2)
            stored, _ = shard.changes()
            if minute == 0:
                live[number] = program.open(number)
                live[number].restore(stored)


def _decoded(format_: str, text: str, program: Program) -> Occurrences:
    decoder = Decoder(format_, keep_predicates=program.keep_predicates)
    found, _ = decoder.decode(text.encode())
    if found.rejects:
        raise AssertionError(f"the sample is wrong: {found.rejects[0]}")
    return found


if __name__ == "__main__":
    warm()

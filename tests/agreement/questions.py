"""Questions, with the SQL that answers them as well, for streams too large for the oracle."""

from __future__ import annotations

from dataclasses import dataclass

PROLOGUE = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"


@dataclass(frozen=True)
class Question:
    """A query, and the same over o(s, p, v, st, en), the occurrences in time, and i(en), the instants.

    `columns` are those of the answers, without the interval. In the texts RISE is a number of the
    case, and BOUND the duration that answers must stay below, or the extent of windows. These see each
    element for itself: the table `arrived` has them all. `stream` is its name, if it has one.
    """

    name: str
    columns: str
    query: str
    sql: str
    rule: str | None = None
    stream: str | None = None

    def queries(self, rise: int, bound: int) -> list[str]:
        """The rules, and last the query whose answers count."""
        return [PROLOGUE + _filled(text, rise, bound) for text in (self.rule, self.query) if text]

    def statement(self, rise: int, bound: int) -> str:
        return _filled(self.sql, rise, bound)


def _filled(text: str, rise: int, bound: int) -> str:
    text = text.replace("SHORT", 'getDURATION() < "PT BOUND S"^^xsd:duration'.replace(" BOUND ", str(bound)))
    text = text.replace("RANGE BOUND", f"RANGE {bound}s").replace("WITHIN BOUND", f'WITHIN "PT{bound}S"')
    return text.replace("RISE", str(rise)).replace("BOUND", f"{bound * 1_000_000}")


_RISES = """
  SELECT a.s, a.v AS a, b.v AS b, a.st, b.en FROM o a JOIN o b ON a.s = b.s AND a.en < b.st
  WHERE a.p = 'reads' AND b.p = 'reads' AND b.v > a.v + RISE AND b.en - a.st < BOUND"""
_RISE_PATTERN = "{ ?s :reads ?a } SEQ { ?s :reads ?b } FILTER (?b > ?a + RISE && SHORT)"

_STREAM = "http://example.org/events"
_SLIDE = 10_000_000


def _in_window(select: str, extent: str, members: str, report: str = "") -> str:
    return (
        f"SELECT {select} FROM NAMED WINDOW :w ON <{_STREAM}> [{extent}] {report}"
        f" WHERE {{ WINDOW :w {{ SEQ({members}) }} }}"
    )


_SHOWN = f"""
  SELECT *, first + (
    least(hidden, en + BOUND) - first + {_SLIDE - 1}) // {_SLIDE} * {_SLIDE} AS gone
  FROM (SELECT a.*, (a.en - BOUND + {_SLIDE - 1}) // {_SLIDE} * {_SLIDE} + BOUND AS first, (
    SELECT min(b.en) FROM arrived b WHERE b.p = 'fails' AND b.s = a.s AND b.st > a.en) AS hidden
  FROM arrived a WHERE a.p = 'reads')"""
"""Of readings in a window that slides: at which close they come into it, when they are first followed by a
failure, and the close at which that is seen or they have left."""

QUESTIONS = (
    Question("a rise", "s a b", f"SELECT ?s ?a ?b WHERE {_RISE_PATTERN}", _RISES),
    Question(
        "three in a row",
        "s a b c",
        "SELECT ?s ?a ?b ?c WHERE { ?s :reads ?a } SEQ { ?s :warns ?b } SEQ { ?s :reads ?c }"
        " FILTER (?c > ?a + RISE && SHORT)",
        """SELECT ab.s, ab.a, ab.b, c.v, ab.st, c.en FROM (
          SELECT a.s, a.v AS a, b.v AS b, a.st, b.en FROM o a JOIN o b ON a.s = b.s AND a.en < b.st
          WHERE a.p = 'reads' AND b.p = 'warns' AND b.en - a.st < BOUND) ab
        JOIN o c ON ab.s = c.s AND ab.en < c.st
        WHERE c.p = 'reads' AND c.v > ab.a + RISE AND c.en - ab.st < BOUND""",
    ),
    Question(
        "at the same time",
        "s a b",
        "SELECT ?s ?a ?b WHERE { ?s :reads ?a } EQUALS { ?s :warns ?b } FILTER (?b != ?a + RISE)",
        """SELECT a.s, a.v, b.v, a.st, a.en FROM o a JOIN o b ON a.s = b.s AND a.st = b.st AND a.en = b.en
        WHERE a.p = 'reads' AND b.p = 'warns' AND b.v <> a.v + RISE""",
    ),
    Question(
        "together, in any order",
        "b s a",
        "SELECT ?b ?s ?a WHERE { ?s :reads ?a . ?s :warns ?b FILTER (SHORT) }",
        """SELECT DISTINCT b.v, a.s, a.v, least(a.st, b.st), greatest(a.en, b.en)
        FROM o a JOIN o b ON a.s = b.s
        WHERE a.p = 'reads' AND b.p = 'warns' AND greatest(a.en, b.en) - least(a.st, b.st) < BOUND""",
    ),
    Question(
        "what came before, if anything did",
        "s a b",
        "SELECT ?s ?a ?b WHERE { { ?s :warns ?a FILTER (?a > RISE && SHORT) } OPTIONALSEQ { ?s :fails ?b } }",
        """SELECT b.s, a.v, b.v, coalesce(a.st, b.st), b.en FROM (FROM o WHERE p = 'fails') b
        LEFT JOIN (FROM o WHERE p = 'warns' AND v > RISE) a
        ON a.s = b.s AND a.en < b.st AND b.en - a.st < BOUND""",
    ),
    Question(
        "what happened at the same time, if anything did",
        "s a b",
        "SELECT ?s ?a ?b WHERE { { ?s :reads ?a } EQUALSOPTIONAL { ?s :warns ?b } }",
        """SELECT a.s, a.v, b.v, a.st, a.en FROM (FROM o WHERE p = 'reads') a
        LEFT JOIN (FROM o WHERE p = 'warns') b ON a.s = b.s AND a.st = b.st AND a.en = b.en""",
    ),
    Question(
        "what was there by then, if anything was",
        "s a b",
        "SELECT ?s ?a ?b WHERE { ?s :fails ?a OPTIONAL { ?s :warns ?b FILTER (?b > ?a + RISE && SHORT) } }",
        """SELECT a.s, a.v, b.v, least(a.st, coalesce(b.st, a.st)), a.en FROM (FROM o WHERE p = 'fails') a
        LEFT JOIN (FROM o WHERE p = 'warns') b
        ON a.s = b.s AND b.en <= a.en AND b.v > a.v + RISE AND a.en - least(a.st, b.st) < BOUND""",
    ),
    Question(
        "never before",
        "s a",
        "SELECT ?s ?a WHERE { ?s :reads ?a FILTER NOT EXISTS { ?s :fails ?b } }",
        """SELECT a.s, a.v, a.st, a.en FROM o a WHERE a.p = 'reads'
        AND NOT EXISTS (FROM o b WHERE b.p = 'fails' AND b.s = a.s AND b.en <= a.en)""",
    ),
    Question(
        "not this value before",
        "s a",
        "SELECT ?s ?a WHERE { { ?s :reads ?a } MINUS { ?t :fails ?a } }",
        """SELECT a.s, a.v, a.st, a.en FROM o a WHERE a.p = 'reads'
        AND NOT EXISTS (FROM o b WHERE b.p = 'fails' AND b.v = a.v AND b.en <= a.en)""",
    ),
    Question(
        "how many rises end here",
        "s b n least sum",
        "SELECT ?s ?b (COUNT(*) AS ?n) (MIN(?a) AS ?least) (SUM(?a) AS ?sum)"
        f" WHERE {_RISE_PATTERN} GROUP BY ?s ?b",
        f"SELECT s, b, count(*), min(a), sum(a), min(st), en FROM ({_RISES}) GROUP BY s, b, en",
    ),
    Question(
        "all readings of an instant",
        "n most",
        "SELECT (COUNT(DISTINCT ?s) AS ?n) (MAX(?a) AS ?most) WHERE { ?s :reads ?a }",
        """SELECT count(DISTINCT s), max(v), min(st), en FROM o WHERE p = 'reads' GROUP BY en UNION ALL
        SELECT 0, NULL, en, en FROM (SELECT en FROM i EXCEPT SELECT en FROM o WHERE p = 'reads')""",
    ),
    Question(
        "rises that feed a second sequence",
        "s b f",
        "SELECT ?s ?b ?f WHERE { ?s :rose ?b } SEQ { ?s :fails ?f } FILTER (SHORT)",
        f"""SELECT r.s, r.b, f.v, r.st, f.en FROM (SELECT DISTINCT s, b, st, en FROM ({_RISES})) r
        JOIN o f ON f.s = r.s AND r.en < f.st WHERE f.p = 'fails' AND f.en - r.st < BOUND""",
        rule=f"CONSTRUCT {{ ?s :rose ?b }} WHERE {_RISE_PATTERN}",
    ),
    Question(
        "values that differ",
        "a b",
        "SELECT DISTINCT ?a ?b WHERE { ?s :warns ?a } SEQ { ?s :fails ?b } FILTER (SHORT)",
        """SELECT DISTINCT a.v, b.v, a.st, b.en FROM o a JOIN o b ON a.s = b.s AND a.en < b.st
        WHERE a.p = 'warns' AND b.p = 'fails' AND b.en - a.st < BOUND""",
    ),
    Question(
        "nothing in between, in a window",
        "s a b",
        _in_window("?s ?a ?b", "RANGE BOUND", "{ ?s :reads ?a }, !{ ?s :fails ?f }, { ?s :warns ?b }"),
        """SELECT a.s, a.v, c.v, greatest(a.st, c.en - BOUND), c.en FROM arrived a JOIN arrived c ON a.s = c.s
        AND a.p = 'reads' AND c.p = 'warns' AND a.en < c.st AND c.en - a.en <= BOUND
        WHERE NOT EXISTS (FROM arrived b WHERE b.p = 'fails' AND b.s = a.s AND b.en <= c.st
          AND b.en >= c.en - BOUND AND greatest(b.st, c.en - BOUND) >= a.en)""",
        stream=_STREAM,
    ),
    Question(
        "nothing before it in a window",
        "s a",
        _in_window("?s ?a", "RANGE BOUND", "!{ ?s :fails ?f }, { ?s :warns ?a }"),
        """SELECT s, v, greatest(st, seen - BOUND), en FROM (SELECT a.*, greatest(a.en, coalesce((
          SELECT max(b.en) FROM arrived b WHERE b.p = 'fails' AND b.s = a.s AND b.en < a.st
        ) + BOUND + 1, a.en)) AS seen FROM arrived a WHERE a.p = 'warns')""",
        stream=_STREAM,
    ),
    Question(
        "nothing after it until a window closes",
        "s a",
        _in_window(
            "?s ?a", "RANGE BOUND SLIDE 10s", "{ ?s :reads ?a }, !{ ?s :fails ?f }", "REPORT ON CLOSE"
        ),
        f"SELECT s, v, greatest(st, first - BOUND + 1), en FROM ({_SHOWN}) WHERE gone > first",
        stream=_STREAM,
    ),
    Question(
        "nothing after it until then",
        "s a",
        _in_window(
            "DSTREAM ?s ?a", "RANGE BOUND SLIDE 10s", "{ ?s :reads ?a }, !{ ?s :fails ?f }", "REPORT ON CLOSE"
        ),
        f"""SELECT s, v, greatest(st, gone - {_SLIDE} - BOUND + 1), en FROM ({_SHOWN}) WHERE gone > first
        AND gone <= (SELECT (max(en) - 1) // {_SLIDE} * {_SLIDE} + BOUND FROM arrived)""",
        stream=_STREAM,
    ),
    Question(
        "the next",
        "s a b",
        "SELECT ?s ?a ?b WHERE { ?s :reads ?a } NEXT { ?s :reads ?b } FILTER (?b > ?a + RISE)",
        """SELECT a.s, a.v, b.v, a.st, b.en FROM (
          SELECT a.*, (SELECT min(c.en) FROM o c WHERE c.p = 'reads' AND c.s = a.s AND c.st > a.en) AS first
          FROM o a WHERE a.p = 'reads') a
        JOIN o b ON b.s = a.s AND b.st > a.en AND b.en = a.first
        WHERE b.p = 'reads' AND b.v > a.v + RISE""",
    ),
    Question(
        "nothing within some time",
        "s a",
        "SELECT ?s ?a WHERE { { ?s :reads ?a } UNLESS { ?s :warns ?b } WITHIN BOUND }",
        """SELECT a.s, a.v, a.st, a.en + BOUND FROM o a
        WHERE a.p = 'reads' AND a.en + BOUND <= (SELECT max(en) FROM i) AND NOT EXISTS (
          FROM o b WHERE b.p = 'warns' AND b.s = a.s AND b.st > a.en AND b.en <= a.en + BOUND)""",
    ),
)

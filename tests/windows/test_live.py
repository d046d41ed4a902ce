"""Windows of a run that follows its streams: time goes on by the clock when nothing comes (decision 0005)."""

from __future__ import annotations

import threading

import pytest

from penstock.api.engine import Batch, Engine
from penstock.errors import PenstockWarning
from penstock.timeline import format_instant, parse_instant

BEGIN = parse_instant("2026-01-01T00:00:00Z")
TENTH = 100_000

COUNTING = {
    "c-sparql": """PREFIX : <http://example.org/> SELECT (COUNT(*) AS ?n)
        FROM STREAM :readings [RANGE 100ms STEP 100ms] WHERE { ?s :value ?v }""",
    "rsp-ql": """PREFIX : <http://example.org/> SELECT RSTREAM (COUNT(*) AS ?n)
        FROM NAMED WINDOW :w ON :readings [RANGE PT0.1S STEP PT0.1S] WHERE { WINDOW :w { ?s :value ?v } }""",
    "cqels-cep": """PREFIX : <http://example.org/> SELECT (COUNT(*) AS ?n)
        FROM NAMED WINDOW :w ON :readings [RANGE 100ms SLIDE 100ms] WHERE { WINDOW :w { ?s :value ?v } }""",
}
"""How many elements a window of a tenth of a second has."""


@pytest.mark.usefixtures("spark")
def test_no_reading_in_a_window_is_a_result_when_nothing_comes_any_more(tmp_path):
    """Before the first element there is no time; after the last one the clock moves it."""
    file = tmp_path / "s.nq"
    file.touch()
    engine = Engine(master="local[2]", idle="1s", tick=True)
    engine.add_stream(file, iri="http://example.org/readings")
    for language, text in COUNTING.items():
        engine.add_query(text, name=language, language=language)
    found: dict[str, list[tuple[int, int]]] = {language: [] for language in COUNTING}
    stop, batches = threading.Event(), []

    def take(batch: Batch) -> None:
        batches.append(batch.id)
        for language, table in batch.answers.items():
            for row in table.to_pylist():
                count = int(row["n"].split("^^")[0].strip('"'))
                found[language].append(((row["start"] - BEGIN) // TENTH, count))
        if len(batches) == 1:  # the stream has become idle, and nobody has said anything
            assert not any(found.values())
            for tenths in (1, 3):
                at = format_instant(BEGIN + tenths * TENTH)
                with file.open("a") as out:
                    out.write(f'<http://e/a> <http://example.org/value> "1" <urn:e:{tenths}#t={at}> .\n')
        if all(sum(not count for _, count in rows) >= 4 for rows in list(found.values())[:2]):
            stop.set()

    engine.run(follow=True, on_batch=take, stop=stop)
    for language in ("c-sparql", "rsp-ql"):
        closes, counts = zip(*found[language], strict=True)
        assert closes == tuple(range(1, 1 + len(closes))), "each close is reported, once"
        assert counts == (1, 0, 1, *(0,) * (len(counts) - 3))
    # CQELS reports when the content changes: that it has become empty, once.
    assert found["cqels-cep"] == [(1, 1), (2, 0), (3, 1), (4, 0)]


@pytest.mark.usefixtures("spark")
def test_a_run_with_windows_says_that_it_keeps_its_graphs(tmp_path):
    """And does not blame an EXISTS that nobody wrote."""
    stream, graph = tmp_path / "s.nq", tmp_path / "g.nt"
    stream.write_text('<http://e/a> <http://example.org/value> "1" <urn:e:1#t=2026-01-01T00:00:00Z> .\n')
    graph.write_text("<http://e/a> <http://example.org/at> <http://e/river> .\n")
    engine = Engine(master="local[2]")
    engine.add_stream(stream, iri="http://example.org/readings").add_graph(graph)
    engine.add_query(COUNTING["c-sparql"], name="counted")
    stop = threading.Event()
    with pytest.warns(
        PenstockWarning, match="graph files are not followed: beside windows, as those of counted"
    ):
        engine.run(follow=True, on_batch=lambda batch: stop.set(), stop=stop)

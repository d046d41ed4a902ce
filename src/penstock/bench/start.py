"""`penstock bench start`: from the shell to the first answer, beside the smallest PySpark script."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.bench.figures import Figure, figure, scale
from penstock.errors import PenstockError

ROUNDS = 5
QUERY = """PREFIX : <http://example.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?pump ?before ?after
WHERE { ?pump :pressure ?before } SEQ { ?pump :warning ?text } SEQ { ?pump :pressure ?after }
FILTER ( ?after < ?before * 0.8 && getDURATION() < "PT20M"^^xsd:duration )
"""
STREAM = """PREFIX : <http://example.org/>
<urn:e1#t=2026-05-01T08:00:00Z> { :pump1 :pressure 4.2 . :pump2 :pressure 4.0 }
<urn:e2#t=2026-05-01T08:05:00Z> { :pump1 :warning "hot" }
<urn:e3#t=2026-05-01T08:15:00Z> { :pump1 :pressure 2.9 . :pump2 :pressure 2.8 }
<urn:e4#t=2026-05-01T08:30:00Z> { :pump1 :pressure 2.8 }
"""
COMMAND = (sys.executable, "-c", "from penstock.cli import main; main()", "run", "--quiet", "--format", "csv")
PEER = (sys.executable, str(Path(__file__).parent / "smallest_stream.py"))


def start() -> Iterator[Figure]:
    """The first query of the README and the script, by turns."""
    ours: list[float] = []
    peers: list[float] = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        query, stream = Path(scratch) / "loss.rq", Path(scratch) / "pumps.trig"
        query.write_text(QUERY)
        stream.write_text(STREAM)
        for _ in range(max(1, round(ROUNDS * scale()))):
            peers.append(first_answer(PEER, "value="))
            ours.append(first_answer((*COMMAND, str(query), "--stream", str(stream)), "pump1"))
    found, peer = statistics.median(ours), statistics.median(peers)
    case = f"shell to first answer, median of {len(ours)}"
    yield figure("start", case, found, "s", "smallest PySpark script", peer)


def first_answer(command: Sequence[str], mark: str) -> float:
    """Seconds until a command has written a line with a mark; it is left to end by itself."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    begun = time.perf_counter()
    seconds = None
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout or ():
            if mark in line and seconds is None:
                seconds = time.perf_counter() - begun
    if seconds is None:
        raise PenstockError(
            f"{' '.join(command[:3])} … ended with {process.returncode} and without an answer"
        )
    return seconds

"""`penstock bench lubm`: what follows from LUBM's data, and its queries over a stream of departments.

Materialisation runs in processes of their own, ours and the peers', so that the peak of memory is of one of
them alone, and is measured in seconds of the processor, which all of them use one of. `reasonable` hands all
triples to Python as objects, which takes several times as long as its reasoning; that part is made cheap,
measured by asking again, and left out of its time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.bench import universities
from penstock.bench.figures import Figure, figure, scale, timed, used
from penstock.bench.sequence import parsing_rate

MATERIALISED = (1, 5, 10)
STREAMED = 100
CORES = 2  # of embedded Spark, too
REGIMES = ("rdfs", universities.REGIME)
_LARGEST_OF_OWLRL = 1  # universities: at five it needs an hour
_TIMES = 3


def lubm() -> Iterator[Figure]:
    """Materialisation of some universities, then all queries in one pass over many."""
    yield from materialisation()
    yield from streaming()


# --- materialisation ---


def materialisation() -> Iterator[Figure]:
    ontology = universities.ontology()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        for number in MATERIALISED:
            if number > max(1, MATERIALISED[-1] * scale()):
                continue
            data = Path(scratch) / f"lubm{number}.nt"
            universities.generated(number, data)
            reasonable = _peer("reasonable", universities.REGIME, data, ontology)
            for regime in REGIMES:
                if number == MATERIALISED[0]:
                    _measured("ours", regime, str(data), str(ontology))  # compiles, and fills caches
                found = _measured("ours", regime, str(data), str(ontology))
                peers = {"reasonable": reasonable}
                if number <= _LARGEST_OF_OWLRL:
                    peers["owlrl"] = _peer("owlrl", regime, data, ontology)
                yield from _compared(f"LUBM({number}) {regime}", found, peers)


def _compared(
    case: str, found: dict[str, float], peers: dict[str, dict[str, float] | None]
) -> Iterator[Figure]:
    rate = found["explicit"] / found["seconds"]
    for name, peer in peers.items():
        if peer is None:
            yield figure("lubm", f"{case} ({name} is not installed)", rate, "triples/s")
            continue
        yield figure("lubm", case, rate, "triples/s", name, peer["explicit"] / peer["seconds"])
        whole, other = (each["explicit"] / (each["read"] + each["seconds"]) for each in (found, peer))
        yield figure("lubm", f"{case}: reading included", whole, "triples/s", name, other)
        yield figure("lubm", f"{case}: peak of memory", found["peak"], "MB", name, peer["peak"])
        yield figure("lubm", f"{case}: triples then", found["all"], "triples", name, peer["all"])


def _peer(name: str, regime: str, data: Path, ontology: Path) -> dict[str, float] | None:
    if importlib.util.find_spec(name) is None:
        return None
    return _measured(name, regime, str(data), str(ontology))


def _measured(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "penstock.bench.lubm", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _ours(regime: str, data: str, ontology: str) -> dict[str, float]:
    from penstock.knowledge.graphs import read_graphs
    from penstock.reason.closing import Closure
    from penstock.rules.library import ruleset

    read, graphs = used(lambda: [graph for path in (ontology, data) for graph in read_graphs(path)])
    rules = ruleset([regime])

    def close() -> Closure:
        closure = Closure(rules)
        for graph in graphs:
            closure.add(graph.triples, graph.terms)
        return closure

    seconds, closure = used(close)
    explicit = sum(map(len, graphs))
    return {"read": read, "seconds": seconds, "explicit": explicit, "all": closure.triples.shape[1]}


def _reasonable(regime: str, data: str, ontology: str) -> dict[str, float]:
    import reasonable

    turtle = Path(data).with_suffix(".ttl")  # it takes no others; N-Triples are Turtle
    turtle.unlink(missing_ok=True)
    turtle.symlink_to(data)
    reasoner = reasonable.PyReasoner()
    read, _ = used(lambda: [reasoner.load_file(str(path)) for path in (ontology, turtle)])
    explicit = len(reasoner.get_base_triples())
    with _terms_of_nothing():
        first, triples = used(lambda: len(reasoner.reason()))
        again = [used(lambda: len(reasoner.reason_full()))[0] for _ in range(_TIMES - 1)]
        handing = [used(lambda: len(reasoner.reason()))[0] for _ in range(_TIMES)]
    seconds = max(min(first, *again) - min(handing), 1e-3)
    return {"read": read, "seconds": seconds, "explicit": explicit, "all": triples}


@contextlib.contextmanager
def _terms_of_nothing() -> Iterator[None]:
    """Whoever makes terms of rdflib gets nothing instead, quickly."""
    import rdflib

    names = ("URIRef", "BNode", "Literal")
    before = [(module, name, getattr(module, name)) for module in (rdflib, rdflib.term) for name in names]
    try:
        for module, name, _ in before:
            setattr(module, name, lambda *_, **__: None)
        yield
    finally:
        for module, name, made in before:
            setattr(module, name, made)


def _owlrl(regime: str, data: str, ontology: str) -> dict[str, float]:
    import owlrl
    import rdflib

    graph = rdflib.Graph()
    read, _ = used(lambda: graph.parse(ontology).parse(data, format="nt"))
    explicit = len(graph)
    semantics = {"rdfs": owlrl.RDFS_Semantics, "owl2-rl": owlrl.OWLRL_Semantics}[regime]
    seconds, _ = used(lambda: owlrl.DeductiveClosure(semantics).expand(graph))
    return {"read": read, "seconds": seconds, "explicit": explicit, "all": len(graph)}


# --- streaming ---


def streaming() -> Iterator[Figure]:
    """All fourteen queries in one pass, each department by itself, beside parsing alone."""
    number = max(1, int(STREAMED * scale()))
    case = f"LUBM({number}) stream"
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        stream = Path(scratch) / "departments.nq"
        universities.generated(1, stream, stream=True)
        answers(stream)  # starts Spark, compiles, fills caches
        decoding(stream)
        seconds, triples = timed(lambda: universities.generated(number, stream, stream=True))
        yield figure("lubm", f"{case}: generate", triples / seconds, "triples/s")
        parsed = timed(lambda: decoding(stream))[0]
        yield figure(
            "lubm", f"{case}: decode only, {CORES} processes", triples / parsed, "triples/s",
            "pyoxigraph, one process", parsing_rate(stream, triples),
        )  # fmt: skip
        seconds, found = timed(lambda: answers(stream))
        yield figure("lubm", f"{case}: 14 queries", seconds, "s", "decode only", parsed)
        yield figure("lubm", f"{case}: 14 queries", triples / seconds, "triples/s")
        for name, count in found.items():
            yield figure("lubm", f"{case}: {name}", count, "answers")


def answers(stream: Path) -> dict[str, int]:
    """Runs all queries over the stream in event mode on embedded Spark; how many answers each has."""
    found: dict[str, int] = {}

    def take(batch) -> None:
        for name, table in batch.answers.items():
            found[name] = found.get(name, 0) + table.num_rows

    universities.in_events(stream).run(on_batch=take)
    return found


def decoding(stream: Path) -> int:
    """Decodes the stream in as many processes as the run has; how many triples there were."""
    size = stream.stat().st_size
    cuts = [size * part // CORES for part in range(CORES + 1)]
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        return sum(pool.starmap(_decoded, [(str(stream), *cut) for cut in zip(cuts, cuts[1:], strict=False)]))


def _decoded(path: str, begin: int, end: int) -> int:
    from penstock.decode.decoder import decode_file

    return sum(len(found) for found in decode_file(path, begin=begin, end=end))


if __name__ == "__main__":
    gc.disable()  # or Python would look at millions of the peers' objects again and again
    who, *given = sys.argv[1:]
    result = {"ours": _ours, "reasonable": _reasonable, "owlrl": _owlrl}[who](*given)
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))

"""`penstock bench classes`: is the subject of a streaming triple an instance of a class or any subclass?

Test 2 of the EP-SPARQL paper: the class of concern has 40,080 subclasses, up to eight levels deep. Half of
the triples are about instances of these. The peer is what the paper compares with: all
subclasses computed ahead into a hash table, and one look-up for each triple, in Python.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.bench.figures import Figure, figure, scale, timed, used
from penstock.bench.sensors import BEGIN
from penstock.decode.occurrences import Occurrences
from penstock.timeline import format_instant

SUBCLASSES = 40_080
DEPTH = 8
OTHERS = 5_000  # classes that are not below the class of concern
TRIPLES = 2_000_000
SUBJECTS = 100_000
PIECE = 100_000  # elements that are closed at a time
REGIME = "rhodf"

_EX = "http://example.org/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
QUERY = f"SELECT ?x WHERE {{ ?x a <{_EX}Class0> }}"


def classes() -> Iterator[Figure]:
    count = max(2_000, int(TRIPLES * scale()))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        tree, stream = Path(scratch) / "classes.nt", Path(scratch) / "instances.nq"
        parents = class_tree()
        write_tree(parents, tree)
        typed = instances(count)
        write_stream(typed, stream)
        below = sum(class_ <= SUBCLASSES for class_ in typed)
        seconds, found = in_the_kernel(tree, stream)
        _check(found, below)
        yield figure(
            "classes", f"kernel, {SUBCLASSES:,} subclasses", count / seconds, "triples/s",
            "look-ups in Python", count / looking_up(parents, typed, below),
        )  # fmt: skip
        on_spark(tree, stream)  # starts Spark, compiles, fills caches
        seconds, found = timed(lambda: on_spark(tree, stream))
        _check(found, below)
        yield figure("classes", f"pipeline, {SUBCLASSES:,} subclasses", count / seconds, "triples/s")


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise RuntimeError(f"{found} answers, and {expected} were expected")


# --- what is known, and what streams ---


def class_tree(subclasses: int = SUBCLASSES, depth: int = DEPTH, others: int = OTHERS) -> list[int]:
    """The parent of each class; class 0 is the one of concern, and those above `subclasses` are not below it.

    Levels grow by the same factor; the parent is one of the level above.
    """
    chance = random.Random(7)
    factor = subclasses ** (1 / depth)
    sizes = [factor**level for level in range(1, depth + 1)]
    bounds = [1] + [1 + round(subclasses * sum(sizes[: at + 1]) / sum(sizes)) for at in range(depth)]
    parents = [-1]
    for level in range(depth):
        first = bounds[level - 1] if level else 0
        parents += [chance.randrange(first, bounds[level]) for _ in range(bounds[level], bounds[level + 1])]
    root = len(parents)
    parents += [-1] + [chance.randrange(root, root + at) for at in range(1, others)]
    return parents


def write_tree(parents: list[int], path: Path) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(
            f"<{_EX}Class{child}> <{_SUBCLASS}> <{_EX}Class{parent}> .\n"
            for child, parent in enumerate(parents)
            if parent >= 0
        )


def instances(count: int, subclasses: int = SUBCLASSES, others: int = OTHERS) -> list[int]:
    """The classes of streaming triples: every second one is not below the class of concern."""
    chance = random.Random(8)
    last = subclasses + others
    return [
        chance.randint(subclasses + 1, last) if place % 2 else chance.randint(0, subclasses)
        for place in range(count)
    ]


def write_stream(typed: list[int], path: Path) -> None:
    """An element for each triple, a millisecond apart."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(
            f"<{_EX}x/{place % SUBJECTS}> <{_TYPE}> <{_EX}Class{class_}>"
            f" <urn:e{place}#t={format_instant(BEGIN + place * 1000)}> .\n"
            for place, class_ in enumerate(typed)
        )


# --- who answers ---


def _engine(tree: Path, stream: Path, **options: object):
    from penstock.api.engine import Engine

    engine = Engine(master="local[2]", rules=[REGIME], **options)
    engine.add_ontology(tree).add_stream(stream).add_query(QUERY)
    engine.new_findings()
    return engine


def in_the_kernel(tree: Path, stream: Path) -> tuple[float, int]:
    """Seconds of the processor to close decoded elements and to match the query; how many answers."""
    from penstock.decode.compression import PlainReader
    from penstock.decode.decoder import Decoder, decode_pieces

    program = _engine(tree, stream, shards=1).ready()
    line = stream.stat().st_size // sum(1 for _ in stream.open("rb"))
    with stream.open("rb") as file:
        decoder = Decoder("nquads", keep_predicates=program.keep_predicates, key=program.key)
        pieces = list(decode_pieces(decoder, PlainReader(file), PIECE * line))

    def run(some: list[Occurrences]) -> int:
        shard = program.open(0)
        found = 0
        for piece in some:
            payloads = [payload for _, payload in program.route(0, program.reason(piece))]
            for _, table in shard.answers(payloads, int(piece.instants[-1]), ended=False):
                found += table.num_rows
        return found

    run(pieces[:1])  # what is made or compiled when it is first used
    return used(lambda: run(pieces))


def on_spark(tree: Path, stream: Path) -> int:
    """The whole way from the file; how many answers."""
    found = 0

    def take(batch) -> None:
        nonlocal found
        found += sum(table.num_rows for table in batch.tables.values())

    _engine(tree, stream).run(on_batch=take)
    return found


def looking_up(parents: list[int], typed: list[int], expected: int) -> float:
    """Seconds of the processor for look-ups in a table of all subclasses, computed ahead."""
    below = {0}
    for child, parent in enumerate(parents):
        if parent in below:
            below.add(child)
    wanted = {f"{_EX}Class{class_}" for class_ in below}
    triples = [(f"{_EX}x/{place % SUBJECTS}", f"{_EX}Class{class_}") for place, class_ in enumerate(typed)]
    seconds, found = used(lambda: [subject for subject, class_ in triples if class_ in wanted])
    _check(len(found), expected)
    return seconds

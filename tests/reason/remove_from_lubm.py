"""Takes triples away from the closure of LUBM(1), and compares with the closure of the rest.

python tests/reason/remove_from_lubm.py --regime owl2-rl --count 10000 --together 1
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from penstock.knowledge.graphs import StaticGraph, read_graphs  # noqa: E402
from penstock.reason.closing import Closure  # noqa: E402
from penstock.rules.library import ruleset  # noqa: E402
from shared_data import shared  # noqa: E402

KEY = 5


@dataclass
class Told:
    """What was measured, in seconds."""

    closing: float
    preparing: float  # of a first removal, which makes indexes
    removing: np.ndarray  # of each call after it
    from_scratch: float
    triples: int
    left: int
    equal: bool

    def __str__(self) -> str:
        calls = 1000 * self.removing
        return (
            f"closed {self.triples:,} triples in {self.closing:.2f} s, {self.left:,} are left;"
            f" prepared in {self.preparing:.2f} s; {len(calls):,} calls in {self.removing.sum():.2f} s:"
            f" median {np.median(calls):.2f} ms,"
            f" 99 % {np.quantile(calls, 0.99):.2f} ms, longest {calls.max():.1f} ms;"
            f" from scratch {self.from_scratch:.2f} s; equal: {self.equal}"
        )


def lubm() -> tuple[StaticGraph, StaticGraph]:
    """LUBM(1), and its ontology."""
    [data] = read_graphs(str(shared("lubm", "data", "lubm1.nt.gz")), key=KEY)
    [ontology] = read_graphs(str(shared("lubm", "ontology", "univ-bench.ttl")), key=KEY)
    return data, ontology


def removals(regime: str, count: int, together: int, seed: int = 1) -> Told:
    """Removes triples of the data, some at a time, in a random order."""
    data, ontology = lubm()
    rules = ruleset([regime])

    def closed(triples: np.ndarray) -> tuple[Closure, float]:
        began = time.perf_counter()
        made = Closure(rules, KEY)
        made.add(ontology.triples, ontology.terms)
        made.add(triples, data.terms)
        return made, time.perf_counter() - began

    closure, closing = closed(data.triples)
    triples = closure.triples.shape[1]
    order = np.random.default_rng(seed).permutation(len(data))
    gone, rest = order[:count], np.sort(order[count:])
    began = time.perf_counter()
    closure.remove(data.triples[:, gone[:1]])
    preparing = time.perf_counter() - began
    took = []
    for first in range(1, count, together):
        began = time.perf_counter()
        closure.remove(data.triples[:, gone[first : first + together]])
        took.append(time.perf_counter() - began)
    scratch, again = closed(data.triples[:, rest])
    one, other = (each.triples[:, np.lexsort(each.triples)] for each in (closure, scratch))
    equal = np.array_equal(one, other) and closure.conflicts() == scratch.conflicts()
    return Told(closing, preparing, np.array(took), again, triples, one.shape[1], equal)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--regime", default="owl2-rl")
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--together", type=int, default=1, help="triples that are removed in one call")
    options.add_argument("--seed", type=int, default=1)
    print(removals(**vars(options.parse_args())))

"""Compares the engine with the oracle on many random cases.

    python tests/agreement/long_run.py FIRST COUNT [SHARDS…]

Prints each disagreement with the case that shows it, and a closing line with the counts.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agreement.engine_runs import engine_answers  # noqa: E402
from oracle.closure import NoClosure  # noqa: E402
from oracle.evaluate import TooManySolutions  # noqa: E402
from oracle.generator import answers, make_case  # noqa: E402
from penstock.errors import QueryError  # noqa: E402

PATIENCE = 10
"""Seconds after which a case is too large for the oracle."""


class TooSlow(BaseException):
    """The oracle takes too long over a case."""


def _too_slow(*_) -> None:
    raise TooSlow


def cases(seeds):
    """Each case with the oracle's answers, without those too large for it."""
    signal.signal(signal.SIGALRM, _too_slow)
    for seed in seeds:
        case = make_case(seed)
        signal.alarm(PATIENCE)
        try:
            expected = answers(case)
        except (TooManySolutions, NoClosure, TooSlow):
            continue
        finally:
            signal.alarm(0)
        yield case, expected


def difference(expected, found) -> str:
    lines = [
        f"   missing  {row} ×{n}" for row, n in sorted((expected - found).items(), key=repr)[:5]
    ]
    lines += [
        f"   surplus  {row} ×{n}" for row, n in sorted((found - expected).items(), key=repr)[:5]
    ]
    return "\n".join(lines)


def main(first: int, count: int, shards: list[int]) -> int:
    begun, agreed, answered, refused, wrong = time.time(), 0, 0, 0, []
    for case, expected in cases(range(first, first + count)):
        try:
            for number in shards:
                for restore in (False, True):
                    found = engine_answers(case, number, restore=restore)
                    if found != expected:
                        bad = next(
                            i for i, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]
                        )
                        raise AssertionError(
                            f"{number} shards, restore={restore}: query {bad} differs\n"
                            + difference(expected[bad], found[bad])
                        )
            agreed += 1
            answered += any(expected)
        except QueryError:
            refused += 1  # a recursion that the planner cannot prove to end
        except Exception as problem:  # noqa: BLE001 — every failure is a finding
            wrong.append(case.seed)
            if len(wrong) <= 5:
                print(case)
                if isinstance(problem, AssertionError):
                    print(problem)
                else:
                    traceback.print_exc()
                print("-" * 80, flush=True)
    print(
        f"{agreed} agreed ({answered} with answers), {refused} refused,"
        f" {len(wrong)} differ {wrong[:40]},"
        f" {time.time() - begun:.0f} s"
    )
    return bool(wrong)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(numbers[0], numbers[1], numbers[2:] or [1, 2]))

"""Compares the engine with the oracle on many random cases.

    python tests/agreement/long_run.py FIRST COUNT

Each case runs with 1, 2 or 8 shards, and in every other one shards are restored from their
stored chunks between batches. Prints each disagreement with the case that shows it, and a
closing line with the counts.
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

SHARDS = (1, 2, 8)
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
    lines = [f"   missing  {row} ×{n}" for row, n in sorted((expected - found).items(), key=repr)[:5]]
    lines += [f"   surplus  {row} ×{n}" for row, n in sorted((found - expected).items(), key=repr)[:5]]
    return "\n".join(lines)


def main(first: int, count: int) -> int:
    begun, agreed, answered, refused, wrong = time.time(), 0, 0, 0, []

    def report() -> None:
        seconds = time.time() - begun
        print(
            f"{agreed} agreed ({answered} with answers), {refused} refused,"
            f" {len(wrong)} differ {wrong[:40]}, {seconds:.0f} s",
            flush=True,
        )

    for done, (case, expected) in enumerate(cases(range(first, first + count))):
        if done and done % 500 == 0:
            report()
        shards, restore = SHARDS[case.seed % len(SHARDS)], case.seed % 2 == 1
        try:
            found = engine_answers(case, shards, restore=restore)
            if found != expected:
                bad = next(i for i, rows in enumerate(found) if rows != expected[i])
                raise AssertionError(
                    f"{shards} shards, restore={restore}: query {bad} differs\n"
                    + difference(expected[bad], found[bad])
                )
            agreed += 1
            answered += any(expected)
        except QueryError:
            refused += 1  # a recursion that may not end
        except Exception as problem:  # noqa: BLE001 — every failure is a finding
            wrong.append(case.seed)
            if len(wrong) <= 5:
                print(case)
                if isinstance(problem, AssertionError):
                    print(problem)
                else:
                    traceback.print_exc()
                print("-" * 80, flush=True)
    report()
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

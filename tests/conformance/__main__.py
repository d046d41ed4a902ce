"""`python -m tests.conformance [SUBJECT…] [--verbose]`: one line per suite, and what failed.

The subjects are the engine, with and without rules, if it is not said otherwise; `all` runs them all.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

from conformance import lubm  # noqa: E402
from conformance.manifest import EVALUATION, ConformanceTest  # noqa: E402
from conformance.running import SYNTAX, Failure, all_tests, expected_failures, run  # noqa: E402
from conformance.subjects import SUBJECTS  # noqa: E402

PASSED, FAILED, EXPECTED = "passed", "failed", "expected failures"


def verdict(test: ConformanceTest, subject: str) -> tuple[str, str]:
    """The outcome of one test, and a line about it if it is not as it should be."""
    listed = expected_failures(subject if test.kind == EVALUATION else SYNTAX).get(test.id)
    try:
        run(test, subject)
    except Exception as problem:  # a subject that breaks has failed the test, not the run
        if listed:
            return EXPECTED, ""
        about = "" if isinstance(problem, Failure) else f"{type(problem).__name__}: "
        return FAILED, f"{about}{problem}"
    if listed:
        return FAILED, f"{test.id} passes, but is listed in expected_failures.toml"
    return PASSED, ""


def report(subject: str, verbose: bool) -> int:
    """Prints one line per suite; the number of failures."""
    tests = all_tests()
    totals: Counter = Counter()
    for suite in dict.fromkeys(test.suite for test in tests):
        counts: Counter = Counter()
        for test in tests:
            if test.suite == suite:
                outcome, about = verdict(test, subject)
                counts[outcome] += 1
                if about:
                    shown = about if verbose else about.splitlines()[0]
                    print(f"  {test.id}: {shown}", file=sys.stderr)
        totals += counts
        print(line(subject, suite, counts), flush=True)
    print(line(subject, "all", totals))
    return totals[FAILED]


def report_lubm() -> int:
    """Prints a line for each mode of LUBM, which only the engine is asked; the number of failures."""
    failed = 0
    for mode in lubm.MODES:
        listed = expected_failures("lubm") if mode == "plain" else {}
        wrong = lubm.wrong(lubm.answers(mode))
        counts: Counter = Counter()
        for name in lubm.QUERIES:
            as_listed = (name in wrong) == (name in listed)
            counts[FAILED if not as_listed else EXPECTED if name in wrong else PASSED] += 1
            if not as_listed:
                print(f"  lubm/{name}: {wrong.get(name, 'passes, but is listed')}", file=sys.stderr)
        print(line("engine", f"lubm, {mode}", counts), flush=True)
        failed += counts[FAILED]
    return failed


def line(subject: str, suite: str, counts: Counter) -> str:
    figures = ", ".join(f"{counts[name]:>4} {name}" for name in (PASSED, FAILED, EXPECTED))
    return f"{subject:<10} {suite:<20} {figures}"


def main(arguments: list[str]) -> int:
    verbose = "--verbose" in arguments
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    subjects = list(SUBJECTS) if chosen == ["all"] else chosen or ["engine", "rules"]
    unknown = [subject for subject in subjects if subject not in SUBJECTS]
    if unknown:
        print(f"no subject {unknown[0]!r}; there are: {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    if not all_tests():
        print("the W3C suites were not found; set SHARED to where they are", file=sys.stderr)
        return 2
    failed = sum(report(subject, verbose) for subject in subjects)
    if "engine" in subjects and lubm.at_hand():
        failed += report_lubm()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compares the engine with the oracle, or with SQL, on many random cases.

    python tests/agreement/long_run.py oracle FIRST COUNT    some dozens of elements each
    python tests/agreement/long_run.py scopes FIRST COUNT    the same, with patterns that ask for one element
    python tests/agreement/long_run.py events FIRST COUNT    the same, with queries for each element by itself
    python tests/agreement/long_run.py sql FIRST COUNT       20,000 elements and more each
    python tests/agreement/long_run.py lives FIRST COUNT     other queries come and go meanwhile
    python tests/agreement/long_run.py queries FIRST COUNT   queries of all languages come, go and change
    python tests/agreement/long_run.py changing FIRST COUNT  histories of rows that come and leave
    python tests/agreement/long_run.py windows FIRST COUNT   continuous queries: windows, reports, sequences
    python tests/agreement/long_run.py chains FIRST COUNT    several queries in all languages, chained or not,
                                                             in event mode, with rules
    python tests/agreement/long_run.py try FIRST COUNT       files in all languages, without Spark
    python tests/agreement/long_run.py closures FIRST COUNT  rules: the engine and the fixpoint of their texts
    python tests/agreement/long_run.py paths FIRST COUNT     nested paths: the engine and what is printed
    python tests/agreement/long_run.py owlrl FIRST COUNT     RDFS and OWL 2 RL: the engine and owlrl

Cases run with 1, 2 or 8 shards, with tiny thresholds and with the real ones, some of them with late
elements, and in some of them shards are restored from their stored chunks between batches. Those of the
first three kinds, lives and histories have nested paths from number 1000000000 on. Prints each
disagreement with the case that shows it, and a closing line with the counts.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agreement import closures, large_streams  # noqa: E402
from agreement.chain_runs import everything_by_engine  # noqa: E402
from agreement.changing_runs import differences  # noqa: E402
from agreement.engine_runs import engine_answers  # noqa: E402
from agreement.histories import make_history  # noqa: E402
from agreement.history_definition import ByDefinition, differs  # noqa: E402
from agreement.history_runs import ByThemselves, given_by_run  # noqa: E402
from agreement.history_runs import compared as compared_queries  # noqa: E402
from agreement.navigation import static_case  # noqa: E402
from agreement.other_queries import disturbed  # noqa: E402
from agreement.spark_runs import spark_answers  # noqa: E402
from agreement.window_runs import given_by_engine  # noqa: E402
from agreement.window_spark_runs import as_sinks_see, runnable, spark_gives, texts_of  # noqa: E402
from oracle.cases import Case  # noqa: E402
from oracle.chains import make_chain, shrunk_chain  # noqa: E402
from oracle.closure import NoClosure  # noqa: E402
from oracle.evaluate import TooManySolutions  # noqa: E402
from oracle.generator import answers, cases, make_case  # noqa: E402
from oracle.outputs import everything  # noqa: E402
from oracle.query_histories import make_history as make_query_history  # noqa: E402
from oracle.query_histories import shrunk_history as shrunk_query_history  # noqa: E402
from oracle.scopes import event_case, scope_case  # noqa: E402
from oracle.scopes import in_event_mode as for_each_element  # noqa: E402
from oracle.stream_data import delayed  # noqa: E402
from oracle.window_generator import given_by, make_window_case, shrunk_window_case  # noqa: E402
from penstock.errors import PenstockWarning, QueryError  # noqa: E402
from penstock.languages import parse_query  # noqa: E402

SHARDS = (1, 2, 8)
PATIENCE = 10
"""Seconds after which a case is too large for the oracle."""

Outcome = tuple[int, bool]
"""How many answers a case has that agreed, and whether something came late in it."""


class TooSlow(BaseException):
    """The oracle takes too long over a case."""


class Differs(Exception):
    """The two do not agree; says where."""


def _too_slow(*_) -> None:
    raise TooSlow


def against_oracle(seed: int) -> Outcome | None:
    case = make_case(seed)
    return _compared(delayed(case) if seed % 2 else case)


def in_scopes(seed: int) -> Outcome | None:
    return _compared(scope_case(seed))


def in_event_mode(seed: int) -> Outcome | None:
    return _compared(event_case(seed))


def _compared(case: Case) -> Outcome | None:
    """Compares one case; None if it is too large for the oracle, or without a closure."""
    seed = case.seed
    signal.alarm(PATIENCE)
    try:
        expected = answers(case)
    except (TooManySolutions, NoClosure, TooSlow):
        return None
    finally:
        signal.alarm(0)
    shards, restore = SHARDS[seed % len(SHARDS)], seed % 5 > 2
    found = engine_answers(case, shards, restore=restore)
    for query, (wanted, given) in enumerate(zip(expected, found, strict=True)):
        if wanted != given:
            lines = [f"{case}\n{shards} shards, restore={restore}: query {query} differs"]
            lines += [f"   missing  {row} ×{n}" for row, n in sorted((wanted - given).items(), key=repr)[:5]]
            lines += [f"   surplus  {row} ×{n}" for row, n in sorted((given - wanted).items(), key=repr)[:5]]
            raise Differs("\n".join(lines))
    return sum(each.total() for each in expected), bool(case.late)


def with_others(seed: int) -> Outcome | None:
    """Compares a case whose run goes on with other queries beside its own, again and again."""
    for case, expected in cases([seed], late=True):
        lives = disturbed(case)
        if lives.left - lives.wanted:
            raise Differs(f"{case}\nsomething is left of removed queries")
        if lives.found != expected:
            raise Differs(f"{case}\nlives begin at {lives.cuts}: {lives.found} instead of {expected}")
        return sum(each.total() for each in expected), bool(case.late)
    return None


def coming_and_going(seed: int) -> Outcome | None:
    """Compares what queries give that begin at any time: each as by itself, and as the oracle says."""
    history, shards, restore = make_query_history(seed), SHARDS[seed % len(SHARDS)], seed % 5 > 2
    given = given_by_run(history, shards, restore=restore)
    count, lines = compared_queries(given, ByThemselves(history))
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        lines += compared_queries(given, ByDefinition(history))[1]
    except (TooManySolutions, NoClosure, TooSlow):
        pass  # that is said of each query by itself, then
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if lines:
        small = shrunk_query_history(history, lambda each: differs(each, shards, restore=restore))
        raise Differs("\n".join([str(small), f"{shards} shards, restore={restore}", *lines]))
    return count, bool(history.data.late)


def against_sql(seed: int) -> Outcome:
    case = large_streams.make_case(seed)
    count, lines = large_streams.differences(case)
    if lines:
        raise Differs("\n".join([str(case), *lines]))
    return count, not case.in_time().all()


def against_changing(seed: int) -> Outcome | None:
    """Compares one history of changes, at every instant."""
    history = make_history(seed)
    shards, restore = SHARDS[seed % len(SHARDS)], seed % 5 > 2
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        count, lines = differences(history, shards, restore=restore)
    except (TooManySolutions, NoClosure, TooSlow):
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if lines:
        raise Differs("\n".join([str(history), f"{shards} shards, restore={restore}", *lines]))
    return count, bool(history.late)


def over_windows(seed: int) -> Outcome | None:
    """Compares what a continuous query gives, instant by instant."""
    case = make_window_case(seed)
    for said in case.said:  # what no text can say (variables of a repetition, used outside) is refused
        parse_query(said.text, language=said.language.lower())
    shards, restore = SHARDS[seed % len(SHARDS)], seed % 5 > 2
    given = given_by_engine(case, shards, restore=restore)  # first: it may be refused
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        wanted = given_by(case)
    except (TooManySolutions, TooSlow):
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if wanted != given:
        small = shrunk_window_case(
            case, lambda each: given_by(each) != given_by_engine(each, shards, restore=restore)
        )
        wanted, given = given_by(small), given_by_engine(small, shards, restore=restore)
        lines = [f"{small}\n{shards} shards, restore={restore}"]
        for word, rows in ("missing", wanted - given), ("surplus", given - wanted):
            lines += [f"   {word}  {row} ×{n}" for row, n in sorted(rows.items(), key=repr)[:5]]
        raise Differs("\n".join(lines))
    return wanted.total(), bool(case.data.late)


def in_chains(seed: int) -> Outcome | None:
    """Compares what each of some queries gives that run together, some reading others' output streams."""
    case, shards = make_chain(seed), SHARDS[seed % len(SHARDS)]
    how = {"restore": seed % 5 > 2, "at_once": seed % 4 == 0}
    given = everything_by_engine(case, shards, **how)  # first: it may be refused
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        wanted = everything(case.queries, case.data, case.follows)
    except (TooManySolutions, NoClosure, TooSlow):
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if wanted != given:
        small = shrunk_chain(
            case,
            lambda each: (
                everything(each.queries, each.data, each.follows) != everything_by_engine(each, shards, **how)
            ),
        )
        raise Differs(f"{small}\n{shards} shards, {how}")
    return sum(each.total() for each in wanted), bool(case.data.late)


def without_spark(seed: int) -> Outcome | None:
    """Compares what `Engine(spark=None)` answers over files: windows, each element by itself, EP-SPARQL."""
    shards, batch_bytes = SHARDS[seed % len(SHARDS)], (300, 1500, 1_000_000)[seed // 4 % 3]
    if seed % 4 < 2:
        found = runnable(seed)
        if not found:
            return None
        run = spark_gives(found, shards, batch_bytes=batch_bytes, spark=None)
        wanted = [as_sinks_see(case, run.late) for case, _, _ in texts_of(found)]
        given, late, shown = run.answers, bool(run.late), "\n".join(map(str, found))
    else:
        case = event_case(seed) if seed % 4 == 2 else make_case(seed)
        scope = None
        if seed % 4 == 2:
            asked = tuple(for_each_element(parse_query(text).query) for text in case.queries)
            case, scope = replace(case, algebra=asked), "element"
        if case.late:
            return None
        signal.alarm(PATIENCE)
        try:
            wanted = answers(case)
        except (TooManySolutions, NoClosure, TooSlow):
            return None
        finally:
            signal.alarm(0)
        given = spark_answers(case, shards, batch_bytes=batch_bytes, query_scope=scope, spark=None)
        late, shown = False, str(case)
    for place, (right, answered) in enumerate(zip(wanted, given, strict=True)):
        if right != answered:
            raise Differs(f"{shown}\n{shards} shards, {batch_bytes} bytes a batch: query {place} differs")
    return sum(each.total() for each in wanted), late


def against_fixpoint(seed: int) -> Outcome | None:
    """Compares closures under random rules; answers are what they derive."""
    case = closures.make_case(seed)
    try:
        right = closures.expected(case)
    except closures.NoFixpoint:
        return None
    lines = closures.differences(case, right)
    if lines:
        small = closures.shrunk(case)
        raise Differs("\n".join([*lines, "", str(small), *(closures.disagreement(small) or ())]))
    derived = len(right.static) - len(case.static)
    return derived + sum(len(found) for found, _, _ in right.elements), False


def against_owlrl(seed: int) -> Outcome | None:
    """Compares a closure of the engine with owlrl's, but for owlrl's deviations."""
    from agreement import owlrl_closures

    regime = owlrl_closures.REGIMES[seed % 2]
    given = owlrl_closures.comparable(regime, seed)
    theirs = None if given is None else owlrl_closures.closed_by_owlrl(regime, given)
    if theirs is None:
        return None
    ours = owlrl_closures.closed_by_engine(regime, given)
    if ours != theirs:
        lines = [f"   only owlrl {each}" for each in sorted(map(str, theirs - ours))[:5]]
        lines += [f"   only ours  {each}" for each in sorted(map(str, ours - theirs))[:5]]
        raise Differs("\n".join([regime, *lines, *(" ".join(map(str, triple)) for triple in given)]))
    return len(ours) - len(given), False


def against_printed(seed: int) -> Outcome:
    """Compares the pairs of a nested regular expression, between all kinds of ends."""
    case, expected = static_case(seed)
    if engine_answers(case, SHARDS[seed % len(SHARDS)]) != expected:
        raise Differs(str(case))
    return sum(each.total() for each in expected), False


def compared(compare: Callable[[int], Outcome | None], seeds: range) -> Iterator[tuple[int, Counter[str]]]:
    """Compares cases; after each, its seed and the counts so far."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            outcome = compare(seed)
            if outcome is None:
                counts["left out"] += 1
            else:
                counts["agree"] += 1
                counts["with answers"] += outcome[0] > 0
                counts["with late elements"] += outcome[1]
                counts["answers"] += outcome[0]
        except QueryError:
            counts["refused"] += 1  # a recursion that may not end
        except Exception as problem:  # noqa: BLE001 — every failure is a finding
            counts["differ"] += 1
            if counts["differ"] <= 5:
                if not isinstance(problem, Differs):
                    traceback.print_exc()
                print(f"seed {seed}: {problem}\n" + "-" * 80, flush=True)
        yield seed, counts


def main(kind: str, first: int, count: int) -> int:
    begun = time.time()
    signal.signal(signal.SIGALRM, _too_slow)
    signal.signal(signal.SIGVTALRM, _too_slow)
    warnings.simplefilter("ignore", PenstockWarning)
    kinds = {
        "oracle": against_oracle,
        "scopes": in_scopes,
        "events": in_event_mode,
        "sql": against_sql,
        "changing": against_changing,
        "lives": with_others,
        "queries": coming_and_going,
        "windows": over_windows,
        "chains": in_chains,
        "try": without_spark,
        "closures": against_fixpoint,
        "paths": against_printed,
        "owlrl": against_owlrl,
    }
    compare = kinds[kind]
    counts: Counter[str] = Counter()
    for seed, counts in compared(compare, range(first, first + count)):
        if (seed - first + 1) % 100 == 0 or seed == first + count - 1:
            said = ", ".join(f"{number:,} {name}" for name, number in counts.items())
            print(f"{said}; {counts['differ']} differ; {time.time() - begun:.0f} s", flush=True)
    return bool(counts["differ"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:4])))

"""Windows at run time: when rows are in them, when they report, and what is given then (decision 0013)."""

from penstock.engine.operators import ScanOperator
from penstock.engine.windows.anti_join import AntiJoinOperator
from penstock.engine.windows.contents import (
    BegunOperator,
    CountedOperator,
    DuringOperator,
    EarliestContent,
    LatestContent,
    MatchedOperator,
    RetimedOperator,
    StampedOperator,
    TimelessOperator,
    WindowedOperator,
)
from penstock.engine.windows.cutting import CutOperator
from penstock.engine.windows.repetitions import RepetitionsOperator
from penstock.engine.windows.reporting import ReportedOperator, StreamedOperator
from penstock.plan import steps

IN_WINDOWS = {
    steps.StatedScan: ScanOperator,
    steps.DerivedScan: ScanOperator,
    steps.Matched: MatchedOperator,
    steps.Timeless: TimelessOperator,
    steps.Stamped: StampedOperator,
    steps.Retimed: RetimedOperator,
    steps.Begun: BegunOperator,
}
"""The operators that take rows one by one, whether these can leave or stay."""

WINDOWS = {
    steps.Windowed: WindowedOperator,
    steps.Counted: CountedOperator,
    steps.During: DuringOperator,
    steps.AntiJoin: AntiJoinOperator,
    steps.Earliest: EarliestContent,
    steps.Repetitions: RepetitionsOperator,
    steps.Latest: LatestContent,
    steps.Cut: CutOperator,
    steps.Reported: ReportedOperator,
    steps.Streamed: StreamedOperator,
}
"""Those that make rows leave, or look at rows that do."""

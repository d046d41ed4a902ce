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
from penstock.engine.windows.reporting import ReportedOperator, StreamedOperator
from penstock.engine.windows.runs import RunsOperator
from penstock.plan import repetitions, windowing

IN_WINDOWS = {
    windowing.StatedScan: ScanOperator,
    windowing.DerivedScan: ScanOperator,
    windowing.Matched: MatchedOperator,
    windowing.Timeless: TimelessOperator,
    windowing.Stamped: StampedOperator,
    windowing.Retimed: RetimedOperator,
    windowing.Begun: BegunOperator,
}
"""The operators that take rows one by one, whether these can leave or stay."""

WINDOWS = {
    windowing.Windowed: WindowedOperator,
    windowing.Counted: CountedOperator,
    windowing.During: DuringOperator,
    windowing.AntiJoin: AntiJoinOperator,
    windowing.Earliest: EarliestContent,
    repetitions.Runs: RunsOperator,
    windowing.Latest: LatestContent,
    windowing.Cut: CutOperator,
    windowing.Reported: ReportedOperator,
    windowing.Streamed: StreamedOperator,
}
"""Those that make rows leave, or look at rows that do."""

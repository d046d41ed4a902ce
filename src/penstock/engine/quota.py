"""How much queries may remember and answer, before a run ends instead of the machine's memory.

Shards ask while they are in the middle of a batch, each of itself; who has the figures of all shards asks
again when the batch is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import LimitError


@dataclass(frozen=True)
class Quota:
    """The limits that a run has; None: there is none."""

    state_rows: int | None = None
    state_bytes: int | None = None
    answers: int | None = None  # of each query in a batch

    @property
    def bounds_state(self) -> bool:
        return self.state_rows is not None or self.state_bytes is not None

    def check_state(self, rows: int, size: int, where: str) -> None:
        """Refuse more than may be held; `where` most of it is."""
        for held, most, unit in ((rows, self.state_rows, "rows"), (size, self.state_bytes, "bytes")):
            if most is not None and held > most:
                raise LimitError(
                    f"queries hold {held:,} {unit}, and --max-state allows {most:,}: most of it {where}",
                    hint="bound sequences by FILTER (getDURATION() < …), give their sides a variable in"
                    " common, or use windows: `penstock check` names what is remembered for ever. --max-state"
                    f" (max_state=) allows more; {_AGAIN}",
                )

    def check_answers(self, given: int, query: str) -> None:
        """Refuse more answers of a query than a batch may give."""
        if self.answers is not None and given > self.answers:
            raise LimitError(
                f"query {query} gives {given:,} answers or more in one batch, and --max-answers allows"
                f" {self.answers:,}",
                hint="`penstock check` tells of sequences whose sides share no variable: everything meets"
                " everything there; relate them, or bound them by FILTER (getDURATION() < …). --max-answers"
                f" (max_answers=) allows more; {_AGAIN}",
            )


_AGAIN = "nothing of this batch was written, and a run with the same --checkpoint begins it again"

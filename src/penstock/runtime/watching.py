"""Looks at the files of static knowledge while a run goes on, and makes a version of what has changed.

A version is written whole before anybody can see it. The planner puts the newest number into the
offset of the next batch, which is recorded before the batch runs (decision 0011).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.knowledge.files import GraphFiles
from penstock.runtime.contract import Program

LOOK_AGAIN = 0.2
"""Seconds between two looks at the files."""


class KnowledgeWatch(threading.Thread):
    """Takes changes of files over into versions, until it is stopped."""

    def __init__(self, files: GraphFiles, program: Program, report: Callable[[PenstockError], None]) -> None:
        super().__init__(name="penstock-knowledge", daemon=True)
        self.files = files
        self.program = program
        self.report = report
        self.problem: BaseException | None = None  # what it ended with, if not by `stop`
        self._enough = threading.Event()

    def run(self) -> None:
        try:
            while not self._enough.wait(LOOK_AGAIN):
                self.look()
        except BaseException as problem:  # noqa: BLE001 — raised again where the run waits
            self.problem = problem

    def look(self) -> None:
        if self.files.news(self.report):
            try:
                self.program.next_version(self.files.graphs)
            except PenstockError as problem:
                self.report(problem)

    def stop(self) -> None:
        self._enough.set()
        if self.is_alive():
            self.join()

"""What an operator sees of a run: a line at an interval, and its figures as Prometheus reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.showing import show_note, show_warning
from penstock.errors import UsageError, storage_error, storing
from penstock.runtime.progress import prometheus

if TYPE_CHECKING:
    from penstock.runtime.contract import RunStatistics

    Latest = Callable[[], RunStatistics]

HOST = "127.0.0.1"
_LOOK = 0.2
"""Seconds between two looks whether the first batch has begun."""


class Monitor:
    """Says at an interval how far a run is, from when its first batch begins (before, nothing is known).

    `tell` is called with the statistics at each interval; `place` gets them as metrics, too.
    """

    def __init__(
        self,
        latest: Latest,
        interval: float,
        tell: Callable[[RunStatistics], None] | None,
        place: MetricsFile | None,
    ) -> None:
        self.latest = latest
        self.interval = interval
        self.tell = tell
        self.place = place
        self.done = threading.Event()
        self.thread: threading.Thread | None = None
        if interval > 0 and (tell is not None or place is not None):
            self.thread = threading.Thread(target=self._watch, name="penstock-monitor", daemon=True)
            self.thread.start()

    def _watch(self) -> None:
        while not self.latest().started:
            if self.done.wait(_LOOK):
                return
        while not self.done.wait(self.interval):
            statistics = self.latest()
            if self.tell is not None:
                self.tell(statistics)
            if self.place is not None:
                self.place.write(statistics)

    def close(self) -> None:
        self.done.set()
        if self.thread is not None:
            self.thread.join()


class MetricsFile:
    """A file that always has the latest figures, whole: for node_exporter's textfile collector, say."""

    def __init__(self, path: Path, statistics: RunStatistics) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.failing = False
        with storing(path):
            self._replace(statistics)

    def _replace(self, statistics: RunStatistics) -> None:
        from penstock.sinks.journal import write_atomically  # brings in Arrow

        write_atomically(self.path, (prometheus(statistics).encode(),))

    def write(self, statistics: RunStatistics) -> None:
        """Replaces the figures; a run does not end because they cannot be written, but says so once."""
        with self.lock:
            try:
                self._replace(statistics)
                self.failing = False
            except OSError as problem:
                if not self.failing:
                    show_warning(str(storage_error(problem, self.path)))
                self.failing = True


class MetricsEndpoint:
    """Answers GET /metrics on this machine with the figures at that moment."""

    def __init__(self, port: int, latest: Latest) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # most runs have none

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] not in ("/", "/metrics"):
                    self.send_error(404)
                    return
                text = prometheus(latest()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass  # who asks is nobody's business on the terminal

        try:
            self.server = ThreadingHTTPServer((HOST, port), Handler)
        except (OSError, OverflowError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise UsageError(
                f"--metrics {port}: cannot listen at {HOST}:{port}: {reason}",
                hint="name another port, or 0 for any that is free; or a file, as in ./penstock.prom",
            ) from None
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, name="penstock-metrics", daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server.server_port}/metrics"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def open_metrics(
    place: str | None, latest: Latest, at_end: Callable[[Callable[[], None]], object], quiet: bool
) -> MetricsFile | None:
    """Gives the figures where `--metrics FILE|PORT` wants them; a file is to be written by who gets it."""
    if place is None:
        return None
    if not place.isdigit():
        return MetricsFile(Path(place), latest())
    endpoint = MetricsEndpoint(int(place), latest)
    at_end(endpoint.close)
    if not quiet:
        show_note(f"metrics at {endpoint.address}")
    return None

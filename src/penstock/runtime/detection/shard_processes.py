"""A process of its own for every live shard, so that its state stays in one place.

Spark gives a shard's task to any of its worker processes, from batch to batch another one. A
shard that lived in a worker would be elsewhere most of the time, and reading its state back
from the store costs far more than the batch. So workers only pass a step on to the shard's
shard process on the same machine. Shard processes are forked from a *spawner*, which the daemon that
also forks the workers starts before anything else, with everything imported.

A shard process ends when its run's job file is gone or replaced, or when the spawner is; in the middle of a
step, which may take minutes, the spawner ends it. It also ends when its shard has moved to another machine or
executor: every shard takes part in every batch, so a shard process is not wanted any more when the checkpoint
shows a finished batch that it has not stepped. The state store remains the truth: a shard process that is
missing is started again, and one that is at another state than the store is restored.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from penstock.errors import InternalError, PenstockError
from penstock.runtime.detection.shards import SHARD_CACHE, ShardCache, Stepped
from penstock.runtime.failures import WANT_OF_MEMORY
from penstock.runtime.job import JobReference
from penstock.runtime.recovery.checkpoint import Checkpoint

SPAWNER = "PENSTOCK_SPAWNER"
"""The environment variable that tells workers where the spawner listens."""
_LOOK = 1.0
"""Seconds between two looks whether there is still somebody to work for."""
_LONGEST_BASE = 80
"""Characters of a directory for sockets: the system takes about a hundred in the path of one."""

_ATTEMPTS = 3
"""Hosts that may die under one step: one could have been about to end, another be killed by chance."""

Chunks = Iterable[tuple[str, bytes]]


# --- the spawner and the shard processes ---


def start_spawner() -> None:
    """Fork the spawner; called once in the daemon, while it has no threads and no children."""
    base = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    if not os.path.isdir(base) or len(base) > _LONGEST_BASE:
        base = None
    # Only this user can enter a directory made so; that is what protects the sockets.
    directory = tempfile.mkdtemp(prefix="shards-", dir=base)
    address = os.path.join(directory, "spawner")
    os.environ[SPAWNER] = address
    spawner = _Spawner(directory)
    with _listening(address) as listener:
        _fork(listener, lambda: spawner.answer, spawner.look, spawner.end)


def _listening(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    return listener


def _fork(
    listener: socket.socket,
    make: Callable[[], Callable],
    is_wanted: Callable[[], bool],
    at_end: Callable[[], Any],
) -> int:
    """Fork a process that serves on a listening socket; its id, to the parent."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends us, not the terminal
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the spawner asks after its own
        _serve(listener, make(), lambda: os.getppid() == parent and is_wanted())
        at_end()
    finally:
        os._exit(0)


def _serve(listener: socket.socket, answer: Callable[[Any], Any], is_wanted: Callable[[], bool]) -> None:
    """Answer requests from any number of connections, one at a time, while wanted."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while is_wanted():
        for key, _ in selector.select(_LOOK):
            if key.fileobj is listener:
                accepted, _ = listener.accept()
                accepted.setblocking(True)
                selector.register(Connection(accepted.detach()), selectors.EVENT_READ)
                continue
            connection = cast(Connection, key.fileobj)
            try:
                request = connection.recv()
            except (EOFError, OSError):
                selector.unregister(connection)
                connection.close()
                continue
            try:
                reply = ("done", answer(request))
            except Exception as problem:
                reply = ("failed", _portable(problem))
            # If the worker was stopped meanwhile, the store tells its successor.
            with contextlib.suppress(OSError):
                connection.send(reply)


def _portable(problem: Exception) -> Exception:
    """An error that can travel: one of ours as it is, another one with its trace as text."""
    if isinstance(problem, PenstockError):
        return problem
    import traceback

    return RuntimeError("in the process of a shard:\n" + "".join(traceback.format_exception(problem)))


class _Spawner:
    """Forks a shard process per run and shard, and tells where it listens."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.count = 0
        self.processes: dict[tuple[str, int], tuple[str, int]] = {}
        self.hosts: dict[int, _ShardProcess] = {}  # by process

    def look(self) -> bool:
        """Ends the processes whose run is over, whatever they are at; True: the spawner itself is wanted."""
        for key, (_, pid) in list(self.processes.items()):
            if not _is_alive(pid):
                self._forget(key)
            elif not self.hosts[pid].is_wanted():
                _kill(pid)
                self._forget(key)
        return True

    def end(self) -> None:
        for _, pid in self.processes.values():
            _kill(pid)
        shutil.rmtree(self.directory, ignore_errors=True)

    def answer(self, request: tuple[JobReference, int, str | None]) -> str:
        reference, number, failed = request
        key = (reference.run, number)
        if failed is not None and self.processes.get(key, ("", 0))[0] == failed:
            # A shard process that is dying may look alive for a moment yet, or may hang.
            _kill(self.processes[key][1])
            self._forget(key)
        self.look()
        if key not in self.processes:
            self.count += 1
            address = os.path.join(self.directory, str(self.count))
            process = _ShardProcess(reference)
            with _listening(address) as listener:
                pid = _fork(listener, lambda: process.answer, process.is_wanted, lambda: None)
            self.processes[key] = (address, pid)
            self.hosts[pid] = process
        return self.processes[key][0]

    def _forget(self, key: tuple[str, int]) -> None:
        address, pid = self.processes.pop(key)
        del self.hosts[pid]
        with contextlib.suppress(OSError):
            os.unlink(address)


def _is_alive(pid: int) -> bool:
    """Whether a child lives; its number is nobody else's until it was asked for."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class _ShardProcess:
    """Holds one live shard."""

    def __init__(self, reference: JobReference) -> None:
        self.reference = reference
        self.file = _identity(reference.path)
        self.checkpoint = Checkpoint.of_job(Path(reference.path))
        self.shard_cache = ShardCache()
        self.batch: int | None = None  # the last one that was stepped here
        self._next_look = 0.0

    def is_wanted(self) -> bool:
        there = _identity(self.reference.path)
        return there is not None and there == self.file and not self._is_passed_over()

    def _is_passed_over(self) -> bool:
        """Whether a batch is finished in which the shard was elsewhere."""
        now = time.monotonic()
        if self.batch is None or now < self._next_look:
            return False
        self._next_look = now + _LOOK
        return self.checkpoint.last_committed() > self.batch

    def answer(self, request: tuple) -> Any:
        what, *arguments = request
        if what == "at":
            return self.shard_cache.at(self.reference.run, *arguments)
        stepped = self.shard_cache.step(self.reference, *arguments)
        self.batch = arguments[1]
        self._next_look = time.monotonic() + _LOOK
        return stepped


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


# --- the worker's side ---

_connections: dict[tuple[str, int], tuple[str, Connection]] = {}


def step(
    reference: JobReference,
    number: int,
    batch: int,
    stamp: str | None,
    stored: Callable[[], Chunks],
    payloads: list[bytes],
    watermark: int,
    ended: bool,
    knowledge: tuple[int, int] = (0, 0),
) -> Stepped:
    """Bring a shard from the state `stamp` one batch further, in its process.

    Without a spawner (a Spark whose daemon is not ours, or somebody has ended it) the shard lives in
    this process.
    """

    def chunks(at: str | None) -> list[tuple[str, bytes]] | None:
        return None if stamp is None or at == stamp else list(stored())

    moved = (payloads, watermark, ended, knowledge)
    failed: str | None = None
    for _ in range(_ATTEMPTS):
        address = _address(reference, number, failed)
        if address is None:
            here = chunks(SHARD_CACHE.at(reference.run, number))
            return SHARD_CACHE.step(reference, number, batch, stamp, here, *moved)
        try:
            connection = _connection(reference, number, address)
            there = chunks(_ask(connection, ("at", number)))
            return _ask(connection, ("step", number, batch, stamp, there, *moved))
        except (EOFError, OSError):
            # The shard process is gone; a new one restores the shard, unless it dies as well.
            failed = address
            _connections.pop((reference.run, number), None)
    raise InternalError(
        f"the process that keeps shard {number} has ended {_ATTEMPTS} times in the middle of batch {batch}",
        hint=f"most likely the system has ended it for want of memory (its log says so): {WANT_OF_MEMORY}",
    )


def _address(reference: JobReference, number: int, failed: str | None) -> str | None:
    """Where the shard's process listens; the spawner starts one if there is none but `failed`.

    None if there is no spawner.
    """
    known = _connections.get((reference.run, number))
    if known is not None:
        return known[0]
    if SPAWNER not in os.environ:
        return None
    try:
        spawner = _connect(os.environ[SPAWNER])
    except OSError:
        return None
    try:
        return _ask(spawner, (reference, number, failed))
    except (EOFError, OSError):
        return None
    finally:
        spawner.close()


def _connection(reference: JobReference, number: int, address: str) -> Connection:
    key = (reference.run, number)
    if key not in _connections:
        for stale in [each for each in _connections if each[0] != reference.run]:
            _connections.pop(stale)[1].close()
        _connections[key] = (address, _connect(address))
    return _connections[key][1]


def _connect(address: str) -> Connection:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(address)
    except OSError:
        client.close()
        raise
    return Connection(client.detach())


def _ask(connection: Connection, request: Any) -> Any:
    connection.send(request)
    outcome, value = connection.recv()
    if outcome == "failed":
        raise value
    return value

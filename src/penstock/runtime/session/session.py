"""The Spark session that Penstock runs on: embedded by default, quiet, tuned for streaming."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, is_remote

from penstock.errors import UsageError
from penstock.runtime.session.archive import archive_options
from penstock.runtime.session.java import default_cache, find_java

EMBEDDED = "local[*]"
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]")

# One thread per worker process: Spark already runs one worker per core.
SINGLE_THREADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "ARROW_IO_THREADS",
)

# What only a new Spark can be given; one that is already running does without.
STARTING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "penstock.runtime.session.daemon",
    "spark.driver.maxResultSize": "0",
    "spark.driver.memory": "2g",
    "spark.shuffle.compress": "false",  # payloads are compact columns, and stay on the machine
    "spark.shuffle.checksum.enabled": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "200",
    "spark.locality.wait": "0",
    # But a shard waits for the executor that has its state: to restore it elsewhere costs more, and it
    # would soon move back. If that one is busy for longer, an idle one helps out and keeps the shard.
    "spark.locality.wait.process": "3s",
    "spark.cleaner.periodicGC.interval": "10min",
}

# What a run cannot do without, whatever the session has; each run sets it in a session of its own.
NEEDED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # rows are payloads of megabytes
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # Errors of ours come back from workers in their traces.
    "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "false",
}

# What makes a run quick, in the same session.
QUICK = {
    "spark.sql.adaptive.enabled": "false",  # not for streams; saves planning in the others
    # A commit then writes the batch's changes only; snapshots follow in the background.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    # The default one starts some forty processes (readlink, chmod) per batch on a local disk.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.stopTimeout": "20s",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    # With it, tasks with and without state would have daemons of their own, each importing everything.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Generating code costs more than our few rows gain.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

# Java only moves payloads: the quick compiler alone starts a run in two thirds of the time.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"

_LOGGING = """
status = error
rootLogger.level = {level}
rootLogger.appenderRef.out.ref = out
appender.out.type = {appender}
appender.out.name = out
{target}
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def _logging_file(directory: Path, log: Path | None) -> Path:
    """Settings of log4j: nothing on the terminal; everything from warnings on in `log`."""
    target = f"appender.out.fileName = {log}" if log else "appender.out.target = SYSTEM_ERR"
    text = _LOGGING.format(
        level="warn" if log else "off", appender="File" if log else "Console", target=target
    )
    path = directory / "log4j2.properties"
    path.write_text(text)
    return path


def _telling_line(said: str) -> str:
    """The line of Java's words that says what is wrong, rather than one of its trace."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line.removeprefix(": ") for line in lines if not line.startswith(_NOT_TELLING)]
    return next((line for line in telling if "Exception" in line), telling[-1] if telling else "")


_NOT_TELLING = ("at ", "...", "WARNING:", "Caused by", "Setting default log level", "To adjust logging level")


def _refuse_unreachable(master: str) -> None:
    """Names a standalone master that does not answer: Spark tries for a minute, and then says nothing."""
    if not master.startswith("spark://"):
        return
    reason: OSError | None = None
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit():
            raise UsageError(f"{master} is not the address of a master", hint="write it as spark://host:7077")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
            return
        except (OSError, OverflowError) as problem:
            reason = problem if isinstance(problem, OSError) else OSError(0, "there is no such port")
    raise UsageError(
        f"the Spark master {master} cannot be reached: {reason.strerror or reason}",
        hint="is it running, and is that its address? Without --master the run is on this machine",
    )


_PATIENCE = 10.0
"""Seconds in which a master answers."""


@contextlib.contextmanager
def _quiet_start(aside: Path) -> Iterator[None]:
    """Sends what Java writes past its log to a file, and shows it if starting fails.

    Java inherits the file as its standard error for good, and so do the workers.
    """
    with open(aside, "w+b") as held:
        kept = os.dup(2)
        sys.stderr.flush()
        os.dup2(held.fileno(), 2)
        try:
            yield
        except Exception as problem:
            held.seek(0)
            said = held.read().decode(errors="replace").strip()
            raise UsageError(
                f"Spark did not start: {_telling_line(said) or _telling_line(str(problem)) or problem}",
                hint="look at the Java that is used (JAVA_HOME) and at the master's address",
            ) from problem
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def spark_home() -> Path:
    """Spark's programs and jars without its `python/lib/pyspark.zip`, in the cache directory.

    Spark puts that archive first on the path of every Python process it starts, and each then
    compiles PySpark anew, for a second or more. Without it, they find the installed PySpark.
    """
    installed = Path(pyspark.__file__).parent
    mark = hashlib.blake2b(str(installed).encode(), digest_size=4).hexdigest()
    try:
        return _linked_home(default_cache() / f"spark-{pyspark.__version__}-{mark}")
    except OSError:
        return installed  # nowhere to write: slower, but right


def _linked_home(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        with contextlib.suppress(FileExistsError):
            (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home


def _python_path() -> str:
    """Where workers find this package and the caller's own modules: our path, less Python's.

    Data lies in the working directory, and a file there may be called `random.py`: it is left out,
    unless PYTHONPATH names it.
    """
    package_root = str(Path(__file__).resolve().parents[3])
    python = tuple({sys.prefix, sys.base_prefix})
    named = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    entries = [package_root, *(os.path.abspath(entry) for entry in sys.path)]
    own = [
        entry
        for entry in dict.fromkeys(entries)
        if not entry.startswith(python)
        and os.path.isdir(entry)
        and (entry in named or entry == package_root or entry != os.getcwd())
    ]
    return os.pathsep.join(own)


def default_shards(master: str | None) -> int:
    """As many shards as the master has cores; for a cluster, as many as Spark would use."""
    running = _running()
    if running is not None:
        return running.sparkContext.defaultParallelism
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master or EMBEDDED)
    if local is None:
        return start_session(master).sparkContext.defaultParallelism
    cores = local[1] or "1"
    return (os.cpu_count() or 1) if cores == "*" else int(cores)


def _of_local_cluster(master: str, java_options: str) -> dict[str, str]:
    """What the executors of a `local-cluster[N,C,M]` need: they are on this machine, and begin with us."""
    found = _LOCAL_CLUSTER.fullmatch(master)
    if found is None:
        return {}
    workers, cores, megabytes = map(int, found.groups())
    return {
        # An executor that asks for more than a worker has is waited for for ever.
        "spark.executor.memory": f"{megabytes}m",
        "spark.executor.extraJavaOptions": java_options,
        # Counted now: Spark would count those that have come so far.
        "spark.default.parallelism": str(workers * cores),
        # The first batch decides where shards live, so all executors should be there.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }


def _running() -> SparkSession | None:
    """The session of this process that somebody has started, or None."""
    if is_remote():
        raise UsageError(
            "Penstock does not run in a session of Spark Connect, which reaches no Spark of its own",
            hint="make the session with .master(…) instead of .remote(…), without SPARK_REMOTE and"
            " spark.api.mode=connect",
        )
    # The active session is known per thread only, so we also ask for the one of the process.
    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None and running.sparkContext._jsc is not None:
        return running
    context = SparkContext._active_spark_context
    return SparkSession(context) if context is not None else None


def run_session(
    master: str | None, *, shards: int, settings: Mapping[str, str] | None = None, log: Path | None = None
) -> SparkSession:
    """A session for one run, with settings of its own, in the Spark of this process or a new one.

    Whatever else uses that Spark, be it another run, keeps the settings that it has.
    """
    session = start_session(master, settings=settings, log=log).newSession()
    needed = NEEDED | {"spark.sql.shuffle.partitions": str(shards)} | dict(settings or {})
    for key, value in (QUICK | needed).items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
        elif key in needed and _in_force(session, key) != value:
            raise UsageError(
                f"the running Spark session has {key}={_in_force(session, key)}, and this run needs {value};"
                " Spark cannot change that in a session that has started",
                hint=f'make the session with .config("{key}", "{value}")',
            )
    return session


def _in_force(session: SparkSession, key: str) -> str | None:
    """What a setting is: those of a session, of Spark, or its default."""
    try:
        return session.conf.get(key, None) or session.sparkContext.getConf().get(key)
    except PySparkException:
        return None


_handing_over = threading.Lock()
_started_here: SparkContext | None = None


@contextlib.contextmanager
def our_workers(session: SparkSession) -> Iterator[None]:
    """Within, what is handed to Spark runs in workers with this Python, package and path.

    A Spark of ours has such workers anyway; one that somebody else has started may take any
    `python3`, which knows neither this package nor the caller's own modules. Only on this
    machine: what a cluster's Python is called, we cannot know.
    """
    context = session.sparkContext
    if context is _started_here or not context.master.startswith("local"):
        yield
        return
    with _handing_over:
        python, environment = context.pythonExec, context.environment
        context.pythonExec = sys.executable
        context.environment = environment | _worker_environment()
        try:
            yield
        finally:
            context.pythonExec, context.environment = python, environment


def _worker_environment() -> dict[str, str]:
    # `python -m`, as which Spark starts its Python processes, would look for modules beside the data first.
    safe = {"PYTHONPATH": _python_path(), "PYTHONSAFEPATH": "1"}
    return safe | dict.fromkeys(SINGLE_THREADED, "1")


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Within, what is started gets a safe path (Java hands its environment on to Python processes)."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def start_session(
    master: str | None = None, *, settings: Mapping[str, str] | None = None, log: Path | None = None
) -> SparkSession:
    """The session of this process: the running one if there is one, otherwise a new one.

    `settings` wins over our own. `log` names a file for Spark's warnings.
    """
    global _started_here
    running = _running()
    if running is not None:
        return running
    _refuse_unreachable(master or EMBEDDED)
    java_home, home = find_java(), spark_home()
    os.environ["JAVA_HOME"] = str(java_home)
    # Workers run this very Python and see this very package, whatever the caller's PATH says.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    directory = Path(tempfile.mkdtemp(prefix="penstock-session-"))
    if _LOCAL_CLUSTER.fullmatch(master or EMBEDDED):
        # Its workers keep their executors' files in Spark's home.
        os.environ["SPARK_HOME"] = str(_linked_home(directory / "spark"))
    else:
        os.environ["SPARK_HOME"] = str(home)
    logging = _logging_file(directory, log)
    builder = SparkSession.builder.appName("penstock").master(master or EMBEDDED)
    options = STARTING | NEEDED | QUICK
    java_options = " ".join(
        [
            f"-Dlog4j2.configurationFile=file:{logging}",
            f"-Dlog4j.configurationFile=file:{logging}",
            JAVA_OPTIONS,
            "" if "-XX:ArchiveClasses" in JAVA_OPTIONS else archive_options(java_home, home),
        ]
    ).strip()
    options["spark.driver.extraJavaOptions"] = java_options
    options |= _of_local_cluster(master or EMBEDDED, java_options)
    options["spark.local.dir"] = str(directory)
    options["spark.sql.warehouse.dir"] = str(directory / "warehouse")
    workers = _worker_environment()
    os.environ["PYTHONPATH"] = workers["PYTHONPATH"]
    options |= {f"spark.executorEnv.{name}": value for name, value in workers.items()}
    options.update(settings or {})
    for key, value in options.items():
        builder = builder.config(key, value)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    with _quiet_start(directory / "stderr"), _safe_path():
        session = builder.getOrCreate()
    _started_here = session.sparkContext
    if log is None:
        session.sparkContext.setLogLevel("OFF")
    _without_checksum_files(session)
    return session


def _without_checksum_files(session: SparkSession) -> None:
    """Write no `.crc` beside each small file of a local checkpoint: half of all files there."""
    java = session._jvm
    local = java.org.apache.hadoop.fs.FileSystem.getLocal(session._jsc.hadoopConfiguration())
    local.setWriteChecksum(False)

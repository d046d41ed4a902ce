"""What a notebook does: it has a Spark session with settings of its own, and runs Penstock in it.

Run by test_own_session.py in a process of its own, because a process has one Spark. Prints what
happened as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.runtime.session.java import find_java

QUERY = "SELECT ?s ?a WHERE { ?s <x:p> ?a }"
LINE = "<x:s{0}> <x:p> <x:o> <x:g#t=2026-01-01T00:00:{0:02d}Z> .\n"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
    "spark.sql.streaming.stateStore.encodingFormat": "avro",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.executorEnv.PYTHONPATH": "/nowhere",
}


def main(directory: Path, master: str) -> dict:
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ["PYSPARK_PYTHON"] = "no-such-python"
    builder = SparkSession.builder.master(master)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "6")
    context = session.sparkContext

    def state() -> list:
        return [dict(session.conf.getAll), dict(context.environment), context.pythonExec]

    before = state()
    import penstock

    stream = directory / "stream.nq"
    stream.write_text("".join(map(LINE.format, range(20))))
    told: dict = {"given": session.conf.get("spark.sql.shuffle.partitions")}

    def run(shards: int) -> None:
        engine = penstock.Engine(shards=shards, batch_bytes=600)
        told[f"{shards} shards"] = len(engine.add_stream(stream).add_query(QUERY).answers())

    together = [threading.Thread(target=run, args=(shards,)) for shards in (1, 3)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()

    (directory / "broken.nq").write_text("this is no line of N-Quads\n")
    engine = penstock.Engine(strict=True).add_stream(directory / "broken.nq").add_query(QUERY)
    for settings in (None, {"spark.driver.memory": "3g"}):
        engine.options.settings = settings
        try:
            engine.answers()
        except penstock.PenstockError as problem:
            told[f"with {settings}"] = problem.message
    told["as before"] = state() == before and SparkSession.getActiveSession() is session
    session.stop()
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))

"""The peer of `penstock bench start`: the smallest PySpark script with a Python data source and state.

One element, one batch, one `transformWithState`; Spark as it comes, but for the store that state
needs and as many partitions as there are cores. Run as a script of its own.
"""

import os

from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.stateful_processor import StatefulProcessor


class Reader(DataSourceStreamReader):
    def initialOffset(self):
        return {"at": 0}

    def latestOffset(self):
        return {"at": 1}

    def partitions(self, start, end):
        return [InputPartition(0)]

    def read(self, partition):
        yield (1, "4.2")


class Source(DataSource):
    @classmethod
    def name(cls):
        return "smallest"

    def schema(self):
        return "key int, value string"

    def streamReader(self, schema):
        return Reader()


class Processor(StatefulProcessor):
    def init(self, handle):
        self.last = handle.getValueState("last", "value string")

    def handleInputRows(self, key, rows, timer):
        for row in rows:
            self.last.update((row.value,))
            yield Row(key=key[0], value=row.value)

    def close(self):
        pass


def main() -> None:
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.shuffle.partitions", os.cpu_count())
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    session.dataSource.register(Source)
    stream = session.readStream.format("smallest").load()
    answers = stream.groupBy("key").transformWithState(
        statefulProcessor=Processor(),
        outputStructType="key int, value string",
        outputMode="Append",
        timeMode="None",
    )
    query = (
        answers.writeStream.foreachBatch(lambda frame, batch: print(frame.collect(), flush=True))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()

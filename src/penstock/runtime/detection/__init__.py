"""The shards on Spark: where they live, and how far their time has come."""

"""The way in: splits of the sources, decoded and routed to the shards."""

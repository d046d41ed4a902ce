"""Penstock detects complex events in RDF streams and reasons over them while they flow."""

__version__ = "0.1.0"

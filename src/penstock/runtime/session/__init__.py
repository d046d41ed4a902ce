"""Spark itself: Java, the session, its worker processes."""

"""Background knowledge: static graphs."""

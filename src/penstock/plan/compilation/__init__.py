"""Algebra to steps."""

"""The timed algebra that every language compiles to."""

from penstock.algebra.nodes import *  # noqa: F401,F403

"""Penstock detects complex events in RDF streams and reasons over them while they flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import (
    InputError,
    LimitError,
    PenstockError,
    PenstockWarning,
    QueryError,
    StorageError,
    UsageError,
)

if TYPE_CHECKING:
    from penstock.api.engine import Batch, Engine
    from penstock.api.materialisation import Materialised, materialise
    from penstock.api.results import Answers, Solution

__version__ = "0.1.0"
__all__ = [
    "Answers", "Batch", "Engine", "InputError", "LimitError", "Materialised", "PenstockError",
    "PenstockWarning", "QueryError", "Solution", "StorageError", "UsageError", "__version__", "materialise",
]  # fmt: skip

_LAZY = {
    "Engine": "api.engine",
    "Batch": "api.engine",
    "Answers": "api.results",
    "Solution": "api.results",
    "Materialised": "api.materialisation",
    "materialise": "api.materialisation",
}


def __getattr__(name: str):
    """Loads the interface when it is first used: importing Spark takes a while."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f"penstock.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")

"""Where the test suites lie that are shared between projects and not part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def shared(*parts: str) -> Path | None:
    """A file or folder below $SHARED, or below `shared` beside the repository; None if absent."""
    root = Path(os.environ.get("SHARED") or REPOSITORY.parent / "shared")
    path = root.joinpath(*parts)
    return path if path.exists() else None

"""Where the versions of static knowledge that changes are kept: a file each, known by its number.

A version holds for the elements of some batches; its number stands in their offsets, so a batch that
is repeated finds it again. This module is imported by the little process that plans batches, and so
keeps its imports light.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

KNOWLEDGE = "knowledge"
"""The directory beside a run's job for what is too large to travel."""
_NAME = re.compile(r"(\d+)\.arrow")


def version_path(directory: Path, version: int) -> Path:
    return directory / f"{version}.arrow"


def versions_in(directory: Path) -> list[int]:
    """The versions that are there, the oldest first; a file is only there whole."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))


def forget_versions(directory: Path, before: int) -> None:
    """Deletes the versions before one: no batch can ask for them any more."""
    for version in versions_in(directory):
        if version < before:
            version_path(directory, version).unlink(missing_ok=True)

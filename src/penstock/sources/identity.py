"""Which file is which: by what it begins with and what stands before the place it was read to.

A name says little: logs are rotated, files are replaced under their names. So a segment carries a
mark of the bytes that it ends with, and whoever reads the segment looks whether the file under the
name has them; if not, whether the same file has another name in its directory now.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

_LOOKED_AT = 1024
"""Bytes at the beginning, and before the end, that tell a file from others."""


@dataclass(frozen=True)
class Mark:
    """What is known of a file whose first `end` bytes are known."""

    inode: int
    end: int
    head: str
    tail: str


def mark_of(path: str, end: int) -> Mark:
    with open(path, "rb") as file:
        inode = os.fstat(file.fileno()).st_ino
        return Mark(inode, end, *_digests(file, end))


def _digests(file, end: int) -> tuple[str, str]:
    head = file.read(min(end, _LOOKED_AT))
    begin = max(0, end - _LOOKED_AT)
    file.seek(begin)
    return _digest(head), _digest(file.read(end - begin))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def has(path: str, mark: Mark) -> bool:
    """Whether a file begins with the bytes that a mark was made of."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < mark.end:
                return False
            return _digests(file, mark.end) == (mark.head, mark.tail)
    except FileNotFoundError:
        return False


def place_of(path: str, mark: Mark) -> str | None:
    """Where a file is now that had a name: there, under another name beside it, or nowhere."""
    return path if has(path, mark) else renamed(path, mark)


def renamed(path: str, mark: Mark) -> str | None:
    """The other name that a file has in its directory, or None."""
    others = names_by_inode(os.path.dirname(path) or ".").get(mark.inode, ())
    return next((other for other in others if other != path and has(other, mark)), None)


def names_by_inode(folder: str) -> dict[int, list[str]]:
    """The paths in a directory, by what they lead to."""
    names: dict[int, list[str]] = {}
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                names.setdefault(each.inode(), []).append(each.path)
    except FileNotFoundError:
        pass
    return names

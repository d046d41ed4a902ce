"""Numba's `njit` for our kernels, with a cache that knows all sources that a kernel is made from.

Numba freezes the constants and functions that a kernel takes from other modules into its compiled
code, but asks only whether the kernel's own file has changed before it uses that code again. Here
the code of a module's kernels is kept in a directory named after the contents of the module and
of everything in its package that it imports, directly or not. So two versions of the sources can
never share a file, not even while both are running.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

_NAMES = r"\((?:[^)#]|#[^\n]*)*\)|(?:[^\n#\\]|\\\n)+"
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*({_NAMES})|import[ \t]+({_NAMES}))", re.MULTILINE
)
_NAME = re.compile(r"([\w.]+)(?:\s+as\s+\w+)?")


def njit(*, cache: bool = True, allocates: bool = True, **options: Any) -> Callable[[Callable], Callable]:
    """As `numba.njit`; `cache` keeps the compiled code where the next process finds it.

    A kernel that `allocates` nothing counts no references to the arrays that it passes on, which would
    take longer than most of what ours do with them.
    """

    def compiled(function: Callable) -> Callable:
        dispatcher = numba.njit(_nrt=allocates, **options)(function)
        if cache:
            # Without a place to write, every process compiles anew: slower, but right.
            try:
                dispatcher._cache = _KernelCache(function)
            except (OSError, RuntimeError):
                _not_kept.append(os.path.join(os.path.dirname(function.__code__.co_filename), "__pycache__"))
        return dispatcher

    return compiled


_not_kept: list[str] = []


def not_kept() -> str | None:
    """Why compiled code is not kept for the next process, and what to do; None if it is."""
    if not _not_kept:
        return None
    given = os.environ.get(MOVED_BY)
    place = f"{given} ({MOVED_BY})" if given else f"{_not_kept[0]}, nor in the user's cache directory"
    return (
        f"compiled code cannot be kept in {place}: every run compiles its kernels anew, for half a minute"
        f" or more\n  hint: set {MOVED_BY} to a directory that can be written"
    )


MOVED_BY = "NUMBA_CACHE_DIR"


class _KernelCache(FunctionCache):
    """Numba's cache where Numba would put it, in a directory of its own for these sources."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        module = function.__module__
        name = module.rpartition(".")[2]
        self._cache_path = os.path.join(self._cache_path, f"{name}.{sources_digest(module)}")
        if not os.path.isdir(self._cache_path):
            _remove_older(Path(self._cache_path))
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, source_stamp=None)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            os.makedirs(self._cache_path, exist_ok=True)
            super().save_overload(sig, data)
        except FileNotFoundError:
            pass  # another version has tidied up
        except OSError:  # a full disk, a directory that has become another's
            _not_kept.append(self._cache_path)


def _remove_older(place: Path) -> None:
    """Remove what was compiled from other contents of the same module."""
    mark = place.name.rpartition(".")[2]
    for other in place.parent.glob(f"{place.name.removesuffix(mark)}{'[0-9a-f]' * len(mark)}"):
        shutil.rmtree(other, ignore_errors=True)


# --- what a module is made from ---


@functools.cache
def sources_digest(module: str) -> str:
    """A digest of the sources of a module and of all modules of its package that it imports."""
    package = module.partition(".")[0]
    seen = {module}
    waiting = [module]
    while waiting:
        for imported in _imports(package, waiting.pop()) - seen:
            seen.add(imported)
            waiting.append(imported)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(seen):
        digest.update(b"%s\0%s\0" % (name.encode(), _source(name)[1]))
    return digest.hexdigest()


@functools.cache
def _source(module: str) -> tuple[str, bytes] | None:
    """The file of a module and what is in it; None if it has none, as in an archive."""
    package, *inside = module.split(".")
    for place in sys.modules[package].__path__:
        path = os.path.join(place, *inside)
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
            with contextlib.suppress(OSError), open(candidate, "rb") as source:
                return candidate, source.read()
    return None


@functools.cache
def _imports(package: str, module: str) -> frozenset[str]:
    """The modules of a package that one of them imports from, wherever in its text."""
    source = _source(module)
    if source is None:
        raise FileNotFoundError(f"the source of {module} is not a file")
    path, text = source
    found: set[str] = set()
    for name in _named(text.decode(), module, is_package=path.endswith("__init__.py")):
        # The last word may be a module or something inside one.
        for candidate in (name, name.rpartition(".")[0]):
            if candidate.partition(".")[0] == package and _source(candidate):
                found.add(candidate)
                break
    return frozenset(found)


def _named(text: str, module: str, is_package: bool) -> Iterator[str]:
    """What a module's imports name, in full: `from a.b import c` names `a.b.c`."""
    for base, names, plain in _IMPORT.findall(text):
        dots = len(base) - len(base.lstrip("."))
        if dots:
            inside = module.split(".") + ["x"] * is_package
            base = ".".join([*inside[:-dots], *filter(None, [base[dots:]])])
        for name in _NAME.findall(re.sub(r"#[^\n]*", "", names or plain)):
            yield f"{base}.{name}" if base else name

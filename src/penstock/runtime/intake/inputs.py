"""What can be known of streams before anything is read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from penstock.decode.formats import SUFFIXES, Compression, Format, split_suffixes
from penstock.errors import Finding, UsageError, is_there, may_not_read
from penstock.sources.segments import files_below, listed, unread_files
from penstock.sources.streams import STANDARD_INPUT, StreamSpec


def check_inputs(streams: Sequence[StreamSpec], *, follow: bool = False) -> None:
    """Refuse at once what the planner would only find after Spark has started.

    A directory may be empty only if the run waits for what will come.
    """
    if sum(spec.from_standard_input for spec in streams) > 1:
        raise UsageError("only one stream can come from standard input")
    for spec in streams:
        for path in spec.paths:
            if path == STANDARD_INPUT:
                continue
            if not is_there(path):
                raise UsageError(f"there is no file or directory {path}")
            if not os.access(path, os.R_OK):
                raise may_not_read(path)
            if not os.path.isdir(path):
                form = spec.format_for(path)
                plain = split_suffixes(path)[1] is Compression.NONE
                if form in (Format.CSV, Format.PARQUET) and plain and os.path.isfile(path):
                    from penstock.decode.mapping.document import read_map
                    from penstock.decode.tables import check_table  # compiled code that RDF does not need

                    check_table(path, form, read_map(json.loads(spec.map)) if spec.map else None)
            elif not follow and not files_below(Path(path), spec.format):
                others = unread_files(Path(path), spec.format)
                raise UsageError(
                    f"the directory {path} has no file of a stream"
                    + (f", only {listed(others)}" if others else ": it is empty"),
                    hint="files are known by their endings "
                    + " ".join(SUFFIXES)
                    + " (also .gz and .zst), or name their format",
                )


def input_findings(streams: Sequence[StreamSpec]) -> list[Finding]:
    """What is not read though it stands where a stream does."""
    found = []
    for spec in streams:
        for path in spec.paths:
            if path != STANDARD_INPUT and os.path.isdir(path):
                others = unread_files(Path(path), spec.format)
                if others:
                    found.append(
                        Finding(
                            "unread-file",
                            f"the directory {path} has files that are not read: {listed(others)}",
                            hint="their endings name no format of a stream; rename or remove them",
                        )
                    )
    return found

"""`penstock map`: a first map for a table, to be corrected by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Debug
from penstock.cli.showing import show_note


def map_(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table: CSV, Parquet or JSON lines.", show_default=False)
    ],
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="csv, parquet or jsonl, where the file's name does not tell."),
    ] = None,
    static: Annotated[
        bool,
        typer.Option(
            "--static",
            help="A map for --graph: static knowledge has no time, and a row is about what its key names."
            " [default: if no column looks like a time]",
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Suggests a map for a table: what its columns mean in RDF, and where its time stands.

    It is a guess from the first rows: read it, correct it,
    and give it to `penstock run --map`.

        penstock map readings.csv > readings.map.json
        penstock run hot.rq --stream readings.csv --map readings.map.json

        penstock map rooms.csv --static > rooms.map.json
        penstock run floors.rq --graph rooms.csv --map rooms.map.json
    """
    from penstock.decode.mapping.document import TIME
    from penstock.decode.mapping.suggest import suggest_for, suggested_text

    found = suggest_for(table, format, static=static or None)
    typer.echo(suggested_text(found))
    formats = found.get(TIME, {}).get("format")
    swapped = [
        re.sub("dd|MM", lambda part: {"dd": "MM", "MM": "dd"}[part[0]], each) for each in formats or ()
    ]
    if isinstance(formats, list) and set(formats) & set(swapped):
        show_note(
            "the day or the month may come first: cells that can be read both ways are rejected;"
            " leave out the format that is not meant"
        )
    if not static and TIME not in found:
        show_note(
            f"no column of {table} looks like a time, so this map is for --graph; for a stream, say"
            f' where the time stands: "{TIME}": {{"instant": …, "format": …}} (docs/tables.md)'
        )

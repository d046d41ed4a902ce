"""`penstock map`: a first map for a table, to be corrected by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Debug


def map_(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table: CSV, Parquet or JSON lines.", show_default=False)
    ],
    format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="csv, parquet or jsonl, where the file's name does not tell."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Suggests a map for a table: what its columns mean in RDF, and where its time stands.

    It is a guess from the first rows: read it, correct it,
    and give it to `penstock run --map`.

        penstock map readings.csv > readings.map.json
        penstock run hot.rq --stream readings.csv --map readings.map.json
    """
    from penstock.decode.mapping.suggest import suggest_for, suggested_text

    typer.echo(suggested_text(suggest_for(table, format)))

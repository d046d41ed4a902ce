"""`penstock check`: is the query right? Without running it."""

from __future__ import annotations

import typer

from penstock.cli.options import (
    Debug,
    Feed,
    Graphs,
    Language,
    Queries,
    Quiet,
    Streams,
    existing_queries,
    read_named,
)
from penstock.cli.showing import count, show_error, show_finding, show_note
from penstock.errors import InputError


def check(
    queries: Queries,
    stream: Streams = [],  # noqa: B006
    graph: Graphs = [],  # noqa: B006
    feed: Feed = True,
    language: Language = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Parses and analyses queries without running them.

    Errors stop a query from running. Warnings tell what probably was not meant: state that
    grows without bound, a sequence whose parts share nothing, a variable that can never be
    bound, a stream that no query reads.

        penstock check fall.rq
        penstock check rules/*.rq --stream http://example.org/prices=prices.nq

    Exit code 1 if a query has an error; warnings alone are fine.
    """
    existing_queries(queries)
    from penstock import pipeline

    parsed, errors = [], 0
    for path in queries:
        try:
            parsed.extend(pipeline.parse([path], language=language))
        except InputError as problem:
            errors += 1
            show_error(problem.render())
    warnings = 0
    if parsed and not errors:
        streams = [read_named(text, "--stream") for text in stream]
        graphs = [read_named(text, "--graph") for text in graph]
        for query, finding in pipeline.check(parsed, streams, graphs, feed=feed):
            warnings += 1
            text, origin = (query.text, query.origin) if query is not None else (None, None)
            show_finding(finding, text, origin)
    if not quiet:
        show_note(
            f"{count(len(parsed) + errors, 'query', 'queries')}:"
            f" {count(errors, 'error')}, {count(warnings, 'warning')}"
        )
    if errors:
        raise typer.Exit(1)

"""`penstock check`: is the query right? Without running it."""

from __future__ import annotations

from dataclasses import replace

import typer

from penstock.cli.options import (
    AllRules,
    Base,
    Debug,
    Feed,
    Graphs,
    Language,
    MapFiles,
    Maps,
    Named,
    Ontologies,
    Queries,
    QueryScope,
    Quiet,
    Rules,
    RuleScope,
    Streams,
    Within,
    existing_queries,
    read_duration,
    read_named,
)
from penstock.cli.showing import count, show_error, show_finding, show_note
from penstock.errors import InputError, QueryError


def check(
    queries: Queries,
    stream: Streams = [],  # noqa: B006
    graph: Graphs = [],  # noqa: B006
    ontology: Ontologies = [],  # noqa: B006
    rules: Rules = [],  # noqa: B006
    scope: RuleScope = "element",
    within: Within = None,
    all_rules: AllRules = False,
    feed: Feed = True,
    query_scope: QueryScope = None,
    map: MapFiles = [],  # noqa: B006
    language: Language = None,
    base: Base = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Parses and analyses queries without running them.

    Errors stop a query from running. Warnings tell what probably was not meant: state that
    grows without bound, a sequence whose parts share nothing, a variable that can never be
    bound, a stream that no query reads, counts of readings of which equal ones are one.

        penstock check fall.rq
        penstock check rules/*.rq --stream http://example.org/prices=prices.nq
        penstock check staff.rq --rules owl2-rl --scope stream --within 10m

    Exit code 1 if a query has an error; warnings alone are fine.
    """
    existing_queries(queries)
    from penstock import pipeline
    from penstock.algebra.scopes import scope_named
    from penstock.api.arguments import iri_or_none
    from penstock.decode.mapping.document import read_map
    from penstock.knowledge.graphs import read_graphs
    from penstock.rules.executors import RuleConfig
    from penstock.rules.library import ruleset

    base = iri_or_none(base, "base")
    texts, errors = [], 0
    for path in queries:
        try:
            texts.append(pipeline.read(path, language=language, base=base))
        except InputError as problem:
            errors += 1
            show_error(problem.render())
    parsed = [query for text in texts for query in text.queries]
    parsed = pipeline.in_scope(parsed, query_scope)
    warnings, found = 0, []
    unread = errors
    try:
        found = ruleset(rules, texts)
    except QueryError as problem:
        errors += 1
        show_error(problem.render())
    if parsed and errors == unread:
        graphs = [read_named(text, "--graph") for text in graph]
        graphs += [Named(None, read_named(text, "--ontology").source) for text in ontology]
        maps = Maps(map, graphs, stream)
        described = [
            None if (own := maps.of_graph(each)) is None else read_map(own, static=True) for each in graphs
        ]
        repeats = read_map(maps.timed[0][0]).repeats if maps.timed else None
        streams = []
        for each in (read_named(text, "--stream") for text in stream):
            own = maps.of_stream(each)
            streams.append(replace(each, repeats=None if own is None else read_map(own).repeats))
        if any(query.query.continuous for query in parsed):  # what a window shows depends on what is known
            graphs = [
                part
                for each, own in zip(graphs, described, strict=True)
                for part in read_graphs(each.source, each.iri, base, map=own)
            ]
        bound = None if within is None else read_duration(within, "--within")
        entailment = RuleConfig(tuple(found), scope_named(scope), bound, all_rules)
        options = {"feed": feed, "entailment": entailment, "repeats": repeats}
        for query, finding in pipeline.check(parsed, streams, graphs, **options):
            if query is None and unread and finding.code.startswith("unread"):
                continue  # who knows what the files read that cannot be read themselves
            warnings += 1
            text, origin = (query.text, query.origin) if query is not None else (None, None)
            show_finding(finding, text, origin)
    if not quiet:
        counts = [count(len(parsed) + errors, "query", "queries")] if parsed or errors or not found else []
        counts += [count(len(found), "rule")] if found else []
        show_note(f"{', '.join(counts)}: {count(errors, 'error')}, {count(warnings, 'warning')}")
    if errors:
        raise typer.Exit(1)

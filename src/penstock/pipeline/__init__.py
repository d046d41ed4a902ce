"""Read this first: what becomes of a query, from its text to its answers.

    text ──parse──▶ algebra ──plan──▶ steps ──program──▶ shards on Spark ──▶ answers

Each stage can be used and looked at alone: `penstock check` stops after the analysis,
`penstock explain` shows what each stage made of a query, `penstock run` goes all the way.
"""

from penstock.pipeline.planning import (
    STAGES,
    algebra,
    assumed_sources,
    catalog_of,
    check,
    explain,
    findings,
    plan,
    program,
)
from penstock.pipeline.reading import in_scope, parse, read

__all__ = [
    "STAGES",
    "algebra",
    "assumed_sources",
    "catalog_of",
    "check",
    "explain",
    "findings",
    "in_scope",
    "parse",
    "plan",
    "program",
    "read",
]

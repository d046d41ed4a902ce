"""Which rules can contribute to the answers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.algebra.nodes import ParsedQuery
from penstock.rules.rule import Rule


@dataclass(frozen=True)
class Selected:
    """A rule that a run uses, and why."""

    rule: Rule
    reason: str = ""


def selected(
    rules: Sequence[Rule], queries: Sequence[ParsedQuery], knowledge: Any = None
) -> tuple[Selected, ...]:
    """The rules that can change an answer of the queries, given what is known; all of them so far."""
    return tuple(map(Selected, rules))

"""Which executor runs a rule: this is the one place that decides.

A rule says what follows (INSERT … WHERE …), or what must not be (a check). There are two executors:

* the **kernel** (`penstock.reason`) closes rows under rules, without time: static knowledge, or one element
  above it;
* the **network** (`penstock.engine`) runs rules as queries of the run (`constructs`): CONSTRUCT for what
  follows, with the hull of the premises' intervals, SELECT for checks.

| what rules are applied to       | scope   | executor, where and when                                     |
|---------------------------------|---------|--------------------------------------------------------------|
| static knowledge                | element | the kernel, in the process that starts the run, before the   |
|                                 |         | plan; while it is followed, whenever it changes              |
| an element, by itself           | element | the kernel, in the tasks that read, before patterns match    |
| static knowledge and elements,  | stream  | the network, in the shards, with the queries; the kernel     |
| in any combination              |         | closes static knowledge only to tell contradictions early    |
| files (`penstock reason`)       | –       | the kernel, in process                                       |

`entailment` has the kernel do its part, `pipeline.program` plans the network's. A CONSTRUCT query of the
user's is no rule of these: it is a query whose answers others read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.algebra.nodes import ParsedQuery
from penstock.algebra.scopes import ELEMENT, STREAM, Scope
from penstock.errors import UsageError
from penstock.rules.constructs import checks, constructs, making_terms
from penstock.rules.expressions import Triple, with_direct_semantics
from penstock.rules.rule import Rule


class Executor(StrEnum):
    """Who runs the rules on what streams bring."""

    KERNEL = "kernel"
    NETWORK = "network"


EXECUTORS = {ELEMENT: Executor.KERNEL, STREAM: Executor.NETWORK}
"""By the scope of rules: where their premises may come from, besides static knowledge."""


@dataclass(frozen=True)
class RuleConfig:
    """The rules of a run, and how they apply to streams."""

    rules: tuple[Rule, ...] = ()
    scope: Scope = ELEMENT
    within: int | None = None  # µs: how far apart premises may be, in the scope of streams
    all_rules: bool = False  # also those that can change no answer

    @property
    def executor(self) -> Executor | None:
        """Who runs the rules on streams; None if there are none."""
        return EXECUTORS[self.scope] if self.rules else None

    @property
    def left_out(self) -> tuple[Rule, ...]:
        """The rules of regimes that do not run over streams."""
        return making_terms(self.rules) if self.executor is Executor.NETWORK else ()


@dataclass(frozen=True)
class Applied:
    """The queries of a run as its rules have them, and the rules that run as queries beside them."""

    queries: tuple[ParsedQuery, ...]
    executor: Executor | None = None
    checks: tuple[tuple[Rule, ParsedQuery], ...] = ()  # that find contradictions in streams
    constructs: tuple[ParsedQuery, ...] = ()  # that feed the others, and give nothing out
    expressions: tuple[Triple, ...] = ()  # what is said of the class expressions in the queries

    @property
    def planned(self) -> tuple[ParsedQuery, ...]:
        """All queries of the run: what gives nothing out comes last."""
        return *self.queries, *(query for _, query in self.checks), *self.constructs


def applied(queries: Sequence[ParsedQuery], entailment: RuleConfig, *, feed: bool = True) -> Applied:
    """What the rules of a run make of its queries; what cannot be is refused."""
    refuse_scopes(
        entailment.scope,
        within=entailment.within,
        feed=feed,
        queries=[each.query.scope for each in queries],
        windows=bool(entailment.rules) and any(each.query.continuous for each in queries),
    )
    rules, within = entailment.rules, entailment.within
    changed, said = with_direct_semantics(queries, rules)
    if entailment.executor is not Executor.NETWORK:
        return Applied(tuple(changed), entailment.executor, expressions=said)
    left_out = entailment.left_out
    rules = tuple(rule for rule in rules if rule not in left_out)
    return Applied(
        tuple(changed),
        entailment.executor,
        tuple(checks(rules, within)),
        tuple(constructs(rules, within)),
        said,
    )


def refuse_scopes(
    scope: Scope,
    *,
    within: int | None = None,
    feed: bool = True,
    queries: Iterable[Scope] = (),
    windows: bool = False,
) -> None:
    """Refuse what does not go together with the scope of rules."""
    if scope is not STREAM:
        if within is not None:
            raise UsageError(
                "within bounds how far apart the elements may be that a rule takes together: it takes one",
                hint="add --scope stream (scope='stream'), or leave it out",
            )
        return
    if not feed:
        raise UsageError(
            "rules over streams feed queries, so --scope stream and --no-feed exclude each other"
        )
    if ELEMENT in queries:
        raise UsageError(
            "queries that look at one element do not see what rules derive from several:"
            " --query-scope element and --scope stream exclude each other",
            hint="leave one of them out: rules with --scope element apply to each element by itself",
        )
    if windows:
        raise UsageError(
            "what rules derive from several elements is in no window: queries over windows and --scope stream"
            " exclude each other",
            hint="rules with --scope element apply to each element, and what follows is in its windows",
        )

"""The steps of a plan as a network: who feeds whom, and in which order they run.

An edge is *delayed* if what comes out ends strictly later than what went in: into the left
side of SEQ and the optional side of OPTIONALSEQ (`Step.delayed`). Steps that feed each other in a circle
(recursive rules) form a unit that runs until nothing new comes, before the steps that it feeds.
The planner has refused circles through absence without a delayed edge; where a circle with
absence has one, the unit takes a step of the clock instant by instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.algebra.nodes import TriplePattern, Var
from penstock.plan import steps
from penstock.plan.analysis.rules import components
from penstock.plan.sources import rule_graphs
from penstock.plan.steps import Step
from penstock.terms import BlankNode, Literal


@dataclass(frozen=True)
class Edge:
    """Rows of step `source` go into input `slot` of step `target`."""

    source: int
    target: int
    slot: int
    derived: bool = False  # triples of a rule, which the scan still has to match
    delayed: bool = False


@dataclass
class Unit:
    """Steps that run together: one, or several that feed each other in a circle.

    `groups` orders them along edges that are not delayed; a group of several is a circle of its
    own and runs until nothing new comes.
    """

    groups: list[list[int]]
    leads_back: bool = False  # a delayed edge leads to an earlier group
    by_instant: bool = False  # and absence is decided on the way


@dataclass
class Network:
    """All steps of a plan, inputs before their users, with edges and the units in their order."""

    steps: list[Step]
    edges: list[Edge] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)

    def outgoing(self) -> list[list[Edge]]:
        out: list[list[Edge]] = [[] for _ in self.steps]
        for edge in self.edges:
            out[edge.source].append(edge)
        return out


def network(results: Iterable[Step]) -> Network:
    """The network of the given last steps."""
    found: dict[Step, int] = {}
    for result in results:
        for step in result.walk():
            found.setdefault(step, len(found))
    net = Network(list(found))
    for step, target in found.items():
        for slot, below in enumerate(step.inputs):
            net.edges.append(Edge(found[below], target, slot, delayed=step.delayed(slot)))
    rules = [(step, place) for step, place in found.items() if _is_rule(step)]
    for scan, target in found.items():
        written = rule_graphs(scan.sources) if isinstance(scan, steps.Scan) else ()
        if written:
            for rule, source in rules:
                if rule.target in written and any(_can_match(triple, scan) for triple in rule.template):
                    net.edges.append(Edge(source, target, 0, derived=True))
    circles = components(len(net.steps), [(edge.source, edge.target) for edge in net.edges])
    net.units = [_unit(net, circle) for circle in circles]
    return net


def _unit(net: Network, circle: list[int]) -> Unit:
    if len(circle) == 1:
        return Unit([circle])
    number = {step: i for i, step in enumerate(circle)}
    inside = [edge for edge in net.edges if edge.source in number and edge.target in number]
    standing = [(number[edge.source], number[edge.target]) for edge in inside if not edge.delayed]
    groups = [[circle[i] for i in group] for group in components(len(circle), standing)]
    place = {step: i for i, group in enumerate(groups) for step in group}
    leads_back = any(edge.delayed and place[edge.target] <= place[edge.source] for edge in inside)
    return Unit(groups, leads_back, any(net.steps[i].waits for i in circle))


def _is_rule(step: Step) -> bool:
    return isinstance(step, steps.Constructed) and step.feeds


def _can_match(triple: TriplePattern, scan: steps.Scan) -> bool:
    for made, wanted in zip(triple, (scan.subject, scan.predicate, scan.object), strict=True):
        if isinstance(wanted, str) or isinstance(made, Var):
            continue
        if isinstance(made, BlankNode) or made != wanted:
            return False
    return not isinstance(triple.subject, Literal)

"""The steps of a plan as a network: who feeds whom, and in which order they run.

An edge is *delayed* if what comes out ends strictly later than what went in: into the left
side of SEQ and the optional side of OPTIONALSEQ (`Step.delayed`). Steps that feed each other in a circle
(recursive rules) form a unit that runs until nothing new comes, before the steps that it feeds.
The planner has refused circles through absence without a delayed edge; where a circle with
absence has one, the unit takes a step of the clock instant by instant.

A query's *generation* is the batch that it began with. Equal steps of queries of one generation are one
place in the network. A step that remembers (`Step.remembers`) is shared only by these: a query that
begins later has its own, which is empty then, and so answers as if its streams began with its first
batch, while the others notice nothing. What remembers nothing is of no generation (0), and all share it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from penstock.errors import QueryError
from penstock.plan.analysis import leaving
from penstock.plan.analysis.components import components
from penstock.plan.analysis.recursion import rules_and_scans
from penstock.plan.sources import behind_number, written_number
from penstock.plan.steps import Step
from penstock.plan.steps.windowing import filled


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

    number: int
    groups: list[list[int]]
    leads_back: bool = False  # a delayed edge leads to an earlier group
    by_instant: bool = False  # and absence is decided on the way

    @cached_property
    def members(self) -> list[frozenset[int]]:
        return [frozenset(group) for group in self.groups]

    @cached_property
    def group_of(self) -> dict[int, int]:
        return {place: number for number, group in enumerate(self.groups) for place in group}


@dataclass
class Network:
    """All steps of a plan, inputs before their users, with edges and the units in their order."""

    steps: list[Step]
    generations: list[int]  # of each step; 0: of the first one, or of none
    edges: list[Edge] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    unit_of: list[int] = field(default_factory=list)  # of each step
    notifies: dict[int, int] = field(default_factory=dict)
    """The steps that write a graph of which somebody wants to know the instants, and its number."""
    passed_on: dict[int, frozenset[int]] = field(default_factory=dict)
    """By the number of a stream: what else has its instants, as graphs that rules write by way of it."""

    def places(self, generation: int = 0) -> dict[Step, int]:
        """Where the steps of the queries of a generation are."""
        if generation not in self._places:
            self._places[generation] = {
                step: place
                for place, (step, of) in enumerate(zip(self.steps, self.generations, strict=True))
                if of == (generation if step.remembers else 0)
            }
        return self._places[generation]

    @cached_property
    def _places(self) -> dict[int, dict[Step, int]]:
        return {}

    def instants(self) -> frozenset[int]:
        """The streams whose instants matter to some step, also by way of others."""
        asked = frozenset[int]().union(*(step.instants for step in self.steps if step.waits))
        return asked.union(number for number, others in self.passed_on.items() if others & asked)

    def outgoing(self) -> list[list[Edge]]:
        out: list[list[Edge]] = [[] for _ in self.steps]
        for edge in self.edges:
            out[edge.source].append(edge)
        return out


def network(results: Iterable[tuple[Step, int]]) -> Network:
    """The network of the given last steps, each with the generation of its query."""
    found: dict[tuple[Step, int], int] = {}
    for result, generation in results:
        for step in result.walk():
            found.setdefault(_instance(step, generation), len(found))
    net = Network(*map(list, zip(*found, strict=True))) if found else Network([], [])
    for (step, generation), target in found.items():
        for slot, below in enumerate(step.inputs):
            source = found[_instance(below, generation)]
            net.edges.append(Edge(source, target, slot, delayed=step.delayed(slot)))
    for rules, scans in rules_and_scans(net.steps):
        net.edges += [Edge(rule, scan, 0, derived=True) for rule in rules for scan in scans]
    net.passed_on = _instants_passed_on(net.steps)
    net.notifies, notified = _instants_notified(net)
    order = [(edge.source, edge.target) for edge in net.edges]
    circles = components(len(net.steps), order + notified)
    net.unit_of = [0] * len(net.steps)
    for number, circle in enumerate(circles):
        for step in circle:
            net.unit_of[step] = number
    inside: list[list[Edge]] = [[] for _ in circles]
    for edge in net.edges:
        if net.unit_of[edge.source] == net.unit_of[edge.target]:
            inside[net.unit_of[edge.source]].append(edge)
    net.units = [_unit(net, number, circle, inside[number]) for number, circle in enumerate(circles)]
    leaving.refuse_substituted(net.steps)
    return net


def _instance(step: Step, generation: int) -> tuple[Step, int]:
    """A step as a query of a generation has it."""
    if generation and not step.inputs and step.retractable:
        raise QueryError(
            "a query that begins later cannot read triples that are there already and may leave again",
            hint="begin a new checkpoint, with all queries",
        )
    return step, generation if step.remembers else 0


def _instants_passed_on(all_steps: list[Step]) -> dict[int, frozenset[int]]:
    """For each stream the graphs that come from it, through however many rules."""
    found: dict[int, set[int]] = {}
    for step in all_steps:
        for number in step.passes_on if step.feeds else ():
            found.setdefault(number, set()).add(behind_number(step.target))
    for between in list(found):  # as Warshall does
        for others in found.values():
            if between in others:
                others |= found[between]
    return {number: frozenset(others) for number, others in found.items()}


def _instants_notified(net: Network) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Which steps tell when they give something, by which number, and whom: these run after them."""
    wanted: dict[int, list[int]] = {}
    behind: dict[int, list[int]] = {}
    for number, others in net.passed_on.items():
        for other in others:
            behind.setdefault(other, []).append(number)
    for place, step in enumerate(net.steps):
        for number in step.instants if step.waits else ():
            for each in (number if number >= 0 else filled(number), *behind.get(number, ())):
                wanted.setdefault(each, []).append(place)
    notifies = {
        place: number
        for place, step in enumerate(net.steps)
        if step.feeds and step.target is not None
        and (number := written_number(step.target)) in wanted
    }  # fmt: skip
    return notifies, [(place, other) for place, number in notifies.items() for other in wanted[number]]


def _unit(net: Network, place: int, circle: list[int], inside: list[Edge]) -> Unit:
    """The unit of a circle, given the edges inside it."""
    if len(circle) == 1:
        return Unit(place, [circle])
    leaving.refuse_circle([net.steps[each] for each in circle])
    number = {step: i for i, step in enumerate(circle)}
    standing = [(number[edge.source], number[edge.target]) for edge in inside if not edge.delayed]
    groups = [[circle[i] for i in group] for group in components(len(circle), standing)]
    unit = Unit(place, groups, by_instant=any(net.steps[i].waits for i in circle))
    order = unit.group_of
    unit.leads_back = any(edge.delayed and order[edge.target] <= order[edge.source] for edge in inside)
    return unit

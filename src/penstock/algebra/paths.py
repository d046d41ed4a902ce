"""Property paths of SPARQL 1.1, and what nested regular expressions add to them (decision 0014)."""

from __future__ import annotations

from typing import Union

from penstock.algebra.base import Node, node
from penstock.terms import NamedNode, Term


@node
class Inverse(Node):
    path: "Path"


@node
class Sequence(Node):
    left: "Path"
    right: "Path"


@node
class Alternative(Node):
    left: "Path"
    right: "Path"


@node
class ZeroOrMore(Node):
    path: "Path"


@node
class OneOrMore(Node):
    path: "Path"


@node
class ZeroOrOne(Node):
    path: "Path"


@node
class NegatedSet(Node):
    """`!(a|^b)`: any predicate but these forwards, any but those backwards.

    A direction that is not mentioned is None: `!(a)` does not look backwards.
    """

    forward: tuple[NamedNode, ...] | None
    backward: tuple[NamedNode, ...] | None = None


@node
class Axis(Node):
    """`axis` or `axis::term` of nSPARQL: a step along a triple, from one of its places to another.

    `next` goes from the subject to the object, `edge` from the subject to the predicate, `node` from the
    predicate to the object; `term` is what must stand in the place that is left. `self` stays (at `term`).
    """

    axis: str
    term: Term | None = None


@node
class Nested(Node):
    """`axis::[path]`: what stands in the place that is left (for `self`, the node itself) begins the path."""

    axis: str
    path: "Path"


AXES = ("self", "next", "edge", "node")

Path = Union[
    NamedNode, Inverse, Sequence, Alternative, ZeroOrMore, OneOrMore, ZeroOrOne, NegatedSet, Axis, Nested
]


def is_nested(path: Path) -> bool:
    """Whether an axis or a test stands in a path: then all of it is a nested regular expression."""
    waiting: list = [path]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (Axis, Nested)):
            return True
        if isinstance(part, (Sequence, Alternative)):
            waiting += (part.left, part.right)
        elif isinstance(part, (Inverse, ZeroOrMore, OneOrMore, ZeroOrOne)):
            waiting.append(part.path)
    return False


def has_part_without_length(path: Path) -> bool:
    """Whether some part of a path can go from a node to itself without any triple."""
    match path:
        case ZeroOrMore() | ZeroOrOne():
            return True
        case OneOrMore() | Inverse():
            return has_part_without_length(path.path)
        case Sequence() | Alternative():
            return has_part_without_length(path.left) or has_part_without_length(path.right)
    return False

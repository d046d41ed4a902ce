"""Clauses that are known by their shape, whatever rule they come from and however it names and orders."""

from __future__ import annotations

from penstock.algebra.nodes import Var
from penstock.reason.clauses import Atom, Clause, variables_in


def _plain(clause: Clause) -> bool:
    """Whether a clause only joins, and makes one quad of the default graph."""
    return (
        not clause.is_check
        and not clause.binds
        and not clause.tables
        and not clause.invents
        and len(clause.head) == 1
        and clause.head[0].graph is None
    )


def _edge(atom: Atom) -> bool:
    """Whether an atom is between two different variables, which are not its predicate."""
    ends = {atom.subject, atom.object}
    return (
        atom.graph is None
        and isinstance(atom.subject, Var)
        and isinstance(atom.object, Var)
        and len(ends) == 2
        and atom.predicate not in ends
    )


def transitive_step(clause: Clause) -> int | None:
    """Of (x p y), (y p z) → (x p z), perhaps with guards that are about p alone: the place of (y p z).

    Each pair is found once for each edge that leads to z, if that atom takes only edges which no
    such clause has derived (`kernel.close`): all others are paths of these.
    """
    if not _plain(clause) or clause.conditions or not _edge(clause.head[0]):
        return None
    [head] = clause.head
    ends = {head.subject, head.object}
    about = [atom for atom in clause.body if ends & set(atom.variables())]
    if len(about) != 2 or not all(_edge(atom) and atom.predicate == head.predicate for atom in about):
        return None
    first, last = about if about[0].subject == head.subject else about[::-1]
    middle = first.object
    if first.subject != head.subject or last.object != head.object or last.subject != middle:
        return None
    if middle in ends or middle == head.predicate:
        return None
    guards = [atom for atom in clause.body if atom not in about]
    return None if any(middle in atom.variables() for atom in guards) else clause.body.index(last)


def copied_edge(clause: Clause) -> Atom | None:
    """Of (x p y) → (x q y) or (y q x), perhaps with guards that are not about x and y: the atom (x p y).

    Such a clause copies paths edge by edge: what was only a path before is only a path after it.
    """
    if not _plain(clause) or not _edge(clause.head[0]):
        return None
    [head] = clause.head
    ends = {head.subject, head.object}
    if any(ends & variables_in(each) for each in clause.conditions):
        return None
    about = [atom for atom in clause.body if ends & set(atom.variables())]
    if len(about) != 1 or not _edge(about[0]) or {about[0].subject, about[0].object} != ends:
        return None
    return about[0]

"""What all steps have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar, dataclass_transform

from penstock.algebra.base import UnknownNode

Vars = tuple[str, ...]
_StepClass = TypeVar("_StepClass")
Streams = frozenset[int]
"""The streams whose elements' ends are the instants of a query."""


class Step:
    """The base of all steps. Hash and derived facts are computed once."""

    vars: Vars
    certain: frozenset[str]
    waits: ClassVar[bool] = False  # for the watermark, where its rows depend on a stream
    expiry_known: ClassVar[bool] = False  # when its rows leave, if its inputs' rows do so
    memoryless: ClassVar[bool] = False  # what it gives follows from the rows that it gets in the same batch
    per_instant: ClassVar[bool] = False  # it looks at all rows of an instant
    filtered_before: ClassVar[bool] = False  # its rows pass a filter if those of its input do
    feeds: bool = False  # its triples (`template`) are read by others, in the graph `target`
    passes_on: Streams = frozenset()  # the streams whose instants are instants of what that graph comes from

    def __getattr__(self, name: str) -> Any:
        """Only for what is not there: a step that does not say what every one must is refused by name."""
        if name == "instants" and not self.waits:
            return frozenset()
        if name in ("vars", "certain", "instants"):
            raise UnknownNode(self, f"`{name}`, as steps do")
        raise AttributeError(f"{type(self).__name__} has no {name}")

    @property
    def name(self) -> str:
        """What `explain` calls it."""
        return type(self).__name__

    def filtered_input(self, looked_at: frozenset[str]) -> str | None:
        """The input to which a filter may go that looks at these columns; None: it stays behind the step."""
        # What the columns hide is another variable, even if it has the name of one that is looked at.
        return "input" if self.filtered_before and looked_at <= frozenset(self.vars) else None

    def delayed(self, slot: int) -> bool:
        """Whether its rows end strictly later than the rows of that input which they come from."""
        return False

    @cached_property
    def inputs(self) -> tuple[Step, ...]:
        values = (getattr(self, field.name) for field in fields(self))
        flat = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
        return tuple(part for part in flat if isinstance(part, Step))

    @property
    def parts(self) -> tuple[Step, ...]:
        """The steps that it is made of: its inputs, also where they run elsewhere."""
        return self.inputs

    def gives(self, inputs: tuple) -> object:
        """Whether it may give rows, given which of its inputs do: one bool, or a column of them, for each."""
        raise UnknownNode(self, "when it may give rows")

    @property
    def awaited(self) -> tuple[Step, ...]:
        """The inputs of which every row must be there once time has passed its end."""
        return self.inputs if self.waits else ()

    @property
    def longest(self) -> int | None:
        """How long its rows can be, at most, as far as conditions say so (those longer are of no use)."""
        return None

    def __post_init__(self) -> None:
        # At once, because what the inputs are is known: later it would recur to the scans.
        self.__dict__["_hash"] = hash((type(self), *(getattr(self, field.name) for field in fields(self))))
        self.__dict__["_reads_stream"] = any(step.reads_stream for step in self.inputs)
        self.__dict__["_after_the_fact"] = any(step.after_the_fact for step in self.inputs)
        self.__dict__["_belated"] = any(step.gives_belated or step.belated for step in self.inputs)
        self.__dict__["_retractable"] = any(step.retractable for step in self.inputs)
        self.__dict__["_timed"] = any(step.timed for step in self.inputs)
        self.__dict__["_remembers"] = not self.memoryless or any(step.remembers for step in self.inputs)
        self.__dict__["_emits_retractions"] = not self.expiry_known or any(
            step.emits_retractions for step in self.inputs
        )

    @property
    def reads_stream(self) -> bool:
        return self._reads_stream

    @property
    def after_the_fact(self) -> bool:
        """Whether rows may become known only after time has passed their end."""
        return self._after_the_fact

    @property
    def gives_belated(self) -> bool:
        """Whether rows may come out of it long after their end, though they went in in time."""
        return False

    @property
    def belated(self) -> bool:
        """Whether rows may come to it long after their end."""
        return self._belated

    @property
    def retractable(self) -> bool:
        """Whether its rows can leave."""
        return self._retractable

    @property
    def remembers(self) -> bool:
        """Whether its rows may follow from those of earlier batches: then queries that begin with different
        batches cannot share it (`engine/network.py`)."""
        return self._remembers

    @property
    def timed(self) -> bool:
        """Whether its rows may have intervals."""
        return self._timed

    @property
    def emits_retractions(self) -> bool:
        """Whether there may be rows that take others back, because it is not known when these leave."""
        return self.retractable and self._emits_retractions

    def __hash__(self) -> int:
        return self._hash

    def walk(self, *, everywhere: bool = False) -> Iterator[Step]:
        """This step and all below it, inputs first, each once; `everywhere`: also what runs elsewhere."""
        seen: set[Step] = {self}
        below_of = attrgetter("parts" if everywhere else "inputs")
        way = [(self, iter(below_of(self)))]
        while way:
            step, remaining = way[-1]
            below = next(remaining, None)
            if below is None:
                way.pop()
                yield step
            elif below not in seen:
                seen.add(below)
                way.append((below, iter(below_of(below))))


class Arriving(Step):
    """The base of steps whose rows come from outside."""

    memoryless = True

    def gives(self, inputs: tuple) -> object:
        return False


class OfInput(Step):
    """The base of steps whose rows are made of those of their first input."""

    input: Step

    def gives(self, inputs: tuple) -> object:
        return inputs[0]


class TwoInputs(Step):
    """The base of steps that give the columns of both inputs."""

    left: Step
    right: Step

    @cached_property
    def vars(self) -> Vars:
        return joined(self.left.vars, self.right.vars)


class SameIntervals(OfInput):
    """The base of steps whose rows are those of their input, with their intervals."""

    @property
    def longest(self) -> int | None:
        return self.input.longest


class SameColumns(SameIntervals):
    """The base of steps that give the columns of their input, too."""

    @property
    def vars(self) -> Vars:
        return self.input.vars

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain


class Absence(Step):
    """The base of steps that decide about required rows by what the other inputs lack."""

    required: Step

    waits = True

    @property
    def certain(self) -> frozenset[str]:
        return self.required.certain

    @property
    def longest(self) -> int | None:
        return self.required.longest

    def gives(self, inputs: tuple) -> object:
        return inputs[0]

    @property
    def awaited(self) -> tuple[Step, ...]:
        return self.inputs[1:]


class PerInstant(Step):
    """The base of steps that look at all rows which end at one instant."""

    waits = True
    per_instant = True


@dataclass_transform(frozen_default=True)
def step_class(cls: type[_StepClass]) -> type[_StepClass]:
    """A frozen dataclass that keeps the cached hash of `Step`."""
    made = dataclass(frozen=True, eq=True)(cls)
    setattr(made, "__hash__", Step.__hash__)  # noqa: B010 — a dataclass has one of its own
    return made


def joined(left: Vars, right: Vars) -> Vars:
    return tuple(dict.fromkeys((*left, *right)))

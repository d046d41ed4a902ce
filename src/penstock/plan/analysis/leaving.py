"""What is not done yet where rows can leave: refused by name, so that nothing is answered wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.errors import QueryError
from penstock.plan import steps
from penstock.plan.steps import Step
from penstock.plan.wording import leaf_text


def refuse_circle(circle: Sequence[Step]) -> None:
    """Rules that feed each other, if rows of theirs can leave."""
    if not any(step.retractable for step in circle):
        return
    rules = [step for step in circle if step.feeds]
    made = sorted({leaf_text(triple) for rule in rules for triple in rule.template})
    raise QueryError(
        f"a rule feeds itself with what can leave again: {', '.join(f'`{each}`' for each in made)}",
        hint="recursive rules read streams and static graphs only, not windows and what changes with them",
    )


def refuse_substituted(all_steps: Iterable[Step]) -> None:
    """EXISTS that looks at a stream instant by instant, for solutions that can leave.

    Inside it all rows can leave, because the solutions that are substituted can; but what it says is
    about a stream whose elements stay, and there GROUP BY and the like mean each instant apart.
    `all_steps` come after their inputs.
    """
    leaving: set[Step] = set()  # without regard to what is substituted
    for step in all_steps:
        if isinstance(step, steps.OuterBindings):
            continue
        begins = not any(below.retractable for below in step.inputs)
        if step.retractable and (begins or any(below in leaving for below in step.inputs)):
            leaving.add(step)
        elif step.retractable and step.reads_stream and (step.waits or step.per_instant):
            raise QueryError(
                f"{step.name} in an EXISTS looks at a stream instant by instant for solutions that leave",
                hint="let the pattern of the EXISTS read the window that the solutions come from, or "
                "bind what it compares inside of it",
            )

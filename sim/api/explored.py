"""Searches for notebooks: every schedule of a small world, its levels, its witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.api.markup import grid
from sim.api.scenarios import Scenario, load, plan_document
from sim.api.tables import frame
from sim.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sim.study.explore.answers import Answer, Witness


class Explored:
    """What the searches of a plan found.

    Attributes:
        title: The plan's.
        answers: One for each rule set, then two for each pair that the plan compares.
    """

    def __init__(self, title: str, answers: tuple[Answer, ...]) -> None:
        """The answers to a plan."""
        self.title, self.answers = title, answers

    @property
    def table(self) -> pd.DataFrame:
        """A row an answer: its rules, those it is compared with, how far it looked, what breaks."""
        columns = ("rules", "against", "states", "transitions", "depth", "exhausted", "breaks")
        return frame(self._rows(), dict.fromkeys(columns, ""))

    @property
    def levels(self) -> pd.DataFrame:
        """A row a depth of each answer: `rules`, `against`, `depth`, `states`, `transitions`."""
        rows = [(one.label, one.against, *level) for one in self.answers for level in one.levels]
        names = ("rules", "against", "depth", "states", "transitions")
        return frame(rows, dict.fromkeys(names, ""))

    def witness(self, invariant: str, rules: str | None = None, against: str = "") -> Scenario:
        """A shortest schedule after which an invariant is broken, as a scenario.

        Args:
            invariant: Which.
            rules: Under which rule set, by its label; None = the first that breaks it.
            against: Of two that are compared, the other one, which does not.

        Raises:
            BadInput: No search found it broken.
        """
        for (label, other, name), found in self.witnesses.items():
            if rules in (None, label) and (other, name) == (against, invariant):
                return load(found.story)
        broken = dict.fromkeys(found.invariant for found in self.witnesses.values())
        raise BadInput(f"witness: {invariant}: not broken; broken: {', '.join(broken)}")

    @property
    def witnesses(self) -> dict[tuple[str, str, str], Witness]:
        """By rules, other rules and invariant: the schedule, the sentence, story and near miss."""
        return {
            (one.label, one.against, found.invariant): found
            for one in self.answers
            for found in one.witnesses
        }

    def plot(self) -> Axes:
        """States by depth, a line for each search."""
        levels = self.levels.assign(search=lambda table: table.rules + " " + table.against)
        found: Axes = (
            levels.pivot_table("states", "depth", "search", sort=False)
            .plot(logy=True, xlabel="moves", ylabel="states", figsize=(7, 3.5))
            .legend(fontsize="small")
            .axes
        )
        return found

    def _rows(self) -> list[tuple[Any, ...]]:
        return [
            (
                *(one.label, one.against, one.states, one.transitions, one.depth),
                *(one.exhausted, ", ".join(w.invariant for w in one.witnesses)),
            )
            for one in self.answers
        ]

    def __repr__(self) -> str:
        """How many searches, and how many of them found something."""
        found = sum(bool(one.witnesses) for one in self.answers)
        return f"Explored({self.title}: {len(self.answers)} answers, {found} with violations)"

    def _repr_html_(self) -> str:
        head = ("rules", "against", "states", "transitions", "moves", "every schedule", "breaks")
        return grid(head, self._rows(), note=self.title)


def explore(plan: str | Path | Mapping[str, Any], *, processes: int = 1) -> Explored:
    """Search every schedule of a small world: what breaks, how soon, or that nothing does.

    Args:
        plan: A plan, `format: replog-explore/1`: the path of a file, its text, or its data.
        processes: Searches that go on at a time.

    Raises:
        BadInput: One line per problem with the plan.
    """
    from sim.study.explore import check_installation

    check_installation()
    from sim.study.explore.answers import explore as search
    from sim.study.explore.plan import load_plan, plan_in

    document = plan_document(plan)
    loaded = load_plan(Path(str(plan))) if document is None else plan_in(document)
    found = [answer for answers in search(loaded, processes=processes) for answer in answers]
    return Explored(loaded.title, tuple(found))

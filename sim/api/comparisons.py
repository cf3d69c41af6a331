"""The same case under different rules, side by side."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sim.api.markup import grid, when
from sim.api.tables import frame
from sim.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from sim.api.runs import Run


class Comparison(dict[str, "Run"]):
    """The same case under different rules: a mapping from what differs to the run."""

    def __missing__(self, label: str) -> Run:
        """Raises BadInput: there is no run under those rules."""
        hint = did_you_mean(label, self)
        raise BadInput(f"compare: {label}: not among them{hint}: {', '.join(self)}")

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per run: `rules`, `verdict`, `violations`, `first_invariant`, its time, `events`.

        The time is `first_ms`, or `first_step` for a story.
        """
        unit = next(iter(self.values())).scenario.unit
        rows = [
            {
                "rules": label,
                "verdict": run.verdict,
                "violations": len(run.recorded.violations),
                "first_invariant": next((one.invariant for one in run.recorded.violations), None),
                f"first_{unit}": next((one.at for one in run.recorded.violations), None),
                "events": len(run.recorded.events),
            }
            for label, run in self.items()
        ]
        kinds = {"rules": "category", "verdict": "category", "violations": ""}
        kinds |= {"first_invariant": "category", f"first_{unit}": "Int64", "events": ""}
        return frame(rows, kinds)

    def __repr__(self) -> str:
        """One line for people."""
        said = ", ".join(f"{label}: {run.verdict}" for label, run in self.items())
        return f"Comparison({said})"

    def _repr_html_(self) -> str:
        rows = []
        for label, run in self.items():
            first = next(iter(run.recorded.violations), None)
            at = "" if first is None else when(run.scenario.unit, first.at)
            said = "" if first is None else f"{first.invariant}: {first.sentence}"
            rows.append((label, run.verdict, len(run.recorded.violations), at, said))
        return grid(("rules", "verdict", "violations", "first at", "first violation"), rows)

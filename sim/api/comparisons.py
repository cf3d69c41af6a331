"""The same case under different rules, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from sim.api.markup import grid, when
from sim.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from sim.api.runs import Run


class Comparison(Mapping[str, "Run"]):
    """The same case under different rules: a mapping from what differs to the run."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        """Runs of one case by their label."""
        self._runs = dict(runs)

    def __getitem__(self, label: str) -> Run:
        """The run under those rules. Raises BadInput when there is none."""
        if label not in self._runs:
            hint = did_you_mean(label, self._runs)
            raise BadInput(f"compare: {label}: not among them{hint}: {', '.join(self._runs)}")
        return self._runs[label]

    def __contains__(self, label: object) -> bool:
        """Whether there is such a run."""
        return label in self._runs

    def __iter__(self) -> Iterator[str]:
        """The labels."""
        return iter(self._runs)

    def __len__(self) -> int:
        """How many runs."""
        return len(self._runs)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per run: `rules`, `verdict`, `violations`, `first_invariant`, its time, `events`.

        The time is `first_ms`, or `first_step` for a story.
        """
        from sim.api.tables import check_pandas

        check_pandas()
        import pandas as pd

        unit = next(iter(self._runs.values())).scenario.unit
        rows = [
            {
                "rules": label,
                "verdict": run.verdict,
                "violations": len(run.recorded.violations),
                "first_invariant": next((one.invariant for one in run.recorded.violations), None),
                f"first_{unit}": next((one.at for one in run.recorded.violations), None),
                "events": len(run.recorded.events),
            }
            for label, run in self._runs.items()
        ]
        frame = pd.DataFrame(rows)
        for name in ("rules", "verdict", "first_invariant"):
            frame[name] = frame[name].astype("category")
        frame[f"first_{unit}"] = frame[f"first_{unit}"].astype("Int64")
        return frame

    def __repr__(self) -> str:
        """One line for people."""
        said = ", ".join(f"{label}: {run.verdict}" for label, run in self._runs.items())
        return f"Comparison({said})"

    def _repr_html_(self) -> str:
        rows = []
        for label, run in self._runs.items():
            first = next(iter(run.recorded.violations), None)
            at = "" if first is None else when(run.scenario.unit, first.at)
            said = "" if first is None else f"{first.invariant}: {first.sentence}"
            rows.append((label, run.verdict, len(run.recorded.violations), at, said))
        return grid(("rules", "verdict", "violations", "first at", "first violation"), rows)

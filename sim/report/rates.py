"""How often each rule set violated an invariant, with what the counts allow to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.report import stats, wording
from sim.report.stats import Interval

VERDICTS = ("holds", "violated", "inconclusive", "error")


@dataclass(frozen=True, slots=True)
class Rate:
    """How often the runs of one rule set violated an invariant."""

    index: int
    label: str
    verdicts: dict[str, int]
    judged: int
    """Runs that held or violated; the others say nothing either way."""
    violated: int
    rate: float | None
    """None when no run was judged."""
    exact: Interval | None
    wilson: Interval | None
    upper_bound: float | None
    """One-sided, when no run violated; else None."""

    @property
    def text(self) -> str:
        """The rate in words; never a bare zero."""
        if self.rate is None or self.exact is None:
            return "no run was judged"
        if self.upper_bound is not None:
            bound = wording.share(self.upper_bound)
            return f"none of {wording.count(self.judged)} runs (below {bound})"
        return (
            f"{wording.count(self.violated)} of {wording.count(self.judged)} runs "
            f"({wording.share(self.rate)}; {wording.shares(self.exact)})"
        )


def rate_of(entry: dict[str, Any]) -> Rate:
    """The rate of one rule set of `tallies.json`."""
    verdicts = {name: entry["counts"]["verdict"][name]["runs"] for name in VERDICTS}
    violated = verdicts["violated"]
    judged = verdicts["holds"] + violated
    return Rate(
        index=entry["index"],
        label=entry["label"],
        verdicts=verdicts,
        judged=judged,
        violated=violated,
        rate=violated / judged if judged else None,
        exact=stats.clopper_pearson(violated, judged) if judged else None,
        wilson=stats.wilson(violated, judged) if judged else None,
        upper_bound=stats.upper_bound_of_zero(judged) if judged and not violated else None,
    )

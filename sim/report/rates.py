"""How often each rule set violated an invariant, with what the counts allow to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.report.families import share_of
from sim.sweeps import wording
from sim.sweeps.shapes import VERDICTS
from sim.sweeps.stats import Interval


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
    """Two-sided, 95 %."""

    @property
    def text(self) -> str:
        """The rate in words; never a bare zero."""
        if self.rate is None or self.exact is None:
            return "no run was judged"
        if not self.violated:
            return f"none of {wording.count(self.judged)} runs ({wording.shares(self.exact)})"
        return (
            f"{wording.count(self.violated)} of {wording.count(self.judged)} runs "
            f"({wording.share(self.rate)}; {wording.shares(self.exact)})"
        )

    @property
    def share_text(self) -> str:
        """The share and its interval alone; never a bare zero."""
        if self.rate is None or self.exact is None:
            return "-"
        seen = wording.share(self.rate) if self.violated else "none"
        return f"{seen} ({wording.shares(self.exact)})"


def rate_of(entry: dict[str, Any]) -> Rate:
    """The rate of one rule set of `tallies.json`."""
    seen = share_of(entry, "verdict", "violated")
    return Rate(
        index=entry["index"],
        label=entry["label"],
        verdicts={name: entry["counts"]["verdict"][name]["runs"] for name in VERDICTS},
        judged=seen.judged,
        violated=seen.runs,
        rate=seen.runs / seen.judged if seen.judged else None,
        exact=seen.interval,
    )

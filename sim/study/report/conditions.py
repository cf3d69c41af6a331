"""What the rates of an environment are rates of: counted over its cases, not read off the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the cases of one environment expose a cluster to; shares are in [0, 1]."""

    environment: str
    cases: int
    """Each with a seed of its own; other environments have the same seeds."""
    first: str
    """The environment that it is compared with; empty for that one itself."""
    twins: int
    """Runs of a seed, under a rule set, that was run there, too."""
    changed: int
    """How many of them are not the same there, event by event."""
    hunted: float
    """Share of the cases that have a scripted hunt."""
    scripts: tuple[tuple[str, float], ...]
    """Share of the cases that have each kind of hunt, by name; empty where all are of tails."""
    outages: float
    """Mean number per case: a replica is away, or falls behind."""
    beyond_retention: tuple[float, float] | None
    """Share of outages that last longer than a tombstone, under the rule sets where it is lowest
    and highest; None without outages."""
    retention_ms: tuple[int, ...]
    """How long tombstones live, under each rule set; each number once, in order."""
    late: float | None
    """Share of sends that are not the newest of their key; None without sends."""
    rolls: float
    """Mean number per case of rolls that are forced."""

    @property
    def hunts(self) -> str:
        """How many seeds, how many of them with a scripted hunt, and how many runs that changed."""
        hunts = f"{wording.share(self.hunted)} with a scripted hunt" if self.hunted else "no hunts"
        if self.scripts:
            each = [f"{name.replace('_', ' ')} {wording.share(of)}" for name, of in self.scripts]
            hunts += f" ({', '.join(each)})"
        seeds = f"{'the same ' if self.first else ''}{wording.counted(self.cases, 'seed')}"
        changed = f"; {self.changed_text} are not as in {self.first}" if self.twins else ""
        return f"{self.environment}: {seeds}, {hunts}{changed}"

    @property
    def changed_text(self) -> str:
        """How many runs are not the same in the first environment."""
        if not self.first:
            return ""
        return f"{wording.count(self.changed)} of {wording.counted(self.twins, 'run')}"

    @property
    def beyond_text(self) -> str:
        """The share of outages that outlast the retention, and how long that is."""
        return "-" if self.beyond_retention is None else ", ".join(self._outlasting)

    @property
    def _outlasting(self) -> tuple[str, str]:
        assert self.beyond_retention is not None
        low, high = self.beyond_retention
        lives = " or ".join(map(wording.count, self.retention_ms))
        return f"{wording.share(low)}{' or more' if low != high else ''}", f"{lives} ms"

    @property
    def late_text(self) -> str:
        """The share of sends that are late."""
        return "-" if self.late is None else wording.share(self.late)

    @property
    def text(self) -> str:
        """One line, for the caption of a table that stands alone."""
        parts = [self.hunts, "no outages"]
        if self.beyond_retention is not None:
            share, lives = self._outlasting
            outages = wording.number(self.outages)
            parts[1] = f"{share} of {outages} outages per case outlast the retention of {lives}"
        if self.late is not None:
            parts.append(f"{self.late_text} of sends late")
        return "; ".join([*parts, f"{wording.number(self.rolls)} forced rolls per case"])


def conditions_of(folder: SweepFolder) -> Conditions:
    """Counted over the runs that came to an end."""
    entries = folder.tallies["rule_sets"]
    rules = [one["rules"] for one in folder.plan["rule_sets"]]
    first = entries[0]
    first_of_all = folder.plan["environments"][0]["name"]
    shares = [
        one["totals"]["outages_beyond_retention"] / one["totals"]["outages"]
        for one in entries
        if one["totals"]["outages"]
    ]
    return Conditions(
        environment=folder.environment,
        cases=first["runs"],
        first="" if folder.environment == first_of_all else first_of_all,
        twins=sum(one["twins"] for one in entries),
        changed=sum(one["changed"] for one in entries),
        hunted=_runs(first, "hunted", "hunted") / first["runs"],
        scripts=_scripts(first),
        outages=_mean(first, "outages"),
        beyond_retention=(min(shares), max(shares)) if shares else None,
        retention_ms=tuple(sorted({one["delete_retention_ms"] for one in rules})),
        late=first["totals"]["late_sends"] / first["totals"]["sends"]
        if first["totals"]["sends"]
        else None,
        rolls=_mean(first, "rolls"),
    )


def _scripts(entry: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    seen = entry["counts"]["hunts"]
    shares = tuple((name, one["runs"] / entry["runs"]) for name, one in sorted(seen.items()))
    return () if [name for name, _ in shares] == ["tail"] else shares


def _runs(entry: dict[str, Any], measure: str, name: str) -> int:
    seen: dict[str, int] = entry["counts"][measure].get(name, {"runs": 0})
    return seen["runs"]


def _mean(entry: dict[str, Any], counter: str) -> float:
    return float(entry["totals"][counter] / entry["ended"]) if entry["ended"] else 0.0

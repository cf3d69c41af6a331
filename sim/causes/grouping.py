"""The failing runs of a sweep by their causes, with how often each was met where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sim.causes.failing import FailingRun, FailingRuns, Group, Told, read_failing, sentences_of
from sim.causes.track_record import Shown, TrackRecord
from sim.causes.witness import Witness
from sim.sweeps.plan import Sweep
from sim.sweeps.stats import Interval, clopper_pearson
from sim.sweeps.wording import counted


@dataclass(frozen=True, slots=True)
class Share:
    """How often a cause was met under one rule set in one environment.

    Attributes:
        environment: The plan's name for what cases are drawn from.
        rule_set: Its index in the plan.
        label: Its label.
        runs: Failing runs with this cause.
        judged: Runs that held or violated something.
        interval: Of runs / judged, exact, two-sided, 95 %; None = no run was judged.
    """

    environment: str
    rule_set: int
    label: str
    runs: int
    judged: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Example:
    """A failing run with a cause: the one that fails earliest; ties: fewest events.

    Attributes:
        run_id: Its number.
        environment: Of its case.
        label: Of its rule set.
        invariant: What it violated first.
        at_ms: When, in simulated time.
        events: How many it has in all.
        sentence: What happened.
    """

    run_id: int
    environment: str
    label: str
    invariant: str
    at_ms: int
    events: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why some of the runs fail.

    Attributes:
        text: Family and mechanism (`sim.explain.signature.Signature.cause`).
        runs: How many fail for it first.
        invariants: What they violate first -> how many.
        shares: For each environment and rule set, in the order of the plan.
        example: One of them.
        story: The story of the track record with this cause; None = new.
        witness: The smallest run known; None = nobody looked for it, or there is none.
    """

    text: str
    runs: int
    invariants: dict[str, int]
    shares: tuple[Share, ...]
    example: Example
    story: Shown | None
    witness: Witness | None = None

    def as_json(self) -> dict[str, Any]:
        """A document; `story` is null where the cause is new."""
        return {
            "cause": self.text,
            "runs": self.runs,
            "invariants": self.invariants,
            "shares": [asdict(share) for share in self.shares],
            "example": asdict(self.example),
            "story": None if self.story is None else self.story.as_json(),
            "witness": None if self.witness is None else self.witness.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Causes:
    """All causes of a sweep, most runs first.

    Attributes:
        folder: Of the sweep.
        failing: How many runs fail.
        causes: Why.
    """

    folder: Path
    failing: int
    causes: tuple[Cause, ...]

    @property
    def text(self) -> str:
        """`503 failing runs, 6 causes`."""
        if not self.failing:
            return "no failing run"
        return f"{counted(self.failing, 'failing run')}, {counted(len(self.causes), 'cause')}"

    def __repr__(self) -> str:
        """The same, with where."""
        return f"Causes({self.folder}: {self.text})"

    def as_json(self) -> dict[str, Any]:
        """What `replog causes --json` prints."""
        return {
            "failing": self.failing,
            "causes": [cause.as_json() for cause in self.causes],
        }


def causes_of(
    out: Path | str, *, stories: Path | str | None = None, told: Told | None = None
) -> Causes:
    """Why the runs of a sweep fail.

    Args:
        out: The folder of a sweep.
        stories: The folder of the track record; None = the scenarios that come with Replog.
        told: Told how far it is where causes have to be worked out anew, in folders that are older
            than the column `cause`.

    Raises:
        BadInput: The folder holds no sweep, or nothing of it is finished.
    """
    out = Path(out)
    found = read_failing(out, told=told)
    sentences = sentences_of(out, {group.first.run_id for group in found.groups.values()})
    known = TrackRecord(stories)
    causes = [
        Cause(
            text,
            group.runs,
            dict(group.invariants.most_common()),
            _shares(found, group),
            _example(found.sweep, group.first, sentences),
            known.story_of(text, group.first.invariant),
        )
        for text, group in found.groups.items()
    ]
    causes.sort(key=lambda cause: (-cause.runs, cause.text))
    return Causes(out, found.failing, tuple(causes))


def _shares(found: FailingRuns, group: Group) -> tuple[Share, ...]:
    sweep, seen = found.sweep, group.cells
    size = len(sweep.rule_sets)
    shares = []
    for number, environment in enumerate(sweep.environments):
        for rule_set in sweep.rule_sets:
            cell = number * size + rule_set.index
            judged = found.judged[cell]
            interval = clopper_pearson(seen[cell], judged) if judged else None
            shares.append(
                Share(
                    environment.name,
                    rule_set.index,
                    rule_set.label,
                    seen[cell],
                    judged,
                    interval,
                )
            )
    return tuple(shares)


def _example(sweep: Sweep, run: FailingRun, sentences: dict[int, str]) -> Example:
    size = len(sweep.rule_sets)
    return Example(
        run.run_id,
        sweep.environments[run.cell // size].name,
        sweep.rule_sets[run.cell % size].label,
        run.invariant,
        run.at_ms,
        run.events,
        sentences.get(run.run_id, ""),
    )

"""The failing runs of a sweep by their causes, with how often each was met where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from sim.bounds import Inconclusive
from sim.diagnose.explain.signature import signature_of
from sim.diagnose.shrink.smallest import smallest_example
from sim.errors import BadInput
from sim.simulate.run import Run, conclusive, run_of
from sim.study.causes.track_record import Shown, TrackRecord
from sim.study.suite.scenario_files import content_at
from sim.study.sweep.plan import Sweep
from sim.study.sweep.stats import Interval, clopper_pearson
from sim.study.sweep.table import open_rows, scenario_of_run
from sim.study.sweep.wording import counted

TRIES: Final = 800
"""Stories and scenarios that are run at most for one witness: the same on any machine."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The smallest run known that fails for a cause.

    Attributes:
        kind: `story`, or `scenario` where no story can say it.
        file: Where it is; a relative path is from where the program runs.
        text: The file.
        invariant: What it violates.
        sentence: What happens in it.
        steps: Of the story; None = it is a scenario.
        events: How many there are up to the violation.
        run_id: The run it was made of.
        run_events: How many events that run had.
        tries: How many runs it took.
        complete: Whether it is as small as it gets; False = the tries ran out.
    """

    kind: Literal["story", "scenario"]
    file: Path
    text: str
    invariant: str
    sentence: str
    steps: int | None
    events: int
    run_id: int
    run_events: int
    tries: int
    complete: bool

    @property
    def size(self) -> str:
        """`9 steps, 23 events`."""
        steps = "" if self.steps is None else f"{counted(self.steps, 'step')}, "
        return f"{steps}{counted(self.events, 'event')}"

    def as_json(self) -> dict[str, Any]:
        """A document; the text is in the file."""
        told = asdict(self) | {"file": self.file.as_posix()}
        del told["text"]
        return told


def make_witness(out: Path, run_id: int, cause: str, file: Path) -> Witness | None:
    """The witness of a run of a sweep; it is written nowhere yet.

    Args:
        out: The folder of the sweep.
        run_id: A run that fails for the cause first.
        cause: Family and mechanism.
        file: Where the witness is to be.

    Returns:
        None = the run does not fail for this cause, here and now.
    """
    try:
        source = f"run {run_id} of {out.name}"
        found = smallest_example(scenario_of_run(out, run_id), tries=TRIES, source=source)
    except BadInput:
        return None
    if found.signature.cause != cause:
        return None
    same = ("kind", "text", "invariant", "sentence", "steps", "events", "tries", "complete")
    told: dict[str, Any] = {name: getattr(found, name) for name in same}
    return Witness(file=file, run_id=run_id, run_events=found.events_before, **told)


def played(witness: Witness) -> Run:
    """Runs a witness from its file; its first violation is what the witness is about.

    Raises:
        BadInput: The file cannot be read, or does not show what it should any more.
    """
    try:
        run = conclusive(run_of(content_at(witness.file)))
    except Inconclusive as error:
        raise BadInput(f"{witness.file}: {error}") from None
    for place, violation in enumerate(run.violations):
        if violation.invariant == witness.invariant:
            return replace(run, violations=run.violations[place:])
    raise BadInput(f"{witness.file}: does not violate {witness.invariant} any more")


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
        text: Family and mechanism (`sim.diagnose.explain.signature.Signature.cause`).
        runs: How many fail for it first.
        invariants: What they violate first -> how many.
        shares: For each environment and rule set, in the order of the plan.
        example: One of them.
        story: The story of the track record that shows what the example does; None = not known.
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
        """A document; `story` is null where the cause is not known."""
        told = asdict(self)
        for name, found in (("story", self.story), ("witness", self.witness)):
            told[name] = None if found is None else found.as_json()
        return {"cause": told.pop("text"), **told}


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

    def as_json(self) -> dict[str, Any]:
        """What `replog causes --json` prints."""
        return {"failing": self.failing, "causes": [cause.as_json() for cause in self.causes]}


Row = dict[str, Any]

_JUDGED: Final = """
    SELECT environment, rule_set, count(*) AS runs
    FROM runs WHERE verdict IN ('holds', 'violated') GROUP BY ALL"""
_FAILING: Final = """
    SELECT cause, environment, rule_set, first_invariant, count(*) AS runs
    FROM runs WHERE verdict = 'violated' GROUP BY ALL ORDER BY runs DESC, min(run_id)"""
_EARLIEST: Final = """
    SELECT cause, run_id, environment, rule_set, first_invariant, first_violation_ms, events,
        violations[1].sentence AS sentence
    FROM runs WHERE verdict = 'violated'
    QUALIFY row_number() OVER (
        PARTITION BY cause ORDER BY first_violation_ms, events, run_id) = 1"""


def causes_of(out: Path | str, *, stories: Path | str | None = None) -> Causes:
    """The causes of the failing runs of a sweep.

    Args:
        out: The folder of a sweep, finished or interrupted.
        stories: The folder of the track record; None = the scenarios that come with Replog.

    Raises:
        BadInput: The folder holds no sweep, nothing of it is finished, or its table is damaged.
    """
    out = Path(out)
    table = open_rows(out)
    judged = {(row["environment"], row["rule_set"]): row["runs"] for row in table.rows(_JUDGED)}
    failing = table.rows(_FAILING)
    known = TrackRecord(stories)
    causes = []
    for first in table.rows(_EARLIEST):
        cells, invariants = Counter[tuple[str, str]](), Counter[str]()
        for row in failing:
            if row["cause"] == first["cause"]:
                cells[row["environment"], row["rule_set"]] += row["runs"]
                invariants[row["first_invariant"]] += row["runs"]
        causes.append(
            Cause(
                first["cause"],
                cells.total(),
                dict(invariants.most_common()),
                tuple(_shares(table.sweep, cells, judged)),
                _example(first),
                _known(known, out, first),
            )
        )
    causes.sort(key=lambda cause: (-cause.runs, cause.text))
    return Causes(out, sum(cause.runs for cause in causes), tuple(causes))


def _known(known: TrackRecord, out: Path, row: Row) -> Shown | None:
    """The story that shows what a run does, which is run once more; None = it is not known.

    One that comes out otherwise now, by another version, is not known either.
    """
    with suppress(Inconclusive):
        run = conclusive(run_of(scenario_of_run(out, row["run_id"])))
        for first in run.violations[:1]:
            found = signature_of(run.events, first, run.rules)
            return known.story_of(found, run.rules) if found.cause == row["cause"] else None
    return None


def _shares(
    sweep: Sweep, failing: Mapping[tuple[str, str], int], judged: Mapping[tuple[str, str], int]
) -> Iterator[Share]:
    for where, rule_set in product(sweep.environments, sweep.rule_sets):
        cell = where.name, rule_set.label
        runs, of = failing.get(cell, 0), judged.get(cell, 0)
        interval = clopper_pearson(runs, of) if of else None
        yield Share(where.name, rule_set.index, rule_set.label, runs, of, interval)


def _example(row: Row) -> Example:
    return Example(
        row["run_id"],
        row["environment"],
        row["rule_set"],
        row["first_invariant"],
        row["first_violation_ms"],
        row["events"],
        row["sentence"] or "",
    )

"""The failing runs of a sweep by their causes, with how often each was met where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, product
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

from sim.bounds import Inconclusive
from sim.diagnose.explain.signature import signature_of
from sim.diagnose.shrink.smallest import smallest_example
from sim.errors import BadInput
from sim.simulate.run import Run, conclusive, run_of
from sim.study.causes.track_record import Shown, TrackRecord
from sim.study.suite.scenario_files import content_at
from sim.study.sweep.folder import read_sweep
from sim.study.sweep.one_run import scenario_of_run
from sim.study.sweep.plan import Sweep
from sim.study.sweep.statistics import JUDGED
from sim.study.sweep.stats import Interval, clopper_pearson
from sim.study.sweep.table import State, open_rows
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

_FIRST = ("first_invariant", "first_violation_ms")
_COLUMNS = ("run_id", "case_id", "rule_set", "verdict", *_FIRST, "events", "cause")


@dataclass(slots=True)
class Group:
    """The runs that fail for one cause first.

    Attributes:
        first: The row of the one that fails earliest; ties: fewest events, lowest number.
        invariants: What they violate first -> how many.
        cells: Their rule sets and environments (`Sweep.cell_of`) -> how many.
    """

    first: Row
    invariants: Counter[str] = field(default_factory=Counter)
    cells: Counter[int] = field(default_factory=Counter)

    def add(self, row: Row, cell: int) -> None:
        """Count one more."""
        self.invariants[row["first_invariant"]] += 1
        self.cells[cell] += 1
        self.first = min(self.first, row, key=itemgetter("first_violation_ms", "events", "run_id"))


def causes_of(out: Path | str, *, stories: Path | str | None = None) -> Causes:
    """Why the runs of a sweep fail.

    Args:
        out: The folder of a sweep, finished or interrupted.
        stories: The folder of the track record; None = the scenarios that come with Replog.

    Raises:
        BadInput: The folder holds no sweep, nothing of it is finished, or its table is damaged.
    """
    out = Path(out)
    sweep, table = read_sweep(out), open_rows(out)
    groups, judged = dict[str, Group](), Counter[int]()
    for row in chain.from_iterable(batch.to_pylist() for batch in table.batches(_COLUMNS)):
        cell = sweep.cell_of(row["case_id"], row["rule_set"])
        judged[cell] += row["verdict"] in JUDGED
        if row["verdict"] == "violated":
            groups.setdefault(row["cause"], Group(row)).add(row, cell)
    sentences = _sentences(table, {group.first["run_id"] for group in groups.values()})
    known = TrackRecord(stories)
    causes = [
        Cause(
            text,
            group.cells.total(),
            dict(group.invariants.most_common()),
            tuple(_shares(sweep, group.cells, judged)),
            _example(sweep, group.first, sentences),
            _known(known, out, group.first),
        )
        for text, group in groups.items()
    ]
    causes.sort(key=lambda cause: (-cause.runs, cause.text))
    return Causes(out, sum(cause.runs for cause in causes), tuple(causes))


def _sentences(table: State, run_ids: set[int]) -> dict[int, str]:
    """What the first violation of each of some runs says."""
    found = table.violations(("run_id", "position", "sentence"))
    return {
        row["run_id"]: row["sentence"]
        for row in found.to_pylist()
        if row["position"] == 0 and row["run_id"] in run_ids
    }


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


def _shares(sweep: Sweep, failing: Counter[int], judged: Counter[int]) -> Iterator[Share]:
    for cell, (where, rule_set) in enumerate(product(sweep.environments, sweep.rule_sets)):
        runs, of = failing[cell], judged[cell]
        interval = clopper_pearson(runs, of) if of else None
        yield Share(where.name, rule_set.index, rule_set.label, runs, of, interval)


def _example(sweep: Sweep, row: Row, sentences: dict[int, str]) -> Example:
    return Example(
        row["run_id"],
        sweep.environment_of(row["case_id"]).name,
        sweep.rule_sets[row["rule_set"]].label,
        row["first_invariant"],
        row["first_violation_ms"],
        row["events"],
        sentences.get(row["run_id"], ""),
    )

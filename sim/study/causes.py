"""The failing runs of a sweep by their causes, with how often each was met where.

The track record has the stories and timed scenarios by the causes that they show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.bounds import Inconclusive
from sim.diagnose.explain.mechanisms import deciding_rules
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import Signature, first_signatures, signature_of
from sim.errors import BadInput
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.files.shipped import PREFIX, shipped_folder
from sim.protocol.rules import Rules
from sim.simulate.run import conclusive, run_of
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story
from sim.study.suite.scenario_files import content_at, format_of, scenario_files
from sim.study.sweep.numbers import Interval, clopper_pearson, counted
from sim.study.sweep.plan import Sweep
from sim.study.sweep.table import open_rows, scenario_of_run

NOT_KNOWN = "not known: no story of the track record has this cause under these rules"


@dataclass(frozen=True, slots=True)
class KnownCase:
    """A story, or a scenario, that shows a cause.

    Attributes:
        path: Path of the file; for a shipped one the path that `replog run` takes in any folder.
        title: Title of the story.
        steps: Number of steps; None for a timed scenario.
    """

    path: Path
    title: str
    steps: int | None

    @property
    def size(self) -> str:
        """The size in words: `11 steps`, or `in simulated time`."""
        return "in simulated time" if self.steps is None else counted(self.steps, "step")

    def as_json(self) -> dict[str, Any]:
        """Returns the file, title and size for JSON."""
        return asdict(self) | {"path": self.path.as_posix(), "size": self.size}


class _Entry(NamedTuple):
    """The first violation of one invariant, in one family, by a file.

    Attributes:
        signature: The invariant with its cause.
        rules: The rules of the run, by name.
        deciding: Names of the rules that make the cause possible.
        rank: Order among files with one cause: those that violate nothing before come first, then
            by size, then by path.
        shown: The file.
    """

    signature: Signature
    rules: Mapping[str, object]
    deciding: tuple[str, ...]
    rank: tuple[bool, int, str]
    shown: KnownCase


class TrackRecord:
    """Lookup of the stories by their causes."""

    def __init__(self, folder: Path | str | None = None) -> None:
        """Takes the folder of the stories; None for those that come with Replog, if any do.

        Raises:
            BadInput: The folder is not there.
        """
        if folder is not None and not Path(folder).is_dir():
            raise BadInput(f"{folder}: no such folder of stories")
        self._folder = None if folder is None else Path(folder)
        self._named = self._folder or Path(PREFIX)
        if folder is None:
            with suppress(BadInput):  # an installation without scenarios
                self._folder = shipped_folder()

    def story_of(self, found: Signature, rules: Rules) -> KnownCase | None:
        """Finds the story with the cause of a run, or else the scenario; None where none has it.

        Its rules that make the cause possible have the same values as in the run. Of several, one
        that violates the same invariant is preferred, then one with the fewest other rules that
        differ, then one that violates nothing before, then the smallest.

        Args:
            found: The violation of the run with its cause.
            rules: The rules of the run.
        """
        values = rules.as_dict()
        for file_format in (STORY_FORMAT, SCENARIO_FORMAT):  # scenarios take longer
            fitting = []
            for one in _read(self._folder, self._named, file_format):
                others = {rule for rule, value in one.rules.items() if values[rule] != value}
                own = one.signature
                same = (own.cause, own.marker) == (found.cause, found.marker)
                if same and others.isdisjoint(one.deciding):
                    another = own.invariant != found.invariant
                    fitting.append((another, len(others), one.rank, one.shown))
            if fitting:
                return min(fitting, key=itemgetter(0, 1, 2))[-1]
        return None


@lru_cache(maxsize=4)
def _read(folder: Path | None, named: Path, file_format: str) -> list[_Entry]:
    """Runs all files of a format in a folder; reported paths begin with `named`."""
    found: list[_Entry] = []
    if folder is not None:
        for path in scenario_files(folder):
            if format_of(path) == file_format:
                with suppress(BadInput, Inconclusive):  # the suite reports what cannot be read
                    found += _entries(content_at(path), named / path.relative_to(folder))
    return found


def _entries(content: Story | Scenario, path: Path) -> Iterator[_Entry]:
    if not content.expect.violated:
        return
    run = conclusive(run_of(content))
    steps = len(content.steps) if isinstance(content, Story) else None
    values, shown = run.rules.as_dict(), KnownCase(path, content.title, steps)
    size = steps or len(run.events)
    for place, found in first_signatures(Past(run.events, run.rules), run.violations).items():
        rank = (place > 0, size, path.as_posix())
        deciding = deciding_rules(found.mechanism)
        yield _Entry(found, values, deciding, rank, shown)


@dataclass(frozen=True, slots=True)
class Share:
    """Share of the runs under one rule set in one environment that fail for a cause.

    Attributes:
        environment: Name of the environment.
        rule_set: Index of the rule set in the plan.
        label: Label of the rule set.
        runs: Number of runs that fail for this cause first.
        judged: Number of runs that held or violated something.
        interval: Exact two-sided 95 % interval of runs / judged; None when no run was judged.
    """

    environment: str
    rule_set: int
    label: str
    runs: int
    judged: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Example:
    """The run with a cause that fails earliest; of several the one with the fewest events.

    Attributes:
        run_id: Number of the run.
        environment: Name of the environment of its case.
        label: Label of its rule set.
        invariant: The invariant that it violates first.
        at_ms: Simulated time of that violation in ms.
        events: Number of all events of the run.
        sentence: The violation in words.
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
    """A cause of failing runs.

    Attributes:
        text: Family and mechanism (`sim.diagnose.explain.questions.Signature.cause`).
        runs: Number of runs that fail for it first.
        invariants: Number of runs by the invariant that they violate first.
        shares: Its shares in each environment under each rule set, in the order of the plan.
        example: One of its runs.
        story: The story of the track record with the same cause; None where none has it.
    """

    text: str
    runs: int
    invariants: dict[str, int]
    shares: tuple[Share, ...]
    example: Example
    story: KnownCase | None

    def as_json(self) -> dict[str, Any]:
        """Returns the cause for JSON; `story` is null where no story shows it."""
        fields = asdict(self) | {"story": None if self.story is None else self.story.as_json()}
        return {"cause": fields.pop("text"), **fields}


@dataclass(frozen=True, slots=True)
class Causes:
    """All causes of a sweep, the most frequent first.

    Attributes:
        folder: Folder of the sweep.
        failing: Number of failing runs.
        causes: The causes.
    """

    folder: Path
    failing: int
    causes: tuple[Cause, ...]

    @property
    def text(self) -> str:
        """The numbers in words, as `503 failing runs, 6 causes`."""
        if not self.failing:
            return "no failing run"
        return f"{counted(self.failing, 'failing run')}, {counted(len(self.causes), 'cause')}"

    def as_json(self) -> dict[str, Any]:
        """Returns the causes as `replog causes --json` prints them."""
        return {"failing": self.failing, "causes": [cause.as_json() for cause in self.causes]}


Row = dict[str, Any]

_JUDGED: Final = """
    SELECT environment, rule_set, count(*) AS runs
    FROM runs WHERE verdict IN ('holds', 'violated') GROUP BY ALL"""
_FAILING: Final = """
    SELECT cause, environment, rule_set, first_invariant, count(*) AS runs
    FROM runs WHERE verdict = 'violated' GROUP BY ALL ORDER BY runs DESC, min(run_id)"""
_EARLIEST: Final = """
    SELECT cause, {
        run_id: run_id, environment: environment, label: rule_set, invariant: first_invariant,
        at_ms: first_violation_ms, events: events, sentence: coalesce(violations[1].sentence, '')
    } AS example
    FROM runs WHERE verdict = 'violated'
    QUALIFY row_number() OVER (
        PARTITION BY cause ORDER BY first_violation_ms, events, run_id) = 1"""


def causes_of(out: Path | str, *, stories: Path | str | None = None) -> Causes:
    """Groups the failing runs of a sweep by cause.

    Args:
        out: The folder of a sweep, finished or interrupted.
        stories: The folder of the track record; None for the scenarios that come with Replog.

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
                Example(**first["example"]),
                _known(known, out, first),
            )
        )
    causes.sort(key=lambda cause: (-cause.runs, cause.text))
    return Causes(out, sum(cause.runs for cause in causes), tuple(causes))


def _known(known: TrackRecord, out: Path, row: Row) -> KnownCase | None:
    """Runs a failing run again and looks up the story with its cause; None where none has it.

    None as well when the run has another cause with this version.
    """
    with suppress(Inconclusive):
        run = conclusive(run_of(scenario_of_run(out, row["example"]["run_id"])))
        for first in run.violations[:1]:
            found = signature_of(Past(run.events, run.rules), first)
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

"""A run for notebooks: its verdict, its tables, why it went wrong, and the same case otherwise."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sim.api.markup import facts, grid, shorten
from sim.api.recorded import Recorded, record
from sim.api.scenarios import Scenario, Source, Value, load
from sim.api.texts import Explanation
from sim.errors import BadInput, did_you_mean
from sim.plugins import as_options

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation

SHOWN = 5
"""Most violations in a notebook's table."""


class Row(NamedTuple):
    """Which row of a sweep a run is.

    Attributes:
        folder: The sweep's.
        run_id: The run's number.
        case_id: Of its random scenario, which every rule set of the plan meets.
        rule_set: The label of its rules.
        digest: Of all events; None = the run did not end, or nobody knows.
        sentence: Its first violation, as far as the table was asked; may be empty.
    """

    folder: Path
    run_id: int
    case_id: int
    rule_set: str
    digest: str | None
    sentence: str


class Run:
    """A run of a scenario, and the questions one asks of it.

    One of a sweep is simulated when something of it is asked for that its row does not say.

        >>> import sim
        >>> run = sim.run(7, fix="none")
        >>> run.verdict
        'holds'
        >>> run.events.columns.tolist()
        ['at_ms', 'event', 'replica', 'peer', 'epoch', 'offset', 'keys', 'sentence']

    Attributes:
        scenario: What was run, under which rules.
        row: Which row of a sweep it is; None = of none.
    """

    def __init__(self, scenario: Scenario, *, row: Row | None = None, about: str = "") -> None:
        """A run of `scenario`; `about` is the invariant that questions are about by default."""
        self.scenario = scenario
        self.row = row
        self._about = about

    @cached_property
    def recorded(self) -> Recorded:
        """Everything that happened, as the simulator tells it: for tools, see `sim.trace`.

        Raises:
            BadInput: It is a row of a sweep that another version of Replog made.
        """
        found = record(self.scenario)
        if self.row is not None and self.row.digest not in (None, found.digest):
            raise BadInput(
                f"{self.row.folder}: run {self.row.run_id}: what happens now is not what happened "
                "when the sweep was made (the digests differ): sweep again with this version"
            )
        return found

    @property
    def id(self) -> str:
        """The scenario's name; of a row of a sweep with the run's number."""
        return self.scenario.id if self.row is None else f"run {self.row.run_id}"

    @property
    def verdict(self) -> str:
        """`holds`, `violated` or `inconclusive`."""
        return self.recorded.verdict

    @property
    def reason(self) -> str | None:
        """Why it is inconclusive, else None."""
        return self.recorded.reason

    @property
    def as_expected(self) -> bool:
        """Whether everything is as the scenario's `expect` says; without one: nothing violated."""
        return not self.recorded.differences

    @property
    def violated(self) -> list[str]:
        """Violated invariants in order of first detection."""
        return list(dict.fromkeys(found.invariant for found in self.recorded.violations))

    @property
    def digest(self) -> str:
        """Of every event with its time; 32 hex digits. Equal digests are equal runs."""
        return self.recorded.digest

    @property
    def counters(self) -> dict[str, int]:
        """What happened how often, by name (replog list columns); empty for a story."""
        return dict(self.recorded.counters)

    @cached_property
    def events(self) -> pd.DataFrame:
        """What happened, a row each; columns as in `sim.api.tables.EVENT_COLUMNS`."""
        from sim.api.tables import events_table

        return events_table(self.recorded, self.scenario.time)

    @cached_property
    def violations(self) -> pd.DataFrame:
        """What went wrong, a row each; columns as in `sim.api.tables.VIOLATION_COLUMNS`."""
        from sim.api.tables import violations_table

        return violations_table(self.recorded, self.scenario.time)

    @cached_property
    def replicas(self) -> pd.DataFrame:
        """The replicas at the end, a row each; see `sim.api.tables.REPLICA_COLUMNS`."""
        from sim.api.tables import replicas_table

        return replicas_table(self.recorded)

    @cached_property
    def records(self) -> pd.DataFrame:
        """What the logs hold at the end, a row per offset; see `sim.api.tables.RECORD_COLUMNS`."""
        from sim.api.tables import records_table

        return records_table(self.recorded)

    def explain(self, invariant: str | None = None) -> Explanation:
        """Why an invariant is violated: what led there; without a name, the first one.

        Raises:
            BadInput: The run violates nothing, or not that.
        """
        from sim.explain import explain

        found, recorded = self.violation(invariant), self.recorded
        lines = explain(recorded.events, found, rules=recorded.rules, skews=recorded.skews)
        return Explanation(found.invariant, lines)

    @property
    def cause(self) -> str:
        """Why it went wrong, in words that are the same for every run of the same bug.

        Of the first violation, or of the invariant that failures were narrowed to.

        Raises:
            BadInput: Nothing is violated.
        """
        from sim.explain.signature import signature_of

        recorded = self.recorded
        return signature_of(recorded.events, self.violation(), recorded.rules).cause

    def causes(self) -> pd.DataFrame:
        """The causes of all its violations, a row each: `cause`, `invariants`, `violations`.

        `invariants` are the names of those that it breaks, joined by spaces; `violations` says how
        many of them there are.
        """
        import pandas as pd

        from sim.explain.signature import signature_of

        recorded = self.recorded
        named: dict[str, list[str]] = {}
        for found in recorded.violations:
            cause = signature_of(recorded.events, found, recorded.rules).cause
            named.setdefault(cause, []).append(found.invariant)
        rows = [
            {"cause": cause, "invariants": " ".join(dict.fromkeys(names)), "violations": len(names)}
            for cause, names in named.items()
        ]
        return pd.DataFrame(rows, columns=["cause", "invariants", "violations"]).astype(
            {"cause": "string", "invariants": "string", "violations": "int64"}
        )

    def save(self, folder: str | Path, invariant: str | None = None) -> Path:
        """Write a folder with all there is about this failure below `folder`; its path.

        The scenario, the trace, the sentence, why, a picture, the command (`sim.failures`). What
        is there is never overwritten.

        Args:
            folder: Where; it is made if need be.
            invariant: What it is to be about; None = the first violation.

        Raises:
            BadInput: Nothing went wrong, or the folder cannot be written.
        """
        from sim.api.saving import failure_of
        from sim.failures import save_failure

        return save_failure(Path(folder), failure_of(self, invariant))

    def violation(self, invariant: str | None = None) -> Violation:
        """The first violation, or the first of an invariant, as the checks report it.

        Raises:
            BadInput: There is none.
        """
        violations = self.recorded.violations
        if not violations:
            raise BadInput(f"{self.id}: nothing is violated here; verdict: {self.verdict}")
        wanted = invariant or self._about
        found = next((one for one in violations if not wanted or one.invariant == wanted), None)
        if found is None:
            hint = did_you_mean(wanted, self.violated)
            raise BadInput(
                f"{self.id}: {wanted} is not violated here{hint}; violated: "
                f"{', '.join(self.violated)}"
            )
        return found

    def compare(self, *fixes: str, **rules: Value | Sequence[Value]) -> Comparison:
        """The same case under other rules: same workload, same faults, same seed.

            >>> import sim
            >>> sim.run(7).compare("leo_retention", "empty_batch")
            Comparison(none: holds, leo_retention: holds, empty_batch: holds)
            >>> sim.run(7).compare(strategy=["offset", "timestamp"]).table.verdict.tolist()
            ['holds', 'holds']

        Args:
            fixes: Values of the rule `fix`; nothing at all = every one there is.
            rules: By name a value or a list of values; of several rules, each with each.

        Raises:
            BadInput: Unknown rule or value.
        """
        from sim.compaction import FIXES

        axes = {name: _values(given) for name, given in rules.items()}
        if fixes or not axes:
            if "fix" in axes:
                raise BadInput("compare: fix: given twice; give its values by name or without")
            axes = {"fix": fixes or tuple(FIXES), **axes}
        runs = {_label(self.scenario.rules, axes): self}
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            other = self.scenario.with_rules(**chosen)
            label = _label(other.rules, axes)
            if label not in runs:
                runs[label] = Run(other, about=self._about)
        return Comparison(runs)

    @property
    def command(self) -> str | None:
        """The command that runs it again in a shell; None = its scenario stands in no file."""
        if self.row is None:
            return self.scenario.command
        words = [str(self.row.folder), str(self.row.run_id), *as_options()]
        return f"replog replay {shlex.join(words)}"

    def __repr__(self) -> str:
        """One line for people."""
        if self.row is not None:
            place = f"{self.id}, {self.row.rule_set}"
            said = f": {shorten(self.row.sentence, 120)}" if self.row.sentence else ""
            return f"Run({place}{said})"
        first = next(iter(self.recorded.violations), None)
        said = "" if first is None else f", first: {shorten(first.sentence, 120)}"
        return f"Run({self.id}: {self.verdict}{said})"

    def _repr_html_(self) -> str:
        found, scenario = self.recorded, self.scenario
        changed = ", ".join(f"{name}={value}" for name, value in scenario.changed_rules.items())
        seed = "" if scenario.seed is None else f", seed {scenario.seed}"
        rows: list[tuple[str, object]] = [
            ("run", f"{self.id}{seed}" if self.row is None else f"{self.id}: {scenario.id}"),
            ("title", scenario.title),
            ("verdict", found.verdict + (f" ({found.reason})" if found.reason else "")),
            ("rules", changed),
        ]
        rows += [
            (f"{one.invariant}, {_when(scenario.unit, one.at)}", one.sentence)
            for one in found.violations[:SHOWN]
        ]
        if len(found.violations) > SHOWN:
            rows.append(("", f"and {len(found.violations) - SHOWN} more violations"))
        return facts([*rows, ("again", self.command or "")])


class Comparison(Mapping[str, Run]):
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
        import pandas as pd

        unit = next(iter(self._runs.values())).scenario.unit
        rows = [
            {
                "rules": label,
                "verdict": run.verdict,
                "violations": len(run.recorded.violations),
                "first_invariant": next(iter(run.violated), None),
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
            at = "" if first is None else _when(run.scenario.unit, first.at)
            said = "" if first is None else f"{first.invariant}: {first.sentence}"
            rows.append((label, run.verdict, len(run.recorded.violations), at, said))
        return grid(("rules", "verdict", "violations", "first at", "first violation"), rows)


def run(source: Source | Scenario, *, seed: int | None = None, **rules: Value) -> Run:
    """Simulate a scenario and judge it.

        >>> import sim
        >>> sim.run(7)
        Run(reference-7: holds)

    Args:
        source: A scenario as loaded, or what `load` takes: a path, a text, a mapping, a seed.
        seed: Of a timed scenario: replaces its own.
        rules: Rules that replace the scenario's, such as `fix="empty_batch"`; also a `preset`.

    Raises:
        BadInput: It is no scenario, or says something wrong; an unknown rule or value.
    """
    if isinstance(source, Scenario):
        if seed is not None:
            raise BadInput("run: seed: the scenario is loaded; give the seed to load")
        scenario = source
    else:
        scenario = load(source, seed=seed)
    made = Run(scenario.with_rules(**rules))
    _ = made.recorded  # what is wrong with it is raised here, not where something is asked of it
    return made


def _values(given: Value | Sequence[Value]) -> tuple[Value, ...]:
    return (given,) if isinstance(given, str | int) else tuple(given)


def _label(rules: Mapping[str, Value], axes: Mapping[str, Sequence[Value]]) -> str:
    """What tells a run from the others; of one rule its value alone."""
    if "preset" in axes:
        raise BadInput("compare: preset: name the rules; or run the scenario with preset=…")
    from sim.rules.rules import shown

    if len(axes) == 1:
        return shown(rules[next(iter(axes))]) if next(iter(axes)) in rules else ""
    return ", ".join(f"{name}={shown(rules[name])}" for name in axes if name in rules)


def _when(unit: str, at: int) -> str:
    return f"{at} ms" if unit == "ms" else f"step {at}"

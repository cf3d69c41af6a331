"""A run for notebooks: its verdict, its tables, its causes, and the same case under other rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.api import tables
from sim.api.answers import (
    Comparison,
    Explanation,
    Shrunk,
    Timeline,
    differing,
    failure_of,
    label_of,
    not_violated,
)
from sim.api.scenarios import Row, Scenario, Source, Value, load
from sim.api.tables import facts, shorten
from sim.errors import BadInput
from sim.plugins import command_of
from sim.simulate.run import Run as Simulated
from sim.simulate.run import run_of

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from sim.check import Violation
    from sim.diagnose.explain.past import Past

SHOWN = 5
"""Number of violations that a notebook shows, at most."""


class Run:
    """A run of a scenario, and questions about it.

    A run of a sweep is simulated when something is asked that its row does not say.

        >>> import sim
        >>> run = sim.run(7, fix="none")
        >>> run.verdict
        'holds'
        >>> run.events.columns.tolist()
        ['at_ms', 'event', 'replica', 'peer', 'epoch', 'offset', 'keys', 'sentence']

    Attributes:
        scenario: The scenario, with the rules it ran under.
        row: The row of a sweep; None for a run that is not of a sweep.
    """

    def __init__(self, scenario: Scenario, *, row: Row | None = None, about: str = "") -> None:
        """A run of `scenario`; `about` is the invariant that questions are about by default."""
        self.scenario = scenario
        self.row = row
        self._about = about

    @cached_property
    def recorded(self) -> Simulated:
        """The run as the simulator recorded it, for tools; its events are in `sim.protocol.events`.

        Raises BadInput for a row of a sweep that another version of Replog made.
        """
        found = run_of(self.scenario.content)
        known = None if self.row is None else self.row.digest
        if self.row is not None and not found.cut_off and known not in (None, found.digest):
            raise BadInput(
                f"{self.row.folder}: run {self.row.run_id}: what happens now is not what happened "
                "when the sweep was made (the digests differ): sweep again with this version"
            )
        return found

    @cached_property
    def past(self) -> Past:
        """The events folded for explanations, once for all questions."""
        from sim.diagnose.explain.past import Past

        return Past(self.recorded.events, self.recorded.rules)

    @property
    def id(self) -> str:
        """The scenario's name; for a row of a sweep the run's number, as in `run 17`."""
        return self.scenario.id if self.row is None else f"run {self.row.run_id}"

    @property
    def title(self) -> str:
        """The title of pictures of the run."""
        if self.row is not None:
            return f"{self.id}: {self.scenario.id}"
        return self.scenario.headline or self.scenario.id

    @property
    def verdict(self) -> str:
        """`holds`, `violated` or `inconclusive`."""
        return self.recorded.verdict

    @property
    def reason(self) -> str | None:
        """The reason for an inconclusive verdict; None for other verdicts."""
        return self.recorded.reason

    @property
    def as_expected(self) -> bool:
        """True when the run meets its scenario's `expect`; without one, if nothing is violated."""
        return self.recorded.exit_code == 0

    @property
    def violated(self) -> list[str]:
        """Violated invariants, of those judged, in order of first detection."""
        return self.recorded.violated

    @property
    def notes(self) -> list[str]:
        """Notes about the run that are no failures, a line each.

        They name violations that are not judged, and steps of a story that did nothing.
        """
        return list(self.recorded.notes)

    @property
    def digest(self) -> str:
        """Digest of every event with its time, 32 hex digits. Equal digests are equal runs."""
        return self.recorded.digest

    @property
    def counters(self) -> dict[str, int]:
        """Counters of the run by name (replog list columns); empty for a story.

        They do not count what happened after the end of the run, while it settled (`settling`).
        """
        return dict(self.recorded.counters)

    @property
    def settling(self) -> dict[str, Any] | None:
        """The settling of a timed run after its end; None for a story or a run that was cut off.

        `from_ms`, the increase of `counters` since then, and the situations `reached` only then.
        """
        found = self.recorded.settling
        return None if found is None else found.as_json()

    @cached_property
    def events(self) -> pd.DataFrame:
        """Table of the events, a row each; the index is the position of the event, from 0.

        `at_ms` (of a story `step`, from 1), `event` (a class of `sim.protocol.events`), `replica`
        (missing for what concerns the whole cluster), `peer` (the leader, follower, consumer or
        client that takes part), leader `epoch`, `offset` (the first one it is about, inclusive, or
        the position it moves to), `keys` (at most 8, joined by spaces), `sentence`.
        """
        return tables.events_table(self.recorded, self.scenario.time)

    @cached_property
    def violations(self) -> pd.DataFrame:
        """Table of the violations, a row each, in order of detection.

        `at_ms` or `step` (when it was judged), `invariant`, `family`, `replica`, `offset` and `key`
        (each missing where the violation is about none), `sentence`, and `since`: when it began to
        be so, in the unit of the first column.
        """
        return tables.violations_table(self.recorded, self.past, self.scenario.time)

    @cached_property
    def replicas(self) -> pd.DataFrame:
        """The replicas at the end, a row each; of a timed run before it settled.

        `replica`, `up`, `leads` (was elected in the newest epoch), `log_start_offset` (inclusive),
        `first_dirty_offset` (all below was cleaned), `high_watermark` and `log_end_offset` (both
        exclusive), `records` (number of data records), `tombstones` (how many of them).
        """
        return tables.replicas_table(self.recorded)

    @cached_property
    def records(self) -> pd.DataFrame:
        """Table of the logs at the time of `replicas`, a row per replica and offset.

        `replica`, `offset`, `kind` (record, tombstone, marker of a transaction, empty batch, hole),
        `key` and `value` (missing where the offset has none), leader `epoch` of the batch,
        `timestamp_ms` (create time, missing where there is none), `committed` (this is what was
        committed at the offset), `wins` (it is the committed, decided record that wins its key).
        """
        return tables.records_table(self.recorded)

    def explain(self, invariant: str | None = None) -> Explanation:
        """Explains a violation, the deciding fact first; without a name, of the first invariant.

            >>> import sim
            >>> run = sim.run("scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")
            >>> run.explain("no-resurrection").about
            'no-resurrection'

        Raises:
            BadInput: The run violates nothing, or not that.
        """
        from sim.diagnose.explain import explanation

        found = self.violation(invariant)
        return Explanation(explanation(self.past, found, skews=self.recorded.skews))

    def causality(self, invariant: str | None = None) -> nx.DiGraph:
        """The events that led to a violation as a graph of networkx; needs the extra `report`.

        A node is the row of an event in `run.events`, with `time`, `replica`, `kind`, `sentence`,
        `message` (`r1 to r2` for an arrival) and `offset` where there is one; the last node showed
        the violation. `why` of an edge is `copy`, `message`, `decided by` or `program order`.

            >>> import sim
            >>> run = sim.run("scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")
            >>> max(run.causality("no-resurrection").nodes(data="kind"))[1]
            'Quiesced'

        Args:
            invariant: Without a name, the first one that is violated.

        Raises:
            BadInput: The run violates nothing, or not that, or networkx is not installed.
        """
        from sim.diagnose.explain.causality import causality

        return causality(self.past, self.violation(invariant))

    def heals(self, invariant: str | None = None, *, within_s: float | None = 30.0) -> pd.DataFrame:
        """Table of the single changes that avoid a violation; those that leave no other come first.

        `change` (a rule with its value, or one fault or step less), `kind` (`rule`, `fault`,
        `step`), `still` (what is violated with it, joined by spaces; empty = nothing), `error`:
        with some changes a run ends in an error; they come last, and their `still` is missing.

        Args:
            invariant: Without a name, the first one.
            within_s: Time limit in s, after which it returns what was found; None for no limit.
        """
        about = self.violation(invariant).invariant
        return tables.heals_table(self.scenario.content, about, within_s=within_s)

    def no_return(
        self, invariant: str | None = None, *, tries: int = 20, within_s: float | None = 30.0
    ) -> pd.DataFrame:
        """Table of the share of futures that violate an invariant after each moment, by time.

        After a moment (`at_ms`, -1 the start) the future is drawn anew `tries` times; `violated` of
        them violate the invariant: a `share`, with 95 % confidence between `low` and `high`. Where
        all do it is `sealed`; the first such row is the point of no return, `sentence` its event.

        Args:
            invariant: Without a name, the first one.
            tries: Number of futures that are drawn from each moment.
            within_s: Time limit in s, after which it returns what is known; None for no limit.

        Raises:
            BadInput: It is a story, where nothing is random.
        """
        found, content = self.violation(invariant), self.scenario.content
        if content.unit == "step":
            text = "a story has no chance in it, so no point of no return; ask .heals()"
            raise BadInput(f"{content.id}: {text}")
        from sim.diagnose.what_if import point_of_no_return

        events = self.recorded.events
        sealed = point_of_no_return(content, events, found, tries=tries, within_s=within_s)
        return tables.no_return_table(sealed)

    def timeline(
        self, invariant: str | None = None, *, against: str | Run | None = None
    ) -> Timeline:
        """Draws every replica's log when the invariant breaks, and the events that led there.

        Of a run that violates nothing, it shows the end, of a timed one before it settled.

        Args:
            invariant: Without a name, the first one that is violated.
            against: A value of the rule `fix`, or another run of the same case, which the page of
                `.save("page.html")` shows beside it.

        Raises:
            BadInput: This invariant is not violated.
        """
        from sim.diagnose.draw import DrawnCase
        from sim.diagnose.failures import not_as_expected

        found = self.violation(invariant) if self.recorded.violations or invariant else None
        name, beside = f"{self.id}, fix={self.scenario.rules['fix']}", None
        if against is not None:
            run = against if isinstance(against, Run) else self.compare(against)[against]
            about = None if found is None else found.invariant
            same = (one for one in run.recorded.violations if one.invariant == about)
            name, its = differing(self.scenario, run.scenario)
            beside = DrawnCase(run.recorded, next(same, None), its)
        # The expectations of a file say nothing of a changed scenario.
        as_filed = self.scenario.path is not None and not self.scenario.changes
        missed = not_as_expected(self.recorded) if as_filed and self.recorded.exit_code else ()
        case = DrawnCase(self.recorded, found, name, missed)
        return Timeline(case, self.title, against=beside, command=self.command or "")

    @property
    def cause(self) -> str:
        """The cause of the failure, in words that are the same for every run of the same bug.

        It is about the first violation, or that for which the run was selected or shrunk.

        Raises:
            BadInput: Nothing is violated.
        """
        from sim.diagnose.explain.questions import signature_of

        return signature_of(self.past, self.violation()).cause

    def causes(self) -> pd.DataFrame:
        """The causes of all violations, a row each: `cause`, `invariants`, `violations`.

        `invariants`: the names of the violated ones, joined by spaces; `violations`: their number.
        """
        return tables.causes_table(self.recorded.violations, self.past)

    def save(self, folder: str | Path, invariant: str | None = None) -> Path:
        """Writes a folder about this failure into `folder`; returns its path.

        It has the scenario, the trace, the explanation, pictures and the command
        (`sim.diagnose.failures`), and the smallest example that shrinking finds in 5 s. An existing
        folder is never overwritten.

        Args:
            folder: Folder that it is written into; made if need be.
            invariant: Invariant that it is about; None for the first violation.

        Raises:
            BadInput: Nothing went wrong, or the folder cannot be written.
        """
        from sim.diagnose.failures import save_failure

        found = self.violation(invariant) if self.recorded.violations or invariant else None
        return save_failure(Path(folder), failure_of(self, found))

    def save_trace(self, path: str | Path) -> Path:
        """Writes all events to a file, a line of JSON each (replog-trace/1); returns its path.

        Raises:
            BadInput: It cannot be written.
        """
        from sim.simulate.run.trace_file import write_trace

        write_trace(Path(path), self.recorded, mix=self.scenario.mix)
        return Path(path)

    def violation(self, invariant: str | None = None) -> Violation:
        """The first violation, or the first of an invariant, as the checks report it.

        One that the scenario does not judge is found only if it is named.

        Raises:
            BadInput: There is none.
        """
        wanted = invariant or self._about
        violations = self.recorded.seen if wanted else self.recorded.violations
        found = next((one for one in violations if not wanted or one.invariant == wanted), None)
        if found is None:
            raise not_violated(self.id, self.verdict, wanted, violations)
        return found

    def shrink(self, invariant: str | None = None, *, within_s: float | None = 10.0) -> Shrunk[Run]:
        """Shrinks the failure, mostly to a story of a few steps.

            >>> import sim
            >>> run = sim.run("scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")
            >>> run.shrink("no-resurrection").steps < len(run.scenario.content.steps)
            True

        Args:
            invariant: Invariant that the result violates; None = the first that the run violates.
            within_s: Time limit in s, after which it returns the best found; None for no limit.

        Raises:
            BadInput: Nothing is violated, or not this.
        """
        from sim.diagnose.shrink.engine import ShrinkBudget
        from sim.diagnose.shrink.smallest import ShrinkCase

        about = self.violation(invariant).invariant
        case = ShrinkCase(self.scenario.content, about, source=self.scenario.source)
        found, near = case.shrink(ShrinkBudget(within_s)), case.near_miss()
        small = Run(load(found.text), about=about)
        return Shrunk(
            run=small,
            scenario=small.scenario,
            invariant=about,
            steps=found.steps,
            events=len(small.recorded.events),
            events_before=len(self.recorded.events),
            tries=found.tries,
            complete=found.complete,
            near_miss=None if near is None else load(case.near_miss_text(near)),
            change="" if near is None else near.change,
            heals_origin=near is None or near.heals_origin,
        )

    def compare(self, *fixes: str, **rules: Value | Sequence[Value]) -> Comparison[Run]:
        """Runs the same case under other rules: same workload, same faults, same seed.

            >>> import sim
            >>> sim.run(7).compare("leo_retention", "empty_batch")
            Comparison(none: holds, leo_retention: holds, empty_batch: holds)
            >>> sim.run(7).compare(strategy=["offset", "timestamp"]).table.verdict.tolist()
            ['holds', 'holds']

        Args:
            fixes: Values of the rule `fix`; all of them if neither these nor `rules` are given.
            rules: A value or a list of values by name; all combinations of several rules are run.

        Raises:
            BadInput: Unknown rule or value.
        """
        from sim.protocol.compaction import FIXES

        axes = {
            name: (given,) if isinstance(given, str | int) else (*given,)
            for name, given in rules.items()
        }
        if fixes or not axes:
            if "fix" in axes:
                raise BadInput("compare: fix: given twice; give its values by name or without")
            axes = {"fix": fixes or tuple(FIXES), **axes}
        runs = {label_of(self.scenario.rules, axes): self}
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            other = self.scenario.with_rules(**chosen)
            runs.setdefault(label_of(other.rules, axes), Run(other, about=self._about))
        return Comparison(runs)

    @property
    def command(self) -> str | None:
        """The command that runs it again in a shell; None = no lasting file has it."""
        if self.row is None:
            return self.scenario.command
        if not self.row.lasting:
            return None
        return command_of("run", self.row.folder, self.row.run_id)

    def __repr__(self) -> str:
        """Returns one line for people."""
        if self.row is not None:
            said = f": {shorten(self.row.sentence, 120)}" if self.row.sentence else ""
            return f"Run({self.id}, {self.row.rule_set}{said})"
        first = next(iter(self.recorded.violations), None)
        said = "" if first is None else f", first: {shorten(first.sentence, 120)}"
        return f"Run({self.id}: {self.verdict}{said})"

    def _repr_html_(self) -> str:
        found, scenario = self.recorded, self.scenario
        changed = ", ".join(f"{name}={value}" for name, value in scenario.changed_rules.items())
        seed = "" if scenario.seed is None else f", seed {scenario.seed}"
        rows: list[tuple[str, object]] = [
            ("run", f"{self.id}{seed}" if self.row is None else self.title),
            ("title", scenario.headline),
            ("verdict", found.verdict + (f" ({found.reason})" if found.reason else "")),
            ("rules", changed),
        ]
        rows += [
            (f"{one.invariant}, {found.when(one)}", one.sentence)
            for one in found.violations[:SHOWN]
        ]
        if len(found.violations) > SHOWN:
            rows.append(("", f"and {len(found.violations) - SHOWN} more violations"))
        rows += [("note", line) for line in found.notes]
        return facts([*rows, ("again", self.command or "")])


def run(source: Source | Scenario, *, seed: int | None = None, **rules: Value) -> Run:
    """Simulates a scenario and judges it.

        >>> import sim
        >>> sim.run(7)
        Run(reference-7: holds)

    A run that takes more than 60 s or 2 GB is inconclusive, with all that happened until then;
    within `with sim.bounds.each_run_within(sim.bounds.Bounds(seconds=600)):` it may take more.

    Args:
        source: A scenario as loaded, or what `load` takes: a path, a text, a mapping, a seed.
        seed: Of a timed scenario: replaces its own.
        rules: Rules that replace the scenario's, such as `fix="empty_batch"`; also a `preset`.

    Raises:
        BadInput: It is no scenario, or says something wrong; an unknown rule or value.
    """
    if isinstance(source, Scenario) and seed is not None:
        raise BadInput("run: seed: the scenario is loaded; give the seed to load")
    scenario = source if isinstance(source, Scenario) else load(source, seed=seed)
    made = Run(scenario.with_rules(**rules))
    _ = made.recorded  # what is wrong with it is raised here, not where something is asked of it
    return made

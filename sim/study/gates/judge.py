"""Judging a finished sweep by its gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sim.study.gates import one_sided
from sim.study.gates.cells import Cell, cells_of
from sim.study.gates.finding import Finding, Kind, Outcome
from sim.study.gates.wanted import LEVEL, Gates, check_names, check_rule_sets
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep.stats import Interval, holm


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all gates say of a sweep.

    Attributes:
        folder: The sweep.
        findings: Every comparison, in order of the gates.
    """

    folder: SweepFolder
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """`failed` with a finding that did, else `undecided` with one that is, else `passed`."""
        outcomes = {finding.outcome for finding in self.findings}
        if "failed" in outcomes:
            return "failed"
        return "undecided" if "undecided" in outcomes else "passed"

    @property
    def failed(self) -> list[Finding]:
        """The findings that did not pass."""
        return [one for one in self.findings if one.outcome == "failed"]

    def shown_by(self, found: Finding) -> str | None:
        """The command that does again a run that shows a finding; None = there is none."""
        return None if found.shows is None else self.folder.replay_command(found.shows)

    @property
    def reproduce(self) -> str | None:
        """The command that shows the first failure; None = there is none."""
        return next(filter(None, map(self.shown_by, self.failed)), None)


def judge(folder: SweepFolder, gates: Gates) -> Verdict:
    """Every gate on a finished sweep.

    Raises:
        BadInput: Gates name what there is not.
    """
    entries = folder.tallies["rule_sets"]
    seen = {name for entry in entries for name in entry["counts"]["invariant"]}
    check_names(gates, about=folder.plan["plan"]["about"], seen=seen)
    labels = [entry["label"] for entry in entries]
    check_rule_sets(gates, labels)
    cells = [
        cell for cell in cells_of(folder) if cell.place.rule_set in (gates.rule_sets or labels)
    ]
    findings = [_none_at_all(name, cell) for name in gates.fail_on for cell in cells]
    return Verdict(folder, (*findings, *_budgets(cells, gates)))


def _asked(gate: Kind, name: str, cell: Cell, limit: float | None = None) -> Finding:
    """What was counted, with the limits of its rate; nothing is decided yet."""
    seen = cell.seen(name)
    found = Finding(gate, name, cell.place, seen, "undecided", limit=limit)
    if not seen.judged:
        return found
    low = one_sided.least(seen.violated, seen.judged, LEVEL)
    high = one_sided.most(seen.violated, seen.judged, LEVEL)
    return replace(found, bounds=Interval(low, high), shows=seen.first_run)


def _none_at_all(name: str, cell: Cell) -> Finding:
    found = _asked("fail-on", name, cell)
    if not found.seen.judged:
        return found
    return replace(found, outcome="failed" if found.seen.violated else "passed")


def _budgets(cells: Sequence[Cell], gates: Gates) -> list[Finding]:
    """Each budget in each cell.

    That all rates are within their budgets is said when each of them is, so passing needs no
    correction; that some rate is above is said by the first that looks so, which does.
    """
    asked = [
        _asked("budget", budget.name, cell, budget.limit)
        for budget in gates.budgets
        for cell in cells
    ]
    judged = [one for one in asked if one.seen.judged]
    values = [one_sided.above(*_counted(one), one.limit or 0.0) for one in judged]
    found = zip(judged, values, holm(values), strict=True)
    decided = (_decided(one, p, own, len(asked)) for one, p, own in found)
    return [next(decided) if one.seen.judged else one for one in asked]


def _counted(one: Finding) -> tuple[int, int]:
    return one.seen.violated, one.seen.judged


def _decided(one: Finding, p: float, adjusted_p: float, comparisons: int) -> Finding:
    assert one.limit is not None
    assert one.bounds is not None
    found = replace(one, p=p, adjusted_p=adjusted_p)
    if adjusted_p < LEVEL or one.bounds.high <= one.limit:
        return replace(found, outcome="failed" if adjusted_p < LEVEL else "passed")
    needed = one_sided.runs_to_decide(*_counted(one), one.limit, LEVEL, comparisons=comparisons)
    return replace(found, runs_needed=needed)

"""The runs of a sweep one by one, so that two sweeps can be compared on the cases both have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.gates.finding import Place
from sim.gates.wanted import ABOUT, ANY
from sim.report.sweep_folder import SweepFolder
from sim.sweeps.statistics import JUDGED
from sim.sweeps.table import State

RUN_COLUMNS = ("run_id", "seed", "rule_set", "environment", "verdict", "weather")
VIOLATION_COLUMNS = ("run_id", "invariant", "family")

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cases:
    """The runs of one rule set in one environment, in order of their cases.

    Attributes:
        run_ids: Their numbers.
        seeds: Of their cases: what a case is known by, whatever others there are.
        weather: Digest of workload and faults; None of a run that did not end.
        judged: Whether a run holds or violates.
    """

    run_ids: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]
    weather: npt.NDArray[np.object_]
    judged: Flags


class Tables:
    """Runs and violations of a sweep, in memory, without the columns that no gate needs."""

    def __init__(self, folder: SweepFolder, table: State) -> None:
        self._runs = table.read(RUN_COLUMNS).to_pandas()
        self._violations = table.violations(VIOLATION_COLUMNS).to_pandas()
        self._labels = {one["label"]: one["index"] for one in folder.plan["rule_sets"]}
        self._about = folder.plan["plan"]["about"]

    def cases(self, place: Place) -> Cases:
        """The runs of a place."""
        runs = self._runs
        own = (runs.rule_set == self._labels[place.rule_set]) & (
            runs.environment == place.environment
        )
        rows = runs[own]
        return Cases(
            run_ids=rows.run_id.to_numpy(),
            seeds=rows.seed.to_numpy(),
            weather=rows.weather.to_numpy(),
            judged=rows.verdict.isin(JUDGED).to_numpy(),
        )

    def violated(self, cases: Cases, name: str) -> Flags:
        """Which of these runs violated a family, an invariant, `any` or `about`."""
        found, names = self._violations, self._about if name == ABOUT else [name]
        if name != ANY:
            found = found[found.family.isin(names) | found.invariant.isin(names)]
        return np.isin(cases.run_ids, found.run_id)


def tables_of(folder: SweepFolder) -> Tables | None:
    """The tables of a sweep; None where somebody kept the tallies alone.

    Raises:
        BadInput: They cannot be read.
    """
    return None if folder.table is None else Tables(folder, folder.table)

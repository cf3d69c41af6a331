"""What a command is given to look into: a file, the id of a shipped one, or a run of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import rule_values
from sim.errors import BadInput

if TYPE_CHECKING:
    from sim.api.runs import Run


def run_at(
    place: Path,
    run_id: int | None = None,
    *,
    seed: int | None = None,
    rule: list[str] | None = None,
) -> Run:
    """The run of a story, a timed scenario or a row of a sweep; it is simulated when it is asked.

    Raises:
        BadInput: There is no such run, or seed and rules do not fit it.
    """
    from sim.api.runs import Run
    from sim.api.scenarios import load, under

    rules = rule_values(rule)
    if not place.is_dir():
        if run_id is not None:
            raise BadInput(f"{place}: no such folder; only a run of a sweep has a number")
        return Run(under(load(place, seed=seed), rules, where="--rule"))
    if run_id is None:
        raise BadInput(f"{place}: is a folder; a run of a sweep is given as DIR RUN_ID")
    if seed is not None:
        raise BadInput(f"{place}: --seed: a run of a sweep has its own")
    from sim.api.sweeps import open_sweep

    found = open_sweep(place).run(run_id)
    return Run(under(found.scenario, rules, where="--rule")) if rules else found

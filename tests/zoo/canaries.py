"""How often random runs show the canaries that ship: `python -m tests.zoo.canaries`.

Writes `sim/sweeps/canary_shares.json`, by which a sweep says what its clean runs are worth. A
canary is planted by rules, so no copy of the product is needed; each run is compared with the same
run without it, as planted defects are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from sim.files.atomic import replace_text
from sim.scenario.generate import generate
from sim.sweeps.canaries import CANARIES, SHARES, Canary, Share, drawn_from
from sim.timed_run import run_scenario
from sim.what_if.intervals import clopper_pearson
from tests.zoo.draws import PLANS, Draw, Environment, draws, environments, sweep_of

Cell = tuple[str, Environment]
"""A canary, and where runs are drawn from."""


def planted_runs(found: Iterable[Draw]) -> tuple[Counter[Cell], Counter[Cell]]:
    """How many runs there were of each canary in each environment, and how many showed it."""
    runs: Counter[Cell] = Counter()
    shown: Counter[Cell] = Counter()
    for draw in found:
        before: set[str] | None = None
        for canary in CANARIES.values():
            after = _violated(draw, canary)
            if after is None:
                continue
            if before is None:
                before = set(run_scenario(draw.scenario()).violated)
            runs[canary.name, draw.environment] += 1
            shown[canary.name, draw.environment] += bool(after - before)
    return runs, shown


def _violated(draw: Draw, canary: Canary) -> set[str] | None:
    """What a run violates with the canary; None = it does not matter there."""
    sweep = sweep_of(draw.environment.plan)
    settings = canary.planted(sweep.rule_sets[draw.rule_set].settings)
    if settings is None:
        return None
    mix = sweep.environment_of(draw.case).mix
    scenario = generate(sweep.case_seed(draw.case), mix).with_rules(settings)
    return set(run_scenario(scenario).violated)


def measured(count: int, plans: Sequence[str]) -> list[Share]:
    """The shares by `count` runs, spread over the environments of some plans."""
    runs, shown = planted_runs(draws(count, plans))
    return [
        Share(
            name,
            drawn_from(sweep_of(place.plan), place.number),
            str(place),
            runs[name, place],
            shown[name, place],
            round(clopper_pearson(shown[name, place], runs[name, place]).low, 6),
        )
        for name in CANARIES
        for place in environments(plans)
        if runs[name, place]
    ]


def main(given: Sequence[str]) -> int:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.canaries")
    parser.add_argument("--count", type=int, default=1100, help="random runs (1100)")
    parser.add_argument("--plans", nargs="*", default=PLANS, metavar="PLAN")
    chosen = parser.parse_args(given)
    found = measured(chosen.count, chosen.plans)
    rows = ",\n".join(json.dumps(one._asdict()) for one in found)
    replace_text(SHARES, f"[\n{rows}\n]\n")
    for one in found:
        print(f"{one.canary} {one.environment}: {one.shown} of {one.runs}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

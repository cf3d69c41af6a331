"""How often clean cases show the canaries that ship: `python -m tests.zoo.canaries`.

Writes `sim/sweeps/canary_shares.json`, by which a sweep says what its clean cases are worth. A
canary is planted by rules, so no copy of the product is needed: where all runs of a case hold, they
are made once more with each canary, until one of them does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from sim.files.atomic import replace_text
from sim.rules.rules import Settings
from sim.scenario.generate import generate
from sim.scenario.model import Scenario
from sim.sweeps.canaries import CANARIES, SHARES, Share, drawn_from, shares
from sim.sweeps.plan import Sweep
from sim.timed_run import run_scenario
from sim.what_if.intervals import clopper_pearson
from tests.zoo.draws import PLANS, Environment, environments, sweep_of


def measured(count: int, place: Environment) -> list[Share]:
    """The shares by the first `count` cases of an environment."""
    sweep = sweep_of(place.plan)
    usual = [one.settings for one in sweep.rule_sets]
    planted = {name: [*map(one.planted, usual)] for name, one in CANARIES.items()}
    clean, shown = 0, dict.fromkeys(CANARIES, 0)
    for drawn in _cases(sweep, count, place):
        if not _holds(drawn, usual):
            continue
        clean += 1
        for name, rule_sets in planted.items():
            shown[name] += not _holds(drawn, [one for one in rule_sets if one is not None])
    found = []
    for name, rule_sets in planted.items():
        if any(rule_sets) and clean:
            low, high = clopper_pearson(shown[name], clean)
            ends = round(low, 6), round(high, 6)
            digest = drawn_from(sweep, place.number)
            found.append(Share(name, digest, str(place), clean, shown[name], *ends))
    return found


def _cases(sweep: Sweep, count: int, place: Environment) -> Iterator[Scenario]:
    for turn in range(count):
        case = turn * len(sweep.environments) + place.number
        yield generate(sweep.case_seed(case), sweep.environment_of(case).mix)


def _holds(drawn: Scenario, rule_sets: Sequence[Settings]) -> bool:
    """Whether the runs under all these rules hold; none of them is made after one that does not."""
    return all(run_scenario(drawn.with_rules(one)).verdict == "holds" for one in rule_sets)


def main(given: Sequence[str]) -> int:
    """Measure, and write the file; what it has of other plans stays."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.canaries")
    parser.add_argument("--count", type=int, default=300, help="cases of each environment (300)")
    parser.add_argument("--plans", nargs="*", default=PLANS, metavar="PLAN")
    chosen = parser.parse_args(given)
    found = [one for one in shares() if one.environment.split("/")[0] not in chosen.plans]
    for place in environments(chosen.plans):
        found += measured(chosen.count, place)
        rows = ",\n".join(json.dumps(one._asdict()) for one in found)
        replace_text(SHARES, f"[\n{rows}\n]\n")
        for one in found:
            if one.environment == str(place):
                print(f"{one.canary} {one.environment}: {one.shown} of {one.cases}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The random runs that look for planted defects: those of the plans in `scenarios/sweeps`.

Every second run is of the plan that draws widely, `far`; the others take turns in the environments
of the other plans. Those of one environment take turns in the rule sets of its plan, and each
environment begins with another one. So the first runs are spread as evenly as all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, cycle, islice
from pathlib import Path
from typing import NamedTuple

from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.plan import Sweep, load_plan, number_runs

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WIDE = "far"
PLANS = (WIDE, "replication", "cures", "leo_fixes", "smoke")
"""Those whose environments differ; the others draw from the same with other rules."""
CASES = 100_000


class Draw(NamedTuple):
    """One random run.

    Attributes:
        plan: Id of the plan.
        case: Number of its case in the plan.
        rule_set: Number of its rule set.
    """

    plan: str
    case: int
    rule_set: int

    @classmethod
    def named(cls, name: str) -> Draw:
        """The run with an id."""
        plan, case, rule_set = name.split()
        return cls(plan, int(case), int(rule_set))

    @property
    def id(self) -> str:
        """The same in every version of the product."""
        return f"{self.plan} {self.case} {self.rule_set}"

    @property
    def environment(self) -> str:
        """Plan and environment, as reports have it."""
        return f"{self.plan}/{_sweep(self.plan).environment_of(self.case).name}"

    def scenario(self) -> Scenario:
        """The scenario to simulate."""
        sweep = _sweep(self.plan)
        drawn = generate(sweep.case_seed(self.case), sweep.environment_of(self.case).mix)
        return drawn.with_rules(sweep.rule_sets[self.rule_set].rules)


@cache
def _sweep(plan: str) -> Sweep:
    return number_runs(load_plan(SCENARIOS / "sweeps" / f"{plan}.yaml"), count=CASES)


def draws(count: int, plans: Iterable[str] = PLANS) -> Iterator[Draw]:
    """The first `count` runs of some plans."""
    places = [(plan, n) for plan in plans for n in range(len(_sweep(plan).environments))]
    wide = [one for one in places if one[0] == WIDE]
    others = [one for one in places if one[0] != WIDE]
    rows = [cycle(each) for each in (wide, others) if each]
    visits: Counter[tuple[str, int]] = Counter()
    for place in islice(chain.from_iterable(zip(*rows, strict=False)), count):
        (plan, number), turn = place, visits[place]
        sweep = _sweep(plan)
        visits[place] += 1
        first = number * len(sweep.rule_sets) // len(sweep.environments)
        case = turn * len(sweep.environments) + number
        yield Draw(plan, case, (turn + first) % len(sweep.rule_sets))

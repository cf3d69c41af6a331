"""The random runs that look for planted defects: those of the plans in `scenarios/sweeps`.

Every second run is of the plan that draws widely, `far`; the others take turns in the environments
of the other plans. Those of one environment take turns in the rule sets of its plan, and each
environment begins with another one. So the first runs are spread as evenly as all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, cycle, islice
from pathlib import Path
from typing import NamedTuple

from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.plan import Sweep, load_plan, number_runs

SCENARIOS = Path(__file__).parents[2] / "scenarios"
WIDE = "far"
PLANS = (
    WIDE,
    "replication",
    "cures",
    "leo_fixes",
    "smoke",
)
"""Those whose environments differ; the others draw from the same with other rules."""
CASES = 100_000


class Environment(NamedTuple):
    """Where runs are drawn from.

    Attributes:
        plan: Id of the plan.
        name: Its name in the plan.
        number: Its number there.
    """

    plan: str
    name: str
    number: int

    def __str__(self) -> str:
        """As reports and data files have it."""
        return f"{self.plan}/{self.name}"


@dataclass(frozen=True, slots=True)
class Draw:
    """One random run.

    Attributes:
        environment: Where it is drawn from.
        case: Number of its case in the plan.
        rule_set: Number of its rule set.
    """

    environment: Environment
    case: int
    rule_set: int

    @property
    def id(self) -> str:
        """The same in every copy of the product."""
        return f"{self.environment.plan} {self.case} {self.rule_set}"

    def scenario(self) -> Scenario:
        """What is simulated."""
        sweep = sweep_of(self.environment.plan)
        mix = sweep.environment_of(self.case).mix
        drawn = generate(sweep.case_seed(self.case), mix)
        return drawn.with_rules(sweep.rule_sets[self.rule_set].rules)


@cache
def sweep_of(plan: str) -> Sweep:
    """The runs of a plan, more than anybody needs."""
    return number_runs(load_plan(SCENARIOS / "sweeps" / f"{plan}.yaml"), count=CASES)


def environments(plans: Iterable[str] = PLANS) -> list[Environment]:
    """The environments of some plans, plan by plan."""
    return [
        Environment(plan, one.name, number)
        for plan in plans
        for number, one in enumerate(sweep_of(plan).environments)
    ]


def draws(count: int, plans: Iterable[str] = PLANS) -> Iterator[Draw]:
    """The first `count` runs."""
    places = environments(plans)
    wide = [one for one in places if one.plan == WIDE]
    others = [one for one in places if one.plan != WIDE]
    rows = [cycle(each) for each in (wide, others) if each]
    visits: Counter[Environment] = Counter()
    for environment in islice(chain.from_iterable(zip(*rows, strict=False)), count):
        turn, sweep = visits[environment], sweep_of(environment.plan)
        visits[environment] += 1
        case = turn * len(sweep.environments) + environment.number
        first = environment.number * len(sweep.rule_sets) // len(sweep.environments)
        yield Draw(environment, case, (turn + first) % len(sweep.rule_sets))

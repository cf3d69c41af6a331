"""Random runs with audits: what they find, and which situations they meet.

A slice of runs is given by a seed. Every second run is of `far`; the others are of all other plans
in `scenarios/sweeps`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from random import Random

from sim.bounds import Bounds, each_run_within
from sim.plugins import register_observer
from sim.simulate.run.timed import run_scenario
from sim.study.sweep.plan import load_plan
from tests.audits.registering import AUDITS, audited
from tests.audits.situations import Situations
from tests.rules.restless import is_stuck
from tests.zoo.draws import CASES, SCENARIOS, WIDE, Draw

SECONDS_PER_RUN = 60.0
"""A run takes a tenth of a second; one that takes so long is counted as one that hangs."""


@dataclass
class Audited:
    """What a slice of random runs has found.

    Attributes:
        runs: Number of runs.
        alarms: Run, name of the audit and its sentence, of each violation of an audit.
        met: Number of runs that met a situation, by its name.
    """

    runs: int = 0
    alarms: list[tuple[str, str, str]] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)


@cache
def _rule_sets(plan: str) -> int:
    return len(load_plan(SCENARIOS / "sweeps" / f"{plan}.yaml").rule_sets)


def plans() -> list[str]:
    """The names of all plans in `scenarios/sweeps` but `far`, in order."""
    names = sorted(path.stem for path in (SCENARIOS / "sweeps").glob("*.yaml"))
    return [name for name in names if name != WIDE]


def slice_of(seed: int, wide: Sequence[str] = (WIDE,)) -> Iterator[Draw]:
    """Draws runs without end: one of `wide`, one of another plan, and so on."""
    random, others = Random(seed), plans()
    while True:
        for names in (wide, others):
            plan = random.choice(names)
            yield Draw(plan, random.randrange(CASES), random.randrange(_rule_sets(plan)))


def audit(draws: Iterable[Draw]) -> Iterator[Audited]:
    """Runs scenarios with all audits; yields what is found so far, the same object, after each."""
    found, met = Audited(), set[str]()
    with each_run_within(Bounds(SECONDS_PER_RUN)), audited():
        register_observer(lambda cluster, report: Situations(cluster, report, met))
        for draw in draws:
            met.clear()
            scenario = draw.scenario()
            run = run_scenario(scenario)
            found.runs += 1
            found.met.update(met)
            found.alarms += [
                (draw.id, one.invariant, one.sentence)
                for one in run.violations
                if one.invariant in AUDITS
            ]
            if is_stuck(scenario, run):
                found.alarms.append((draw.id, "no-end", run.reason or ""))
            yield found


def audit_some(seed: int, count: int) -> Audited:
    """Audits the first runs of a slice."""
    found = Audited()
    for found in audit(islice(slice_of(seed), count)):  # noqa: B007 - the last one has all
        pass
    return found

"""Simulations that cost nothing, for tests of what happens around them.

A module of its own, importable by worker processes and by Spark's Python workers.
"""

import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from sim.check.counters import COUNTERS
from sim.check.violation import NO_FAMILY, READERS, Violation
from sim.protocol.rules import Rules
from sim.simulate.run import Run
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.plan import Plan, Sweep
from sim.study.sweep.runner import ProcessEngine
from sim.study.sweep.work import RunCase

FAR = 2**53 + 1
"""Not representable as a double."""

TWO_ENVIRONMENTS: dict[str, object] = {
    "environments": {"plain": {"tail_hunts": 0.0}, "hunted": {"tail_hunts": 1.0}},
    "about": [READERS],
}
"""What a plan has beside, so that all there is to count is counted."""


PLAN: dict[str, object] = {
    "format": "replog-sweep/1",
    "title": "a test",
    "source": "none",
    "count": 40,
    "seed": 7,
    "generate": {"mix": "reference"},
    "rules": {"strategy": "header"},
    "rule_sets": [{"fix": "none"}, {"fix": "leo_retention"}, {"fix": "empty_batch"}],
}
"""Three rule sets; tests say what else is in a plan."""


def plan(**changes: object) -> Plan:
    """The plan, or one that differs in some fields."""
    return Plan.model_validate(PLAN | changes)


def plan_text(**changes: object) -> str:
    """The same as a file, in JSON, which is YAML."""
    return json.dumps(PLAN | changes)


def digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def quick(sweep: Sweep, case_id: int) -> RunCase:
    """Some runs violate, some are inconclusive, violated or not, some fail; the seed says which."""
    seed = sweep.case_seed(case_id)

    def run(rules: Rules) -> Run:
        rng = random.Random(f"{seed}/{rules.cleaner.fix}")
        chance = {"none": 0.5, "leo_retention": 0.2, "empty_batch": 0.0}[rules.cleaner.fix]
        if rng.random() < 0.1:
            raise ArithmeticError(f"the {rules.cleaner.fix} run failed\nat seed {seed % 3}")
        unclear = rng.random() < 0.1
        found = violations(rng) if rng.random() < chance else ()
        return Run(
            content=Scenario("quick", seed=seed, rules=rules),
            rules=rules,
            verdict="inconclusive" if unclear else "violated" if found else "holds",
            reason="max_events: 9" if unclear else None,
            violations=found,
            counters={name: rng.randrange(100) for name in COUNTERS}
            | {"events": FAR + case_id if case_id < 100 else case_id},
            reached=tuple(name for name in ("b-claim", "a-claim") if rng.random() < 0.5),
            known_digest=digest(seed, rules),
            environment=digest(seed),
            causes={0: f"in no family: cause {rng.randrange(3)}"} if found else {},
        )

    return run


def violations(rng: random.Random) -> tuple[Violation, ...]:
    first = rng.randrange(3)  # few values, so that the order of the shortest has ties
    return tuple(
        Violation(
            "rare" if at == 29 else "common",
            first + at,
            "r1",
            FAR + at,
            None,
            f"it is {at}",
            READERS if at == 29 and first else NO_FAMILY,
        )
        for at in range(30)
    )


def slow(sweep: Sweep, case_id: int) -> RunCase:
    """`quick` at 50 cases a second."""
    time.sleep(0.02)
    return quick(sweep, case_id)


def deadly(sweep: Sweep, case_id: int) -> RunCase:
    """Takes its process along in the last case, as running out of memory does."""
    if case_id == sweep.count - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return quick(sweep, case_id)


class HereEngine(ProcessEngine):
    """Simulates blocks one after another in this process."""

    cores = 1

    def simulate(self, blocks: Sequence[Sequence[int]]) -> Generator[int]:
        done = 0
        for cases in blocks:
            done += self.work.write(cases, self.out / "runs")
            yield done


@contextmanager
def simulating_here() -> Iterator[None]:
    """Sweeps by processes simulate in this one in here: what is tested is around them."""
    with patch("sim.study.sweep.runner.ProcessEngine", HereEngine):
        yield

"""Claims that something occurred: true when it did, and the random cases reach them all."""

from collections.abc import Iterable

import pytest

from sim.check import Checker
from sim.check.counters import RunCounters
from sim.check.coverage import SITUATIONS, Coverage
from sim.protocol.events import Event
from sim.protocol.rules import Rules, rules_from
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from tests.check.events import RULES
from tests.check.text import Case, cases_of

HAZARD = rules_from({"preset": "kip-280", "fix": "none", "delete_retention_ms": 500})
FIXED = rules_from({"preset": "kip-280", "fix": "empty_batch", "delete_retention_ms": 500})
KRAFT = rules_from({"preset": "kraft"})


def reached(events: Iterable[Event], strategy: str = "offset") -> tuple[str, ...]:
    checker = Checker(RULES.with_values({"strategy": strategy, "strategy_header": "version"}), [])
    coverage = Coverage(checker, RunCounters(checker))
    for event in events:
        checker.on(0, event)
    return coverage.names


@pytest.mark.parametrize("case", cases_of("cases/coverage.txt"))
def test_exactly_what_occurred_is_reached(case: Case) -> None:
    found = reached(event for _, event in case.happened())

    assert found == tuple(name for name in SITUATIONS if name in found)
    assert {*found} == {*case.head.partition(":")[0].split()}


RARE = {
    "append-refused",
    "batch-oversized",
    "cleaning-failed",
    "delete-value-dropped",
    "delete-value-withheld",
    "fetching-failed",
    "follower-started-afresh",
    "live-key-expired",
    "old-segments-deleted",
    "outside-durability",
    "settings-changed",
    "snapshot-fetch-dropped",
    "snapshot-installed",
    "unclean-election",
}
"""What random scenarios do not bring: snapshots, retention, a batch limit, new settings, loss of
power, passes that cannot go on, and, in a quorum, unclean elections."""

RICH = (46, 147, 28)
"""Seeds of the reference mix that reach everything together; from 0 on it takes some 150."""


@pytest.mark.parametrize(
    ("mix", "rules", "seeds", "wanted", "never"),
    [
        ("reference", HAZARD, (*RICH, *range(200)), SITUATIONS.keys() - RARE, set()),
        ("kraft", KRAFT, range(200), {"snapshot-installed", "snapshot-fetch-dropped"}, set()),
        (
            "quiet",
            FIXED,
            range(25),
            {"tail-emptied"},
            {"tail-removed", "migrated-after-tail-removed"},
        ),
        (
            {"not_idempotent": 1.0, "transactional": 0.0},
            HAZARD,
            range(12),
            {"tail-removed"},
            {"tail-emptied"},
        ),
    ],
)
def test_random_runs_reach_what_endangers_a_compacted_log(
    mix: object, rules: Rules, seeds: Iterable[int], wanted: set[str], never: set[str]
) -> None:
    found: set[str] = set()
    for seed in seeds:
        found |= set(
            run_scenario(generate(seed, Mix.model_validate(mix)).with_rules(rules)).reached
        )
        if wanted <= found and not never:
            break

    assert (wanted - found, found & never) == (set(), set())

"""Keys that end on what their producers did not mean: what a strategy is for."""

from dataclasses import replace

import pytest

from sim.protocol.rules import Rules
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.model import ReplicaSpec, Scenario, Send, Workload

NEW = Send(100, 1, "k", "new", 100, 5)
LATE = Send(200, 2, "k", "late", 50, 3)
DELETED = NEW._replace(value=None)
BARE = NEW._replace(at_ms=300, timestamp_ms=300, version=None)
TWIN = LATE._replace(version=NEW.version)
AFTER = LATE._replace(at_ms=1_000)
OTHERS = [Send(at_ms, 3, "other", f"v{at_ms}", at_ms, at_ms) for at_ms in range(250, 1_900, 250)]
"""They let segments roll, so that what is before them can be cleaned."""

NONE = {"offset": 0, "timestamp": 0, "header": 0}
CASES: list[tuple[Send, Send, bool, dict[str, int]]] = [
    # A late write wins by offset alone; nothing is unmeant where nothing is late.
    (NEW, LATE, True, NONE | {"offset": 1}),
    (LATE._replace(at_ms=50), NEW, True, NONE),
    # A late delete ends a key that was meant to live, unless its end was meant.
    (NEW, LATE._replace(value=None), True, {"offset": 1}),
    (DELETED, LATE._replace(value=None), True, {"offset": 0}),
    # A write without a version is newer by its timestamp, which the header ignores.
    (NEW, BARE, True, {"header": 1, "timestamp": 0}),
    # Two writes with one version are not told apart.
    (NEW, TWIN, True, {"header": 0, "offset": 0}),
    # A late write that outlives its delete is not meant.
    (DELETED, AFTER, True, {"header": 1}),
    (DELETED, AFTER, False, {"header": 0}),
]


@pytest.mark.parametrize(("first", "second", "cleans", "keys"), CASES)
def test_keys_that_end_on_what_nobody_meant(
    first: Send, second: Send, cleans: bool, keys: dict[str, int]
) -> None:
    scenario = Scenario(
        id="intent",
        duration_ms=2_000,
        replicas=(ReplicaSpec("r1", cleaner_backoff_ms=100 if cleans else None),),
        workload=Workload(tuple(sorted([first, second, *OTHERS]))),
    )
    topic = replace(scenario.topic, segment_ms=100, min_cleanable_dirty_ratio=0.0)
    for strategy, expected in keys.items():
        rules = Rules.of(commit="isr", strategy=strategy, delete_retention_ms=100)
        run = run_scenario(replace(scenario, topic=topic, rules=rules))
        assert run.counters["unmeant_keys"] == expected, strategy

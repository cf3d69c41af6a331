"""What a scenario exposes a cluster to: counted from what it is made of."""

from sim.protocol.rules import Rules
from sim.simulate.faults import Crash, Fault, Partition, Roll, SlowCleaner, Wipe
from sim.simulate.scenario.derived import exposure_of
from sim.simulate.scenario.model import Scenario, Send, Workload


def scenario(*faults: Fault, sends: tuple[Send, ...] = ()) -> Scenario:
    return Scenario(
        id="exposure",
        duration_ms=10_000,
        rules=Rules.of(delete_retention_ms=1_000),
        faults=faults,
        workload=Workload(sends),
    )


def test_an_outage_outlasts_the_retention_while_faults_last() -> None:
    found = exposure_of(
        scenario(
            Crash(0, "r1", 1_000),
            Partition(0, "r1", 1_001),
            Wipe(9_500, "r1", 5_000),  # all faults end after 500 ms
            SlowCleaner(0, "r1", 9_000),  # nobody is away
            Roll(0, "r1"),
        )
    )

    assert (found["outages"], found["outages_beyond_retention"], found["rolls"]) == (3, 1, 1)


def test_a_send_is_late_by_its_timestamp_or_by_its_version_within_its_key() -> None:
    sends = (
        Send(10, 1, "a", "v1", 10, 4),
        Send(20, 1, "a", "v2", 9, 4),  # an older timestamp
        Send(30, 1, "a", "v3", 30, 3),  # a lower version
        Send(40, 1, "a", "v4", 40, None),  # none is not lower
        Send(50, 1, "a", "v5", 50, 4),
        Send(60, 1, "b", "v6", 1, 1),
    )

    found = exposure_of(scenario(sends=sends))

    assert (found["sends"], found["late_sends"]) == (6, 2)

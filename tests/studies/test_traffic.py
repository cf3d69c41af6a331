"""KIP-630's example of replicated bytes, to the byte, and simulated clusters that agree with it."""

import pytest

from sim.rules import Rules
from sim.scenario.model import Network, ReplicaSpec, Scenario, Send, Topic, Workload
from sim.studies.traffic import traffic_of_a_failure
from sim.timed_run import run_scenario
from sim.trace import Copied, Event


def mebibytes(count: int) -> float:
    """As the KIP prints them: cut after two digits."""
    return int(100 * count / 2**20) / 100


def test_the_example_of_the_kip_to_the_byte() -> None:
    """KIP-630, Amount of Data Replicated: a million partitions on ten brokers."""
    by_key, deltas = traffic_of_a_failure(brokers=10, partitions=1_000_000)

    assert by_key.records == 100_000
    assert by_key.per_replica == 4_000_000
    assert mebibytes(by_key.per_replica) == 3.81
    assert by_key.to_all == 40_000_000
    assert mebibytes(by_key.to_all) == 38.14
    assert (deltas.records, deltas.per_replica, deltas.to_all) == (1, 8, 80)
    assert by_key.per_replica // deltas.per_replica == 500_000


def test_headers_are_paid_for_each_record() -> None:
    """61 bytes a batch, and 7 a record while offsets and lengths take one byte each."""
    by_key, deltas = traffic_of_a_failure(brokers=10, partitions=1_000_000)

    assert by_key.framed_to_all == 10 * 100_000 * (61 + 7 + 40)
    assert deltas.framed_to_all == 10 * (61 + 7 + 8)


def cluster(sends: tuple[Send, ...], followers: int) -> Scenario:
    """A leader and its followers, without faults, cleaners or control records."""
    names = [f"r{number}" for number in range(1, followers + 2)]
    return Scenario(
        id="traffic",
        duration_ms=4_000,
        rules=Rules.of(commit="majority"),
        topic=Topic(segment_bytes=10**6, segment_ms=None),
        replicas=tuple(ReplicaSpec(name, cleaner_backoff_ms=None) for name in names),
        network=Network((1, 2)),
        workload=Workload(sends=sends, idempotent=False),
        consumers=(),
    )


@pytest.mark.parametrize(("brokers", "partitions"), [(3, 30), (4, 100)])
def test_a_simulated_cluster_counts_the_same(brokers: int, partitions: int) -> None:
    """Every broker follows the controller, and one record goes into one batch."""
    by_key, deltas = traffic_of_a_failure(brokers=brokers, partitions=partitions)
    changes = tuple(
        Send(1_500 + 20 * number, 1, f"{number:024d}", "v" * 16, 1_500 + 20 * number)
        for number in range(by_key.records)
    )
    gone = (Send(1_500, 1, "gone", "1234", 1_500),)

    for sends, expected in ((changes, by_key), (gone, deltas)):
        events: list[tuple[int, Event]] = []
        run = run_scenario(cluster(sends, brokers), trace=events)
        copied = [
            record
            for _, event in events
            if isinstance(event, Copied)
            for batch in event.batches
            for record in batch.records
        ]
        assert run.verdict == "holds"
        assert run.counters["bytes_replicated"] == expected.framed_to_all
        assert run.counters["bytes_appended"] * brokers == expected.framed_to_all
        fields = sum(len(record.key or "") + len(record.value or "") for record in copied)
        assert fields == expected.to_all

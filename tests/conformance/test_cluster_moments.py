"""A witness compares every replica with the story, and says which replica differs, and how."""

from pathlib import Path
from typing import Any, cast

import pytest

from sim.errors import BadInput
from tests.conformance import cluster_moments
from tests.conformance.broker import Broker
from tests.conformance.broker_clients import Read
from tests.conformance.cluster import Cluster
from tests.conformance.cluster_clients import ClusterAdministrator, PartitionState
from tests.conformance.cluster_moments import Differs, Witness, batch_text
from tests.conformance.raw_log import RawLog, RawSegment

Json = dict[str, Any]
STORY = "kafka_01_lost_tombstone"


def batch(offset: int, key: str, value: str | None, **more: Any) -> Json:
    record = {"offset": offset, "key": key, "value": value, "timestamp_ms": 0}
    own = {"base_offset": offset, "last_offset": offset, "epoch": 0, "delete_horizon_ms": None}
    return {**own, "records": [record], **more}


class Disks:
    """In place of brokers: the logs and epoch caches of their replicas."""

    def __init__(self) -> None:
        written = [batch(0, "K", "K=v"), batch(1, "X", "X")]
        self.logs = {broker: list(written) for broker in (1, 2, 3)}
        self.caches = {broker: [(0, 0)] for broker in (1, 2, 3)}
        self.addresses = {3: "three"}

    def broker(self, broker: int) -> Broker:
        return Broker("", Path(str(broker)))

    def epochs(self, broker: int, topic: str) -> list[tuple[int, int]]:
        return self.caches[broker]

    def read(self, partition: Path) -> RawLog:
        batches = tuple(self.logs[int(partition.parts[0])])
        return RawLog((RawSegment(0, batches, (None,) * len(batches)),), ())


class Controller:
    """In place of an administrator: broker 1 leads."""

    def state(self, topic: str) -> PartitionState:
        return PartitionState(1, (1, 2, 3), (1, 2))


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> Disks:
    made = Disks()
    monkeypatch.setattr(cluster_moments, "read_raw", made.read)
    monkeypatch.setattr(cluster_moments, "SETTLING_S", 0.0)
    monkeypatch.setattr(cluster_moments, "PATIENCE_S", 0)
    return made


@pytest.fixture
def witness(disks: Disks) -> Witness:
    administrator = cast("ClusterAdministrator", Controller())
    return Witness(cast("Cluster", disks), administrator, "topic", STORY)


def test_replicas_as_predicted_are_kept_as_seen(witness: Witness) -> None:
    witness.moment("written")

    replica = {"batches": ["K=v@0 epoch 0", "X@1 epoch 0"], "epochs": [[0, 0]], "log_end": 2}
    assert witness.seen == {"written": {"r1": replica, "r2": replica, "r3": replica}}


def test_another_batch_is_a_difference(witness: Witness, disks: Disks) -> None:
    disks.logs[2][1] = batch(1, "X", None, delete_horizon_ms=7)

    with pytest.raises(Differs) as found:
        witness.moment("written")

    assert str(found.value) == (
        "kafka_01_lost_tombstone: written: r2.batches:"
        ' Replog says ["K=v@0 epoch 0", "X@1 epoch 0"],'
        ' Kafka has ["K=v@0 epoch 0", "X=null@1 epoch 0 horizon"]'
    )
    assert witness.seen == {}


def test_another_epoch_cache_is_a_difference(witness: Witness, disks: Disks) -> None:
    disks.caches[3] = [(0, 0), (1, 2)]

    with pytest.raises(Differs, match=r"written: r3\.epochs: Replog says \[\[0, 0\]\], Kafka has"):
        witness.moment("written")


def test_a_record_that_the_leader_has_and_a_consumer_misses_is_a_difference(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ([Read(1, "X", "X", 0)], 2)
    monkeypatch.setattr(cluster_moments, "read_all", lambda *_: read)

    with pytest.raises(
        Differs, match=r'consumer\.reads: Replog says \["K=v@0", "X@1"\], Kafka has'
    ):
        witness.moment("written", leader=3)


def test_a_log_that_cannot_be_read_is_a_difference_in_the_end(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(partition: Path) -> RawLog:
        raise FileNotFoundError(f"{partition}: gone")

    monkeypatch.setattr(cluster_moments, "read_raw", swapped)

    with pytest.raises(Differs, match="there is none"):
        witness.moment("written")


def test_a_wait_in_vain_says_for_what_and_what_was_seen_last(witness: Witness) -> None:
    with pytest.raises(BadInput) as found:
        witness.await_leader(1, (1, 2, 3))
    assert str(found.value) == (
        "waited 0 s in vain for topic: broker 1 to lead with (1, 2, 3) in sync; last seen:"
        " PartitionState(leader=1, replicas=(1, 2, 3), isr=(1, 2))"
    )
    with pytest.raises(BadInput, match=r"checkpoint 3 on broker 1; last seen: None"):
        witness.await_cleaned(1, 3)
    with pytest.raises(BadInput, match=r"log end offset 5 on broker 2; last seen: .*.log_end.: 2"):
        witness.await_end(2, 5)
    with pytest.raises(
        BadInput, match=r"epoch 1 in the cache of broker 2; last seen: \[\(0, 0\)\]"
    ):
        witness.await_epoch(2, 1)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (batch(3, "K", None), "K=null@3 epoch 0"),
        (batch(3, "K", "v", epoch=2, delete_horizon_ms=1), "v@3 epoch 2 horizon"),
        (batch(3, "", None, records=[]), "-@3 epoch 0"),
        (batch(3, "K", "v", base_offset=1), "v@3 epoch 0 span 1..3"),
        (batch(3, "", None, records=[], base_offset=1), "-@3 epoch 0 span 1..3"),
    ],
)
def test_a_batch_is_written_as_in_a_story(written: Json, text: str) -> None:
    assert batch_text(written) == text

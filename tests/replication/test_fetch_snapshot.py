"""FetchSnapshot in bytes, every reason to refuse it, and whom a leader sends to a snapshot."""

from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol.events import SnapshotChunkFetched, SnapshotInstalled
from sim.protocol.log import Record
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of
from sim.protocol.replication import Replica
from sim.protocol.replication.messages import Answer, ErrorCode, FetchSnapshotRequest, SnapshotId
from sim.protocol.replication.replica import Snapshot, SnapshotDownload
from sim.protocol.replication.snapshots import (
    FOOTER_BYTES,
    HEADER_BYTES,
    answer_fetch_snapshot,
    delete_prefix,
    file_bytes,
    receive_snapshot_chunk,
    record_ends,
    snapshot_request,
    take_snapshot,
)
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, batch, elect, fetch, with_log

ID = SnapshotId(3, 2)
BY_EPOCH = Rules.of(commit="isr", snapshot_offer="by_epoch")


def source(*, epoch: int = 2, delete: bool = True) -> Replica:
    """A leader of `epoch` with three records, and a snapshot of them."""
    replica = Replica("r1")
    for offset, key in enumerate(("a", "b", "c")):
        replica.log.append(batch(offset, key, epoch=min(offset + 1, 2)), now_ms=0)
    elect(replica, epoch=epoch)
    take_snapshot(replica, 3, rules=RULES)
    if delete:
        delete_prefix(replica, 3)
    return replica


def download(replica: Replica, fetcher: Replica, max_bytes: int) -> list[SnapshotChunkFetched]:
    """All chunks of at most so many bytes, until the snapshot is installed."""
    chunks: list[SnapshotChunkFetched] = []
    while fetcher.download is not None:
        request = snapshot_request(fetcher, max_bytes=max_bytes)
        assert request is not None
        response = answer_fetch_snapshot(replica, request, rules=RULES)
        events = receive_snapshot_chunk(fetcher, response, rules=RULES).events
        chunks += [event for event in events if isinstance(event, SnapshotChunkFetched)]
        assert len(chunks) < 1_000
    assert isinstance(events[-1], SnapshotInstalled)
    return chunks


def error(replica: Replica, *, rules: Rules = RULES, **changed: Any) -> ErrorCode:
    """Why a request is refused that differs from a good one in this; `NONE` = it is served."""
    request = replace(FetchSnapshotRequest("r2", 2, ID, 0, max_bytes=50), **changed)
    return answer_fetch_snapshot(replica, request, rules=rules).error


def test_a_snapshot_file_is_a_header_a_batch_of_records_and_a_footer() -> None:
    """The records are numbered from 0 on, whatever their offsets in the log were."""
    records = (Record(7, "key", "value", 5), Record(2_000, "k", "v" * 100, 9))
    alone = tuple(replace(record, offset=number) for number, record in enumerate(records))

    assert (HEADER_BYTES, FOOTER_BYTES) == (83, 75)
    assert file_bytes(records) == 83 + size_of(alone) + 75
    assert record_ends(records)[-1] == file_bytes(records) - FOOTER_BYTES
    assert file_bytes(()) == 83 + 75


@pytest.mark.parametrize("max_bytes", [1, 7, 40, 100, 10_000])
def test_chunks_cut_records_and_add_up_to_the_file(max_bytes: int) -> None:
    replica, fetcher = source(), Replica("r2")
    fetch(replica, fetcher)
    chunks = download(replica, fetcher, max_bytes)

    [whole] = fetcher.snapshots.values()
    size = file_bytes(whole.records)
    assert whole == replica.snapshots[ID]
    assert sum(chunk.size_bytes for chunk in chunks) == size
    assert [chunk.position for chunk in chunks] == list(range(0, size, max_bytes))
    assert sum(chunk.entries for chunk in chunks) == 3
    assert len(chunks) == -(-size // max_bytes)


@pytest.mark.parametrize(
    ("epochs", "delete", "below_start", "by_epoch"),
    [
        ((), True, Answer.SNAPSHOT, Answer.SNAPSHOT),
        ((), False, Answer.RECORDS, Answer.SNAPSHOT),
        ((1, 2), True, Answer.SNAPSHOT, Answer.SNAPSHOT),
        ((1, 2), False, Answer.RECORDS, Answer.RECORDS),
        ((1, 2, 2), True, Answer.RECORDS, Answer.RECORDS),
        ((1, 1, 1), True, Answer.DIVERGING, Answer.SNAPSHOT),
        ((1, 2, 3), True, Answer.DIVERGING, Answer.SNAPSHOT),
        ((1,), False, Answer.RECORDS, Answer.SNAPSHOT),
        ((1, 2, 3), False, Answer.DIVERGING, Answer.DIVERGING),
    ],
)
def test_whom_a_leader_sends_to_a_snapshot(
    epochs: tuple[int, ...], delete: bool, below_start: Answer, by_epoch: Answer
) -> None:
    """The leader has epochs 1, 2, 2 and a snapshot (3, 2)."""
    replica = source(epoch=4, delete=delete)

    assert fetch(replica, with_log("r2", *epochs)) is below_start
    assert fetch(replica, with_log("r2", *epochs), rules=BY_EPOCH) is by_epoch


def test_a_log_of_the_epoch_of_the_oldest_snapshot_is_served_and_an_empty_one_gets_the_newest() -> (
    None
):
    """ReplicatedLog.validateOffsetAndEpoch; the newest one is of a later epoch."""
    replica, empty = source(delete=False), Replica("r2")
    first = Snapshot(SnapshotId(1, 1), ())
    replica.snapshots = {first.id: first, **replica.snapshots}

    assert fetch(replica, with_log("r2", 1), rules=BY_EPOCH) is Answer.RECORDS
    assert fetch(replica, empty, rules=BY_EPOCH) is Answer.SNAPSHOT
    assert empty.download is not None
    assert empty.download.id == ID


def test_a_snapshot_in_the_log_is_as_large_as_its_file() -> None:
    replica = source(delete=False)
    in_log = Rules.of(commit="isr", snapshot_placement="in_log")
    replica.snapshots.clear()
    take_snapshot(replica, 3, rules=in_log, uid=9)

    last = replica.log.last_batch()
    assert last is not None
    assert last.size_bytes == file_bytes(replica.snapshots[ID].records) > 2 * BATCH_HEADER_BYTES
    replica.leadership = None
    replica.snapshots.clear()
    assert len(take_snapshot(replica, 3, rules=in_log)) == 1


REFUSALS: list[tuple[dict[str, Any], ErrorCode]] = [
    ({}, ErrorCode.NONE),
    ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
    ({"position": 10_000}, ErrorCode.POSITION_OUT_OF_RANGE),
    ({"max_bytes": None, "position": 2}, ErrorCode.NONE),
    ({"max_bytes": None, "position": 3}, ErrorCode.POSITION_OUT_OF_RANGE),
    ({"epoch": 1}, ErrorCode.FENCED_LEADER_EPOCH),
    ({"epoch": 3}, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ({"epoch": 3, "rules": Rules.of(commit="isr", fencing=False)}, ErrorCode.NONE),
    ({"id": SnapshotId(2, 1)}, ErrorCode.SNAPSHOT_NOT_FOUND),
    ({"id": SnapshotId(0, 0)}, ErrorCode.SNAPSHOT_NOT_FOUND),
]


@pytest.mark.parametrize(("changed", "expected"), REFUSALS)
def test_every_reason_to_refuse_a_request(changed: dict[str, Any], expected: ErrorCode) -> None:
    assert error(source(), **changed) is expected


def test_the_order_of_reasons_is_that_of_the_raft_client() -> None:
    """KafkaRaftClient.handleFetchSnapshotRequest."""
    replica = source()
    size = file_bytes(replica.snapshots[ID].records)
    ends = [error(replica, position=size - 1), error(replica, position=size)]
    replica.leadership = None

    assert ends == [ErrorCode.NONE, ErrorCode.POSITION_OUT_OF_RANGE]
    assert error(replica) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert error(replica, epoch=3) is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_snapshot_without_records_is_served_by_one_empty_chunk() -> None:
    replica = source()
    replica.snapshots[ID] = Snapshot(ID, ())

    assert error(replica, max_bytes=None) is ErrorCode.NONE
    assert error(replica, max_bytes=None, position=1) is ErrorCode.POSITION_OUT_OF_RANGE


def test_a_follower_that_empties_its_log_for_a_snapshot_remembers_its_vote() -> None:
    """The vote is in a file of its own (QuorumState)."""
    fetcher = Replica("r2", epoch=2)
    fetcher.download = SnapshotDownload(ID, "r1", 2)
    fetcher.vote = 2, "r3"
    request = snapshot_request(fetcher, max_bytes=10)
    assert request is not None
    rules = RULES.with_values({"snapshot_install": "at_first_chunk"})
    answer = answer_fetch_snapshot(source(), request, rules=rules)
    receive_snapshot_chunk(fetcher, answer, rules=rules)

    assert (fetcher.log.log_end_offset, fetcher.vote) == (0, (2, "r3"))

"""What a replica keeps is compared with its log: what has to agree, and what may differ."""

import pytest

from sim.protocol.events import (
    Event,
    Quiesced,
    SegmentsLost,
)
from sim.protocol.log import Batch
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.replication import Replica
from tests.audits.derived import DerivedState
from tests.audits.worlds import World, spoil
from tests.log import producing

AT_REST: list[Event] = [Quiesced(None, synced=True)]


def sent(offset: int, pid: int = 7, *, in_txn: bool = False) -> Batch:
    """One record of a producer, whose sequence number is its offset."""
    return producing.sent(offset, offset, pid=pid, transactional=in_txn)


def holding(*batches: Batch) -> Replica:
    """A replica that has appended batches; all of it is committed."""
    replica = Replica("r1")
    for batch in batches:
        replica.log.append(batch, now_ms=0)
    replica.log.high_watermark = replica.log.log_end_offset
    return replica


def found(replica: Replica, events: list[Event] = AT_REST) -> list[str]:
    """What differs after these events."""
    world = World(DerivedState)
    world.node.replica = replica
    return world.happened(*events)


KNOWN = [EpochEntry(1, 0)]
PLAIN = (sent(0), sent(1), sent(2))
OPEN = (sent(0), sent(1, in_txn=True), sent(2, in_txn=True))


@pytest.mark.parametrize(
    ("batches", "place", "value", "differs"),
    [
        (PLAIN, "log.epochs.entries", [], "leader epoch at 0"),
        (
            PLAIN,
            "log.epochs.entries",
            [EpochEntry(1, 0), EpochEntry(2, 9)],
            "leader epoch at 9",
        ),
        (
            PLAIN,
            "log.epochs.entries",
            [EpochEntry(0, 0), EpochEntry(1, 0)],
            "leader epoch at 0",
        ),
        (PLAIN, "log.flushed_end", 9, "recovery point"),
        (PLAIN, "log.log_start_offset", 4, "log start"),
        (PLAIN, "log.high_watermark", -1, "high watermark"),
        (PLAIN, "log.acknowledged_end", 4, "acknowledged end"),
        (PLAIN, "begun_offset", 4, "mark of a begun pass"),
        (PLAIN, "log.active.size_bytes", 1, "size of segment 0"),
        (PLAIN, "log.active.batches", [*PLAIN[:2], PLAIN[0]], "batch"),
        (OPEN, "log.active.transactional", False, "transactions in segment 0"),
    ],
)
def test_what_does_not_agree_is_told(
    batches: tuple[Batch, ...], place: str, value: object, differs: str
) -> None:
    replica = holding(*batches)
    spoil(replica, place, value)

    assert found(replica) == [differs]


def test_where_a_crash_lost_the_first_segment_the_log_starts_above_it() -> None:
    replica = holding(*PLAIN)
    replica.log.segments[0].base_offset, replica.log.flushed_end = 1, 3

    assert found(replica) == ["log start"]
    assert found(replica, [SegmentsLost("r1", (0,))]) == []

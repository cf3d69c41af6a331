"""What a replica keeps is compared with its log: what has to agree, and what may differ."""

import pytest

from sim.protocol.events import ReplicaCrashed, SegmentsLost
from sim.protocol.log.epochs import EpochEntry
from tests.audits.derived import DerivedState
from tests.audits.worlds import AT_REST, World, spoil
from tests.log.producing import sent

BATCHES = [sent(0, 0), sent(1, 1), sent(2, 2, transactional=True)]


class Holding(World):
    """A replica with three batches, all of them committed."""

    def __init__(self) -> None:
        super().__init__(DerivedState)
        for batch in BATCHES:
            self.log.append(batch, now_ms=0)
        self.log.high_watermark = 3


@pytest.mark.parametrize(
    ("place", "value", "differs"),
    [
        ("log.epochs.entries", [], "leader epoch at 0"),
        ("log.epochs.entries", [EpochEntry(1, 0), EpochEntry(2, 9)], "leader epoch at 9"),
        ("log.epochs.entries", [EpochEntry(0, 0), EpochEntry(1, 0)], "leader epoch at 0"),
        ("log.flushed_end", 9, "recovery point"),
        ("log.log_start_offset", 4, "log start"),
        ("log.high_watermark", -1, "high watermark"),
        ("log.acknowledged_end", 4, "acknowledged end"),
        ("begun_offset", 4, "mark of a begun pass"),
        ("log.active.size_bytes", 1, "size of segment 0"),
        ("log.active.time_entry", 3, "time index of segment 0"),
        ("log.active.batches", [*BATCHES[:2], BATCHES[0]], "batch"),
        ("log.active.transactional", False, "transactions in segment 0"),
    ],
)
def test_what_does_not_agree_is_reported(place: str, value: object, differs: str) -> None:
    world = Holding()
    spoil(world.replica, place, value)
    world.replica.up = False

    assert differs in world.happened(ReplicaCrashed("r1", 3, 3))


def test_where_a_crash_lost_the_first_segment_the_log_starts_above_it() -> None:
    world = Holding()
    world.log.segments[0].base_offset, world.log.flushed_end = 1, 3

    assert world.happened(AT_REST) == ["log start"]
    world.reports.clear()
    assert world.happened(SegmentsLost("r1", (0,))) == []

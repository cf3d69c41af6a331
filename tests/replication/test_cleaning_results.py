"""What a pass answers: how it ended, and whether the log is another one than before."""

import pytest

from sim.protocol.compaction.strategies import encode_varint, encode_version
from sim.protocol.events import Cleaned, CleaningFailed
from sim.protocol.log import Record, data_batch
from sim.protocol.replication.cleaning import Cleaner, CleaningResult, raise_floor
from sim.protocol.replication.replica import Replica, restart
from sim.protocol.rules import Rules

FORK = Rules.of(commit="isr", strategy="header", header_form="unchecked_varint")


def replica_of(*records: tuple[str, str | None], header: bytes | None = None) -> Replica:
    """A replica with a batch for each record, all below the high watermark."""
    replica = Replica("r1")
    for offset, (key, value) in enumerate(records):
        headers = () if header is None else (("version", header),)
        record = Record(offset, key, value, 0, headers, uid=offset + 1)
        replica.log.append(data_batch((record,), epoch=1), now_ms=0)
    replica.log.high_watermark = replica.log.log_end_offset
    return replica


@pytest.mark.parametrize(
    ("records", "changed"),
    [
        ([("a", "1"), ("b", "1")], False),
        ([("a", "1"), ("a", "2")], True),
        ([("a", "1"), ("b", None)], True),
    ],
    ids=["nothing goes", "a record goes", "a horizon is set"],
)
def test_a_pass_says_whether_it_changed_the_log(
    records: list[tuple[str, str | None]], changed: bool
) -> None:
    replica = replica_of(*records)
    before = list(replica.log.batches())
    result = Cleaner(Rules()).run(replica, upper_bound=2, now_ms=0)

    assert result.changed == changed
    assert [type(event) for event in result.events] == [Cleaned]
    assert (list(replica.log.batches()) != before) == changed


def test_a_pass_that_fails_is_the_last_one_before_a_restart() -> None:
    replica = replica_of(("a", "1"), ("a", "2"), header=b"\x80")
    cleaner = Cleaner(FORK)
    failed = cleaner.run(replica, upper_bound=2, now_ms=0)
    refused = cleaner.run(replica, upper_bound=2, now_ms=0)
    restart(replica)
    again = cleaner.run(replica, upper_bound=2, now_ms=0)

    assert failed == CleaningResult(False, [CleaningFailed("r1", 0)])
    assert refused == CleaningResult(False, [])
    assert again == failed


def test_what_a_pass_had_finished_before_it_failed_is_put_in_place() -> None:
    """Two groups for their distance; the header that cannot be read is in the second one."""
    replica = replica_of(("a", "1"), ("a", "2"))
    replica.log.roll(3_000_000_000, now_ms=0)
    replica.log.log_end_offset = 3_000_000_000
    for offset, header in ((3_000_000_000, b"\x80"), (3_000_000_001, encode_varint(3))):
        record = Record(offset, "b", "1", 0, (("version", header),), uid=offset)
        replica.log.append(data_batch((record,), epoch=1), now_ms=0)
    replica.log.high_watermark = replica.log.log_end_offset
    replica.first_dirty_offset = 3_000_000_001
    cleaner = Cleaner(FORK.with_values({"map_range": "dirty"}))

    result = cleaner.run(replica, upper_bound=3_000_000_002, now_ms=0)

    assert replica.first_dirty_offset == 3_000_000_001
    assert result.events[-1] == CleaningFailed("r1", 3_000_000_000)
    assert [type(event) for event in result.events] == [Cleaned, CleaningFailed]


@pytest.mark.parametrize(("late", "stubs", "left"), [(4, 1, 0), (6, 0, 1)])
def test_a_stub_stays_as_long_as_nothing_beats_it(late: int, stubs: int, left: int) -> None:
    """Version 5 of the key was a tombstone, and is removed; a stub takes memory."""
    rules = Rules.of(commit="isr", strategy="header", late_versions="stub")
    replica = replica_of(("a", None), header=encode_version(5))
    cleaner = Cleaner(rules.with_values({"delete_retention_ms": 0}))
    for now_ms in (0, 10):
        cleaner.run(replica, upper_bound=1, now_ms=now_ms, rescan=True)
    assert list(replica.stubs) == ["a"]
    record = Record(1, "a", "late", 0, (("version", encode_version(late)),), uid=2)
    replica.log.append(data_batch((record,), epoch=1), now_ms=0)
    replica.log.high_watermark = 2
    cleaner.run(replica, upper_bound=2, now_ms=20)

    assert len(replica.stubs) == stubs
    assert sum(len(batch.records) for batch in replica.log.batches()) == left


def test_a_floor_is_the_highest_version_that_was_removed_or_told_of() -> None:
    replica = Replica("r1")
    floors = []
    for version in ((1, 5), None, (1, 3), (0, 9), (1, 6)):
        raise_floor(replica, version)
        floors.append(replica.version_floor)

    assert floors == [(1, 5), (1, 5), (1, 5), (1, 5), (1, 6)]

"""What a pass answers: how it ended, and whether the log is another one than before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction.strategies import encode_varint, encode_version
from sim.protocol.events import Cleaned, CleaningFailed
from sim.protocol.log import Log, LogConfig, Record, data_batch
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
    restart(replica, rules=Rules())
    again = cleaner.run(replica, upper_bound=2, now_ms=0)

    assert failed == CleaningResult(False, [CleaningFailed("r1", 0)])
    assert refused == CleaningResult(False, [])
    assert again == failed


def offsets_after_a_pass(
    keys: list[str], spoilt: int | None, first_dirty: int
) -> tuple[list[int], list[int], tuple[object, ...]]:
    """What is left, where the pass failed, and the checkpoints; each batch is a group of its own.

    The record at `spoilt` has a version that no cleaner can read; the map begins at `first_dirty`.
    """
    replica = Replica("r1", Log(LogConfig(segment_bytes=1)))
    for offset, key in enumerate(keys):
        version = b"\x80" if offset == spoilt else encode_varint(3)
        record = Record(offset, key, "v", 0, (("version", version),), uid=offset + 1)
        replica.log.append(data_batch((record,), epoch=1), now_ms=0)
    replica.log.high_watermark = len(keys)
    replica.first_dirty_offset = replica.cleanly_compacted_offset = first_dirty
    rules = FORK.with_values({"map_range": "dirty"})
    events = Cleaner(rules).run(replica, upper_bound=len(keys), now_ms=5, rescan=True).events
    left = [record.offset for batch in replica.log.batches() for record in batch.records]
    failed = [event.offset for event in events if isinstance(event, CleaningFailed)]
    return left, failed, (replica.first_dirty_offset, replica.last_cleaning)


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=8), st.data())
def test_a_pass_that_fails_cleans_what_is_below_and_leaves_the_checkpoints_where_they_were(
    keys: list[str], data: st.DataObject
) -> None:
    first_dirty = data.draw(st.integers(0, len(keys)))
    spoilt = data.draw(st.integers(0, len(keys) - 1))
    whole, _, done = offsets_after_a_pass(keys, None, first_dirty)
    left, failed, checkpoints = offsets_after_a_pass(keys, spoilt, first_dirty)

    assert done == (len(keys), (len(keys), 5))
    if not failed:
        assert (left, checkpoints) == (whole, done)
        return
    below = [offset for offset in whole if offset < spoilt]
    if spoilt >= first_dirty:  # it is met before anything is copied
        below = [*range(spoilt)]
    assert (failed, left) == ([spoilt], [*below, *range(spoilt, len(keys))])
    assert checkpoints == (first_dirty, None)


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

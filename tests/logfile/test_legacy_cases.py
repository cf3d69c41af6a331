"""The cleaner before KIP-534, and KIP-280 as it was once coded: cases of LogCleanerTest in 2.8."""

import pytest

from tests.logfile.writer import DAY_MS, Json, Writer, emptied, gone, horizons, surviving

NOW = 1_000_000
FOREVER = 2**63 - 1
OLD = {"preset": "kafka-2.8", "segment_last_modified_ms": NOW}


def test_an_abort_marker_goes_in_the_first_pass_after_its_data() -> None:
    """LogCleanerTest.testAbortMarkerRemoval in 2.8: no horizon is stamped, two passes do."""
    log = Writer(OLD)
    log.data("a=1", producer=1)
    log.abort(1)
    log.data("b=1", producer=1)
    log.commit(1)
    log.roll()
    log.clean(delete_horizon_ms=FOREVER)
    log.rescan(delete_horizon_ms=NOW - 1)
    log.rescan(delete_horizon_ms=NOW)

    first, early, due = log.cleaned()

    assert surviving(first) == surviving(early) == [1, 2, 3]
    assert (surviving(due), horizons(due)) == ([2, 3], {})
    assert gone(due) == {1: "marker past its horizon"}


def test_an_empty_batch_keeps_its_marker_in_2_8_too() -> None:
    """LogCleanerTest.testCommitMarkerRetentionWithEmptyBatch in 2.8."""
    log = Writer(OLD)
    log.data("b=1", "c=1", producer=1)
    log.commit(1)
    log.roll()
    log.singles("b=2", "c=2")
    log.roll()
    log.clean(delete_horizon_ms=FOREVER)
    log.rescan(delete_horizon_ms=FOREVER)
    log.data("a=3", producer=1)
    log.commit(1)
    log.roll()
    log.clean(5, delete_horizon_ms=FOREVER)
    log.rescan(delete_horizon_ms=FOREVER)

    first, again, released, last = log.cleaned()

    assert (surviving(first), emptied(first)) == ([2, 3, 4], [1])
    assert (surviving(again), emptied(again)) == ([2, 3, 4], [1])
    assert (surviving(released), emptied(released)) == ([2, 3, 4, 5, 6], [])
    assert surviving(last) == [3, 4, 5, 6]


def test_a_marker_without_data_is_emptied_in_the_first_pass() -> None:
    """LogCleanerTest.testCleanEmptyControlBatch in 2.8."""
    log = Writer(OLD)
    log.commit(1)
    log.singles("b=2", "c=3")
    log.roll()
    log.clean(delete_horizon_ms=FOREVER)

    (told,) = log.cleaned()

    assert (surviving(told), emptied(told)) == ([1, 2], [0])


def test_a_tombstone_goes_by_the_last_modification_of_its_segment() -> None:
    """LogCleanerTest.testCleanTombstone in 2.8: equality is enough."""
    log = Writer(OLD)
    log.singles("k=1", "k", "l=1")
    log.roll()
    for horizon in (NOW - 1, NOW):
        log.clean(delete_horizon_ms=horizon)

    early, due = log.cleaned()

    assert surviving(early) == [1, 2]
    assert gone(due) == {1: "tombstone past its horizon"}


def test_without_a_given_horizon_a_tombstone_waits_for_the_retention() -> None:
    """The last clean segment was modified at the time of the pass: the horizon is a day before."""
    log = Writer({"preset": "kafka-2.8"})
    log.singles("k=1", "k")
    log.roll()
    log.singles("l=1")
    log.roll()
    log.clean(now=NOW)
    log.clean(3, now=NOW + 10 * DAY_MS, forced_rescan=True, map_latest_offset=2)

    for told in log.cleaned():
        assert told["tombstone_offsets"] == [1]


def test_without_retention_a_tombstone_in_the_clean_section_goes() -> None:
    log = Writer({"preset": "kafka-2.8", "delete_retention_ms": 0})
    log.singles("k=1", "k")
    log.roll()
    log.clean(now=NOW)
    log.rescan(now=NOW)

    first, second = log.cleaned()

    assert (surviving(first), surviving(second)) == ([1], [])


def test_with_nothing_clean_the_horizon_is_0() -> None:
    """Only a segment that was last modified at 0 or before is as old as that."""
    for modified, left in ((1, [1]), (0, [])):
        log = Writer({"preset": "kafka-2.8", "segment_last_modified_ms": modified})
        log.singles("k=1", "k")
        log.roll()
        log.clean(now=NOW)

        assert surviving(log.cleaned()[0]) == left


def test_2_8_keeps_nothing_at_the_end_of_the_round() -> None:
    log = Writer(OLD)
    log.singles("k=1", "k")
    log.roll()
    log.clean(delete_horizon_ms=FOREVER)

    assert log.cleaned()[0]["batches"] == []


def versioned(preset: str, *versions: object, **rules: object) -> Writer:
    """One record of the same key in each segment, with these versions."""
    log = Writer({"preset": preset, "strategy": "header", "header_key": "version", **rules})
    for version in versions:
        log.data("k=v")
        headers = [] if version is None else [["version", version]]
        log.segments[-1]["batches"][-1]["records"][0]["headers"] = headers
        log.roll()
    return log


@pytest.mark.parametrize(
    ("versions", "kept"),
    [
        ((2, 1), [0]),
        ((1, 2), [1]),
        ((2, 2), [1]),
        ((None, 1), [1]),
        ((1, None), [0]),
        ((None, None), [1]),
        ((1, 0), [0]),
        ((0, None), [1]),
        ((-5, None), [1]),
        (({"hex": "80"}, {"hex": ""}), [1]),
        (({"hex": "0401"}, 1), [0]),
    ],
)
def test_pr_8103_reads_a_varint_above_0(versions: tuple[object, ...], kept: list[int]) -> None:
    log = versioned("kip-280-pr8103", *versions)
    log.clean()

    assert surviving(log.cleaned()[0]) == kept


@pytest.mark.parametrize(
    ("headers", "version"),
    [
        ([["version", 3], ["version", 9]], 3),
        ([["version", {"hex": ""}], ["version", 9]], 9),
        ([[" VerSion ", 3]], 3),
        ([["versions", 3]], -1),
    ],
)
def test_pr_8103_reads_the_first_header_that_is_loosely_named_so(
    headers: list[Json], version: int
) -> None:
    """Against a record of version 5, and one of version 1 before it."""
    log = versioned("kip-280-pr8103", 1, 5)
    log.data("k=v")
    log.segments[-1]["batches"][-1]["records"][0]["headers"] = headers
    log.roll()
    log.clean()

    assert surviving(log.cleaned()[0]) == ([2] if version >= 5 else [1])


@pytest.mark.parametrize(
    ("versions", "kept"),
    [
        ((2, 1), [0]),
        ((-5, None), [0]),
        ((-(2**63), 2**63 - 1), [1]),
        ((0, None), [0]),
        ((None, 0), [1]),
        ((7, {"hex": "80"}), [0]),
        (({"hex": "000000000000000700"}, -1), [1]),
        (("12345678", 1), [0]),
    ],
)
def test_kip_280_reads_eight_bytes_with_a_sign(
    versions: tuple[object, ...], kept: list[int]
) -> None:
    """Anything else is no version; a text stands for its UTF-8 bytes."""
    log = versioned("kip-280", *versions)
    log.clean()

    assert surviving(log.cleaned()[0]) == kept


def test_kip_280_does_not_fall_back_to_an_earlier_header() -> None:
    log = versioned("kip-280", 1)
    log.data("k=v")
    last = log.segments[-1]["batches"][-1]["records"][0]
    last["headers"] = [["version", 9], ["version", {"hex": "80"}]]
    log.roll()
    log.clean()

    assert surviving(log.cleaned()[0]) == [0]


def test_a_map_of_dirty_records_only_keeps_a_lower_version_beside_a_clean_higher_one() -> None:
    for preset, kept in (("kip-280-pr8103", [0, 1]), ("kip-280", [0])):
        log = versioned(preset, 2)
        log.clean()
        log.data("k=v")
        batch = log.steps[-1]["batches"][-1]
        batch["records"][0]["headers"] = [["version", 1]]
        log.roll()
        log.clean(1)

        assert surviving(log.cleaned()[-1]) == kept


def test_a_timestamp_of_minus_1_is_no_version() -> None:
    for first, second, kept in ((0, -1, [0]), (-1, -1, [1]), (5, 5, [1]), (6, 5, [0])):
        log = Writer({"preset": "kip-280", "strategy": "timestamp"})
        for timestamp in (first, second):
            log.data("k=v")
            log.segments[-1]["batches"][-1]["records"][0]["timestamp_ms"] = timestamp
        log.roll()
        log.clean()

        assert surviving(log.cleaned()[0]) == kept

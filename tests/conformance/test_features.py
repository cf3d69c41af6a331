"""A feature is seen where it happens, and not in the nearest log where it does not."""

from typing import Any

import pytest

from tests.conformance.compare import replog_answer
from tests.conformance.features import features_expected, features_of
from tests.conformance.log_builder import Data, Entry, LeaderChange, Marker, Write
from tests.conformance.log_steps import Append, Clean, Now, Other, Plan, Retry, Segment, Step, build

NOW = Now("later", 0)
LATER = Now("later", 1_000)


def put(*keys: str, **fields: Any) -> Data:
    return Data(tuple(Entry(key, "v") for key in keys), **fields)


def delete(key: str, **fields: Any) -> Data:
    return Data((Entry(key, None),), **fields)


def seen(
    *segments: tuple[Write, ...], steps: tuple[Step, ...], preset: str = "kafka-4.0", **plan_of: Any
) -> Any:
    plan = Plan(tuple(Segment(writes) for writes in segments), steps, preset=preset, **plan_of)
    document = build(plan)
    return features_of(document, replog_answer(document))


def test_a_full_map_ends_a_pass_early() -> None:
    log = (put("a"), put("b"))
    partial = "partial map: the pass ends before its bound"

    assert partial in seen(log, (), steps=(Clean(NOW, capacity=1),))
    assert partial not in seen(log, (), steps=(Clean(NOW, capacity=2),))


def test_a_map_may_be_full_in_mid_batch() -> None:
    inside = "the map is full in mid-batch"

    assert inside in seen((put("a", "b"),), (), steps=(Clean(NOW, capacity=1),))
    assert inside not in seen((put("a"), put("b")), (), steps=(Clean(NOW, capacity=1),))


def test_a_tombstone_gets_its_horizon_waits_and_goes() -> None:
    horizon, waits = "batch of a tombstone gets a horizon", "horizon not reached yet"
    at_it, gone = "pass at the very millisecond of a horizon", "tombstone removed"
    log = (delete("a"), put("b"))

    once = seen(log, (), steps=(Clean(NOW),))
    early = seen(log, (), steps=(Clean(NOW), Clean(Now("later", 99))))
    in_time = seen(log, (), steps=(Clean(NOW), Clean(Now("later", 100))))

    assert horizon in once
    assert not once & {waits, at_it, gone}
    assert early >= {horizon, waits}
    assert not early & {at_it, gone}
    assert in_time >= {horizon, at_it, gone}
    assert waits not in in_time


def test_aborted_data_goes_and_its_marker_later() -> None:
    log = (put("a"), put("b", producer=3), Marker(3, commit=False), put("c", producer=3))
    end = Marker(3, commit=True)
    steps = (Clean(NOW), Clean(LATER), Clean(LATER), Clean(LATER))

    found = seen((*log, end), (), steps=steps)

    assert found >= {"aborted data dropped", "marker gets a horizon", "marker removed"}
    assert "aborted transaction leaves the index" in found
    assert not seen((put("a"),), (), steps=steps) & {"aborted data dropped", "marker removed"}


def test_the_last_batch_of_a_producer_stays_empty_until_it_writes_again() -> None:
    log = (put("a", producer=1), put("a"))
    again = Append((put("z", producer=1),), roll_after=False)

    kept = seen(log, (), steps=(Clean(NOW),))
    gone = seen(log, (), steps=(Clean(NOW), again, Clean(NOW)))

    assert "batch kept empty for its producer" in kept
    assert "empty batch removed by a later pass" not in kept
    assert "empty batch removed by a later pass" in gone


def test_the_end_of_a_round_stays_empty() -> None:
    end = "batch kept empty for the end of the round"
    unkeyed = Data((Entry(None, "v"),))

    assert end in seen((put("a"), unkeyed), (), steps=(Clean(NOW),))
    assert end not in seen((unkeyed, put("a")), (), steps=(Clean(NOW),))


def test_segments_are_joined_in_one_group_or_stay_apart_in_several() -> None:
    joined, several = "segments are joined", "several groups of segments"
    near = (Segment((put("a"),)), Segment((put("b"),)), Segment(()))
    far = (Segment((put("a"),)), Segment((put("b"),), 2**31), Segment(()))

    def found(segments: tuple[Segment, ...]) -> frozenset[str]:
        document = build(Plan(segments, (Clean(NOW),)))
        return features_of(document, replog_answer(document)) & {joined, several}

    assert found(near) == {joined}
    assert found(far) == {several}


def test_a_reload_counts_when_the_log_was_cleaned_before() -> None:
    reloaded = "pass after a reload of a cleaned log"
    log = (put("a"),)

    before = seen(log, (), steps=(Other("reload"), Clean(NOW)))
    between = seen(log, (), steps=(Clean(NOW), Other("reload"), Clean(NOW)))

    assert reloaded not in before
    assert reloaded in between


@pytest.mark.parametrize(("shift", "known"), [(0, True), (1, False)])
def test_a_retry_is_recognised_or_not(shift: int, *, known: bool) -> None:
    found = seen((put("a", producer=1),), (), steps=(Retry(0, shift),))

    assert ("retry of an old batch recognised" in found) == known
    assert ("retry of an old batch not recognised" in found) != known


def test_before_kip_534_a_users_key_evicts_a_marker() -> None:
    evicted = "marker evicted by a user's key (KAFKA-14055)"
    log = (put("a", producer=3), Marker(3, commit=True), put("\0\0\0\1"))

    assert evicted in seen(log, (), steps=(Clean(NOW),), preset="kafka-2.8")
    assert evicted not in seen(log, (), steps=(Clean(NOW),), preset="kafka-4.0")


def beaten(last: Data, **plan_of: Any) -> Any:
    """What is seen when the first of two keys of a batch is written again."""
    return seen((last, put("a")), (), steps=(Clean(NOW),), **plan_of)


@pytest.mark.parametrize(
    ("feature", "data", "near"),
    [
        ("batch of magic 0 or 1 loses records", {"magic": 1}, {"magic": 2}),
        ("batch of zstd loses records", {"compression": "zstd"}, {"compression": "lz4"}),
        ("batch with a horizon loses records", {"horizon_ms": 5_000}, {}),
        (
            "batch with a log append time loses records",
            {"append_time": True, "timestamp_ms": 9},
            {"append_time": True, "timestamp_ms": 0},
        ),
    ],
)
def test_a_batch_that_loses_records_is_of_a_kind(
    feature: str, data: dict[str, Any], near: dict[str, Any]
) -> None:
    two = (Entry("a", "v"), Entry("b", "w"))

    assert feature in beaten(Data(two, **data), compressed=True, old_formats=True)
    assert feature not in beaten(Data(two, **near), compressed=True, old_formats=True)


def test_a_batch_that_loses_records_may_be_large_or_of_many() -> None:
    large = "batch larger than the cleaner's I/O buffer loses records"
    many = "batch of a hundred records or more loses some"

    def found(size: int, count: int) -> set[str]:
        rest = tuple(Entry(f"k{number}", "v" * size) for number in range(count - 1))
        return set(beaten(Data((Entry("a", "v"), *rest)))) & {large, many}

    assert found(1_100, 2) == {large}
    assert found(900, 2) == set()
    assert found(0, 100) == {large, many}
    assert found(0, 99) == {large}


@pytest.mark.parametrize(
    ("feature", "key", "near"),
    [
        ("empty key superseded", "", "b"),
        ("key that is no text superseded", "\udcff", "\ufffd"),
        ("key of 64 bytes or more superseded", "l" * 64, "l" * 63),
    ],
)
def test_a_superseded_key_is_of_a_kind(feature: str, key: str, near: str) -> None:
    assert feature in beaten(put("a"), keys=(key,))
    assert feature not in beaten(put("a"), keys=(near,))


def test_an_empty_value_stays_and_a_tombstone_is_none() -> None:
    empty = "empty value stays"

    assert empty in seen((Data((Entry("a", ""),)),), (), steps=(Clean(NOW),))
    assert empty not in seen((delete("a"),), (), steps=(Clean(NOW),))


def test_a_segment_is_above_the_usual_index_interval() -> None:
    above = "segment above 4,096 bytes"

    def found(size: int) -> bool:
        return above in seen((Data((Entry("a", "v" * size),)),), (), steps=(Clean(NOW),))

    assert found(4_096)
    assert not found(4_000)


def test_a_horizon_fits_exactly_or_not() -> None:
    fits = "horizon of 2^63 - 1 ms, the latest there is"
    too_late = "tombstone without a horizon, which would not fit 63 bits"

    def found(retention_ms: int) -> set[str]:
        log = (delete("a"), put("b"))
        found = seen(log, (), steps=(Clean(NOW),), delete_retention_ms=retention_ms)
        return set(found) & {fits, too_late}

    assert found(2**63 - 1_001) == {fits}
    assert found(2**63 - 1_000) == {too_late}
    assert found(2**63 - 1_002) == set()


def test_segments_span_as_many_offsets_as_they_may_or_nearly() -> None:
    kinds = ("one offset less than", "as many offsets as", "one offset more than")

    def found(span: int) -> list[bool]:
        segments = (Segment((put("a"),)), Segment((put("b"),)), Segment((), span=span))
        document = build(Plan(segments, (Clean(NOW),)))
        features = features_of(document, replog_answer(document))
        return [f"segments that span {kind} they may" in features for kind in kinds]

    assert found(2**31 - 1) == [True, False, False]
    assert found(2**31) == [False, True, False]
    assert found(2**31 + 1) == [False, False, True]


def test_a_change_of_the_leader_stays_unless_it_was_emptied() -> None:
    stays = "change of the leader stays"

    assert stays in seen((LeaderChange(), put("a")), (), steps=(Clean(NOW),))
    assert stays not in seen((LeaderChange(emptied=True), put("a")), (), steps=(Clean(NOW),))


def test_a_tombstone_of_an_old_format_goes_by_the_times_of_segments() -> None:
    gone = "tombstone of magic 0 or 1 removed"
    old = Data((Entry("a", None),), magic=1)
    steps = (Clean(NOW, dirty="offset", which=2),)

    def found(modified_ms: int) -> bool:
        second = Segment((put("b"),), modified_ms=modified_ms)
        segments = (Segment((old,)), second, Segment((put("c"),)), Segment(()))
        document = build(Plan(segments, steps, old_formats=True))
        return gone in features_of(document, replog_answer(document))

    assert found(100)
    assert not found(99)


def test_an_old_batch_at_the_end_of_a_round_stops_the_pass() -> None:
    stops = "pass that a batch of magic 0 or 1 stops, which cannot be empty"
    unkeyed = Data((Entry(None, "v"),), magic=1)

    assert stops in seen((put("a"), unkeyed), (), steps=(Clean(NOW),), old_formats=True)
    assert stops not in seen((unkeyed, put("a")), (), steps=(Clean(NOW),), old_formats=True)


def test_it_matters_where_the_map_is_read_from() -> None:
    seek = features_expected("kafka-4.0")[-3]
    log = (
        put("a"),
        put("b", producer=3),
        Marker(3, commit=False),
        put("c"),
        put("d"),
        put("a", producer=3),
        Marker(3, commit=True),
    )
    steps = (Clean(NOW, dirty="aborted", which=1),)

    assert "ABORT marker" in seek
    assert seek in seen(log, (), steps=steps, index_interval_bytes=0)
    assert seek not in seen(log, (), steps=steps)


def test_what_a_release_cannot_do_is_not_expected_of_it() -> None:
    old, new = set(features_expected("kafka-2.8")), set(features_expected("kafka-4.0"))

    assert "marker evicted by a user's key (KAFKA-14055)" in old - new
    assert "batch kept empty for the end of the round" in new - old
    assert "superseded record removed" in old & new

"""A feature is seen where it happens, and not in the nearest log where it does not."""

from typing import Any

import pytest

from sim.conformance.compare import replog_answer
from sim.conformance.features import features_expected, features_of
from sim.conformance.log_builder import Data, Entry, Marker, Write
from sim.conformance.log_steps import Append, Clean, Now, Other, Plan, Retry, Segment, Step, build

NOW = Now("later", 0)
LATER = Now("later", 1_000)


def put(*keys: str, **fields: Any) -> Data:
    return Data(tuple(Entry(key, "v") for key in keys), **fields)


def delete(key: str, **fields: Any) -> Data:
    return Data((Entry(key, None),), **fields)


def seen(*segments: tuple[Write, ...], steps: tuple[Step, ...], preset: str = "kafka-4.0") -> Any:
    plan = Plan(tuple(Segment(writes) for writes in segments), steps, preset=preset)
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


def test_what_a_release_cannot_do_is_not_expected_of_it() -> None:
    old, new = set(features_expected("kafka-2.8")), set(features_expected("kafka-4.0"))

    assert "marker evicted by a user's key (KAFKA-14055)" in old - new
    assert "batch kept empty for the end of the round" in new - old
    assert "superseded record removed" in old & new

"""What a new replica costs with a full log, a compacted log and snapshots."""

from functools import cache

from sim.studies.catchup import CatchUp, compare

KEYS, UPDATES = 10, 200


@cache
def measured(fetch_bytes: int = 1_000, latency_ms: int = 5) -> dict[str, CatchUp]:
    found = compare(
        keys=KEYS,
        updates=UPDATES,
        fetch_bytes=fetch_bytes,
        latency_ms=latency_ms,
        load_us_per_record=1_000,
    )
    return {one.policy: one for one in found}


def test_a_full_log_is_sent_and_loaded_record_by_record() -> None:
    full = measured()["full log"]

    assert (full.snapshot_records, full.log_records) == (0, UPDATES + 1)
    assert full.load_ms == UPDATES + 1
    assert full.bytes_sent > 61 * UPDATES
    assert full.fetches >= full.bytes_sent // 1_000


def test_what_is_compacted_is_sent_and_loaded_sooner() -> None:
    found = measured()
    full, compacted, snapshot = (
        found[policy] for policy in ("full log", "compacted log", "snapshot")
    )

    for less in (compacted, snapshot):
        assert less.bytes_sent < full.bytes_sent / 2
        assert less.fetches < full.fetches
        assert less.load_ms < full.load_ms
        assert less.caught_up_ms < full.caught_up_ms
    assert compacted.log_records >= KEYS
    assert compacted.snapshot_records == 0
    assert snapshot.snapshot_records == KEYS


def test_the_time_to_catch_up_is_that_of_the_answers() -> None:
    """Each takes two messages; one more says hello."""
    for latency_ms in (5, 20):
        full = measured(latency_ms=latency_ms)["full log"]
        assert full.caught_up_ms >= 2 * latency_ms * full.fetches
        assert full.caught_up_ms <= 2 * latency_ms * (full.fetches + 4)


def test_a_replica_is_given_the_time_it_takes_however_small_the_answers_are() -> None:
    slow = measured(60, 50)["full log"]

    assert slow.fetches == UPDATES + 1
    assert slow.caught_up_ms >= 2 * 50 * UPDATES
    assert measured(60, 50)["snapshot"].snapshot_records == KEYS

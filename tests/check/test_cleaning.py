"""What a cleaning pass may take: hand-made passes of a cleaner with a mistake, and near misses."""

from sim.trace import Event, ReplicaWiped, Truncated
from tests.check.events import (
    RULES,
    appended,
    at_rest,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    removed,
    superseded,
    violations_of,
)

THREE: list[Event] = [
    *cluster("r1"),
    *appended("r1", batch(0, "k"), batch(1, "k"), batch(2, "z")),
    committed("r1", 3),
]


def test_a_copy_with_another_timestamp_is_not_what_was_appended() -> None:
    original = batch(0, "k")
    changed = original._replace(records=(original.records[0]._replace(timestamp_ms=102),))
    base: list[Event] = [*cluster("r1", "r2"), *appended("r1", original)]

    assert violations_of("record-immutable", [*base, copied("r2", "r1", 0, original)]) == []
    [sentence] = violations_of("record-immutable", [*base, copied("r2", "r1", 0, changed)])
    assert "timestamp_ms=102" in sentence


def test_an_equal_copy_that_was_written_to_a_disk_and_read_again_is_the_same() -> None:
    original = batch(0, "k")
    again = original._replace(records=(original.records[0]._replace(),))
    base: list[Event] = [*cluster("r1", "r2"), *appended("r1", original)]

    assert violations_of("record-immutable", [*base, copied("r2", "r1", 0, again)]) == []


def test_a_horizon_that_each_pass_sets_anew_never_comes() -> None:
    base: list[Event] = [*cluster("r1"), *appended("r1", batch(0, "k", None)), committed("r1", 1)]
    moved = [cleaned("r1", 1, horizons=((0, 100),)), cleaned("r1", 1, horizons=((0, 190),))]
    kept = [cleaned("r1", 1, horizons=((0, 100),)), cleaned("r1", 1)]

    [sentence] = violations_of("horizon-stability", [*base, *moved])
    assert "from 100 ms to 190 ms" in sentence
    assert violations_of("horizon-stability", [*base, *kept]) == []


def test_a_copy_on_a_new_disk_gets_a_horizon_of_its_own() -> None:
    tombstone = batch(0, "k", None)
    set_first: list[Event] = [
        *cluster("r1", "r2"),
        *appended("r1", tombstone),
        copied("r2", "r1", 0, tombstone),
        cleaned("r2", 1, horizons=((0, 100),)),
    ]
    again = [copied("r2", "r1", 0, tombstone), cleaned("r2", 1, horizons=((0, 190),))]
    for forgets in (ReplicaWiped("r2", "a new disk"), Truncated("r2", 0, 1, 0, 0, leading=False)):
        assert violations_of("horizon-stability", [*set_first, forgets, *again]) == []


def test_a_removal_or_its_winner_at_the_high_watermark_is_too_far() -> None:
    base = [*THREE[:-1], committed("r1", 1)]

    by_uncommitted = cleaned("r1", 3, superseded(0, "k", 1), hw=1)
    below = cleaned("r1", 3, superseded(0, "k", 1), hw=2)

    assert len(violations_of("compaction-bound", [*base, by_uncommitted])) == 1
    assert violations_of("compaction-bound", [*base, committed("r1", 2), below]) == []


def test_two_records_of_a_key_in_the_clean_section_are_one_too_many() -> None:
    assert len(violations_of("clean-prefix", [*THREE, cleaned("r1", 3)])) == 1
    assert violations_of("clean-prefix", [*THREE, cleaned("r1", 1)]) == []
    assert violations_of("clean-prefix", [*THREE, cleaned("r1", 3, superseded(0, "k", 1))]) == []


def test_the_record_that_a_fix_protects_is_one_more() -> None:
    base = [*cluster("r1"), *appended("r1", batch(0, "k"), batch(1, "k")), committed("r1", 2)]

    assert violations_of("clean-prefix", [*base, cleaned("r1", 2, protected=1)]) == []
    assert len(violations_of("clean-prefix", [*base, cleaned("r1", 2)])) == 1


def test_a_winner_that_one_replica_dropped_is_missing_there() -> None:
    batches = [batch(0, "k"), batch(1, "z")]
    base: list[Event] = [
        *cluster("r1", "r2"),
        *appended("r1", *batches),
        copied("r2", "r1", 0, *batches),
        committed("r1", 2),
    ]
    dropped = [*base, cleaned("r2", 2, superseded(0, "k", 1)), at_rest("r1")]

    [sentence] = violations_of("winner-retained", dropped)
    assert sentence.startswith("r2 lacks")
    assert violations_of("winner-retained", [*base, at_rest("r1")]) == []


def test_a_tombstone_may_go_only_when_no_other_replica_needs_it() -> None:
    value, tombstone = batch(0, "k"), batch(1, "k", None)
    base: list[Event] = [
        *cluster("r1", "r2", isr=("r1",)),
        *appended("r1", value, tombstone),
        copied("r2", "r1", 0, value),
        committed("r1", 2),
    ]
    removal = cleaned("r1", 2, superseded(0, "k", 1), removed(1, "k", "tombstone"))
    has_it = [*base, copied("r2", "r1", 1, tombstone), removal]

    [sentence] = violations_of("tombstone-safety", [*base, removal])
    assert "r2, log end offset 1, still held k=v (offset 0)" in sentence
    assert violations_of("tombstone-safety", has_it) == []
    assert (
        violations_of(
            "tombstone-safety",
            [*base, removal],
            rules=RULES.with_values({"lag_guard": "reset_local"}),
        )
        == []
    )

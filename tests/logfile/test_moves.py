"""Steps that cut a log, let it start later, and leave it to Kafka's manager whether to clean."""

from typing import Any

import pytest

from sim.errors import BadInput
from sim.logfile.answer import answer
from sim.logfile.explain import explain_key
from sim.logfile.file import log_file_from
from tests.logfile.writer import Json, record

DUE = {"op": "clean", "now_ms": 1_000}


def batch(base: int, *words: str, producer: int = -1, **fields: Any) -> Json:
    """A batch of these records from `base` on; a producer's sequences are its offsets."""
    sent = {} if producer < 0 else {"producer_id": producer, "producer_epoch": 0}
    return {
        "base_offset": base,
        "last_offset": base + len(words) - 1,
        "records": [record(base + at, word, timestamp_ms=5) for at, word in enumerate(words)],
        **sent,
        **({"base_sequence": base} if sent else {}),
        **fields,
    }


def log(*segments: list[Json], steps: list[Json], **fields: Any) -> list[Json]:
    """The answer to each step."""
    document = {"format": "replog-log/1", "segments": list(segments), "steps": steps, **fields}
    told: list[Json] = answer(document)["steps"]
    return told


def clean(first_dirty: int, bound: int, now_ms: int = 1_000) -> Json:
    """A pass whose bounds are given."""
    return {
        "op": "clean",
        "now_ms": now_ms,
        "first_dirty_offset": first_dirty,
        "upper_bound": bound,
    }


def truncate(offset: int) -> Json:
    return {"op": "truncate", "offset": offset}


def ends(step: Json) -> tuple[int, int, int]:
    """Log start, high watermark, log end."""
    return step["log_start_offset"], step["high_watermark"], step["log_end_offset"]


def test_a_batch_that_straddles_the_target_goes_whole_and_the_log_ends_at_the_target() -> None:
    (step,) = log([batch(0, "a=1"), batch(1, "b=1", "c=1")], steps=[truncate(2)])

    assert (step["surviving_offsets"], ends(step)) == ([0], (0, 2, 2))


def test_a_log_that_was_cut_in_mid_batch_ends_with_its_last_batch_after_a_reload() -> None:
    _, step = log([batch(0, "a=1"), batch(1, "b=1", "c=1")], steps=[truncate(2), {"op": "reload"}])

    assert ends(step) == (0, 1, 1)


def test_truncation_to_the_base_of_a_segment_leaves_it_empty_and_active() -> None:
    """The segment below stays closed, so that it can be cleaned."""
    steps = [truncate(2), clean(0, 2)]
    _, at_base = log([batch(0, "a=1", "a=2")], [batch(2, "b=1")], steps=steps)
    _, below = log([batch(0, "a=1"), batch(1, "a=2", "b=2")], steps=steps)

    assert at_base["surviving_offsets"] == [1]
    assert below["surviving_offsets"] == [0]


def test_a_cut_below_the_active_segment_lowers_the_checkpoint_to_what_is_active_then() -> None:
    segments = ([batch(0, "a=1")], [batch(1, "b=1")], [batch(2, "c=1"), batch(3, "d=1")])
    steps = [clean(0, 2), truncate(3), truncate(1)]
    cleaned, above, below = log(*segments, steps=steps)

    assert [step["checkpoint"] for step in (cleaned, above, below)] == [2, 2, 0]


def test_what_a_producer_sent_before_the_segment_comes_back_with_a_truncation() -> None:
    """Its batch is cleaned away, but a snapshot was taken when the segment was rolled."""
    steps: list[Json] = [
        {"op": "append", "batches": [batch(2, "a=3", producer=1)], "roll_after": False},
        clean(0, 2),
        truncate(2),
    ]
    _, cleaned, cut = log([batch(0, "a=1", producer=1), batch(1, "a=2")], [], steps=steps)

    assert cleaned["surviving_offsets"] == [1, 2]
    assert (cleaned["last_sequences"], cut["last_sequences"]) == ({"1": 2}, {"1": 0})


def test_a_log_that_is_emptied_starts_ends_and_is_committed_at_the_same_offset() -> None:
    (step,) = log([batch(0, "a=1")], steps=[{"op": "truncate_fully", "offset": 7}])

    assert (step["batches"], ends(step), step["epochs"]) == ([], (7, 7, 7), [])


def test_records_below_the_log_start_stay_until_their_segment_goes() -> None:
    segments = ([batch(0, "a=1", "b=1")], [batch(2, "c=1")], [batch(3, "d=1")])
    deletion = {"op": "delete_old_segments"}
    steps = [{"op": "delete_records", "before": 1}, deletion]
    moved, first = log(*segments, steps=steps)
    steps = [{"op": "delete_records", "before": 2}, deletion]
    _, second = log(*segments, steps=steps)

    assert (ends(moved), moved["surviving_offsets"]) == ((1, 4, 4), [0, 1, 2, 3])
    assert first["surviving_offsets"] == [0, 1, 2, 3]
    assert second["surviving_offsets"] == [2, 3]


def test_the_active_segment_never_goes_though_the_log_starts_at_its_end() -> None:
    steps = [{"op": "delete_records", "before": 1}, {"op": "delete_old_segments"}]
    _, step = log([batch(0, "a=1")], steps=steps)

    assert (step["surviving_offsets"], ends(step)) == ([0], (1, 1, 1))


def test_the_cleaner_decides_about_records_below_the_log_start_like_any_other() -> None:
    steps = [{"op": "delete_records", "before": 1}, clean(1, 2)]
    _, step = log([batch(0, "a=1"), batch(1, "a=2")], [], steps=steps)

    assert step["removed"] == {"0": "superseded by 1"}


def test_a_checkpoint_below_the_log_start_is_replaced_by_it() -> None:
    segments = ([batch(0, "a=1")], [batch(1, "b=1")], [batch(2, "c=1")], [])
    kept, replaced = (
        log(
            *segments,
            steps=[clean(0, 1), {"op": "delete_records", "before": before}, DUE],
            topic={"min.cleanable.dirty.ratio": 1},
        )[-1]
        for before in (1, 2)
    )

    assert (kept["force_update_checkpoint"], kept["checkpoint"]) == (False, 1)
    assert (replaced["force_update_checkpoint"], replaced["checkpoint"]) == (True, 2)


@pytest.mark.parametrize(("now_ms", "kept"), [(104, [0, 1]), (105, [1])])
def test_a_producer_that_was_silent_for_too_long_loses_its_empty_batch(
    now_ms: int, kept: list[int]
) -> None:
    expire = {"op": "expire_producers", "now_ms": now_ms, "expiration_ms": 100}
    first = batch(0, "a=1", producer=1, timestamp_ms=5)
    *_, step = log([first, batch(1, "a=2")], [], steps=[expire, clean(0, 2)])

    assert [each["base_offset"] for each in step["batches"]] == kept


@pytest.mark.parametrize(("preset", "bound", "rounded"), [("kafka-4.0", 3, 2), ("kafka-2.8", 4, 4)])
def test_the_high_watermark_bounds_a_pass_and_counts_down_to_a_segment(
    preset: str, bound: int, rounded: int
) -> None:
    segments = ([batch(0, "a=1", "a=2")], [batch(2, "a=3", "b=1")], [batch(4, "a=4")])
    steps = [{"op": "high_watermark", "offset": 3}, DUE]
    _, step = log(*segments, steps=steps, rules={"preset": preset})

    assert step["first_uncleanable_offset"] == bound
    assert (step["effective_upper_bound"], step["next_dirty_offset"]) == (rounded, rounded)


def test_an_open_transaction_bounds_a_pass() -> None:
    segments = ([batch(0, "a=1")], [batch(1, "a=2", producer=3, transactional=True)], [])
    (step,) = log(*segments, steps=[DUE])

    assert (step["last_stable_offset"], step["first_uncleanable_offset"]) == (1, 1)
    assert step["selected"] is True


@pytest.mark.parametrize(("ratio", "selected"), [(0.4, True), (0.5, False)])
def test_a_log_that_is_not_dirty_enough_is_left_alone(ratio: float, *, selected: bool) -> None:
    segments = ([batch(0, "a=1")], [batch(1, "a=2")], [])
    *_, step = log(*segments, steps=[clean(0, 1), DUE], topic={"min.cleanable.dirty.ratio": ratio})

    assert (step["selected"], step["cleanable_ratio"]) == (selected, 0.5)
    assert step["surviving_offsets"] == ([1] if selected else [0, 1])


@pytest.mark.parametrize(("lag_ms", "bound"), [(994, 2), (996, 0)])
def test_a_segment_with_a_young_record_waits(lag_ms: int, bound: int) -> None:
    (step,) = log(
        [batch(0, "a=1", "a=2")], [], steps=[DUE], topic={"min.compaction.lag.ms": lag_ms}
    )

    assert step["effective_upper_bound"] == bound


@pytest.mark.parametrize(("lag_ms", "segments"), [(9, [0, 1]), (10, [0, 0])])
def test_an_append_rolls_a_log_whose_first_record_is_older_than_the_maximum_lag(
    lag_ms: int, segments: list[int]
) -> None:
    late = {**batch(1, "b=1"), "timestamp_ms": 15}
    append = {"op": "append", "batches": [late]}
    (step,) = log([batch(0, "a=1")], steps=[append], topic={"max.compaction.lag.ms": lag_ms})

    assert [each["segment"] for each in step["batches"]] == segments


@pytest.mark.parametrize(
    ("preset", "delays"), [("kafka-2.8", [50, 945]), ("kafka-4.0", [945, 945])]
)
def test_what_a_pass_wrote_in_one_call_was_as_old_as_the_youngest_of_it(
    preset: str, delays: list[int]
) -> None:
    """Until a restart read the first batch alone; from 4.1 on that counts in any case.

    Source: LogSegment.append, .getFirstBatchTimestamp; as 2.8.2 and 4.3.1 answer.
    """
    young = {**batch(1, "b=1"), "timestamp_ms": 900}
    segments = ([batch(0, "a=1"), young], [])
    told = [
        log(
            *segments,
            steps=[{**clean(0, 2), "map_capacity": 1}, *more, DUE],
            rules={"preset": preset},
            topic={"max.compaction.lag.ms": 50, "min.cleanable.dirty.ratio": 1},
        )[-1]["compaction_delay_ms"]
        for more in ([], [{"op": "reload"}])
    ]

    assert told == delays


@pytest.mark.parametrize(("magic", "base"), [(2, 3), (1, 1)])
def test_a_batch_that_tells_its_last_offset_alone_rolls_at_the_log_end(
    magic: int, base: int
) -> None:
    late = {**batch(3, "b=1"), "timestamp_ms": 900, "magic": magic}
    late["records"][0]["timestamp_ms"] = 900
    if magic == 1:
        late = {name: late[name] for name in ("base_offset", "last_offset", "magic", "records")}
    append = {"op": "append", "batches": [late]}
    (step,) = log([batch(0, "a=1")], steps=[append], topic={"max.compaction.lag.ms": 10})

    assert step["batches"][1]["segment"] == base


def test_a_truncation_that_takes_nothing_looks_up_no_position() -> None:
    """An open transaction keeps the offset it began at, its batch gone or not (as in 4.3.1)."""
    opened = batch(0, "a=1", producer=3, transactional=True)
    append = {"op": "append", "batches": [opened, batch(1, "a=2")], "roll_after": True}
    again = {**batch(2, "a=3", producer=3, transactional=True), "records": []}
    more = {"op": "append", "batches": [again], "roll_after": True}
    cut = {"op": "truncate", "offset": 2}
    *_, step = log([], steps=[append, cut, more, clean(0, 3)])

    assert [each["base_offset"] for each in step["batches"]] == [1, 2]
    assert step["last_stable_offset"] == 0


@pytest.mark.parametrize("preset", ["kafka-2.8", "kafka-4.0"])
def test_an_open_transaction_of_which_nothing_is_left_ends_where_the_log_does(preset: str) -> None:
    """Its offset lies below the log start, and no batch is there to look for (2.8.2, 4.3.1)."""
    opened = batch(0, "a=1", producer=3, transactional=True)
    steps = [{"op": "truncate", "offset": 3}, {"op": "delete_records", "before": 2}]
    *_, step = log([opened, batch(3, "a=2")], [], steps=steps, rules={"preset": preset})

    assert (step["log_start_offset"], step["last_stable_offset"]) == (2, 3)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"op": "truncate"}], "steps[0].offset: missing"),
        ([{"op": "truncate", "offset": -1}], "steps[0].offset: -1 is below the smallest allowed"),
        ([{"op": "roll", "to": 1}], "steps[0].to: unknown field; allowed: op, note"),
        (
            [{"op": "high_watermark", "offset": 3}],
            "steps[0].offset: 3 is above the log end offset, 2",
        ),
        (
            [{"op": "delete_records", "before": 1}, {"op": "high_watermark", "offset": 0}],
            "steps[1].offset: 0 is below the log start offset, 1",
        ),
        (
            [{"op": "high_watermark", "offset": 1}, {"op": "delete_records", "before": 2}],
            "steps[1].before: 2 is above the high watermark, 1",
        ),
        (
            [truncate(1), {"op": "delete_records", "before": 2}],
            "steps[1].before: 2 is above the high watermark, 1",
        ),
        (
            [{"op": "expire_producers", "now_ms": 1, "expiration_ms": 0}],
            "steps[0].expiration_ms: 0 is below the smallest allowed, 1",
        ),
        ([{"op": "delete_old_segments", "before": 1}], "steps[0].before: unknown field"),
        ([{**DUE, "upper_bound": 1}], "steps[0].first_dirty_offset: missing"),
        ([{**DUE, "first_dirty_offset": 1}], "steps[0].upper_bound: missing"),
        (
            [{**DUE, "forced_rescan": True, "map_latest_offset": 1}],
            "steps[0].map_latest_offset: goes with a first_dirty_offset and an upper_bound that",
        ),
        (
            [truncate(1), {"op": "append", "batches": [batch(0, "a=1")]}],
            "steps[1].batches[0].base_offset: 0 is below 1",
        ),
    ],
)
def test_a_step_that_cannot_be_names_its_path_and_what_is_allowed(
    steps: list[Json], said: str
) -> None:
    with pytest.raises(BadInput) as told:
        log([batch(0, "a=1"), batch(1, "b=1")], steps=steps)

    assert str(told.value).startswith(said)


def test_a_batch_may_follow_where_the_log_was_cut() -> None:
    append = {"op": "append", "batches": [batch(1, "c=1", epoch=1)]}
    *_, step = log([batch(0, "a=1"), batch(1, "b=1")], steps=[truncate(1), append])

    assert (step["surviving_offsets"], step["epochs"]) == ([0, 1], [[0, 0], [1, 1]])


def test_a_setting_that_no_topic_has_is_named() -> None:
    with pytest.raises(BadInput, match=r"^topic\.min\.compaction\.lag\.ms: 3 is above max"):
        log([], steps=[], topic={"min.compaction.lag.ms": 3, "max.compaction.lag.ms": 2})


def test_what_was_cut_off_is_not_explained_as_still_here() -> None:
    document = {
        "format": "replog-log/1",
        "segments": [[batch(0, "a=1"), batch(1, "a=2")]],
        "steps": [truncate(1)],
    }

    assert [told.offset for told in explain_key(log_file_from(document), "a")] == [0]

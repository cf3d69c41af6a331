"""Batches of magic 0 and 1 in log files: what they cannot say, and what passes make of them."""

from copy import deepcopy
from typing import Any

from sim.simulate.logfile.answer import answer
from tests.logfile.test_bad_logs import complaint, put
from tests.logfile.writer import Json, batch

DAY = 86_400_000


def log(*batches: Json, preset: str = "kafka-4.0", **rules: Any) -> Json:
    """One closed segment with these batches and an active one; one pass over it at 10 ms."""
    end = batches[-1]["last_offset"] + 1
    return {
        "format": "replog-log/1",
        "rules": {"preset": preset, "delete_retention_ms": DAY, **rules},
        "segments": [list(batches), []],
        "steps": [
            {"op": "clean", "now_ms": 10, "first_dirty_offset": 0, "upper_bound": end},
        ],
    }


def left(document: Json) -> list[tuple[int, int, int, int | None]]:
    """Each batch after the last step: its ends, its format, its horizon."""
    batches = answer(document)["steps"][-1]["batches"]
    return [
        (each["base_offset"], each["last_offset"], each.get("magic", 2), each["delete_horizon_ms"])
        for each in batches
    ]


MESSAGE = batch(0, "K=v", "K", "L=l", magic=1)


def test_what_says_nothing_may_be_written_down() -> None:
    same = deepcopy(MESSAGE) | {"epoch": -1, "producer_id": -1, "transactional": False}
    same["records"][0] |= {"headers": [], "timestamp_ms": -1}

    assert left(log(same)) == left(log(MESSAGE))


def test_magic_0_has_no_timestamps_and_magic_1_has() -> None:
    document = put(log(batch(0, "K=v", magic=0)), "segments.0.0.records.0.timestamp_ms", 5)
    said = complaint(document)

    assert said.startswith("segments[0][0].records[0].timestamp_ms: a record of magic 0 has none")
    assert answer(put(document, "segments.0.0.magic", 1))["steps"][0]["batches"][0][
        "max_timestamp_ms"
    ] == (5)


def test_a_message_of_several_records_shrinks_to_what_is_left_and_converted_it_does_no_more() -> (
    None
):
    assert left(log(MESSAGE, preset="kafka-3.8")) == [(1, 2, 1, None)]
    assert left(log(MESSAGE)) == [(1, 2, 2, 10 + DAY)]
    later = {"op": "append", "batches": [batch(3, "L", magic=1)], "roll_after": True}
    again = {"op": "clean", "now_ms": 20, "first_dirty_offset": 3, "upper_bound": 4}
    both = log(MESSAGE)
    both["steps"] += [later, again]
    assert left(both) == [(1, 2, 2, 10 + DAY), (3, 3, 2, 20 + DAY)]


def test_what_lies_beyond_the_map_is_converted_and_what_lies_beyond_the_pass_is_not() -> None:
    document = log(batch(0, "A=a", magic=0), batch(1, "B", magic=0), batch(2, "C=c", magic=0))
    document["steps"][0]["map_capacity"] = 1
    assert left(document) == [(0, 0, 2, None), (1, 1, 2, 10 + DAY), (2, 2, 2, None)]

    document["segments"] = [[batch(0, "A=a", magic=0)], [batch(1, "B", magic=0)], []]
    document["steps"][0]["upper_bound"] = 2
    assert left(document) == [(0, 0, 2, None), (1, 1, 0, None)]


def test_an_old_batch_that_would_have_to_stay_empty_fails_the_pass_and_leaves_the_log() -> None:
    document = log(batch(0, "K=v", magic=1), batch(1, "=no key", magic=1))
    step = answer(document)["steps"][0]

    assert (step["failed_at"], step["surviving_offsets"]) == (1, [0, 1])
    assert step["failure"] == (
        "the batch at offset 1 would have to stay without records, which magic 1 cannot say"
    )
    assert "failed_at" not in answer(put(document, "rules.fix", "none"))["steps"][0]
    assert "failed_at" not in answer(put(document, "segments.0.1.magic", 2))["steps"][0]


def test_magic_1_may_have_the_time_of_the_append_and_magic_0_has_none() -> None:
    document = put(log(MESSAGE), "segments.0.0.timestamp_type", "LogAppendTime")
    document = put(document, "segments.0.0.timestamp_ms", 7)
    after = answer(document)["steps"][0]["batches"][0]
    assert (after["max_timestamp_ms"], after["record_offsets"]) == (7, [1, 2])

    said = complaint(put(document, "segments.0.0.magic", 0))
    assert said.startswith("segments[0][0].timestamp_type: a batch of magic 0 has no time")

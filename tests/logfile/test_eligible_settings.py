"""Whose settings count for a log, what the maximum lag counts from, and who is blamed for both."""

from typing import Any

import pytest

from sim.errors import BadInput
from sim.files.document import Document
from sim.logfile.eligible_file import eligible_file_in
from sim.logfile.schedule import answer_about
from tests.logfile.many_logs import HOUR, MAX_LAG, MIN_LAG, NOW, RATIO, Json, document, log

BROKER_MAX, BROKER_MIN = "log.cleaner.max.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"
BROKER_RATIO = "log.cleaner.min.cleanable.ratio"


def answered(logs: Json, **parts: Any) -> Json:
    return answer_about(eligible_file_in(Document("", document(**logs) | parts)))


def delays(logs: Json, **parts: Any) -> dict[str, int]:
    told = answered(logs, **parts)["logs"]
    return {name: one["compaction_delay_ms"] for name, one in told.items()}


def waiting(**fields: Any) -> Json:
    """A log with one dirty segment of five hours ago."""
    return log(0, 5, end=5, at=NOW - 5 * HOUR, **fields)


def test_the_log_goes_before_the_file_and_the_file_before_the_broker() -> None:
    logs = {"own": waiting(topic={MAX_LAG: HOUR}), "other": waiting()}

    assert delays(logs) == {"own": 4 * HOUR, "other": 0}
    assert delays(logs, broker={BROKER_MAX: 2 * HOUR}) == {"own": 4 * HOUR, "other": 3 * HOUR}
    both: Json = {"broker": {BROKER_MAX: 2 * HOUR}, "topic": {MAX_LAG: 3 * HOUR}}
    assert delays(logs, **both) == {"own": 4 * HOUR, "other": 2 * HOUR}


def test_a_maximum_lag_of_null_is_no_bound_and_any_other_null_says_nothing() -> None:
    broker = {BROKER_MAX: HOUR, BROKER_RATIO: 0.0}
    logs = {"lifted": waiting(topic={MAX_LAG: None, RATIO: None}), "bound": waiting()}

    assert delays(logs, broker=broker) == {"lifted": 0, "bound": 4 * HOUR}
    assert delays(logs, broker=broker, topic={MAX_LAG: None}) == {"lifted": 0, "bound": 0}
    assert answered(logs, broker=broker)["logs"]["lifted"]["eligible"], "by the broker's ratio"


@pytest.mark.parametrize(
    ("broker", "topic", "own", "said"),
    [
        ({BROKER_MIN: 6, BROKER_MAX: 5}, {}, {}, f"broker.{BROKER_MIN}: 6 is above {BROKER_MAX}"),
        ({BROKER_MAX: 5}, {MIN_LAG: 6}, {}, f"topic.{MIN_LAG}: 6 is above broker.{BROKER_MAX}, 5"),
        ({BROKER_MIN: 6}, {MAX_LAG: 5}, {}, f"topic.{MAX_LAG}: 5 is below broker.{BROKER_MIN}, 6"),
        (
            {BROKER_MIN: 6},
            {},
            {MAX_LAG: 5},
            f"logs.a.topic.{MAX_LAG}: 5 is below broker.{BROKER_MIN}",
        ),
        ({}, {MAX_LAG: 5}, {MIN_LAG: 6}, f"logs.a.topic.{MIN_LAG}: 6 is above topic.{MAX_LAG}, 5"),
        ({}, {}, {MIN_LAG: 6, MAX_LAG: 5}, f"logs.a.topic.{MIN_LAG}: 6 is above {MAX_LAG}, 5"),
        ({BROKER_RATIO: 2}, {}, {}, f"broker.{BROKER_RATIO}: 2 is above the largest allowed, 1"),
        ({BROKER_MAX: 0}, {}, {}, f"broker.{BROKER_MAX}: 0 is below the smallest allowed, 1"),
        ({MAX_LAG: 5}, {}, {}, f"broker.{MAX_LAG}: unknown field"),
        ({}, {BROKER_MAX: 5}, {}, f"topic.{BROKER_MAX}: unknown field"),
        ({}, {}, {RATIO: "x"}, f'logs.a.topic.{RATIO}: expected a number, not "x"'),
        ({}, {}, {"segment.ms": 0}, "logs.a.topic.segment.ms: 0 is below the smallest allowed, 1"),
        ({"log.cleaner.threads": 2}, {}, {}, "broker.log.cleaner.threads: says something in"),
    ],
)
def test_whoever_gave_a_bad_value_is_blamed_and_no_one_else(
    broker: Json, topic: Json, own: Json, said: str
) -> None:
    with pytest.raises(BadInput) as raised:
        answered({"a": waiting(topic=own)}, broker=broker, topic=topic)

    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"lag_estimate": "x"}, "rules.lag_estimate: unknown value 'x'"),
        ({"fix": "none"}, "rules.fix: unknown field; allowed: lag_estimate"),
        ([], "rules: expected fields, not []"),
    ],
)
def test_a_bad_rule_is_named(rules: Any, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        answered({"a": waiting()}, rules=rules)

    assert str(raised.value).startswith(said)


def segment(base: int, first: int, largest: int, modified: int = -1) -> Json:
    return {
        "base_offset": base,
        "size_bytes": 10,
        "first_batch_timestamp_ms": first,
        "largest_timestamp_ms": largest,
        "last_modified_ms": modified,
    }


def estimated(rule: str, *segments: Json, **topic: Any) -> int:
    """How overdue the log is by this rule, with a maximum lag of 100 ms, at 1000."""
    one = {"segments": [*segments, segment(99, 1, 1)], "log_end_offset": 99, "checkpoint": 5}
    settings = {RATIO: 1.0, MAX_LAG: 100, **topic}
    asked = {"topic": settings, "rules": {"lag_estimate": rule}, "now_ms": 1000}
    return delays({"a": one}, **asked)["a"]


def test_the_segment_before_may_be_older_or_younger_than_the_first_record() -> None:
    clean = segment(0, 10, 300)
    assert estimated("first_timestamp", clean, segment(5, 500, 600)) == 400
    assert estimated("previous_segment", clean, segment(5, 500, 600)) == 600
    assert estimated("previous_segment", segment(0, 10, 950), segment(5, 500, 600)) == 0
    assert estimated("previous_segment", segment(0, 10, -1, 700), segment(5, 500, 600)) == 200


def test_the_first_segment_of_a_log_has_none_before_it() -> None:
    assert estimated("previous_segment", segment(0, 500, 600)) == 400


def test_without_timestamps_the_longest_time_of_an_active_segment_is_taken_off() -> None:
    bare = segment(0, -1, -1, 950)
    assert estimated("first_timestamp", bare) == 0
    assert estimated("largest_less_roll", bare) == 50, "less the maximum lag, which rolls, too"
    assert estimated("largest_less_roll", bare, **{"segment.ms": 30}) == 0
    assert estimated("largest_less_roll", segment(0, -1, -1, 880), **{"segment.ms": 30}) == 50
    assert estimated("largest_less_roll", segment(0, 500, 600)) == 400, "it has a timestamp"


@pytest.mark.parametrize("rule", ["previous_segment", "largest_less_roll"])
def test_an_estimate_needs_some_time_of_each_closed_segment(rule: str) -> None:
    bare = {"base_offset": 0, "size_bytes": 1}
    one = {"segments": [bare, segment(5, 1, 1)], "log_end_offset": 9}
    with pytest.raises(BadInput) as raised:
        answered({"a": one}, rules={"lag_estimate": rule})

    assert str(raised.value) == "logs.a.segments[0].last_modified_ms: missing"

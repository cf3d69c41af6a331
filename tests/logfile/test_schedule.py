"""Several logs and few cleaner threads: who is taken first, how long it takes, and who waits."""

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim.logfile.schedule as schedule_module
from sim.errors import BadInput
from sim.files.document import Document
from sim.logfile.eligible_file import eligible_file_in
from sim.logfile.schedule import answer_about
from tests.logfile.many_logs import MAX_LAG, MIN_LAG, RATIO, Json

RATE = "log.cleaner.io.max.bytes.per.second"
THREADS = "log.cleaner.threads"
BACKOFF = "log.cleaner.backoff.ms"


def dirty(clean: int, dirty: int, *, since: int = 0, **fields: Any) -> Json:
    """A log with so many clean and dirty bytes and an active segment of as many."""
    segments = [
        {"base_offset": 0, "size_bytes": clean, "first_batch_timestamp_ms": 1},
        {"base_offset": 5, "size_bytes": dirty, "first_batch_timestamp_ms": since},
        {"base_offset": 9, "size_bytes": dirty, "first_batch_timestamp_ms": 1000},
    ]
    return {"segments": segments, "log_end_offset": 10, "checkpoint": 5, **fields}


def schedule(
    logs: Json, *, until: int, broker: Json | None = None, order: str | None = None, **topic: Any
) -> Json:
    """What the threads do from 1000 on."""
    document = {
        "format": "replog-log/1",
        "now_ms": 1000,
        "broker": {BACKOFF: 10, **(broker or {})},
        "topic": topic,
        "schedule": {"until_ms": until, "order": order},
        "logs": logs,
    }
    told: Json = answer_about(eligible_file_in(Document("", document)))["schedule"]
    return told


def taken(told: Json) -> list[tuple[str, int, int]]:
    return [(one["log"], one["start_ms"], one["end_ms"]) for one in told["rounds"]]


def test_a_pass_reads_what_is_dirty_for_its_map_and_all_of_it_to_copy_and_writes_what_is_left() -> (
    None
):
    told = schedule({"a": dirty(20, 30, survives=0.5)}, until=2000, broker={RATE: 1000})

    assert told["io_bytes"] == 30 + 50 + 25
    assert taken(told) == [("a", 1000, 1105)]


def test_the_dirtiest_goes_first_and_the_other_waits_for_the_thread() -> None:
    logs = {"low": dirty(20, 30), "high": dirty(20, 60)}

    assert taken(schedule(logs, until=2000, broker={RATE: 1000})) == [
        ("high", 1000, 1220),
        ("low", 1220, 1350),
    ]
    assert [name for name, _, _ in taken(schedule(logs, until=2000))] == ["high", "low"]


def test_two_threads_take_a_log_each_and_share_the_rate() -> None:
    logs = {"low": dirty(20, 30), "high": dirty(20, 60)}
    told = schedule(logs, until=2000, broker={RATE: 1000, THREADS: 2})

    assert taken(told) == [("high", 1000, 1440), ("low", 1000, 1260)]
    assert [one["thread"] for one in told["rounds"]] == [0, 1]


def test_what_is_overdue_does_not_go_before_what_is_dirtier_unless_it_is_asked_to() -> None:
    logs = {"overdue": dirty(90, 1, since=500), "dirty": dirty(20, 60, since=990)}
    settings: Json = {MAX_LAG: 400, RATIO: 0.5}
    by_ratio = schedule(logs, until=2000, broker={RATE: 1000}, **settings)
    by_delay = schedule(logs, until=2000, broker={RATE: 1000}, order="most_overdue", **settings)

    assert [name for name, _, _ in taken(by_ratio)] == ["dirty", "overdue"]
    assert by_ratio["logs"]["overdue"]["largest_delay_ms"] == 1220 - 500 - 400
    assert by_ratio["logs"]["overdue"]["late_ms"] == 1220 + 183 - 500 - 400
    assert [name for name, _, _ in taken(by_delay)] == ["overdue", "dirty"]
    assert by_delay["logs"]["overdue"]["largest_delay_ms"] == 100


def test_a_thread_that_finds_nothing_sleeps_and_sees_what_was_written_meanwhile() -> None:
    log = dirty(100, 0, segment_every_ms=25)
    log["segments"].pop(1)
    log["checkpoint"] = 9
    log["segments"][-1]["size_bytes"] = 7
    told = schedule({"a": log}, until=1080, **{RATIO: 0.0})

    # Segments are closed at 1025, 1050 and 1075, and a look comes every 10 ms.
    assert taken(told) == [("a", 1030, 1030), ("a", 1050, 1050), ("a", 1080, 1080)]
    assert told["io_bytes"] == sum(7 + 2 * (100 + 7 * times) for times in (1, 2, 3))


def test_what_is_overdue_at_the_end_is_told_whether_or_not_somebody_is_at_it() -> None:
    waits = schedule({"a": dirty(20, 0, since=900)}, until=1500, **{MAX_LAG: 200})
    assert waits["logs"]["a"]["waiting_ms"] == 400, "nothing is cleanable"
    at_work = schedule(
        {"a": dirty(20, 3, since=900)}, until=1500, broker={RATE: 10}, **{MAX_LAG: 200, RATIO: 1.0}
    )
    assert taken(at_work) == [("a", 1110, 1110 + 4900)]
    assert at_work["logs"]["a"]["waiting_ms"] == 400
    in_time = schedule({"a": dirty(20, 30)}, until=1500, broker={RATE: 10})
    assert in_time["logs"]["a"]["waiting_ms"] == 0


def test_a_log_that_cannot_be_taken_is_not() -> None:
    logs = {"a": dirty(0, 9, in_progress=True), "b": dirty(0, 9, uncleanable=True)}

    assert schedule(logs, until=1100)["rounds"] == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schedule": {}}, "schedule.until_ms: missing"),
        ({"schedule": {"until_ms": 999}}, "schedule.until_ms: 999 is before now_ms, 1000"),
        (
            {"schedule": {"until_ms": 2000, "order": "x"}},
            'schedule.order: unknown value "x"; allow',
        ),
        ({"schedule": {"until_ms": 2000, "x": 1}}, "schedule.x: unknown field; allowed: until_ms,"),
        ({"broker": {THREADS: 0}}, f"broker.{THREADS}: 0 is below the smallest allowed, 1"),
        ({"broker": {RATE: 1.5}}, f"broker.{RATE}: expected a whole number"),
    ],
)
def test_bad_input_of_a_schedule_names_the_path(changed: Json, said: str) -> None:
    document = {
        "format": "replog-log/1",
        "now_ms": 1000,
        "schedule": {"until_ms": 2000},
        "logs": {"a": dirty(1, 1)},
    }
    with pytest.raises(BadInput) as raised:
        eligible_file_in(Document("", document | changed))

    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("survives", 1.1, "logs.a.survives: 1.1 is above the largest allowed, 1"),
        ("segment_every_ms", 0, "logs.a.segment_every_ms: 0 is below the smallest allowed, 1"),
    ],
)
def test_growth_is_checked_and_needs_a_schedule(field: str, value: float, said: str) -> None:
    document: Json = {
        "format": "replog-log/1",
        "now_ms": 1,
        "logs": {"a": dirty(1, 1, **{field: 1})},
    }
    with pytest.raises(BadInput) as alone:
        eligible_file_in(Document("", document))
    document["logs"]["a"][field] = value
    with pytest.raises(BadInput) as scheduled:
        eligible_file_in(Document("", document | {"schedule": {"until_ms": 9}}))

    assert (
        str(alone.value) == f"logs.a.{field}: says something in a schedule alone; give `schedule`"
    )
    assert str(scheduled.value).startswith(said)


SMALL = st.integers(0, 60)
MAYBE = st.none() | st.integers(1, 60)
SEGMENTS = st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=1, max_size=3)
LOGS = st.lists(
    st.tuples(SEGMENTS, MAYBE, st.integers(0, 25), st.sampled_from([0, 0.5, 1])),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60)
@given(LOGS, MAYBE, st.integers(1, 3), MAYBE, MAYBE, st.sampled_from([0.0, 0.5, 1.0]))
def test_looks_that_are_left_out_would_have_found_nothing(
    drawn: list[tuple[list[tuple[int, int, int]], int | None, int, float]],
    rate: int | None,
    threads: int,
    min_lag: int | None,
    max_lag: int | None,
    ratio: float,
) -> None:
    logs = {
        f"log {number}": {
            "segments": [
                {
                    "base_offset": 10 * index,
                    "size_bytes": size,
                    "first_batch_timestamp_ms": 950 + written,
                    "largest_timestamp_ms": 950 + written + lasted,
                }
                for index, (size, written, lasted) in enumerate(segments)
            ],
            "log_end_offset": 10 * len(segments),
            "checkpoint": min(clean_to, 10 * len(segments)),
            "segment_every_ms": every_ms,
            "survives": survives,
        }
        for number, (segments, every_ms, clean_to, survives) in enumerate(drawn)
    }
    broker: Json = {BACKOFF: 7, THREADS: threads} | ({} if rate is None else {RATE: 1000 * rate})
    topic: Json = {RATIO: ratio, MIN_LAG: min_lag or 0} | (
        {} if max_lag is None else {MAX_LAG: (min_lag or 0) + max_lag}
    )

    told = schedule(logs, until=1200, broker=broker, **topic)
    with mock.patch.object(schedule_module, "_wakes_ms", lambda _logs, _settings, now: now + 7):
        assert told == schedule(logs, until=1200, broker=broker, **topic)


def test_a_thread_looks_as_often_as_something_changes_however_long_it_is() -> None:
    logs = {"a": dirty(90, 1, since=1000), "b": dirty(20, 60)}
    looked = 0

    def look(*args: Any) -> Any:
        nonlocal looked
        looked += 1
        return take(*args)

    take = schedule_module._take
    with mock.patch.object(schedule_module, "_take", look):
        told = schedule(logs, until=10**17, **{MAX_LAG: 10**16, RATIO: 0.5})

    assert [one["log"] for one in told["rounds"]] == ["b", "a"]
    assert looked < 10


def test_all_logs_together_grow_by_a_limited_number_of_segments() -> None:
    logs = {name: dirty(1, 1, segment_every_ms=1) for name in "ab"}

    schedule({"a": logs["a"]}, until=1900)
    with pytest.raises(BadInput, match=r"logs: 8,000 segments more, .*at most 5,000 are allowed"):
        schedule(logs, until=5000)

"""Several logs and few cleaner threads: who is taken first, how long it takes, and who waits."""

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim.simulate.logfile.schedule as schedule_module
from sim.errors import BadInput
from sim.files.document import Document
from sim.simulate.logfile.eligible_file import eligible_file_in
from sim.simulate.logfile.schedule import answer_about
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

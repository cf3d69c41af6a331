"""Bad input of `replog eligible`: one line with the JSON path, and what is allowed."""

import pytest

from sim.errors import BadInput
from sim.files.document import Document
from sim.logfile.eligible_file import eligible_file_in
from tests.logfile.many_logs import MAX_LAG, MIN_LAG, RATIO, Json, asked, document

GOOD = {"segments": [{"base_offset": 0, "size_bytes": 1}, {"base_offset": 5, "size_bytes": 0}]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "x"}, "format: unknown format"),
        ({"now_ms": None}, "now_ms: expected a whole number, not null"),
        ({"steps": []}, "steps: has steps to do, not logs to choose from"),
        ({"colour": 1}, "colour: unknown field; allowed: format"),
        ({"topic": []}, "topic: expected fields, not []"),
        ({"topic": {"min.compaction.lag": 1}}, "topic.min.compaction.lag: unknown field (did you"),
        ({"topic": {RATIO: 1.1}}, f"topic.{RATIO}: 1.1 is above the largest allowed, 1"),
        ({"topic": {RATIO: True}}, f"topic.{RATIO}: expected a number, not true"),
        ({"topic": {RATIO: float("nan")}}, f"topic.{RATIO}: expected a finite number"),
        ({"topic": {MAX_LAG: 0}}, f"topic.{MAX_LAG}: 0 is below the smallest allowed, 1"),
        ({"topic": {MIN_LAG: -1}}, f"topic.{MIN_LAG}: -1 is below the smallest allowed, 0"),
        ({"topic": {MIN_LAG: 6, MAX_LAG: 5}}, f"topic.{MIN_LAG}: 6 is above {MAX_LAG}, 5"),
        ({"topic": {"cleanup.policy": "delete"}}, "topic.cleanup.policy: unknown value"),
        ({"logs": []}, "logs: expected fields, not []"),
        ({"logs": {"a": 1}}, "logs.a: expected fields, not 1"),
    ],
)
def test_bad_input_names_the_path(changed: Json, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        eligible_file_in(Document("", document(a=GOOD | {"log_end_offset": 9}) | changed))

    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"log_end_offset": None}, "log_end_offset: expected a whole number, not null"),
        ({"log_end_offset": 4}, "log_end_offset: 4 is below 5, the active segment's base"),
        ({"log_start_offset": 10}, "log_start_offset: 10 is above the log end offset, 9"),
        ({"high_watermark": 10}, "high_watermark: 10 is above the log end offset, 9"),
        ({"high_watermark": 5, "last_stable_offset": 6}, "last_stable_offset: 6 is above the high"),
        ({"checkpoint": -1}, "checkpoint: -1 is below the smallest allowed, 0"),
        ({"in_progress": 1}, "in_progress: expected true or false, not 1"),
        ({"segments": []}, "segments: expected at least 1 of these, not 0"),
        ({"segments": [{"base_offset": 0}]}, "segments[0].size_bytes: missing"),
        ({"segments": [GOOD["segments"][0]] * 2}, "segments[1].base_offset: 0 is not above 0"),
        ({"colour": 1}, "colour: unknown field; allowed: segments"),
    ],
)
def test_an_impossible_log_names_the_path(changed: Json, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        eligible_file_in(Document("", document(a=GOOD | {"log_end_offset": 9} | changed)))

    assert str(raised.value).startswith(f"logs.a.{said}")


def test_the_minimum_lag_needs_some_time_of_each_closed_segment() -> None:
    with pytest.raises(BadInput) as raised:
        asked(topic={MIN_LAG: 5}, a=GOOD | {"log_end_offset": 9})

    assert str(raised.value) == "logs.a.segments[0].last_modified_ms: missing"

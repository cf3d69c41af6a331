"""Kafka's settings in log files: each changes something, is refused, or is named in a note."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.files.document import Document
from sim.simulate.logfile.answer import answer_to
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import eligible_file_in
from sim.simulate.logfile.file import log_file_from, log_file_in
from sim.simulate.scenario.file.configs import BrokerSettings, TopicSettings
from tests.commands import replog
from tests.logfile.many_logs import NOW, document, log

Json = dict[str, Any]

INDEX_SEEK = Path("scenarios/transactions/log_index_seek.json")
VALUES = (
    *("7", "200", "100000000", "0.01", "0.99", "true", "timestamp", "header", "delete", "gzip"),
    *("CreateTime", "x", "compact,delete"),
)
"""What is tried of each setting, as the tools of Kafka's print it."""


def batch(offset: int, key: str, value: str | None, timestamp_ms: int) -> Json:
    record = {"offset": offset, "key": key, "value": value, "timestamp_ms": timestamp_ms}
    record |= {"headers": [["x", 9 - offset]]}
    return {"base_offset": offset, "last_offset": offset, "records": [record]}


def file(**topic: Any) -> Json:
    """Two closed segments and the active one; a tombstone; passes when the manager says so."""
    segments = [
        [batch(0, "k", "a", 2000), batch(1, "k", None, 1000)],
        [batch(2, "l", "a", 3000)],
        [batch(3, "l", "b", 4000)],
    ]
    appended = [batch(4, "l", "c", 5000), batch(5, "l", "d", 20_000)]
    steps: list[Json] = [
        {"op": "clean", "now_ms": 10_000},
        {"op": "append", "batches": appended, "roll_after": True},
        {"op": "clean", "now_ms": 100_000_000},
    ]
    return {"format": "replog-log/1", "topic": topic, "segments": segments, "steps": steps}


def answered(of: Json) -> tuple[Json, tuple[str, ...]]:
    read = log_file_from(of)
    return answer_to(read), read.notes


def names(settings: type[TopicSettings] | type[BrokerSettings]) -> list[str]:
    return [field.alias or name for name, field in settings.model_fields.items()]


def shows(
    asked: Callable[[Json], tuple[Json, tuple[str, ...]]], of: Json, section: str, name: str
) -> bool | None:
    """Whether a value of a setting changes the answer or is in a note; None = none is taken."""
    usual, _ = asked(of)
    taken = False
    for value in VALUES:
        try:
            answer, notes = asked({**of, section: {**of.get(section, {}), name: value}})
        except BadInput:
            continue
        taken = True
        if answer != usual or any(name in note for note in notes):
            return True
    return False if taken else None


@pytest.mark.parametrize("name", names(TopicSettings))
def test_a_setting_of_a_log_file_changes_something_or_is_named_in_a_note(name: str) -> None:
    seek = json.loads(INDEX_SEEK.read_text(encoding="utf-8"))
    seek["rules"].pop("delete_retention_ms")
    rules = {"strategy": "header"} if name == "compaction.strategy.header" else {}
    found = {shows(answered, of, "topic", name) for of in (file() | {"rules": rules}, seek)}

    assert True in found or found == {None}


def choice(**topic: Any) -> Json:
    """Two logs, one dirtier than the other."""
    logs = {
        "a": log(0, 5, 10, 15, end=18, checkpoint=5),
        "b": log(0, 5, 10, 15, end=18, checkpoint=5),
    }
    for number, one in enumerate(logs["a"]["segments"]):
        one["largest_timestamp_ms"] = one["first_batch_timestamp_ms"] = NOW - 60 * (4 - number)
    return document(topic=topic, **logs) | {"broker": {}}


def chosen(of: Json) -> tuple[Json, tuple[str, ...]]:
    read = eligible_file_in(Document("", of))
    return eligible_answer(select_log(read.logs, now_ms=read.now_ms)), read.notes


@pytest.mark.parametrize(
    ("section", "name"),
    [("topic", name) for name in names(TopicSettings)]
    + [("broker", name) for name in names(BrokerSettings)],
)
def test_a_setting_of_a_choice_changes_something_or_is_named_in_a_note(
    section: str, name: str
) -> None:
    assert shows(chosen, choice(), section, name) in (True, None)


def test_the_retention_of_the_topic_is_the_one_that_counts() -> None:
    answer, notes = answered(file(**{"delete.retention.ms": 100}))

    assert notes == ()
    assert answer["steps"][0]["batches"][0]["delete_horizon_ms"] == 10_100
    assert answer["steps"][2]["tombstone_offsets"] == []


def test_numbers_are_read_as_kafkas_tools_print_them() -> None:
    pasted = {"min.cleanable.dirty.ratio": "0.5", "segment.bytes": "170", "segment.ms": "9000"}
    same = {"min.cleanable.dirty.ratio": 0.5, "segment.bytes": 170, "segment.ms": 9000}

    assert answered(file(**pasted)) == answered(file(**same))


def test_an_append_rolls_a_segment_that_would_grow_beyond_segment_bytes() -> None:
    answer, _ = answered(file(**{"segment.bytes": 170}))

    assert [one["segment"] for one in answer["steps"][1]["batches"]][-3:] == [3, 3, 5]


@pytest.mark.parametrize(("policy", "rolls"), [("compact", True), ("delete", False)])
def test_the_maximum_lag_rolls_a_compacted_log_alone(policy: str, rolls: bool) -> None:
    """LogConfig.maxSegmentMs."""
    given = file(**{"max.compaction.lag.ms": 9000, "cleanup.policy": policy})
    usual, _ = answered(file(**{"cleanup.policy": policy}))
    del given["steps"][2]
    answer, _ = answered(given)

    here, there = (
        [batch["segment"] for batch in one["steps"][1]["batches"]] for one in (answer, usual)
    )
    assert (here != there) == rolls


def test_a_batch_larger_than_a_segment_is_not_appended() -> None:
    with pytest.raises(BadInput, match=r"batches\[0\]: \d+ bytes are more than segment.bytes, 60"):
        answered(file(**{"segment.bytes": 60}))


@pytest.mark.parametrize(
    ("setting", "rule", "there"),
    [
        ("delete.retention.ms", "delete_retention_ms", 6),
        ("index.interval.bytes", "index_interval_bytes", 6),
        ("segment.bytes", "segment_bytes", 600),
        ("compaction.strategy", "strategy", "timestamp"),
        ("compaction.strategy.header", "header_key", "h"),
    ],
)
def test_a_setting_beside_its_rule_says_the_same_or_is_refused(
    setting: str, rule: str, there: Any
) -> None:
    other = there + 1 if isinstance(there, int) else "offset"

    log_file_from(file(**{setting: there}) | {"rules": {rule: there}})
    told = f"topic.{setting}: {there} here, but rules.{rule} is {other}"
    with pytest.raises(BadInput, match=f"^{re.escape(told)}$"):
        log_file_from(file(**{setting: there}) | {"rules": {rule: other}})


def test_a_rule_of_the_command_line_goes_before_the_file() -> None:
    document = Document("", file(**{"delete.retention.ms": 100}))
    read = log_file_in(document, rules={"delete_retention_ms": "7"})

    assert read.rules.rules.topic.delete_retention_ms == 7


def test_a_log_whose_policy_is_delete_is_never_compacted() -> None:
    answer, _ = answered(file(**{"cleanup.policy": "delete"}))
    first = answer["steps"][0]
    told, _ = chosen(choice(**{"cleanup.policy": "delete"}))

    assert (first["selected"], first["outlook"], first["removed"]) == (False, None, {})
    assert "its cleanup.policy is delete, it is never compacted" in first["why"]
    assert told["selected"] is None
    assert "its cleanup.policy is delete, it is never compacted" in told["logs"]["a"]["why"]


def test_a_pass_with_bounds_of_its_own_contradicts_the_policy_delete() -> None:
    given = file(**{"cleanup.policy": "delete"})
    given["steps"][0] |= {"first_dirty_offset": 0, "upper_bound": 2}

    with pytest.raises(BadInput, match=r"^steps\[0\].upper_bound: .* cleanup.policy is delete"):
        log_file_from(given)


def test_what_only_the_manager_asks_for_is_named_where_nobody_asks_it() -> None:
    given = file(**{"min.cleanable.dirty.ratio": 0.3})
    for step in (given["steps"][0], given["steps"][2]):
        step |= {"first_dirty_offset": 0, "upper_bound": 2}

    because = "only a `clean` without bounds asks for it, and no step is one"
    told = f"min.cleanable.dirty.ratio changes nothing: {because}"
    assert log_file_from(given).notes == (told,)


def test_a_note_is_printed_and_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "pasted.json"
    path.write_text(json.dumps(file(**{"retention.ms": "604800000"})))
    told = "topic.retention.ms changes nothing here"

    assert f"\nnote: {told}\n" in replog("clean", path).out
    assert replog("clean", path, "--json").document["notes"] == [told]
    assert replog("clean", path).status == 0

"""Bad input: one line with the JSON path, what is wrong and what is allowed."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sim.errors import BadInput
from sim.files.document import Document
from sim.files.yaml_text import parse_yaml
from sim.simulate.logfile.answer import answer
from sim.simulate.logfile.eligible_file import eligible_file_in
from tests.logfile.many_logs import document as asked
from tests.logfile.writer import Json, Writer, batch, last_offsets
from tests.schemas.making import schema_of_files


def good() -> Json:
    """Two segments and an active one; a transaction; one of each step."""
    log = Writer({"preset": "kafka-4.0"})
    log.data("a=1", "b=2", "c=3")
    log.roll()
    log.data("d=1", "e=1", "f=1", producer=4)
    log.abort(4)
    log.roll()
    log.clean()
    log.data("g=1")
    log.step("roll")
    log.step("reload")
    log.step("produce_duplicate", producer_id=4, producer_epoch=0, base_sequence=0, keys=["d"])
    return log.document()


def put(document: Json, path: str, value: Any = ...) -> Json:
    """A copy with another value at `path` (words with dots); `...` takes the field away."""
    changed = deepcopy(document)
    *way, last = [int(word) if word.isdecimal() else word for word in path.split(".")]
    place: Any = changed
    for word in way:
        place = place[word]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


def complaint(document: Any) -> str:
    """What is said about a document; one line."""
    with pytest.raises(BadInput) as raised:
        answer(document)
    text = str(raised.value)
    assert "\n" not in text
    return text


FIRST = "segments.0.batches.0"
MARKED = "segments.1.batches.1"
OLD = batch(0, "K=v", "K", "L=l", magic=1)
"""A batch of an old format."""
TWO = [batch(0, "a=1"), batch(1, "b=1")]
LOG: Json = {
    "segments": [{"base_offset": 0, "size_bytes": 1}, {"base_offset": 5, "size_bytes": 0}],
    "log_end_offset": 9,
}
"""What `replog eligible` chooses from."""
FILE_OF: dict[str, Callable[..., Json]] = {
    "file": lambda *change: put(good(), *change),
    "batch": lambda path, *value: put(good(), f"{FIRST}.{path}", *value),
    "marker": lambda path, *value: put(good(), f"{MARKED}.{path}", *value),
    "old_batch": lambda *change: put(good(), FIRST, put(OLD, *change)),
    "steps": lambda steps: {"format": "replog-log/1", "segments": [TWO], "steps": steps},
    "eligible": lambda change: asked(a=LOG) | change,
    "log": lambda change: asked(a=LOG | change),
}
"""The file that is wrong, by part of `refusals.yaml`."""
WITHIN = {
    "batch": "segments[0].batches[0].",
    "marker": "segments[1].batches[1].",
    "old_batch": "segments[0].batches[0].",
}
_FILE = Path(__file__).with_name("refusals.yaml")
SAID = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data


@pytest.mark.parametrize(
    ("part", "row"), [(part, row) for part, rows in SAID.items() for row in rows]
)
def test_a_complaint_names_the_path_and_what_is_allowed(part: str, row: list[Any]) -> None:
    *change, said = row
    file = Document("", FILE_OF[part](*change))
    with pytest.raises(BadInput) as raised:
        eligible_file_in(file) if "logs" in file.data else answer(file.data)

    told = str(raised.value)
    assert told.startswith(f"{WITHIN.get(part, '')}{said}")
    assert "\n" not in told


def test_the_good_one_is_good() -> None:
    assert len(answer(good())["steps"]) == 5


SCHEMA = Draft202012Validator(schema_of_files())
NASTY: tuple[Any, ...] = (..., None, -2, 2**63, True, "x")
EVERYTHING = {
    "magic": 2, "epoch": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
    "transactional": False, "control": None, "timestamp_ms": 5, "delete_horizon_ms": 9,
    "timestamp_type": "CreateTime", "compression": "none",
}  # fmt: skip
"""What a batch may say."""


def full() -> Json:
    """One of everything that a log file may say."""
    document = good() | {"topic": {"preallocate": True}, "tags": ["a"]}
    document["rules"] |= {"strategy": "offset", "delete_retention_ms": 5, "segment_bytes": 7}
    first = document["segments"][0]
    first |= {"last_modified_ms": 5}
    first["batches"][0] |= EVERYTHING
    first["batches"][0]["records"][0] |= {"timestamp_ms": 5, "headers": [["h", 1]], "flag": False}
    document["steps"][0] |= {"map_capacity": 5, "delete_horizon_ms": 7}
    return document


def places(value: Any, way: tuple[str, ...] = ()) -> Iterator[str]:
    """The way to every value that is alone in its list, or the first one there."""
    if way:
        yield ".".join(way)
    inner = dict(enumerate(value[:1])) if isinstance(value, list) else value
    for step, part in inner.items() if isinstance(inner, dict) else ():
        yield from places(part, (*way, str(step)))


@pytest.mark.parametrize("path", list(places(full())))
def test_what_the_schema_refuses_is_refused_with_its_place(path: str) -> None:
    for value in NASTY:
        document = put(full(), path, value)
        if not SCHEMA.is_valid(document):
            with pytest.raises(BadInput) as raised:
                answer(document)
            shown = re.sub(r"[.](\d+)", r"[\1]", path)
            within = shown.rpartition("." if shown[-1] != "]" else "[")[0]
            assert any(line.startswith((shown, f"{within}: ")) for line in raised.value.args)


def test_half_a_character_is_no_text() -> None:
    told = complaint(put(good(), f"{FIRST}.records.1.key", "\ud800"))

    assert told == "has half a character (a lone surrogate)"


def test_what_earlier_cleaning_left_is_a_possible_log() -> None:
    """A marker whose data is gone, one that was emptied, and an empty batch without a producer."""
    log = Writer()
    log.abort(4)
    log.end_of(5, "COMMIT", records=[])
    log.write({"base_offset": 5, "last_offset": 9, "records": []})
    log.step("reload")

    assert last_offsets(log.answers()[0]) == [0, 1, 9]


def test_a_given_map_knows_offsets_only() -> None:
    step = {"op": "clean", "now_ms": 0, "first_dirty_offset": 0, "upper_bound": 3}
    step |= {"offset_map": {"a": 1}, "map_latest_offset": 2}
    document = put(good() | {"steps": [step]}, "rules.strategy", "timestamp")

    assert complaint(document) == (
        "steps[0].offset_map: goes with strategy offset only, and this is timestamp"
    )


def test_a_file_for_the_other_command_is_told_so() -> None:
    assert complaint({"format": "replog-log/1", "logs": {}}) == (
        "logs: has logs to choose from, not steps; ask it with: replog eligible"
    )


@pytest.mark.parametrize("length", [0, 1, 7, 9, 40])
def test_a_version_header_of_any_length_is_good_input(length: int) -> None:
    header = [["version", {"hex": "80" * length}]]
    document = put(good(), f"{FIRST}.records.0.headers", header)
    document["rules"] = {"preset": "kip-280", "strategy": "header"}

    assert answer(document)["steps"][0]["removed"] != {}


def told(document: Any) -> list[str]:
    with pytest.raises(BadInput) as raised:
        answer(document)
    return [": ".join(line.split(": ")[:2])[:60] for line in raised.value.args]


def test_everything_that_is_wrong_is_told_in_one_go() -> None:
    document = put(good(), "tags", ["a b"])
    document |= {"topik": {}, "rules": {"fixx": 1, "ties": "nobody"}}
    document["segments"][0]["batches"][0] |= {"last_offset": 0, "colour": 1}
    document["segments"][1]["batches"][0]["records"][0]["offset"] = 17
    document["segments"][1]["batches"][0]["records"][1]["key"] = 17
    document["steps"][0]["now_ms"] = None
    document["steps"][3]["op"] = "reloaded"

    assert sorted(told(document)) == [
        "rules.fixx: unknown rule (did you mean 'fix'?); allowed",
        "rules.ties: unknown value 'nobody'; allowed",
        "segments[0].batches[0].colour: unknown field; allowed",
        'segments[1].batches[0].records[1].key: expected text or {"he',
        "steps[0].now_ms: expected a whole number, not null",
        "steps[3].op: unknown op \"reloaded\" (did you mean 'reload'?);",
        'tags[0]: "a b" is no tag; allowed',
        "topik: unknown field (did you mean 'topic'?); allowed",
    ]


@pytest.mark.parametrize(
    ("unreadable", "place"),
    [
        ("segments.0.batches.0", "segments[0].batches[0]"),
        ("segments.1.batches.0", "segments[1].batches[0]"),
        ("steps.0", "steps[0]"),
        ("steps.1", "steps[1]"),
    ],
)
def test_what_follows_on_something_that_cannot_be_read_is_not_compared_with_it(
    unreadable: str, place: str
) -> None:
    """What is left out would have opened a transaction, moved the end, or cut the log."""
    document = good()
    document["steps"] = [
        {"op": "truncate", "offset": 3},
        {"op": "append", "batches": [{"base_offset": 3, "last_offset": 8, "records": []}]},
        {"op": "high_watermark", "offset": 9},
        {"op": "delete_records", "before": 9},
    ]

    assert len(answer(document)["steps"]) == 4
    assert told(put(document, f"{unreadable}.colour", 1)) == [
        f"{place}.colour: unknown field; allowed"
    ]

"""What Kafka is asked for a log file, and what is never asked; a stand-in answers for Kafka."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from tests.conformance import kafka
from tests.conformance.disk_log import Due, KafkaPass, PassParameters
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.segment_reader import SegmentContent

DONE = KafkaPass(next_dirty_offset=99, messages_read=3, messages_written=2, invalid_messages=1)


class Records:
    """A segment file of one byte for each batch."""

    def __init__(self, size: int) -> None:
        self._size = size

    def sizeInBytes(self) -> int:  # noqa: N802 - Kafka's name
        return self._size


class Log:
    """A log that knows its segments, and notes what is done to it."""

    def __init__(self, folder: Path) -> None:
        self.files = {int(file.stem): file.stat().st_size for file in sorted(folder.iterdir())}
        self.calls: list[tuple[Any, ...]] = []

    def segments(self) -> Iterator[tuple[int, Records]]:
        return ((base, Records(size)) for base, size in self.files.items())

    def clean(self, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        self.calls.append(("clean", parameters, capacity))
        return DONE

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        self.calls.append(("clean_by", parameters, dict(offset_map), latest_offset))
        return DONE

    def append(self, batch: bytes) -> None:
        self.calls.append(("append", batch))

    def roll(self) -> None:
        self.calls.append(("roll",))

    def reload(self) -> None:
        self.calls.append(("reload",))

    def duplicate(self, batch: bytes, *, producer_id: int) -> tuple[int, int] | None:
        self.calls.append(("duplicate", batch, producer_id))
        return (4, 5) if producer_id == 1 else None

    def aborted_transactions(self) -> list[Any]:
        return []

    def log_end_offset(self) -> int:
        return 7

    def last_sequences(self) -> dict[int, int]:
        return {10: 4, 9: -1}

    def note_checkpoint(self, offset: int) -> None:
        self.checkpoint = offset

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        self.epochs = list(starts)

    def set_high_watermark(self, offset: int) -> None:
        self.high_watermark = offset

    def offsets(self) -> dict[str, Any]:
        return {"log_start_offset": 2}

    def due(self, parameters: PassParameters) -> Due:
        return Due(2, 6, 5, False, 10, 30, 0.75, 0)

    def clean_if_due(self, parameters: PassParameters, *, capacity: int) -> KafkaPass | None:
        self.calls.append(("clean_if_due", parameters, capacity))
        return DONE if parameters.now_ms == 50 else None

    def note_uncleanable(self) -> None:
        self.calls.append(("uncleanable",))

    def truncate(self, offset: int) -> None:
        self.calls.append(("truncate", offset))

    def truncate_fully(self, offset: int) -> None:
        self.calls.append(("truncate_fully", offset))

    def delete_records(self, before: int) -> None:
        self.calls.append(("delete_records", before))

    def delete_old_segments(self) -> None:
        self.calls.append(("delete_old_segments",))

    def expire_producers(self, *, now_ms: int, expiration_ms: int) -> None:
        self.calls.append(("expire_producers", now_ms, expiration_ms))

    def close(self) -> None:
        self.calls.append(("close",))


class Release:
    """A release of Kafka; the last log that it opened is at hand."""

    preset = "kafka-4.0"

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, int],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = 0,
    ) -> Log:
        self.io_bytes = io_bytes
        self.log = Log(folder)
        self.topic = dict(topic)
        self.segment_bytes = segment_bytes
        return self.log


class Writer:
    """One byte for each batch: its last offset."""

    def batch(self, batch: Mapping[str, Any]) -> bytes:
        return bytes([batch["last_offset"]])

    def segment(self, batches: list[Mapping[str, Any]]) -> bytes:
        return b"".join(map(self.batch, batches))


class Reader:
    """Finds nothing: what is read is no concern of these tests."""

    def segment(self, *_: object, **__: object) -> Any:
        return SegmentContent([], [])


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Release:
    """What stands in for Kafka."""
    made = Release()
    monkeypatch.setattr(kafka, "start_jvm", lambda *_, **__: None)
    monkeypatch.setattr(kafka, "ModernKafka", lambda: made)
    monkeypatch.setattr(kafka, "BatchWriter", Writer)
    monkeypatch.setattr(kafka, "SegmentReader", Reader)
    return made


def batch(base: int, last: int | None = None, **more: object) -> dict[str, Any]:
    """A batch of one record."""
    records = [{"offset": base, "key": "k", "value": "v"}]
    return {"base_offset": base, "last_offset": last or base, "records": records, **more}


def log_file(*steps: Mapping[str, Any], **rules: object) -> dict[str, Any]:
    """Offsets 2 and 3, a gap, offset 6; three segments, the active one empty, at 7."""
    segments = [[batch(2), batch(3)], {"base_offset": 5, "batches": [batch(6)]}, []]
    return {"rules": rules, "segments": segments, "steps": list(steps)}


def clean(first_dirty_offset: int, upper_bound: int, **more: object) -> dict[str, Any]:
    """A cleaning pass at time 50."""
    return {
        "op": "clean",
        "now_ms": 50,
        "first_dirty_offset": first_dirty_offset,
        "upper_bound": upper_bound,
        **more,
    }


def answered(*steps: Mapping[str, Any], **rules: object) -> dict[str, Any]:
    """The object of the last step."""
    last: dict[str, Any] = KafkaCleaner().answer(log_file(*steps, **rules))["steps"][-1]
    return last


def parameters(first_dirty_offset: int, upper_bound: int) -> PassParameters:
    """A pass at time 50, when also all segments were last modified."""
    return PassParameters(50, first_dirty_offset, upper_bound, last_modified_ms=50)


def test_segments_are_written_where_the_log_file_says_they_start(release: Release) -> None:
    answered({"op": "roll"})

    assert release.log.files == {2: 2, 5: 1, 7: 0}
    assert release.topic == {"delete.retention.ms": 86_400_000, "index.interval.bytes": 4_096}


def test_a_pass_is_told_its_bounds_and_answers_with_its_counts(release: Release) -> None:
    answer = answered(clean(3, 7, map_capacity=2))

    assert release.log.calls == [("clean", parameters(3, 7), 2), ("close",)]
    assert {name: answer[name] for name in DONE._fields if name != "ran"} == {
        "next_dirty_offset": 99,
        "messages_read": 3,
        "messages_written": 2,
        "invalid_messages": 1,
    }
    assert "effective_upper_bound" not in answer


def test_without_a_capacity_the_map_takes_every_key_of_the_log_file(release: Release) -> None:
    answered({"op": "append", "batches": [batch(7)]}, clean(3, 7))

    assert release.log.calls[1] == ("clean", parameters(3, 7), 5)


def test_an_upper_bound_within_a_segment_is_rounded_down_and_said(release: Release) -> None:
    assert answered(clean(2, 6))["effective_upper_bound"] == 5
    assert release.log.calls[0][1] == parameters(2, 5)


def test_a_first_dirty_offset_below_the_log_start_is_the_log_start(release: Release) -> None:
    answered(clean(0, 7))

    assert release.log.calls[0][1] == parameters(2, 7)


@pytest.mark.parametrize("step", [clean(7, 7), clean(5, 6), clean(2, 7, map_capacity=0)])
def test_a_pass_into_whose_map_nothing_can_enter_is_not_started(
    release: Release, step: dict[str, Any]
) -> None:
    answer = answered(step)

    assert release.log.calls == [("close",)]
    assert answer["next_dirty_offset"] == step["first_dirty_offset"]
    assert (answer["messages_read"], answer["messages_written"]) == (0, 0)


def test_a_given_map_is_used_instead_of_one_of_its_own(release: Release) -> None:
    answered(clean(7, 7, offset_map={"a": 9}, map_latest_offset=4))

    assert release.log.calls[0] == ("clean_by", parameters(7, 7), {b"a": 9}, 4)


def test_a_forced_rescan_has_an_empty_map(release: Release) -> None:
    answered(clean(7, 7, forced_rescan=True, map_latest_offset=6))

    assert release.log.calls[0] == ("clean_by", parameters(7, 7), {}, 6)


def test_old_releases_are_told_their_horizon_and_when_segments_were_modified(
    release: Release,
) -> None:
    rules = {"delete_retention_ms": 2, "index_interval_bytes": 3}
    answered(clean(3, 7, delete_horizon_ms=8), segment_last_modified_ms=1, **rules)

    assert release.log.calls[0][1] == PassParameters(
        50, 3, 7, delete_horizon_ms=8, last_modified_ms=1
    )
    assert release.topic == {"delete.retention.ms": 2, "index.interval.bytes": 3}


def test_segments_are_joined_up_to_the_size_that_the_file_gives(release: Release) -> None:
    answered({"op": "roll"})
    assert release.segment_bytes is None

    answered({"op": "roll"}, segment_bytes=700)
    assert release.segment_bytes == 700


def test_batches_are_appended_one_by_one_and_the_segment_rolled_after_them(
    release: Release,
) -> None:
    answered({"op": "append", "batches": [batch(7), batch(8, 9)], "roll_after": True})

    assert release.log.calls == [("append", b"\x07"), ("append", b"\x09"), ("roll",), ("close",)]


def test_a_log_whose_pass_failed_is_not_cleaned_before_a_reload(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    class JavaError(Exception):
        pass

    def fails(log: Log, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        log.calls.append(("failed",))
        raise JavaError("The last offset of appended transactions must increase sequentially")

    monkeypatch.setattr("jpype.JException", JavaError)
    monkeypatch.setattr(Log, "clean", fails)
    steps = [clean(2, 7), clean(2, 7), {"op": "reload"}, clean(2, 7)]
    answers = KafkaCleaner().answer(log_file(*steps))["steps"]

    assert [step.get("uncleanable") for step in answers] == [True, True, None, True]
    assert [step.get("next_dirty_offset") for step in answers] == [2, 2, None, 2]
    told = [call for (call,) in release.log.calls]
    assert told == ["failed", "uncleanable", "reload", "failed", "uncleanable", "close"]


def test_a_retry_is_asked_about_with_as_many_records_as_it_has_keys(release: Release) -> None:
    retry = {"op": "produce_duplicate", "producer_epoch": 0, "base_sequence": 3, "keys": ["a", "b"]}

    known = answered({**retry, "producer_id": 1})
    assert release.log.calls[0] == ("duplicate", b"\x01", 1)
    assert (known["duplicate"], known["first_offset"], known["last_offset"]) == (True, 4, 5)

    unknown = answered({**retry, "producer_id": 2})
    assert unknown["duplicate"] is False
    assert "first_offset" not in unknown


def test_producers_are_named_in_order_as_json_names_them(release: Release) -> None:
    assert list(answered({"op": "reload"})["last_sequences"].items()) == [("9", -1), ("10", 4)]
    assert release.log.calls == [("reload",), ("close",)]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"preset": "kip-280"}, "rules.preset: kip-280: Kafka .* answers for kafka-4.0"),
        ({"fix": "none"}, "rules.fix: none: Kafka .* does empty_batch only"),
        ({"strategy": "timestamp"}, "rules.strategy: timestamp: Kafka .* does offset only"),
    ],
)
def test_kafka_is_not_asked_for_what_it_does_not_do(
    release: Release, rules: dict[str, str], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        answered(**rules)


def test_an_unknown_step_is_named_and_the_log_closed(release: Release) -> None:
    with pytest.raises(BadInput, match="no such step: melt"):
        answered({"op": "melt"})

    assert release.log.calls == [("close",)]


def test_a_log_that_kafka_keeps_differently_is_refused(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Log, "segments", lambda _: iter([(2, Records(1))]))

    with pytest.raises(BadInput, match="cuts or splits a segment"):
        answered({"op": "roll"})

    assert release.log.calls == [("close",)]


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "Expecting property name"), ("{}", "no log file: KeyError: 'segments'")],
)
@pytest.mark.usefixtures("release")
def test_a_file_that_is_no_log_file_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    file = tmp_path / "case.json"
    file.write_text(content)

    assert kafka.main([str(file)]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{file}: ")
    assert words in err
    assert err.count("\n") == 1


def test_the_tool_says_how_to_call_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert kafka.main([]) == 2

    assert capsys.readouterr().err.startswith("usage: python -m tests.conformance.kafka FILE")


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ({"op": "truncate", "offset": 3}, ("truncate", 3)),
        ({"op": "truncate_fully", "offset": 9}, ("truncate_fully", 9)),
        ({"op": "delete_records", "before": 4}, ("delete_records", 4)),
        ({"op": "delete_old_segments"}, ("delete_old_segments",)),
        (
            {"op": "expire_producers", "now_ms": 5, "expiration_ms": 2},
            ("expire_producers", 5, 2),
        ),
    ],
)
def test_ends_of_the_log_are_moved(
    release: Release, step: Mapping[str, Any], call: tuple[Any, ...]
) -> None:
    answered(step)

    assert call in release.log.calls


def test_everything_is_committed_until_a_step_says_otherwise(release: Release) -> None:
    answered({"op": "roll"})
    assert release.log.high_watermark == 7

    answered({"op": "high_watermark", "offset": 3}, {"op": "roll"})
    assert release.log.high_watermark == 3


def test_kafka_is_told_which_epoch_starts_where(release: Release) -> None:
    answered({"op": "roll"})

    assert release.log.epochs == [(0, 2), (0, 3), (0, 6)]


def test_a_pass_without_bounds_is_decided_by_kafkas_manager(release: Release) -> None:
    answer = answered({"op": "clean", "now_ms": 50, "map_capacity": 3})

    (call,) = (call for call in release.log.calls if call[0] == "clean_if_due")
    assert (call[1].now_ms, call[1].last_modified_ms, call[2]) == (50, 50, 3)
    assert answer["selected"] is True
    assert (answer["first_dirty_offset"], answer["effective_upper_bound"]) == (2, 5)
    assert (answer["messages_read"], answer["log_start_offset"]) == (3, 2)
    assert "ran" not in answer


def test_a_log_that_is_not_due_has_the_numbers_and_no_pass(release: Release) -> None:
    answer = answered({"op": "clean", "now_ms": 51})

    assert answer["selected"] is False
    assert (answer["first_dirty_offset"], answer["next_dirty_offset"]) == (2, 2)
    assert answer["messages_read"] == 0

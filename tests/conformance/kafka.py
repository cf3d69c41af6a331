"""Apache Kafka's own log cleaner as an oracle: a log file goes in, Kafka's answer comes out.

`python -m tests.conformance.kafka FILE [VERSION]` prints that answer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jpype

from sim.errors import BadInput
from sim.protocol.log.offset_index import INDEX_INTERVAL_BYTES
from tests.conformance.batches import BatchWriter
from tests.conformance.cleaner_manager import KafkaPass
from tests.conformance.disk_log import (
    IO_BYTES,
    LARGE_IO_BYTES,
    DiskLog,
    Kafka,
    PassParameters,
)
from tests.conformance.jvm import KAFKA_VERSION, start_jvm
from tests.conformance.legacy import LegacyKafka
from tests.conformance.segments import CURRENT_MAGIC, Answer, SegmentReader, aborted

FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder in memory
DEFAULT_PRESET = "kafka-4.0"
DAY_MS = 86_400_000
COMMON_RULES = {"strategy": "offset", "map_range": "dirty", "map_reads_from": "offset_index"}
OWN_RULES = {
    "kafka-4.0": {
        **COMMON_RULES,
        "tombstone_removal": "horizon",
        "fix": "empty_batch",
        "index_entries": "per_batch",
    },
    "kafka-2.8": {
        **COMMON_RULES,
        "tombstone_removal": "last_modified",
        "fix": "none",
        "index_entries": "per_append",
    },
}
"""What Kafka cannot be made to do otherwise."""
OUT_OF_ORDER = "The last offset of appended transactions must increase"
"""By these words TransactionIndex.append stops a pass."""


KNOWN_FAILURES = (OUT_OF_ORDER, "Empty batches are only supported for magic v2 and above")
"""What a pass may end with in the middle, so that the partition is marked uncleanable."""


class SegmentTimes:
    """Modification times of segments, where the log file gives some.

    Attributes:
        given: Whether it gives any; what it says nothing about has the time of the first pass then.
    """

    def __init__(self, segments: Sequence[Any], folder: Path) -> None:
        """For the log in `folder`."""
        self._folder = folder
        self._of = {
            segment["base_offset"]: segment["last_modified_ms"]
            for segment in segments
            if isinstance(segment, dict) and segment.get("last_modified_ms") is not None
        }
        self._seen: set[int] = set()
        self.given = bool(self._of)

    def set(self, bases: Sequence[int], default_ms: int) -> None:
        """Before a pass over the log with these segments, the active one last."""
        if not self.given:
            return
        for base in bases[:-1]:
            if base not in self._seen:
                self._seen.add(base)
                time_ns = int(self._of.pop(base, default_ms)) * 1_000_000
                os.utime(self._folder / f"{base:020}.log", ns=(time_ns, time_ns))

    def forget_from(self, base_offset: int) -> None:
        """A truncation has written what was closed from here on, and left this one active."""
        self._seen = {base for base in self._seen if base < base_offset}


class KafkaCleaner:
    """Answers log files as Kafka would.

    Args:
        version: The Kafka release. A process can have one only.

    Raises:
        BadInput: There is no Java, no such release, or it cannot be driven.
    """

    def __init__(self, version: str = KAFKA_VERSION) -> None:
        start_jvm(version)
        self.version = version
        self._kafka: Kafka = LegacyKafka() if version.startswith("2.8.") else Kafka()
        self._writer = BatchWriter()
        self._reader = SegmentReader()

    def answer(self, document: Mapping[str, Any]) -> Answer:
        """What `replog clean --json` must answer, without the reasons of removals.

        Args:
            document: A log file with a preset that this release is the origin of.

        Returns:
            `{"steps": [...]}`: one object for each step.

        Raises:
            BadInput: Kafka refuses the log, or cannot be asked this.
        """
        rules = document.get("rules") or {}
        _check_rules(rules, version=self.version, preset=self.preset)
        with tempfile.TemporaryDirectory(prefix="replog-", dir=FAST) as parent:
            home = Path(parent) / "log-0"
            home.mkdir()
            try:
                return self._run(document, home, rules)
            except jpype.JException as error:
                raise BadInput(f"Kafka {self.version}: {error}") from None

    @property
    def preset(self) -> str:
        """The preset that this release answers for."""
        return self._kafka.preset

    def _run(self, document: Mapping[str, Any], home: Path, rules: Mapping[str, Any]) -> Answer:
        controls: dict[int, str] = {}
        sizes: dict[int, int] = {}
        for base, batches in written_segments(document["segments"]):
            _note_controls(batches, controls)
            content = self._writer.segment(batches)
            (home / f"{base:020}.log").write_bytes(content)
            sizes[base] = len(content)
        topic = {**(document.get("topic") or {}), **_topic(rules)}
        if_due = any(_is_if_due(step) for step in document["steps"])
        log = self._kafka.open_log(
            home,
            topic,
            segment_bytes=rules.get("segment_bytes"),
            io_bytes=LARGE_IO_BYTES if if_due else IO_BYTES,
        )
        try:
            if {base: int(records.sizeInBytes()) for base, records in log.segments()} != sizes:
                raise BadInput(f"Kafka {self.version}: it cuts or splits a segment of this log")
            log.note_epochs(_epoch_starts(document["segments"]))
            told = _HighWatermark(log)
            steps = []
            cleaner = _Cleaner(log, most_keys=_records(document) + 1)
            times = SegmentTimes(document["segments"], home)
            for step in document["steps"]:
                if step["op"] == "clean":
                    modified_ms = _given(rules, "segment_last_modified_ms", int(step["now_ms"]))
                    times.set([base for base, _ in log.segments()], modified_ms)
                    own = cleaner.clean(step, None if times.given else modified_ms)
                else:
                    own = self._step(log, step, controls)
                    cleaner.uncleanable &= step["op"] != "reload"
                    times.forget_from(max(base for base, _ in log.segments()))
                told.follow(step)
                steps.append({**own, **self._state(log, controls)})
            return {"steps": steps}
        finally:
            log.close()

    def _step(self, log: DiskLog, step: Mapping[str, Any], controls: dict[int, str]) -> Answer:
        match step["op"]:
            case "append":
                _note_controls(step["batches"], controls)
                for batch in step["batches"]:
                    log.append(self._writer.batch(batch))
                if step.get("roll_after"):
                    log.roll()
            case "roll":
                log.roll()
            case "reload":
                log.reload()
            case "produce_duplicate":
                return self._duplicate(log, step)
            case "truncate":
                log.truncate(step["offset"])
            case "truncate_fully":
                log.truncate_fully(step["offset"])
            case "high_watermark":
                pass  # see _HighWatermark
            case "delete_records":
                log.delete_records(step["before"])
            case "delete_old_segments":
                log.delete_old_segments()
            case "expire_producers":
                log.expire_producers(now_ms=step["now_ms"], expiration_ms=step["expiration_ms"])
            case other:
                raise BadInput(f"no such step: {other}")
        return {}

    def _duplicate(self, log: DiskLog, step: Mapping[str, Any]) -> Answer:
        batch = {
            "base_offset": 0,
            "last_offset": len(step["keys"]) - 1,
            "records": [{"offset": at, "key": key} for at, key in enumerate(step["keys"])],
            "producer_id": step["producer_id"],
            "producer_epoch": step["producer_epoch"],
            "base_sequence": step["base_sequence"],
        }
        found = log.duplicate(self._writer.batch(batch), producer_id=step["producer_id"])
        if found is None:
            return {"duplicate": False}
        return {"duplicate": True, "first_offset": found[0], "last_offset": found[1]}

    def _state(self, log: DiskLog, controls: Mapping[int, str]) -> Answer:
        batches: list[Answer] = []
        tombstones: list[int] = []
        for base, records in log.segments():
            read = self._reader.batches(records, base_offset=base, controls=controls)
            for batch, deletes in read:
                batches.append(batch)
                tombstones += deletes
        return {
            "batches": batches,
            "surviving_offsets": [at for batch in batches for at in batch["record_offsets"]],
            "tombstone_offsets": tombstones,
            "log_end_offset": log.log_end_offset(),
            "last_sequences": {
                str(producer): sequence
                for producer, sequence in sorted(log.last_sequences().items())
            },
            "aborted_txns": [aborted(entry) for entry in log.aborted_transactions()],
            **log.offsets(),
        }


class _HighWatermark:
    """Tells a log what is committed: all of it, until a step says otherwise."""

    def __init__(self, log: DiskLog) -> None:
        self._log = log
        self._told = False
        log.set_high_watermark(log.log_end_offset())

    def follow(self, step: Mapping[str, Any]) -> None:
        """Tell it what it has to know after a step."""
        if step["op"] == "high_watermark":
            self._told = True
            self._offset = step["offset"]
        if not self._told:
            self._offset = self._log.log_end_offset()
        elif step["op"] == "truncate_fully":
            self._offset = step["offset"]
        self._offset = min(self._offset, self._log.log_end_offset())
        self._log.set_high_watermark(self._offset)


class _Cleaner:
    """The cleaning passes over a log; after one that failed there is none before a reload.

    Source: LogCleanerManager.markPartitionUncleanable.
    """

    def __init__(self, log: DiskLog, most_keys: int) -> None:
        self._log = log
        self._most_keys = most_keys
        self.uncleanable = False

    def clean(self, step: Mapping[str, Any], modified_ms: int | None) -> Answer:
        """The pass of a step, with the time at which all segments were modified, if it is one."""
        given = PassParameters(
            int(step["now_ms"]),
            0,
            0,
            delete_horizon_ms=step.get("delete_horizon_ms"),
            last_modified_ms=modified_ms,
        )
        if step.get("upper_bound") is None:
            answer = self._if_due(step, given)
        else:
            answer = self._between(step, given)
        return {**answer, "uncleanable": True} if self.uncleanable else answer

    def _between(self, step: Mapping[str, Any], given: PassParameters) -> Answer:
        """A pass between bounds; the upper one is rounded down to the base of a segment."""
        first_dirty, wanted = int(step["first_dirty_offset"]), int(step["upper_bound"])
        bases = [base for base, _ in self._log.segments()]
        bound = max((base for base in bases if base <= wanted), default=bases[0])
        start = max(first_dirty, bases[0])  # as LogCleanerManager.cleanableOffsets has it
        given = given._replace(first_dirty_offset=start, upper_bound=bound)
        nothing = KafkaPass(first_dirty, 0, 0, 0, ran=False)
        idle = self.uncleanable or bound == bases[0]  # Kafka's manager starts none of no segment
        done = nothing if idle else self._pass(step, given, nothing)
        if done.ran:
            self._log.note_checkpoint(done.next_dirty_offset)
        answer = _counts(done)
        return answer if bound == wanted else {**answer, "effective_upper_bound": bound}

    def _pass(
        self, step: Mapping[str, Any], given: PassParameters, nothing: KafkaPass
    ) -> KafkaPass:
        offset_map, capacity = step.get("offset_map"), self._capacity(step)
        try:
            if offset_map is not None or step.get("forced_rescan"):
                known = {key.encode(): int(at) for key, at in (offset_map or {}).items()}
                return self._log.clean_by(given, known, int(step["map_latest_offset"]))
            if given.first_dirty_offset < given.upper_bound and capacity > 0:
                # Kafka's manager starts no other pass, and its cleaner refuses a map without room.
                return self._log.clean(given, capacity=capacity)
        except jpype.JException as error:
            _check_known(error)
            self._log.note_uncleanable()
            self.uncleanable = True
        return nothing

    def _if_due(self, step: Mapping[str, Any], given: PassParameters) -> Answer:
        """A pass that Kafka's manager decides about."""
        due = self._log.due(given)
        done, failed = KafkaPass(due.first_dirty_offset, 0, 0, 0, ran=False), False
        try:
            done = self._log.clean_if_due(given, capacity=self._capacity(step)) or done
        except jpype.JException as error:
            _check_known(error)
            failed = self.uncleanable = True
        return {**due._asdict(), **_counts(done), "selected": done.ran or failed}

    def _capacity(self, step: Mapping[str, Any]) -> int:
        return _given(step, "map_capacity", self._most_keys)


def _check_known(error: jpype.JException) -> None:
    """Raise it unless it is one of those after which Kafka calls a log uncleanable."""
    if not any(known in str(error) for known in KNOWN_FAILURES):
        raise error


def _counts(done: KafkaPass) -> Answer:
    counts = done._asdict()
    del counts["ran"]
    return counts


def _check_rules(rules: Mapping[str, Any], *, version: str, preset: str) -> None:
    asked = rules.get("preset", DEFAULT_PRESET)
    if asked != preset:
        raise BadInput(f"rules.preset: {asked}: Kafka {version} answers for {preset}")
    for name, own in OWN_RULES[preset].items():
        if rules.get(name, own) != own:
            raise BadInput(f"rules.{name}: {rules[name]}: Kafka {version} does {own} only")


def _topic(rules: Mapping[str, Any]) -> dict[str, int]:
    """The topic's settings that a log file may give."""
    return {
        "delete.retention.ms": _given(rules, "delete_retention_ms", DAY_MS),
        "index.interval.bytes": _given(rules, "index_interval_bytes", INDEX_INTERVAL_BYTES),
    }


def _given(values: Mapping[str, Any], name: str, default: int) -> int:
    value = values.get(name)
    return default if value is None else int(value)


def written_segments(segments: Sequence[Any]) -> Iterator[tuple[int, Sequence[Mapping[str, Any]]]]:
    """Base offset and batches of each segment; an empty one starts where the last one ended."""
    end = 0
    for segment in segments:
        batches = segment["batches"] if isinstance(segment, dict) else segment
        base = batches[0]["base_offset"] if batches else end
        if isinstance(segment, dict):
            base = segment["base_offset"]
        end = batches[-1]["last_offset"] + 1 if batches else base
        yield base, batches


def _is_if_due(step: Mapping[str, Any]) -> bool:
    """A pass that Kafka's manager decides about, who asks for first timestamps of segments."""
    return step["op"] == "clean" and step.get("upper_bound") is None


def _epoch_starts(segments: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Epoch and base offset of each batch that has an epoch: of magic 2."""
    for _, batches in written_segments(segments):
        for batch in batches:
            if batch.get("magic", CURRENT_MAGIC) >= CURRENT_MAGIC:
                yield batch.get("epoch") or 0, batch["base_offset"]


def _note_controls(batches: Iterable[Mapping[str, Any]], controls: dict[int, str]) -> None:
    controls.update(
        (batch["last_offset"], batch["control"])
        for batch in batches
        if batch.get("control") is not None
    )


def _records(document: Mapping[str, Any]) -> int:
    batches = [batch for _, batches in written_segments(document["segments"]) for batch in batches]
    for step in document["steps"]:
        batches += step.get("batches", ())
    return sum(len(batch["records"]) for batch in batches)


def main(arguments: Sequence[str]) -> int:
    """Print Kafka's answer for the log file that is named; 2 when that cannot be done.

    Args:
        arguments: The file, and the Kafka release if it is not the usual one.
    """
    if len(arguments) not in {1, 2}:
        sys.stderr.write("usage: python -m tests.conformance.kafka FILE [KAFKA-VERSION]\n")
        return 2
    try:
        document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        answer = KafkaCleaner(*arguments[1:]).answer(document)
    except (BadInput, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.stderr.write(f"{arguments[0]}: {error}\n")
        return 2
    json.dump(answer, sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

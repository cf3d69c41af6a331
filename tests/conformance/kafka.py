"""Apache Kafka's own log cleaner as an oracle: a log file goes in, Kafka's answer comes out.

`python -m tests.conformance.kafka FILE [VERSION]` prints that answer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jpype

from sim.errors import BadInput
from sim.protocol.log.segment import INDEX_INTERVAL_BYTES
from tests.conformance.batches import (
    MAGIC,
    batch_bytes,
    sizes_in,
    write_segments,
    written_segments,
)
from tests.conformance.cleaner_manager import KafkaPass
from tests.conformance.compare import Json
from tests.conformance.disk_log import (
    IO_BYTES,
    LARGE_IO_BYTES,
    DiskLog,
    Kafka,
    PassParameters,
)
from tests.conformance.jvm import KAFKA_VERSION, start_jvm
from tests.conformance.legacy import LegacyKafka
from tests.conformance.segments import bases_in, read_log

FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder in memory
DEFAULT_PRESET = "kafka-4.0"
DAY_MS = 86_400_000
KNOWN_FAILURES = (
    "The last offset of appended transactions must increase",  # TransactionIndex.append
    "Empty batches are only supported for magic v2 and above",
)
"""Errors with which a pass may end early, so that the partition is marked uncleanable."""


class KafkaCleaner:
    """Answers log files as Kafka would.

    Args:
        version: The Kafka release; a process can have one alone.

    Raises:
        BadInput: There is no Java, no such release, or it cannot be driven.
    """

    def __init__(self, version: str = KAFKA_VERSION) -> None:
        start_jvm(version)
        self.version = version
        self._kafka: Kafka = LegacyKafka() if version.startswith("2.8.") else Kafka()

    @property
    def preset(self) -> str:
        """Name of the preset that models this release."""
        return self._kafka.preset

    def answer(self, document: Mapping[str, Any]) -> Json:
        """The answer that `replog clean --json` must give, without the reasons of removals.

        Args:
            document: A log file with the preset of this release.

        Returns:
            `{"steps": [...]}`: one object for each step.

        Raises:
            BadInput: Kafka refuses the log, or has no way to do a step.
        """
        rules = document.get("rules") or {}
        asked = rules.get("preset", DEFAULT_PRESET)
        if asked != self.preset:
            raise BadInput(f"rules.preset: {asked}: Kafka {self.version} answers for {self.preset}")
        with tempfile.TemporaryDirectory(prefix="replog-", dir=FAST) as parent:
            home = Path(parent) / "log-0"
            try:
                log = self._open(document, home, rules)
                try:
                    answering = _Answering(document, home, log)
                    return {"steps": [answering.step(step) for step in document["steps"]]}
                finally:
                    log.close()
            except jpype.JException as error:
                raise BadInput(f"Kafka {self.version}: {error}") from None

    def _open(self, document: Mapping[str, Any], home: Path, rules: Mapping[str, Any]) -> DiskLog:
        """Writes the log to disk and opens it."""
        sizes = write_segments(document["segments"], home)
        topic = {
            **(document.get("topic") or {}),
            "delete.retention.ms": _given(rules, "delete_retention_ms", DAY_MS),
            "index.interval.bytes": _given(rules, "index_interval_bytes", INDEX_INTERVAL_BYTES),
        }
        # Kafka's manager asks for first timestamps of segments.
        if_due = any(
            step["op"] == "clean" and step.get("upper_bound") is None for step in document["steps"]
        )
        io_bytes = LARGE_IO_BYTES if if_due else IO_BYTES
        segment_bytes = rules.get("segment_bytes")
        log = self._kafka.open_log(home, topic, segment_bytes=segment_bytes, io_bytes=io_bytes)
        if sizes_in(home) != sizes:
            log.close()
            raise BadInput(f"Kafka {self.version}: it cuts or splits a segment of this log")
        log.note_epochs(
            (batch.get("epoch") or 0, batch["base_offset"])
            for _, batches in written_segments(document["segments"])
            for batch in batches
            if batch.get("magic", MAGIC) >= MAGIC
        )
        return log


class _Answering:
    """The state of a log file while Kafka answers it, step by step."""

    def __init__(self, document: Mapping[str, Any], home: Path, log: DiskLog) -> None:
        self._home = home
        self._log = log
        self._all_modified_ms = (document.get("rules") or {}).get("segment_last_modified_ms")
        # Modification times of segments, where the log file gives some.
        self._modified_ms = {
            segment["base_offset"]: int(segment["last_modified_ms"])
            for segment in document["segments"]
            if isinstance(segment, dict) and segment.get("last_modified_ms") is not None
        }
        self._each_modified = bool(self._modified_ms)
        self._set: set[int] = set()
        self._uncleanable = False
        self._committed: int | None = None  # until a step says otherwise, all of it is
        written = [batch for _, of in written_segments(document["segments"]) for batch in of]
        written += [batch for step in document["steps"] for batch in step.get("batches", ())]
        self._most_keys = 1 + sum(len(batch["records"]) for batch in written)
        log.raw.updateHighWatermark(self._end())

    def step(self, step: Mapping[str, Any]) -> Json:
        """Does a step and returns the answer to it."""
        log = self._log
        own: Json = {}
        match step["op"]:
            case "clean":
                own = self._clean(step)
            case "append":
                for batch in step["batches"]:
                    log.append(batch_bytes(batch))
                if step.get("roll_after"):
                    log.roll()
            case "roll":
                log.roll()
            case "reload":
                log.reload()
                self._uncleanable = False
            case "produce_duplicate":
                own = self._duplicate(step)
            case "truncate":
                log.truncate(step["offset"])
            case "truncate_fully":
                log.truncate_fully(step["offset"])
            case "high_watermark":
                self._committed = step["offset"]
            case "delete_records":
                log.delete_records(step["before"])
            case "delete_old_segments":
                log.raw.deleteOldSegments()
            case "expire_producers":
                log.expire_producers(now_ms=step["now_ms"], expiration_ms=step["expiration_ms"])
            case other:
                raise BadInput(f"no such step: {other}")
        self._commit(step)
        return {**own, **self._state()}

    def _end(self) -> int:
        """Log end offset (exclusive)."""
        return int(self._log.raw.logEndOffset())

    def _commit(self, step: Mapping[str, Any]) -> None:
        """Sets the high watermark; the last segment after a truncation is the active one."""
        if step["op"] != "clean":
            active = bases_in(self._home)[-1]
            self._set = {base for base in self._set if base < active}
        end = self._end()
        if self._committed is not None:
            wanted = step["offset"] if step["op"] == "truncate_fully" else self._committed
            self._committed = min(wanted, end)
        self._log.raw.updateHighWatermark(end if self._committed is None else self._committed)

    def _duplicate(self, step: Mapping[str, Any]) -> Json:
        batch = {
            "base_offset": 0,
            "last_offset": len(step["keys"]) - 1,
            "records": [{"offset": at, "key": key} for at, key in enumerate(step["keys"])],
            **{name: step[name] for name in ("producer_id", "producer_epoch", "base_sequence")},
        }
        found = self._log.duplicate(batch_bytes(batch), producer_id=step["producer_id"])
        if found is None:
            return {"duplicate": False}
        return {"duplicate": True, "first_offset": found[0], "last_offset": found[1]}

    def _clean(self, step: Mapping[str, Any]) -> Json:
        """Runs a cleaning pass, unless one failed since the last reload.

        Source: LogCleanerManager.markPartitionUncleanable.
        """
        given_ms = self._all_modified_ms
        modified_ms = int(step["now_ms"]) if given_ms is None else int(given_ms)
        bases = bases_in(self._home)
        if self._each_modified:
            for base in {*bases[:-1]} - self._set:
                time_ns = self._modified_ms.pop(base, modified_ms) * 1_000_000
                os.utime(self._home / f"{base:020}.log", ns=(time_ns, time_ns))
            self._set.update(bases[:-1])
        given = PassParameters(
            int(step["now_ms"]),
            0,
            0,
            delete_horizon_ms=step.get("delete_horizon_ms"),
            last_modified_ms=None if self._each_modified else modified_ms,
        )
        if step.get("upper_bound") is None:
            answer = self._if_due(step, given)
        else:
            answer = self._between(step, given, bases)
        return {**answer, "uncleanable": True} if self._uncleanable else answer

    def _between(
        self, step: Mapping[str, Any], given: PassParameters, bases: Sequence[int]
    ) -> Json:
        """Runs a pass between bounds; the upper one is rounded down to the base of a segment."""
        first_dirty, wanted = int(step["first_dirty_offset"]), int(step["upper_bound"])
        bound = max((base for base in bases if base <= wanted), default=bases[0])
        start = max(first_dirty, bases[0])  # as LogCleanerManager.cleanableOffsets has it
        given = given._replace(first_dirty_offset=start, upper_bound=bound)
        done = KafkaPass(first_dirty, 0, 0, 0, ran=False)
        offset_map = step.get("offset_map")
        try:
            if self._uncleanable or bound == bases[0]:
                pass  # Kafka's manager starts none of no segment
            elif offset_map is not None or step.get("forced_rescan"):
                known = {key.encode(): int(at) for key, at in (offset_map or {}).items()}
                done = self._log.clean_by(given, known, int(step["map_latest_offset"]))
            elif start < bound and self._capacity(step) > 0:
                # Kafka's manager starts no other pass, and its cleaner refuses a map without room.
                done = self._log.clean(given, capacity=self._capacity(step))
        except jpype.JException as error:
            self._failed(error)
            self._log.manager.set_uncleanable(self._log.raw)
        if done.ran:
            self._log.manager.write_checkpoint(self._log.raw, done.next_dirty_offset)
        answer = _counts(done)
        return answer if bound == wanted else {**answer, "effective_upper_bound": bound}

    def _if_due(self, step: Mapping[str, Any], given: PassParameters) -> Json:
        """Runs a pass if Kafka's manager decides so."""
        self._log.touch(given)
        due = self._log.manager.due(self._log.raw, given.now_ms)
        done, failed = KafkaPass(due.first_dirty_offset, 0, 0, 0, ran=False), False
        try:
            done = self._log.clean_if_due(given, capacity=self._capacity(step)) or done
        except jpype.JException as error:
            self._failed(error)
            failed = True
        return {**due._asdict(), **_counts(done), "selected": done.ran or failed}

    def _failed(self, error: jpype.JException) -> None:
        """Notes that the log is uncleanable, or raises the error if Kafka has no such failure."""
        if not any(known in str(error) for known in KNOWN_FAILURES):
            raise error
        self._uncleanable = True

    def _capacity(self, step: Mapping[str, Any]) -> int:
        return _given(step, "map_capacity", self._most_keys)

    def _state(self) -> Json:
        known = sorted(self._log.last_sequences().items())
        return {
            **read_log(self._home).answered(),
            "log_end_offset": self._end(),
            "last_sequences": {str(producer): last for producer, last in known},
            **self._log.offsets(),
        }


def _counts(done: KafkaPass) -> Json:
    counts = done._asdict()
    del counts["ran"]
    return counts


def _given(values: Mapping[str, Any], name: str, default: int) -> int:
    value = values.get(name)
    return default if value is None else int(value)


if __name__ == "__main__":
    file, *release = sys.argv[1:]
    found = KafkaCleaner(*release).answer(json.loads(Path(file).read_text(encoding="utf-8")))
    print(json.dumps(found, indent=1))

"""Apache Kafka's own log cleaner as an oracle: a log file goes in, Kafka's answer comes out.

`python -m tests.conformance.kafka FILE [VERSION]` prints that answer.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import jpype

from sim.errors import BadInput
from sim.protocol.log.segment import INDEX_INTERVAL_BYTES
from tests.conformance.batches import (
    MAGIC,
    batch_bytes,
    batches_of,
    sizes_in,
    write_segments,
    written_batches,
)
from tests.conformance.compare import Json
from tests.conformance.disk_log import DiskLog, KafkaPass, PassParameters, open_log
from tests.conformance.jvm import KAFKA_VERSION, set_modified, start_jvm
from tests.conformance.releases import LARGE_IO_BYTES, Kafka, LegacyKafka
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

    def answer(self, document: Json) -> Json:
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

    def _open(self, document: Json, home: Path, rules: Json) -> DiskLog:
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
        io_bytes = LARGE_IO_BYTES if if_due else self._kafka.io_bytes
        segment_bytes = rules.get("segment_bytes")
        log = open_log(self._kafka, home, topic, segment_bytes=segment_bytes, io_bytes=io_bytes)
        if sizes_in(home) != sizes:
            log.close()
            raise BadInput(f"Kafka {self.version}: it cuts or splits a segment of this log")
        log.note_epochs(
            (batch.get("epoch") or 0, batch["base_offset"])
            for segment in document["segments"]
            for batch in batches_of(segment)
            if batch.get("magic", MAGIC) >= MAGIC
        )
        return log


class _Answering:
    """The state of a log file while Kafka answers it, step by step."""

    def __init__(self, document: Json, home: Path, log: DiskLog) -> None:
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
        batches = written_batches(document)
        self._most_keys = 1 + sum(len(batch["records"]) for batch in batches)
        log.raw.updateHighWatermark(self._end())

    def step(self, step: Json) -> Json:
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

    def _commit(self, step: Json) -> None:
        """Sets the high watermark; the last segment after a truncation is the active one."""
        if step["op"] != "clean":
            active = bases_in(self._home)[-1]
            self._set = {base for base in self._set if base < active}
        end = self._end()
        if self._committed is not None:
            wanted = step["offset"] if step["op"] == "truncate_fully" else self._committed
            self._committed = min(wanted, end)
        self._log.raw.updateHighWatermark(end if self._committed is None else self._committed)

    def _duplicate(self, step: Json) -> Json:
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

    def _clean(self, step: Json) -> Json:
        """Runs a cleaning pass, unless one failed since the last reload.

        Source: LogCleanerManager.markPartitionUncleanable.
        """
        self._set_modified(step)
        given = PassParameters(
            int(step["now_ms"]),
            _given(step, "map_capacity", self._most_keys),
            step.get("delete_horizon_ms"),
        )
        answer: Json = {}
        if step.get("upper_bound") is None:
            answer = self._log.manager.due(self._log.raw, given.now_ms)._asdict()
            done, failed = self._tried(lambda: self._log.clean_if_due(given))
            answer["selected"] = failed or done is not None
            first_dirty = answer["first_dirty_offset"]
        else:
            first_dirty, wanted = int(step["first_dirty_offset"]), int(step["upper_bound"])
            bases = bases_in(self._home)
            # As LogCleanerManager.cleanableOffsets and LogToClean have the bounds.
            bound = max((base for base in bases if base <= wanted), default=bases[0])
            start = max(first_dirty, bases[0])
            given = given._replace(first_dirty_offset=start, upper_bound=bound)
            done, _ = self._tried(lambda: self._between(step, given))
            if done is not None:
                self._log.manager.write_checkpoint(self._log.raw, done.next_dirty_offset)
            if bound != wanted:
                answer["effective_upper_bound"] = bound
        counts = KafkaPass(first_dirty, 0, 0, 0) if done is None else done
        return {**answer, **counts._asdict(), "uncleanable": self._uncleanable}

    def _set_modified(self, step: Json) -> None:
        """Sets the modification times of segments before a pass.

        Where the log file gives some of its own, each is set once, but for the active segment.
        """
        given_ms = self._all_modified_ms
        modified_ms = int(step["now_ms"]) if given_ms is None else int(given_ms)
        if not self._each_modified:
            set_modified(self._home, modified_ms)
            return
        closed = {*bases_in(self._home)[:-1]}
        for base in closed - self._set:
            time_ms = self._modified_ms.pop(base, modified_ms)
            set_modified(self._home, time_ms, f"{base:020}.log")
        self._set |= closed

    def _between(self, step: Json, given: PassParameters) -> KafkaPass | None:
        """Runs a pass between bounds; None where Kafka's manager would start none."""
        if self._uncleanable or given.upper_bound == bases_in(self._home)[0]:
            return None
        offset_map = step.get("offset_map")
        if offset_map is not None or step.get("forced_rescan"):
            known = {key.encode(): int(at) for key, at in (offset_map or {}).items()}
            return self._log.clean_by(given, known, int(step["map_latest_offset"]))
        if given.first_dirty_offset >= given.upper_bound or given.capacity == 0:
            return None  # nor would its cleaner take a map without room
        return self._log.clean(given)

    def _tried(self, run: Callable[[], KafkaPass | None]) -> tuple[KafkaPass | None, bool]:
        """Runs a pass; with True if it failed, which leaves the log uncleanable.

        Raises:
            jpype.JException: Kafka has no such failure.
        """
        try:
            return run(), False
        except jpype.JException as error:
            if not any(known in str(error) for known in KNOWN_FAILURES):
                raise
        self._uncleanable = True
        self._log.manager.set_uncleanable(self._log.raw)
        return None, True

    def _state(self) -> Json:
        known = sorted(self._log.last_sequences().items())
        return {
            **read_log(self._home).answered(),
            **self._log.offsets(),
            "last_sequences": {str(producer): last for producer, last in known},
            "checkpoint": self._log.manager.checkpoint(self._log.raw),
            "epochs": self._log.epochs(),
        }


def _given(values: Json, name: str, default: int) -> int:
    value = values.get(name)
    return default if value is None else int(value)


if __name__ == "__main__":
    file, *release = sys.argv[1:]
    found = KafkaCleaner(*release).answer(json.loads(Path(file).read_text(encoding="utf-8")))
    print(json.dumps(found, indent=1))

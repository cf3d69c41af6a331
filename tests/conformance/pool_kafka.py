"""Which of several logs Kafka's own `LogCleanerManager` would clean, and why not the others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.batches import BatchWriter
from tests.conformance.compare import Json
from tests.conformance.disk_log import DiskLog, Kafka
from tests.conformance.jars import KAFKA_VERSION
from tests.conformance.jvm import start_jvm
from tests.conformance.kafka import FAST, written_segments
from tests.conformance.pool_logs import within
from tests.conformance.surroundings import set_modified

FORMAT = "replog-log/1"
DECIDED = (
    "first_dirty_offset",
    "first_uncleanable_offset",
    "effective_upper_bound",
    "force_update_checkpoint",
    "clean_bytes",
    "cleanable_bytes",
    "cleanable_ratio",
    "compaction_delay_ms",
)
"""What answers say of a decision, beside whether the log was selected."""
NO_TIMESTAMP = 2**63 - 1
"""What Kafka answers for the first timestamp of a segment without one."""


class PoolAnswer(NamedTuple):
    """The logs as `replog eligible` takes them, and what Kafka makes of them.

    Attributes:
        document: A log file with logs to choose from, as Kafka's own classes describe them.
        answer: `selected` and `logs`, as `replog eligible --json` has them, without the sentences.
    """

    document: Json
    answer: Json


class KafkaPool:
    """Asks the manager of a release from 4.1 on.

    Raises:
        BadInput: There is no Java, no such release, or it cannot be driven.
    """

    def __init__(self, version: str = KAFKA_VERSION) -> None:
        start_jvm(version)
        self._kafka = Kafka()
        self._writer = BatchWriter()

    def answer(self, pool: Json) -> PoolAnswer:
        """Describe the logs of a pool, and let Kafka choose one."""
        folder = FAST if FAST.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="replog-", dir=folder) as parent:
            manager = self._kafka.manager(Path(parent))
            logs = {}
            try:
                for number, given in enumerate(pool["logs"]):
                    logs[f"tp{number}"] = self._open(given, Path(parent) / f"log-{number}")
                for given, log in zip(pool["logs"], logs.values(), strict=True):
                    self._tell(manager, log, given)
                return self._ask(manager, logs, pool)
            finally:
                for log in logs.values():
                    log.close()
                manager.close()

    def _open(self, given: Json, home: Path) -> DiskLog:
        home.mkdir()
        for base, batches in written_segments(given["segments"]):
            (home / f"{base:020}.log").write_bytes(self._writer.segment(batches))
        log = self._kafka.open_log(home, given["topic"])
        set_modified(home, given["modified_ms"])
        return log

    def _tell(self, manager: Any, log: DiskLog, given: Json) -> None:
        """What lies beside the log: high watermark, log start, checkpoint, state."""
        raw = log.raw
        first, end = int(raw.logStartOffset()), log.log_end_offset()
        log.set_high_watermark(within(given["committed"], first, end))
        committed = int(raw.highWatermark())
        log.delete_records(within(given["starts"], first, committed))
        manager.add(raw)
        if given["checkpoint"] is not None:
            manager.write_checkpoint(raw, within(given["checkpoint"], first, end))
        if given["in_progress"]:
            manager.set_in_progress(raw)
        if given["uncleanable"]:
            manager.set_uncleanable(raw)

    def _ask(self, manager: Any, logs: dict[str, DiskLog], pool: Json) -> PoolAnswer:
        now_ms = pool["now_ms"]
        described: Json = {"format": FORMAT, "now_ms": now_ms, "logs": {}}
        found: Json = {}
        for (name, log), given in zip(logs.items(), pool["logs"], strict=True):
            raw = log.raw
            described["logs"][name] = _described(log, given, manager.checkpoint(raw))
            due = manager.due(raw, now_ms)._asdict()
            found[name] = {field: due[field] for field in DECIDED}
        selected = manager.select(now_ms)
        names = {str(log.raw.topicPartition()): name for name, log in logs.items()}
        chosen = None if selected is None else names[str(selected.topicPartition())]
        return PoolAnswer(described, {"selected": chosen, "logs": found})


def _described(log: DiskLog, given: Json, checkpoint: int | None) -> Json:
    """A log as `replog eligible` takes it, by Kafka's own numbers."""
    raw = log.raw
    return {
        "segments": [_segment(segment, given["modified_ms"]) for segment in raw.logSegments()],
        "log_start_offset": int(raw.logStartOffset()),
        "log_end_offset": log.log_end_offset(),
        "high_watermark": int(raw.highWatermark()),
        "last_stable_offset": int(raw.lastStableOffset()),
        "checkpoint": checkpoint,
        "in_progress": given["in_progress"],
        "uncleanable": given["uncleanable"],
        "topic": {
            name: None if name == "max.compaction.lag.ms" and value == NO_TIMESTAMP else value
            for name, value in given["topic"].items()
        },
    }


def _segment(segment: Any, modified_ms: int) -> Json:
    first = int(segment.getFirstBatchTimestamp())
    return {
        "base_offset": int(segment.baseOffset()),
        "size_bytes": int(segment.size()),
        "first_batch_timestamp_ms": -1 if first == NO_TIMESTAMP else first,
        "largest_timestamp_ms": max(-1, int(segment.maxTimestampSoFar())),
        "last_modified_ms": modified_ms,
    }

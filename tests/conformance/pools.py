"""The choice among several logs by Kafka's own `LogCleanerManager`, and by `replog eligible`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from sim.files.document import Document
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import eligible_file_in
from tests.conformance.batches import write_segments
from tests.conformance.cleaner_manager import CleanerManager
from tests.conformance.compare import DUE_FIELDS, Json, first_unequal
from tests.conformance.disk_log import DiskLog, open_log
from tests.conformance.jvm import KAFKA_VERSION, set_modified, start_jvm
from tests.conformance.kafka import FAST
from tests.conformance.random_batches import Choices
from tests.conformance.random_logs import FORMAT, random_log, random_topic
from tests.conformance.releases import Kafka

DECIDED = ("effective_upper_bound", *DUE_FIELDS[1:])
"""Fields of an answer about a log, without the choice itself."""
NO_TIMESTAMP = 2**63 - 1
"""Kafka's first timestamp of a segment without one."""
OVERDUE = {
    "min.cleanable.dirty.ratio": 1.0,
    "min.compaction.lag.ms": 0,
    "max.compaction.lag.ms": 1,
}


def random_pool(choices: Choices) -> Json:
    """A few random logs with the state around each, and the clock; a twin may equal the first."""
    pick, once_in = choices.pick, choices.once_in
    topic = OVERDUE if once_in(3) else random_topic(choices)
    logs = [_random_log(choices, topic) for _ in choices.some(1, 3)]
    now_ms = pick(1_000, 1_000, 1_005, 6_000, 1_700_000_100_000)
    return {"now_ms": now_ms, "logs": [*logs, *logs[: once_in(6)]]}


def _random_log(choices: Choices, topic: Json) -> Json:
    pick, once_in = choices.pick, choices.once_in
    document = random_log(choices)
    return {
        "segments": document["segments"],
        "committed": choices.below(11) if once_in(3) else 10,
        "starts": choices.below(11) if once_in(4) else 0,
        "checkpoint": None if once_in(3) else choices.below(15) - 2,
        "in_progress": once_in(10),
        "uncleanable": once_in(10),
        "modified_ms": pick(0, 500, 999, 1_000, 2_000),
        "topic": document["topic"] if once_in(3) else topic,
    }


def _within(share: int, start: int, end: int) -> int:
    """Offset at `share` tenths of the way from `start` to `end`; outside for other shares."""
    return max(0, start + (end - start) * share // 10 + (share > 10) + (share < 0) * share)


class PoolAnswer(NamedTuple):
    """The logs as `replog eligible` takes them, and Kafka's answer.

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

    def answer(self, pool: Json) -> PoolAnswer:
        """Describes the logs of a pool, and has Kafka choose one."""
        with tempfile.TemporaryDirectory(prefix="replog-", dir=FAST) as parent:
            manager = CleanerManager(self._kafka, Path(parent))
            logs: dict[str, tuple[DiskLog, Json]] = {}
            try:
                for number, given in enumerate(pool["logs"]):
                    logs[f"tp{number}"] = (self._open(given, Path(parent) / f"log-{number}"), given)
                for log, given in logs.values():
                    self._tell(manager, log, given)
                return self._ask(manager, logs, pool["now_ms"])
            finally:
                for log, _ in logs.values():
                    log.close()
                manager.close()

    def _open(self, given: Json, home: Path) -> DiskLog:
        write_segments(given["segments"], home)
        log = open_log(self._kafka, home, given["topic"])
        set_modified(home, given["modified_ms"])
        return log

    def _tell(self, manager: Any, log: DiskLog, given: Json) -> None:
        """Sets high watermark, log start and checkpoint of a log, and its marks in the manager."""
        raw = log.raw
        first, end = int(raw.logStartOffset()), int(raw.logEndOffset())
        raw.updateHighWatermark(_within(given["committed"], first, end))
        log.delete_records(_within(given["starts"], first, int(raw.highWatermark())))
        manager.add(raw)
        if given["checkpoint"] is not None:
            manager.write_checkpoint(raw, _within(given["checkpoint"], first, end))
        if given["in_progress"]:
            manager.set_in_progress(raw)
        if given["uncleanable"]:
            manager.set_uncleanable(raw)

    def _ask(self, manager: Any, logs: dict[str, tuple[DiskLog, Json]], now_ms: int) -> PoolAnswer:
        described: Json = {"format": FORMAT, "now_ms": now_ms, "logs": {}}
        found: Json = {}
        for name, (log, given) in logs.items():
            described["logs"][name] = _described(log, given, manager.checkpoint(log.raw))
            due = manager.due(log.raw, now_ms)._asdict()
            found[name] = {field: due[field] for field in DECIDED}
        selected = manager.select(now_ms)
        names = {str(log.raw.topicPartition()): name for name, (log, _) in logs.items()}
        chosen = None if selected is None else names[str(selected.topicPartition())]
        return PoolAnswer(described, {"selected": chosen, "logs": found})


def _described(log: DiskLog, given: Json, checkpoint: int | None) -> Json:
    """A log as `replog eligible` takes it, with Kafka's own numbers."""
    topic, segments = dict(given["topic"]), []
    if topic["max.compaction.lag.ms"] == NO_TIMESTAMP:
        topic["max.compaction.lag.ms"] = None
    for segment in log.raw.logSegments():
        first = int(segment.getFirstBatchTimestamp())
        written = {
            "base_offset": int(segment.baseOffset()),
            "size_bytes": int(segment.size()),
            "first_batch_timestamp_ms": -1 if first == NO_TIMESTAMP else first,
            "largest_timestamp_ms": max(-1, int(segment.maxTimestampSoFar())),
            "last_modified_ms": given["modified_ms"],
        }
        segments.append(written)
    return {
        "segments": segments,
        **log.offsets(),
        "checkpoint": checkpoint,
        "in_progress": given["in_progress"],
        "uncleanable": given["uncleanable"],
        "topic": topic,
    }


def choice_difference(answer: PoolAnswer) -> str | None:
    """First difference between `replog eligible` and Kafka, as a sentence; None if they agree."""
    file = eligible_file_in(Document("", answer.document))
    whole = eligible_answer(select_log(file.logs, now_ms=file.now_ms))
    logs = {name: {part: log[part] for part in DECIDED} for name, log in whole["logs"].items()}
    return first_unequal({"selected": whole["selected"], "logs": logs}, answer.answer)


def pool_features(answer: PoolAnswer) -> frozenset[str]:
    """The `POOL_FEATURES` that occurred."""
    return frozenset(name for name, happened in _features(answer).items() if happened)


def _features(answer: PoolAnswer) -> dict[str, bool]:
    """Features in the order of the report's table, each with True if it occurred."""
    logs, dues, chosen = answer.document["logs"], answer.answer["logs"], answer.answer["selected"]
    pairs = [(log, dues[name]) for name, log in logs.items()]
    bounds = [(log, due["first_uncleanable_offset"]) for log, due in pairs]
    checkpoints = [(log, at) for log in logs.values() if (at := log["checkpoint"]) is not None]
    ratio = -1 if chosen is None else dues[chosen]["cleanable_ratio"]
    return {
        "several logs": len(logs) > 1,
        "a log is selected": chosen is not None,
        "no log is selected": chosen is None,
        "selected though another one is as dirty": any(
            name != chosen
            and dues[name]["cleanable_ratio"] == ratio
            and not log["in_progress"]
            and not log["uncleanable"]
            for name, log in logs.items()
        ),
        "selected because it is overdue": chosen is not None
        and ratio <= logs[chosen]["topic"]["min.cleanable.dirty.ratio"],
        "an overdue log waits for a dirtier one": any(
            due["compaction_delay_ms"] > 0 and 0 < (due["cleanable_ratio"] or 0) < ratio
            for due in dues.values()
        ),
        "logs with settings of their own": any(
            log["topic"] != logs["tp0"]["topic"] for log in logs.values()
        ),
        "log in progress": any(log["in_progress"] for log in logs.values()),
        "log that is uncleanable": any(log["uncleanable"] for log in logs.values()),
        "no checkpoint": len(checkpoints) < len(logs),
        "checkpoint below the log start": any(
            at < log["log_start_offset"] for log, at in checkpoints
        ),
        "checkpoint above the log end": any(at > log["log_end_offset"] for log, at in checkpoints),
        "bound in mid-segment, rounded down": any(
            due["effective_upper_bound"] < due["first_uncleanable_offset"] for due in dues.values()
        ),
        "bound is the high watermark": any(
            bound == log["high_watermark"] < log["log_end_offset"] for log, bound in bounds
        ),
        "bound is an open transaction": any(
            bound == log["last_stable_offset"] < log["high_watermark"] for log, bound in bounds
        ),
        "bound is a segment with a young record": any(
            log["topic"]["min.compaction.lag.ms"] > 0
            and bound < min(log["last_stable_offset"], log["segments"][-1]["base_offset"])
            for log, bound in bounds
        ),
        "the first dirty offset is past all that may be cleaned": any(
            due["first_dirty_offset"] > log["last_stable_offset"] for log, due in pairs
        ),
        "overdue": any(due["compaction_delay_ms"] > 0 for due in dues.values()),
        "0 bytes": any(due["cleanable_ratio"] is None for due in dues.values()),
    }


POOL_FEATURES = tuple(_features(PoolAnswer({"logs": {}}, {"selected": None, "logs": {}})))
"""Features that a choice can have."""

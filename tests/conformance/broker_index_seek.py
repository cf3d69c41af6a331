"""A deleted key that comes back on a stock broker: the map is read from behind an ABORT marker.

A producer commits K=old, aborts a transaction, and after some bulk commits a delete of K. The
broker's offset map holds three keys, so the first pass ends before the delete; the second one reads
its map from where the offset index of the cleaned segment says, which is behind the marker, and
takes the delete for aborted. Near misses are the same topic with COMMIT in place of ABORT, and one
whose index has no entry.

`python -m tests.conformance.stories index-seek [--kafka VERSION] [--large]` runs it alone: with
`--large` the bulk is 600 KB in place of 4.5, which releases before KAFKA-806 need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.conformance.broker_compare import compare_broker_run, held_after
from tests.conformance.broker_run import RETENTION_MS, WatchedTopic
from tests.conformance.clients import Administrator, Producer, administered_broker
from tests.conformance.compare import Json, Result
from tests.conformance.nodes import Broker
from tests.conformance.recordings import BROKERS, STORIES, write_file
from tests.conformance.running import say

KEYS_IN_MAP = 3
FULL_AT = 6
"""Offset at which the map is full: it has K, bulk-1 and bulk-2 (exclusive)."""
SMALL = (2_200, 2_200)
"""Bytes of the values between the marker and the delete: more than `index.interval.bytes`."""
LARGE = (200_000, 200_000, 200_000)
"""More than the cleaner's I/O buffer: before KAFKA-806 each of its writes adds one entry."""
NO_INDEX_BYTES = 2**30
COMMITS = {"abort": False, "commit": True, "abort_without_index": False}
"""Topics, with True if the second transaction is committed."""

_BROKER = {
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.io.buffer.load.factor": "0.00002",  # of 174,762 slots: three keys
}
_SEGMENT_MS = 60_000
_FILES = {"commit": "commit_seen_on_kafka"}
"""Names of files that are not those of the topics, as another story has that name."""
_EXPECTED = ("next_dirty_offset", "log_end_offset", "aborted_txns")
_WHEN_ALL_IS_DIRTY, _WHENEVER = "0.5", "0.0"
_TOPIC = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "segment.ms": str(_SEGMENT_MS),
    "delete.retention.ms": str(RETENTION_MS),
    "min.cleanable.dirty.ratio": _WHEN_ALL_IS_DIRTY,
}


class _SeekTopic(WatchedTopic):
    """A topic of the run, whose passes are watched."""

    def __init__(
        self, broker: Broker, administrator: Administrator, name: str, bulk: Sequence[int]
    ) -> None:
        self._interval = {}
        if name == "abort_without_index":
            self._interval = {"index_interval_bytes": NO_INDEX_BYTES}
        named = {rule.replace("_", "."): str(value) for rule, value in self._interval.items()}
        super().__init__(broker, administrator, name, {**_TOPIC, **named})
        self._bulk = {f"bulk-{number}": "x" * size for number, size in enumerate(bulk, start=1)}

    def write(self) -> None:
        """Writes all records, each as a batch; the last one rolls the log."""
        transactional = {"transactional.id": f"A-{self.topic}", "enable.idempotence": "true"}
        address = self._broker.address
        with (
            closing(Producer(address, self.topic, transactional)) as producer,
            closing(Producer(address, self.topic, {"enable.idempotence": "false"})) as plain,
        ):
            self._transaction(producer, "K", "old", commit=True)
            self._transaction(producer, "bulk-1", "undecided", commit=COMMITS[self.topic])
            for record in self._bulk.items():
                self.send(plain, record)
            self._transaction(producer, "K", None, commit=True)
            self.at_ms += 2 * _SEGMENT_MS
            self.send(plain, ("last", "rolls the segment"))
        self.begin_log_file(**self._interval)

    def change(self, settings: dict[str, str], dirty: int, reached: int | None = None) -> None:
        """Changes the topic so that the cleaner runs a pass, and waits for it."""
        change = partial(self._administrator.change, self.topic, settings)
        self.clean(change, dirty, reached=reached, map_capacity=KEYS_IN_MAP)

    def _transaction(
        self, producer: Producer, key: str, value: str | None, *, commit: bool
    ) -> None:
        """Writes a transaction of one record, and waits for its marker."""
        producer.begin()
        self.send(producer, (key, value))
        self.end(producer, commit=commit)
        self.await_markers()


@dataclass
class SeekResult(Result):
    """Result of the comparison of the topics.

    Attributes:
        version: The release.
        runs: Run of each topic, with its log file in which the times of the clock are filled in.
    """

    version: str = ""
    runs: dict[str, tuple[WatchedTopic, Json]] = field(default_factory=dict)

    @property
    def outcomes(self) -> dict[str, str]:
        """State of key K for a new read_committed consumer, by topic."""
        return {name: outcome(run) for name, (run, _) in self.runs.items()}

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        outcomes = "; ".join(f"{name}: {what}" for name, what in self.outcomes.items())
        agree = "as predicted" if not self.differences else self.differences[0]
        return f"{self.what}: {outcomes}; {agree}"


def rules_of(version: str) -> Json:
    """Rules of a log file for a release from 3.1 on, without the topic's own settings.

    An append adds one entry of the offset index for each batch since KAFKA-806: from 3.9.1, and
    from 4.0.1, on; the last batch of a round is kept from 4.0 on (KAFKA-17076).
    """
    release = tuple(int(part) for part in version.split("."))
    preset = "kafka-4.0" if release >= (4, 0) else "kafka-3.8"
    each_batch = release >= (4, 0, 1) or (3, 9, 1) <= release < (4, 0)
    return {"preset": preset, "index_entries": "per_batch" if each_batch else "per_append"}


def compare_index_seek(version: str, bulk: Sequence[int] = SMALL) -> SeekResult:
    """Runs all topics on a broker of a release, and compares them with Replog's prediction.

    Args:
        version: The release.
        bulk: Bytes of each value between the marker and the delete.

    Raises:
        BadInput: The broker does not start, or does not do in time what is waited for.
    """
    result = SeekResult(f"index seek on a real broker, Kafka {version}", version=version)
    say("index seek: starting a broker whose map holds three keys")
    with administered_broker(version, _BROKER) as (broker, administrator):
        runs = {name: _SeekTopic(broker, administrator, name, bulk) for name in COMMITS}
        for topic in runs.values():
            topic.write()
        for topic in runs.values():  # becomes a compacted one; the map is full before the delete
            topic.change({"cleanup.policy": "compact"}, 0, FULL_AT)
        say("index seek: waiting for the delete horizon")
        for topic in runs.values():
            topic.await_horizons()
            topic.change({"min.cleanable.dirty.ratio": _WHENEVER}, FULL_AT)
            topic.read()
    for name, run in runs.items():
        run.document["rules"] |= rules_of(version)
        compared = compare_broker_run(run)
        result.differences += compared.complaints
        result.runs[name] = (run, compared.document)
    return result


def outcome(run: WatchedTopic) -> str:
    """State of key K for a new read_committed consumer, in a few words."""
    latest = {read.key: read.value for read in run.reads["read_committed"][0]}
    return "K is deleted" if latest.get("K") is None else f"K={latest['K']} is back"


def record_index_seek(result: SeekResult) -> Iterator[Path]:
    """Writes a log file and a recording of each topic; yields each file.

    The log file, in `scenarios/seen_on_kafka`, expects the broker's outcome; the recording of its
    name has all that was compared.

    Raises:
        BadInput: They cannot be written.
    """
    for name, (run, document) in result.runs.items():
        file = f"log_index_seek_{_FILES.get(name, name)}.json"
        path = STORIES / file
        held = [held_after(passed, document["steps"][passed.step]) for passed in run.passes]
        own = {
            "format": document["format"],
            "title": json.loads(path.read_text(encoding="utf-8"))["title"],
            "source": f"Seen on Kafka {result.version}: one broker in `make conformance`."
            " Cleaner.buildOffsetMapForSegment, LocalLog.collectAbortedTransactions",
        }
        expect = [
            {
                **{part: one[part] for part in _EXPECTED},
                "surviving_offsets": [at for b in one["batches"] for at in b["record_offsets"]],
            }
            for one in held
        ]
        yield write_file(path, {**own, **document, "expect": expect})
        reads = [read.offset for read in run.reads["read_committed"][0]]
        recording = {"kafka": result.version, "reads": reads, "held": held}
        yield write_file(BROKERS / file, recording)

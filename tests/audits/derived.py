"""Places and epochs beside the batches of a log, compared with the batches themselves.

What follows from event to event is judged by `tests.audits.state_producers`, `.state_places` and
`.state_snapshots`. Here the log is read as it is:

* The leader epoch cache (LeaderEpochFileCache): a batch lies in the epoch it was appended in.
  Cleaning never edits the cache, so it may have epochs of which no batch is left, and leaders that
  wrote nothing; epochs rise from entry to entry, and so do their first offsets. Where the epochs of
  batches fall, entries contradict each other and are dropped. A replica that finds an older file of
  epochs is not judged under `epoch_recovery: as_stored`, which believes that file.
* The recovery point lies within the active segment (UnifiedLog.roll flushes what is below).
* The log start is within the log, and some segment reaches down to it (LogLoader.load), but where
  a crash lost the first one. No high watermark is below it (UnifiedLog.updateHighWatermark).
* Nothing above the log end is acknowledged, or begun to be cleaned; batches lie in order in the
  segments (LogSegment), whose sizes are theirs, and so are the entries of their time indexes. A
  segment with transactions is marked, since cleaners look for them in no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from sim.plugins import Report
from sim.protocol import events as on
from sim.protocol.log import Log
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from tests.audits.following import Following

LOOKED_AFTER: Final = frozenset(
    {
        on.Truncated,
        on.ReplicaCrashed,
        on.ReplicaRestarted,
        on.ReplicaWiped,
        on.LogEmptied,
        on.LogStartedAfresh,
        on.LogStartMoved,
        on.PrefixDeleted,
        on.SnapshotInstalled,
        on.Cleaned,
        on.SegmentsLost,
        on.Quiesced,
    }
)
"""Events after which a replica is compared; all others change one batch at a time."""

_ANEW: Final = (on.ReplicaWiped, on.LogEmptied, on.LogStartedAfresh, on.SnapshotInstalled)


class DerivedState(Following):
    """Compares replicas with their logs after certain events: of their replicas, or at rest of all.

    They are as they are after all events of that moment.
    """

    name = "derived-state"

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        super().__init__(cluster, report)
        self._lost_segments: set[str] = set()
        self._old_epochs: set[str] = set()

    def after(self, _at_ms: int, events: Iterable[on.Event]) -> None:
        """Compares the replicas that some events may have changed."""
        compared: dict[str | None, None] = {}
        for event in events:
            if isinstance(event, on.Quiesced):
                compared |= dict.fromkeys(self._nodes)
            elif isinstance(event, on.FaultInjected) and "file of epochs" in event.detail:
                self._old_epochs.add(event.replica)
            elif type(event) in LOOKED_AFTER:
                compared[event.replica] = None
                if isinstance(event, on.SegmentsLost):
                    self._lost_segments.add(event.replica)
                elif isinstance(event, _ANEW):
                    self._lost_segments.discard(event.replica)
                    self._old_epochs.discard(event.replica)
        for name in compared:
            if name in self._nodes and name is not None:
                self._compare(self._nodes[name])

    def _compare(self, node: Node) -> None:
        name, log = node.name, node.replica.log
        if name not in self._old_epochs or node.rules.storage.epoch_recovery != "as_stored":
            stored = node.rules.storage.leo_source == "stored"
            self._compare_epochs(name, log, end_is_stored=stored)
        end, first = log.log_end_offset, log.segments[0].base_offset
        places = {
            "recovery point": (log.flushed_end, log.segments[-1].base_offset),
            "log start": (log.log_start_offset, 0 if name in self._lost_segments else first),
            "high watermark": (min(log.high_watermark, end), min(log.log_start_offset, end)),
            "acknowledged end": (log.acknowledged_end, 0),
            "mark of a begun pass": (node.replica.begun_offset, 0),
        }
        for what, (kept, lowest) in places.items():
            if not lowest <= kept <= end:
                self.differs(name, what, kept, f"{lowest} to {end}")
        self._compare_segments(name, log)

    def _compare_epochs(self, name: str, log: Log, *, end_is_stored: bool) -> None:
        entries = log.epochs.entries
        for (epoch, begins), (newer, at) in pairwise(entries):
            if not (epoch < newer and begins < at):
                self.differs(name, f"leader epoch at {at}", f"{epoch} from {begins}", newer)
        start, at, epoch = log.log_start_offset, 0, -1
        found: list[tuple[int, int, int]] = []
        for segment in log.segments:
            for batch in segment.batches:
                if batch.epoch < epoch:
                    return
                epoch, base = batch.epoch, batch.base_offset
                while at < len(entries) and entries[at].start_offset <= base:
                    at += 1
                known = entries[at - 1].epoch if at else -1
                if known != epoch and base >= start and not found:
                    found.append((base, known, epoch))
        for base, known, epoch in found:
            self.differs(name, f"leader epoch at {base}", known, epoch)
        if end_is_stored and entries and entries[-1].start_offset > log.log_end_offset:
            last = entries[-1]
            self.differs(name, f"leader epoch at {last.start_offset}", last.epoch, "nothing")

    def _compare_segments(self, name: str, log: Log) -> None:
        segments = log.segments
        ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
        for segment, end in zip(segments, ends, strict=True):
            size, at = 0, min(segment.base_offset, log.log_start_offset)
            for batch in segment.batches:
                size += batch.size_bytes
                if not at <= batch.base_offset <= batch.last_offset < end:
                    base = batch.base_offset
                    self.differs(name, "batch", base, f"from {at} on and below {end}")
                at = batch.last_offset + 1
            base, entry = segment.base_offset, segment.time_entry
            if entry is not None and not base <= entry < end:
                self.differs(name, f"time index of segment {base}", entry, f"below {end}")
            if size != segment.size_bytes:
                self.differs(name, f"size of segment {base}", segment.size_bytes, size)
            if not segment.transactional and any(each.transactional for each in segment.batches):
                self.differs(name, f"transactions in segment {base}", "none", "some")

"""Places and epochs beside the batches of a log, compared with the batches themselves.

What follows from event to event is judged by `tests.audits.state_producers`, `.state_places` and
`.state_snapshots`. Here the log is read as it is:

* The leader epoch cache (LeaderEpochFileCache): a batch lies in the epoch it was appended in.
  Cleaning never edits the cache, so it may have epochs of which no batch is left, and leaders that
  wrote nothing; epochs rise from entry to entry, and so do their first offsets. Where the epochs of
  batches fall, entries contradict each other and are dropped.
* The recovery point lies within the active segment (UnifiedLog.roll flushes what is below).
* The log start is within the log, and some segment reaches down to it (LogLoader.load), but where
  a crash lost the first one.
* Nothing above the log end is acknowledged, or begun to be cleaned; batches lie in order in the
  segments (LogSegment), whose sizes are theirs. A segment with transactions is marked, since
  cleaners look for them in no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from sim.protocol import events as on
from sim.protocol.log import Log
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.rules import Rules

LOOKED_AFTER: Final = frozenset(
    {
        on.Truncated,
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
_NOTHING: Final = "nothing"


class Differs(NamedTuple):
    """A place beside the log of a replica that the batches of the log contradict.

    Attributes:
        replica: Name of the replica.
        what: What differs, such as `recovery point`.
        offset: Where the log says so, or what is kept points to.
        kept: What the replica keeps.
        by_log: What the batches say; `nothing` = nothing.
    """

    replica: str
    what: str
    offset: int
    kept: str
    by_log: str


class Audit:
    """Compares replicas with their logs after certain events."""

    def __init__(self, rules: Rules) -> None:
        """Starts before the first event."""
        self._end_is_stored = rules.storage.leo_source == "stored"
        self._lost_segments: set[str] = set()

    def after(self, events: Iterable[on.Event], replicas: Mapping[str, Replica]) -> list[Differs]:
        """The differences after some events: of their replicas, or at rest of all.

        `replicas` are as they are after all of them.
        """
        compared: dict[str, None] = {}
        for event in events:
            name = event.replica or ""
            if isinstance(event, on.Quiesced):
                compared |= dict.fromkeys(replicas)
            elif type(event) in LOOKED_AFTER:
                compared[name] = None
                if isinstance(event, on.SegmentsLost):
                    self._lost_segments.add(name)
                elif isinstance(event, _ANEW):
                    self._lost_segments.discard(name)
        found: list[Differs] = []
        for name in compared:
            replica = replicas.get(name)
            if replica is not None and replica.up:
                looked = _Look(replica)
                looked.compare_epochs(end_is_stored=self._end_is_stored)
                looked.compare_places(lost_segments=name in self._lost_segments)
                looked.compare_segments()
                found += looked.found
        return found


class _Look:
    """A comparison of one replica with its log."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.log: Log = replica.log
        self.found: list[Differs] = []

    def differs(self, what: str, offset: int, kept: object, by: object) -> None:
        """Adds a difference to those found."""
        self.found.append(Differs(self.replica.name, what, offset, str(kept), str(by)))

    def compare_epochs(self, *, end_is_stored: bool) -> None:
        """Compares the leader epoch cache with the epochs of batches."""
        log, entries = self.log, self.log.epochs.entries
        for (epoch, begins), (newer, at) in pairwise(entries):
            if not (epoch < newer and begins < at):
                self.differs("leader epoch", at, f"{epoch} from {begins}", newer)
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
            self.differs("leader epoch", base, known, epoch)
        if end_is_stored and entries and entries[-1].start_offset > log.log_end_offset:
            last = entries[-1]
            self.differs("leader epoch", last.start_offset, last.epoch, _NOTHING)

    def compare_places(self, *, lost_segments: bool) -> None:
        """Compares what counts as flushed, and where the log begins, with the segments."""
        log, first = self.log, self.log.segments[0].base_offset
        self._compare_place("recovery point", log.flushed_end, log.segments[-1].base_offset)
        self._compare_place("log start", log.log_start_offset, 0 if lost_segments else first)
        self._compare_place("acknowledged end", log.acknowledged_end, 0)
        self._compare_place("mark of a begun pass", self.replica.begun_offset, 0)

    def compare_segments(self) -> None:
        """Compares order, size and mark of the segments with their batches."""
        segments = self.log.segments
        ends = [segment.base_offset for segment in segments[1:]] + [self.log.log_end_offset]
        for segment, end in zip(segments, ends, strict=True):
            size, at = 0, min(segment.base_offset, self.log.log_start_offset)
            for batch in segment.batches:
                size += batch.size_bytes
                if not at <= batch.base_offset <= batch.last_offset < end:
                    base = batch.base_offset
                    self.differs("batch", base, base, f"from {at} on and below {end}")
                at = batch.last_offset + 1
            base = segment.base_offset
            if size != segment.size_bytes:
                self.differs("size of a segment", base, segment.size_bytes, size)
            if not segment.transactional and any(each.transactional for each in segment.batches):
                self.differs("segment with transactions", base, "no", "yes")

    def _compare_place(self, what: str, kept: int, lowest: int) -> None:
        """Compares a place with a part of the log that reaches to its end."""
        highest = self.log.log_end_offset
        if not lowest <= kept <= highest:
            self.differs(what, kept, kept, f"{lowest} to {highest}")

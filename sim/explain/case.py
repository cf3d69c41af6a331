"""A violation with all that is known about it: what explanations ask, and the words they use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from sim.check import Violation
from sim.check.history import ClusterHistory
from sim.check.history_keeper import HistoryKeeper
from sim.check.promise import meant_version, promised_mark
from sim.check.replica_view import ReplicaView
from sim.compaction.failures import UnreadableVersion
from sim.explain.causality import Cone
from sim.explain.judged import judged_at
from sim.explain.provenance import END, Provenance, Recorded
from sim.log.record import Batch, Record
from sim.rules import Rules
from sim.rules.policy import cleaner_strategy, judging_strategy
from sim.trace import (
    Appended,
    Cleaned,
    ConfigChanged,
    Copied,
    EpochCacheChanged,
    Event,
    FaultInjected,
    GapLearned,
    HighWatermarkMoved,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotDeleted,
    SnapshotInstalled,
    SnapshotTaken,
    Truncated,
)
from sim.trace.cluster import INSTANT_FAULTS

FactKind = Literal[
    "version",
    "timestamp",
    "order",
    "clock",
    "horizon",
    "epoch",
    "position",
    "sequence",
    "loss",
    "election",
    "snapshot",
    "marker",
    "write",
    "read",
    "fault",
]
"""What kind of value decided: `order` = the order of offsets, `position` = a log end, a fetch
position, a high watermark or another bound, `loss` = what a crash or a file took."""

DEFAULT_HEADER = "version"


class Fact(NamedTuple):
    """Something that decided.

    Attributes:
        kind: Which kind of value it was.
        text: A sentence without its full stop, with every value that decided.
        position: Position of the event by which it decided; None = no single one.
    """

    kind: FactKind
    text: str
    position: int | None


class Case:
    """A violation, the events up to it, and what they say.

    Attributes:
        events: All of the run.
        violation: What is explained.
        rules: By which the run was judged.
        known: Who wrote what.
        cone: What led to it.
        history: What was committed and what everybody held when it was found.
        skews: Replica -> how far its clock is ahead of simulated time in ms; None = not known,
            as in a story, whose times are steps.
    """

    def __init__(
        self,
        events: Recorded,
        violation: Violation,
        rules: Rules | None,
        skews: Mapping[str, int] | None = None,
    ) -> None:
        """Look at everything up to the event that showed the violation."""
        self.events = events
        self.violation = violation
        self.rules = Rules() if rules is None else rules
        self.skews = skews
        judged = judged_at(events, violation)
        self.known = Provenance(events[: judged + 1])
        self.cone = Cone(self.known, violation, judged=judged)
        self.history = self._replayed(judged)
        self._cleaner_version = cleaner_strategy(self.rules).version
        self._promised_version = judging_strategy(self.rules).version
        self._is_tombstone = promised_mark(self.rules)
        self._changes_strategy = any(
            isinstance(event, ConfigChanged) and "strategy" in dict(event.settings)
            for _, event in events
        )

    def _replayed(self, judged: int) -> ClusterHistory:
        history = ClusterHistory(self.rules)
        for name in self.known.replicas:
            history.replicas[name] = ReplicaView(name)
        keeper = HistoryKeeper(history)
        for at, event in self.events[: judged + 1]:
            history.at = at
            keeper.apply(event)
        return history

    # What there was.

    def event(self, position: int) -> Event:
        """The event at a position."""
        return self.events[position][1]

    def when(self, position: int) -> str:
        """Its time, such as `at step 7` or `at 7,120 ms`."""
        at = self.events[position][0]
        return f"at step {at}" if self.skews is None else f"at {at:,} ms"

    def uid_at(self, replica: str, offset: int, *, before: int = END) -> int:
        """The record that a replica held at an offset before a position; 0 = none."""
        position = self.known.slot(replica, offset, before=before)
        if position is None:
            return 0
        event = self.event(position)
        match event:
            case Appended(_, batch) | Pushed(_, _, batch):
                batches: Iterable[Batch] = [batch]
            case Copied(_, _, _, copied, _):
                batches = copied
            case _:
                return 0
        return next((r.uid for b in batches for r in b.records if r.offset == offset), 0)

    def end_of(self, replica: str, *, before: int = END) -> int:
        """The log end offset of a replica before a position."""
        position = self.known.last("end", replica, before=before)
        event = None if position is None else self.event(position)
        match event:
            case Appended(_, batch) | Pushed(_, _, batch):
                return batch.last_offset + 1
            case Copied(_, _, _, _, end) | GapLearned(_, _, _, end, _):
                return end
            case Cleaned() | ReplicaCrashed() | ReplicaRestarted():
                return event.log_end_offset
            case Truncated(_, target):
                return target
            case SnapshotInstalled(_, end) | LogStartedAfresh(_, end, _, _):
                return end
            case LogEmptied() | ReplicaWiped() | None:
                return 0
            case _:
                assert position is not None
                return self.end_of(replica, before=position)

    def high_watermark_of(self, replica: str, *, before: int = END) -> int:
        """The high watermark of a replica before a position, as far as events tell."""
        moved = self.known.last("mark", replica, before=before)
        state = self.known.last("state", replica, before=before)
        if moved is None or (state is not None and state > moved):
            event = None if state is None else self.event(state)
            known = isinstance(event, ReplicaCrashed | ReplicaRestarted)
            return event.high_watermark if known else 0  # type: ignore[union-attr]
        event = self.event(moved)
        assert isinstance(event, HighWatermarkMoved)
        return event.high_watermark

    def leader_at(self, before: int) -> tuple[str, int] | None:
        """Who was elected last before a position, and in which epoch."""
        position = self.known.last("leader", before=before)
        event = None if position is None else self.event(position)
        return (event.replica, event.epoch) if isinstance(event, LeaderElected) else None

    def committed_at(self, offset: int) -> int:
        """The record that was first committed at an offset; 0 = nothing was."""
        committed = self.history.committed
        return committed[offset] if 0 <= offset < len(committed) else 0

    def uids_of(self, key: str) -> list[int]:
        """The records of a key, in order of appends."""
        return self.history.uids_of_key.get(key, [])

    def tombstone(self, uid: int) -> bool:
        """Whether a record is a tombstone under the run's mark."""
        record = self.known.records.get(uid)
        return record is not None and record.key is not None and self._is_tombstone(record)

    def epochs_of(self, replica: str, *, before: int = END) -> str:
        """The epochs of the batches that a replica held, such as `1 from 0 and 3 from 2`."""
        changed = self.known.last("epochs", replica, before=before)
        if changed is not None and changed >= (self.known.last("end", replica, before=before) or 0):
            event = self.event(changed)
            assert isinstance(event, EpochCacheChanged)
            return listed([f"{epoch} from {start}" for epoch, start in event.epochs]) or "none"
        starts: dict[int, int] = {}
        for offset in range(self.end_of(replica, before=before)):
            batch = self.known.batches.get(self.uid_at(replica, offset, before=before))
            if batch is not None and batch.epoch not in starts:
                starts[batch.epoch] = offset
        return listed([f"{epoch} from {start}" for epoch, start in starts.items()]) or "none"

    def newest_snapshot(self, replica: str, *, before: int = END) -> tuple[int, int] | None:
        """The newest snapshot that a replica had before a position."""
        kept: set[tuple[int, int]] = set()
        for position in self.known.all("snapshot", replica, before=before):
            event = self.event(position)
            if isinstance(event, SnapshotTaken | SnapshotInstalled):
                kept.add((event.end_offset, event.epoch))
            elif isinstance(event, SnapshotDeleted):
                kept.discard((event.end_offset, event.epoch))
        return max(kept, default=None)

    def fault_of(self, replica: str, before: int) -> str:
        """The fault that a replica suffers from, in brackets; empty = none goes on."""
        for position in reversed(self.known.all("fault", replica, before=before)):
            event = self.event(position)
            if not isinstance(event, FaultInjected):
                return ""
            if event.fault not in INSTANT_FAULTS:
                return f" ({event.fault} {self.when(position)}: {event.detail})"
        return ""

    # Words.

    def name(self, uid: int) -> str:
        """A record with its offset and its version, or timestamp, where that decides who wins."""
        record = self.known.records.get(uid)
        if record is None:
            return "nothing"
        batch = self.known.batches[uid]
        if batch.control is not None:
            whom = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
            return f"the {batch.control} marker{whom} at {record.offset}"
        value = "null" if record.value is None else record.value
        if record.key is None:
            return f"{value}@{record.offset} (no key)"
        mark = " flagged as a delete" if record.flagged and record.value is not None else ""
        return f"{record.key}={value}@{record.offset}{mark}{self._versioned(record)}"

    def names(self, uids: Iterable[int]) -> str:
        """Several records in one phrase."""
        return listed([self.name(uid) for uid in uids])

    def _versioned(self, record: Record) -> str:
        version = self.version(record)
        return f" ({version})" if version else ""

    def version(self, record: Record) -> str:
        """What decides who wins, such as `version 7`; empty under the offset strategy."""
        strategy = self.rules.cleaner.strategy
        if record.key is None or (strategy == "offset" and not self._changes_strategy):
            return ""
        if strategy == "offset":
            found = meant_version(record, self.rules.topic.strategy_header or DEFAULT_HEADER)
            return "no version" if found is None else f"version {found}"
        if strategy == "timestamp":
            return f"timestamp {record.timestamp_ms:,} ms"
        if strategy != "header":
            return f"version {self._cleaner_version(record)}"
        found = meant_version(record, self.rules.topic.strategy_header or DEFAULT_HEADER)
        words = "no version" if found is None else f"version {found}"
        return words + self._misread(record, found)

    def _misread(self, record: Record, meant: int | None) -> str:
        """How the cleaner takes a version, where that is not as it was meant."""
        try:
            read = self._cleaner_version(record)
        except UnreadableVersion:
            return ", which stops the pass: it reads as none"
        if self.rules.cleaner.header_form == "last_bytes":
            header = self.rules.topic.strategy_header or DEFAULT_HEADER
            found = [value for name, value in record.headers if name == header]
            return f", bytes {found[-1].hex(' ')}" if found else ""
        taken: int | None = read[0]
        if self.rules.cleaner.header_form == "last_long":
            taken = read[1] if read[0] else None
        elif self.rules.cleaner.header_form == "first_varint" and read[0] < 0:
            taken = None
        if taken == meant:
            return ""
        return ", read as no version" if taken is None else f", read as {taken}"

    def beats(self, uid: int, other: int) -> bool:
        """Whether one record wins over another by what the topic promises."""
        records = self.known.records
        return self._promised_version(records[uid]) > self._promised_version(records[other])

    def order_kind(self) -> FactKind:
        """The kind of a fact about who wins."""
        strategy = self.rules.cleaner.strategy
        if strategy == "offset":
            return "order"
        return "timestamp" if strategy == "timestamp" else "version"

    def by_clock(self, position: int) -> str:
        """What the clock of an event's replica said then, after a comma; empty in a story."""
        at, event = self.events[position]
        if self.skews is None or event.replica is None:
            return ""
        return f", {self.clock(event.replica, at + self.skews.get(event.replica, 0))}"

    def clock(self, replica: str, now_ms: int) -> str:
        """What a replica's clock said, such as `its clock (1,200 ms ahead) at 9,500 ms`."""
        skew = 0 if self.skews is None else self.skews.get(replica, 0)
        wrong = f" ({abs(skew):,} ms {'ahead' if skew > 0 else 'behind'})" if skew else ""
        return f"its clock{wrong} at {now_ms:,} ms"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]

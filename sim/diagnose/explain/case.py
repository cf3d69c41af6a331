"""A violation with the past that led to it: what explanations ask, and how they word facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sim.check import Checker, Violation
from sim.check.facts import Written
from sim.check.invariants.epochs import EpochCacheConsistency
from sim.check.listening import handlers_of
from sim.check.promise import DEFAULT_HEADER, meant_version
from sim.check.violation import RecordSeen
from sim.diagnose.explain.past import END, Past, Recorded
from sim.protocol import events as on
from sim.protocol.compaction.strategies import UnreadableVersion
from sim.protocol.events.sentences import describe
from sim.protocol.log.record import Control, Record
from sim.protocol.rules import GROUP_OF
from sim.protocol.rules.policy import cleaner_strategy

FactKind = str
"""The kind of value that decided: `order` (of offsets), `position` (a log end, a fetch position, a
high watermark or another bound), `loss` (of data in a crash, or of a file), or `clock`,
`election`, `epoch`, `horizon`, `marker`, `read`, `sequence`, `snapshot`, `timestamp`, `version`."""


class Fact(NamedTuple):
    """A fact that decided about a violation.

    Attributes:
        kind: Kind of the value that decided.
        text: A sentence without its full stop, with every value that decided.
        position: Position of the event that decided; None if no single event did.
        mechanisms: Names of `sim.diagnose.explain.mechanisms` that it is an instance of; they are
            comparable between runs.
    """

    kind: FactKind
    text: str
    position: int | None
    mechanisms: tuple[str, ...] = ()


Facts = list[Fact]
"""Deciding facts; the first one caused the others."""

ENDS: Final = (Control.COMMIT, Control.ABORT)
"""The kinds of markers that end a transaction."""


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def mechanisms_of(facts: Facts) -> tuple[str, ...]:
    """Mechanisms of facts, each once, in their order."""
    return tuple(dict.fromkeys(name for fact in facts for name in fact.mechanisms))


def as_context(facts: Facts) -> Facts:
    """Removes the mechanisms of facts, so that they explain and do not name the cause."""
    return [fact._replace(mechanisms=()) for fact in facts]


def first_is(facts: Facts, *mechanisms: str) -> Facts:
    """Replaces the mechanisms of the first fact."""
    return [fact._replace(mechanisms=mechanisms) for fact in facts[:1]] + facts[1:]


def first_also(facts: Facts, *mechanisms: str) -> Facts:
    """Adds mechanisms to the first fact."""
    return first_is(facts, *mechanisms_of(facts[:1]), *mechanisms)


def judged_at(events: Recorded, violation: Violation) -> int:
    """Position of the event that showed a violation.

    A violation that no checker found has no position: then it is the last event of its time.
    """
    if violation.position >= 0:
        return min(violation.position, len(events) - 1)
    return max((place for place, (at, _) in enumerate(events) if at <= violation.at), default=0)


STARTS: Final = (on.PrefixDeleted, on.LogStartMoved, on.LogStartedAfresh)
"""Events that move a log start."""
_READS: Final = (on.Consumed, on.ConsumerReset, on.ReadingEnded)
_LOSSES: Final = (on.ReplicaCrashed, on.ReplicaRestarted, on.ReplicaWiped, on.SegmentsLost)
_DONE: Final = (on.Acknowledged, on.Appended, on.Cleaned, on.PositionRecorded, on.Pushed)
_SNAPSHOTS: Final = (on.SnapshotInstalled, on.SnapshotOffered, on.SnapshotTaken, on.LogEmptied)
_FETCHES: Final = (on.SnapshotChunkFetched, on.SnapshotFetchDropped)
KINDS: Final[dict[type, FactKind]] = {
    **dict.fromkeys((on.HighWatermarkMoved, on.IsrChanged, *_DONE, *STARTS), "position"),
    **dict.fromkeys(_READS, "read"),
    **dict.fromkeys(_LOSSES, "loss"),
    **dict.fromkeys((*_SNAPSHOTS, *_FETCHES), "snapshot"),
    on.CleanerLooked: "clock",
    on.LeaderElected: "election",
    on.ProducersForgotten: "sequence",
}
"""Class of an event that decides by itself -> the kind of its fact."""


class Case(Past):
    """A violation, and the run up to the event that showed it.

    Attributes:
        violation: The violation that is explained.
        judged: Position of the event that showed it.
        shown_by: The event at that position.
        replica: Replica of the violation; empty without one.
        offset: Offset of the violation; 0 without one.
        key: Key of the violation; empty without one.
        answered: (replica, offset, position of a loss) -> its facts, so none is reported twice.
        marker: Kind of the first marker that was found missing, `COMMIT` or `ABORT`; empty if no
            question came upon one.
        nested: Depth of the question that is being answered.
        skews: Replica -> how far its clock is ahead of simulated time in ms; None for a story,
            whose times are steps.
    """

    def __init__(
        self, past: Past, violation: Violation, skews: Mapping[str, int] | None = None
    ) -> None:
        """Folds a run up to the event that showed the violation."""
        self.judged = judged_at(past.events, violation)
        vars(self).update(vars(past.until(self.judged + 1)))
        self.violation = violation
        self.shown_by: Any = self.event(self.judged)
        self.replica = violation.replica or ""
        self.offset = violation.offset or 0
        self.key = violation.key or ""
        self.marker = ""
        self.nested = 0
        self.answered: dict[tuple[str, int, int], Facts] = {}
        self.skews = skews
        self._cleaner_version = cleaner_strategy(self.rules).version
        self._changes_strategy = any(
            "strategy" in dict(self.event(one).settings) for one in self.all(on.ConfigChanged)
        )

    # Records.

    def known(self, uid: int | None) -> Written | None:
        """The append of a record; None without one."""
        return self.written.get(uid or 0)

    def uid_of(self, key: str | None, offset: int | None) -> int:
        """The uid of the record of a key at an offset, of several the one in evidence; else 0."""
        named = [v.uid for _, v in self.violation.evidence if isinstance(v, RecordSeen)]
        uids = [uid for uid in self.uids_of(key) if self.written[uid].offset == offset]
        return next((uid for uid in uids if uid in named), uids[0] if uids else 0)

    def holding(self, replica: str, uids: Iterable[int], before: int = END) -> list[int]:
        """Those of the records that a log held before a position."""
        return [u for u in uids if self.uid_at(replica, self.written[u].offset, before) == u]

    def tombstone(self, uid: int) -> bool:
        """Checks that a record is a tombstone under the run's `tombstone_mark`."""
        known = self.known(uid)
        return known is not None and known.tombstone

    def markers(self, producer_id: int) -> list[Written]:
        """The markers that end transactions of a producer, by offset."""
        ends = (one for one in self.controls() if one.batch.control in ENDS)
        mine = [one for one in ends if one.batch.producer_id == producer_id]
        return sorted(mine, key=lambda one: one.offset)

    def next_marker(self, known: Written) -> Written | None:
        """The lowest marker of a record's producer above it; None without one."""
        markers = self.markers(known.batch.producer_id)
        return next((one for one in markers if one.offset > known.offset), None)

    def lacks_marker(self, known: Written | None) -> None:
        """Notes a missing record if it is the first missing marker."""
        self.marker = self.marker or str((known and known.batch.control) or "")

    def epoch_of(self, uid: int) -> int:
        """The epoch in which a record was appended."""
        return self.written[uid].batch.epoch

    # Words.

    def fact(self, at: int, *mechanisms: str, kind: FactKind = "", rule: str = "") -> Fact:
        """The fact of an event: its sentence, the log's ends before and after, and its rule."""
        event, name = self.event(at), self.event(at).replica or ""
        other = getattr(event, "follower", None) or getattr(event, "joined", None)
        its_kind, stood = KINDS.get(type(event), "position"), list[str]()
        records = isinstance(event, on.PositionRecorded)  # about the log of its follower
        if type(event) in KINDS and its_kind != "read" and not records:
            whats = {"log end offset": self.log_end, "high watermark": self.high_watermark}
            for what, of in whats.items():
                before, now = of(name, at), of(name, at + 1)
                stood.append(f"{what} {now}" if before == now else f"{what} from {before} to {now}")
        if other:
            if isinstance(event, on.IsrChanged):
                stood.append(f"position of {other} {self.position_of(name, other, at) or 0}")
            stood.append(f"log end offset of {other} {self.log_end(other, at)}")
        elif isinstance(event, STARTS):
            stood.append(f"newest snapshot {self.newest_snapshot(name, at) or 'none'}")
            if self.skews is not None:
                stood.append(self.clock(name, self.events[at][0] + self.skews.get(name, 0)))
        elif isinstance(event, on.HighWatermarkMoved) and not event.leading:
            leader, epoch = self.leader_at(at) or ("none", 0)
            mark = self.high_watermark(leader, at)
            stood.append(f"that of {leader}, leader of epoch {epoch}, {mark}")
        elif isinstance(event, on.CleanerLooked):
            limit = event.difference_max_ms
            stood += [
                self.clock(name, event.now_ms),
                f"first uncleanable offset {event.upper_bound}",
                f"last stable offset {event.stable_offset}",
                f"max-compaction-delay-secs {event.metric_secs}",
                f"max.compaction.lag.ms {event.max_lag_ms:,}",
                *[f"message.timestamp.difference.max.ms {limit or 0:,}"] * (limit is not None),
            ]
        elif isinstance(event, on.ReplicaRestarted):
            down = self.last(on.ReplicaCrashed, before=at, replica=name)
            was = event.epoch if down is None else self.event(down).epoch
            stood.append(f"epoch {f'from {was} to ' if was != event.epoch else ''}{event.epoch}")
            rule = "epoch_storage" if event.epoch < was else rule
            if self.all(on.EpochCacheChanged, after=at, before=at + 2, replica=name):
                stood.append(f"its epoch checkpoint {self.epochs_of(name, at + 2)}")
                rule = rule or "epoch_recovery"
        elif isinstance(event, (on.LogEmptied, on.SnapshotInstalled)):
            which, rule = {"end_offset": event.end_offset, "epoch": event.epoch}, "snapshot_install"
            for one in self.all(on.SnapshotTaken, before=at, **which)[:1]:
                stood.append(f"snapshot taken {self.when(one)} by {self.event(one).replica}")
        text = describe(event, about=self._about)
        if stood:  # which names the log end
            text = re.sub(r"[;,] log end \d+$|, which ended at \d+,(?= for snapshot \()", "", text)
        text += f", {self.when(at)}" if self.events[at][0] else ""
        text += f" ({', '.join(stood)})" if stood else ""
        text += f" {self.by_rules(rule)}" if rule else ""
        if isinstance(event, on.HighWatermarkMoved) and event.leading:
            text += self.counting(name, at, event.high_watermark)
        text += self.fault(name, at) if its_kind == "loss" else ""
        return Fact(kind or its_kind, text, at, mechanisms)

    def _about(self, offset: int, key: str | None) -> bool:
        """Selects the records of the violation, which sentences name; others are counted."""
        return offset == self.violation.offset or (key is not None and key == self.key)

    def committed_by_counting(self, offset: int) -> bool:
        """Checks that a leader of a later epoch committed an offset by counting (Raft 5.4.2)."""
        committed = self.first_commit(offset)
        if committed is None or self.rules.replication.commit == "isr":
            return False
        led = self.last(on.LeaderElected, before=committed)
        start = 0 if led is None else self.event(led).epoch_start_offset
        return bool(self.event(committed).high_watermark <= start)

    def counting(self, leader: str, before: int = END, least: int = 0) -> str:
        """The follower positions that a leader counted, from `least` on, with log end offsets."""
        positions = [
            f"{name} at {position} (log end offset {self.log_end(name, before)})"
            for name in self.replicas
            if name != leader
            and (position := self.position_of(leader, name, before)) is not None
            and position >= least
        ]
        return f", counting {listed(positions) or 'itself alone'}"

    def position_of(self, leader: str, follower: str, before: int = END) -> int | None:
        """The position that a leader recorded last for a follower; None if it recorded none."""
        who = {"replica": leader, "follower": follower}
        found = self.last(on.PositionRecorded, before=before, **who)
        return None if found is None else int(self.event(found).position)

    def when(self, position: int) -> str:
        """Time of an event, such as `at step 7` or `at 7,120 ms`."""
        return f"at {self.time(position)}"

    def time(self, position: int) -> str:
        """Time of an event without the `at`."""
        at = self.events[position][0]
        return f"step {at}" if self.skews is None else f"{at:,} ms"

    def name(self, uid: int | None) -> str:
        """A record with its offset and its version, or timestamp, where that decides who wins."""
        known = self.known(uid)
        if known is None:
            return "nothing"
        record, batch = known.record, known.batch
        if batch.control is not None:
            whom = f" of producer {batch.producer_id}" if batch.producer_id >= 0 else ""
            return f"the {batch.control} marker{whom} at {record.offset}"
        value = "null" if record.value is None else record.value
        if record.key is None:
            return f"{value}@{record.offset} (no key)"
        mark = " flagged as a delete" if record.flagged and record.value is not None else ""
        version = self._version(record)
        return f"{record.key}={value}@{record.offset}{mark}{f' ({version})' if version else ''}"

    def names(self, uids: Iterable[int]) -> str:
        """Several records in one phrase."""
        return listed([self.name(uid) for uid in uids])

    def _version(self, record: Record) -> str:
        """Version of a record, such as `version 7`; empty under the offset strategy."""
        strategy = self.rules.cleaner.strategy
        if strategy == "offset" and not self._changes_strategy:
            return ""
        if strategy == "timestamp":
            return f"timestamp {record.timestamp_ms:,} ms"
        if strategy not in ("offset", "header"):
            return f"version {self._cleaner_version(record)}"
        found = meant_version(record, self.rules.topic.strategy_header or DEFAULT_HEADER)
        words = "no version" if found is None else f"version {found}"
        return words + (self._misread(record, found) if strategy == "header" else "")

    def _misread(self, record: Record, meant: int | None) -> str:
        """Words for a version that the cleaner misreads, or compares as bytes; else empty."""
        try:
            read = self._cleaner_version(record)
        except UnreadableVersion:
            return ", which stops the pass: it reads as none"
        form = self.rules.cleaner.header_form
        if form == "last_bytes":
            header = self.rules.topic.strategy_header or DEFAULT_HEADER
            found = [value for name, value in record.headers if name == header]
            return f", bytes {found[-1].hex(' ')}" if found else ""
        taken: int | None = read[0]
        if form == "last_long":
            taken = read[1] if read[0] else None
        elif form == "first_varint" and read[0] < 0:
            taken = None
        if taken == meant:
            return ""
        return ", read as no version" if taken is None else f", read as {taken}"

    def order_kind(self) -> FactKind:
        """The kind of a fact about who wins."""
        strategy = self.rules.cleaner.strategy
        return {"offset": "order", "timestamp": "timestamp"}.get(strategy, "version")

    def by_rules(self, *names: str) -> str:
        """Values of some rules in this run, in brackets."""
        values = [f"{name}: {getattr(getattr(self.rules, GROUP_OF[name]), name)}" for name in names]
        return f"({', '.join(values)})"

    def clock(self, replica: str, now_ms: int) -> str:
        """Time by a replica's clock, such as `its clock (1,200 ms ahead) at 9,500 ms`."""
        skew = 0 if self.skews is None else self.skews.get(replica, 0)
        wrong = f" ({abs(skew):,} ms {'ahead' if skew > 0 else 'behind'})" if skew else ""
        return f"its clock{wrong} at {now_ms:,} ms"

    def fault(self, replica: str, before: int) -> str:
        """The fault that lasts at a replica, in brackets; empty without one."""
        at = self.lasting_fault(replica, before)
        if at is None:
            return ""
        return f" ({self.event(at).fault} {self.when(at)}: {self.event(at).detail})"

    def knowing(self, replica: str, before: int) -> str:
        """A replica's name with the epochs that it knew in brackets."""
        return f"{replica} (epochs {self.epochs_of(replica, before)})"

    def epochs_of(self, replica: str, before: int = END) -> str:
        """The epochs that a replica knew, such as `1 from 0 and 3 from 2`.

        They are those of its epoch cache, which no cleaning pass changes.
        """
        checker = Checker(self.rules, [])
        caches = EpochCacheConsistency(checker.history, lambda *_, **__: None)
        checker.listen(handlers_of(caches))
        checker.on_all(self.events[: min(before, self.end)])
        known = [f"{epoch} from {start}" for epoch, start in caches.known(replica)]
        return listed(known) or "none"

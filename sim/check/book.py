"""What the oracle knows, and the questions that invariants ask it.

Committed history is never read from a compacted log: every replica is compared with this book, not
with another replica.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sim.compaction import TOMBSTONE_MARKS
from sim.compaction.strategies import Strategy, Version, promised_strategy
from sim.log import Control, Record
from sim.rules import Rules

HOLE = 0
"""No slot at this offset."""

EMPTY = -1
"""A slot whose record is gone: offset and epoch are kept."""


class Written(NamedTuple):
    """What is known of one append, by its uid."""

    record: Record
    epoch: int
    producer_id: int
    transactional: bool
    control: Control | None
    tombstone: bool
    version: Version


class Disk:
    """What one replica holds, offset by offset.

    Attributes:
        name: The replica.
        up: False while it is down; its disk still counts.
        start: Log start offset (inclusive).
        hw: High watermark (exclusive).
        clean: Everything below was cleaned (exclusive).
        slots: Index = offset; the uid there, EMPTY or HOLE. Its length is the log end offset.
        lineage: Index = offset; the uid last written there in this log's history, kept when
            cleaning removes the record and inherited with a copied gap; 0 = unknown.
        suspects: Offsets whose slot is not the committed record and whose absence no committed
            fact excuses for good; they are judged when somebody asks.
        leo_before: Log end offset before the latest cleaning pass or crash.
        snapshots: (end offset, epoch) -> its records.
        horizons: Base offset of a batch -> delete horizon in ms.
    """

    __slots__ = (
        "clean",
        "horizons",
        "hw",
        "leo_before",
        "lineage",
        "name",
        "slots",
        "snapshots",
        "start",
        "suspects",
        "up",
    )

    def __init__(self, name: str) -> None:
        """An empty disk."""
        self.name = name
        self.up = True
        self.start = 0
        self.hw = 0
        self.clean = 0
        self.slots: list[int] = []
        self.lineage: list[int] = []
        self.suspects: set[int] = set()
        self.leo_before = 0
        self.snapshots: dict[tuple[int, int], tuple[Record, ...]] = {}
        self.horizons: dict[int, int] = {}

    @property
    def leo(self) -> int:
        """Log end offset (exclusive)."""
        return len(self.slots)

    def at(self, offset: int) -> int:
        """The uid at `offset`, EMPTY or HOLE."""
        return self.slots[offset] if offset < len(self.slots) else HOLE

    def cut(self, end: int) -> None:
        """Forget everything at or above `end`."""
        del self.slots[end:]
        del self.lineage[end:]
        if self.suspects:
            self.suspects = {offset for offset in self.suspects if offset < end}
        if self.horizons:
            self.horizons = {base: at for base, at in self.horizons.items() if base < end}
        self.hw = min(self.hw, end)
        self.clean = min(self.clean, end)


class Book:
    """The cluster-wide book of appends and commits, and a shadow of every disk.

    Attributes:
        rules: The rules of the run, where they change the newest; they say what beats what and
            what marks a tombstone.
        disks: By replica, in order of creation.
        written: uid -> what was appended.
        uids_of_key: key -> uids appended for it, in order.
        committed: Index = offset; uid that was there when the offset was first committed (H).
        committed_twice: Offset -> the second uid that was committed there.
        winners: key -> uid of the winning committed, decided record.
        aborted: uids of committed data whose transaction was aborted.
        undecided: producer -> uids of committed data of its open transaction.
        status: uid -> True committed, False aborted, for decided transactional data.
        uid_at: (offset, epoch) -> uid first assigned there.
        contested: Offsets that were given to more than one uid.
        disagreeing: Contested offsets at which disks hold different uids at present.
        zombies_count: Whether an append by a deposed leader that has not heard of it yet is held
            to `no-offset-reuse`. The story format says so; in a timed run such an append is what
            epochs are there for: it is never committed, and truncated when the leader hears.
        newest_epoch: The highest epoch anybody was elected in.
        leader: Who was elected in the newest epoch.
        isr: The in-sync set, as that leader sees it.
        voters: Who counts for a majority.
        gone: Who has left for good.
        recommitted: By the latest high watermark: (offset, uid) that were committed as another.
        reassigned: By the latest append: (record, uid that had the same offset and epoch before).
        expired_below: Offsets below were deleted by retention on some replica (exclusive).
        altered: By the latest copy: records that are not the very ones that were appended.
        outside: How the run left the durability contract (sim.check.durability); None = not yet.
        previous_hw: The high watermark of the replica of the latest event, before it moved.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        label: Callable[[int], str | None] = lambda _: None,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
    ) -> None:
        """An empty book for a run under `rules`; `label` names uids in sentences.

        `earlier` rules were in force on some replica as well: what lost under them may be gone.
        """
        self.rules = rules
        self.zombies_count = zombies_count
        self.newest_epoch = 0
        earlier = tuple(earlier)
        self._version = _promised(rules).version
        self._earlier: list[tuple[Callable[[Record], Version], dict[str, Version]]] = [
            (_promised(one).version, {}) for one in earlier
        ]
        self._is_tombstone = TOMBSTONE_MARKS[rules.cleaner.tombstone_mark]
        marks = dict.fromkeys(one.cleaner.tombstone_mark for one in earlier)
        self._earlier_marks = [TOMBSTONE_MARKS[mark] for mark in marks]
        self._label = label
        self.disks: dict[str, Disk] = {}
        self.written: dict[int, Written] = {}
        self.uids_of_key: dict[str, list[int]] = {}
        self.committed: list[int] = []
        self.committed_twice: dict[int, int] = {}
        self.winners: dict[str, int] = {}
        self.aborted: set[int] = set()
        self.undecided: dict[int, list[int]] = {}
        self.status: dict[int, bool] = {}
        self.uid_at: dict[tuple[int, int], int] = {}
        self._first_uid: dict[int, int] = {}
        self.contested: set[int] = set()
        self.disagreeing: list[int] = []
        self.leader: str | None = None
        self.isr: tuple[str, ...] = ()
        self.voters: tuple[str, ...] = ()
        self.gone: set[str] = set()
        self.recommitted: list[tuple[int, int]] = []
        self.reassigned: list[tuple[Record, int]] = []
        self.altered: list[Record] = []
        self.expired_below = 0
        self.previous_hw = 0
        self.outside: str | None = None

    def forget(self, replica: str) -> None:
        """A replica is gone for good: its disk counts no more, nor does it in any set."""
        del self.disks[replica]
        self.gone.add(replica)
        self.isr, self.voters = self.present(self.isr), self.present(self.voters)

    def present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the replicas that have not left for good."""
        return tuple(name for name in names if name not in self.gone) if self.gone else names

    def describe(self, uid: int) -> str:
        """A record in words: label or key=value, with its offset."""
        known = self.written.get(uid)
        if known is None:
            return "nothing"
        record = known.record
        label = self._label(uid)
        if label is not None:
            return f"{label}@{record.offset}"
        if known.control is not None:
            return (
                f"{known.control} marker of producer {known.producer_id} (offset {record.offset})"
            )
        if known.tombstone:
            return f"tombstone of {record.key} (offset {record.offset})"
        return f"{record.key}={record.value} (offset {record.offset})"

    def beats(self, uid: int, other: int) -> bool:
        """Whether `uid` wins over `other` of the same key under the topic's strategy."""
        return self.written[uid].version > self.written[other].version

    def is_value(self, uid: int) -> bool:
        """Keyed data that is neither a tombstone nor aborted."""
        known = self.written[uid]
        return (
            known.control is None
            and known.record.key is not None
            and not known.tombstone
            and uid not in self.aborted
        )

    def lost_before(self, uid: int) -> bool:
        """By settings in force earlier, a committed record beats keyed `uid`, or it is a delete."""
        record = self.written[uid].record
        return any(
            record.key in highest and highest[record.key] > version(record)
            for version, highest in self._earlier
        ) or any(is_tombstone(record) for is_tombstone in self._earlier_marks)

    def takes_for_tombstone(self, record: Record) -> bool:
        """Whether the run's mark makes a keyed data record a tombstone."""
        return self._is_tombstone(record)

    def excused_for_good(self, uid: int) -> bool:
        """The absence of a committed `uid` is explained by committed facts, now and for ever.

        It was beaten by a committed record, is a tombstone or a marker (their own invariants
        judge those), is aborted data, or has no key.
        """
        known = self.written.get(uid)
        if known is None or known.tombstone:
            return True
        if known.control is not None:
            return known.control in (Control.COMMIT, Control.ABORT)
        key = known.record.key
        if key is None or uid in self.aborted:
            return True
        winner = self.winners.get(key)
        if winner is not None and self.written[winner].version > known.version:
            return True
        return self.lost_before(uid)

    def excused(self, uid: int) -> bool:
        """As `excused_for_good`, or the present leader holds a record that beats it."""
        if self.excused_for_good(uid):
            return True
        if self.leader is None:
            return False
        slots = self.disks[self.leader]
        key = self.written[uid].record.key
        return any(
            other != uid
            and self.beats(other, uid)
            and slots.at(self.written[other].record.offset) == other
            for other in self.uids_of_key.get(key or "", ())
        )

    def has_committed(self, disk: Disk, offset: int) -> bool:
        """Whether `disk` has a committed offset: the uid, an empty slot or a justified hole."""
        if offset >= len(disk.slots):
            return False
        slot, uid = disk.slots[offset], self.committed[offset]
        if slot in (uid, EMPTY):
            return True
        return slot == HOLE and self.excused(uid)

    def first_missing(self, disk: Disk, below: int, *, twice_counts: bool) -> int | None:
        """The lowest committed offset in [start, below) that `disk` does not have; None = all.

        `twice_counts` false leaves out offsets that were committed twice.
        """
        below = min(below, len(self.committed))
        if len(disk.slots) >= below and not disk.suspects:
            return None
        for offset in sorted(disk.suspects):
            judged = twice_counts or offset not in self.committed_twice
            if judged and disk.start <= offset < below and not self.has_committed(disk, offset):
                return offset
        for offset in range(max(len(disk.slots), disk.start), below):
            if twice_counts or offset not in self.committed_twice:
                return offset
        return None

    def pairs_differing(self, offset: int) -> Iterable[tuple[Disk, Disk]]:
        """Pairs of disks with different records at `offset`, in order of creation."""
        holders = [disk for disk in self.disks.values() if disk.at(offset) > 0]
        for index, disk in enumerate(holders):
            for other in holders[index + 1 :]:
                if disk.slots[offset] != other.slots[offset]:
                    yield disk, other

    def _forget_disagreement(self) -> None:
        """Look again after slots went: that can only end a disagreement."""
        if self.disagreeing:
            self._refresh_disagreement()

    def _refresh_disagreement(self) -> None:
        """Find the contested offsets at which disks hold different uids now."""
        slots = [disk.slots for disk in self.disks.values()]
        self.disagreeing = [
            offset
            for offset in sorted(self.contested)
            if len({s[offset] for s in slots if offset < len(s) and s[offset] > 0}) > 1
        ]


def _promised(rules: Rules) -> Strategy:
    """The order by which winners are judged."""
    return promised_strategy(
        rules.cleaner.strategy,
        header=rules.topic.strategy_header,
        header_form=rules.cleaner.header_form,
    )

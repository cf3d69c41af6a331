"""Facts of a run: what was written, committed and held; events alone change them.

Committed history is never read from a compacted log: it is noted when a leader commits, and every
replica is compared with it, not with another replica. What can be asked about these facts is
`sim.check.queries`, how events change them `sim.check.history`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from typing import Final

from sim.check.listening import handlers_of
from sim.check.promise import Mark, Version, VersionOf, promised_mark, promised_order
from sim.protocol.events import Removal
from sim.protocol.log.record import Batch, Control, Record
from sim.protocol.rules import Rules

HOLE: Final = 0
"""No record and no batch at this offset."""

EMPTY: Final = -1
"""A batch without records at this offset: its offsets and epoch are kept."""


class ReplicaView:
    """The log of one replica as events tell it.

    Attributes:
        name: The replica.
        up: False while it is down; what it holds still counts.
        log_start_offset: First offset of the log (inclusive).
        high_watermark: As far as it knows what is committed (exclusive).
        first_dirty_offset: Everything below was cleaned (exclusive).
        slots: Index = offset; the uid there, EMPTY or HOLE. Its length is the log end offset.
        lineage: Index = offset; the uid last written there in this log's history, kept when
            cleaning removes the record and inherited with a copied gap; 0 = unknown.
        unexplained_offsets: Where the slot is not the committed record and no committed fact
            explains its absence for good; they are judged when somebody asks.
        log_end_offset_before: The log end offset before the latest cleaning pass or crash.
        snapshots: (end offset, epoch) -> its records.
        horizons: Base offset of a batch -> delete horizon in ms.
        losses: Rises whenever a tombstone or a marker of the committed history went from this log
            or did not come, whatever the cause; a log that was replaced counts on.
        last_batch: What was appended or copied last, as it came.
    """

    def __init__(self, name: str, *, starts_at: int = 0) -> None:
        """An empty log that starts, and ends, at an offset; all below it is committed."""
        self.name = name
        self.up = True
        self.log_start_offset = starts_at
        self.high_watermark = starts_at
        self.first_dirty_offset = starts_at
        self.slots: list[int] = [HOLE] * starts_at
        self.lineage: list[int] = [0] * starts_at
        self.unexplained_offsets: set[int] = set()
        self.log_end_offset_before = 0
        self.snapshots: dict[tuple[int, int], tuple[Record, ...]] = {}
        self.horizons: dict[int, int] = {}
        self.losses = 0
        self.last_batch: Batch | None = None

    @property
    def log_end_offset(self) -> int:
        """Where the next record will be written (exclusive end of the log)."""
        return len(self.slots)

    def uid_at(self, offset: int) -> int:
        """The uid at `offset`, EMPTY or HOLE."""
        return self.slots[offset] if offset < len(self.slots) else HOLE

    def known_to_be_committed(self) -> list[int]:
        """The slots from the log start up to its own high watermark."""
        return self.slots[self.log_start_offset : self.high_watermark]

    def covers(self, offset: int) -> bool:
        """Whether an offset is in the log, from its start (inclusive) to its end (exclusive)."""
        return self.log_start_offset <= offset < len(self.slots)

    def overwrite_from(self, offset: int) -> None:
        """Forget what is at or above `offset`: a core with a mistake writes there once more."""
        del self.slots[offset:]
        del self.lineage[offset:]
        self.unexplained_offsets = {each for each in self.unexplained_offsets if each < offset}

    def lose(self, offsets: Iterable[int]) -> None:
        """Leave holes where something was."""
        self.losses += 1
        for offset in offsets:
            self.slots[offset] = HOLE

    def truncate_to(self, end: int) -> None:
        """Forget everything at or above `end`."""
        if end < len(self.slots):
            self.losses += 1
            self.overwrite_from(end)
        self.horizons = {base: at for base, at in self.horizons.items() if base < end}
        self.high_watermark = min(self.high_watermark, end)
        self.first_dirty_offset = min(self.first_dirty_offset, end)


def unlabelled(_: int) -> str | None:
    """No name for any uid."""
    return None


Asked = tuple[int, int, bool]
"""A transaction: its producer, its number, and whether the producer asks to commit it."""
NOTHING: Final[Mapping[str, Asked]] = {}
"""What is asked for where nobody knows it."""

_NO_DATA: Final = (None, Control.COMMIT, Control.ABORT)
"""What a batch without keys may be that a cleaner takes: data, or the end of a transaction."""


@dataclass(slots=True)
class Written:
    """What is known of one append.

    Attributes:
        record: As it was appended.
        offset: Its offset.
        key: Its key.
        batch: The batch it was appended in.
        version: The highest of a key wins.
        tombstone: Whether it is one, under the run's mark.
        plain: Data outside transactions.
    """

    record: Record
    offset: int
    key: str | None
    batch: Batch
    version: Version
    tombstone: bool
    plain: bool


class Facts:
    """What was appended and committed in a cluster, and what every replica holds.

    Attributes:
        rules: The rules of the run, where they change the newest; they say what beats what and
            what marks a tombstone.
        label: Names records by uid in sentences; None = it has no name.
        deltas: Whether records are changes of what a key is, not what it is.
        by_isr: Whether the in-sync set commits; else a majority of the voters does.
        zombies_count: Whether an append by a deposed leader that has not heard of it yet is held
            to `no-offset-reuse`. The story format says so; in a timed run such an append is what
            epochs are there for: it is never committed, and truncated when the leader hears.
        at: When the latest event happened: ms, or the step of a story.
        position: Its place among all events, from 0; -1 = nothing has happened.
        unit: What `at` counts: `ms` or `steps`.
        asked: Value -> the transaction in which it is sent, of all values; empty = nobody knows.
        replicas: By name, in order of creation.
        removed_replicas: Who has left for good.
        lost_disks: Replica -> where its log ended when it lost its disk (exclusive), until a leader
            has recorded a position on the new one.
        leader: Who was elected in the newest epoch; None = nobody, or it has left for good.
        newest_epoch: The highest epoch anybody was elected in.
        epoch_start: Where that epoch begins (inclusive).
        isr: The in-sync set, as that leader sees it.
        voters: Who counts for a majority.
        written: uid -> what was appended.
        uids_of_key: key -> uids appended for it, in order.
        controls: What control records said that were appended.
        committed: Index = offset; uid that was there when the offset was first committed.
        committed_twice: Offset -> the second uid that was committed there.
        winners: key -> uid of the winning committed, decided record.
        deleted: Of those the tombstones: key -> uid.
        late_for_deletes: Rises whenever a committed record loses to the tombstone of its key, and
            whenever a transaction's marker makes a tombstone the winner.
        status: uid -> True committed, False aborted, for decided transactional data.
        aborted: uids of committed data whose transaction was aborted.
        undecided: producer -> uids of committed data of its open transaction.
        committed_tombstones: Offsets at which a tombstone is committed, in order.
        contested_offsets: Offsets that were given to more than one uid, or in two epochs.
        disagreements: (offset, replica, replica) of all that hold different uids at present, in
            order of offsets, then of creation.
        expired_below: Offsets below were deleted by retention on some replica (exclusive).
        recommitted: By the latest high watermark: (offset, uid) that were committed as another.
        reassigned: By the latest append: (record, uid that had the same offset and epoch before).
        altered: By the latest copy or push: records that are not the very ones that were appended.
        moved_horizons: By the latest cleaning: base offset, delete horizon that the batch had, and
            the other one that it got.
        deletes_removed: By the latest cleaning: tombstones that win their key.
        markers_removed: By the latest cleaning: control records.
        uids_read: By the latest read: the uids of its records.
        reads_deviate: Whether some reader was given something else than the committed record of an
            offset, just as it was appended.
        previous_log_start: Of the replica whose log was cut, or lost its beginning, before that.
        previous_high_watermark: Of the replica whose high watermark moved, or whose log was cut,
            cleaned or replaced by a snapshot last, before that.
        whole: Batches that were appended with a record at each offset, by their id, with the uids.
        handlers: Class of event -> the method that changes the facts by it.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        label: Callable[[int], str | None] = unlabelled,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
        unit: str = "steps",
        asked: Mapping[str, Asked] = NOTHING,
    ) -> None:
        """Nothing has happened in a run under `rules`.

        `earlier` rules were in force on some replica as well: what lost under them may be gone.
        """
        self.rules = rules
        self.label = label
        self.deltas = rules.snapshots.state_machine == "deltas"
        self.by_isr = rules.replication.commit == "isr"
        self.zombies_count = zombies_count
        self.at, self.position = 0, -1
        self.unit = unit
        self.asked = asked
        earlier = tuple(earlier)
        self._version = promised_order(rules)
        self._earlier: list[tuple[VersionOf, dict[str, Version]]] = [
            (promised_order(one), {}) for one in earlier
        ]
        self.is_tombstone = promised_mark(rules)
        self._earlier_marks: list[Mark] = [
            promised_mark(one)
            for one in {one.cleaner.tombstone_mark: one for one in earlier}.values()
        ]
        self.replicas: dict[str, ReplicaView] = {}
        self.removed_replicas: set[str] = set()
        self.lost_disks: dict[str, int] = {}
        self.leader: str | None = None
        self.newest_epoch = self.epoch_start = 0
        self.isr: tuple[str, ...] = ()
        self.voters: tuple[str, ...] = ()
        self.written: dict[int, Written] = {}
        self.uids_of_key: dict[str, list[int]] = defaultdict(list)
        self.controls: set[Control] = set()
        self.committed: list[int] = []
        self.committed_twice: dict[int, int] = {}
        self.winners: dict[str, int] = {}
        self.deleted: dict[str, int] = {}
        self.status: dict[int, bool] = {}
        self.aborted: set[int] = set()
        self.undecided: dict[int, list[int]] = {}
        self.committed_tombstones: list[int] = []
        self._given: dict[int, dict[int, int]] = defaultdict(dict)
        self.contested_offsets: set[int] = set()
        self.disagreements: list[tuple[int, ReplicaView, ReplicaView]] = []
        self.expired_below = self.late_for_deletes = 0
        self.recommitted: list[tuple[int, int]] = []
        self.reassigned: list[tuple[Record, int]] = []
        self.altered: list[Record] = []
        self.moved_horizons: list[tuple[int, int, int]] = []
        self.deletes_removed: list[Removal] = []
        self.markers_removed: list[Removal] = []
        self.uids_read: list[int] = []
        self.reads_deviate = False
        self.previous_high_watermark = self.previous_log_start = 0
        self.whole: dict[int, tuple[Batch, list[int]]] = {}
        self.handlers = handlers_of(self, prefix="_")

    def may_be_absent(self, uid: int) -> bool:
        """Committed facts alone explain that a log lacks committed `uid`, now and for ever.

        It was beaten by a committed record, is a tombstone or a marker (their own invariants
        judge those), is aborted data, or has no key.
        """
        known = self.written.get(uid)
        if known is None:
            return True
        if known.key is None:
            return known.batch.control in _NO_DATA
        return (
            known.tombstone
            or self._is_beaten(known)
            or uid in self.aborted
            or (bool(self._earlier) and self.lost_under_earlier_rules(uid))
        )

    def _is_beaten(self, known: Written) -> bool:
        """A committed, decided record beats a keyed one."""
        winner = self.winners.get(known.key or "")
        return winner is not None and self.written[winner].version > known.version

    def lost_under_earlier_rules(self, uid: int) -> bool:
        """By rules in force earlier, a committed record beats keyed `uid`, or it is a delete."""
        record = self.written[uid].record
        return self._beaten_earlier(record) or any(
            is_tombstone(record) for is_tombstone in self._earlier_marks
        )

    def _beaten_earlier(self, record: Record) -> bool:
        """By rules in force earlier, a committed record beats a keyed one."""
        return any(
            record.key in highest and highest[record.key] > version(record)
            for version, highest in self._earlier
        )

    def is_winning(self, known: Written) -> bool:
        """A keyed record, not aborted, that no committed, decided record beats.

        Where settings change, one that a record beats under earlier ones does not win, either.
        """
        return not (
            known.record.uid in self.aborted
            or self._is_beaten(known)
            or self._beaten_earlier(known.record)
        )

    @property
    def settings_change(self) -> bool:
        """Other rules than the promised ones were in force on some replica, too."""
        return bool(self._earlier)

    def enter(self, batch: Batch) -> list[int]:
        """Note the records of a new append; their uids."""
        self.reassigned = []
        data = batch.control is None
        plain = data and not batch.transactional
        if batch.control is not None:
            self.controls.add(batch.control)
        entered: list[int] = []
        for record in batch.records:
            offset, key, uid = record.offset, record.key, record.uid
            entered.append(uid)
            tombstone = data and key is not None and self.is_tombstone(record)
            version = self._version(record)
            self.written[uid] = Written(record, offset, key, batch, version, tombstone, plain)
            if key is not None:
                self.uids_of_key[key].append(uid)
            earlier = self.assign(offset, batch.epoch, uid)
            if earlier != uid:
                self.reassigned.append((record, earlier))
        return entered

    def assign(self, offset: int, epoch: int, uid: int) -> int:
        """Note that an offset was given to `uid`; to whom it was given first in that epoch."""
        given = self._given[offset]
        first = given.setdefault(epoch, uid)
        if first != uid or len(given) > 1:
            self.contested_offsets.add(offset)
        return first

    def commit_again(self, start: int, uids: list[int]) -> None:
        """A leader commits offsets from `start` on that were committed before."""
        for offset, uid in enumerate(uids, start):
            if self.committed[offset] != uid:
                self.committed_twice.setdefault(offset, uid)
                self.recommitted.append((offset, uid))

    def commit(self, start: int, uids: list[int]) -> None:
        """Extends the committed history by these uids, from offset `start` on."""
        self.committed += uids
        written = self.written
        for offset, uid in enumerate(uids, start):
            known = written.get(uid)
            if known is not None:
                if known.tombstone:
                    self.committed_tombstones.append(offset)
                if not known.plain:
                    self._decide(uid, known.batch)
                elif known.key is not None:
                    self._fold(known.key, uid, known)
        for view in self.replicas.values():
            self.compare(view, start, uids)

    def compare(self, view: ReplicaView, start: int, uids: list[int]) -> None:
        """Notes where a log has other records than the committed `uids` from offset `start` on.

        Offsets above the end of the log are not noted.
        """
        held = view.slots[start : start + len(uids)]
        if held == uids:
            return
        for offset, (slot, uid) in enumerate(zip(held, uids, strict=False), start):
            if slot != uid:
                view.losses += 1
                if slot > 0 or not self.may_be_absent(uid):
                    view.unexplained_offsets.add(offset)

    def _decide(self, uid: int, batch: Batch) -> None:
        """A record of a transaction, or a control record, is committed."""
        if batch.control is None:
            self.undecided.setdefault(batch.producer_id, []).append(uid)
            return
        committed = batch.control is Control.COMMIT
        for data in self.undecided.pop(batch.producer_id, ()):
            self.status[data] = committed
            known = self.written[data]
            if not committed:
                self.aborted.add(data)
            elif known.key is not None:
                self._fold(known.key, data, known)

    def _fold(self, key: str, uid: int, known: Written) -> None:
        """A record of `key` counts: does it win?"""
        winner = self.winners.get(key)
        if winner is None or known.version > self.written[winner].version:
            self.winners[key] = uid
            if known.tombstone:
                self.deleted[key] = uid
                self.late_for_deletes += not known.plain
            elif winner is not None:
                self.deleted.pop(key, None)
        elif key in self.deleted:
            self.late_for_deletes += 1
        for version, highest in self._earlier:
            own = version(known.record)
            highest[key] = max(own, highest.get(key, own))

    def who_commits(self) -> tuple[list[ReplicaView], int]:
        """Who counts for what is committed, and how many of them need to have it: all or most."""
        members = [self.replicas[name] for name in (self.isr if self.by_isr else self.voters)]
        return members, len(members) if self.by_isr else len(members) // 2 + 1

    def find_disagreements(self, offsets: Collection[int] | None = None) -> None:
        """Find where replicas hold different uids now: at some contested offsets, else at all."""
        views = list(self.replicas.values())
        logs = [view.slots for view in views]
        found = []
        if offsets is None:
            offsets = self.contested_offsets
        elif self.disagreements:
            found = [one for one in self.disagreements if one[0] not in offsets]
        for offset in offsets:
            if len({log[offset] for log in logs if len(log) > offset and log[offset] > HOLE}) > 1:
                found += [
                    (offset, view, other)
                    for view, other in combinations(views, 2)
                    if HOLE < view.uid_at(offset) != other.uid_at(offset) > HOLE
                ]
        self.disagreements = sorted(found, key=itemgetter(0))

    def present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those replicas that have not left for good."""
        removed = self.removed_replicas
        return tuple([name for name in names if name not in removed]) if removed else names

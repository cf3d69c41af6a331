"""The facts of a run: records that were written, committed and held; events alone change them.

Committed history is never read from a compacted log: it is noted when a leader commits, and every
replica is compared with it, not with another replica. `sim.check.history` changes
them by events, and answers questions about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations
from operator import itemgetter
from typing import Final

from msgspec import Struct

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
    """The log of one replica, rebuilt from events.

    Attributes:
        name: The replica.
        up: False while it is down; its log still counts.
        log_start_offset: First offset of the log (inclusive).
        high_watermark: Its high watermark (exclusive).
        first_dirty_offset: End of what was cleaned (exclusive).
        slots: By offset: the uid there, EMPTY or HOLE. Its length is the log end offset.
        lineage: By offset: the uid last written there in this log's history, kept when cleaning
            removes the record and inherited with a copied gap; 0 if unknown.
        unexplained_offsets: Offsets where the slot is not the committed record, and no committed
            fact justifies its absence for good; invariants judge them.
        log_end_offset_before: The log end offset before the latest cleaning pass, or as the latest
            crash left it.
        snapshots: Records of each snapshot by (end offset, epoch).
        horizons: Delete horizon in ms by base offset of the batch.
        losses: Number that rises whenever this log may begin to show a deleted key: a pass removed
            a marker or a tombstone that decides, something was cut, lost or pushed, or the log
            turned out to lack a committed record. It goes on when a log is replaced.
        last_batch: The batch that was written last, as it came; None without one.
    """

    def __init__(self, name: str, *, starts_at: int = 0) -> None:
        """Starts an empty log at an offset, which is its high watermark as well."""
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
        """The offset of the next record that will be written (exclusive end of the log)."""
        return len(self.slots)

    def uid_at(self, offset: int) -> int:
        """The uid at `offset`, EMPTY or HOLE."""
        return self.slots[offset] if offset < len(self.slots) else HOLE

    def known_to_be_committed(self) -> list[int]:
        """The slots from the log start up to its own high watermark."""
        return self.slots[self.log_start_offset : self.high_watermark]

    def covers(self, offset: int) -> bool:
        """True for an offset of the log, from its start (inclusive) to its end (exclusive)."""
        return self.log_start_offset <= offset < len(self.slots)

    def overwrite_from(self, offset: int) -> None:
        """Drops what is at or above `offset`: a cut, or a replica with a bug writes there again."""
        del self.slots[offset:]
        del self.lineage[offset:]
        self.unexplained_offsets = {each for each in self.unexplained_offsets if each < offset}

    def lose(self, offsets: Iterable[int]) -> None:
        """Turns offsets into holes."""
        self.losses += 1
        for offset in offsets:
            self.slots[offset] = HOLE

    def truncate_to(self, end: int) -> None:
        """Drops everything at or above `end`; high watermark and clean section fall to it."""
        if end < len(self.slots):
            self.losses += 1
            self.overwrite_from(end)
        self.horizons = {base: at for base, at in self.horizons.items() if base < end}
        self.high_watermark = min(self.high_watermark, end)
        self.first_dirty_offset = min(self.first_dirty_offset, end)


def unlabelled(_: int) -> str | None:
    """Names no record; the default of `label`."""
    return None


Asked = tuple[int, int, bool]
"""A transaction: its producer, its number, and true if the producer asks to commit it."""
NOTHING: Final[Mapping[str, Asked]] = {}
"""The transactions of a run where they are not known."""

_REMOVABLE_WITHOUT_KEY: Final = (None, Control.COMMIT, Control.ABORT)
"""The kinds of batches whose records without keys a cleaner may remove: data, markers."""


class Written(Struct, frozen=True, gc=False):
    """One appended record, with its batch and its version.

    Attributes:
        record: The record as it was appended.
        offset: Its offset.
        key: Its key.
        batch: The batch it was appended in.
        version: Its version; the highest of a key wins.
        tombstone: True for a tombstone under the run's mark.
        plain: True for data outside transactions.
    """

    record: Record
    offset: int
    key: str | None
    batch: Batch
    version: Version
    tombstone: bool
    plain: bool


class Facts:
    """The appended and committed records of a cluster, and the logs of its replicas.

    Attributes:
        rules: The rules of the run, the newest where they change; they define which record of a key
            wins, and the mark of a tombstone.
        label: Function that names a record by uid in sentences; None for one without a name.
        deltas: True if records change the value of a key instead of replacing it.
        by_isr: True if the in-sync set commits, false if a majority of the voters does.
        zombies_count: True if `no-offset-reuse` also judges an append by a deposed leader that has
            not heard of its successor. So it is in stories. In a timed run epochs deal with such an
            append: it is never committed, and truncated when the leader hears.
        at: Time of the latest event: ms, or the step of a story.
        position: Place of the latest event among all events, from 0; -1 before the first.
        unit: Unit of `at`: `ms` or `steps`.
        asked: The transaction of every value that is sent; empty where transactions are not known.
        replicas: The logs by name of the replica, in order of creation.
        removed_replicas: Names of replicas that have left for good.
        lost_disks: Log end offset before the loss (exclusive) of each replica that lost its disk,
            until a leader has recorded a position on the new disk.
        leader: Leader of the newest epoch; None before the first, or if it has left for good.
        newest_epoch: The highest epoch of an election.
        epoch_start: First offset of that epoch (inclusive).
        isr: The in-sync set, as that leader sees it.
        voters: Names of the replicas of which a majority commits.
        written: The appended records by uid.
        uids_of_key: The uids of each key, in order of appends.
        controls: Kinds of the control records that were appended.
        committed: By offset: the uid that was there when the offset was first committed.
        committed_twice: The second uid that was committed, by offset.
        winners: The uid of the winning committed, decided record of each key.
        deleted: The `winners` that are tombstones.
        late_for_deletes: Number that rises whenever a committed record loses to the tombstone of
            its key, and whenever a transaction's marker makes a tombstone the winner.
        status: Fate of decided transactional data by uid: true if committed, false if aborted.
        aborted: The uids of committed data whose transaction was aborted.
        undecided: The uids of committed data of open transactions by producer.
        committed_tombstones: Offsets at which a tombstone is committed, in order.
        contested_offsets: Offsets that were given to more than one uid, or in two epochs.
        disagreements: (offset, replica, replica) of all that hold different uids at present, in
            order of offsets, then of creation.
        expired_below: Offsets below were deleted by retention on some replica (exclusive).
        recommitted: Pairs (offset, uid) that the latest high watermark committed over another uid.
        reassigned: Records of the latest append, each with the uid that got its offset in the same
            epoch before.
        altered: Records of the latest copy or push that are not the appended objects themselves.
        moved_horizons: Batches whose delete horizon the latest pass changed: base offset, horizon
            before, horizon after.
        deletes_removed: Removals of tombstones that no committed record beats, by the latest pass.
        markers_removed: Removals of control records, by the latest pass.
        uids_read: The uids of the records of the latest read.
        reads_deviate: True once a reader was given anything but the committed record of an offset
            as it was appended.
        previous_log_start: Log start before the latest truncation, or loss of the beginning of a
            log, on the replica concerned.
        previous_high_watermark: High watermark before the latest move of one, truncation, pass or
            installed snapshot, on the replica concerned.
        whole: Batches that were appended with a record at each offset, with their uids, by the id
            of the batch.
        handlers: The methods that change the facts, by class of event.
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
        """Starts without events, in a run under `rules`.

        `earlier` rules were in force on some replica as well: records that lost under them may be
        gone.
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
        """True if committed facts alone justify that a log lacks committed `uid`, for ever.

        A committed record beats it, or it is a tombstone or a marker (which have invariants of
        their own), by the present rules or by earlier ones; or it is aborted data, data without a
        key, or no known record.
        """
        known = self.written.get(uid)
        if known is None:
            return True
        if known.key is None:
            return known.batch.control in _REMOVABLE_WITHOUT_KEY
        return (
            known.tombstone
            or self._is_beaten(known)
            or uid in self.aborted
            or (bool(self._earlier) and self.lost_under_earlier_rules(uid))
        )

    def _is_beaten(self, known: Written) -> bool:
        """True if a committed, decided record beats a keyed one."""
        winner = self.winners.get(known.key or "")
        return winner is not None and self.written[winner].version > known.version

    def lost_under_earlier_rules(self, uid: int) -> bool:
        """True if under earlier rules a committed record beats `uid`, or `uid` is a delete."""
        record = self.written[uid].record
        return self._beaten_earlier(record) or any(
            is_tombstone(record) for is_tombstone in self._earlier_marks
        )

    def _beaten_earlier(self, record: Record) -> bool:
        """True if under earlier rules a committed record beats a keyed one."""
        return any(
            record.key in highest and highest[record.key] > version(record)
            for version, highest in self._earlier
        )

    def is_winning(self, known: Written) -> bool:
        """True for a keyed record, not aborted, that no committed, decided record beats.

        Where settings change, no committed record may beat it under the earlier ones either.
        """
        return not (
            known.record.uid in self.aborted
            or self._is_beaten(known)
            or self._beaten_earlier(known.record)
        )

    @property
    def settings_change(self) -> bool:
        """True if other rules than the promised ones were in force on some replica."""
        return bool(self._earlier)

    def enter(self, batch: Batch) -> list[int]:
        """Notes the records of a new append; returns their uids."""
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
        """Notes that an offset was given to `uid`; returns its first uid in that epoch."""
        given = self._given[offset]
        first = given.setdefault(epoch, uid)
        if first != uid or len(given) > 1:
            self.contested_offsets.add(offset)
        return first

    def commit_again(self, start: int, uids: list[int]) -> None:
        """Notes the offsets from `start` on that a leader commits again, with another uid.

        An offset of which a log knows no record (uid 0) is missing there, not committed twice.
        """
        for offset, uid in enumerate(uids, start):
            if uid and self.committed[offset] not in (uid, 0):
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
        """Notes that a record of a transaction, or a control record, is committed."""
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
        """Notes a committed, decided record of `key`, which may win."""
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
        """The replicas that decide on what is committed, and how many of them need to have it."""
        members = [self.replicas[name] for name in (self.isr if self.by_isr else self.voters)]
        return members, len(members) if self.by_isr else len(members) // 2 + 1

    def find_disagreements(self, offsets: Collection[int] | None = None) -> None:
        """Finds the `disagreements` anew, at all contested offsets or at the given ones."""
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
        """The named replicas without those that have left for good."""
        removed = self.removed_replicas
        return tuple([name for name in names if name not in removed]) if removed else names

"""Questions about the facts of a run; they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from sim.check.facts import EMPTY, HOLE, Facts, ReplicaView
from sim.check.violation import RecordSeen
from sim.protocol.log.record import Control


class Queries(Facts):
    """The facts, with the questions that invariants ask."""

    def describe(self, uid: int) -> RecordSeen:
        """A record as it was appended, for evidence."""
        known = self.written.get(uid)
        if known is None:
            return RecordSeen()
        record, control = known.record, known.batch.control
        return RecordSeen(
            uid,
            known.offset,
            known.key,
            record.value,
            known.tombstone,
            None if control is None else str(control),
            known.batch.producer_id,
            self.label(uid),
        )

    def key_of(self, uid: int) -> str | None:
        """The key of a record; None for a record without one, or an unknown uid."""
        known = self.written.get(uid)
        return None if known is None else known.key

    def in_committed_history(self, uid: int) -> bool:
        """True for the record that was committed first at its offset."""
        committed, offset = self.committed, self.written[uid].offset
        return offset < len(committed) and committed[offset] == uid

    def beats(self, uid: int, other: int) -> bool:
        """True if `uid` wins over `other` of the same key under the topic's strategy."""
        written = self.written
        return written[uid].version > written[other].version

    def beating(self, uid: int) -> list[int]:
        """The records of its key that win over `uid`, in order of appends."""
        known, written = self.written[uid], self.written
        same_key = self.uids_of_key.get(known.key or "", ())
        return [other for other in same_key if written[other].version > known.version]

    def holds(self, view: ReplicaView, uid: int) -> bool:
        """True if a log has the record `uid` at the offset it was appended at."""
        return view.uid_at(self.written[uid].offset) == uid

    def is_value(self, uid: int) -> bool:
        """True for keyed data that is neither a tombstone nor aborted."""
        known = self.written[uid]
        return (
            known.batch.control is None
            and known.key is not None
            and not known.tombstone
            and uid not in self.aborted
        )

    def is_committed(self, uid: int) -> bool:
        """True for a record of committed history whose transaction, if any, is committed."""
        known = self.written[uid]
        return self.in_committed_history(uid) and (
            known.plain or not known.batch.transactional or self.status.get(uid) is True
        )

    def laggards(self, remover: str, tombstone: int) -> list[tuple[ReplicaView, int]]:
        """Other replicas whose log ends at or below a tombstone, with the values it beats there.

        They may be down.

        Each is paired with every such value that is not aborted, in order of creation, then of
        appends.
        """
        record = self.written[tombstone].record
        return [
            (view, uid)
            for view in self.replicas.values()
            if view.name != remover and view.log_end_offset <= record.offset
            for uid in self.uids_of_key[record.key or ""]
            if self.holds(view, uid) and self.is_value(uid) and self.beats(tombstone, uid)
        ]

    def verdict_in(self, view: ReplicaView, uid: int) -> bool | None:
        """The verdict of a log's markers on data it holds: true if it counts, None while open.

        Data outside transactions counts; of a transaction the first marker above decides.
        """
        written = self.written
        batch, offset = written[uid].batch, written[uid].offset
        if not batch.transactional:
            return True
        for slot in view.slots[offset + 1 :]:
            above = written[slot].batch if slot > 0 else None
            if (
                above is not None
                and above.producer_id == batch.producer_id
                and above.control in (Control.COMMIT, Control.ABORT)
            ):
                return above.control is Control.COMMIT
        return None

    def may_be_absent_now(self, uid: int) -> bool:
        """True if committed facts justify its absence, or the leader holds a record that beats it.

        Records that the leader's own log aborts do not count.
        """
        if self.may_be_absent(uid):
            return True
        if self.leader is None:
            return False
        leader = self.replicas[self.leader]
        return any(
            self.holds(leader, other)
            and other not in self.aborted
            and self.verdict_in(leader, other) is not False
            for other in self.beating(uid)
        )

    def has_committed(self, view: ReplicaView, offset: int) -> bool:
        """True if a log has a committed offset: the uid, an empty batch or a justified hole."""
        if offset >= len(view.slots):
            return False
        slot, uid = view.slots[offset], self.committed[offset]
        if slot in (uid, EMPTY):
            return True
        return slot == HOLE and self.may_be_absent_now(uid)

    def accounts_for(self, view: ReplicaView, offset: int) -> bool:
        """True if a log has a committed offset, or starts above it."""
        return offset < view.log_start_offset or self.has_committed(view, offset)

    def in_doubt(self, view: ReplicaView, below: int) -> Iterator[int]:
        """The committed offsets in [log start, below) that a log may lack, in order."""
        start, below = view.log_start_offset, min(below, len(self.committed))
        not_reached = range(max(len(view.slots), start), below)
        for offset in chain(sorted(view.unexplained_offsets), not_reached):
            if start <= offset < below:
                yield offset

    def first_missing(self, view: ReplicaView, below: int, *, twice_counts: bool) -> int | None:
        """The lowest committed offset in [log start, below) that a log lacks; None without one.

        `twice_counts` false leaves out offsets that were committed twice.
        """
        for offset in self.in_doubt(view, below):
            judged = twice_counts or offset not in self.committed_twice
            if judged and not self.has_committed(view, offset):
                return offset
        return None

"""Deletes: a deleted key stays deleted; its tombstone stays long enough, and not for ever."""

from typing import Any

from sim.check.facts import ReplicaView
from sim.check.folding import undone_deletes
from sim.check.invariant import DeleteInvariant, Invariant, Kind
from sim.check.listening import PART_GONE, REPLACED
from sim.protocol import events


class NoResurrection(DeleteInvariant):
    """At rest no log that ends above a winning tombstone gives a value that the tombstone beats.

    For tombstone X that wins key K in the committed history, and every replica r, down or up:

        LEO(r) > X.offset implies that fold(log of r below HW(r))[K] is absent or X does not beat it

    The fold is that of the replica's own log under the promised order: its own markers decide, so
    aborted and open records do not count, and any tombstone it holds deletes what that beats,
    even if the tombstone does not win. Retention promises nothing about what it deletes.

    Source: KIP-630
    Says: {replica} gives {held} although {key} was deleted at offset {deleted_at}; its log end
        offset is {log_end} and nothing it holds deletes that.
    """

    kind = Kind.AT_REST
    family_by_cause = True
    explained_by = "state"

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Folds every log and compares it with the deleted keys."""
        written, deleted = self.written, self.history.deleted
        for view in self.replicas.values():
            for key, uid in undone_deletes(self.history, view).items():
                at, offset = written[deleted[key]].offset, written[uid].offset
                end = view.log_end_offset
                self.broken(view.name, offset, key, held=uid, deleted_at=at, log_end=end)


class NoTransientResurrection(DeleteInvariant):
    """Between two times of rest no caught-up replica shows a deleted key, not even for a while.

    A live replica has to satisfy `no-resurrection` as soon as it is caught up:

        up(r) and HW(r) >= N and LEO(r) >= N, where N offsets are committed

    A violation lasts until its log gives the key no such value any more, or another record of the
    key wins. What is still there at rest is left to `no-resurrection`. Not judged once an offset
    was committed twice, nor where settings change, since the promise is that of the newest.

    Source: KIP-630
    Says: {replica} gave {held} for {lasted} {unit}, from {since} on, although {key} was deleted at
        offset {deleted_at} and {replica} was caught up.
    """

    family_by_cause = True
    explained_by = "state"
    in_stories = False
    any_of = (
        *(events.Cleaned, events.Truncated, events.ReplicaRestarted, events.ReplicaRemoved),
        *PART_GONE,
        *REPLACED,
    )

    def begin(self) -> None:
        """Starts with no shown deleted keys."""
        self._judged: dict[str, int] = {}
        self._shown: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._count = self._longest_ms = 0

    def counters(self) -> dict[str, int]:
        """Number of times that a replica showed a deleted key, and the longest of them in ms."""
        now_ms = self.history.at
        going_on = [now_ms - since for since, _uid, _tombstone in self._shown.values()]
        longest_ms = max([self._longest_ms, *going_on])
        return {"resurrections": self._count, "resurrection_ms": longest_ms}

    def on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        """Judges the replica, which may be caught up now, if anything it depends on changed."""
        replica = event.replica
        changes = self.replicas[replica].losses + self.history.late_for_deletes
        if self._shown or self._judged.get(replica) != changes:
            self._look(replica)

    def on_any_of(self, event: Any) -> None:
        """Judges the replica after an event that may begin or end a violation."""
        self._look(event.replica)

    def on_quiesced(self, _: events.Quiesced) -> None:
        """Judges every replica; what is still shown is left to `no-resurrection`."""
        for replica in list(self.replicas):
            self._look(replica)

    def _look(self, replica: str) -> None:
        """Ends violations that are over anywhere, and judges one replica if its log changed."""
        history, view = self.history, self.replicas.get(replica)
        if self._shown:
            self._end_what_is_gone()
        if view is None:  # it has left for good
            self._judged.pop(replica, None)
            return
        changes = view.losses + history.late_for_deletes  # neither ever falls
        known = len(self.committed)
        caught_up = view.high_watermark >= known and len(view.slots) >= known
        if self._judged.get(replica) == changes or not view.up or not caught_up:
            return
        self._judged[replica] = changes
        if history.committed_twice or history.settings_change:
            return
        for key, uid in undone_deletes(history, view).items():
            if (replica, key) not in self._shown:
                self._shown[(replica, key)] = (history.at, uid, history.deleted[key])
                self._count += 1

    def _end_what_is_gone(self) -> None:
        """Ends violations of replicas that no longer give the deleted key the value."""
        undone = {
            replica: undone_deletes(self.history, self.replicas[replica])
            for replica in {replica for replica, _ in self._shown} & self.replicas.keys()
        }
        for replica, key in list(self._shown):
            if key not in undone.get(replica, {}):
                self._end(replica, key)

    def _end(self, replica: str, key: str) -> None:
        """Reports a violation that is over: a replica shows a deleted key no longer."""
        since, uid, tombstone = self._shown.pop((replica, key))
        lasted, deleted_at = self.history.at - since, self.written[tombstone].offset
        self._longest_ms = max(self._longest_ms, lasted)
        offset, unit = self.written[uid].offset, self.history.unit
        times = {"lasted": lasted, "since": since, "deleted_at": deleted_at}
        self.broken(replica, offset, key, "", since, held=uid, unit=unit, **times)


class TombstoneSafety(DeleteInvariant):
    """A pass removes no winning tombstone that another log needs to delete the key.

    A replica r may not remove tombstone X of key K, which is not aborted and which no committed,
    decided record beats, while there are another replica f, down or up, and a value Y of K with

        f holds Y, not aborted, Y.offset < LEO(f) <= X.offset, X beats Y,
        and f holds no committed, decided record of K that beats Y.

    LEO is exclusive; KIP-630, whose log end is inclusive, writes `Y < LEO < X`. The last line says
    that f's log as it stands does not delete the key by itself: a tombstone above Y would, and a
    value above Y that X beats takes the place of Y. Decided is what the markers of the committed
    history decide: an open, aborted or uncommitted record does not help. A record that f will still
    receive helps if it beats X, too: then X does not win. Not judged with `lag_guard`, which
    repairs instead.

    Source: KIP-630, Tombstone and Delete Operations
    Says: {replica} removed the tombstone of {key} (offset {offset}) while {holder}, log end offset
        {holder_end}, still held {held} and nothing that deletes it; it is needed until that log end
        offset is above {offset}.
    """

    explained_by = "removed_delete"

    def begin(self) -> None:
        """Starts with no early removals."""
        self._early = 0

    def counters(self) -> dict[str, int]:
        """The number of removals against KIP-630's sentence, see `TombstoneUntilLogEnd`."""
        return {"tombstones_removed_early": self._early}

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Looks for a log that needs one of the winning tombstones that went."""
        history = self.history
        for removal in [one for one in event.removals if one.reason == "tombstone"]:
            self._early += bool(history.laggards(event.replica, removal.uid))
        if history.rules.replication.lag_guard != "none":
            return
        for removal in history.deletes_removed:
            if history.settings_change and removal.reason != "tombstone":
                continue  # under earlier settings it was superseded
            for view, value in history.laggards(event.replica, removal.uid):
                if not self._is_beaten_on(view, value):
                    self.broken_for(event.replica, removal, view, value)
                    break

    def _is_beaten_on(self, view: ReplicaView, value: int) -> bool:
        """True if a log holds a committed, decided record of the key that beats `value`."""
        history = self.history
        return any(
            history.holds(view, uid) and history.is_committed(uid) for uid in history.beating(value)
        )


class TombstoneUntilLogEnd(DeleteInvariant):
    """No tombstone X goes while a log that ends at or below X holds a value that X beats (KIP-630).

    That is KIP-630's sentence to the letter. Where X loses to another record, or that log deletes
    the key by itself, no harm is done: `tombstone-safety` leaves these cases out. The counter
    `tombstones_removed_early` is the number of such removals.

    Source: KIP-630, Tombstone and Delete Operations
    Says: {replica} removed the tombstone of {key} (offset {offset}) while {holder}, log end offset
        {holder_end}, still held {held}; KIP-630 keeps it until that log end offset is above
        {offset}.
    """

    kind = Kind.FINDING
    explained_by = "removed_delete"
    in_stories = False

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Looks at every other log that ends at or below a removed tombstone."""
        for removal in [one for one in event.removals if one.reason == "tombstone"]:
            for view, value in self.history.laggards(event.replica, removal.uid)[:1]:
                self.broken_for(event.replica, removal, view, value)


class TombstoneEventuallyRemoved(Invariant):
    """No tombstone stays for ever: a log that is cleaned again and again holds none in the end.

    In a story, for the key k it names, live replicas r: no tombstone of k is in log(r). In
    simulated time, for all r that clean, offsets start(r) <= o < min(last stable offset, hw(r)):
    log(r)[o] is no tombstone.
    Judged: when a story asks; in simulated time after rounds of cleaning on all replicas with the
    retention in between. Excused there: `tombstone_removal: never`, which promises nothing, and
    `coordinated` while a cleaner does not run, which is its price; a record that the fix keeps at
    the log end, as traffic would set it free.

    Source: KIP-534; KAFKA-8522
    Says: {replica} still holds the tombstone of {key} (offset {offset})
    """

    kind = Kind.LIVENESS
    explained_by = "still_there"
    fairness = "cleaners run in spite of the dirty ratio, segments are rolled, and time passes"

    def begin(self) -> None:
        """Starts with no passes."""
        self._protected: dict[str, int | None] = {}

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Notes the offset that the fix protects."""
        self._protected[event.replica] = event.protected_offset

    def on_rounds_ended(self, event: events.RoundsEnded) -> None:
        """Looks for a tombstone in every log that was cleaned."""
        history, written = self.history, self.written
        removal = history.rules.cleaner.removal
        everybody = all(view.up and name in event.cleaners for name, view in self.replicas.items())
        if removal.name == "never" or (removal.gates_markers and not everybody):
            return
        undecided = [written[uid].offset for uids in history.undecided.values() for uid in uids]
        stable = min(undecided, default=len(self.committed))
        says = self.says + " after {rounds} rounds of cleaning, {interval_ms} ms apart."
        evidence = {"rounds": event.rounds, "interval_ms": event.interval_ms}
        for name in event.cleaners:
            view = self.replicas[name]
            kept = self._protected.get(name)
            if kept is not None and max(view.slots[kept + 1 :], default=0) > 0:
                kept = None
            for offset in range(view.log_start_offset, min(stable, view.high_watermark)):
                uid = view.uid_at(offset)
                if uid > 0 and written[uid].tombstone and offset != kept:
                    self.broken(name, offset, written[uid].key, says, **evidence)

    def on_tombstone_probed(self, event: events.TombstoneProbed) -> None:
        """Looks for tombstones of the key in the logs of live replicas."""
        for view in self.replicas.values():
            for uid in self.history.uids_of_key.get(event.key, ()):
                if view.up and self.written[uid].tombstone and self.history.holds(view, uid):
                    self.broken_by(view.name, uid, None, self.says + ".")


class HorizonStability(Invariant):
    """A delete horizon, once set, does not change as long as the log has the batch.

    For all passes of r that give the batch at base offset b a horizon h: no earlier pass gave it
    another, nor was it copied with another.
    Judged: after each pass. Excused: what was cut or lost and copied again is another batch.
    Not judged: that a horizon is at least one retention after the pass that took the last older
    value on this replica. Kafka promises less: a follower inherits horizons with the batches that
    it copies, and a round whose map was full may stamp a tombstone before it takes the value.

    Source: KIP-534
    Says: {replica} moved the delete horizon of the batch at {offset} from {before_ms} ms to
        {horizon_ms} ms.
    """

    explained_by = "horizon_changed"
    in_stories = False

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Compares with the horizon the same batch had, set by a pass or copied with it."""
        for base, before, horizon in self.history.moved_horizons:
            self.broken(event.replica, base, before_ms=before, horizon_ms=horizon)

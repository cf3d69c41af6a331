"""Tombstones do not pile up."""

from sim.check.invariant import Invariant, Kind
from sim.protocol.events import Cleaned, RoundsEnded, TombstoneProbed


class TombstoneEventuallyRemoved(Invariant):
    """No tombstone stays for ever: cleaned again and again, no log holds one in the end.

    In a story, for the key k it names, live replicas r: no tombstone of k is in log(r). In
    simulated time, for all r that clean, offsets start(r) <= o < min(last stable offset, hw(r)):
    log(r)[o] is no tombstone.
    Judged: when a story asks; in simulated time after rounds of cleaning on all replicas with the
    retention in between. Excused there: `tombstone_removal: never`, which promises nothing, and
    `coordinated` while a cleaner does not run, which is its price; a record that the fix keeps at
    the log end, as traffic would set it free.
    """

    kind = Kind.LIVENESS
    source = "KIP-534; KAFKA-8522"
    explained_by = "still_there"
    fairness = "cleaners run in spite of the dirty ratio, segments are rolled, and time passes"
    says = "{replica} still holds the tombstone of {key} (offset {offset})"

    def begin(self) -> None:
        """No pass was seen."""
        self._protected: dict[str, int | None] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Note what the fix keeps."""
        self._protected[event.replica] = event.protected_offset

    def on_rounds_ended(self, event: RoundsEnded) -> None:
        """Look for a tombstone in every log that was cleaned."""
        history, written = self.history, self.written
        removal = history.rules.cleaner.tombstone_removal
        everybody = all(view.up and name in event.cleaners for name, view in self.replicas.items())
        if removal == "never" or (removal == "coordinated" and not everybody):
            return
        undecided = [written[uid].offset for uids in history.undecided.values() for uid in uids]
        stable = min(undecided, default=len(self.committed))
        says = self.says + " after {rounds} rounds of cleaning, {interval_ms} ms apart."
        told = {"rounds": event.rounds, "interval_ms": event.interval_ms}
        for name in event.cleaners:
            view = self.replicas[name]
            kept = self._protected.get(name)
            if kept is not None and max(view.slots[kept + 1 :], default=0) > 0:
                kept = None
            for offset in range(view.log_start_offset, min(stable, view.high_watermark)):
                uid = view.uid_at(offset)
                if uid > 0 and written[uid].tombstone and offset != kept:
                    self.violated(name, offset, written[uid].key, says, **told)

    def on_tombstone_probed(self, event: TombstoneProbed) -> None:
        """Look for tombstones of the key in the logs of live replicas."""
        for view in self.replicas.values():
            for uid in self.history.uids_of_key.get(event.key, ()):
                if view.up and self.written[uid].tombstone and self.history.holds(view, uid):
                    self.violated_by(view.name, uid, None, self.says + ".")

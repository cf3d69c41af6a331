"""Tombstones do not pile up."""

from __future__ import annotations

from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Kind, Report
from sim.trace import Cleaned, RoundsEnded, TombstoneProbed


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

    name = "tombstone-eventually-removed"
    kind = Kind.LIVENESS
    source = "KIP-534; KAFKA-8522"
    explained_by = "still_there"
    fairness = "cleaners run in spite of the dirty ratio, segments are rolled, and time passes"

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No pass was seen."""
        super().__init__(queries, report)
        self._protected: dict[str, int | None] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Note what the fix keeps."""
        self._protected[event.replica] = event.protected_offset

    def on_rounds_ended(self, event: RoundsEnded) -> None:
        """Look for a tombstone in every log that was cleaned."""
        history = self.history
        removal = history.rules.cleaner.tombstone_removal
        everybody = all(
            view.up and name in event.cleaners for name, view in history.replicas.items()
        )
        if removal == "never" or (removal == "coordinated" and not everybody):
            return
        undecided = [uid for uids in history.undecided.values() for uid in uids]
        stable = min(
            [history.written[uid].offset for uid in undecided],
            default=len(history.committed),
        )
        for name in event.cleaners:
            view = history.replicas[name]
            kept = self._protected.get(name)
            if kept is not None and max(view.slots[kept + 1 :], default=0) > 0:
                kept = None
            for offset in range(view.log_start_offset, min(stable, view.high_watermark)):
                uid = view.uid_at(offset)
                known = history.written[uid] if uid > 0 else None
                if known is not None and known.tombstone and offset != kept:
                    self.violated(
                        name,
                        offset,
                        known.key,
                        f"{name} still holds the tombstone of {known.key} (offset {offset}) "
                        f"after {event.rounds} rounds of cleaning, {event.interval_ms} ms apart.",
                    )

    def on_tombstone_probed(self, event: TombstoneProbed) -> None:
        """Look for tombstones of the key in the logs of live replicas."""
        history = self.history
        for view in history.replicas.values():
            for uid in history.uids_of_key.get(event.key, ()):
                known = history.written[uid]
                offset = known.offset
                if view.up and known.tombstone and view.uid_at(offset) == uid:
                    self.violated(
                        view.name,
                        offset,
                        event.key,
                        f"{view.name} still holds the tombstone of {event.key} (offset {offset}).",
                    )

"""Tombstones wait for the replicas that need them (KIP-630)."""

from sim.check.invariant import DeleteInvariant, Kind
from sim.check.replica_view import ReplicaView
from sim.protocol.events import Cleaned


class TombstoneSafety(DeleteInvariant):
    """A winning tombstone stays while another log needs it to delete the key.

    A replica r may not remove tombstone X of key K, which is not aborted and which no committed,
    decided record beats, while there are another replica f, down or up, and a value Y of K with

        f holds Y, not aborted, Y.offset < LEO(f) <= X.offset, X beats Y,
        and f holds no committed, decided record of K that beats Y.

    LEO is exclusive; KIP-630, whose log end is inclusive, writes `Y < LEO < X`. The last line says
    that f's log as it stands does not delete the key by itself: a tombstone above Y would, and a
    value above Y that X beats takes the place of Y. Decided is what the markers of the committed
    history decide: an open, aborted or uncommitted record saves nobody. What f is still to be sent
    saves it when it beats X, too: then X does not win. Not judged with `lag_guard`, which repairs
    instead.
    No usual event breaks it: a usual pass takes no tombstone but a superseded one.
    """

    source = "KIP-630, Tombstone and Delete Operations"
    explained_by = "removed_delete"
    unusual_only = True
    says = (
        "{replica} removed the tombstone of {key} (offset {offset}) while {holder}, log end offset "
        "{holder_end}, still held {held} and nothing that deletes it; it is needed until that log "
        "end offset is above {offset}."
    )

    def begin(self) -> None:
        """Nothing was removed."""
        self._early = 0

    def counters(self) -> dict[str, int]:
        """Removals against KIP-630's sentence, see `TombstoneUntilLogEnd`."""
        return {"tombstones_removed_early": self._early}

    def on_cleaned(self, event: Cleaned) -> None:
        """Look for a log that needs one of the winning tombstones that went."""
        history = self.history
        for removal in [one for one in event.removals if one.reason == "tombstone"]:
            self._early += bool(history.laggards(event.replica, removal.uid))
        if history.rules.replication.lag_guard != "none":
            return
        for removal in history.deletes_removed:
            if history.settings_change and removal.reason != "tombstone":
                continue  # by the settings of before it was superseded
            for view, value in history.laggards(event.replica, removal.uid):
                if not self._is_beaten_on(view, value):
                    self.violated_for(event.replica, removal, view, value)
                    break

    def _is_beaten_on(self, view: ReplicaView, value: int) -> bool:
        """A log holds a committed, decided record of the key that beats `value`."""
        history = self.history
        return any(
            history.holds(view, uid) and history.is_committed(uid) for uid in history.beating(value)
        )


class TombstoneUntilLogEnd(DeleteInvariant):
    """KIP-630's sentence to the letter: no log that ends at or below X holds a value X beats.

    Where X loses to another record, or that log deletes the key by itself, nothing comes of it:
    that is what `tombstone-safety` leaves out. The counter `tombstones_removed_early` has so many.
    No usual event breaks it: a usual pass takes no tombstone but a superseded one.
    """

    kind = Kind.FINDING
    source = "KIP-630, Tombstone and Delete Operations"
    explained_by = "removed_delete"
    in_stories = False
    unusual_only = True
    says = (
        "{replica} removed the tombstone of {key} (offset {offset}) while {holder}, log end offset "
        "{holder_end}, still held {held}; KIP-630 keeps it until that log end offset is above "
        "{offset}."
    )

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at every other log that ends at or below a removed tombstone."""
        for removal in [one for one in event.removals if one.reason == "tombstone"]:
            for view, value in self.history.laggards(event.replica, removal.uid)[:1]:
                self.violated_for(event.replica, removal, view, value)

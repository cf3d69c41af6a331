"""Deleted keys stay deleted."""

from typing import Any

from sim.check.folding import undone_deletes
from sim.check.invariant import DeleteInvariant, Kind
from sim.check.listening import PART_GONE, REPLACED
from sim.protocol.events import (
    Cleaned,
    HighWatermarkMoved,
    Quiesced,
    ReplicaRemoved,
    ReplicaRestarted,
    Truncated,
)


class NoResurrection(DeleteInvariant):
    """At rest no log that ends above a winning tombstone gives the key a value that it beats.

    For tombstone X that wins key K in the committed history, and every replica r, down or up:

        LEO(r) > X.offset implies that fold(log of r below HW(r))[K] is absent or X does not beat it

    The fold is that of the replica's own log under the promised order: its own markers decide, so
    an aborted or open record counts for nothing, and any tombstone it holds deletes what that
    beats, whether or not it wins. Retention promises nothing about what it deletes.
    """

    kind = Kind.AT_REST
    source = "KIP-630"
    family_by_cause = True
    explained_by = "state_differs"
    says = (
        "{replica} gives {held} although {key} was deleted at offset {deleted_at}; its log end "
        "offset is {log_end} and nothing it holds deletes that."
    )

    def on_quiesced(self, _: Quiesced) -> None:
        """Fold every log."""
        written, deleted = self.written, self.history.deleted
        for view in self.replicas.values():
            for key, uid in undone_deletes(self.history, view).items():
                at, offset = written[deleted[key]].offset, written[uid].offset
                end = view.log_end_offset
                self.violated(view.name, offset, key, held=uid, deleted_at=at, log_end=end)


class NoTransientResurrection(DeleteInvariant):
    """No replica shows a deleted key for a while, between two times of rest.

    What `no-resurrection` says, of a live replica as soon as it is caught up:

        up(r) and HW(r) >= N and LEO(r) >= N, where N offsets are committed

    until its log gives the key no such value any more or another record of the key wins. What is
    still there at rest is left to `no-resurrection`. Not judged once an offset was committed twice,
    nor where settings change, since the promise is that of the newest.
    """

    source = "KIP-630"
    family_by_cause = True
    explained_by = "state_differs"
    in_stories = False
    says = (
        "{replica} gave {held} for {lasted} {unit}, from {since} on, although {key} was deleted "
        "at offset {deleted_at} and {replica} was caught up."
    )
    any_of = (
        *(Cleaned, Truncated, ReplicaRestarted, ReplicaRemoved),
        *PART_GONE,
        *REPLACED,
    )

    def begin(self) -> None:
        """No deleted key is shown."""
        self._judged: dict[str, int] = {}
        self._shown: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._count = self._longest_ms = 0

    def counters(self) -> dict[str, int]:
        """How often a deleted key was shown, and the longest time in ms, until now."""
        now_ms = self.history.at
        going_on = [now_ms - since for since, _uid, _tombstone in self._shown.values()]
        longest_ms = max([self._longest_ms, *going_on])
        return {"resurrections": self._count, "resurrection_ms": longest_ms}

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """It may be caught up now; and what a leader commits may win a key that was shown."""
        replica = event.replica
        changes = self.replicas[replica].losses + self.history.late_for_deletes
        if self._shown or self._judged.get(replica) != changes:
            self._look(replica)

    def on_any_of(self, event: Any) -> None:
        """A tombstone may be gone, or what was shown; or it is live again, or caught up at once."""
        self._look(event.replica)

    def on_quiesced(self, _: Quiesced) -> None:
        """What is still shown is no transient."""
        for replica in list(self.replicas):
            self._look(replica)

    def _look(self, replica: str) -> None:
        """See whether what is shown ended anywhere, and what this replica shows, if it changed."""
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
        """Another record wins the key, or the replica's log gives it another value, or none."""
        undone = {
            replica: undone_deletes(self.history, self.replicas[replica])
            for replica in {replica for replica, _ in self._shown} & self.replicas.keys()
        }
        for replica, key in list(self._shown):
            if key not in undone.get(replica, {}):
                self._end(replica, key)

    def _end(self, replica: str, key: str) -> None:
        """A replica shows a deleted key no longer."""
        since, uid, tombstone = self._shown.pop((replica, key))
        lasted, deleted_at = self.history.at - since, self.written[tombstone].offset
        self._longest_ms = max(self._longest_ms, lasted)
        offset, unit = self.written[uid].offset, self.history.unit
        times = {"lasted": lasted, "since": since, "deleted_at": deleted_at}
        self.violated(replica, offset, key, "", since, held=uid, unit=unit, **times)

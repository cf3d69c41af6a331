"""What a cleaner leaves behind it: one record of a key."""

from collections import Counter

from sim.check.invariant import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import Cleaned


class CleanPrefix(Invariant):
    """Below the first dirty offset a key has one record at most, beside the protected one.

    For all replicas r, keys k: there is at most one offset o < clean(r) with data of k at
    log(r)[o].
    Judged: after each pass of r. Excused: the last record of the log where the fix keeps it
    whatever it is (KIP-280, option 1); it goes as soon as the log goes on.
    """

    source = "KIP-280"
    explained_by = "kept_both"
    says = (
        "{replica} is clean below {clean_below} but holds {counted} records of {key}, at {holds}."
    )

    def on_cleaned(self, event: Cleaned) -> None:
        """Look for keys that are in the clean section more than once."""
        view, known = self.replicas[event.replica], self.written
        below = view.first_dirty_offset
        keys = [
            key for uid in view.slots[:below] if uid > 0 and (key := known[uid].key) is not None
        ]
        if len(set(keys)) < len(keys):
            for key, counted in Counter(keys).items():
                if counted > 1:
                    self._judge(view, key, event.protected_offset)

    def _judge(self, view: ReplicaView, key: str, protected: int | None) -> None:
        below = view.first_dirty_offset
        held = sorted(
            offset
            for uid in self.history.uids_of_key[key]
            if (offset := self.written[uid].offset) < below and view.uid_at(offset) == uid
        )
        if held and held[-1] == protected and max(view.slots[protected + 1 :], default=0) <= 0:
            held.pop()
        if len(held) > 1:
            self.violated(
                view.name, held[-1], key, clean_below=below, counted=len(held), holds=tuple(held)
            )

"""What a cleaner leaves behind it: one record of a key."""

from collections import Counter

from sim.check.invariant import Invariant
from sim.protocol.events import Cleaned


class CleanPrefix(Invariant):
    """Below the first dirty offset a key has one record at most, beside the protected one.

    For all replicas r, keys k: there is at most one offset o < clean(r) with data of k at
    log(r)[o].
    Judged: after each pass of r. Excused: the record that the fix keeps in this pass, whatever it
    is (KIP-280, option 1: the last one of the log). It counts again in the first pass that does
    not keep it.
    """

    source = "KIP-280"
    explained_by = "kept_both"
    says = (
        "{replica} is clean below {clean_below} but holds {counted} records of {key}, at {holds}."
    )

    def on_cleaned(self, event: Cleaned) -> None:
        """Look for keys that are in the clean section more than once."""
        view, known = self.replicas[event.replica], self.written
        slots, below = view.slots, view.first_dirty_offset
        keys = [key for uid in slots[:below] if uid > 0 and (key := known[uid].key) is not None]
        repeated = Counter(keys) if len(set(keys)) < len(keys) else {}
        for key, counted in repeated.items():
            if counted > 1:
                held = [at for at in range(below) if slots[at] > 0 and known[slots[at]].key == key]
                if event.protected_offset in held:
                    held.remove(event.protected_offset)
                if len(held) > 1:
                    told = {"clean_below": below, "counted": len(held)}
                    self.violated(view.name, held[-1], key, holds=tuple(held), **told)

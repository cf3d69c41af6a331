"""What a cleaner leaves behind it: one record of a key."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sim.check.registry import CUT, PART_GONE, REPLACED, Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import Cleaned, ReplicaAdded


class CleanPrefix(Invariant):
    """Below the first dirty offset a key has one record at most, beside the protected one.

    For all replicas r, keys k: there is at most one offset o < clean(r) with data of k at
    log(r)[o].
    Judged: after each pass of r. Excused: the last record of the log where the fix keeps it
    whatever it is (KIP-280, option 1); it goes as soon as the log goes on.
    """

    name = "clean-prefix"
    source = "KIP-280"
    explained_by = "kept_both"
    says = (
        "{replica} is clean below {clean_below} but holds {counted} records of {key}, at {holds}."
    )
    any_of = (ReplicaAdded, *CUT, *PART_GONE, *REPLACED)

    def begin(self) -> None:
        """No clean section yet."""
        self._counts: dict[str, dict[str, int]] = {}
        self._clean: dict[str, int] = {}
        self._repeated: dict[str, dict[str, None]] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Update how many records each key has in the clean section, and judge what changed."""
        view = self.replicas[event.replica]
        counts = self._counts.setdefault(event.replica, {})
        clean = self._clean.get(event.replica, 0)
        repeated = self._repeated.setdefault(event.replica, {})
        for offset, _, key, _, _ in event.removals:
            if offset < clean and key is not None:
                counts[key] = counts.get(key, 0) - 1
        for key in self._keys(view.slots[clean : view.first_dirty_offset]):
            count = counts[key] = counts.get(key, 0) + 1
            if count > 1:
                repeated[key] = None
        self._clean[event.replica] = min(view.first_dirty_offset, view.log_end_offset)
        for key in list(repeated):
            if counts.get(key, 0) > 1:
                self._judge(view, key, event.protected_offset)
            else:
                del repeated[key]

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

    def on_any_of(self, event: Any) -> None:
        """The clean section may have been cut, lost a part, or be gone."""
        replica = event.replica
        if self._clean.get(replica, 0) > 0:
            view = self.replicas[replica]
            clean = min(self._clean[replica], view.first_dirty_offset, view.log_end_offset)
            self._counts[replica] = dict(Counter(self._keys(view.slots[:clean])))
            self._clean[replica] = clean

    def _keys(self, uids: list[int]) -> list[str]:
        known = self.written
        return [key for uid in uids if uid > 0 and (key := known[uid].key) is not None]

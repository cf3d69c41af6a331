"""What a cleaner leaves behind it: one record of a key."""

from __future__ import annotations

from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.check.replica_view import ReplicaView
from sim.trace import (
    Cleaned,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
)


class CleanPrefix(Invariant):
    """Below the first dirty offset a key has one record at most, beside the protected one.

    For all replicas r, keys k: there is at most one offset o < clean(r) with data of k at
    log(r)[o].
    Judged: after each pass of r. Excused: the last record of the log where the fix keeps it
    whatever it is (KIP-280, option 1); it goes as soon as the log goes on.
    """

    name = "clean-prefix"
    source = "KIP-280"
    explained_by = "kept_loser"

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No clean section yet."""
        super().__init__(queries, report)
        self._counts: dict[str, dict[str, int]] = {}
        self._clean: dict[str, int] = {}
        self._repeated: dict[str, dict[str, None]] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Update how many records each key has in the clean section, and judge what changed."""
        written = self.history.written
        view = self.history.replicas[event.replica]
        counts = self._counts.setdefault(event.replica, {})
        clean = self._clean.get(event.replica, 0)
        repeated = self._repeated.setdefault(event.replica, {})
        for offset, _, key, _, _ in event.removals:
            if offset < clean and key is not None:
                counts[key] = counts.get(key, 0) - 1
        for uid in view.slots[clean : view.first_dirty_offset]:
            key = written[uid].key if uid > 0 else None
            if key is not None:
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
        history = self.history
        held = sorted(
            offset
            for uid in history.uids_of_key[key]
            if (offset := history.written[uid].offset) < view.first_dirty_offset
            and view.uid_at(offset) == uid
        )
        if held and held[-1] == protected and max(view.slots[protected + 1 :], default=0) <= 0:
            held.pop()
        if len(held) > 1:
            self.violated(
                view.name,
                held[-1],
                key,
                f"{view.name} is clean below {view.first_dirty_offset} but holds "
                f"{len(held)} records of {key}, at {', '.join(map(str, held))}.",
            )

    def on_truncated(self, event: Truncated) -> None:
        """The clean section may have been cut."""
        self._recount(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """A lost tail may reach into it."""
        self._recount(event.replica)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """Nothing is left."""
        self._recount(event.replica)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """Nothing is left but the snapshot."""
        self._recount(event.replica)

    def on_log_emptied(self, event: LogEmptied) -> None:
        """Nothing is left."""
        self._recount(event.replica)

    def on_log_started_afresh(self, event: LogStartedAfresh) -> None:
        """Nothing is left."""
        self._recount(event.replica)

    def on_replica_added(self, event: ReplicaAdded) -> None:
        """One of that name may have been there before."""
        self._recount(event.replica)

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """A log end that comes from the last record may be lower (`leo_source: last_record`)."""
        self._recount(event.replica)

    def on_segments_lost(self, event: SegmentsLost) -> None:
        """A part of it is gone."""
        self._recount(event.replica)

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """A part of it is gone."""
        self._recount(event.replica)

    def on_log_start_moved(self, event: LogStartMoved) -> None:
        """A part of it is gone."""
        self._recount(event.replica)

    def _recount(self, replica: str) -> None:
        view = self.history.replicas[replica]
        if self._clean.get(replica, 0) == 0:
            return
        clean = min(self._clean[replica], view.first_dirty_offset, view.log_end_offset)
        counts: dict[str, int] = {}
        for uid in view.slots[:clean]:
            key = self.history.written[uid].key if uid > 0 else None
            if key is not None:
                counts[key] = counts.get(key, 0) + 1
        self._counts[replica], self._clean[replica] = counts, clean

"""How long a record may wait until it can be cleaned (KIP-354)."""

from __future__ import annotations

from sim.check.registry import Invariant, Kind
from sim.trace import CleanerLooked


class CompactionLagBound(Invariant):
    """A record is eligible for cleaning within D + M + D of its own timestamp.

    For all keyed records x that r holds below its last stable offset and that are not eligible: now
    - x.timestamp <= M + 2 * D. M is `max.compaction.lag.ms`, D
    `message.timestamp.difference.max.ms`; D = 0, exact timestamps, leaves M. The worst case is a
    segment whose first record is dated D ahead and whose next one D behind.
    Judged: at each look of the cleaner. Excused: without D nothing is promised; records above the
    last stable offset may not be cleaned at all. Fair: the cleaner looks, and something closes the
    segment, traffic or a timer (UnifiedLog.maybeRoll is called by appends alone).
    """

    name = "compaction-lag-bound"
    kind = Kind.LIVENESS
    fairness = "the cleaner looks, and traffic or a timer closes segments"
    source = "KIP-354, Proposed Changes, note 1"
    explained_by = "lag"
    in_stories = False

    def on_cleaner_looked(self, event: CleanerLooked) -> None:
        """Look for the oldest record that waits and is not eligible."""
        if event.difference_max_ms is None:
            return
        limit_ms = event.max_lag_ms + 2 * event.difference_max_ms
        start = event.upper_bound if event.eligible else event.first_dirty_offset
        view, written = self.history.replicas[event.replica], self.history.written
        for offset in range(start, min(event.stable_offset, view.log_end_offset)):
            uid = view.uid_at(offset)
            record = written[uid].record if uid > 0 else None
            if record is None or record.key is None:
                continue
            waited_ms = event.now_ms - record.timestamp_ms
            if waited_ms > limit_ms:
                self.violated(
                    event.replica,
                    offset,
                    record.key,
                    f"{event.replica} cannot clean {self.describe(uid)} yet, {waited_ms} ms "
                    f"after its timestamp; {limit_ms} ms were promised "
                    f"({event.max_lag_ms} + 2 × {event.difference_max_ms}).",
                )
                return

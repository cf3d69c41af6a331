"""How long a record may wait until it can be cleaned (KIP-354)."""

from sim.check.invariant import Invariant, Kind
from sim.protocol.events import CleanerLooked


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

    kind = Kind.LIVENESS
    fairness = "the cleaner looks, and traffic or a timer closes segments"
    source = "KIP-354, Proposed Changes, note 1"
    explained_by = "lag"
    in_stories = False
    says = (
        "{replica} cannot clean {record} yet, {waited_ms} ms after its timestamp; {limit_ms} ms "
        "were promised ({max_lag_ms} + 2 × {difference_max_ms})."
    )

    def on_cleaner_looked(self, event: CleanerLooked) -> None:
        """Look for the oldest record that waits and is not eligible."""
        if event.difference_max_ms is None:
            return
        max_lag_ms, difference_max_ms = event.max_lag_ms, event.difference_max_ms
        limit_ms = max_lag_ms + 2 * difference_max_ms
        start = event.upper_bound if event.eligible else event.first_dirty_offset
        slots = self.replicas[event.replica].slots[start : event.stable_offset]
        for offset, uid in enumerate(slots, start):
            record = self.written[uid].record if uid > 0 else None
            waited_ms = event.now_ms - record.timestamp_ms if record and record.key else 0
            if waited_ms > limit_ms:
                told = {"waited_ms": waited_ms, "limit_ms": limit_ms, "max_lag_ms": max_lag_ms}
                told["difference_max_ms"] = difference_max_ms
                self.violated_by(event.replica, uid, offset, **told)
                return

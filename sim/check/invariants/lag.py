"""How long a record may wait to be cleaned, and what the metric says of it (KIP-354)."""

from __future__ import annotations

from sim.check.registry import Invariant, Kind, invariant
from sim.trace import CleanerLooked


@invariant
class CompactionLagBound(Invariant):
    """A record is eligible for cleaning within D + M + D of its own timestamp.

    M is `max.compaction.lag.ms`, D `message.timestamp.difference.max.ms`; without D nothing is
    promised. The worst case is a segment whose first record is dated D ahead and whose next one D
    behind. Records above the last stable offset are not judged: they may not be cleaned at all.
    Fair: the cleaner looks, and something closes the segment, traffic or a timer.
    """

    name = "compaction-lag-bound"
    kind = Kind.LIVENESS
    fairness = "the cleaner looks, and traffic or a timer closes segments"
    source = "KIP-354, Proposed Changes, note 1"
    in_stories = False

    def on_cleaner_looked(self, event: CleanerLooked) -> None:
        """Look for the oldest record that waits and is not eligible."""
        if event.difference_max_ms is None:
            return
        limit_ms = event.max_lag_ms + 2 * event.difference_max_ms
        start = event.upper_bound if event.eligible else event.first_dirty_offset
        disk, written = self.ledger.disks[event.replica], self.ledger.written
        for offset in range(start, min(event.stable_offset, disk.leo)):
            uid = disk.at(offset)
            record = written[uid].record if uid > 0 else None
            if record is None or record.key is None:
                continue
            waited_ms = event.now_ms - record.timestamp_ms
            if waited_ms > limit_ms:
                self.violated(
                    event.replica,
                    offset,
                    record.key,
                    f"{event.replica} cannot clean {self.ledger.describe(uid)} yet, {waited_ms} ms "
                    f"after its timestamp; {limit_ms} ms were promised "
                    f"({event.max_lag_ms} + 2 × {event.difference_max_ms}).",
                )
                return


@invariant
class LagMetric(Invariant):
    """`max-compaction-delay-secs` says how long the most overdue log is overdue, in whole seconds.

    Kafka refreshes it only when a look led to a pass, so it may go on telling an old figure.
    """

    name = "lag-metric"
    kind = Kind.FINDING
    source = "KIP-354, Public Interfaces; PreCleanStats.updateMaxCompactionDelay"
    in_stories = False

    def on_cleaner_looked(self, event: CleanerLooked) -> None:
        """Compare the metric with the delay of this very look."""
        overdue_secs = event.delay_ms // 1000
        if event.metric_secs != overdue_secs:
            self.violated(
                event.replica,
                None,
                None,
                f"{event.replica} tells a compaction delay of {event.metric_secs} s, but its log "
                f"is overdue by {overdue_secs} s.",
            )

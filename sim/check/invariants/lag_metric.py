"""What the metric of KIP-354 says about logs that are overdue."""

from sim.check.invariant import Invariant, Kind
from sim.protocol.events import CleanerLooked


class LagMetric(Invariant):
    """`max-compaction-delay-secs` says how long the most overdue log is overdue, in whole seconds.

    For a look at r: metric = max(0, now - oldest uncleaned timestamp - M) / 1000, rounded down.
    Judged: at each look. Excused: nothing; Kafka refreshes it only when a look led to a pass, so it
    may go on telling an old figure.
    """

    kind = Kind.FINDING
    source = "KIP-354, Public Interfaces; PreCleanStats.updateMaxCompactionDelay"
    explained_by = "lag"
    in_stories = False
    says = (
        "{replica} tells a compaction delay of {told_secs} s, but its log is overdue by "
        "{overdue_secs} s."
    )

    def on_cleaner_looked(self, event: CleanerLooked) -> None:
        """Compare the metric with the delay of this very look."""
        overdue_secs = event.delay_ms // 1000
        if event.metric_secs != overdue_secs:
            self.violated(event.replica, told_secs=event.metric_secs, overdue_secs=overdue_secs)

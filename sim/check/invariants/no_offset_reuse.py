"""A committed offset is taken for good (KIP-280)."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import Appended


class NoOffsetReuse(Invariant):
    """An offset that was committed is never assigned again.

    For all records x that a leader appends: x.offset >= N.
    Judged: on append. Excused: in simulated time an append by a deposed leader that has not heard
    of it yet: epochs are there for it, it is never committed and cut when the leader hears.
    Stories, which have no such excuse, count it.
    """

    name = "no-offset-reuse"
    source = "KIP-280; KAFKA-17076"
    family = LOG_DIVERGENCE
    explained_by = "two_records"
    unusual_only = True

    def on_appended(self, event: Appended) -> None:
        """Compare with the committed history."""
        history = self.history
        committed = history.committed
        if event.batch.base_offset >= len(committed):
            return
        if not history.zombies_count and event.batch.epoch < history.newest_epoch:
            return
        for record in event.batch.records:
            offset = record.offset
            if offset < len(committed) and committed[offset] != record.uid:
                self.violated(
                    event.replica,
                    offset,
                    record.key,
                    f"{event.replica} gave offset {offset} to {self.describe(record.uid)}, but "
                    f"it was committed as {self.describe(committed[offset])}.",
                )

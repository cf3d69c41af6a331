"""A key ends on what its producers meant: what KIP-280's strategies are for."""

from __future__ import annotations

from sim.check.intent import unmeant
from sim.check.registry import Invariant, Kind
from sim.trace import Quiesced


class KeyEndsAsMeant(Invariant):
    """A key of the leader's log ends on the newest record that its producers wrote, by their word.

    For all keys k, x = fold(log(leader))[k]: no committed record of k has a newer timestamp than x
    and, where both have one, a higher version. A key that is gone had a tombstone like that.
    Judged: at rest, whatever the strategy is. Excused: keys that the topic's retention deleted.
    Strategy offset promises no such thing, so this is a finding: an asynchronous producer's write
    that arrives late wins, and every other law holds.
    """

    name = "key-ends-as-meant"
    kind = Kind.FINDING
    source = "KIP-280, Motivation"
    explained_by = "ends_on"

    def on_quiesced(self, event: Quiesced) -> None:
        """Look for each key in the leader's log."""
        del event
        history = self.history
        for key, held, meant in unmeant(self.queries):
            newer = self.describe(meant)
            if held is None:
                text = f"{key} is gone; its producers meant {newer} to stay."
            else:
                text = f"{key} ends on {self.describe(held)}; its producers meant {newer} to win."
            offset = None if held is None else history.written[held].offset
            self.violated(history.leader, offset, key, text)

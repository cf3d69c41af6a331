"""A key ends on what its producers meant: what KIP-280's strategies are for."""

from sim.check.intent import unmeant
from sim.check.invariant import Invariant, Kind
from sim.protocol.events import Quiesced


class KeyEndsAsMeant(Invariant):
    """A key of the leader's log ends on the newest record that its producers wrote, by their word.

    For all keys k, x = fold(log(leader))[k]: no committed record of k has a newer timestamp than x
    and, where both have one, a higher version. A key that is gone had a tombstone like that.
    Judged: at rest, whatever the strategy is. Excused: keys that the topic's retention deleted.
    Strategy offset promises no such thing, so this is a finding: an asynchronous producer's write
    that arrives late wins, and every other invariant holds.
    """

    kind = Kind.FINDING
    source = "KIP-280, Motivation"
    explained_by = "ends_on"
    says = "{key} ends on {held}; its producers meant {meant} to win."

    def on_quiesced(self, _: Quiesced) -> None:
        """Look for each key in the leader's log."""
        leader = self.history.leader
        for key, held, meant in unmeant(self.history):
            newer = self.describe(meant)
            if held is None:
                gone = "{key} is gone; its producers meant {meant} to stay."
                self.violated(leader, None, key, gone, meant=newer)
            else:
                at = self.written[held].offset
                self.violated(leader, at, key, held=held, meant=newer)

"""Readers are given every record that still counts."""

from collections import defaultdict

from sim.check.invariant import ReaderInvariant
from sim.check.replica_view import ReplicaView
from sim.protocol.events import Consumed


class ConsumerNoSkip(ReaderInvariant):
    """A consumer's position never passes a live committed record it has not been given.

    For a read of c from r, offsets start(r) <= o < min(position(c), hw(r), N): if x = committed[o]
    is live, c was given x, now or before. Live is a value, of a committed transaction if of any,
    that nothing beats in committed history or in the log of r, aborted and open data left out.
    Judged: at each read, for the offsets it passed; at an offset that was committed twice the
    log of r alone decides, and all such offsets below the position are judged again. Excused:
    what is not live; what lost under rules in force earlier, and may be gone since.
    """

    source = "KIP-280"
    explained_by = "passed"
    says = "{reader} is at position {end} on {replica} and was never given the live {record}."

    def begin(self) -> None:
        """Nothing given yet."""
        self._given: defaultdict[str, set[int]] = defaultdict(set)

    def on_consumed(self, event: Consumed) -> None:
        """Judge the offsets passed just now, and those that were committed twice."""
        replica, consumer, start, end, _, _, _ = event
        history, committed = self.history, self.committed
        given = self._given[consumer]
        given.update(history.uids_read)
        view = self.replicas[replica]
        end = min(end, view.high_watermark, len(committed))
        start = max(start, view.log_start_offset)
        passed = committed[start:end]
        if passed != history.uids_read and not given.issuperset(passed):
            for offset, uid in enumerate(passed, start):
                if uid not in given and offset not in history.committed_twice:
                    self._judge(event, view, uid, offset)
        for offset in sorted(history.committed_twice):
            uid = view.uid_at(offset)
            if view.log_start_offset <= offset < end and uid > 0 and uid not in given:
                self._judge(event, view, uid, offset)

    def _judge(self, event: Consumed, view: ReplicaView, uid: int, offset: int) -> None:
        history, key = self.history, self.history.key_of(uid)
        if key is None or not history.is_value(uid):
            return
        twice = offset in history.committed_twice
        by_history = self.written[uid].batch.transactional and not twice
        counts = history.status.get(uid) if by_history else history.verdict_in(view, uid)
        winner = uid if twice else history.winners.get(key, uid)
        beaten = history.beats(winner, uid) or history.lost_under_earlier_rules(uid)
        if counts is True and not beaten and not self._is_beaten_on(view, uid):
            reader, end = event.consumer, event.end
            self.violated_by(event.replica, uid, offset, reader=reader, end=end)

    def _is_beaten_on(self, view: ReplicaView, uid: int) -> bool:
        """A log holds a record that beats `uid`, and by its own markers counts."""
        history = self.history
        return any(
            history.holds(view, other) and history.verdict_in(view, other) is True
            for other in history.beating(uid)
        )

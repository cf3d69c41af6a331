"""Readers are given every record that still counts."""

from sim.check.invariant import ReaderInvariant
from sim.check.replica_view import ReplicaView
from sim.trace import Consumed


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
        self._given: dict[str, set[int]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Judge the offsets passed just now, and those that were committed twice."""
        replica, consumer, start, end, _, _, _ = event
        history, committed = self.history, self.committed
        given = self._given.get(consumer)
        if given is None:
            given = self._given[consumer] = set()
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
        history, beats, verdict_in = self.history, self.queries.beats, self.queries.verdict_in
        known = self.written.get(uid)
        if known is None or known.key is None or not self.queries.is_value(uid):
            return
        twice, counts = offset in history.committed_twice, history.status.get(uid)
        if twice or not known.batch.transactional:
            counts = verdict_in(view, uid)
        if counts is not True:
            return
        winner = None if twice else history.winners.get(known.key)
        if winner is not None and winner != uid and beats(winner, uid):
            return
        if history.lost_under_earlier_rules(uid):
            return
        for other in history.uids_of_key[known.key]:
            if (
                beats(other, uid)
                and self.queries.holds(view, other)
                and verdict_in(view, other) is True
            ):
                return
        self.violated_by(event.replica, uid, offset=offset, reader=event.consumer, end=event.end)

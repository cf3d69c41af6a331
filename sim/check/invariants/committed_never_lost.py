"""A committed record is lost when the leader lacks it without a reason."""

from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Quiesced


class CommittedNeverLost(LogInvariant):
    """Each committed record is on the leader, or its absence there is justified.

    For the leader l, offsets start(l) <= o < N: log(l)[o] = committed[o], or the absence of
    committed[o] is justified.
    Judged: at rest, without a live leader by the disk of the last one. Excused: offsets below the
    log start, which a snapshot or retention accounts for; offsets that were committed twice, which
    `state-machine-safety` reports and after which the reference is undefined.
    """

    kind = Kind.AT_REST
    source = "KIP-101; CommittedIsDurable (etcd raft)"
    explained_by = "lost_record"
    says = "committed {record} is not on the leader {replica} and nothing committed supersedes it."

    def on_quiesced(self, event: Quiesced) -> None:
        """Compare the leader's log with the committed history."""
        if event.replica is None:
            return
        history, view = self.history, self.replicas[event.replica]
        for offset in history.in_doubt(view, len(self.committed)):
            uid = self.committed[offset]
            lacks = offset not in history.committed_twice and view.uid_at(offset) != uid
            if lacks and not history.may_be_absent_now(uid):
                self.violated_by(event.replica, uid, offset)

"""A restart finds what is on disk, and nothing of what was in memory."""

from sim.check.invariant import Invariant
from sim.protocol.events import AuditFailed


class RestartFindsDisk(Invariant):
    """A replica comes back with its disk as the crash left it, and with nothing else.

    For all replicas r that restart, with d its disk::

        vote, epoch, batches, log start, snapshots, removal bounds, removed tombstones,
        version floor, stubs of d, after = the same of d when it went down
        log end, high watermark, cleaner checkpoint of d, after = the same when it went down
        partly fetched snapshot, failed pass, failed fetching, positions of followers = none

    Judged: when a replica restarts, by what it had when it went down
    (`sim.simulate.cluster.decisions`); an event tells what differs.
    Excused: votes and epochs that the rules keep in memory; what is derived from the log end where
    `leo_source` derives that from the last record.
    """

    source = "QuorumState.initialize, KafkaMetadataLog.recoverSnapshots, LogCleanerManager"
    in_stories = False
    says = "{replica} comes back with {found} for its {what}, and went down with {expected}."

    def on_audit_failed(self, event: AuditFailed) -> None:
        """Report it, if a restart found something else."""
        if event.audit == "disk" and event.found != event.expected:
            told = {"found": event.found, "expected": event.expected}
            self.violated(event.replica, what=event.what, **told)

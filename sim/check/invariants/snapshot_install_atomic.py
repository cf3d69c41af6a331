"""A snapshot is installed whole or not at all."""

from sim.check.invariant import Invariant
from sim.protocol.events import LogEmptied, SnapshotChunkFetched, SnapshotInstalled

_PART = (
    "{replica} installed {installed} records as snapshot ({offset}, {epoch}), which has {counted}."
)


class SnapshotInstallAtomic(Invariant):
    """At every instant a replica has either its old log, or the whole snapshot and nothing else.

    For all r: its log is emptied only as a snapshot replaces it; what is installed as (end, epoch)
    is all that the leader it came from has under that id.
    Judged: as a log is emptied, and on install. Excused: an empty log has nothing to lose; a source
    that has deleted the snapshot since.
    """

    source = "KIP-630; KafkaMetadataLog.truncateToLatestSnapshot, FileRawSnapshotWriter.freeze"
    explained_by = "installed"
    in_stories = False
    says = (
        "{replica} emptied its log, which ended at {offset} (high watermark {high_watermark}), "
        "before snapshot ({snapshot_end}, {epoch}) was there; a crash now leaves it with neither."
    )

    def begin(self) -> None:
        """Nobody is fetching."""
        self._sources: dict[str, str] = {}

    def on_log_emptied(self, event: LogEmptied) -> None:
        """Nothing may go before what replaces it is there."""
        if event.log_end_offset > 0:
            mark, end = event.high_watermark, event.end_offset
            told = {"high_watermark": mark, "snapshot_end": end, "epoch": event.epoch}
            self.violated(event.replica, event.log_end_offset, **told)

    def on_snapshot_chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        """Remember whose snapshot it is."""
        self._sources[event.replica] = event.leader

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """What is installed has to be all of what the leader has under that id, if it still has."""
        source = self.replicas.get(self._sources.pop(event.replica, ""))
        whole = None if source is None else source.snapshots.get((event.end_offset, event.epoch))
        if whole is not None and whole != event.records:
            told = {"installed": len(event.records), "epoch": event.epoch, "counted": len(whole)}
            self.violated(event.replica, event.end_offset, None, _PART, **told)

"""Records are not changed on their way to followers and consumers."""

from sim.check.invariant import ReaderInvariant
from sim.check.promise import as_appended, without_flag
from sim.protocol.events import ConfigChanged, Consumed, Copied
from sim.protocol.log.record import Record

_EPOCH = (
    "{replica} copied the batch at {offset} in epoch {epoch}, which was appended in epoch "
    "{appended_in}."
)


class RecordImmutable(ReaderInvariant):
    """Whatever a follower copies and a consumer reads is, field by field, what was appended.

    For all copies and reads x' of a record x: key, value, timestamp, headers, flag and offset of x'
    are those of x, and the epoch of a copy is that of the append.
    Judged: on each copy and read. Excused: the header that `record_horizon` adds, among replicas
    (no reader may be given it); the flag of KIP-87, which an old format may leave out as long as a
    delete stays one; the value of a flagged delete, for a consumer whose version has no flag: the
    KIP makes it null there. A follower gets no such leave: its copy is what others read later.
    No usual event breaks it: they bring the very records that were appended.
    """

    source = (
        "KIP-534 (timestamps read back unchanged; Rejected Alternatives); KIP-87, Migration Plan"
    )
    explained_by = "altered"
    in_stories = False
    unusual_only = True
    says = "{who} {did} {given} where {appended} was appended."

    def begin(self) -> None:
        """No consumer has said that its version is an old one."""
        self._without_flag: set[str] = set()

    def on_config_changed(self, event: ConfigChanged) -> None:
        """Note who reads in which version."""
        settings = dict(event.settings)
        if settings.get("format") == "2":
            self._without_flag.add(event.replica)
        elif "format" in settings:
            self._without_flag.discard(event.replica)

    def on_copied(self, event: Copied) -> None:
        """Compare each copied record with the append."""
        deletes = self.history.is_tombstone
        for record in self.history.altered(event.batches):
            original = self.written[record.uid].record
            copy = as_appended(record)
            same = copy._replace(flagged=original.flagged) == original
            if not same or deletes(copy) != deletes(original):
                self._report_altered(event.replica, event.replica, "copied", record)
        for batch in event.batches:
            for record in batch.records[:1]:
                epoch, appended_in = batch.epoch, self.written[record.uid].batch.epoch
                if epoch != appended_in:
                    told = {"epoch": epoch, "appended_in": appended_in}
                    self.violated(event.replica, batch.base_offset, None, _EPOCH, **told)

    def on_consumed(self, event: Consumed) -> None:
        """Compare each record a consumer is given with the append.

        What it takes for a delete is left to `consumer-takes-deletes`.
        """
        for record in event.records:
            original = self.written[record.uid].record
            if event.consumer in self._without_flag and record == without_flag(original):
                continue
            if record._replace(flagged=original.flagged) != original:
                self._report_altered(event.replica, event.consumer, "read", record)

    def _report_altered(self, replica: str, who: str, did: str, record: Record) -> None:
        appended = str(self.written[record.uid].record)
        told = {"who": who, "did": did, "given": str(record), "appended": appended}
        self.violated(replica, record.offset, record.key, **told)

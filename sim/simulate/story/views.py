"""Views of the replicas of a story, in the terms of story files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sim.protocol.replication import Replica
from sim.protocol.replication.reading import handed_on, readable_end
from sim.protocol.replication.snapshots.take import state_below
from sim.protocol.rules import Rules


class StoryReplica(NamedTuple):
    """View of a replica, at the end of a story or at a moment that it notes.

    Attributes:
        log: Entries of the log as `label@offset`.
        batches: Batches with the leader epoch, `label@offset epoch N`, and ` horizon` at the end if
            the batch has a delete horizon.
        epochs: Leader epoch cache: epoch and start offset of each entry.
        offsets: Offsets of the entries.
        log_end_offset: Exclusive.
        high_watermark: Exclusive.
        log_start_offset: Inclusive.
        last_stable_offset: End of the records for consumers of committed records (exclusive).
        committed: Records that a new such consumer is given, as `label@offset`.
        state: State of the log below the high watermark, as key -> label; as key -> value with
            `state_machine: deltas`.
        up: True if the replica is up.
    """

    log: list[str]
    batches: list[str]
    epochs: list[tuple[int, int]]
    offsets: list[int]
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    last_stable_offset: int
    committed: list[str]
    state: dict[str, str]
    up: bool

    def claimable(self, part: str) -> Any:
        """The part with the short name that story files and `--json` use."""
        return getattr(self, _SHORT.get(part, part))

    def as_json(self) -> dict[str, Any]:
        """The view with short names, as `--json` prints it."""
        return {part: self.claimable(part) for part in _PRINTED}


_SHORT = {
    "leo": "log_end_offset",
    "hw": "high_watermark",
    "start": "log_start_offset",
    "lso": "last_stable_offset",
}
_PRINTED = ("log", "offsets", "leo", "hw", "start", "state", "up")


def views_of(
    replicas: Mapping[str, Replica], rules: Rules, labels: Mapping[int, str]
) -> dict[str, StoryReplica]:
    """Views of all replicas as they are now, by name."""
    return {name: view_of(replica, rules, labels) for name, replica in replicas.items()}


def view_of(replica: Replica, rules: Rules, labels: Mapping[int, str]) -> StoryReplica:
    """View of a replica as it is now."""
    log = replica.log
    entries: list[tuple[str, int]] = []
    batches: list[str] = []
    for batch in log.batches():
        held = [(labels[record.uid], record.offset) for record in batch.records]
        held = held or [("-", batch.last_offset)]
        entries += held
        horizon = "" if batch.delete_horizon_ms is None else " horizon"
        named = " ".join(f"{label}@{offset}" for label, offset in held)
        batches.append(f"{named} epoch {batch.epoch}{horizon}")
    state = state_below(replica, log.high_watermark, rules=rules)
    by_value = rules.snapshots.state_machine == "deltas"
    shown = {
        key: (state[key].value or "") if by_value else labels[state[key].uid]
        for key in sorted(state)
    }
    return StoryReplica(
        log=[f"{label}@{offset}" for label, offset in entries],
        batches=batches,
        epochs=[(entry.epoch, entry.start_offset) for entry in log.epochs.entries],
        offsets=[offset for _, offset in entries],
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        last_stable_offset=readable_end(log, committed=True),
        committed=[f"{labels[uid]}@{offset}" for uid, offset in _committed(replica, rules)],
        state=shown,
        up=replica.up,
    )


def _committed(replica: Replica, rules: Rules) -> Iterator[tuple[int, int]]:
    """Uid and offset of each record that a new consumer of committed records is given."""
    log = replica.log
    start, end = log.log_start_offset, readable_end(log, committed=True)
    batches = [batch for batch in log.read(start) if batch.base_offset < end]
    for batch in handed_on(replica, batches, start, end, committed=True, rules=rules):
        for record in batch.records:
            if start <= record.offset < end:
                yield record.uid, record.offset

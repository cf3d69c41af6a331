"""Hand-made events for tests of the checker: what a core with a mistake would tell."""

from collections.abc import Sequence

from sim.protocol.events import (
    Appended,
    Cleaned,
    Copied,
    Event,
    HighWatermarkMoved,
    LeaderElected,
    Quiesced,
    Removal,
    ReplicaAdded,
)
from sim.protocol.log import Batch, Control, Record, control_batch, data_batch
from sim.protocol.rules import Rules

RULES = Rules.of(commit="isr", delete_retention_ms=100)


def record(offset: int, key: str | None, value: str | None = "v", *, uid: int = 0) -> Record:
    """A record; its uid is 100 + offset unless given. A value of None makes it a tombstone."""
    return Record(offset, key, value, 0, (), uid=uid or 100 + offset)


def batch(
    offset: int,
    key: str | None,
    value: str | None = "v",
    *,
    uid: int = 0,
    epoch: int = 1,
    pid: int = -1,
) -> Batch:
    """A batch of one record."""
    return data_batch(
        (record(offset, key, value, uid=uid),),
        epoch=epoch,
        producer_id=pid,
        transactional=pid >= 0,
    )


def marker(offset: int, pid: int, *, commit: bool, epoch: int = 1) -> Batch:
    """A transaction marker with uid 100 + offset."""
    control = Control.COMMIT if commit else Control.ABORT
    return control_batch(
        offset, epoch=epoch, control=control, timestamp_ms=0, producer_id=pid, uid=100 + offset
    )


def cluster(*names: str, isr: Sequence[str] = ()) -> list[Event]:
    """Replicas; the first one leads epoch 1."""
    members = tuple(isr or names)
    added: list[Event] = [ReplicaAdded(name) for name in names]
    return [*added, LeaderElected(names[0], 1, 0, members, members)]


def appended(replica: str, *batches: Batch) -> list[Event]:
    """A leader appends batches, one by one."""
    return [Appended(replica, each) for each in batches]


def copied(replica: str, leader: str, at: int, *batches: Batch, end: int | None = None) -> Copied:
    """A follower at log end `at` copies batches."""
    return Copied(replica, leader, at, batches, batches[-1].last_offset + 1 if end is None else end)


def committed(leader: str, end: int) -> HighWatermarkMoved:
    """A leader's high watermark moves to `end`."""
    return HighWatermarkMoved(leader, end, leading=True)


def cleaned(replica: str, bound: int, *removals: Removal, hw: int | None = None) -> Cleaned:
    """A pass below `bound`, where the log ends; without `hw` all of it is committed."""
    committed_end = bound if hw is None else hw
    return Cleaned(replica, 0, bound, removals, (), (), (), None, bound, committed_end, (0, 0))


def at_rest(leader: str | None) -> Quiesced:
    """The cluster is at rest."""
    return Quiesced(leader, synced=True)

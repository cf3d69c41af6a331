"""How far a follower has got, as `sync` sees it, and what a `push` can give it."""

from __future__ import annotations

from collections.abc import Mapping

from sim.replication import Replica


def progress(fetcher: Replica, source: Replica) -> tuple[object, ...]:
    """What `sync` watches: it stops when none of this changes any more."""
    log, leadership = fetcher.log, source.leadership
    return (
        tuple((batch.base_offset, batch.epoch, len(batch.records)) for batch in log.batches()),
        log.log_start_offset,
        log.log_end_offset,
        log.high_watermark,
        tuple(log.epochs.entries),
        source.log.high_watermark,
        None if leadership is None else leadership.positions.get(fetcher.name),
        None if fetcher.download is None else fetcher.download.position,
    )


def latest_held(source: Replica, labels: Mapping[int, str], label: str) -> int | None:
    """The uid of the latest record of that label that `source` still holds; None = it has none."""
    held = {record.uid for batch in source.log.batches() for record in batch.records}
    named = [uid for uid, name in labels.items() if name == label]
    return next((uid for uid in reversed(named) if uid in held), None)

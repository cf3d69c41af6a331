"""How far a follower has got, as `sync` sees it."""

from __future__ import annotations

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

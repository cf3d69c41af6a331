"""How many records a cleaning pass gets through, and what memory it needs."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from random import Random

from sim.protocol.compaction import (
    FIXES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    CleanerPolicy,
    CleaningPass,
    clean,
    strategy_for,
)
from sim.protocol.log import LastRecord, Record, Segment, data_batch

SIZES = (10_000, 100_000, 1_000_000)
RECORDS_PER_BATCH = 100
RECORDS_PER_KEY = 10
RECORDS_PER_DELETE = 20
REPEATS = 3


def cleaner() -> dict[str, dict[str, float]]:
    """Records per second and bytes per record of one pass, by the size of the log."""
    return {str(size): {**_rate(size), **_memory(size)} for size in SIZES}


def _plan(size: int) -> CleaningPass:
    """A pass with every rule on: protected producers, horizons, grouping, the size limit."""
    return CleaningPass(
        policy=CleanerPolicy(
            strategy=strategy_for("offset"),
            fix=FIXES["empty_batch"],
            removal=TOMBSTONE_REMOVALS["horizon"],
            is_tombstone=TOMBSTONE_MARKS["null_value"],
            full_map=True,
        ),
        first_dirty_offset=0,
        upper_bound=size,
        now_ms=1,
        high_watermark=size,
        delete_retention_ms=1_000,
        last_records={producer: LastRecord(None, 0) for producer in range(10)},
        max_message_bytes=1 << 20,
        segment_bytes=1 << 30,
    )


def _rate(size: int) -> dict[str, float]:
    """Records per second of one cleaning pass over `size` records, a tenth as many keys."""
    segments, plan = _log(size), _plan(size)

    def once() -> float:
        started = time.perf_counter()
        cleaning = clean(segments, plan)
        seconds = time.perf_counter() - started
        if len(cleaning.removed["superseded"]) < size // 2:
            raise AssertionError("the pass removed too little to be worth timing")
        return size / seconds

    return {"records_per_second": round(_best(once))}


def _memory(size: int) -> dict[str, float]:
    """Bytes per record: of the log itself, and at most on top of it while a pass runs."""
    tracemalloc.start()
    segments = _log(size)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    clean(segments, _plan(size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "log_bytes_per_record": round(held / size, 1),
        "pass_bytes_per_record": round((peak - held) / size, 1),
    }


def _log(size: int) -> list[Segment]:
    rng = Random(size)
    keys = [f"key-{number}" for number in range(max(1, size // RECORDS_PER_KEY))]
    segment = Segment(0)
    for base in range(0, size, RECORDS_PER_BATCH):
        records = tuple(
            Record(
                offset,
                rng.choice(keys),
                "value" if offset % RECORDS_PER_DELETE else None,
                offset,
                (),
                uid=offset + 1,
            )
            for offset in range(base, min(base + RECORDS_PER_BATCH, size))
        )
        number = base // RECORDS_PER_BATCH
        batch = data_batch(
            records,
            epoch=1,
            producer_id=number % 10,
            producer_epoch=0,
            base_sequence=base,
            transactional=number % 2 == 1,
        )
        segment.append(batch, now_ms=0)
    return [segment, Segment(size)]


def _best(once: Callable[[], float]) -> float:
    """The best of a few repeats: the one the machine disturbed least."""
    rates = []
    for _ in range(REPEATS):
        gc.collect()
        rates.append(once())
    return max(rates)

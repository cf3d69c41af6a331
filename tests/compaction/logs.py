"""Logs for the cleaner, written by hand, and a plan with plain defaults."""

from collections.abc import Sequence
from dataclasses import fields, replace

from msgspec import structs

from sim.protocol.compaction import (
    FIXES,
    STRATEGIES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    CleanerPolicy,
    Cleaning,
    CleaningPass,
    clean,
)
from sim.protocol.compaction.strategies import encode_version
from sim.protocol.log import (
    AbortedTransaction,
    Batch,
    Control,
    Record,
    Segment,
    control_batch,
    data_batch,
)

RETENTION_MS = 100


def plan(**changes: object) -> CleaningPass:
    """A pass over everything with Kafka's rules and a full map, but for the changes."""
    policy: dict[str, object] = {
        "strategy": STRATEGIES["offset"],
        "fix": FIXES["none"],
        "removal": TOMBSTONE_REMOVALS["horizon"],
        "is_tombstone": TOMBSTONE_MARKS["null_value"],
        "full_map": True,
    }
    arguments: dict[str, object] = {
        "first_dirty_offset": 0,
        "upper_bound": 1 << 40,
        "now_ms": 0,
        "delete_retention_ms": RETENTION_MS,
        "high_watermark": 1 << 40,
    }
    made = CleaningPass(policy=CleanerPolicy(**policy), **arguments)  # type: ignore[arg-type]
    return changed(made, **changes)


def changed(made: CleaningPass, **changes: object) -> CleaningPass:
    """The pass with some of its fields, or of its policy's, replaced."""
    names = {field.name for field in fields(CleanerPolicy)}
    policy = {name: value for name, value in changes.items() if name in names}
    rest = {name: value for name, value in changes.items() if name not in names}
    policy_changed = replace(made.policy, **policy)  # type: ignore[arg-type]
    return structs.replace(made, policy=policy_changed, **rest)


def record(
    offset: int,
    key: str | None,
    value: str | None = "v",
    *,
    timestamp_ms: int = 0,
    version: int | None = None,
) -> Record:
    """A record whose uid is its offset + 1."""
    headers = () if version is None else (("version", encode_version(version)),)
    return Record(offset, key, value, timestamp_ms, headers, uid=offset + 1)


def batch(*records: Record, pid: int = -1, sequence: int = -1, producer_epoch: int = 0) -> Batch:
    """A data batch; with a pid but no sequence it is transactional."""
    return data_batch(
        records,
        epoch=1,
        producer_id=pid,
        producer_epoch=producer_epoch if pid >= 0 else -1,
        base_sequence=sequence,
        transactional=pid >= 0 and sequence < 0,
    )


def marker(offset: int, pid: int, *, commit: bool, producer_epoch: int = 0) -> Batch:
    """A transaction marker."""
    return control_batch(
        offset,
        epoch=1,
        control=Control.COMMIT if commit else Control.ABORT,
        timestamp_ms=0,
        producer_id=pid,
        producer_epoch=producer_epoch,
        uid=offset + 1,
    )


def segment(*batches: Batch, base: int | None = None, last_modified_ms: int = 0) -> Segment:
    """A segment of the batches; `base` defaults to the first one's."""
    start = base if base is not None else (batches[0].base_offset if batches else 0)
    return Segment.of(start, list(batches), last_modified_ms=last_modified_ms)


def whole(segments: Sequence[Segment], result: Cleaning) -> list[Segment]:
    """The whole log after a pass."""
    return [*result.segments, *segments[result.replaced :]]


def passes(log: list[Segment], *times: int, **changes: object) -> Cleaning:
    """Passes at the given times, one after the other; the last one's result."""
    for now_ms in times:
        result = clean(log, plan(now_ms=now_ms, **changes))
        log = whole(log, result)
    return result


def records_of(segments: Sequence[Segment]) -> list[Record]:
    """All records in order."""
    return [r for each in segments for b in each.batches for r in b.records]


def offsets_of(segments: Sequence[Segment]) -> list[int]:
    """Offsets of all records in order."""
    return [r.offset for r in records_of(segments)]


def batches_of(segments: Sequence[Segment]) -> list[Batch]:
    """All batches in order."""
    return [b for each in segments for b in each.batches]


def aborted_of(segments: Sequence[Segment]) -> list[AbortedTransaction]:
    """All entries of the indexes of aborted transactions, in order."""
    return [entry for each in segments for entry in each.aborted]

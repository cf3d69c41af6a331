"""Random logs for the cleaner, and a plan with plain defaults."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from sim.compaction import FIXES, STRATEGIES, TOMBSTONE_MARKS, TOMBSTONE_REMOVALS, CleaningPass
from sim.compaction.strategies import encode_version
from sim.log import Batch, Control, Record, Segment, control_batch, data_batch

RETENTION_MS = 100


def plan(**changes: object) -> CleaningPass:
    """A pass over everything with Kafka's rules and a full map, but for the changes."""
    arguments: dict[str, object] = {
        "strategy": STRATEGIES["offset"],
        "fix": FIXES["none"],
        "removal": TOMBSTONE_REMOVALS["horizon"],
        "is_tombstone": TOMBSTONE_MARKS["null_value"],
        "full_map": True,
        "first_dirty_offset": 0,
        "upper_bound": 1 << 40,
        "decided_below": 1 << 40,
        "now_ms": 0,
        "delete_retention_ms": RETENTION_MS,
    }
    return CleaningPass(**(arguments | changes))  # type: ignore[arg-type]


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


def batch(*records: Record, pid: int = -1) -> Batch:
    """A data batch; with a pid it is transactional."""
    return data_batch(records, epoch=1, producer_id=pid, transactional=pid >= 0)


def marker(offset: int, pid: int, *, commit: bool) -> Batch:
    """A transaction marker."""
    control = Control.COMMIT if commit else Control.ABORT
    return control_batch(
        offset, epoch=1, control=control, timestamp_ms=0, producer_id=pid, uid=offset + 1
    )


def segment(*batches: Batch, base: int | None = None, last_modified_ms: int = 0) -> Segment:
    """A segment of the batches; `base` defaults to the first one's."""
    start = base if base is not None else (batches[0].base_offset if batches else 0)
    return Segment.of(start, list(batches), last_modified_ms=last_modified_ms)


def records_of(segments: Sequence[Segment]) -> list[Record]:
    """All records in order."""
    return [r for each in segments for b in each.batches for r in b.records]


def offsets_of(segments: Sequence[Segment]) -> list[int]:
    """Offsets of all records in order."""
    return [r.offset for r in records_of(segments)]


def batches_of(segments: Sequence[Segment]) -> list[Batch]:
    """All batches in order."""
    return [b for each in segments for b in each.batches]


@st.composite
def logs(draw: st.DrawFn) -> list[Segment]:
    """Up to four segments of batches with gaps, few keys, tombstones, versions and timestamps."""
    offset, batches = 0, []
    for size in draw(st.lists(st.integers(1, 3), max_size=8)):
        records = []
        for _ in range(size):
            records.append(
                record(
                    offset,
                    draw(st.sampled_from(["a", "b", "c", None])),
                    draw(st.sampled_from(["v", None])),
                    timestamp_ms=draw(st.integers(0, 3)),
                    version=draw(st.sampled_from([None, -1, 0, 1, 2])),
                )
            )
            offset += draw(st.sampled_from([1, 1, 2]))
        made = batch(*records)
        if draw(st.booleans()):
            made = made._replace(delete_horizon_ms=draw(st.integers(0, 2)) * RETENTION_MS)
        batches.append(made)
    cuts = sorted({0, len(batches), *draw(st.lists(st.integers(0, len(batches)), max_size=3))})
    return [segment(*batches[start:end]) for start, end in pairwise(cuts)] or [segment()]


@st.composite
def plans(draw: st.DrawFn) -> CleaningPass:
    """Any combination of strategy, fix, removal rule, map, bound and time."""
    bound = draw(st.integers(0, 30))
    return plan(
        strategy=draw(st.sampled_from(list(STRATEGIES.values()))),
        fix=draw(st.sampled_from(list(FIXES.values()))),
        removal=draw(st.sampled_from(list(TOMBSTONE_REMOVALS.values()))),
        full_map=draw(st.booleans()),
        first_dirty_offset=draw(st.integers(0, bound)),
        upper_bound=bound,
        decided_below=bound,
        now_ms=draw(st.integers(0, 2)) * RETENTION_MS,
        removal_limit=draw(st.integers(0, 30)),
        legacy_horizon_ms=draw(st.sampled_from([None, 0])),
        segment_bytes=draw(st.sampled_from([None, 10_000])),
    )

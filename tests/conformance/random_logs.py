"""Random log files that Kafka could really hold, with steps, for the preset of a release.

Logs stay small: many run in little time. A log is made by choices, each a small number of which 0
is the plainest, so that a log that shows a difference becomes smaller by leaving choices out.
"""

from __future__ import annotations

from hypothesis import strategies as st

from sim.simulate.logfile.file import log_file_from
from tests.conformance.choices import Choices, numbered
from tests.conformance.compare import Json
from tests.conformance.random_batches import BEFORE_HORIZONS, HORIZONS, KEYS, MOST, RandomLog
from tests.conformance.random_steps import RandomSteps

FORMAT = "replog-log/1"
LATEST_ON_DISK_MS = 2**42
"""File systems count up to a year that is not as far away."""
NO_INDEX_BYTES = 2**30
"""More bytes between two entries of an offset index than a segment has."""
LEAST_SEGMENT_BYTES = 14
"""Kafka 2.8 takes no less for `segment.bytes`."""
LARGE_GAP = 2**31 + 7
"""More offsets than one segment may span."""
ENDINGS = (
    ("open",),
    ("COMMIT",),
    ("ABORT",),
    ("ABORT", "COMMIT"),
    ("COMMIT", "ABORT"),
    ("open", "ABORT"),
)
"""What becomes of transactions that are still open when the log is written, in turn."""
LAGS = (
    *[(0, MOST)] * 3,
    *((100, MOST), (995, MOST), (0, 1), (0, 100), (60, 500), (0, 5_000)),
)
"""Minimum and maximum compaction lag."""


def random_log(choices: Choices, preset: str = "kafka-4.0") -> Json:
    """A log of one to four segments to clean, an active one, and some steps, of them a pass."""
    pick, once_in = choices.pick, choices.once_in
    old_release, moves = preset == BEFORE_HORIZONS, once_in(3)
    # Where steps move the ends of the log, its segments have no times, sizes and formats of their
    # own, and no batch is compressed: whether a log is due is a question of bytes, which only a
    # compressor knows then.
    old_formats, compressed = (once_in(6) and not moves), (once_in(6) and not moves)
    own_times = old_formats or (old_release and not moves and once_in(2))
    log = RandomLog(choices, preset, old_formats=old_formats, compressed=compressed)
    books = log.books
    for number in choices.some(1, 4):
        if number:
            log.roll(missing=pick(*[0] * 12, 1, 2, LARGE_GAP))
        if own_times:
            modified_ms = pick(0, 899, 900, 999, 1_000, 1_001, 1_100)
            books.segments[-1]["last_modified_ms"] = modified_ms
        log.fill_segment()
    endings, in_active = pick(*ENDINGS), once_in(2)
    if not in_active:
        log.end_transactions(endings)
    if once_in(2 if old_formats else 4):  # a batch of which a pass may leave nothing
        keys = [pick(None, *KEYS) for _ in choices.some(1, 2)]
        records = [{"key": key, "value": None, "timestamp_ms": 0} for key in keys]
        magic = pick(2, 2, 1, 0) if old_formats else 2
        horizon_ms = None if old_release else pick(*HORIZONS)
        books.data(records, horizon_ms=horizon_ms, magic=magic)
    log.roll()
    if in_active:
        log.end_transactions(endings)
    for _ in choices.some(0, 2):
        log.write()
    retention_ms = pick(100, 100, 1_000, 0)
    if once_in(20) and not old_release:
        retention_ms = pick(MOST, MOST - 1_000, MOST - 1_060)
    lags = pick(*LAGS)
    segments = books.written_segments()
    latest_ms = LATEST_ON_DISK_MS if old_formats else MOST
    writer = RandomSteps(log, preset, retention_ms, latest_ms, lags[0])
    if moves:
        writer.moving()
    else:
        writer.usual()
    rules: Json = {"preset": preset, "delete_retention_ms": retention_ms}
    all_modified_ms = pick(None, 0, 999, 1_000, 1_100)
    if all_modified_ms is not None:
        rules["segment_last_modified_ms"] = all_modified_ms
    document: Json = {"format": FORMAT, "rules": rules, "topic": random_topic(choices, lags)}
    document |= {"segments": segments, "steps": writer.steps}
    _set_sizes(choices, document, compresses=books.compresses, may_limit=not moves)
    return document


def _set_sizes(choices: Choices, document: Json, *, compresses: bool, may_limit: bool) -> None:
    """How large segments may be, and how much lies between entries of the offset index.

    Near what two segments, or some batches, really have. Of a compressed batch only a compressor
    knows where the next one begins: there is no index then.
    """
    rules, pick = document["rules"], choices.pick
    if compresses:
        rules["index_interval_bytes"] = NO_INDEX_BYTES
        return
    read = log_file_from(document).segments
    sizes = [[batch.size_bytes for batch in segment.batches] for segment in read]
    if choices.once_in(6) and may_limit:
        first = choices.below(3) % max(1, len(sizes) - 2)
        both = sum(map(sum, sizes[first : first + 2]))
        rules["segment_bytes"] = max(LEAST_SEGMENT_BYTES, both + pick(0, 0, -1, -1, 1))
    interval = pick(None, None, 0, 0, 150, 400)
    if choices.once_in(3):
        flat = [size for segment in sizes for size in segment]
        first, count = choices.below(9) % max(1, len(flat)), pick(1, 1, 2, 3)
        interval = max(0, sum(flat[first : first + count]) + pick(0, 0, -1))
    if interval is not None:
        rules["index_interval_bytes"] = interval


def random_topic(choices: Choices, lags: tuple[int, int] | None = None) -> Json:
    """Settings that decide when a log is due; often it is."""
    least, most = choices.pick(*LAGS) if lags is None else lags
    return {
        "min.cleanable.dirty.ratio": choices.pick(0, 0, 0, 0.1, 0.3, 0.5, 1),
        "min.compaction.lag.ms": least,
        "max.compaction.lag.ms": most,
    }


def documents(preset: str = "kafka-4.0") -> st.SearchStrategy[Json]:
    """Log files for a preset, each with at least one pass of the cleaner."""
    return st.integers(0).map(lambda seed: random_log(numbered(seed, 0), preset))

"""The steps of a log file made of small actions: when to clean, how far, with how large a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sim.simulate.logfile.file import log_file_from
from tests.conformance.log_builder import Document, LogBuilder, Marker, Write

FORMAT = "replog-log/1"
LATEST_EXPIRY_MS = 2**62
"""Later Kafka's own sum of how long a producer was silent leaves 64 bits."""
NO_INDEX_BYTES = 2**30
"""More bytes between two entries of an offset index than a segment has."""
LEAST_SEGMENT_BYTES = 14
"""Kafka 2.8 takes no less for `segment.bytes`."""
LATEST_MS = 2**63 - 1
"""Kafka counts ms in 64 bits with a sign."""
LATEST_ON_DISK_MS = 2**42
"""File systems count up to a year that is not as far away."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Batches to write into one segment.

    Attributes:
        writes: Its batches.
        missing_before: Offsets between the end of the previous segment and this one's base.
        span: So far above the first segment's base is this one's, if the log ends below it;
            `missing_before` does not count then.
        modified_ms: When it was last modified, where the plan says that it matters.
    """

    writes: tuple[Write, ...]
    missing_before: int = 0
    span: int | None = None
    modified_ms: int = 0


@dataclass(frozen=True, slots=True)
class Now:
    """The cleaner's clock at the start of a pass.

    Attributes:
        kind: `later` than the last pass by `by_ms` (earlier if negative); or `by_ms` beside a
            delete `horizon`, or beside the moment when a batch is as old as the minimum compaction
            `lag`.
        by_ms: Milliseconds.
        which: Which of the horizons, or batches, known so far, counted from the latest.
    """

    kind: Literal["later", "horizon", "lag"]
    by_ms: int
    which: int = 0


@dataclass(frozen=True, slots=True)
class Clean:
    """One cleaning pass.

    Attributes:
        now: The clock.
        dirty: Where the dirty section begins: the log's `start`, the previous pass's `bound`,
            at some `offset`, or soon after the ABORT marker of an `aborted` transaction.
        which: Which offset, or which marker.
        segments_left: How many of the segments that may be cleaned are left out at the end.
        short_by: The bound asked for is so many offsets below a segment's base.
        capacity: Most distinct keys the offset map takes; None = no limit.
        given: An offset map to use instead of building one: keys, each with the number of an
            offset; an empty one forces a rescan of a clean log. None = build it, as where
            nothing lies below the bound, or it is not known which segments were joined.
        latest: Which offset the given map ends at; None = just below the bound.
        log_horizon_ms: The log-wide delete horizon of releases before KIP-534; None = what that
            release makes of modification times.
    """

    now: Now
    dirty: Literal["start", "bound", "offset", "aborted"] = "start"
    which: int = 0
    segments_left: int = 0
    short_by: int = 0
    capacity: int | None = None
    given: tuple[tuple[str, int], ...] | None = None
    latest: int | None = None
    log_horizon_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CleanIfDue:
    """One cleaning pass, if Kafka's manager selects the log; it decides from where to where.

    Attributes:
        now: The clock.
        capacity: Most distinct keys the offset map takes; None = no limit.
        log_horizon_ms: The log-wide delete horizon, as for `Clean`.
    """

    now: Now
    capacity: int | None = None
    log_horizon_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """Some offset of the log.

    Attributes:
        kind: The base of a segment, the offset of a batch or a record, or the log end.
        which: Which of them, counted from the latest.
        by: So many offsets beside it.
    """

    kind: Literal["base", "offset", "end"]
    which: int = 0
    by: int = 0


MoveOp: TypeAlias = Literal["truncate", "truncate_fully", "high_watermark", "delete_records"]


@dataclass(frozen=True, slots=True)
class Move:
    """An end of the log moves to some offset.

    Attributes:
        op: The step.
        to: Where; a high watermark stays within the log, what is deleted below the high watermark.
    """

    op: MoveOp
    to: Spot


@dataclass(frozen=True, slots=True)
class Expire:
    """Producers that were silent for `after_ms` are forgotten.

    With `since` it is that long after a batch, counted from the latest, and `now.by_ms` beside it.
    """

    now: Now
    after_ms: int
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """New batches, and whether a new segment begins after them."""

    writes: tuple[Write, ...]
    roll_after: bool


@dataclass(frozen=True, slots=True)
class Other:
    """A step without fields.

    `roll`: begin a new segment. `reload`: rebuild what is known of producers from the log.
    `delete_old_segments`: delete what lies below the log start.
    """

    op: Literal["roll", "reload", "delete_old_segments"]


@dataclass(frozen=True, slots=True)
class Retry:
    """A producer sends an old batch again.

    Attributes:
        which: Which data batch with a producer, counted from the latest.
        shift: Added to its base sequence; 0 = truly the same batch.
    """

    which: int
    shift: int = 0


Step: TypeAlias = Clean | CleanIfDue | Append | Other | Retry | Move | Expire
Ending: TypeAlias = Literal["COMMIT", "ABORT", "open"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole log file as actions.

    Attributes:
        segments: Segments to begin with, the last one active.
        steps: What happens then.
        preset: What the log is cleaned like.
        modified_ms: When all segments were last modified, for presets that look at it.
        start: Offset at which the log begins.
        first_sequences: Where producers begin to count, in turn.
        delete_retention_ms: `delete.retention.ms`.
        endings: What becomes of transactions that are still open when the log is written, in
            turn: COMMIT or ABORT, or they stay `open`.
        tail: Batches at the end of what may be cleaned, after those markers if they are there.
        end_in_active: Whether these markers are in the active segment or in the one before.
        clean_open: Passes may go beyond the last stable offset, which no cleaner manager allows.
        keys: What the keys `a`, `b` and so on are really called, as far as it goes.
        topic: Settings that decide when the log is due.
        limit: (which, by): `segment.bytes` is `by` above what the first two segments have, or the
            next ones in the place of both; None = there is none, as where something is compressed.
        own_times: Each closed segment has the time of its last modification.
        old_formats: Batches may be of magic 0 and 1, for which that matters under every preset.
        compressed: Batches may be compressed.
        index_interval_bytes: `index.interval.bytes`; None = the default. Where a batch is
            compressed, nobody but Kafka knows where the next one begins, and there is no index.
        interval_of: (which, how many, by): instead, `by` above what so many batches have.
    """

    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    preset: str = "kafka-4.0"
    modified_ms: int | None = None
    start: int = 0
    first_sequences: Sequence[int] = (0,)
    delete_retention_ms: int = 100
    endings: tuple[Ending, ...] = ("open",)
    end_in_active: bool = False
    tail: tuple[Write, ...] = ()
    clean_open: bool = False
    keys: tuple[str, ...] = ()
    topic: tuple[tuple[str, float], ...] = ()
    limit: tuple[int, int] | None = None
    own_times: bool = False
    old_formats: bool = False
    compressed: bool = False
    index_interval_bytes: int | None = None
    interval_of: tuple[int, int, int] | None = None


def build(plan: Plan) -> Document:
    """The log file of a plan."""
    asks_manager = any(isinstance(step, CleanIfDue) for step in plan.steps)
    # Other steps are compared where segments have no times, sizes and indexes of their own.
    plain = all(isinstance(step, Clean | Append | Other | Retry) for step in plan.steps)
    builder = LogBuilder(
        plan.start,
        plan.first_sequences,
        with_horizons=plan.preset != "kafka-2.8",
        # Whether a log is due is a question of bytes, which nobody but a compressor knows.
        with_compression=plan.compressed and not asks_manager,
        with_old_formats=plan.old_formats and plain,
        keys=dict(zip("abcd", plan.keys, strict=False)),
    )
    *closed, active = plan.segments
    for number, segment in enumerate(closed):
        if number:
            _roll(builder, segment)
        if plain and (plan.own_times or plan.old_formats):
            builder.modified(segment.modified_ms)
        _write(builder, segment.writes)
    if not plan.end_in_active:
        _end_transactions(builder, plan.endings)
    _write(builder, plan.tail)
    _roll(builder, active)
    if plan.end_in_active:
        _end_transactions(builder, plan.endings)
    _write(builder, active.writes)
    segments = builder.segments()
    writer = _Steps(builder, plan)
    steps = [writer.step(step) for step in plan.steps]
    rules = {"preset": plan.preset, "delete_retention_ms": plan.delete_retention_ms}
    if plan.modified_ms is not None:
        rules["segment_last_modified_ms"] = plan.modified_ms
    if builder.compresses:
        rules["index_interval_bytes"] = NO_INDEX_BYTES
    elif plan.index_interval_bytes is not None:
        rules["index_interval_bytes"] = plan.index_interval_bytes
    topic = {"topic": dict(plan.topic)} if plan.topic else {}
    document = {"format": FORMAT, "rules": rules, **topic, "segments": segments, "steps": steps}
    if plan.limit is not None and plain and not builder.compresses:
        rules["segment_bytes"] = _segment_bytes(document, *plan.limit)
    if plan.interval_of is not None and not builder.compresses:
        rules["index_interval_bytes"] = _interval_bytes(document, *plan.interval_of)
    return document


def _interval_bytes(document: Document, which: int, count: int, by: int) -> int:
    """What some batches in a row have, and `by` more."""
    batches = [batch for segment in log_file_from(document).segments for batch in segment.batches]
    first = which % max(1, len(batches))
    return max(0, sum(batch.size_bytes for batch in batches[first : first + count]) + by)


def _segment_bytes(document: Document, which: int, by: int) -> int:
    """What two neighbours have, and `by` more."""
    segments = log_file_from(document).segments
    sizes = [sum(batch.size_bytes for batch in segment.batches) for segment in segments]
    first = which % max(1, len(sizes) - 2)
    return max(LEAST_SEGMENT_BYTES, sum(sizes[first : first + 2]) + by)


def _roll(builder: LogBuilder, segment: Segment) -> None:
    missing = segment.missing_before
    if segment.span is not None:
        missing = max(0, builder.bases[0] + segment.span - builder.end)
    builder.roll(missing)


def _write(builder: LogBuilder, writes: Sequence[Write]) -> None:
    for write in writes:
        builder.write(write)


def _end_transactions(builder: LogBuilder, endings: Sequence[Ending]) -> None:
    for number, producer in enumerate(builder.undecided):
        ending = endings[number % len(endings)]
        if ending != "open":
            builder.write(Marker(producer=producer, commit=ending == "COMMIT"))


class _Steps:
    """Writes steps, in order; knows what the steps before did to segments and horizons."""

    def __init__(self, builder: LogBuilder, plan: Plan) -> None:
        self._builder = builder
        self._plan = plan
        self._now_ms = 1_000
        self._bound: int | None = None
        self._bases_known = True

    def step(self, step: Step) -> Document:
        if isinstance(step, Clean):
            return self._clean(step)
        if isinstance(step, Append):
            batches = [self._builder.write(write) for write in step.writes]
            if step.roll_after:
                self._builder.roll()
            return {"op": "append", "batches": batches, "roll_after": step.roll_after}
        if isinstance(step, Retry):
            return self._retry(step)
        if isinstance(step, CleanIfDue):
            return self._clean_if_due(step)
        if isinstance(step, Move):
            return self._move(step)
        if isinstance(step, Expire):
            now_ms = min(self._now(step.now), LATEST_EXPIRY_MS)
            times = self._builder.times
            if step.since is not None and times:
                silent_since = times[-1 - step.since % len(times)]
                now_ms = max(0, silent_since + step.after_ms + step.now.by_ms)
            return {"op": "expire_producers", "now_ms": now_ms, "expiration_ms": step.after_ms}
        if step.op == "roll":
            self._builder.roll()
        if step.op == "delete_old_segments":
            self._builder.delete_below_start()
        return {"op": step.op}

    def _clean_if_due(self, step: CleanIfDue) -> Document:
        """It is not known here whether there is a pass, and what it joins."""
        self._now_ms = self._now(step.now)
        self._bases_known = False
        self._builder.horizons.append(self._now_ms + self._plan.delete_retention_ms)
        written: Document = {"op": "clean", "now_ms": self._now_ms}
        if step.capacity is not None:
            written["map_capacity"] = step.capacity
        if step.log_horizon_ms is not None:
            written["delete_horizon_ms"] = step.log_horizon_ms
        return written

    def _move(self, step: Move) -> Document:
        builder = self._builder
        to = self._spot(step.to)
        if step.op == "truncate":
            builder.truncate(to)
        elif step.op == "truncate_fully":
            builder.truncate_fully(to)
        elif step.op == "high_watermark":
            to = builder.high_watermark = min(max(to, builder.log_start), builder.end)
        else:
            to = min(to, builder.committed)
            builder.start_at(to)
            return {"op": step.op, "before": to}
        return {"op": step.op, "offset": to}

    def _spot(self, spot: Spot) -> int:
        builder = self._builder
        known = builder.bases if spot.kind == "base" else builder.offsets
        if spot.kind == "end" or not known:
            return max(0, builder.end + spot.by)
        return max(0, known[-1 - spot.which % len(known)] + spot.by)

    def _clean(self, step: Clean) -> Document:
        now_ms = self._now(step.now)
        bases = self._builder.bases
        limit = bases[-1] if self._plan.clean_open else self._builder.last_stable_offset
        allowed = [base for base in bases[1:] if base <= limit] or bases[:1]
        bound = allowed[-1 - step.segments_left % len(allowed)]
        if step.short_by and step.given is None:
            bound = max(bases[0], bound - step.short_by)
        dirty = self._first_dirty(step)
        written: Document = {
            "op": "clean",
            "now_ms": now_ms,
            "first_dirty_offset": dirty,
            "upper_bound": bound,
        }
        if step.given is not None and self._bases_known and bound > bases[0]:
            written["first_dirty_offset"] = min(dirty, bound)
            written.update(self._given(step.given, step.latest, bound))
            self._merge(written["map_latest_offset"] + 1)
        elif step.capacity is not None:
            written["map_capacity"] = step.capacity
            self._bases_known = False
        elif dirty < bound:
            self._merge(max(base for base in bases if base <= bound))
        if step.log_horizon_ms is not None:
            written["delete_horizon_ms"] = step.log_horizon_ms
        horizon_ms = now_ms + self._plan.delete_retention_ms
        if horizon_ms <= LATEST_MS:
            self._builder.horizons.append(horizon_ms)
        self._now_ms = now_ms
        self._bound = bound
        return written

    def _given(
        self, given: tuple[tuple[str, int], ...], latest: int | None, bound: int
    ) -> Document:
        """The fields of a pass that does not build its map."""
        last = bound - 1 if latest is None else min(bound - 1, self._offset(latest))
        fields: Document = {"map_latest_offset": last}
        if not given:
            return {**fields, "first_dirty_offset": bound, "forced_rescan": True}
        return {**fields, "offset_map": {key: self._offset(which) for key, which in given}}

    def _offset(self, which: int) -> int:
        """One of the offsets worth naming; 0 where there is none."""
        offsets = self._builder.offsets
        return offsets[which % len(offsets)] if offsets else 0

    def _merge(self, end: int) -> None:
        """Segments with a base below `end` become one, if that cannot span too many offsets."""
        bases = self._builder.bases
        if end - bases[0] < 2**31:
            bases[:] = [bases[0], *(base for base in bases[1:] if base >= end)]
        else:
            self._bases_known = False

    def _now(self, now: Now) -> int:
        horizons = self._builder.horizons
        if now.kind == "horizon" and horizons:
            now_ms = horizons[-1 - now.which % len(horizons)] + now.by_ms
        elif now.kind == "lag" and self._builder.times:
            times = self._builder.times
            lag_ms = int(dict(self._plan.topic).get("min.compaction.lag.ms", 0))
            now_ms = times[-1 - now.which % len(times)] + lag_ms + now.by_ms
        else:
            now_ms = self._now_ms + now.by_ms
        latest_ms = LATEST_ON_DISK_MS if self._plan.old_formats else LATEST_MS
        return min(max(0, now_ms), latest_ms)

    def _first_dirty(self, step: Clean) -> int:
        if step.dirty == "bound" and self._bound is not None:
            return self._bound
        aborted = self._builder.aborted
        if step.dirty == "aborted" and aborted:
            markers, soon = len(aborted), step.which // len(aborted) % 3
            above = [at for at in self._builder.offsets if at > aborted[step.which % markers]]
            return above[min(soon, len(above) - 1)] if above else self._builder.end
        return self._offset(step.which) if step.dirty in {"offset", "aborted"} else 0

    def _retry(self, step: Retry) -> Document:
        known = self._builder.sequences
        if not known:
            return {"op": "reload"}
        producer, epoch, first, last, keys = known[-1 - step.which % len(known)]
        count = (last - first) % 2**31 + 1
        return {
            "op": "produce_duplicate",
            "producer_id": producer,
            "producer_epoch": epoch,
            "base_sequence": (first + step.shift) % 2**31,
            "keys": (keys + ["k"] * count)[:count],
        }

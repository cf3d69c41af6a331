"""The steps of a log file made of small actions: when to clean, how far, with how large a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sim.conformance.log_builder import Document, LogBuilder, Marker, Write

FORMAT = "replog-log/1"


@dataclass(frozen=True, slots=True)
class Segment:
    """Batches to write into one segment.

    Attributes:
        writes: Its batches.
        missing_before: Offsets between the end of the previous segment and this one's base.
    """

    writes: tuple[Write, ...]
    missing_before: int = 0


@dataclass(frozen=True, slots=True)
class Now:
    """The cleaner's clock at the start of a pass.

    Attributes:
        kind: `later` than the last pass by `by_ms` (earlier if negative), or at a delete `horizon`
            and `by_ms` beside it.
        by_ms: Milliseconds.
        which: Which of the horizons known so far, counted from the latest.
    """

    kind: Literal["later", "horizon"]
    by_ms: int
    which: int = 0


@dataclass(frozen=True, slots=True)
class Clean:
    """One cleaning pass.

    Attributes:
        now: The clock.
        dirty: Where the dirty section begins: the log's `start`, the previous pass's `bound`, or
            at some `offset`.
        which: Which offset, for `offset`.
        segments_left: How many of the segments that may be cleaned are left out at the end.
        capacity: Most distinct keys the offset map takes; None = no limit.
    """

    now: Now
    dirty: Literal["start", "bound", "offset"] = "start"
    which: int = 0
    segments_left: int = 0
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """New batches, and whether a new segment begins after them."""

    writes: tuple[Write, ...]
    roll_after: bool


@dataclass(frozen=True, slots=True)
class Other:
    """`roll`: begin a new segment. `reload`: rebuild what is known of producers from the log."""

    op: Literal["roll", "reload"]


@dataclass(frozen=True, slots=True)
class Retry:
    """A producer sends an old batch again.

    Attributes:
        which: Which data batch with a producer, counted from the latest.
        shift: Added to its base sequence; 0 = truly the same batch.
    """

    which: int
    shift: int = 0


Step: TypeAlias = Clean | Append | Other | Retry
Ending: TypeAlias = Literal["COMMIT", "ABORT", "open"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole log file as actions.

    Attributes:
        segments: Segments to begin with, the last one active.
        steps: What happens then.
        start: Offset at which the log begins.
        first_sequences: Where producers begin to count, in turn.
        delete_retention_ms: `delete.retention.ms`.
        endings: What becomes of transactions that are still open when the log is written, in
            turn: COMMIT or ABORT, or they stay `open`.
        end_in_active: Whether these markers are in the active segment or in the one before.
        clean_open: Passes may go beyond the last stable offset, which no cleaner manager allows.
    """

    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    start: int = 0
    first_sequences: Sequence[int] = (0,)
    delete_retention_ms: int = 100
    endings: tuple[Ending, ...] = ("open",)
    end_in_active: bool = False
    clean_open: bool = False


def build(plan: Plan) -> Document:
    """The log file of a plan."""
    builder = LogBuilder(plan.start, plan.first_sequences)
    *closed, active = plan.segments
    for number, segment in enumerate(closed):
        if number:
            builder.roll(segment.missing_before)
        _write(builder, segment.writes)
    if not plan.end_in_active:
        _end_transactions(builder, plan.endings)
    builder.roll(active.missing_before)
    if plan.end_in_active:
        _end_transactions(builder, plan.endings)
    _write(builder, active.writes)
    segments = builder.segments()
    writer = _Steps(builder, plan)
    return {
        "format": FORMAT,
        "rules": {"preset": "kafka-4.0", "delete_retention_ms": plan.delete_retention_ms},
        "segments": segments,
        "steps": [writer.step(step) for step in plan.steps],
    }


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
        if step.op == "roll":
            self._builder.roll()
        return {"op": step.op}

    def _clean(self, step: Clean) -> Document:
        now_ms = self._now(step.now)
        bases = self._builder.bases
        limit = bases[-1] if self._plan.clean_open else self._builder.last_stable_offset
        allowed = [base for base in bases[1:] if base <= limit] or bases[:1]
        bound = allowed[-1 - step.segments_left % len(allowed)]
        dirty = self._first_dirty(step)
        written: Document = {
            "op": "clean",
            "now_ms": now_ms,
            "first_dirty_offset": dirty,
            "upper_bound": bound,
        }
        if step.capacity is not None:
            written["map_capacity"] = step.capacity
        elif dirty < bound:
            self._merge(bound)
        self._builder.horizons.append(now_ms + self._plan.delete_retention_ms)
        self._now_ms = now_ms
        self._bound = bound
        return written

    def _merge(self, bound: int) -> None:
        """All segments below the bound become one, unless it would span more than 31 bits."""
        bases = self._builder.bases
        if bound - bases[0] < 2**31:
            bases[:] = [bases[0], *(base for base in bases[1:] if base >= bound)]

    def _now(self, now: Now) -> int:
        horizons = self._builder.horizons
        if now.kind == "horizon" and horizons:
            return max(0, horizons[-1 - now.which % len(horizons)] + now.by_ms)
        return max(0, self._now_ms + now.by_ms)

    def _first_dirty(self, step: Clean) -> int:
        if step.dirty == "bound" and self._bound is not None:
            return self._bound
        offsets = self._builder.offsets
        if step.dirty == "offset" and offsets:
            return offsets[step.which % len(offsets)]
        return 0

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

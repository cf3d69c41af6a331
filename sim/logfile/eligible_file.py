"""A log file with logs to choose from, for `replog eligible`: strictly checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.compaction.eligibility import EligibilityConfig
from sim.files.document import Document, Place, shown
from sim.files.fields import REQUIRED, Fields, as_object, check_format
from sim.files.formats import LOG_FORMAT
from sim.logfile.file import ABOUT, read_log_document

_TOP = ("format", *ABOUT[:3], "now_ms", "topic", "logs", *ABOUT[3:])
_RATIO, _MIN_LAG, _MAX_LAG = (
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
)
_ELSEWHERE = (
    "compression.type",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "index.interval.bytes",
    "max.message.bytes",
    "message.timestamp.type",
    "min.insync.replicas",
    "preallocate",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
)
"""Settings that may be pasted in with the others; they say nothing about when to clean."""

_POLICIES = ("compact", "compact,delete", "delete,compact")
_LOG = (
    "segments",
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "last_stable_offset",
    "checkpoint",
    "in_progress",
    "uncleanable",
)
_SEGMENT = (
    "base_offset",
    "size_bytes",
    "first_batch_timestamp_ms",
    "largest_timestamp_ms",
    "last_modified_ms",
)


@dataclass(frozen=True, slots=True)
class DescribedSegment:
    """A segment as the file describes it; the names are those of `SegmentFacts`."""

    base_offset: int
    size_bytes: int
    first_timestamp_ms: int
    largest_timestamp_ms: int
    last_modified_ms: int


@dataclass(frozen=True, slots=True)
class DescribedLog:
    """A log as the file describes it; offsets are exclusive ends but for the start."""

    segments: tuple[DescribedSegment, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    checkpoint: int | None
    in_progress: bool
    uncleanable: bool


@dataclass(frozen=True, slots=True)
class EligibleFile:
    """The logs of one cleaner, their topic's settings, and its clock in ms."""

    now_ms: int
    config: EligibilityConfig
    logs: dict[str, DescribedLog]


def load_eligible_file(path: Path) -> EligibleFile:
    """Read and check a file for `replog eligible`.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`.
    """
    return eligible_file_in(read_log_document(path))


def is_eligible_document(document: Document) -> bool:
    """True for a log file with `logs` to choose from, false for one with steps."""
    return isinstance(document.data, dict) and "logs" in document.data


def eligible_file_in(document: Document) -> EligibleFile:
    """What a document describes.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`.
    """
    check_format(document, (LOG_FORMAT,))
    if "steps" in document.data:
        text = "has steps to do, not logs to choose from; ask it with: replog clean"
        document.top.at("steps").fail(text)
    fields = Fields(document.data, document.top, _TOP)
    fields.require("now_ms", "logs")
    config = _config(fields)
    place = fields.at("logs")
    logs = as_object(fields.values["logs"], place)
    return EligibleFile(
        fields.integer("now_ms"),
        config,
        {name: _log(value, place.at(name), config) for name, value in logs.items()},
    )


def _config(fields: Fields) -> EligibilityConfig:
    given = fields.values.get("topic")
    topic = Fields(
        {} if given is None else given,
        fields.at("topic"),
        (_RATIO, _MIN_LAG, _MAX_LAG, "cleanup.policy", *_ELSEWHERE),
    )
    topic.choice("cleanup.policy", _POLICIES)
    ratio = topic.values.get(_RATIO)
    if ratio is None:
        ratio = EligibilityConfig().min_cleanable_dirty_ratio
    if type(ratio) not in (int, float) or not 0 <= ratio <= 1:
        topic.fail(_RATIO, f"expected a number from 0 to 1, not {shown(ratio)}")
    least = topic.integer(_MIN_LAG, 0)
    most = topic.maybe_integer(_MAX_LAG, minimum=1)
    if most is not None and least > most:
        topic.fail(_MIN_LAG, f"{least} is above {_MAX_LAG}, {most}")
    return EligibilityConfig(
        min_cleanable_dirty_ratio=ratio, min_compaction_lag_ms=least, max_compaction_lag_ms=most
    )


def _log(value: Any, place: Place, config: EligibilityConfig) -> DescribedLog:
    fields = Fields(value, place, _LOG)
    fields.require("segments", "log_end_offset")
    segments = _segments(fields, config)
    log_end = fields.integer("log_end_offset")
    active_base = segments[-1].base_offset
    if log_end < active_base:
        fields.fail(
            "log_end_offset", f"{log_end} is below {active_base}, the active segment's base"
        )
    log_start = fields.integer("log_start_offset", segments[0].base_offset)
    if log_start > log_end:
        fields.fail("log_start_offset", f"{log_start} is above the log end offset, {log_end}")
    watermark = fields.integer("high_watermark", log_end)
    if watermark > log_end:
        fields.fail("high_watermark", f"{watermark} is above the log end offset, {log_end}")
    stable = fields.integer("last_stable_offset", watermark)
    if stable > watermark:
        fields.fail("last_stable_offset", f"{stable} is above the high watermark, {watermark}")
    return DescribedLog(
        segments,
        log_start,
        log_end,
        watermark,
        stable,
        fields.maybe_integer("checkpoint"),
        fields.boolean("in_progress", default=False),
        fields.boolean("uncleanable", default=False),
    )


def _segments(fields: Fields, config: EligibilityConfig) -> tuple[DescribedSegment, ...]:
    found: list[DescribedSegment] = []
    given = list(fields.items("segments"))
    for index, (place, value) in enumerate(given):
        one = Fields(value, place, _SEGMENT)
        one.require("base_offset", "size_bytes")
        base = one.integer("base_offset")
        if found and base <= found[-1].base_offset:
            one.fail("base_offset", f"{base} is not above {found[-1].base_offset}")
        largest = one.integer("largest_timestamp_ms", -1, minimum=-1)
        is_active = index == len(given) - 1
        needs_time = largest < 0 and config.min_compaction_lag_ms > 0 and not is_active
        modified = one.integer("last_modified_ms", REQUIRED if needs_time else -1, minimum=-1)
        found.append(
            DescribedSegment(
                base,
                one.integer("size_bytes"),
                one.integer("first_batch_timestamp_ms", -1, minimum=-1),
                largest,
                modified,
            )
        )
    if not found:
        fields.fail("segments", "expected at least the active segment")
    return tuple(found)

"""A log file with logs to choose from, for `replog eligible`: strictly checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sim.compaction.eligibility import EligibilityConfig
from sim.files.document import CommandLine, Document
from sim.files.fields import REQUIRED, Fields, as_object, check_format
from sim.files.formats import LOG_FORMAT
from sim.files.tags import tags_at
from sim.logfile.eligible_settings import (
    broker_settings,
    config_of,
    rules_of,
    topic_settings,
)
from sim.logfile.file import ABOUT, read_log_document
from sim.logfile.schedule_file import (
    GROWTH_FIELDS,
    STEADY,
    Growth,
    ScheduleSettings,
    check_growth,
    growth_of,
    schedule_at,
)
from sim.rules import Rules

TOP = (
    "format",
    *ABOUT[:4],
    "now_ms",
    "rules",
    "broker",
    "topic",
    "schedule",
    "logs",
    *ABOUT[4:],
)
LOG = (
    "segments",
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "last_stable_offset",
    "checkpoint",
    "in_progress",
    "uncleanable",
    "topic",
    *GROWTH_FIELDS,
)
SEGMENT = (
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
    """A log as the file describes it; offsets are exclusive ends but for the start.

    Attributes:
        config: When it is cleaned.
        growth: What is written to it while a schedule is made.
    """

    config: EligibilityConfig
    segments: tuple[DescribedSegment, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    checkpoint: int | None
    in_progress: bool
    uncleanable: bool
    growth: Growth = STEADY


@dataclass(frozen=True, slots=True)
class EligibleFile:
    """The logs of one cleaner, and its clock in ms.

    Attributes:
        now_ms: The clock.
        logs: By name.
        rules: Of them `lag_estimate` has a meaning here.
        schedule: Until when to go on, and with which threads; None = one look.
    """

    now_ms: int
    logs: dict[str, DescribedLog]
    rules: Rules
    schedule: ScheduleSettings | None = None


def load_eligible_file(path: Path, *, rules: Mapping[str, object] | None = None) -> EligibleFile:
    """Read and check a file for `replog eligible`; `rules` replace its own.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`.
    """
    return eligible_file_in(read_log_document(path), rules=rules)


def is_eligible_document(document: Document) -> bool:
    """True for a log file with `logs` to choose from, false for one with steps."""
    return isinstance(document.data, dict) and "logs" in document.data


def eligible_file_in(
    document: Document, *, rules: Mapping[str, object] | None = None
) -> EligibleFile:
    """What a document describes; `rules`, from the command line, replace its own.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`.
    """
    check_format(document, (LOG_FORMAT,))
    if "steps" in document.data:
        text = "has steps to do, not logs to choose from; ask it with: replog clean"
        document.top.at("steps").fail(text)
    fields = Fields(document.data, document.top, TOP)
    tags_at(fields.values.get("tags"), fields.at("tags"))
    fields.require("now_ms", "logs")
    given = fields.values
    broker = broker_settings(given.get("broker"), fields.at("broker"))
    shared = topic_settings(given.get("topic"), fields.at("topic"))
    goes_by = rules_of(given.get("rules"), fields.at("rules"), base=Rules())
    if rules:
        goes_by = rules_of(dict(rules), CommandLine("--rule", rules).top, base=goes_by)
    estimate = goes_by.cleaner.lag_estimate
    config_of((shared, broker), estimate)
    now_ms = fields.integer("now_ms")
    schedule = schedule_at(fields, broker, now_ms=now_ms)
    lasts_ms = None if schedule is None else schedule.until_ms - now_ms
    place = fields.at("logs")
    found: dict[str, DescribedLog] = {}
    for name, value in as_object(given["logs"], place).items():
        log = Fields(value, place.at(name), LOG)
        own = topic_settings(log.values.get("topic"), log.at("topic"))
        config = config_of((own, shared, broker), estimate)
        found[name] = _log(log, config, lasts_ms=lasts_ms)
    if lasts_ms is not None:
        check_growth((log.growth for log in found.values()), place, lasts_ms=lasts_ms)
    return EligibleFile(now_ms, found, goes_by, schedule)


def _log(fields: Fields, config: EligibilityConfig, *, lasts_ms: int | None) -> DescribedLog:
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
        config,
        segments,
        log_start,
        log_end,
        watermark,
        stable,
        fields.maybe_integer("checkpoint"),
        fields.boolean("in_progress", default=False),
        fields.boolean("uncleanable", default=False),
        growth_of(fields, lasts_ms=lasts_ms),
    )


def _segments(fields: Fields, config: EligibilityConfig) -> tuple[DescribedSegment, ...]:
    found: list[DescribedSegment] = []
    given = list(fields.items("segments"))
    for index, (place, value) in enumerate(given):
        one = Fields(value, place, SEGMENT)
        one.require("base_offset", "size_bytes")
        base = one.integer("base_offset")
        if found and base <= found[-1].base_offset:
            one.fail("base_offset", f"{base} is not above {found[-1].base_offset}")
        largest = one.integer("largest_timestamp_ms", -1, minimum=-1)
        is_active = index == len(given) - 1
        needs_time = largest < 0 and not is_active and _reads_largest(one, config)
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


def _reads_largest(segment: Fields, config: EligibilityConfig) -> bool:
    """Whether somebody asks for its largest timestamp, or else for its last modification."""
    return (
        config.min_compaction_lag_ms > 0
        or config.lag_estimate == "previous_segment"
        or (
            config.lag_estimate == "largest_less_roll"
            and not segment.has("first_batch_timestamp_ms")
        )
    )

"""A log file with logs to choose from, for `replog eligible`: strictly checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from sim.files.document import CommandLine, Complaints, Document, Place, check_format
from sim.files.formats import LOG_FORMAT
from sim.files.models import Part, shaped
from sim.protocol.compaction.eligibility import EligibilityConfig
from sim.protocol.log import Segment
from sim.protocol.rules import Rules
from sim.simulate.logfile.batches import Natural, OrNone
from sim.simulate.logfile.eligible import DescribedLog
from sim.simulate.logfile.file import FileLines
from sim.simulate.logfile.rules import rules_at

if TYPE_CHECKING:
    from sim.simulate.logfile.settings import SettingsLevel

RULES = ("lag_estimate",)
"""Rules that may stand in a file with logs to choose from."""


class DescribedSegmentLine(Part):
    """A segment as a file describes it."""

    base_offset: Natural
    size_bytes: Natural
    first_batch_timestamp_ms: OrNone | None = None
    largest_timestamp_ms: OrNone | None = None
    last_modified_ms: OrNone | None = None


class LogLine(Part):
    """A log as a file describes it; offsets are exclusive, but for start, checkpoint and bases."""

    segments: Annotated[tuple[DescribedSegmentLine, ...], Field(min_length=1)]
    log_start_offset: Natural | None = None
    log_end_offset: Natural
    high_watermark: Natural | None = None
    last_stable_offset: Natural | None = None
    checkpoint: Natural | None = None
    in_progress: bool | None = None
    uncleanable: bool | None = None
    topic: Any = None


class EligibleFileLines(FileLines):
    """A log file with logs to choose from."""

    now_ms: Natural
    """The cleaner's clock, in ms."""
    broker: Any = None
    logs: dict[str, LogLine]
    expect: Any = None


_FILE: TypeAdapter[EligibleFileLines] = TypeAdapter(EligibleFileLines)


@dataclass(frozen=True, slots=True)
class EligibleFile:
    """The logs of one cleaner, and its clock in ms.

    Attributes:
        now_ms: The cleaner's clock in ms.
        logs: The logs by name.
        rules: The rules, of which `lag_estimate` alone has a meaning here.
        notes: Notes on settings that change nothing.
    """

    now_ms: int
    logs: dict[str, DescribedLog]
    rules: Rules
    notes: tuple[str, ...] = ()


def is_eligible_document(document: Document) -> bool:
    """True for a log file with `logs` to choose from, false for one with steps."""
    return isinstance(document.data, dict) and "logs" in document.data


def eligible_file_in(
    document: Document, *, rules: Mapping[str, object] | None = None
) -> EligibleFile:
    """The logs that a document describes; `rules`, from the command line, replace its own.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`, a line for each thing.
    """
    check_format(document, (LOG_FORMAT,))
    top, data = document.top, document.data
    if "steps" in data:
        text = "has steps to do, not logs to choose from; ask it with: replog clean"
        top.at("steps").fail(text)
    wrong, works_by = Complaints(), rules_at(None, top)
    with wrong:
        file = shaped(data, top, _FILE)
    with wrong:
        works_by = rules_at(data.get("rules"), top.at("rules"), allowed=RULES)
        if rules:
            place = CommandLine("--rule", rules).top
            works_by = rules_at({**works_by.given, **rules}, place, allowed=RULES)
    wrong.end()
    return _built(file, works_by.rules, top)


def _built(file: EligibleFileLines, rules: Rules, top: Place) -> EligibleFile:
    """The file, whose parts are valid by themselves. Raises BadInput where they contradict."""
    # What reads settings takes a while to import, and few log files with steps have any.
    from sim.simulate.logfile.settings import (
        broker_at,
        compacts,
        config_of,
        notes_of_choice,
        topic_at,
    )

    wrong = Complaints()
    logs, estimate = {}, rules.cleaner.lag_estimate
    topic, broker = topic_at(None, top.at("topic")), broker_at(None, top.at("broker"))
    own: list[SettingsLevel] = []
    with wrong:
        topic = topic_at(file.topic, top.at("topic"))
    with wrong:
        broker = broker_at(file.broker, top.at("broker"))
    with wrong:
        config_of([topic, broker], estimate)
    for name, line in file.logs.items():
        with wrong:
            at = top.at("logs").at(name)
            own.append(topic_at(line.topic, at.at("topic")))
            levels = [own[-1], topic, broker]
            config = config_of(levels, estimate)
            logs[name] = _log(line, at, config, compacts=compacts(levels))
    wrong.end()
    notes = notes_of_choice([topic, broker, *own], estimate)
    return EligibleFile(file.now_ms, logs, rules, notes)


def _log(line: LogLine, place: Place, config: EligibilityConfig, *, compacts: bool) -> DescribedLog:
    """The log that a file describes at `place`. Raises BadInput for an impossible log."""
    segments = _segments(line, place, config)
    log_end, active = line.log_end_offset, segments[-1].base_offset
    start = segments[0].base_offset if line.log_start_offset is None else line.log_start_offset
    watermark = log_end if line.high_watermark is None else line.high_watermark
    stable = watermark if line.last_stable_offset is None else line.last_stable_offset
    text = f"{log_end} is below {active}, the active segment's base"
    place.refuse("log_end_offset", log_end < active, text)
    for name, offset, most, of in (
        ("log_start_offset", start, log_end, "log end offset"),
        ("high_watermark", watermark, log_end, "log end offset"),
        ("last_stable_offset", stable, watermark, "high watermark"),
    ):
        place.refuse(name, offset > most, f"{offset} is above the {of}, {most}")
    return DescribedLog(
        config=config,
        segments=segments,
        log_start_offset=start,
        log_end_offset=log_end,
        high_watermark=watermark,
        last_stable_offset=stable,
        checkpoint=line.checkpoint,
        in_progress=bool(line.in_progress),
        uncleanable=bool(line.uncleanable),
        compacts=compacts,
    )


def _segments(line: LogLine, place: Place, config: EligibilityConfig) -> tuple[Segment, ...]:
    """The segments of a log, each with the times that the cleaner asks for."""
    found: list[Segment] = []
    for index, one in enumerate(line.segments):
        at, base = place.at("segments").at(index), one.base_offset
        first = one.first_batch_timestamp_ms
        below = found[-1].base_offset if found else -1
        at.refuse("base_offset", base <= below, f"{base} is not above {below}")
        reads_time = (
            config.min_compaction_lag_ms > 0
            or config.lag_estimate == "previous_segment"
            or (config.lag_estimate == "largest_less_roll" and first is None)
        )
        is_closed, untimed = index < len(line.segments) - 1, one.last_modified_ms is None
        largest = _or_none(one.largest_timestamp_ms)
        missing = is_closed and reads_time and untimed and largest < 0
        at.refuse("last_modified_ms", missing, "missing")
        found.append(
            Segment(
                base,
                _or_none(one.last_modified_ms),
                size_bytes=one.size_bytes,
                first_timestamp_ms=_or_none(first),
                largest_ms=largest,
            )
        )
    return tuple(found)


def _or_none(time_ms: int | None) -> int:
    """A time as a segment has it: -1 where the file gives none."""
    return -1 if time_ms is None else time_ms

"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from sim.files.bounds import Tags
from sim.files.document import (
    CommandLine,
    Complaints,
    Document,
    Location,
    Place,
    check_format,
    shown,
)
from sim.files.formats import LOG_FORMAT
from sim.files.models import Part, shaped
from sim.files.reading import read_document, read_json
from sim.protocol.log import AbortedTransaction, Batch
from sim.protocol.log.log import MAX_RELATIVE_OFFSET
from sim.simulate.logfile.batches import BatchLine, Natural, batch_of, check_follows, check_markers
from sim.simulate.logfile.rules import LogRules, TopicOfLog, rules_at
from sim.simulate.logfile.steps import Clean, Note, Step, StepLine


class SegmentLine(Part):
    """A segment: its batches, base offset and time."""

    base_offset: Natural | None = None
    batches: tuple[BatchLine, ...]
    last_modified_ms: Natural | None = None


class FileLines(Part):
    """Fields of a log file of either kind."""

    format: Literal["replog-log/1"]
    id: Any = None
    title: Any = None
    source: Any = None
    tags: Tags | None = None
    """Words to select files by."""
    rules: Any = None
    topic: Any = None
    note: Note = None


class LogFileLines(FileLines):
    """A log file with steps to do."""

    segments: Annotated[tuple[SegmentLine, ...], Field(json_schema_extra={"minItems": 1})]
    """In order; the last one is active, and may be empty."""
    checkpoint: Natural | None = None
    """The cleaner's checkpoint: where the next pass begins; none = no pass was run yet."""
    log_start_offset: Natural | None = None
    """First offset that the log answers for; none = that of the first segment."""
    high_watermark: Natural | None = None
    """First offset that is not committed; none = all is committed, appended records, too."""
    steps: tuple[StepLine, ...]
    expect: Annotated[
        Any, Field(json_schema_extra={"type": ["array", "null"], "items": {"type": "object"}})
    ] = None
    """Claims about the answer to each step."""


_FILE: TypeAdapter[LogFileLines] = TypeAdapter(LogFileLines)


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment as the file gives it.

    Attributes:
        base_offset: Its first offset (inclusive).
        batches: Its batches in order.
        last_modified_ms: Time of its last modification in ms; None if the file gives none.
        aborted: Its index of aborted transactions; None to derive it from the batches.
    """

    base_offset: int
    batches: tuple[Batch, ...]
    last_modified_ms: int | None = None
    aborted: tuple[AbortedTransaction, ...] | None = None


class LogStart(NamedTuple):
    """State of a log before the first step, beside its segments.

    Attributes:
        checkpoint: Where the next pass begins (inclusive); None = no pass was run yet.
        log_start_offset: First offset that the log answers for (inclusive); None = that of the
            first segment.
        high_watermark: What is below is committed (exclusive); None = all is, and what is appended,
            too.
        producers_since_ms: Producers without an open transaction whose newest batch is of this time
            in ms or before it are forgotten; None = none is.
    """

    checkpoint: int | None = None
    log_start_offset: int | None = None
    high_watermark: int | None = None
    producers_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file as it was read.

    Attributes:
        rules: The rules of the cleaner.
        segments: In order; the last one is active.
        steps: The steps, in order.
        topic: Decisions of its `topic` settings.
        place: Place of the steps in the file, for errors.
        notes: Notes on settings that change nothing.
        start: State of the log before the first step, beside its segments.
    """

    rules: LogRules
    segments: tuple[WrittenSegment, ...]
    steps: tuple[Step, ...]
    topic: TopicOfLog
    place: Place
    notes: tuple[str, ...] = ()
    start: LogStart = field(default_factory=LogStart)


class LogDocument(Document):
    """The document of a log file; a problem in it is printed with the JSON path first."""

    __slots__ = ()

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """Line about a problem for the user: `file: path: text (line 7)`."""
        way, line = self.name_of(location) if path is None else path, self.line_of(location)
        behind = "" if line is None else f" (line {line})"
        return f"{': '.join(filter(None, [self.name, way, text]))}{behind}"


def read_log_document(path: Path) -> LogDocument:
    """The document in a file: YAML in a file named `.yaml` or `.yml`, else JSON.

    Raises:
        BadInput: The file cannot be read, or is not what its name says.
    """
    read = read_document(path) if path.suffix in (".yaml", ".yml") else read_json(path)
    return LogDocument(read.name, read.data, read.line_of)


def log_file_from(data: object) -> LogFile:
    """The log file in data as a JSON parser gives it.

    Raises:
        BadInput: `path: what is wrong`.
    """
    return log_file_in(Document("", data))


def log_file_in(document: Document, *, rules: Mapping[str, object] | None = None) -> LogFile:
    """The log file in a document; `rules`, from the command line, replace its own.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`, a line for each thing.
    """
    check_format(document, (LOG_FORMAT,))
    top, data = document.top, document.data
    if "logs" in data:
        text = "has logs to choose from, not steps; ask it with: replog eligible"
        top.at("logs").fail(text)
    wrong = Complaints()
    works_by, topic, settings = rules_at(None, top), TopicOfLog(), None
    with wrong:
        file = shaped(_with_segments(data, top.at("segments"), wrong), top, _FILE)
    with wrong:
        works_by = rules_at(data.get("rules"), top.at("rules"))
    if data.get("topic") is not None:
        # What reads settings takes a while to import, and few files have any.
        from sim.simulate.logfile.settings import LogSettings

        with wrong:
            settings = LogSettings.read(data["topic"], top.at("topic"), works_by)
            works_by, topic = settings.rules, settings.topic
    with wrong:
        if rules:
            works_by = works_by.with_values(rules, CommandLine("--rule", rules).top)
    wrong.end()
    steps, at = list[Step](), top.at("steps")
    placed: list[tuple[Batch, Place]] = []
    segments = _segments(
        file.segments, data["segments"], top.at("segments"), works_by, placed, wrong
    )
    for index, line in enumerate(file.steps):
        with wrong:
            steps.append(line.read(works_by, at.at(index)))
            bounded = isinstance(line, Clean) and line.upper_bound is not None
            text = "a pass over a log whose cleanup.policy is delete; allowed: compact in it"
            at.at(index).refuse("upper_bound", bounded and not topic.compacts, text)
            appended = enumerate(getattr(steps[-1], "batches", ()))
            placed += [(one, at.at(index).at("batches").at(n)) for n, one in appended]
    wrong.end()
    check_markers(placed)
    strategy = works_by.rules.cleaner.strategy
    notes = () if settings is None else settings.notes(steps, strategy)
    start = LogStart(file.checkpoint, file.log_start_offset, file.high_watermark)
    _check_start(start, segments, top)
    return LogFile(works_by, segments, tuple(steps), topic, at, notes, start)


def _check_start(start: LogStart, segments: Sequence[WrittenSegment], top: Place) -> None:
    """Raises BadInput for a high watermark above the log end, or a log start above that."""
    last = segments[-1]
    end = last.batches[-1].last_offset + 1 if last.batches else last.base_offset
    committed = end if start.high_watermark is None else start.high_watermark
    text = f"{committed} is above {end}, where the log ends"
    top.refuse("high_watermark", committed > end, text)
    begins = start.log_start_offset or 0
    top.refuse("log_start_offset", begins > committed, f"{begins} is above {committed}, committed")


def _with_segments(data: dict[str, Any], place: Place, wrong: Complaints) -> dict[str, Any]:
    """The data with every segment as an object, where the file may give a list of batches."""
    segments = data.get("segments")
    if not isinstance(segments, list):
        return data
    if not segments:
        wrong.add(place.problem("expected at least the active segment; it may be empty: []"))
    for index, one in enumerate(segments):
        if not isinstance(one, dict | list):
            text = f"expected a list of batches, or an object with them, not {shown(one)}"
            wrong.add(place.at(index).problem(text))
    objects = [
        one if isinstance(one, dict) else {"batches": one if isinstance(one, list) else []}
        for one in segments
    ]
    return {**data, "segments": objects}


def _segments(
    lines: Sequence[SegmentLine],
    values: Sequence[Any],
    place: Place,
    rules: LogRules,
    placed: list[tuple[Batch, Place]],
    wrong: Complaints,
) -> tuple[WrittenSegment, ...]:
    """The segments of the file, from models and raw values; every batch is added to `placed`."""
    found: list[WrittenSegment] = []
    end = 0
    for index, (line, value) in enumerate(zip(lines, values, strict=True)):
        at = place.at(index)
        within = at if isinstance(value, list) else at.at("batches")
        with wrong:
            base = end if line.base_offset is None else line.base_offset
            at.refuse(
                "base_offset", base < end, f"{base} is below {end}, where the one before ends"
            )
            end, before = base, len(placed)
            for number, one in enumerate(line.batches):
                with wrong:
                    batch = batch_of(one, within.at(number), rules)
                    check_follows(batch, end, within.at(number))
                    placed.append((batch, within.at(number)))
                    end = batch.last_offset + 1
            batches = tuple(batch for batch, _ in placed[before:])
            if line.base_offset is None and batches:
                base = batches[0].base_offset
            farthest = batches[-1].last_offset - base if batches else 0
            if farthest > MAX_RELATIVE_OFFSET:
                text = f"ends {farthest} offsets behind its base, {base}"
                at.fail(f"{text}; no segment can: allowed: {MAX_RELATIVE_OFFSET} at most")
            if found and not wrong.lines and base <= found[-1].base_offset:
                at.fail(f"starts at {base}, where segments[{index - 1}] starts")
            found.append(WrittenSegment(base, batches, line.last_modified_ms))
    return tuple(found)

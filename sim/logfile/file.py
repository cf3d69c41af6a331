"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sim.compaction.eligibility import EligibilityConfig
from sim.files.bounds import Tags
from sim.files.document import CommandLine, Complaints, Document, Location, Place, shown
from sim.files.fields import check_format
from sim.files.formats import LOG_FORMAT
from sim.files.models import Part, shaped
from sim.files.reading import read_document, read_json
from sim.log import Batch
from sim.logfile.batches import BatchLine, Natural, batch_of, check_follows, check_markers
from sim.logfile.eligible_settings import TopicLines, config_of, level_of
from sim.logfile.rules import LogRules, rules_at
from sim.logfile.steps import Note, Step, StepLine


class SegmentLine(Part):
    """A segment with what is known of it beside its batches."""

    base_offset: Natural | None = None
    batches: tuple[BatchLine, ...]
    last_modified_ms: Natural | None = None


class LogFileLines(Part):
    """A log file with steps to do."""

    format: Literal["replog-log/1"]
    id: Any = None
    title: Any = None
    source: Any = None
    tags: Tags | None = None
    """Words to select files by."""
    rules: Any = None
    topic: TopicLines | None = None
    segments: Annotated[tuple[SegmentLine, ...], Field(json_schema_extra={"minItems": 1})]
    """In order; the last one is active, and may be empty."""
    steps: tuple[StepLine, ...]
    note: Note = None
    expect: Annotated[
        Any, Field(json_schema_extra={"type": ["array", "null"], "items": {"type": "object"}})
    ] = None
    """What comes of each step, as far as it is claimed."""


_FILE: TypeAdapter[LogFileLines] = TypeAdapter(LogFileLines)


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment as the file gives it.

    Attributes:
        base_offset: Its first offset (inclusive).
        batches: In order.
        last_modified_ms: When it was last modified, in ms; None = the file does not say.
    """

    base_offset: int
    batches: tuple[Batch, ...]
    last_modified_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file as it was read.

    Attributes:
        rules: The rules of the cleaner.
        segments: In order; the last one is active.
        steps: What is done to it.
        topic: What decides when it is cleaned, where the cleaner's manager is asked.
        roll_ms: An append rolls the log when the first record is older, by timestamps; None = none
            does.
        place: Where the steps stand.
    """

    rules: LogRules
    segments: tuple[WrittenSegment, ...]
    steps: tuple[Step, ...]
    topic: EligibilityConfig
    roll_ms: int | None
    place: Place


class LogDocument(Document):
    """A log file's document, whose problems are told in the published form: the JSON path first."""

    __slots__ = ()

    def problem(self, location: Location, text: str, *, path: str | None = None) -> str:
        """One line for the user: `file: path: text (line 7)`."""
        way = self.name_of(location) if path is None else path
        return f"{': '.join(filter(None, [self.name, way, text]))} (line {self.line_of(location)})"


def read_log_document(path: Path) -> LogDocument:
    """The document in a file: YAML in a file named `.yaml` or `.yml`, else JSON.

    Raises:
        BadInput: The file cannot be read, or is not what its name says.
    """
    read = read_document(path) if path.suffix in (".yaml", ".yml") else read_json(path)
    return LogDocument(read.name, read.data, read.line_of)


def load_log_file(path: Path, *, rules: Mapping[str, object] | None = None) -> LogFile:
    """Read and check a log file; `rules` replace those of the file.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`; it cannot be read, or is no possible log.
    """
    return log_file_in(read_log_document(path), rules=rules)


def log_file_from(data: object) -> LogFile:
    """The log file in data as JSON has it.

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
    works_by = rules_at(None, top)
    with wrong:
        file = shaped(_with_segments(data, top.at("segments"), wrong), top, _FILE)
    with wrong:
        works_by = rules_at(data.get("rules"), top.at("rules"))
        if rules:
            works_by = works_by.with_values(rules, CommandLine("--rule", rules).top)
    wrong.end()
    topic, steps, at = EligibilityConfig(), list[Step](), top.at("steps")
    with wrong:
        topic = config_of([level_of(file.topic, top.at("topic"))], topic.lag_estimate)
    placed: list[tuple[Batch, Place]] = []
    segments = _segments(
        file.segments, data["segments"], top.at("segments"), works_by, placed, wrong
    )
    for index, line in enumerate(file.steps):
        with wrong:
            steps.append(line.read(works_by, at.at(index)))
            appended = enumerate(getattr(steps[-1], "batches", ()))
            placed += [(one, at.at(index).at("batches").at(n)) for n, one in appended]
    wrong.end()
    check_markers(placed)
    return LogFile(works_by, segments, tuple(steps), topic, _roll_ms(file.topic, topic), at)


def _with_segments(data: dict[str, Any], place: Place, wrong: Complaints) -> dict[str, Any]:
    """The same where every segment is an object: a list is that of its batches."""
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


def _roll_ms(lines: TopicLines | None, config: EligibilityConfig) -> int | None:
    """What makes an append roll the log (LogConfig.maxSegmentMs).

    Only settings that are given count: files without them have said nothing of timestamps.
    """
    segment_ms = None if lines is None else lines.segment_ms
    limits = [ms for ms in (segment_ms, config.max_compaction_lag_ms) if ms is not None]
    return min(limits, default=None)


def _segments(
    lines: Sequence[SegmentLine],
    values: Sequence[Any],
    place: Place,
    rules: LogRules,
    placed: list[tuple[Batch, Place]],
    wrong: Complaints,
) -> tuple[WrittenSegment, ...]:
    """The segments; `values` are as the file has them, and every batch goes to `placed`."""
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
            if found and not wrong.told and base <= found[-1].base_offset:
                at.fail(f"starts at {base}, where segments[{index - 1}] starts")
            found.append(WrittenSegment(base, batches, line.last_modified_ms))
    return tuple(found)

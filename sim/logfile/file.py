"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sim.compaction.eligibility import EligibilityConfig
from sim.files.bounds import Tags
from sim.files.document import (
    CommandLine,
    Complaints,
    Document,
    Location,
    Place,
    shown,
)
from sim.files.fields import check_format
from sim.files.formats import LOG_FORMAT
from sim.files.models import Part, shaped
from sim.files.reading import read_document, read_json
from sim.log import Batch
from sim.logfile.batches import BatchLine, Natural, batch_of
from sim.logfile.eligible_settings import TopicLines, config_of, level_of
from sim.logfile.rules import LogRules, rules_at
from sim.logfile.steps import (
    Append,
    AppendLine,
    Clean,
    DeleteRecords,
    HighWatermark,
    Note,
    Step,
    StepLine,
    Truncate,
    TruncateFully,
    check_clean,
)

_BATCH: TypeAdapter[BatchLine] = TypeAdapter(BatchLine)
_STEP: TypeAdapter[Step | AppendLine] = TypeAdapter(StepLine)


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
    segments: Annotated[
        tuple[tuple[BatchLine, ...] | SegmentLine, ...],
        Field(json_schema_extra={"minItems": 1}),
    ]
    """In order; the last one is active, and may be empty."""
    steps: tuple[StepLine, ...]
    note: Note = None
    expect: Annotated[
        Any, Field(json_schema_extra={"type": ["array", "null"], "items": {"type": "object"}})
    ] = None
    """What comes of each step, as far as it is claimed."""


_SEGMENT: TypeAdapter[SegmentLine] = TypeAdapter(SegmentLine)
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
    """

    rules: LogRules
    segments: tuple[WrittenSegment, ...]
    steps: tuple[Step, ...]
    topic: EligibilityConfig
    roll_ms: int | None


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
    works_by, topic, roll_ms = rules_at(None, top), EligibilityConfig(), None
    with wrong:
        file = shaped(data, top, _FILE, apart=("segments", "steps"))
        topic, roll_ms = _topic(file.topic, top.at("topic"))
    with wrong:
        works_by = rules_at(data.get("rules"), top.at("rules"))
        if rules:
            works_by = works_by.with_values(rules, CommandLine("--rule", rules).top)
    reader = _Reader(works_by, wrong)
    segments = reader.segments(data.get("segments"), top.at("segments"))
    steps = reader.steps(data.get("steps"), top.at("steps"))
    wrong.end()
    return LogFile(works_by, segments, steps, topic, roll_ms)


def _topic(lines: TopicLines | None, place: Place) -> tuple[EligibilityConfig, int | None]:
    """The topic's settings, and what makes an append roll the log (LogConfig.maxSegmentMs).

    Only settings that are given count: files without them have said nothing of timestamps.
    """
    config = config_of([level_of(lines, place)], EligibilityConfig().lag_estimate)
    segment_ms = None if lines is None else lines.segment_ms
    limits = [ms for ms in (segment_ms, config.max_compaction_lag_ms) if ms is not None]
    return config, min(limits, default=None)


class _Reader:
    """Reads segments and steps one after the other, and knows what cannot follow on them.

    Attributes:
        sure: Whether all of it could be read so far; otherwise nobody knows what cannot follow.
        start: Where the log starts.
        end: Where the log ends (exclusive); cleaning and rolling do not move it.
        high_watermark: What is below is committed; None = all of the log.
    """

    def __init__(self, rules: LogRules, wrong: Complaints) -> None:
        self.sure = True
        self.start = self.end = 0
        self.high_watermark: int | None = None
        self._rules = rules
        self._wrong = wrong
        self._plain: dict[int, int] = {}
        self._open: set[int] = set()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """A part is read; what is wrong with it is told, and what follows not compared with it."""
        before = len(self._wrong.told)
        with self._wrong:
            yield
        self.sure = self.sure and len(self._wrong.told) == before

    def segments(self, values: Any, place: Place) -> tuple[WrittenSegment, ...]:
        """The segments; what is wrong with them is told."""
        found: list[WrittenSegment] = []
        for index, value in enumerate(values if isinstance(values, list) else ()):
            with self._telling():
                segment = self._segment(value, place.at(index))
                if found and self.sure and segment.base_offset <= found[-1].base_offset:
                    before = f"where segments[{index - 1}] starts"
                    place.at(index).fail(f"starts at {segment.base_offset}, {before}")
                found.append(segment)
        with self._wrong:
            if values == []:
                place.fail("expected at least the active segment; it may be empty: []")
        self.start = found[0].base_offset if found else 0
        return tuple(found)

    def _segment(self, value: Any, place: Place) -> WrittenSegment:
        base, modified, batches = None, None, place
        if isinstance(value, dict):
            line = shaped(value, place, _SEGMENT, apart=("batches",))
            base, modified, batches = line.base_offset, line.last_modified_ms, place.at("batches")
            value = value["batches"]
        elif not isinstance(value, list):
            place.fail(f"expected a list of batches, or an object with them, not {shown(value)}")
        if base is not None:
            if self.sure and base < self.end:
                text = f"{base} is below {self.end}, where the one before ends"
                place.at("base_offset").fail(text)
            self.end = base
        start = self.end
        found = self._batches(value, batches)
        if base is None:
            base = found[0].base_offset if found else start
        return WrittenSegment(base, found, modified)

    def steps(self, values: Any, place: Place) -> tuple[Step, ...]:
        """The steps; what is wrong with them is told."""
        found: list[Step] = []
        for index, value in enumerate(values if isinstance(values, list) else ()):
            with self._telling():
                found.append(self._step(value, place.at(index)))
            if self._wrong.enough:
                break
        return tuple(found)

    def _step(self, value: Any, place: Place) -> Step:
        step: Step | AppendLine = shaped(value, place, _STEP, apart=("batches",))
        match step:
            case Clean():
                check_clean(step, place, self._rules)
            case AppendLine():
                batches = self._batches(value["batches"], place.at("batches"))
                return Append(batches, bool(step.roll_after))
            case Truncate() if step.offset < self.end:
                self._truncate(step.offset)
            case TruncateFully():
                self._truncate(0)
                self.start = self.end = step.offset
                if self.high_watermark is not None:
                    self.high_watermark = step.offset
            case HighWatermark():
                self._check_within(step.offset, place.at("offset"))
                self.high_watermark = step.offset
            case DeleteRecords():
                self._delete(step.before, place.at("before"))
        return step

    def _check_within(self, offset: int, place: Place) -> None:
        """Raise BadInput unless the log reaches from `offset` or below to it or above."""
        if self.sure and offset > self.end:
            place.fail(f"{offset} is above the log end offset, {self.end}")
        if self.sure and offset < self.start:
            place.fail(f"{offset} is below the log start offset, {self.start}")

    def _truncate(self, offset: int) -> None:
        """The log ends at `offset`."""
        self.end = offset
        self.start = min(self.start, offset)
        if self.high_watermark is not None:
            self.high_watermark = min(self.high_watermark, offset)

    def _delete(self, before: int, place: Place) -> None:
        """Raise BadInput if what is deleted below `before` is not committed."""
        committed = self.end if self.high_watermark is None else self.high_watermark
        if self.sure and before > committed:
            place.fail(f"{before} is above the high watermark, {committed}")
        self.start = max(self.start, before)

    def _batches(self, values: list[Any], place: Place) -> tuple[Batch, ...]:
        found: list[Batch] = []
        for index, value in enumerate(values):
            with self._telling():
                at = place.at(index)
                batch = batch_of(shaped(value, at, _BATCH), at, self._rules)
                self._take(batch, at)
                found.append(batch)
            if self._wrong.enough:
                break
        return tuple(found)

    def _take(self, batch: Batch, place: Place) -> None:
        """Raise BadInput if the batch at `place` cannot follow; else it is part of the history."""
        if self.sure and batch.base_offset < self.end:
            text = f"{batch.base_offset} is below {self.end}, where what comes before it ends"
            place.at("base_offset").fail(text)
        producer, is_marker = batch.producer_id, batch.control is not None
        if self.sure and is_marker and producer in self._plain.keys() - self._open:
            place.at("control").fail(
                f"{batch.control} without a transaction: producer {producer} writes outside "
                f"transactions, as at offset {self._plain[producer]}"
            )
        if is_marker:
            self._open.discard(producer)
        elif batch.transactional:
            self._open.add(producer)
        elif producer >= 0:
            self._plain.setdefault(producer, batch.base_offset)
        self.end = batch.last_offset + 1

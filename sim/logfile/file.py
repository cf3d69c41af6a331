"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.compaction.eligibility import EligibilityConfig
from sim.files.document import CommandLine, Document, Location, Place, shown
from sim.files.fields import Fields, check_format
from sim.files.formats import LOG_FORMAT
from sim.files.reading import read_document, read_json
from sim.files.tags import tags_at
from sim.log import Batch
from sim.logfile.batches import batch_at
from sim.logfile.eligible_settings import SEGMENT_MS, config_of, topic_settings
from sim.logfile.moves import DeleteRecords, HighWatermark, Truncate, TruncateFully
from sim.logfile.rules import LogRules, rules_at
from sim.logfile.steps import Append, Step, step_at

ABOUT = ("id", "title", "source", "tags", "note", "expect")
"""What a file may say about itself; no command depends on it."""

TOP = ("format", *ABOUT[:4], "rules", "topic", "segments", "steps", *ABOUT[4:])
SEGMENT_FIELDS = ("base_offset", "batches", "last_modified_ms")


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
        BadInput: `file: path: what is wrong (line 7)`.
    """
    check_format(document, (LOG_FORMAT,))
    if "logs" in document.data:
        text = "has logs to choose from, not steps; ask it with: replog eligible"
        document.top.at("logs").fail(text)
    fields = Fields(document.data, document.top, TOP)
    tags_at(fields.values.get("tags"), fields.at("tags"))
    fields.require("segments", "steps")
    works_by = rules_at(fields.values.get("rules"), fields.at("rules"))
    if rules:
        works_by = works_by.with_values(rules, CommandLine("--rule", rules).top)
    history = _History()
    segments = _segments(fields, works_by, history)
    history.start = segments[0].base_offset
    steps = tuple(_step(value, place, works_by, history) for place, value in fields.items("steps"))
    return LogFile(works_by, segments, steps, *_topic(fields))


def _topic(fields: Fields) -> tuple[EligibilityConfig, int | None]:
    """The topic's settings, and what makes an append roll the log (LogConfig.maxSegmentMs).

    Only settings that are given count: files without them have said nothing of timestamps.
    """
    given = topic_settings(fields.values.get("topic"), fields.at("topic"))
    config = config_of((given,), EligibilityConfig().lag_estimate)
    segment_ms = config.segment_ms if given.has(SEGMENT_MS) else None
    limits = [ms for ms in (segment_ms, config.max_compaction_lag_ms) if ms is not None]
    return config, min(limits, default=None)


def _step(value: Any, place: Place, rules: LogRules, history: _History) -> Step:
    """A step; appended batches lie above the log's end, which cleaning and rolling do not move."""
    step = step_at(value, place, rules)
    match step:
        case Append():
            for index, batch in enumerate(step.batches):
                history.take(batch, place.at("batches").at(index))
        case Truncate() if step.offset < history.end:
            history.truncate(step.offset)
        case TruncateFully():
            history.truncate(0)
            history.start = history.end = step.offset
            if history.high_watermark is not None:
                history.high_watermark = step.offset
        case HighWatermark():
            history.check_within(step.offset, place.at("offset"))
            history.high_watermark = step.offset
        case DeleteRecords():
            history.delete(step.before, place.at("before"))
    return step


class _History:
    """What was in the log so far, to recognise what cannot follow on it.

    Attributes:
        start: Where the log starts.
        end: Where the log ends (exclusive).
        high_watermark: What is below is committed; None = all of the log.
    """

    def __init__(self) -> None:
        self.start = self.end = 0
        self.high_watermark: int | None = None
        self._plain: dict[int, int] = {}
        self._open: set[int] = set()

    def check_within(self, offset: int, place: Place) -> None:
        """Raise BadInput unless the log reaches from `offset` or below to it or above."""
        if offset > self.end:
            place.fail(f"{offset} is above the log end offset, {self.end}")
        if offset < self.start:
            place.fail(f"{offset} is below the log start offset, {self.start}")

    def truncate(self, offset: int) -> None:
        """The log ends at `offset`."""
        self.end = offset
        self.start = min(self.start, offset)
        if self.high_watermark is not None:
            self.high_watermark = min(self.high_watermark, offset)

    def delete(self, before: int, place: Place) -> None:
        """Raise BadInput if what is deleted below `before` is not committed."""
        committed = self.end if self.high_watermark is None else self.high_watermark
        if before > committed:
            place.fail(f"{before} is above the high watermark, {committed}")
        self.start = max(self.start, before)

    def take(self, batch: Batch, place: Place) -> None:
        """Raise BadInput if the batch at `place` cannot follow; else it is part of the history."""
        if batch.base_offset < self.end:
            place.at("base_offset").fail(
                f"{batch.base_offset} is below {self.end}, where what comes before it ends"
            )
        producer = batch.producer_id
        if batch.control is not None and producer in self._plain.keys() - self._open:
            place.at("control").fail(
                f"{batch.control} without a transaction: producer {producer} writes outside "
                f"transactions, as at offset {self._plain[producer]}"
            )
        if producer >= 0 and batch.control is None and not batch.transactional:
            self._plain.setdefault(producer, batch.base_offset)
        if batch.transactional and batch.control is None:
            self._open.add(producer)
        elif batch.control is not None:
            self._open.discard(producer)
        self.end = batch.last_offset + 1


def _segments(fields: Fields, rules: LogRules, history: _History) -> tuple[WrittenSegment, ...]:
    found: list[WrittenSegment] = []
    for place, value in fields.items("segments"):
        segment = _segment(value, place, rules, history)
        if found and segment.base_offset <= found[-1].base_offset:
            before = len(found) - 1
            place.fail(f"starts at {segment.base_offset}, where segments[{before}] starts")
        found.append(segment)
    if not found:
        fields.fail("segments", "expected at least the active segment; it may be empty: []")
    return tuple(found)


def _segment(value: Any, place: Place, rules: LogRules, history: _History) -> WrittenSegment:
    base: int | None = None
    modified: int | None = None
    if isinstance(value, list):
        items = [(place.at(index), item) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        fields = Fields(value, place, SEGMENT_FIELDS)
        items = list(fields.items("batches"))
        modified = fields.maybe_integer("last_modified_ms")
        base = fields.maybe_integer("base_offset")
        if base is not None and base < history.end:
            fields.fail("base_offset", f"{base} is below {history.end}, where the one before ends")
    else:
        place.fail(f"expected a list of batches, or an object with them, not {shown(value)}")
    if base is not None:
        history.end = base
    start = history.end
    batches = []
    for at, item in items:
        batch = batch_at(item, at, rules)
        history.take(batch, at)
        batches.append(batch)
    if base is None:
        base = batches[0].base_offset if batches else start
    return WrittenSegment(base, tuple(batches), modified)

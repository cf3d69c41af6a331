"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.log import Batch
from sim.logfile.batches import batch_at
from sim.logfile.reading import Fields, as_object, complain, read_json, shown
from sim.logfile.rules import LogRules, rules_of
from sim.logfile.steps import Append, Step, step_at

LOG_FORMAT = "replog-log/1"
"""What a log file says it is."""

ABOUT = ("id", "title", "source", "note", "expect")
"""What a file may say about itself; no command depends on it."""

_TOP = ("format", *ABOUT[:3], "rules", "segments", "steps", *ABOUT[3:])


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment as the file gives it; `base_offset` is inclusive."""

    base_offset: int
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file as it was read.

    Attributes:
        rules: The rules of the cleaner.
        segments: In order; the last one is active.
        steps: What is done to it.
    """

    rules: LogRules
    segments: tuple[WrittenSegment, ...]
    steps: tuple[Step, ...]


def load_log_file(path: Path, *, rules: Mapping[str, object] | None = None) -> LogFile:
    """Read and check a log file; `rules` replace those of the file.

    Raises:
        BadInput: `file: path: what is wrong`; the file cannot be read, or is no possible log.
    """
    document = read_json(path)
    try:
        return log_file_from(document, rules=rules)
    except BadInput as error:
        text = str(error)
        raise BadInput(text if text.startswith("--rule") else f"{path}: {text}") from None


def log_file_from(document: object, *, rules: Mapping[str, object] | None = None) -> LogFile:
    """The log file in a JSON document; `rules` replace its own.

    Raises:
        BadInput: `path: what is wrong`.
    """
    check_format(document)
    if isinstance(document, dict) and "logs" in document:
        complain("logs", "has logs to choose from, not steps; ask it with: replog eligible")
    fields = Fields(document, "", _TOP)
    fields.require("segments", "steps")
    works_by = rules_of(fields.values.get("rules"))
    if rules:
        works_by = works_by.with_values(rules, where="--rule")
    history = _History()
    segments = _segments(fields, works_by, history)
    steps = tuple(step_at(value, path, works_by) for path, value in fields.items("steps"))
    _check_appends(steps, history)
    return LogFile(works_by, segments, steps)


def check_format(document: object) -> None:
    """Raise BadInput unless the document is an object that says it is a log file."""
    given = as_object(document, "").get("format")
    if given != LOG_FORMAT:
        what = "missing" if given is None else f"unknown format {shown(given)}"
        complain("format", f"{what}; allowed: {LOG_FORMAT}")


class _History:
    """What was in the log so far, to recognise what cannot follow on it.

    Attributes:
        end: Where the log ends (exclusive).
    """

    def __init__(self) -> None:
        self.end = 0
        self._plain: dict[int, int] = {}
        self._open: set[int] = set()

    def take(self, batch: Batch, path: str) -> None:
        """Raise BadInput when the batch at `path` cannot follow; else it is part of the history."""
        if batch.base_offset < self.end:
            complain(
                f"{path}.base_offset",
                f"{batch.base_offset} is below {self.end}, where what comes before it ends",
            )
        producer = batch.producer_id
        if batch.control is not None and producer in self._plain.keys() - self._open:
            complain(
                f"{path}.control",
                f"{batch.control} without a transaction: producer {producer} writes outside "
                f"transactions, as at offset {self._plain[producer]}",
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
    for path, value in fields.items("segments"):
        segment = _segment(value, path, rules, history)
        if found and segment.base_offset <= found[-1].base_offset:
            before = len(found) - 1
            complain(path, f"starts at {segment.base_offset}, where segments[{before}] starts")
        found.append(segment)
    if not found:
        fields.fail("segments", "expected at least the active segment; it may be empty: []")
    return tuple(found)


def _segment(value: Any, path: str, rules: LogRules, history: _History) -> WrittenSegment:
    base: int | None = None
    if isinstance(value, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        fields = Fields(value, path, ("base_offset", "batches"))
        items = list(fields.items("batches"))
        base = fields.maybe_integer("base_offset")
        if base is not None and base < history.end:
            fields.fail("base_offset", f"{base} is below {history.end}, where the one before ends")
    else:
        complain(path, f"expected a list of batches, or an object with them, not {shown(value)}")
    if base is not None:
        history.end = base
    start = history.end
    batches = []
    for place, item in items:
        batch = batch_at(item, place, rules)
        history.take(batch, place)
        batches.append(batch)
    if base is None:
        base = batches[0].base_offset if batches else start
    return WrittenSegment(base, tuple(batches))


def _check_appends(steps: tuple[Step, ...], history: _History) -> None:
    """Appended batches lie above the log's end; cleaning and rolling do not move that."""
    for step in steps:
        if isinstance(step, Append):
            for batch, path in zip(step.batches, step.paths, strict=True):
                history.take(batch, path)

"""A log file, `format: replog-log/1`: segments, rules and steps, strictly checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.log import Batch
from sim.logfile.batches import batch_at
from sim.logfile.reading import Fields, complain, read_json, shown
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
    segments, end = _segments(fields, works_by)
    steps = tuple(step_at(value, path, works_by) for path, value in fields.items("steps"))
    _check_appends(steps, end)
    return LogFile(works_by, segments, steps)


def check_format(document: object) -> None:
    """Raise BadInput unless the document is an object that says it is a log file."""
    if not isinstance(document, dict):
        complain("", f"expected an object at the top level, not {shown(document)}")
    given = document.get("format")
    if given != LOG_FORMAT:
        what = "missing" if given is None else f"unknown format {shown(given)}"
        complain("format", f"{what}; allowed: {LOG_FORMAT}")


def _segments(fields: Fields, rules: LogRules) -> tuple[tuple[WrittenSegment, ...], int]:
    """The segments, and where the log ends (exclusive)."""
    found: list[WrittenSegment] = []
    end = 0
    for path, value in fields.items("segments"):
        segment = _segment(value, path, rules, end)
        if found and segment.base_offset <= found[-1].base_offset:
            before = len(found) - 1
            text = f"starts at {segment.base_offset}, as segments[{before}] does"
            complain(path, text)
        found.append(segment)
        last = segment.batches[-1].last_offset + 1 if segment.batches else 0
        end = max(end, segment.base_offset, last)
    if not found:
        fields.fail("segments", "expected at least the active segment; it may be empty: []")
    return tuple(found), end


def _segment(value: Any, path: str, rules: LogRules, previous_end: int) -> WrittenSegment:
    """One segment; `previous_end` is where the one before ends (exclusive)."""
    if isinstance(value, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        base = None
    elif isinstance(value, dict):
        fields = Fields(value, path, ("base_offset", "batches"))
        items = list(fields.items("batches"))
        base = fields.maybe_integer("base_offset")
        if base is not None and base < previous_end:
            fields.fail("base_offset", f"{base} is below {previous_end}, the end of the one before")
    else:
        complain(path, f"expected a list of batches, or an object with them, not {shown(value)}")
    end = previous_end if base is None else base
    batches = []
    for place, item in items:
        batch = batch_at(item, place, rules)
        check_above(batch, place, end)
        batches.append(batch)
        end = batch.last_offset + 1
    if base is None:
        base = batches[0].base_offset if batches else previous_end
    return WrittenSegment(base, tuple(batches))


def check_above(batch: Batch, path: str, end: int) -> None:
    """Raise BadInput when a batch at `path` starts below `end`, where the log ends (exclusive)."""
    if batch.base_offset < end:
        complain(
            f"{path}.base_offset",
            f"{batch.base_offset} is below {end}, where what comes before it ends",
        )


def _check_appends(steps: tuple[Step, ...], end: int) -> None:
    """Appended batches lie above the log's end; cleaning and rolling do not move that."""
    for step in steps:
        if isinstance(step, Append):
            for batch, path in zip(step.batches, step.paths, strict=True):
                check_above(batch, path, end)
                end = batch.last_offset + 1

"""Trace files, `replog-trace/1`: a header, one event a line, a verdict.

The format is in `sim/protocol/events/FORMAT.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from sim.files.atomic import replacing
from sim.files.formats import TRACE_FORMAT
from sim.protocol.compaction import TOMBSTONE_MARKS
from sim.protocol.events import Event
from sim.protocol.events.written import as_row
from sim.protocol.rules import Rules
from sim.protocol.rules.rules import RuleValue
from sim.version import __version__


class StrategyRow(NamedTuple):
    """Which record of a key wins: what the run is judged by."""

    name: str
    header: str
    header_form: str


class TraceHeader(NamedTuple):
    """The first line: which run it is, and under which rules.

    Attributes:
        version: Of Replog.
        id: Of the scenario or story.
        seed: None for a story.
        preset: What the rules were named by.
        rules: Every rule that the replicas start with, by its name.
        topic: Settings by Kafka's names; None = no bound.
        within_contract: Whether judging ends where the run leaves the durability contract.
        environment: What a timed run was drawn from; empty for a story.
    """

    format: str
    version: str
    id: str
    seed: int | None
    kind: Literal["scenario", "story"]
    preset: str | None
    rules: Mapping[str, RuleValue]
    topic: Mapping[str, str | float | bool | None]
    strategy: StrategyRow
    tombstone_mark: str
    commit: Literal["isr", "majority"]
    within_contract: bool
    environment: Mapping[str, Any]

    def as_row(self) -> dict[str, Any]:
        """As it is written."""
        return self._asdict() | {"strategy": self.strategy._asdict()}


def header_under(
    rules: Rules, judged_by: Rules, *, topic: Mapping[str, Any], **told: Any
) -> TraceHeader:
    """The header of a run whose replicas start with `rules`, and that is judged by `judged_by`.

    These are the newest rules of the run. `told` is what else a header says, by name.
    """
    cleaner = judged_by.cleaner
    strategy = (cleaner.strategy, judged_by.topic.strategy_header, cleaner.header_form)
    return TraceHeader(
        format=TRACE_FORMAT,
        version=__version__,
        rules=rules.as_dict(),
        topic=topic,
        strategy=StrategyRow(*strategy),
        tombstone_mark=cleaner.tombstone_mark,
        commit=judged_by.replication.commit,
        **told,
    )


class TraceVerdict(NamedTuple):
    """What the run itself found.

    Attributes:
        verdict: `holds`, `violated` or `inconclusive`.
        reason: Why it is inconclusive, else None.
        violations: In order of detection, each with its time as `at` (`Violation.as_row`).
        digest: Of everything that happened, 32 hex digits.
    """

    verdict: str
    reason: str | None
    violations: tuple[Mapping[str, Any], ...]
    digest: str


def write_trace(
    path: Path,
    header: TraceHeader,
    events: Iterable[tuple[int, Event]],
    verdict: TraceVerdict,
) -> None:
    """Write a trace file, whole or not at all; what is no file, such as a pipe, as it comes.

    Args:
        path: Where to.
        header: Of which run.
        events: What happened, each with its time in ms or its step.
        verdict: What came out of it.

    Raises:
        BadInput: `path` cannot be written.
    """
    with replacing(path) as file:
        file.writelines(trace_lines(header, events, verdict))


def trace_lines(
    header: TraceHeader, events: Iterable[tuple[int, Event]], verdict: TraceVerdict
) -> Iterator[bytes]:
    """The lines of a trace one after the other, each with its end of line."""
    encode = msgspec.json.Encoder().encode
    yield encode(header.as_row()) + b"\n"
    is_tombstone = TOMBSTONE_MARKS[header.tombstone_mark]
    at = count = 0
    for at, event in events:
        yield encode(as_row(at, event, is_tombstone)) + b"\n"
        count += 1
    last = {"at": at, "event": "Verdict", **verdict._asdict(), "events": count}
    yield encode(last) + b"\n"

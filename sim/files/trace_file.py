"""Trace files, `replog-trace/1`: a header, one event a line, a verdict (`sim/trace/FORMAT.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from sim.files.atomic import replacing
from sim.files.formats import TRACE_FORMAT
from sim.rules import Rules, Settings
from sim.rules.rules import RuleValue
from sim.trace import Event
from sim.trace.written import as_row
from sim.version import __version__


class StrategyRow(NamedTuple):
    """Which record of a key wins: what the run is judged by."""

    name: str
    header: str
    header_form: str


class HeaderRow(NamedTuple):
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


class TraceHeader(NamedTuple):
    """What a trace says of its run before anything happens in it.

    Attributes:
        id: The scenario's or story's.
        seed: Of a timed run; None = a story, which has no chance in it.
        kind: Whether times are ms (`scenario`) or numbers of steps (`story`).
        preset: What the rules were named by; None = nothing.
        settings: The rules that every replica starts with.
        judged_by: The newest rules of the run: what it is judged by, and what marks a tombstone.
        topic: Settings by Kafka's names.
        within_contract: Whether judging stops where the run leaves the durability contract.
        environment: What the run was drawn from.
    """

    id: str
    seed: int | None
    kind: Literal["scenario", "story"]
    preset: str | None
    settings: Settings
    judged_by: Rules
    topic: Mapping[str, Any]
    within_contract: bool
    environment: Mapping[str, Any] = MappingProxyType({})

    def as_row(self) -> dict[str, Any]:
        """The first line."""
        rules, cleaner = self.judged_by, self.judged_by.cleaner
        strategy = (cleaner.strategy, rules.topic.strategy_header, cleaner.header_form)
        row = HeaderRow(
            TRACE_FORMAT,
            __version__,
            self.id,
            self.seed,
            self.kind,
            self.preset,
            self.settings.as_dict(),
            dict(self.topic),
            StrategyRow(*strategy),
            cleaner.tombstone_mark,
            rules.replication.commit,
            self.within_contract,
            dict(self.environment),
        )
        return row._asdict() | {"strategy": row.strategy._asdict()}


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
    is_tombstone = header.judged_by.cleaner.is_tombstone
    at = count = 0
    for at, event in events:
        yield encode(as_row(at, event, is_tombstone)) + b"\n"
        count += 1
    last = {"at": at, "event": "Verdict", **verdict._asdict(), "events": count}
    yield encode(last) + b"\n"

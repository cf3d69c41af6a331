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
from sim.trace import Event
from sim.trace.written import as_row
from sim.version import __version__


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
        cleaner = self.judged_by.cleaner
        return {
            "format": TRACE_FORMAT,
            "version": __version__,
            "id": self.id,
            "seed": self.seed,
            "kind": self.kind,
            "preset": self.preset,
            "rules": self.settings.as_dict(),
            "topic": dict(self.topic),
            "strategy": {
                "name": cleaner.strategy,
                "header": self.judged_by.topic.strategy_header,
                "header_form": cleaner.header_form,
            },
            "tombstone_mark": cleaner.tombstone_mark,
            "commit": self.judged_by.replication.commit,
            "within_contract": self.within_contract,
            "environment": dict(self.environment),
        }


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

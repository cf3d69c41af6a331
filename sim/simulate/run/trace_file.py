"""Trace files, `replog-trace/1`: a header, one event a line, a verdict.

The format is in `sim/protocol/events/FORMAT.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sim.files.atomic import replacing
from sim.files.formats import TRACE_FORMAT
from sim.protocol.compaction import TOMBSTONE_MARKS
from sim.protocol.events import Event
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.log.record import Record
from sim.version import __version__

if TYPE_CHECKING:
    from sim.simulate.run.value import Run
    from sim.simulate.scenario.generate.mix import Mix
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


IsTombstone = Callable[[Record], bool]
"""Decides whether a keyed record is a tombstone under the mark of the run."""


def as_row(at: int, event: Event, is_tombstone: IsTombstone) -> dict[str, Any]:
    """An event as a mapping with `at`, `event` and its fields; what is in it as mappings, too.

    Every record says whether it is a `tombstone`, as `isTombstone` of KIP-87 does for a reader.
    """
    return {"at": at, "event": event.__class__.__name__, **_plain(event, is_tombstone)}


def _plain(value: Any, is_tombstone: IsTombstone) -> Any:
    if isinstance(value, Struct | EpochEntry):
        named = asdict(value) if isinstance(value, Struct) else value._asdict()
        parts = {name: _plain(part, is_tombstone) for name, part in named.items()}
        if isinstance(value, Record):
            parts["tombstone"] = value.key is not None and is_tombstone(value)
        return parts
    return [_plain(part, is_tombstone) for part in value] if isinstance(value, tuple) else value


def header_of(content: Story | Scenario, mix: Mix | None = None) -> dict[str, Any]:
    """The first line of the trace of a run: what was run, and by which rules.

    Args:
        content: The story or timed scenario that was run.
        mix: Mix from which a timed scenario was drawn; None for one from a file.
    """
    from sim.simulate.scenario.file.configs import kafka_settings

    given: Any = content
    judged_by = content.rules
    environment: dict[str, Any] = {}
    if content.unit == "step":
        takes = any(step.op == "snapshot" for step in given.steps)
        topic = kafka_settings(content.rules, takes_snapshots=takes)
    else:
        from sim.simulate.scenario.derived import promise_of

        judged_by = promise_of(given).rules
        kept = given.snapshots
        asked = (kept.record_bytes, kept.interval_ms, given.timers.snapshot_interval_ms)
        takes = any(value is not None for value in asked)
        topic = kafka_settings(content.rules, given.topic, kept, takes_snapshots=takes)
        environment = _environment(given, mix)
    cleaner = judged_by.cleaner
    return {
        "format": TRACE_FORMAT,
        "version": __version__,
        "id": content.id,
        "seed": content.seed,
        "kind": "story" if content.unit == "step" else "scenario",
        "preset": content.preset,
        "rules": content.rules.as_dict(),
        "topic": topic,
        "strategy": {
            "name": cleaner.strategy,
            "header": judged_by.topic.strategy_header,
            "header_form": cleaner.header_form,
        },
        "tombstone_mark": cleaner.tombstone_mark,
        "commit": judged_by.replication.commit,
        "within_contract": content.unit == "ms",
        "environment": environment,
    }


def _environment(scenario: Scenario, mix: Mix | None) -> dict[str, Any]:
    """Lengths of faults, retention and mix of a timed run."""
    from sim.simulate.scenario.model import changes_of

    lengths = [fault.duration_ms for fault in scenario.faults if fault.duration_ms]
    outage_ms = (min(lengths), max(lengths)) if lengths else None
    retention = [scenario.rules.topic.delete_retention_ms]
    for change in changes_of(scenario):
        retention += [int(to) for name, to in change.settings if name == "delete_retention_ms"]
    return {
        "mix": None if mix is None else mix.mix,
        "hunts": None if mix is None else mix.tail_hunts,
        "outage_ms": outage_ms if mix is None else mix.outage_ms,
        "retention_ms": (min(retention), max(retention)),
        "shares": {} if mix is None else _shares(mix),
    }


def _shares(mix: Mix) -> dict[str, Any]:
    """The chances of the mix, and the ranges its shares were drawn from, by name."""
    found = {}
    for name, value in mix:
        numbers = value if isinstance(value, tuple) else (value,)
        if name != "tail_hunts" and all(isinstance(number, float) for number in numbers):
            found[name] = value
    return found


def write_trace(path: Path, run: Run, *, mix: Mix | None = None) -> None:
    """Writes the trace of a run, whole or not at all; to a pipe, as it comes.

    Args:
        path: File that is written.
        run: Run that kept its events.
        mix: Mix from which its scenario was drawn; None for one from a file.

    Raises:
        BadInput: `path` cannot be written.
    """
    with replacing(path) as file:
        file.writelines(trace_lines(run, mix=mix))


def trace_lines(run: Run, *, mix: Mix | None = None) -> Iterator[bytes]:
    """The lines of the trace of a run one after the other, each with its end of line."""
    encode = msgspec.json.Encoder().encode
    header = header_of(run.content, mix)
    yield encode(header) + b"\n"
    is_tombstone = TOMBSTONE_MARKS[header["tombstone_mark"]]
    at = 0
    for at, event in run.events:
        yield encode(as_row(at, event, is_tombstone)) + b"\n"
    verdict = {
        "at": at,
        "event": "Verdict",
        "verdict": run.verdict,
        "reason": run.reason,
        "violations": [violation.as_row(when="at") for violation in run.seen],
        "digest": run.digest,
        "events": len(run.events),
    }
    yield encode(verdict) + b"\n"

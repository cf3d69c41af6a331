"""Writes a `Scenario` as the text of a scenario file that loads to the same run.

Only differences from the defaults are written: rules as differences from their preset, sends and
faults in one line each. Each text is read again before it is returned: it gives the same value, or
`BadInput` names the part that the format cannot express.

Strings that some version of YAML reads as another type are in quotes, as the strict reader
(`sim.files.yaml_text`) demands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from os.path import relpath
from pathlib import Path
from typing import Any, Literal

from sim.errors import BadInput
from sim.files.document import Location, joint_error, shown
from sim.files.foreign import is_plain
from sim.files.formats import SCENARIO_FORMAT
from sim.files.models import Part, validate
from sim.files.yaml_text import parse_yaml
from sim.protocol.log.formats import Versions
from sim.protocol.rules import PRESETS, Rules
from sim.simulate.faults import ROLES, Fault
from sim.simulate.scenario.file.configs import settings_of_snapshots, settings_of_topic
from sim.simulate.scenario.file.format import ChangeLine, HeaderLine, ScenarioFile, SendLine
from sim.simulate.scenario.file.load import build
from sim.simulate.scenario.model import (
    Change,
    EndTransaction,
    ReplicaSpec,
    Scenario,
    Send,
    SentHeader,
    TraceSource,
    Workload,
    changes_of,
)

COLUMNS = 100
"""Largest length of a line; longer mappings and lists are written over several lines."""

_PLAIN = re.compile(r"[A-Za-z_](?:[\w ./*+-]*[\w/*+-])?", re.ASCII)
_SWITCH = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n)")


def yaml_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a document: mappings, lists, texts, numbers, booleans and None.

    Raises:
        BadInput: A text contains half of a surrogate pair, which UTF-8 cannot encode.
    """
    yield from _mapping(document, "")


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        head = f"{indent}{yaml_text(name)}:"
        line = f"{head} {flow(value)}"
        if not isinstance(value, dict | list) or not value:
            yield line
        elif isinstance(value, dict):
            if len(line) <= COLUMNS and not _holds_mappings(value):
                yield line
            else:
                yield head
                yield from _mapping(value, f"{indent}  ")
        elif len(line) <= COLUMNS and not any(isinstance(item, dict) for item in value):
            yield line
        else:
            yield head
            yield from (f"{indent}  - {flow(item)}" for item in value)


def _holds_mappings(values: Mapping[str, Any]) -> bool:
    """True when some field is a list of mappings, which are written one a line."""
    return any(
        isinstance(value, list) and any(isinstance(item, dict) for item in value)
        for value in values.values()
    )


def flow(value: Any) -> str:
    """A value in one line of YAML; raises BadInput as `yaml_text` does."""
    if isinstance(value, dict):
        pairs = (f"{yaml_text(name)}: {flow(item)}" for name, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):  # the shortest decimal text, without an exponent
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    return yaml_text(str(value))


def yaml_text(text: str) -> str:
    """A text as a value of YAML in one line: plain where YAML allows, else in quotes.

    Raises:
        BadInput: It contains half of a surrogate pair, which UTF-8 cannot encode.
    """
    if _PLAIN.fullmatch(text) and not _SWITCH.fullmatch(text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text as a value of YAML in quotes, in one line; raises BadInput as `yaml_text` does."""
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if is_plain(character):
        return character
    if "\ud800" <= character <= "\udfff":
        raise BadInput(f"{character!a} is half a character; no file can say it")
    return f"\\U{ord(character):08x}"


_NAME = "scenario"
"""Name in messages of a scenario that has no file."""


def scenario_text(scenario: Scenario, *, folder: Path = Path()) -> str:
    """The text of a YAML scenario file that loads to the same run: same events, same digest.

    The path of a file of changes is written relative to `folder`, that of the scenario file.

    Raises:
        BadInput: The scenario has a part that no file can express; the message names it.
    """
    said = as_said(scenario)
    text = "\n".join(yaml_lines(_document(said, folder))) + "\n"
    _check(text, said, folder)
    return text


def as_said(scenario: Scenario) -> Scenario:
    """A scenario with the same run, in the form in which a file has it.

    Sends, faults and changes are in order of time. Faults are left out whose target is a role that
    their kind never strikes, such as the removal of a leader. A header in capitals has its name
    written out, and a version that other headers replace is left out.
    """
    workload, own = scenario.workload, scenario.rules.topic.strategy_header
    sends = [
        send._replace(version=None, headers=tuple(_named(one, own) for one in send.headers))
        if send.headers
        else send
        for send in workload.sends
    ]
    striking = [
        one for one in scenario.faults if one.target not in ROLES or one.target in one.roles
    ]
    return replace(
        scenario,
        workload=replace(workload, sends=_in_order(sends), ends=_in_order(workload.ends)),
        faults=_in_order(striking),
        changes=changes_of(scenario),
    )


def _in_order(parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(parts, key=lambda part: part.at_ms))


def _named(header: SentHeader, own: str) -> SentHeader:
    """The header, with its name written out where that is the strategy's in capitals."""
    if not header.capitals:
        return header
    return SentHeader(header.version, header.raw, header.name or own.upper())


def _check(text: str, said: Scenario, folder: Path) -> None:
    """Raises BadInput unless a text loads to the scenario `said`."""
    problems: list[str] = []
    document = parse_yaml(text, _NAME)

    def report(location: Location, problem: str) -> None:
        problems.append(f"{_NAME}: {document.name_of(location)}: {problem}")

    read = build(validate(document, ScenarioFile), path=folder / "x.yaml", seed=None, report=report)
    if problems:
        raise joint_error(list(dict.fromkeys(problems)))
    for field in fields(Scenario):
        if not field.compare:
            continue  # names that decide nothing, which are not written
        wanted, found = getattr(said, field.name), getattr(read, field.name)
        if field.name == "workload":
            wanted, found = _with_real_path(wanted), _with_real_path(found)
        if wanted != found:
            raise BadInput(f"{_NAME}: {field.name}: no scenario file can say {shown(str(wanted))}")


def _with_real_path(workload: Workload) -> Workload:
    if workload.trace is None:
        return workload
    trace = replace(workload.trace, path=str(Path(workload.trace.path).resolve()))
    return replace(workload, trace=trace)


def _document(said: Scenario, folder: Path) -> dict[str, Any]:
    """The content of a file, in the order of its format."""
    found = {replica.versions for replica in said.replicas}
    versions = found.pop() if len(found) == 1 else None  # where they differ each has its own
    topic, of_broker = settings_of_topic(said.topic, said.rules)
    policy = topic.get("cleanup.policy", "")
    broker: dict[str, Any] = settings_of_snapshots(said.snapshots, policy=policy)
    if versions is not None:
        broker |= versions.given
    parts: dict[str, Any] = {
        "format": SCENARIO_FORMAT,
        "id": said.id,
        "title": said.title,
        "source": said.source,
        "seed": said.seed,
        "duration_ms": said.duration_ms,
        "rules": _rules(said),
        "topic": topic,
        "broker": of_broker | broker,
        "replicas": _replicas(said.replicas, common=versions),
        "network": _plain(said.network),
        "late_messages": _plain(said.late_messages),
        "timers": _plain(said.timers),
        "workload": _workload(said.workload, folder),
        "consumers": _counted([_plain(consumer) for consumer in said.consumers], "c"),
        "faults": [_fault(fault) for fault in said.faults],
        "changes": [_change(change) for change in said.changes],
        "last_rounds": said.last_rounds,
        "expect": _plain(said.expect),
        "limits": _plain(said.limits),
    }
    known = ScenarioFile.model_fields
    return {
        name: value
        for name, value in parts.items()
        if value not in ({}, [], known[name].get_default(call_default_factory=True))
    }


def _plain(value: Any) -> Any:
    """A value as lists and mappings: dataclasses are mappings without their defaults."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return {f.name: _plain(given[f.name]) for f in fields(value) if given[f.name] != f.default}
    return value


def _rules(said: Scenario) -> dict[str, Any]:
    """The preset of the rules, and the rules that differ from it."""
    if said.preset is None:
        return dict(said.rules.differing_from(Rules()))
    if said.preset not in PRESETS:
        raise BadInput(f"{_NAME}: rules.preset: there is no preset {said.preset!r}")
    base = Rules().with_values(PRESETS[said.preset].values)
    return {"preset": said.preset, **said.rules.differing_from(base)}


def _replicas(
    replicas: Sequence[ReplicaSpec], *, common: Versions | None
) -> int | list[str | dict[str, Any]]:
    """The number of replicas if all are default ones, else their names or settings."""
    listed = []
    for replica in replicas:
        own = _plain(replace(replica, versions=None))
        if replica.versions is not None and common is None:
            own |= replica.versions.given
        listed.append(own)
    return _counted(listed, "r")


def _counted(listed: Sequence[dict[str, Any]], letter: str) -> int | list[str | dict[str, Any]]:
    """The number, where all have default names and settings, else names or settings."""
    named = [own["name"] if len(own) == 1 else own for own in listed]
    default = [f"{letter}{number}" for number in range(1, len(named) + 1)]
    return len(named) if named == default else named


def _workload(workload: Workload, folder: Path) -> Any:
    if workload.trace is not None:
        return _trace(workload.trace, folder)
    steps = _in_order([*workload.sends, *workload.ends])  # ends come last of their moment
    lines = [_send(step) if isinstance(step, Send) else _end(step) for step in steps]
    settings = _plain(replace(workload, sends=(), ends=()))
    if workload.instances:
        settings["instances"] = [
            {"producer": later, "after": before} for later, before in workload.instances
        ]
    return {**settings, "sends": lines} if settings else lines


def _trace(trace: TraceSource, folder: Path) -> dict[str, Any]:
    name = relpath(Path(trace.path).resolve(), folder.resolve())
    return {"trace": name, **{field: v for field, v in _plain(trace).items() if field != "path"}}


def _line(part: Part) -> dict[str, Any]:
    """The fields of a line that differ from their defaults, by their names in a file."""
    return part.model_dump(by_alias=True, exclude_defaults=True)


def _send(send: Send) -> dict[str, Any]:
    line = SendLine.model_construct(
        at=send.at_ms,
        key=send.key,
        value=send.value,
        version=send.version,
        headers=tuple(map(_header, send.headers)),
        timestamp=None if send.timestamp_ms == send.at_ms else send.timestamp_ms,
        producer=send.producer,
        transaction=send.transaction,
        flag=send.flag,
    )
    return _line(line)


def _header(header: SentHeader) -> HeaderLine:
    raw = header.raw.hex() if header.version is None else None
    return HeaderLine.model_construct(version=header.version, hex_bytes=raw, name=header.name)


def _end(end: EndTransaction) -> dict[str, Any]:
    line = {"at": end.at_ms, "commit" if end.commit else "abort": end.transaction}
    return line if end.producer == 1 else line | {"producer": end.producer}


def _fault(fault: Fault) -> dict[str, Any]:
    line: dict[str, Any] = {"at": fault.at_ms, fault.kind: fault.target}
    if fault.duration_ms:
        line["for_ms"] = fault.duration_ms
    written = ("at_ms", "target", "duration_ms")
    return line | {name: value for name, value in _plain(fault).items() if name not in written}


def _change(change: Change) -> dict[str, Any]:
    producer: Literal["all"] | int | None = "all" if change.producer == 0 else change.producer
    line = ChangeLine.model_construct(
        at=change.at_ms,
        replica=change.replica,
        settings=None if change.replica is None else dict(change.settings),
        producer=producer,
        versions=None if producer is None else change.versions,
        consumer=change.consumer,
        format=change.format,
    )
    return _line(line)

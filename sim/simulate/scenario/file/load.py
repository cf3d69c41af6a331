"""Reads a scenario file; every problem is a line `file:line: field: what is wrong`.

A scenario has one log. Topics of one cluster are scenario files with the same `broker` section,
which has the defaults, and different `topic` sections (KIP-280, Public Interfaces).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sim.check.coverage import SITUATIONS
from sim.check.registry import INVARIANTS, discover
from sim.errors import BadInput
from sim.files.document import Complaints, Document, Location, Report, check_format, unknown_value
from sim.files.foreign import one_line
from sim.files.formats import SCENARIO_FORMAT
from sim.files.models import shaped
from sim.files.reading import head_of, read_document
from sim.protocol.rules import PRESETS, Rules
from sim.simulate.scenario.file.configs import (
    report_conflicts,
    report_lags,
    report_nameless_header,
    settings_as_rules,
    snapshots_of,
    takes_no_snapshots,
    topic_of,
    unread,
    with_known_strategy,
)
from sim.simulate.scenario.file.format import (
    EndLine,
    RandomWorkload,
    ScenarioFile,
    SendLine,
    SendsWorkload,
    TraceWorkload,
    WorkloadLine,
)
from sim.simulate.scenario.file.replicas import (
    build_changes,
    build_faults,
    build_replicas,
    no_such_replica,
)
from sim.simulate.scenario.generate.clients import draw_workload
from sim.simulate.scenario.generate.mix import WorkloadShape
from sim.simulate.scenario.generate.streams import stream
from sim.simulate.scenario.model import (
    Consumer,
    EndTransaction,
    Expect,
    Network,
    Scenario,
    Send,
    SentHeader,
    SnapshotSettings,
    TraceSource,
    Workload,
)
from sim.simulate.scenario.runnable import rule_problem


def build_workload(file: ScenarioFile, *, path: Path, seed: int, report: Report) -> Workload:
    """The workload of a file; contradictions go to `report`.

    A trace file is relative to the folder of `path`, the scenario file; `seed` is that of a random
    workload.
    """
    workload = file.workload
    if isinstance(workload, TraceWorkload):
        source = path.parent / workload.trace
        try:
            head_of(source, 1)
        except BadInput as error:
            report(("workload", "trace"), str(error))
        trace = TraceSource(
            str(source), workload.batch_records, workload.interval_ms, workload.limit
        )
        return Workload(trace=trace)
    if isinstance(workload, RandomWorkload):
        return _drawn(workload.random, file.duration_ms, seed, report)
    place: tuple[str, ...] = ("workload",)
    if isinstance(workload, SendsWorkload):
        given, place = workload, ("workload", "sends")
    else:
        given = SendsWorkload.model_construct(sends=workload)
    sends, ends = _sends(given.sends, place, file.duration_ms, report)
    return Workload(
        sends,
        ends,
        retry_ms=given.retry_ms,
        retries=given.retries,
        idempotent=given.idempotent,
        acks=given.acks,
        instances=_instances(given, report),
    )


def _drawn(shape: WorkloadShape, duration_ms: int, seed: int, report: Report) -> Workload:
    """A random workload of a shape; idle phases that are out of order go to `report`."""
    last = 0
    for index, (start, end) in enumerate(shape.idle):
        if not last <= start < end:
            text = "idle phases are (from, to) in order and apart from each other"
            report(("workload", "random", "idle", index), text)
        last = end
    if last > duration_ms:
        report(("workload", "random", "idle"), f"ends after the run, {duration_ms} ms")
        return Workload()
    return draw_workload(shape, duration_ms=duration_ms, rng=stream(seed, "workload"))


def _instances(workload: SendsWorkload, report: Report) -> tuple[tuple[int, int], ...]:
    """Pairs of producers (later, earlier) with one identity; contradictions go to `report`."""
    sends = [line for line in workload.sends if isinstance(line, SendLine)]
    known = {line.producer for line in sends}
    plain = {line.producer for line in sends if not line.transaction}
    found: list[tuple[int, int]] = []
    for index, line in enumerate(workload.instances):
        at: Location = ("workload", "instances", index)
        for field, number in (("producer", line.producer), ("after", line.after)):
            if number not in known:
                report((*at, field), f"producer {number} sends nothing")
            elif number in plain:
                why = "sends outside transactions, so it has no transactional.id"
                report((*at, field), f"producer {number} {why}")
        if line.after >= line.producer:
            report((*at, "after"), f"{line.after} is not below {line.producer}: number in order")
        for other, before in found:
            if line.producer == other or line.after == before:
                report(at, f"producer {other} is the instance after {before} already")
        found.append((line.producer, line.after))
    return tuple(found)


def _sends(
    lines: tuple[WorkloadLine, ...], place: tuple[str, ...], duration_ms: int, report: Report
) -> tuple[tuple[Send, ...], tuple[EndTransaction, ...]]:
    sends: list[Send] = []
    ends: list[tuple[int, EndTransaction]] = []
    for index, line in enumerate(lines):
        if line.at >= duration_ms:
            report((*place, index, "at"), f"{line.at} is not before the end, {duration_ms}")
        if isinstance(line, SendLine):
            sends.append(_send(line, (*place, index), report))
        elif (end := _end(line, (*place, index), report)) is not None:
            ends.append((index, end))
    sends.sort(key=lambda send: send.at_ms)
    _check_transactions(sends, ends, place, report)
    in_order = sorted((end for _index, end in ends), key=lambda end: end.at_ms)
    return tuple(sends), tuple(in_order)


def _send(line: SendLine, place: Location, report: Report) -> Send:
    timestamp = line.at if line.timestamp is None else line.timestamp
    headers: list[SentHeader] = []
    for number, header in enumerate(line.headers):
        if (header.version is None) == (header.hex_bytes is None):
            report((*place, "headers", number), "a header has either a `version` or `bytes`")
        raw = bytes.fromhex(header.hex_bytes or "")
        headers.append(SentHeader(header.version, raw, header.name))
    if headers and line.version is not None:
        text = "`headers` stand in its place; give the version as one of them"
        report((*place, "version"), text)
    return Send(
        line.at,
        line.producer,
        line.key,
        line.value,
        timestamp,
        line.version,
        line.transaction,
        line.flag,
        tuple(headers),
    )


def _end(line: EndLine, place: Location, report: Report) -> EndTransaction | None:
    number = line.commit if line.abort is None else line.abort
    if number is None or (line.commit is not None and line.abort is not None):
        report(place, "give the number of a transaction to either `commit` or `abort`")
        return None
    return EndTransaction(line.at, line.producer, number, line.abort is None)


def _check_transactions(
    sends: list[Send],
    ends: list[tuple[int, EndTransaction]],
    place: tuple[str, ...],
    report: Report,
) -> None:
    """Reports an end of an empty transaction, one before its last send, and a second one."""
    last_ms = {(send.producer, send.transaction): send.at_ms for send in sends}
    ended: set[tuple[int, int]] = set()
    for index, end in ends:
        name = (end.producer, end.transaction)
        text = f"transaction {end.transaction} of producer {end.producer}"
        if name not in last_ms:
            report((*place, index), f"{text}: nothing is sent in it")
        elif end.at_ms < last_ms[name]:
            early = f"ends at {end.at_ms}, before its send at {last_ms[name]}"
            report((*place, index), f"{text} {early}")
        if name in ended:
            report((*place, index), f"{text} ends twice")
        ended.add(name)


def build(file: ScenarioFile, *, path: Path, seed: int | None, report: Report) -> Scenario:
    """The scenario of a validated file; contradictions go to `report`.

    Trace files are relative to the folder of `path`, the scenario file. `seed` replaces the file's
    own. The result is meaningful only if nothing was reported.
    """
    by_key = file.broker.strategy_names == "header_keys"
    known = {
        "topic": with_known_strategy(file.topic, "topic", by_key=by_key, report=report),
        "broker": with_known_strategy(file.broker, "broker", by_key=by_key, report=report),
    }
    file = file.model_copy(update=known)
    replicas = build_replicas(file, report)
    names = [replica.name for replica in replicas]
    chosen_seed = file.seed if seed is None else seed
    rules = _rules(file, len(replicas), report)
    topic = topic_of(file.topic, file.broker)
    report_lags(file.topic, file.broker, report)
    _check_network(file.network, names, report)
    return Scenario(
        id=file.id or one_line(path.stem),
        title=file.title,
        source=file.source,
        seed=chosen_seed,
        duration_ms=file.duration_ms,
        rules=rules,
        topic=topic,
        replicas=replicas,
        network=file.network,
        late_messages=file.late_messages,
        timers=file.timers,
        workload=build_workload(file, path=path, seed=chosen_seed, report=report),
        consumers=_consumers(file, names, report),
        faults=build_faults(file, names, report),
        changes=build_changes(file, replicas, report),
        snapshots=_snapshots(file, report),
        last_rounds=file.last_rounds,
        expect=file.expect,
        limits=file.limits,
        preset=str(file.rules["preset"]) if "preset" in file.rules else None,
        unread=(
            *(f"topic.{name}" for name in unread(file.topic)),
            *(f"broker.{name}" for name in unread(file.broker)),
        ),
    )


def _check_expectations(expect: Expect, report: Report) -> None:
    """Reports unknown names in `expect`, and invariants in `violated` that are not in `checked`."""
    discover()
    for field, names, known in (
        ("violated", expect.violated, INVARIANTS),
        ("checked", expect.checked or (), INVARIANTS),
        ("reached", expect.reached, SITUATIONS),
        ("unreached", expect.unreached, SITUATIONS),
    ):
        for index, name in enumerate(names):
            if name not in known:
                report(("expect", field, index), unknown_value(name, known, what="name"))
    if expect.checked is not None:
        if not expect.checked:
            report(("expect", "checked"), "no invariant would be judged; leave it out")
        for index, name in enumerate(expect.violated):
            if name not in expect.checked:
                report(("expect", "violated", index), f"{name} is not among `checked`")


def _rules(file: ScenarioFile, replicas: int, report: Report) -> Rules:
    """The rules of a file.

    Later sources win: defaults, the preset, the broker's settings, the topic's, the named rules.
    """
    values: dict[str, object] = {}
    named: dict[str, object] = {}
    for name, value in file.rules.items():
        problem = rule_problem(name, value)
        if problem is not None:
            report(("rules", name), problem)
        elif name == "preset":
            values |= PRESETS[str(value)].values
        else:
            named[name] = value
    if values.get("cleanup") == "snapshot" and takes_no_snapshots(file.topic):
        values["cleanup"] = "compact"  # the topic's setting wins over the preset
    values |= {**settings_as_rules(file.broker), **settings_as_rules(file.topic), **named}
    report_conflicts(file.rules, file.topic, report)
    report_nameless_header(file.rules, file.topic, file.broker, report)
    rules = Rules().with_values(values)
    if rules.replication.commit == "isr" and rules.topic.min_isr > replicas:
        place = ("rules", "min_isr")
        if "min_isr" not in file.rules:
            of_topic = "min_insync_replicas" in file.topic.model_fields_set
            place = ("topic" if of_topic else "broker", "min.insync.replicas")
        report(place, f"{rules.topic.min_isr} replicas must be in sync, but there are {replicas}")
    return rules


def _snapshots(file: ScenarioFile, report: Report) -> SnapshotSettings:
    """Settings of snapshots; reports those that contradict a given cleanup policy."""
    policy = file.topic.cleanup_policy
    found = snapshots_of(file.broker, policy=policy)
    takes = found.record_bytes is not None or found.interval_ms is not None
    if takes and takes_no_snapshots(file.topic):
        text = f"{policy} takes no snapshots, but broker says when; allowed: snapshot, or both"
        report(("topic", "cleanup.policy"), text)
    return found


def _check_network(network: Network, names: list[str], report: Report) -> None:
    for index, link in enumerate(network.links):
        place = ("network", "links", index)
        for field, name in (("source", link.source), ("target", link.target)):
            if name not in names:
                report((*place, field), no_such_replica(name, names))
        if link.source == link.target:
            report(place, "a link leads from one replica to another one")


def _consumers(file: ScenarioFile, names: list[str], report: Report) -> tuple[Consumer, ...]:
    if isinstance(file.consumers, int):
        return tuple(Consumer(f"c{number}") for number in range(1, file.consumers + 1))
    found: list[Consumer] = []
    for index, item in enumerate(file.consumers):
        consumer = item if isinstance(item, Consumer) else Consumer(item)
        if any(consumer.name == other.name for other in found):
            report(("consumers", index), f"{consumer.name!r} is given twice")
        if consumer.replica is not None and consumer.replica not in names:
            place = ("consumers", index, "replica")
            report(place, no_such_replica(consumer.replica, names))
        for number, (start, end) in enumerate(consumer.pauses):
            if start >= end:
                report(("consumers", index, "pauses", number), "a pause ends after it begins")
        found.append(consumer)
    return tuple(found)


_FILE = TypeAdapter(ScenarioFile)
_COMPARED_WITH = {
    "broker": ("rules", "topic", "replicas"),
    "changes": (
        *("rules", "topic", "broker", "replicas", "consumers"),
        *("workload", "faults", "duration_ms"),
    ),
    "consumers": ("replicas",),
    "faults": ("replicas", "duration_ms"),
    "network": ("replicas",),
    "replicas": ("broker",),
    "rules": ("replicas",),
    "topic": ("rules", "broker", "replicas"),
    "workload": ("rules", "topic", "broker", "duration_ms"),
}
"""Fields of a file that decide whether another field is right, by that field."""


def load_scenario(path: Path, *, seed: int | None = None) -> Scenario:
    """The scenario in a YAML or JSON file, `format: replog-scenario/1`.

    `seed` replaces the file's own, also for a random workload.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    return scenario_in(read_document(path), path=path, seed=seed)


def scenario_in(document: Document, *, path: Path, seed: int | None = None) -> Scenario:
    """The scenario in a document, read as by `load_scenario`.

    The name of `path`, without suffix, is the `id` of a scenario without one. Files that the
    scenario names are relative to the folder of `path`.
    """
    check_format(document, (SCENARIO_FORMAT,))
    wrong, unread = Complaints(), set[str]()
    file: ScenarioFile | None = None
    with wrong:
        file = shaped(document.data, document.top, _FILE)
    if file is None:
        file, unread = _readable(document)

    def report(location: Location, text: str) -> None:
        if unread.isdisjoint(_COMPARED_WITH.get(str(location[0]), ())):
            wrong.add(document.problem(location, text))

    scenario = build(file, path=path, seed=seed, report=report)
    _check_expectations(file.expect, report)
    wrong.end(document)
    return scenario


def _readable(document: Document) -> tuple[ScenarioFile, set[str]]:
    """The scenario without the fields that have a wrong value, and the names of these fields.

    So contradictions in the rest are reported together with the wrong values.
    """
    read: dict[str, Any] = {}
    for name, value in document.data.items():
        with suppress(ValidationError):
            _read({name: value})
            read[name] = value
    return _read(read), document.data.keys() - read.keys()


def _read(values: Mapping[str, Any]) -> ScenarioFile:
    return ScenarioFile.model_validate_json(json.dumps({"format": SCENARIO_FORMAT, **values}))

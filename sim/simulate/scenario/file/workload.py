"""Reads the `workload` of a validated scenario file."""

from __future__ import annotations

from pathlib import Path

from sim.errors import BadInput
from sim.files.document import Location, Report
from sim.files.reading import head_of
from sim.simulate.scenario.file.format import (
    EndLine,
    RandomWorkload,
    ScenarioFile,
    SendLine,
    SendsWorkload,
    TraceWorkload,
    WorkloadLine,
)
from sim.simulate.scenario.generate.clients import draw_workload
from sim.simulate.scenario.generate.mix import WorkloadShape
from sim.simulate.scenario.generate.streams import stream
from sim.simulate.scenario.model import (
    Applications,
    EndTransaction,
    Send,
    SentHeader,
    TraceSource,
    Workload,
)


def build_workload(file: ScenarioFile, *, path: Path, seed: int, report: Report) -> Workload:
    """The workload of a file; contradictions go to `report`.

    A trace file is relative to `path`, that of the file; `seed` is that of a random workload.
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
    given, place = _by_lines(workload)
    sends, ends = _sends(given.sends, place, file.duration_ms, report)
    return Workload(
        sends,
        ends,
        retry_ms=given.retry_ms,
        retries=given.retries,
        idempotent=given.idempotent,
        acks=given.acks,
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


def _by_lines(
    workload: SendsWorkload | tuple[WorkloadLine, ...],
) -> tuple[SendsWorkload, tuple[str, ...]]:
    """Settings and lines of producers, and the place of the lines in the file."""
    if isinstance(workload, SendsWorkload):
        return workload, ("workload", "sends")
    return SendsWorkload.model_construct(sends=workload), ("workload",)


def build_applications(file: ScenarioFile, report: Report) -> Applications:
    """Instances and headers of the producers' applications; contradictions go to `report`."""
    if isinstance(file.workload, TraceWorkload | RandomWorkload):
        return Applications()
    workload, place = _by_lines(file.workload)
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
    return Applications(tuple(found), _odd_headers(workload.sends, place, report))


def _odd_headers(
    lines: tuple[WorkloadLine, ...], place: tuple[str, ...], report: Report
) -> tuple[tuple[int, tuple[SentHeader, ...]], ...]:
    """Headers of the sends that have `headers`, by the index of the send in order of time."""
    sends = [(index, line) for index, line in enumerate(lines) if isinstance(line, SendLine)]
    sends.sort(key=lambda pair: pair[1].at)
    found: list[tuple[int, tuple[SentHeader, ...]]] = []
    for order, (index, line) in enumerate(sends):
        headers: list[SentHeader] = []
        for number, header in enumerate(line.headers):
            if (header.version is None) == (header.hex_bytes is None):
                text = "a header has either a `version` or `bytes`"
                report((*place, index, "headers", number), text)
            raw = bytes.fromhex(header.hex_bytes or "")
            headers.append(SentHeader(header.version, raw, header.name))
        if headers and line.version is not None:
            text = "`headers` stand in its place; give the version as one of them"
            report((*place, index, "version"), text)
        if headers:
            found.append((order, tuple(headers)))
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
            timestamp = line.at if line.timestamp is None else line.timestamp
            head = (line.at, line.producer, line.key, line.value, timestamp)
            sends.append(Send(*head, line.version, line.transaction, line.flag))
        else:
            end = _end(line, (*place, index), report)
            if end is not None:
                ends.append((index, end))
    sends.sort(key=lambda send: send.at_ms)
    _check_transactions(sends, ends, place, report)
    in_order = sorted((end for _index, end in ends), key=lambda end: end.at_ms)
    return tuple(sends), tuple(in_order)


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
    """Reports each end of a transaction that is empty, too early, or a second one."""
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

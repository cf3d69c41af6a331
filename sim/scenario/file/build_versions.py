"""The versions of brokers in a scenario file, and that a broker would start with them.

They are told of when a file gives `software`, for every replica or for none.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.errors import did_you_mean
from sim.files.document import Report
from sim.log.versions import (
    MESSAGE_FORMAT,
    PROTOCOL,
    RELEASES,
    SOFTWARE,
    VERSION_SETTINGS,
    Versions,
)
from sim.scenario.file.format import ReplicaSettings
from sim.scenario.file.topic import BrokerSettings
from sim.scenario.model import Change, ReplicaSpec
from sim.scenario.model.changes import EVERY_REPLICA

_FIELDS = ("software", "protocol_version", "message_format_version")
"""The fields of both kinds of settings that hold `VERSION_SETTINGS`."""


def versions_of(own: ReplicaSettings | None, broker: BrokerSettings) -> Versions | None:
    """What the replica says, else what `broker` says for all; None = nobody gives a software.

    Without a software the other two mean nothing: `check_versions` reports that.
    """
    given = {}
    for name, field in zip(VERSION_SETTINGS, _FIELDS, strict=True):
        value = None if own is None else getattr(own, field)
        given[name] = getattr(broker, field) if value is None else value
    if given[SOFTWARE] is None:
        return None
    return Versions(given[SOFTWARE], given[PROTOCOL], given[MESSAGE_FORMAT])


def check_versions(
    replicas: Sequence[ReplicaSpec],
    settings: Sequence[ReplicaSettings | None],
    broker: BrokerSettings,
    report: Report,
) -> None:
    """Report a version without a software, and settings with which a broker would not start."""
    told = any(replica.versions is not None for replica in replicas)
    advice = "`broker.software` gives it for every replica"
    if not told and any(getattr(broker, field) for field in _FIELDS[1:]):
        report(("broker", SOFTWARE), "missing; what do the brokers run?")
    for index, (replica, own) in enumerate(zip(replicas, settings, strict=True)):
        if replica.versions is not None:
            problem = replica.versions.contradiction()
            if problem is not None:
                report(("replicas", index), f"{replica.name} would not start: {problem}")
        elif told:
            report(("replicas", index), f"{replica.name} has no software, others have; {advice}")
        elif own is not None and any(getattr(own, field) for field in _FIELDS[1:]):
            report(("replicas", index, SOFTWARE), f"missing; {advice}")


def version_problem(value: object) -> str | None:
    """What is wrong with the value of a version; None = nothing."""
    if value in RELEASES:
        return None
    hint = did_you_mean(value, RELEASES)
    return f"unknown value {value!r}{hint}; allowed: {', '.join(RELEASES)}"


def check_changes(
    replicas: Sequence[ReplicaSpec], changes: Sequence[tuple[int, Change]], report: Report
) -> None:
    """Go through the changes of versions, in order of time, with their indexes in the file.

    A replica that joins later begins with the versions of the first.
    """
    now = {replica.name: replica.versions for replica in replicas}
    first = replicas[0].name if replicas else ""
    for index, change in sorted(changes, key=lambda pair: pair[1].at_ms):
        settings = {name: value for name, value in change.settings if name in VERSION_SETTINGS}
        if not settings or change.replica is None:
            _check_client(index, change, told=now.get(first) is not None, report=report)
            continue
        for name in list(now) if change.replica == EVERY_REPLICA else [change.replica]:
            known = now.get(name, now.get(first))
            if known is None:
                text = "versions change only where they are given; add `broker.software`"
                report(("changes", index, "set", next(iter(settings))), text)
                break
            now[name] = later = known.with_settings(settings)
            problem = later.contradiction()
            if problem is not None:
                report(("changes", index, "set"), f"{name} would not start: {problem}")


def _check_client(index: int, change: Change, *, told: bool, report: Report) -> None:
    if change.producer is not None and change.format is not None and not told:
        text = "producers have versions only where brokers have; add `broker.software`"
        report(("changes", index, "format"), text)

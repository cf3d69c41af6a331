"""The replicas of a scenario file: their names, their own settings, the versions they begin with.

Versions are known when a file gives `software`, for every replica or for none; a broker has to
start with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim.errors import did_you_mean
from sim.files.document import Report, listed
from sim.protocol.log.versions import MESSAGE_FORMAT, PROTOCOL, SOFTWARE, VERSION_SETTINGS, Versions
from sim.simulate.scenario.file.configs import BrokerSettings
from sim.simulate.scenario.file.format import ReplicaSettings, ScenarioFile
from sim.simulate.scenario.model import ReplicaSpec

ROLES = ("leader", "follower")
"""What a fault may name instead of a replica."""

_FIELDS = ("software", "protocol_version", "message_format_version")
"""The fields of both kinds of settings that hold `VERSION_SETTINGS`."""


def build_replicas(file: ScenarioFile, report: Report) -> tuple[ReplicaSpec, ...]:
    """The replicas there are at the start; every contradiction goes to `report`."""
    backoff_ms = file.broker.backoff_ms or ReplicaSpec("").cleaner_backoff_ms
    items: tuple[str | ReplicaSettings, ...]
    if isinstance(file.replicas, int):
        items = tuple(f"r{number}" for number in range(1, file.replicas + 1))
    else:
        items = file.replicas
    found: list[ReplicaSpec] = []
    for index, item in enumerate(items):
        if isinstance(item, ReplicaSettings):
            own = "cleaner_backoff_ms" in item.model_fields_set
            backoff = item.cleaner_backoff_ms if own else backoff_ms
            versions = _versions_of(item, file.broker)
            mark = item.tombstone_mark
            spec = ReplicaSpec(item.name, item.clock_skew_ms, backoff, mark, versions)
        else:
            spec = ReplicaSpec(item, 0, backoff_ms, versions=_versions_of(None, file.broker))
        if spec.name in ROLES:
            report(("replicas", index), f"{spec.name!r} is a role, not a name for a replica")
        if any(spec.name == other.name for other in found):
            report(("replicas", index), f"{spec.name!r} is given twice")
        found.append(spec)
    settings = [item if isinstance(item, ReplicaSettings) else None for item in items]
    _check_versions(found, settings, file.broker, report)
    return tuple(found)


def no_such_replica(name: str, names: Iterable[str]) -> str:
    """What to say about a replica that does not exist."""
    known = [*names]
    return f"there is no replica {name!r}{did_you_mean(name, known)}; there are {listed(known)}"


def _versions_of(own: ReplicaSettings | None, broker: BrokerSettings) -> Versions | None:
    """What the replica says, else what `broker` says for all; None = nobody gives a software.

    Without a software the other two mean nothing: `_check_versions` reports that.
    """
    given = {}
    for name, field in zip(VERSION_SETTINGS, _FIELDS, strict=True):
        value = None if own is None else getattr(own, field)
        given[name] = getattr(broker, field) if value is None else value
    if given[SOFTWARE] is None:
        return None
    return Versions(given[SOFTWARE], given[PROTOCOL], given[MESSAGE_FORMAT])


def _check_versions(
    replicas: Sequence[ReplicaSpec],
    settings: Sequence[ReplicaSettings | None],
    broker: BrokerSettings,
    report: Report,
) -> None:
    """Report a version without a software, and settings with which a broker would not start."""
    versioned = any(replica.versions is not None for replica in replicas)
    advice = "`broker.software` gives it for every replica"
    if not versioned and any(getattr(broker, field) for field in _FIELDS[1:]):
        report(("broker", SOFTWARE), "missing; what do the brokers run?")
    for index, (replica, own) in enumerate(zip(replicas, settings, strict=True)):
        if replica.versions is not None:
            problem = replica.versions.contradiction()
            if problem is not None:
                report(("replicas", index), f"{replica.name} would not start: {problem}")
        elif versioned:
            report(("replicas", index), f"{replica.name} has no software, others have; {advice}")
        elif own is not None and any(getattr(own, field) for field in _FIELDS[1:]):
            report(("replicas", index, SOFTWARE), f"missing; {advice}")

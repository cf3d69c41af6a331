"""Reads replicas, changes of settings and faults of a scenario file.

Replicas have versions when a file gives `software`, for every replica or for none; a broker has to
be able to start with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sim.errors import did_you_mean
from sim.files.document import Location, Report, listed, unknown_value
from sim.protocol.log.formats import (
    RELEASES,
    SOFTWARE,
    VERSION_SETTINGS,
    Versions,
)
from sim.protocol.rules import RuleValue, check_value
from sim.simulate.faults import FAULTS, ROLES, Fault
from sim.simulate.scenario.file.configs import BrokerSettings
from sim.simulate.scenario.file.format import (
    OWN_FIELDS,
    ChangeLine,
    FaultLine,
    ReplicaSettings,
    ScenarioFile,
)
from sim.simulate.scenario.model import CHANGEABLE, EVERY_REPLICA, Change, Consumer, ReplicaSpec
from sim.simulate.scenario.runnable import rule_problem

_OWN_OF_SOME = {name for own in OWN_FIELDS.values() for name in own}
"""Names of the fields that only some kinds of faults have."""

_FIELDS = ("software", "protocol_version", "message_format_version")
"""Fields of replicas and of `broker` that hold `VERSION_SETTINGS`."""


def build_replicas(file: ScenarioFile, report: Report) -> tuple[ReplicaSpec, ...]:
    """The replicas at the start; contradictions go to `report`."""
    backoff_ms = file.broker.backoff_ms or ReplicaSpec("").cleaner_backoff_ms
    given: Iterable[str | ReplicaSettings]
    if isinstance(file.replicas, int):
        given = [f"r{number}" for number in range(1, file.replicas + 1)]
    else:
        given = file.replicas
    settings = [ReplicaSettings(name=one) if isinstance(one, str) else one for one in given]
    found: list[ReplicaSpec] = []
    for index, own in enumerate(settings):
        if own.name in ROLES:
            report(("replicas", index), f"{own.name!r} is a role, not a name for a replica")
        if any(own.name == other.name for other in found):
            report(("replicas", index), f"{own.name!r} is given twice")
        asked = "cleaner_backoff_ms" in own.model_fields_set
        found.append(
            ReplicaSpec(
                own.name,
                own.clock_skew_ms,
                own.cleaner_backoff_ms if asked else backoff_ms,
                own.tombstone_mark,
                _versions_of(own, file.broker),
            )
        )
    _check_versions(found, settings, file.broker, report)
    return tuple(found)


def no_such_replica(name: str, names: Iterable[str]) -> str:
    """Message about the name of a replica that does not exist."""
    known = [*names]
    return f"there is no replica {name!r}{did_you_mean(name, known)}; there are {listed(known)}"


def _versions_of(own: ReplicaSettings, broker: BrokerSettings) -> Versions | None:
    """Versions of a replica, by its own settings, else by `broker`; None without a software.

    The other two are meaningless without a software, which `_check_versions` reports.
    """
    software, *others = [getattr(own, name) or getattr(broker, name) for name in _FIELDS]
    return None if software is None else Versions(software, *others)


def _check_versions(
    replicas: Sequence[ReplicaSpec],
    settings: Sequence[ReplicaSettings],
    broker: BrokerSettings,
    report: Report,
) -> None:
    """Reports a version without a software, and settings with which a broker would not start."""
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
        elif any(getattr(own, field) for field in _FIELDS[1:]):
            report(("replicas", index, SOFTWARE), f"missing; {advice}")


def build_changes(
    file: ScenarioFile, replicas: Sequence[ReplicaSpec], report: Report
) -> tuple[Change, ...]:
    """The changes in order of time; contradictions go to `report`.

    `replicas` are those at the start; later ones begin with the settings of the first, and may be
    named, too.
    """
    names = [replica.name for replica in replicas]
    joined = [name for line in file.faults for kind, name in line.named() if kind.joins]
    found: list[tuple[int, Change]] = []
    for index, line in enumerate(file.changes):
        place: Location = ("changes", index)
        if line.at >= file.duration_ms:
            report((*place, "at"), f"{line.at} is not before the end, {file.duration_ms}")
        if [line.replica, line.producer, line.consumer].count(None) != 2:
            report(place, "a change reaches a `replica`, a `producer` or a `consumer`; give one")
        elif line.replica is not None:
            change = _of_replica(line, line.replica, [*names, *joined], place, report)
            found.append((index, change))
        elif line.consumer is not None:
            found.append((index, _of_consumer(line, line.consumer, file, place, report)))
        else:
            found.append((index, _of_producer(line, place, report)))
    _check_versions_after(replicas, found, report)
    return tuple(sorted((change for _, change in found), key=lambda change: change.at_ms))


def _of_replica(
    line: ChangeLine, name: str, known: list[str], place: Location, report: Report
) -> Change:
    if name != EVERY_REPLICA and name not in known:
        report((*place, "replica"), no_such_replica(name, [EVERY_REPLICA, *known]))
    if line.versions is not None:
        report((*place, "versions"), "only producers send versions; name a `producer`")
    if line.format is not None:
        report((*place, "format"), "only clients have one; name a `producer` or a `consumer`")
    if not line.settings:
        report(place, f"set: missing; what changes? allowed: {', '.join(CHANGEABLE)}")
    settings: list[tuple[str, RuleValue]] = []
    for rule, value in (line.settings or {}).items():
        if rule not in CHANGEABLE:
            text = f"does not change during a run{did_you_mean(rule, CHANGEABLE)}"
            report((*place, "set", rule), f"{text}; allowed: {', '.join(CHANGEABLE)}")
            continue
        is_version = rule in VERSION_SETTINGS
        if is_version and value not in RELEASES:
            report((*place, "set", rule), unknown_value(value, RELEASES))
        elif not is_version and (problem := rule_problem(rule, value)) is not None:
            report((*place, "set", rule), problem)
        else:
            settings.append((rule, value if is_version else check_value(rule, value)))
    if ("tombstone_removal", "coordinated") in settings:
        text = "coordinated is for a cluster as a whole; give it in `rules`"
        report((*place, "set", "tombstone_removal"), text)
    return Change(line.at, replica=name, settings=tuple(settings))


def _of_producer(line: ChangeLine, place: Location, report: Report) -> Change:
    if line.settings is not None:
        report((*place, "set"), "producers have no cleaner; a producer's change is `versions`")
    if line.versions is None and line.format is None:
        report(place, "versions: missing; does it send version headers from now on?")
    number = line.producer if isinstance(line.producer, int) else 0
    return Change(line.at, producer=number, versions=line.versions, format=line.format)


def _of_consumer(
    line: ChangeLine, name: str, file: ScenarioFile, place: Location, report: Report
) -> Change:
    formats: dict[str, int | None] = {}
    if not isinstance(file.consumers, int):
        for one in file.consumers:
            if isinstance(one, Consumer):
                formats[one.name] = one.format
    if line.settings is not None or line.versions is not None:
        report(place, "a consumer's change is `format`")
    if line.format is None:
        report(place, "format: missing; in which version does it fetch from now on?")
    if formats.get(name) is None:
        report((*place, "consumer"), f"there is no consumer {name!r} with a `format` to begin with")
    return Change(line.at, versions=None, consumer=name, format=line.format)


def _check_versions_after(
    replicas: Sequence[ReplicaSpec], changes: Sequence[tuple[int, Change]], report: Report
) -> None:
    """Reports changes of versions that cannot be made, in order of time.

    A broker would not start with the new ones, or the cluster has none. A replica that joins later
    is taken to have the versions that the first one has at the change.
    """
    now = {replica.name: replica.versions for replica in replicas}
    first = replicas[0].name if replicas else ""
    for index, change in sorted(changes, key=lambda pair: pair[1].at_ms):
        settings = {name: value for name, value in change.settings if name in VERSION_SETTINGS}
        if not settings or change.replica is None:
            asks = change.producer is not None and change.format is not None
            if asks and now.get(first) is None:
                text = "producers have versions only where brokers have; add `broker.software`"
                report(("changes", index, "format"), text)
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


def build_faults(file: ScenarioFile, names: list[str], report: Report) -> tuple[Fault, ...]:
    """The faults in order of time; contradictions go to `report`.

    `names` are those of the replicas at the start.
    """
    joined = {
        target: line.at for line in file.faults for kind, target in line.named() if kind.joins
    }
    taken = {*names, *ROLES}
    found: list[Fault] = []
    for index, line in enumerate(file.faults):
        place = ("faults", index)
        fault = _fault(line, place, report)
        if fault is None:
            continue
        if line.at >= file.duration_ms:
            report((*place, "at"), f"{line.at} is not before the end, {file.duration_ms}")
        if fault.joins:
            if fault.target in taken:
                report((*place, fault.kind), f"{fault.target!r} is taken")
            taken.add(fault.target)
        else:
            _check_target(fault, names, joined, place, report)
        known = [name for name in (*names, *joined) if name != fault.target]
        for peer in fault.peers:
            if peer not in known:
                report((*place, "peers"), no_such_replica(peer, known))
        found.append(fault)
    return tuple(sorted(found, key=lambda fault: fault.at_ms))


def _fault(line: FaultLine, place: Location, report: Report) -> Fault | None:
    """The fault of a line; None where the line names no kind, or several."""
    kinds = line.named()
    if len(kinds) != 1:
        allowed = ", ".join(FAULTS)
        report(place, f"give exactly one kind of fault with its target; allowed: {allowed}")
        return None
    kind, target = kinds[0]
    if kind.instant and line.for_ms is not None:
        report((*place, "for_ms"), f"{kind.kind} happens at a moment; leave for_ms out")
    if not kind.instant and line.for_ms is None:
        report((*place, "for_ms"), f"missing; how long does {kind.kind} last?")
    own = OWN_FIELDS[kind.kind]
    for name in sorted(line.model_fields_set & _OWN_OF_SOME - own.keys()):
        who = [one for one, fields in OWN_FIELDS.items() if name in fields]
        report((*place, name), f"only {' or '.join(who)} has it")
    given = {name: getattr(line, name) for name in own}
    fault = kind(line.at, target, line.for_ms or 0, line.pick, **given)
    for name, problem in fault.contradictions():
        report((*place, name), problem)
    return fault


def _check_target(
    fault: Fault,
    names: Collection[str],
    joined: dict[str, int],
    place: Location,
    report: Report,
) -> None:
    """Reports a target that is not there at the time, or a role that the kind never strikes."""
    if fault.target in ROLES:
        if fault.target not in fault.roles:
            allowed = ", ".join((*fault.roles, "the name of a replica"))
            text = f"does nothing to the {fault.target}; allowed: {allowed}"
            report((*place, fault.kind), text)
    elif fault.target in joined and fault.target not in names:
        if fault.at_ms < joined[fault.target]:
            report((*place, "at"), f"{fault.target} joins later, at {joined[fault.target]}")
    elif fault.target not in names:
        known = (*ROLES, *names, *joined)
        report((*place, fault.kind), no_such_replica(fault.target, known))

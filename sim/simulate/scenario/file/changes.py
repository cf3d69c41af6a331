"""The changes of a scenario file: whom each reaches, and what may change while a cluster runs."""

from __future__ import annotations

from collections.abc import Sequence

from sim.errors import did_you_mean
from sim.files.document import Location, Report, unknown_value
from sim.protocol.log.versions import RELEASES, VERSION_SETTINGS
from sim.protocol.rules.rules import RuleValue, check_value
from sim.simulate.scenario.file.format import ChangeLine, ScenarioFile
from sim.simulate.scenario.file.replicas import no_such_replica
from sim.simulate.scenario.model import Change, Consumer, ReplicaSpec
from sim.simulate.scenario.model.cluster import CHANGEABLE, EVERY_REPLICA
from sim.simulate.scenario.rule_values import rule_problem


def build_changes(
    file: ScenarioFile, replicas: Sequence[ReplicaSpec], report: Report
) -> tuple[Change, ...]:
    """The changes in order of time; what contradicts itself goes to `report`.

    `replicas` are those there are at the start; later ones begin with the settings of the first,
    and may be named, too.
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
    _check_versions(replicas, found, report)
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


def _check_versions(
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
            _check_client(index, change, versioned=now.get(first) is not None, report=report)
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


def _check_client(index: int, change: Change, *, versioned: bool, report: Report) -> None:
    if change.producer is not None and change.format is not None and not versioned:
        text = "producers have versions only where brokers have; add `broker.software`"
        report(("changes", index, "format"), text)

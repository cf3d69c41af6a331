"""From a validated scenario file to a `Scenario`: names resolved, contradictions found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from sim.errors import BadInput, did_you_mean
from sim.files.document import Location, Report
from sim.replication.recovery import NONE_OLD, OldFiles
from sim.rules import PRESETS, Settings
from sim.rules.rules import DEFAULTS, check_value
from sim.scenario.file.build_changes import build_changes
from sim.scenario.file.build_versions import check_versions, versions_of
from sim.scenario.file.build_workload import build_workload
from sim.scenario.file.format import FaultLine, ReplicaSettings, ScenarioFile
from sim.scenario.file.snapshot_fields import snapshots_of
from sim.scenario.file.topic import conflicts, nameless_header, settings_as_rules, topic_of
from sim.scenario.model import (
    Consumer,
    CrashWithOldFiles,
    Fault,
    FaultKind,
    Network,
    ReplicaSpec,
    Scenario,
)
from sim.scenario.model.faults import INSTANT_FAULTS
from sim.scenario.model.snapshots import SnapshotSettings

ROLES = ("leader", "follower")


def build(file: ScenarioFile, *, path: Path, seed: int | None, report: Report) -> Scenario:
    """The scenario that `file` describes; every contradiction goes to `report`.

    `path` is where the file is: trace files are relative to it. `seed` replaces the file's own.
    What is returned is meaningful only if nothing was reported.
    """
    replicas = _replicas(file, report)
    names = [replica.name for replica in replicas]
    chosen_seed = file.seed if seed is None else seed
    settings = _settings(file, len(replicas), report)
    topic = topic_of(file.topic, file.broker)
    lag, bound = topic.min_compaction_lag_ms, topic.max_compaction_lag_ms
    if bound is not None and bound < lag:
        text = f"{bound} is below min.compaction.lag.ms, {lag}"
        report(("topic", "max.compaction.lag.ms"), text)
    _check_network(file.network, names, report)
    if file.timers.election_timeout_ms[0] > file.timers.election_timeout_ms[1]:
        report(("timers", "election_timeout_ms"), "the first number is above the second")
    return Scenario(
        id=file.id or path.stem,
        title=file.title,
        source=file.source,
        seed=chosen_seed,
        duration_ms=file.duration_ms,
        rules=settings.rules,
        upgrade=settings.upgrade,
        topic=topic,
        replicas=replicas,
        network=file.network,
        timers=file.timers,
        workload=build_workload(file, path=path, seed=chosen_seed, report=report),
        consumers=_consumers(file, names, report),
        faults=_faults(file, names, report),
        changes=build_changes(file, replicas, report),
        snapshots=_snapshots(file, report),
        last_rounds=file.last_rounds,
        expect=file.expect,
        limits=file.limits,
    )


def check_expectations(
    file: ScenarioFile,
    report: Report,
    *,
    known_invariants: Collection[str],
    known_reached: Collection[str],
) -> None:
    """Report names in `expect` that no check has, and invariants violated but not checked."""
    expect = file.expect
    for field, names, known in (
        ("violated", expect.violated, known_invariants),
        ("checked", expect.checked or (), known_invariants),
        ("reached", expect.reached, known_reached),
        ("unreached", expect.unreached, known_reached),
    ):
        for index, name in enumerate(names):
            if known and name not in known:
                report(("expect", field, index), unknown_name(name, known))
    if expect.checked is not None:
        for index, name in enumerate(expect.violated):
            if name not in expect.checked:
                report(("expect", "violated", index), f"{name} is not among `checked`")


def unknown_name(name: str, known: Iterable[str]) -> str:
    """What to say about a name that is not among the known ones."""
    known = list(known)
    return f"unknown name {name!r}{did_you_mean(name, known)}; allowed: {', '.join(known)}"


def _settings(file: ScenarioFile, replicas: int, report: Report) -> Settings:
    """Defaults, then the preset, the broker's settings, the topic's settings, the named rules."""
    given = dict(file.rules)
    preset = given.pop("preset", None)
    values: dict[str, object] = {}
    if preset is not None:
        if preset in PRESETS:
            values.update(PRESETS[str(preset)].values)
        else:
            report(("rules", "preset"), unknown_name(str(preset), PRESETS))
    values.update(settings_as_rules(file.broker))
    values.update(settings_as_rules(file.topic))
    for name, value in given.items():
        try:
            values[name] = check_value(name, value)
        except BadInput as error:
            report(("rules", name), str(error).partition(": ")[2])
    for setting, text in conflicts(file.rules, file.topic):
        report(("topic", setting), text)
    for place, text in nameless_header(file.rules, file.topic, file.broker):
        report(place, text)
    settings = Settings().with_values({n: values[n] for n in values if n in DEFAULTS})
    rules = settings.rules
    if rules.replication.commit == "isr" and rules.topic.min_isr > replicas:
        place = ("rules", "min_isr") if "min_isr" in given else ("topic", "min.insync.replicas")
        report(place, f"{rules.topic.min_isr} replicas must be in sync, but there are {replicas}")
    return settings


def _snapshots(file: ScenarioFile, report: Report) -> SnapshotSettings:
    """Settings of snapshots; a policy that is given and takes none contradicts them."""
    policy = file.topic.cleanup_policy
    found = snapshots_of(file.broker, policy=policy)
    takes = found.record_bytes is not None or found.interval_ms is not None
    if takes and "cleanup_policy" in file.topic.model_fields_set and "snapshot" not in policy:
        text = f"{policy} takes no snapshots, but broker says when; allowed: snapshot, or both"
        report(("topic", "cleanup.policy"), text)
    return found


def _replicas(file: ScenarioFile, report: Report) -> tuple[ReplicaSpec, ...]:
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
            versions = versions_of(item, file.broker)
            mark = item.tombstone_mark
            spec = ReplicaSpec(item.name, item.clock_skew_ms, backoff, mark, versions)
        else:
            spec = ReplicaSpec(item, 0, backoff_ms, versions=versions_of(None, file.broker))
        if spec.name in ROLES:
            report(("replicas", index), f"{spec.name!r} is a role, not a name for a replica")
        if any(spec.name == other.name for other in found):
            report(("replicas", index), f"{spec.name!r} is given twice")
        found.append(spec)
    settings = [item if isinstance(item, ReplicaSettings) else None for item in items]
    check_versions(found, settings, file.broker, report)
    return tuple(found)


def _check_network(network: Network, names: list[str], report: Report) -> None:
    if network.latency_ms[0] > network.latency_ms[1]:
        report(("network", "latency_ms"), "the first number is above the second")
    for index, link in enumerate(network.links):
        place = ("network", "links", index)
        for field, name in (("source", link.source), ("target", link.target)):
            if name not in names:
                report((*place, field), no_such_replica(name, names))
        if link.source == link.target:
            report(place, "a link leads from one replica to another one")
        if link.latency_ms[0] > link.latency_ms[1]:
            report((*place, "latency_ms"), "the first number is above the second")


def no_such_replica(name: str, names: Iterable[str]) -> str:
    """What to say about a replica that does not exist."""
    return f"there is no replica {name!r}; there are {', '.join(names)}"


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


def _faults(file: ScenarioFile, names: list[str], report: Report) -> tuple[Fault, ...]:
    joined = {target: line.at for line in file.faults for target in (line.add_replica,) if target}
    taken = {*names, *ROLES}
    found: list[Fault] = []
    for index, line in enumerate(file.faults):
        kinds = line.named()
        place = ("faults", index)
        if len(kinds) != 1:
            allowed = ", ".join(kind.value for kind in FaultKind)
            report(place, f"give exactly one kind of fault with its target; allowed: {allowed}")
            continue
        kind, target = kinds[0]
        if line.at >= file.duration_ms:
            report((*place, "at"), f"{line.at} is not before the end, {file.duration_ms}")
        _check_fault(line, kind, place, report)
        if kind is FaultKind.ADD_REPLICA:
            if target in taken:
                report((*place, kind.value), f"{target!r} is taken")
            taken.add(target)
        elif kind is FaultKind.REMOVE_REPLICA and target in ROLES:
            report((*place, kind.value), f"name the replica that leaves, not its role {target!r}")
        elif target not in names and target not in ROLES:
            if target not in joined:
                known = (*ROLES, *names, *joined)
                report((*place, kind.value), no_such_replica(target, known))
            elif line.at < joined[target]:
                report((*place, "at"), f"{target} joins later, at {joined[target]}")
        duration_ms = line.for_ms or 0
        known = (*names, *joined)
        for peer in line.peers:
            if peer not in known or peer == target:
                report((*place, "peers"), no_such_replica(peer, [n for n in known if n != target]))
        fault = (
            line.at,
            kind,
            target,
            duration_ms,
            line.pick,
            line.lose_batches,
            line.peers,
            line.power_loss,
            line.during,
        )
        old = OldFiles(line.high_watermark, line.cleaned, line.epochs)
        found.append(Fault(*fault) if old == NONE_OLD else CrashWithOldFiles(*fault, old))
    return tuple(sorted(found, key=lambda fault: fault.at_ms))


def _check_fault(line: FaultLine, kind: FaultKind, place: Location, report: Report) -> None:
    if kind in INSTANT_FAULTS and line.for_ms is not None:
        report((*place, "for_ms"), f"{kind.value} happens at a moment; leave for_ms out")
    if kind not in INSTANT_FAULTS and line.for_ms is None:
        report((*place, "for_ms"), f"missing; how long does {kind.value} last?")
    if line.lose_batches and kind is not FaultKind.CRASH:
        report((*place, "lose_batches"), "only a crash loses batches")
    if line.peers and kind not in (FaultKind.PARTITION, FaultKind.ONE_WAY_PARTITION):
        report((*place, "peers"), "only a partition has peers")
    if line.power_loss and kind is not FaultKind.CRASH:
        report((*place, "power_loss"), "only a crash is a loss of power")
    for file in OldFiles._fields:
        if getattr(line, file) is not None and kind is not FaultKind.CRASH:
            report((*place, file), "only a crash leaves files that are older than the log")
    if line.during is not None and kind is not FaultKind.CRASH:
        report((*place, "during"), "only a crash comes during a pass or an install")
    if line.power_loss and line.lose_batches:
        report((*place, "lose_batches"), "with power_loss the rule `flush` says what is lost")

"""The faults of a scenario file: one kind each, on a target there is, with what the kind takes."""

from __future__ import annotations

from sim.files.document import Location, Report
from sim.replication.recovery import NONE_OLD, OldFiles
from sim.scenario.file.format import FaultLine, ScenarioFile
from sim.scenario.file.replicas import ROLES, no_such_replica
from sim.scenario.model import CrashWithOldFiles, Fault, FaultKind
from sim.trace.cluster import INSTANT_FAULTS


def build_faults(file: ScenarioFile, names: list[str], report: Report) -> tuple[Fault, ...]:
    """The faults in order of time; every contradiction goes to `report`.

    `names` are the replicas there are at the start.
    """
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

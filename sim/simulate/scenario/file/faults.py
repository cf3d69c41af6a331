"""The faults of a scenario file: one kind each, on a target there is, with what the kind takes."""

from __future__ import annotations

from collections.abc import Collection

from sim.files.document import Location, Report
from sim.simulate.faults import FAULTS, Fault
from sim.simulate.scenario.file.format import OWN_FIELDS, FaultLine, ScenarioFile
from sim.simulate.scenario.file.replicas import ROLES, no_such_replica


def build_faults(file: ScenarioFile, names: list[str], report: Report) -> tuple[Fault, ...]:
    """The faults in order of time; every contradiction goes to `report`.

    `names` are the replicas there are at the start.
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
    """What a line says; None = it does not say which kind."""
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
    for name, who in _who_has().items():
        if name not in own and name in line.model_fields_set:
            report((*place, name), f"only {' or '.join(who)} has it")
    given = {name: getattr(line, name) for name in own}
    fault = kind(line.at, target, line.for_ms or 0, line.pick, **given)
    for name, problem in fault.contradictions():
        report((*place, name), problem)
    return fault


def _who_has() -> dict[str, list[str]]:
    """The kinds that have a field of their own, by its name."""
    found: dict[str, list[str]] = {}
    for kind, own in OWN_FIELDS.items():
        for name in own:
            found.setdefault(name, []).append(kind)
    return found


def _check_target(
    fault: Fault,
    names: Collection[str],
    joined: dict[str, int],
    place: Location,
    report: Report,
) -> None:
    """The target is there at the time, or a role that the kind can have."""
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

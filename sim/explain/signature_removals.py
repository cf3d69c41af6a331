"""Why a tombstone or a transaction's marker went, and who still needed it."""

from __future__ import annotations

from sim.explain import mechanisms as of
from sim.explain.signature_past import Became, Past, Step
from sim.rules import Rules
from sim.trace import Cleaned, Copied, Removal, ReplicaAdded, ReplicaRestarted, ReplicaWiped

Facts = tuple[str, ...]


def why_removed(
    past: Past, rules: Rules, replica: str, removal: Removal, event: Cleaned, position: int
) -> Facts:
    """Why a pass took a tombstone or a marker when it did."""
    written = past.written.get(removal.uid)
    marker = written is not None and written.batch.control is not None
    if removal.reason == "superseded":
        return (of.EVICTED,) if marker else (of.SUPERSEDED,)
    if removal.reason == "aborted":
        return (of.AS_ABORTED,)
    for at, name, offset, marker_offset in reversed(past.bounds):
        if at < position and name == replica:
            if removal.offset < (marker_offset if marker else offset):
                return (of.COORDINATED,)
            break
    base = removal.offset if written is None else written.batch.base_offset
    stamp = _stamp_of(past, replica, base, position)
    removal_rule = rules.cleaner.tombstone_removal
    if stamp is not None and removal_rule not in ("immediate", "last_modified"):
        step, horizon = stamp
        at = past.events[position][0]
        retention = horizon - step.event.now_ms
        if (
            past.timed
            and event.now_ms - at != step.event.now_ms - step.at
            and at < step.at + retention
        ):
            return (of.CLOCK_AHEAD,)
        return (of.HORIZON_PASSED,)
    if removal_rule == "immediate":
        return (of.AT_ONCE,)
    if removal_rule == "last_modified" or rules.cleaner.unstamped_tombstones == "last_modified":
        return (of.BY_SEGMENT_AGE,)
    return (of.HORIZON_PASSED,) if removal_rule.endswith("horizon") else (of.AT_ONCE,)


def _stamp_of(past: Past, replica: str, base: int, before: int) -> tuple[Step, int] | None:
    """The pass that gave a batch its horizon, on that replica or where it was copied from."""
    for step in past.steps_before(replica, before):
        if isinstance(step.event, Cleaned):
            for offset, horizon in step.event.horizons:
                if offset == base:
                    return step, horizon
        elif isinstance(step.event, Copied) and step.before <= base < step.after:
            return _stamp_of(past, step.event.leader, base, step.position)
    return None


def holder_of(past: Past, holder: str, offset: int, uid: int | None, removed_at: int) -> Facts:
    """Why a replica still needed, when it went, what stood at an offset."""
    fate = past.fate(holder, offset, uid, removed_at)
    if fate.became in (Became.CUT, Became.CRASHED):
        return (of.HOLDER_CUT,) if fate.became is Became.CUT else (of.TAIL_LOST,)
    return (of.HOLDER_NEW,) if _is_new(past, holder, removed_at) else (of.HOLDER_BEHIND,)


def _is_new(past: Past, replica: str, before: int) -> bool:
    """Whether a replica was added, or lost its disk, after others had begun."""
    for step in past.steps_before(replica, before):
        if isinstance(step.event, ReplicaWiped):
            return True
        if isinstance(step.event, ReplicaAdded):
            return any(
                other[0].position != step.position
                and len(other) > 1
                and other[1].position < step.position
                for other in past.steps.values()
            )
        if isinstance(step.event, ReplicaRestarted):
            continue
    return False

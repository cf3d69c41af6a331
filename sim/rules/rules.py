"""Rules: every disputed behaviour of the protocol and of the cleaner as a named switch.

A hidden choice makes a testbed report bugs that are not there, or miss those that are. What each
value means, and who says so, stands in the modules beside this one: `cleaning_rules` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from sim.errors import BadInput, did_you_mean
from sim.rules.cleaning import CLEANING_RULES
from sim.rules.copying import COPYING_RULES
from sim.rules.deletes import DELETE_RULES
from sim.rules.durability import DURABILITY_RULES
from sim.rules.election import ELECTION_RULES
from sim.rules.protocol import PROTOCOL_RULES
from sim.rules.reading import READING_RULES
from sim.rules.snapshots import SNAPSHOT_RULES
from sim.rules.spec import RuleSpec, RuleValue, shown
from sim.rules.upgrade import UPGRADE_RULES

__all__ = ["RULES", "RuleSpec", "RuleValue", "Rules", "check_value", "listed", "shown"]


@dataclass(frozen=True, slots=True)
class Rules:
    """One value for every rule; the defaults are those of a Raft log with Kafka's cleaner.

    What ends in `_ms` is in ms; `min_isr` counts replicas, the leader included.
    `strategy_header` names the header that the `header` strategy reads.
    """

    strategy: str = "offset"
    strategy_header: str = "version"
    header_form: str = "last_long"
    ties: str = "latest"
    fix: str = "none"
    map_range: str = "full"
    cleaner_bound: str = "hw"
    tombstone_removal: str = "horizon"
    horizon_stamp: str = "on_sight"
    horizon_rebase: str = "deltas_rewritten"
    horizon_header: str = "hidden"
    marker_removal: str = "as_tombstones"
    marker_lookup: str = "never"
    marker_watermark: str = "shared"
    lost_disk_report: str = "kept"
    empty_segments: str = "joined"
    cleanup: str = "compact_and_snapshot"
    tombstone_mark: str = "null_value"
    late_versions: str = "accepted"
    consumer_order: str = "offset"
    delete_retention_ms: int = 86_400_000
    commit: str = "majority"
    min_isr: int = 1
    isr_join: str = "epoch_start"
    epoch_commit_rule: str = "strict"
    truncation: str = "epoch_diverging"
    follower_position: str = "read_end"
    leo_source: str = "stored"
    offset_assignment: str = "leader_assigned"
    leader_change_record: bool = False
    roll: str = "on_append"
    lag_metric: str = "every_scan"
    lag_guard: str = "none"
    flush: str = "acknowledged"
    segment_swap: str = "swap_files"
    cleaner_checkpoint: str = "after_work"
    epoch_recovery: str = "from_batches"
    fencing: bool = True
    rollout: str = "brokers_first"
    flag_rollout: str = "clients_before_format"
    snapshot_install: str = "atomic"
    install_recovery: str = "log_kept"
    download_when_elected: str = "dropped"
    snapshot_offer: str = "below_start"
    snapshot_placement: str = "beside"
    prefix_gate: str = "local"
    start_offset_lag_ms: int = 604_800_000
    state_machine: str = "keyed"
    response_fencing: bool = True
    eligible_leaders: str = "isr"
    unclean_election: bool = False
    epoch_storage: str = "disk"
    vote_storage: str = "disk"
    leader_restart: str = "resigned"
    pre_vote: bool = False
    check_quorum: bool = True
    successors: str = "named"
    high_watermark_update: str = "max"
    high_watermark_cut: str = "clamped"
    consumer_validation: str = "none"
    aborted_list: str = "index"
    epoch_cache: str = "rebuilt"
    held_snapshot: str = "fetched"
    epoch_cut: str = "dropped"

    def with_values(self, values: Mapping[str, object], *, where: str = "rules") -> Rules:
        """These rules with some values changed.

        Raises:
            BadInput: A rule or a value does not exist; the message lists what is allowed.
        """
        checked = {name: check_value(name, value, where=where) for name, value in values.items()}
        return replace(self, **checked)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, RuleValue]:
        """All rules with their values, in order of declaration."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def differing_from(self, other: Rules) -> dict[str, RuleValue]:
        """The rules whose value here is not the one in `other`."""
        theirs = other.as_dict()
        return {name: value for name, value in self.as_dict().items() if theirs[name] != value}


_DECLARED = (
    *CLEANING_RULES,
    *DURABILITY_RULES,
    *DELETE_RULES,
    *PROTOCOL_RULES,
    *ELECTION_RULES,
    *SNAPSHOT_RULES,
    *READING_RULES,
    *COPYING_RULES,
    *UPGRADE_RULES,
)

RULES: dict[str, RuleSpec] = {
    field.name: spec for field in fields(Rules) for spec in _DECLARED if spec.name == field.name
}
"""Every rule by name, in the order of `Rules`."""


def check_value(name: str, value: object, *, where: str = "rules") -> RuleValue:
    """The value if rule `name` allows it; numbers and booleans may come as text.

    Raises:
        BadInput: Unknown rule, or a value it does not allow.
    """
    spec = RULES.get(name)
    if spec is None:
        raise BadInput(
            f"{where}: unknown rule {name!r}{did_you_mean(name, RULES)}; allowed: {listed(RULES)}"
        )
    default = getattr(Rules(), name)
    parsed = _parse(value, type(default))
    if parsed is None or (spec.values and parsed not in spec.values):
        allowed = listed(spec.values) or _kind(default, spec.minimum)
        close = did_you_mean(str(value), [str(allowed_value) for allowed_value in spec.values])
        place = place_of(name, where)
        raise BadInput(f"{place}: unknown value {value!r}{close}; allowed: {allowed}")
    if spec.minimum is not None and isinstance(parsed, int) and parsed < spec.minimum:
        place = place_of(name, where)
        raise BadInput(f"{place}: {parsed} is below the smallest allowed, {spec.minimum}")
    return parsed


def place_of(name: str, where: str) -> str:
    """How messages call the rule `name` in `where`: a part of it, or the value of an option."""
    return f"{where} {name}" if where.startswith("--") else f"{where}.{name}"


def _kind(default: RuleValue, minimum: int | None) -> str:
    """What a rule allows that has no names for its values."""
    if isinstance(default, str):
        return "a text that is not empty"
    return "an integer" if minimum is None else f"an integer from {minimum}"


def _parse(value: object, kind: type) -> RuleValue | None:
    if kind is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "false": False}.get(value) if isinstance(value, str) else None
    if kind is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return int(value) if isinstance(value, str) and value.isdecimal() else None
    return value if isinstance(value, str) and value else None


def listed(values: object) -> str:
    """Values as an error message lists them."""
    return ", ".join(map(shown, values))  # type: ignore[call-overload]

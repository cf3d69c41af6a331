"""Rules: every disputed behaviour of the protocol and of the cleaner as a named switch.

A hidden choice makes a testbed report bugs that are not there, or miss those that are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from sim.compaction import FIXES, STRATEGIES, TOMBSTONE_MARKS, TOMBSTONE_REMOVALS
from sim.compaction.strategies import HEADER_FORMS
from sim.errors import BadInput

RuleValue = str | int | bool


@dataclass(frozen=True, slots=True)
class Rules:
    """One value for every rule; the defaults are those of a Raft log with Kafka's cleaner.

    `delete_retention_ms` is in ms; `min_isr` counts replicas, the leader included.
    `strategy_header` names the header that the `header` strategy reads.
    """

    strategy: str = "offset"
    strategy_header: str = "version"
    header_form: str = "last_long"
    fix: str = "none"
    map_range: str = "full"
    cleaner_bound: str = "hw"
    tombstone_removal: str = "horizon"
    horizon_stamp: str = "on_sight"
    horizon_header: str = "hidden"
    marker_removal: str = "as_tombstones"
    marker_lookup: str = "never"
    empty_segments: str = "joined"
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
    fencing: bool = True
    rollout: str = "brokers_first"

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


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """What one rule decides and where it comes from.

    Attributes:
        name: Its name in files and on the command line.
        allowed: Allowed values, the default first; empty when any value of the type will do.
            A registry of strategies, fixes or the like stands for what is in it when asked.
        decides: What it decides, for people.
        source: Who says so: a KIP, a class and method, a ticket.
        minimum: Smallest allowed number, for rules that take one.
    """

    name: str
    allowed: Collection[RuleValue]
    decides: str
    source: str
    minimum: int | None = None

    @property
    def values(self) -> tuple[RuleValue, ...]:
        """Allowed values, the default first, those of plugins last; empty = any of the type."""
        return tuple(self.allowed)


RULES: dict[str, RuleSpec] = {
    spec.name: spec
    for spec in (
        RuleSpec(
            "strategy",
            STRATEGIES,
            "which record of a key wins",
            "KIP-280, compaction.strategy",
        ),
        RuleSpec(
            "strategy_header",
            (),
            "name of the header that the header strategy reads",
            "KIP-280, compaction.strategy.header",
        ),
        RuleSpec(
            "header_form",
            tuple(HEADER_FORMS),
            "last header of that very name, 8 bytes; first so named, varint above 0; or any varint",
            "KIP-280, compaction.strategy.header; apache/kafka PR 8103; microsoft/kafka PR 45",
        ),
        RuleSpec(
            "fix",
            FIXES,
            "what stays of the last offset of a round, or of the log",
            "KIP-280, Special case where we need to retain LEO; KAFKA-17076",
        ),
        RuleSpec(
            "map_range",
            ("full", "dirty"),
            "winners over [log start, bound) or over the dirty section only",
            "Cleaner.buildOffsetMap (dirty); what KIP-280 promises needs full",
        ),
        RuleSpec(
            "cleaner_bound",
            ("hw", "leo"),
            "hw: never past the last stable offset; leo: up to the log end",
            "KAFKA-13194; LogCleanerManager.cleanableOffsets",
        ),
        RuleSpec(
            "tombstone_removal",
            TOMBSTONE_REMOVALS,
            "when a winning tombstone may go",
            "KIP-534, KIP-630, Redpanda PR 28087",
        ),
        RuleSpec(
            "horizon_stamp",
            ("on_sight", "mapped"),
            "a kept tombstone gets its horizon on sight, or only once the map has reached it",
            "MemoryRecords.filterTo (on_sight); apache/kafka PR 10914, review",
        ),
        RuleSpec(
            "horizon_header",
            ("hidden", "visible"),
            "with record_horizon: whether consumers are given the header that holds the horizon",
            "KIP-534, Rejected Alternatives",
        ),
        RuleSpec(
            "marker_removal",
            ("as_tombstones", "horizon"),
            "with last_modified: markers go by their segment's time, too, or by their own horizon",
            "LogCleaner.shouldDiscardBatch in 2.8 (as_tombstones); KIP-534 (horizon)",
        ),
        RuleSpec(
            "marker_lookup",
            ("never", "by_key"),
            "whether a marker is looked up in the map by the bytes of its key",
            "KAFKA-14055",
        ),
        RuleSpec(
            "empty_segments",
            ("joined", "in_range"),
            "an empty segment joins its neighbour always, or within 2^31 offsets of its base",
            "KAFKA-12889; Cleaner.groupSegmentsBySize",
        ),
        RuleSpec(
            "tombstone_mark",
            ("null_value", *(mark for mark in TOMBSTONE_MARKS if mark != "null_value")),
            "what marks a tombstone (explicit: the story's step says so)",
            "KIP-87; Record.hasValue",
        ),
        RuleSpec(
            "late_versions",
            ("accepted", "floor", "stub"),
            "below a removed tombstone: accepted; refused by leaders; beaten by what cleaners keep",
            "KIP-280 with KIP-534, left open; late writes in Cassandra and Scylla (#23712, #24415)",
        ),
        RuleSpec(
            "consumer_order",
            ("offset", "strategy"),
            "what a consumer keeps of a key: the last record it was given, or the winning one",
            "KIP-280, Recommendations: consumers should be aware of the strategy",
        ),
        RuleSpec(
            "delete_retention_ms",
            (),
            "ms from the first pass that keeps a tombstone to the first that may remove it",
            "delete.retention.ms, KIP-534",
            minimum=0,
        ),
        RuleSpec(
            "commit",
            ("majority", "isr"),
            "what makes the high watermark: a majority of voters, or all in-sync replicas",
            "LeaderState.maybeUpdateHighWatermark; Partition.maybeIncrementLeaderHW",
        ),
        RuleSpec(
            "min_isr",
            (),
            "isr: smallest in-sync set with which the high watermark moves",
            "min.insync.replicas, KIP-966",
            minimum=1,
        ),
        RuleSpec(
            "isr_join",
            ("epoch_start", "hw_only"),
            "who may join: position at or above the high watermark, and the epoch's start or not",
            "Partition.isFollowerInSync; Kip320FirstTry",
        ),
        RuleSpec(
            "epoch_commit_rule",
            ("strict", "off_by_one", "none"),
            "majority: the high watermark must be above the epoch's start, at or above, or any",
            "Raft 5.4.2; KAFKA-12619",
        ),
        RuleSpec(
            "truncation",
            ("epoch_diverging", "epoch_kip279", "epoch_kip101", "high_watermark", "none"),
            "what a follower does with a conflicting tail",
            "KIP-101, KIP-279, KIP-320, KIP-595",
        ),
        RuleSpec(
            "follower_position",
            ("read_end", "request"),
            "what the leader believes after an empty read: its own log end, or the fetch offset",
            "LocalLog.read, Partition.fetchRecords (read_end)",
        ),
        RuleSpec(
            "leo_source",
            ("stored", "last_record"),
            "whether the log end offset survives cleaning and restart",
            "LocalLog.nextOffsetMetadata; etcd #17780",
        ),
        RuleSpec(
            "offset_assignment",
            ("leader_assigned", "follower_assigned"),
            "who gives offsets; the second is KIP-280's own drawing",
            "KIP-280, Special case where we need to retain LEO",
        ),
        RuleSpec(
            "leader_change_record",
            (False, True),
            "a new leader first appends a control record",
            "LeaderState.appendLeaderChangeMessage",
        ),
        RuleSpec(
            "roll",
            ("on_append", "timer"),
            "an active segment is closed by age only when something is appended, or by a timer",
            "UnifiedLog.maybeRoll (on_append); KIP-354, KAFKA-20664",
        ),
        RuleSpec(
            "lag_metric",
            ("every_scan", "on_clean"),
            "max-compaction-delay-secs says what each scan saw, or the last that led to a pass",
            "KIP-354, Public Interfaces (every_scan); PreCleanStats (on_clean)",
        ),
        RuleSpec(
            "lag_guard",
            ("none", "reset_local", "reset_propagated"),
            "rebuild a follower that is below a removed tombstone",
            "Redpanda PR 26562; KIP-630, Rejected Alternatives; Copycat #127",
        ),
        RuleSpec("fencing", (True, False), "stale epochs are refused", "KIP-320, KIP-595"),
        RuleSpec(
            "rollout",
            ("brokers_first", "producers_first", "strategy_first"),
            "in a random upgrade: what is rolled out first; the strategy is last, or comes first",
            "KIP-280, Compatibility, Deprecation, and Migration Plan",
        ),
    )
}
"""Every rule by name, in order of declaration."""


def check_value(name: str, value: object, *, where: str = "rules") -> RuleValue:
    """The value if rule `name` allows it; numbers and booleans may come as text.

    Raises:
        BadInput: Unknown rule, or a value it does not allow.
    """
    spec = RULES.get(name)
    if spec is None:
        raise BadInput(
            f"{where}: unknown rule {name!r}{hint(name, RULES)}; allowed: {listed(RULES)}"
        )
    default = getattr(Rules(), name)
    parsed = _parse(value, type(default))
    if parsed is None or (spec.values and parsed not in spec.values):
        allowed = listed(spec.values) if spec.values else f"a {type(default).__name__}"
        close = hint(str(value), [str(allowed_value) for allowed_value in spec.values])
        raise BadInput(f"{where}.{name}: unknown value {value!r}{close}; allowed: {allowed}")
    if spec.minimum is not None and isinstance(parsed, int) and parsed < spec.minimum:
        raise BadInput(f"{where}.{name}: {parsed} is below the smallest allowed, {spec.minimum}")
    return parsed


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
    return ", ".join(
        str(value).lower() if isinstance(value, bool) else str(value)
        for value in values  # type: ignore[attr-defined]
    )


def hint(given: str, known: object) -> str:
    """A question that names the closest of what is known; nothing when none is close."""
    close = get_close_matches(given, list(known), n=1)  # type: ignore[call-overload]
    return f" (did you mean {close[0]!r}?)" if close else ""

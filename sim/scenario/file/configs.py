"""Topic and broker settings under Kafka's own names, as in `kafka-configs --describe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from sim.compaction import STRATEGIES
from sim.files.bounds import Count, Setting, SettingFromOne, Size
from sim.limits import LONG, SETTING
from sim.rules import Rules
from sim.rules.rules import RuleValue
from sim.scenario.model import Name, Period, Share, Topic, Within
from sim.scenario.model.snapshots import (
    FETCH_SNAPSHOT_BYTES,
    INTERVAL_MS,
    RECORD_BYTES,
    RETENTION_BYTES,
    RETENTION_MS,
    SnapshotSettings,
)

FILE_CONFIG = ConfigDict(
    strict=True,
    frozen=True,
    extra="forbid",
    use_attribute_docstrings=True,
    allow_inf_nan=False,
)
"""How every part of a scenario file is validated."""

NEVER_REACHED = LONG
"""What -1 stands for: old snapshots are looked for, and stay."""

Bound = Annotated[int, Ge(-1), Within(SETTING)]
"""A bound in bytes or ms; -1 = none."""


Release = Literal["0.10.1", "0.10.2"]
"""The releases before and with KIP-87, as `sim.log.versions` has them."""


StrategyName = Annotated[
    str, WithJsonSchema({"anyOf": [{"enum": [*STRATEGIES, ""]}, {"type": "string"}]})
]
"""Looked up by `sim.scenario.file.strategies`: plugins may have added some."""


class TopicSettings(BaseModel):
    """A scenario file's `topic`. What is not given comes from `broker`, then from the defaults."""

    model_config = FILE_CONFIG

    cleanup_policy: Literal[
        "compact",
        "compact,delete",
        "delete,compact",
        "delete",
        "snapshot",
        "compact,snapshot",
        "snapshot,compact",
    ] = Field("compact", alias="cleanup.policy")
    """`compact`: by key; `delete`: old segments go, by age and size; `snapshot`: as in KIP-630."""
    retention_ms: Setting | None = Field(None, alias="retention.ms")
    """With `delete`: a closed segment goes when its newest record is older than this, in ms."""
    retention_bytes: Setting | None = Field(None, alias="retention.bytes")
    """With `delete`: the oldest segments go while the log is larger than this by more than them."""
    compaction_strategy: StrategyName | None = Field(None, alias="compaction.strategy")
    """KIP-280, in any case; empty = offset, whatever the broker says. Short: `rules.strategy`."""
    compaction_strategy_header: Name | None = Field(None, alias="compaction.strategy.header")
    """KIP-280: the header that the header strategy reads."""
    delete_retention_ms: Setting | None = Field(None, alias="delete.retention.ms")
    """How long a tombstone stays at least, in ms; `rules.delete_retention_ms` is its short form."""
    flush_messages: SettingFromOne | None = Field(None, alias="flush.messages")
    """With `flush: interval`: the log is flushed when so many offsets are not."""
    flush_ms: SettingFromOne | None = Field(None, alias="flush.ms")
    """With `flush: interval`: the log is flushed every so many ms."""
    index_interval_bytes: Count | None = Field(None, alias="index.interval.bytes")
    """Bytes of a segment between two entries of its offset index: where a cleaner starts to read.

    `rules.index_interval_bytes` is its short form.
    """
    max_compaction_lag_ms: SettingFromOne | None = Field(None, alias="max.compaction.lag.ms")
    """KIP-354: a closed segment is cleaned at the latest so many ms after its first record."""
    max_message_bytes: Size | None = Field(None, alias="max.message.bytes")
    """Batches that a delete horizon makes larger than this are counted (KIP-534)."""
    timestamp_difference_max_ms: Setting | None = Field(
        None, alias="message.timestamp.difference.max.ms"
    )
    """A record whose timestamp is farther from the leader's clock is refused."""
    min_cleanable_dirty_ratio: Share | None = Field(None, alias="min.cleanable.dirty.ratio")
    """Share of dirty bytes above which a log is cleaned."""
    min_compaction_lag_ms: Setting | None = Field(None, alias="min.compaction.lag.ms")
    """KIP-58: a record stays uncompacted for so many ms at least."""
    min_insync_replicas: Size | None = Field(None, alias="min.insync.replicas")
    """Smallest in-sync set that commits; `rules.min_isr` is its short form."""
    unclean_leader_election: bool | None = Field(None, alias="unclean.leader.election.enable")
    """Whether any live replica may lead when none may cleanly; `rules.unclean_election`."""
    segment_bytes: Size | None = Field(None, alias="segment.bytes")
    """A segment is closed before it grows beyond so many bytes."""
    segment_ms: SettingFromOne | None = Field(None, alias="segment.ms")
    """A segment is closed by the first append so many ms after its first record."""


class BrokerSettings(BaseModel):
    """A scenario file's `broker`: defaults for what `topic` does not say."""

    model_config = FILE_CONFIG

    fetch_snapshot_bytes: Size | None = Field(
        None, alias="controller.quorum.fetch.snapshot.max.bytes"
    )
    """Most bytes of a snapshot in one answer (KIP-630, KIP-1219); default: 8 MiB."""
    record_bytes: SettingFromOne | None = Field(
        None, alias="metadata.log.max.record.bytes.between.snapshots"
    )
    """A snapshot is taken when so many bytes of records are committed since the last one."""
    snapshot_interval_ms: Setting | None = Field(
        None, alias="metadata.log.max.snapshot.interval.ms"
    )
    """A snapshot is taken when a record is newer than the last one for so many ms; 0 = never."""
    metadata_retention_bytes: Bound | None = Field(None, alias="metadata.max.retention.bytes")
    """Old snapshots go, with the log before the next one, while all is larger than this."""
    metadata_retention_ms: Bound | None = Field(None, alias="metadata.max.retention.ms")
    """Old snapshots go, with the log before the next one, when they are older than this."""
    start_offset_lag_ms: Setting | None = Field(None, alias="metadata.start.offset.lag.time.max.ms")
    """`prefix_gate: all_live_or_timeout`: so long deletion waits for replicas (KIP-630, drafts)."""
    strategy_names: Literal["reserved", "header_keys"] = "reserved"
    """What a strategy's name may be: one of a few, or, as in drafts of KIP-280, a header's key."""
    software: Release | None = None
    """What the brokers run: the release before KIP-87, or the one with it."""
    protocol_version: Release | None = Field(None, alias="inter.broker.protocol.version")
    """In which version followers fetch (KIP-87); default: as new as the software."""
    message_format_version: Release | None = Field(None, alias="log.message.format.version")
    """In which format leaders store what producers send (KIP-87); default: as the software."""
    backoff_ms: Period | None = Field(None, alias="log.cleaner.backoff.ms")
    """Pause of a cleaner that found nothing to do, in ms, for replicas without one of their own."""
    dedupe_buffer_bytes: SettingFromOne | None = Field(None, alias="log.cleaner.dedupe.buffer.size")
    """Memory of a cleaner's offset map in bytes: 24 a key, 32 where it keeps versions (KIP-280)."""
    dedupe_load_factor: Share | None = Field(None, alias="log.cleaner.io.buffer.load.factor")
    """Share of the offset map's memory that is used."""
    producer_expiration_ms: SettingFromOne | None = Field(None, alias="producer.id.expiration.ms")
    """A producer that is silent for so many ms is forgotten, and its last batch may go."""
    replica_fetch_max_bytes: Size | None = Field(None, alias="replica.fetch.max.bytes")
    """Most bytes a follower copies at once, its first batch whatever its size."""
    flush_messages: SettingFromOne | None = Field(None, alias="log.flush.interval.messages")
    flush_ms: SettingFromOne | None = Field(None, alias="log.flush.interval.ms")
    compaction_strategy: StrategyName | None = Field(None, alias="log.cleaner.compaction.strategy")
    compaction_strategy_header: Name | None = Field(
        None, alias="log.cleaner.compaction.strategy.header"
    )
    delete_retention_ms: Setting | None = Field(None, alias="log.cleaner.delete.retention.ms")
    index_interval_bytes: Count | None = Field(None, alias="log.index.interval.bytes")
    max_compaction_lag_ms: SettingFromOne | None = Field(
        None, alias="log.cleaner.max.compaction.lag.ms"
    )
    min_cleanable_dirty_ratio: Share | None = Field(None, alias="log.cleaner.min.cleanable.ratio")
    min_compaction_lag_ms: Setting | None = Field(None, alias="log.cleaner.min.compaction.lag.ms")


_AS_RULES = {
    "compaction_strategy": "strategy",
    "compaction_strategy_header": "strategy_header",
    "delete_retention_ms": "delete_retention_ms",
    "index_interval_bytes": "index_interval_bytes",
    "min_insync_replicas": "min_isr",
    "start_offset_lag_ms": "start_offset_lag_ms",
    "unclean_leader_election": "unclean_election",
}
"""Settings that are rules, too: field of the settings -> name of the rule."""

_AS_TOPIC = (
    "dedupe_buffer_bytes",
    "dedupe_load_factor",
    "flush_messages",
    "flush_ms",
    "max_compaction_lag_ms",
    "max_message_bytes",
    "min_cleanable_dirty_ratio",
    "min_compaction_lag_ms",
    "producer_expiration_ms",
    "replica_fetch_max_bytes",
    "retention_bytes",
    "retention_ms",
    "segment_bytes",
    "segment_ms",
    "timestamp_difference_max_ms",
)

_ALWAYS = frozenset(
    {"dedupe_load_factor", "min_cleanable_dirty_ratio", "min_compaction_lag_ms", "segment_bytes"}
)
"""Of those the ones that a topic always has: null says nothing of them."""

_AS_SNAPSHOTS = {
    "fetch_snapshot_bytes": "chunk_bytes",
    "record_bytes": "record_bytes",
    "snapshot_interval_ms": "interval_ms",
    "metadata_retention_bytes": "retention_bytes",
    "metadata_retention_ms": "retention_ms",
}
"""Settings of snapshots: field of the broker's settings -> field of `SnapshotSettings`."""


def settings_as_rules(settings: TopicSettings | BrokerSettings) -> dict[str, str | int]:
    """The rules that the settings give, by name of the rule."""
    found = {rule: getattr(settings, name, None) for name, rule in _AS_RULES.items()}
    policy = getattr(settings, "cleanup_policy", "compact")
    if "snapshot" in policy:
        found["cleanup"] = "compact_and_snapshot" if "compact" in policy else "snapshot"
    return {rule: value for rule, value in found.items() if value is not None}


def setting_of_rule(rule: str) -> str:
    """Kafka's name of the topic setting that says the same as `rule`."""
    names = {rule: name for name, rule in _AS_RULES.items()} | {"cleanup": "cleanup_policy"}
    name = names[rule]
    return TopicSettings.model_fields[name].alias or name


def topic_of(topic: TopicSettings, broker: BrokerSettings) -> Topic:
    """What the topic says, else the broker, else the defaults.

    A setting that `topic` gives as null means no bound, whatever the broker says, where a topic can
    do without one.
    """
    values: dict[str, Any] = {}
    for name in _AS_TOPIC:
        for settings in (topic, broker):
            given = getattr(settings, name, None)
            if name in settings.model_fields_set and not (given is None and name in _ALWAYS):
                values[name] = given
                break
    policy = topic.cleanup_policy
    return Topic(**values, deletes="delete" in policy, compacts=policy != "delete")


def lags_at_odds(
    topic: TopicSettings, broker: BrokerSettings
) -> tuple[tuple[str, str], str] | None:
    """(place, what is wrong) where the maximum lag that counts is below the minimum.

    Whoever is nearer to the topic is blamed, of two in the same place the maximum.
    """
    known = topic_of(topic, broker)
    least, most = known.min_compaction_lag_ms, known.max_compaction_lag_ms
    if most is None or most >= least:
        return None
    section = {
        name: "topic" if name in topic.model_fields_set else "broker"
        for name in ("max_compaction_lag_ms", "min_compaction_lag_ms")
    }
    fields = {"topic": TopicSettings.model_fields, "broker": BrokerSettings.model_fields}
    names = {name: fields[of][name].alias or name for name, of in section.items()}
    highest, lowest = section
    if section[highest] == "broker" and section[lowest] == "topic":
        text = f"{least} is above broker.{names[highest]}, {most}"
        return ("topic", names[lowest]), text
    beside = "" if section[highest] == section[lowest] else "broker."
    return (section[highest], names[highest]), f"{most} is below {beside}{names[lowest]}, {least}"


def snapshots_of(broker: BrokerSettings, *, policy: str) -> SnapshotSettings:
    """How replicas take, keep and fetch snapshots.

    With `snapshot` in the topic's cleanup `policy`, what the broker does not say is Kafka's
    default; otherwise none is taken that no setting asks for.
    """
    asked = "snapshot" in policy
    defaults: dict[str, int | None] = {
        "record_bytes": RECORD_BYTES if asked else None,
        "interval_ms": INTERVAL_MS if asked else None,
        "retention_bytes": RETENTION_BYTES if asked else None,
        "retention_ms": RETENTION_MS if asked else None,
        "chunk_bytes": FETCH_SNAPSHOT_BYTES,
    }
    given: dict[str, int | None] = {
        name: getattr(broker, setting) for setting, name in _AS_SNAPSHOTS.items()
    }
    values = {name: defaults[name] if value is None else value for name, value in given.items()}
    if values["interval_ms"] == 0:
        values["interval_ms"] = None
    for name in ("retention_bytes", "retention_ms"):
        if values[name] == -1:
            values[name] = NEVER_REACHED
    return SnapshotSettings(**values)  # type: ignore[arg-type]


def settings_of_topic(topic: Topic) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of the topic differs from the defaults, by Kafka's names: in `topic`, and in `broker`.

    The latter are those that Kafka has for brokers alone. What is a rule, too, is left to `rules`.
    """
    standard = Topic()
    of_topic: dict[str, Any] = {}
    of_broker: dict[str, Any] = {}
    policy = "compact,delete" if topic.compacts else "delete"
    if topic.deletes or not topic.compacts:
        of_topic["cleanup.policy"] = policy
    for name in _AS_TOPIC:
        value = getattr(topic, name)
        if value != getattr(standard, name):
            section = of_topic if name in TopicSettings.model_fields else of_broker
            section[_kafka_name(name)] = value
    return of_topic, of_broker


def settings_of_snapshots(snapshots: SnapshotSettings) -> dict[str, int]:
    """What of the settings of snapshots differs from the defaults, as `broker` has it."""
    standard = SnapshotSettings()
    found: dict[str, int] = {}
    for setting, name in _AS_SNAPSHOTS.items():
        value = getattr(snapshots, name)
        if value is not None and value != getattr(standard, name):
            no_bound = value == NEVER_REACHED and name.startswith("retention")
            found[_kafka_name(setting)] = -1 if no_bound else value
    return found


def kafka_settings(
    rules: Rules,
    topic: Topic | None = None,
    snapshots: SnapshotSettings | None = None,
    *,
    takes_snapshots: bool,
) -> dict[str, RuleValue | float | None]:
    """All settings by Kafka's names, whoever gave them; None = no bound.

    `topic` and `snapshots` are None for a story, which has those settings alone that are rules.
    """
    given = rules.as_dict()
    policy = _policy_of(rules, topic, takes_snapshots=takes_snapshots)
    found: dict[str, RuleValue | float | None] = {"cleanup.policy": policy}
    found |= {_kafka_name(name): given[rule] for name, rule in _AS_RULES.items()}
    if topic is not None:
        found |= {_kafka_name(name): getattr(topic, name) for name in _AS_TOPIC}
    if snapshots is not None:
        found |= {_kafka_name(name): getattr(snapshots, of) for name, of in _AS_SNAPSHOTS.items()}
    return found


def _policy_of(rules: Rules, topic: Topic | None, *, takes_snapshots: bool) -> str:
    """What `cleanup.policy` comes to."""
    if topic is not None and not topic.compacts:
        return "delete"
    cleanup = rules.cleaner.cleanup
    parts = {
        "compact": cleanup != "snapshot",
        "delete": topic is not None and topic.deletes,
        "snapshot": cleanup == "snapshot" or (takes_snapshots and cleanup != "compact"),
    }
    return ",".join(part for part, asked in parts.items() if asked)


def _kafka_name(name: str) -> str:
    """Kafka's name of a field, that of the topic's setting where there are two."""
    fields = TopicSettings.model_fields
    return (fields if name in fields else BrokerSettings.model_fields)[name].alias or name


def conflicts(rules: Mapping[str, object], topic: TopicSettings) -> list[tuple[str, str]]:
    """(setting, what is wrong) for each thing given in `rules` and in `topic` with two values."""
    found = []
    for rule, value in settings_as_rules(topic).items():
        if rule in rules and str(rules[rule]) != str(value):
            setting = setting_of_rule(rule)
            found.append((setting, f"{value} here, but rules.{rule} is {rules[rule]}"))
    if rules.get("cleanup") == "snapshot" and takes_no_snapshots(topic):
        text = f"{topic.cleanup_policy} here, but rules.cleanup is snapshot"
        found.append((setting_of_rule("cleanup"), text))
    return found


def takes_no_snapshots(topic: TopicSettings) -> bool:
    """The topic names its cleanup policy, and snapshots are no part of it."""
    return "cleanup_policy" in topic.model_fields_set and "snapshot" not in topic.cleanup_policy


def nameless_header(
    rules: Mapping[str, object], topic: TopicSettings, broker: BrokerSettings
) -> list[tuple[tuple[str, str], str]]:
    """(place, what is wrong) where settings ask for a header and do not say which.

    The fork refuses that (LogConfig.validateValues in 4e9967880). The short form, `rules.strategy`,
    reads the header of `rules.strategy_header`, which has a default.
    """
    sections = (("topic", topic), ("broker", broker))
    found = [
        ((section, alias_of(settings, "compaction_strategy_header")), "is blank")
        for section, settings in sections
        if (settings.compaction_strategy_header or "x").isspace()
    ]
    given = [one.compaction_strategy_header for _, one in sections]
    if any(given) or "strategy" in rules or "strategy_header" in rules:
        return found
    asking = [one for one in sections if one[1].compaction_strategy is not None]
    for section, settings in asking[:1]:
        if settings.compaction_strategy == "header":
            header = alias_of(settings, "compaction_strategy_header")
            text = f"header needs {header}, the name of the header to read"
            found.append(((section, alias_of(settings, "compaction_strategy")), text))
    return found


def alias_of(settings: TopicSettings | BrokerSettings, field: str) -> str:
    """Kafka's name of a field."""
    return type(settings).model_fields[field].alias or field

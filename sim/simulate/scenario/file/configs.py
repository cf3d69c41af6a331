"""Topic and broker settings under Kafka's own names, as in `kafka-configs --describe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import Field, WithJsonSchema, create_model

from sim.errors import did_you_mean
from sim.files.attribute_docs import attribute_docs
from sim.files.bounds import Count, Must, Name, Period, Setting, Size
from sim.files.document import Report
from sim.files.limits import LONG
from sim.protocol.compaction import STRATEGIES
from sim.protocol.rules import Rules, RuleValue
from sim.simulate.scenario.file import as_printed
from sim.simulate.scenario.file.as_printed import AsPrinted
from sim.simulate.scenario.model import (
    KAFKA_SNAPSHOTS,
    InKafka,
    SnapshotSettings,
    Topic,
)

NEVER_REACHED = LONG
"""The retention of snapshots that -1 means: no old snapshot is deleted."""

Release = Literal["0.10.1", "0.10.2"]
"""The releases before and with KIP-87 (`sim.protocol.log.formats`)."""


StrategyName = Annotated[
    str, WithJsonSchema({"anyOf": [{"enum": [*STRATEGIES, ""]}, {"type": "string"}]})
]
"""Name of a strategy, checked by `with_known_strategy`, since plugins may add strategies."""


class TopicSettings(AsPrinted):
    """Section `topic`; missing settings come from `broker`, then from the defaults.

    Timed scenarios and log files read Kafka's settings by this class; each kind of file uses some
    of them.
    """

    cleanup_policy: Literal[
        "compact",
        "compact,delete",
        "delete,compact",
        "delete",
        "snapshot",
        "compact,snapshot",
        "snapshot,compact",
        "delete,snapshot",
        "snapshot,delete",
    ] = Field("compact", alias="cleanup.policy")
    """`compact`: by key; `delete`: old segments go, by age and size; `snapshot`: as in KIP-630."""
    compaction_strategy: StrategyName | None = Field(None, alias="compaction.strategy")
    """KIP-280, in any case; empty = offset, whatever the broker says. Short: `rules.strategy`."""
    compaction_strategy_header: Name | None = Field(None, alias="compaction.strategy.header")
    """KIP-280: the header that the header strategy reads."""
    delete_retention_ms: Setting | None = Field(None, alias="delete.retention.ms")
    """Time in ms that a tombstone stays at least; `rules.delete_retention_ms` is its short form."""
    index_interval_bytes: Count | None = Field(None, alias="index.interval.bytes")
    """Bytes of a segment between two entries of its offset index: where a cleaner starts to read.

    `rules.index_interval_bytes` is its short form.
    """
    min_insync_replicas: Size | None = Field(None, alias="min.insync.replicas")
    """Smallest in-sync set that commits; `rules.min_isr` is its short form."""
    unclean_leader_election: bool | None = Field(None, alias="unclean.leader.election.enable")
    """True if any live replica may lead when none may cleanly; `rules.unclean_election`."""


_IsOn = Annotated[
    bool,
    Must(lambda on: None if on else "brokers here have a cleaner; allowed: true", enum=[True]),
]


class BrokerSettings(AsPrinted):
    """Section `broker`: the software of brokers, and defaults for `topic`."""

    start_offset_lag_ms: Setting | None = Field(None, alias="metadata.start.offset.lag.time.max.ms")
    """Wait of deletion in ms under `prefix_gate: all_live_or_timeout` (KIP-630, drafts)."""
    strategy_names: Literal["reserved", "header_keys"] = "reserved"
    """Allowed names of strategies: known ones, or also a header's key, as in drafts of KIP-280."""
    software: Release | None = None
    """Software of the brokers: the release before KIP-87, or the one with it."""
    protocol_version: Release | None = Field(None, alias="inter.broker.protocol.version")
    """Version in which followers fetch (KIP-87); default: that of the software."""
    message_format_version: Release | None = Field(None, alias="log.message.format.version")
    """Format in which leaders store records (KIP-87); default: that of the software."""
    cleaner_enable: _IsOn | None = Field(None, alias="log.cleaner.enable")
    """Brokers here have a cleaner; a replica without one says `cleaner_backoff_ms: null`."""
    backoff_ms: Period | None = Field(None, alias="log.cleaner.backoff.ms")
    """Pause of a cleaner that found nothing to do, in ms, for replicas without one of their own."""
    compaction_strategy: StrategyName | None = Field(None, alias="log.cleaner.compaction.strategy")
    compaction_strategy_header: Name | None = Field(
        None, alias="log.cleaner.compaction.strategy.header"
    )
    delete_retention_ms: Setting | None = Field(None, alias="log.cleaner.delete.retention.ms")
    index_interval_bytes: Count | None = Field(None, alias="log.index.interval.bytes")
    min_insync_replicas: Size | None = Field(None, alias="min.insync.replicas")
    unclean_leader_election: bool | None = Field(None, alias="unclean.leader.election.enable")


AnySettings = TypeVar("AnySettings", TopicSettings, BrokerSettings)

_AS_RULES = {
    "compaction_strategy": "strategy",
    "compaction_strategy_header": "strategy_header",
    "delete_retention_ms": "delete_retention_ms",
    "index_interval_bytes": "index_interval_bytes",
    "min_insync_replicas": "min_isr",
    "start_offset_lag_ms": "start_offset_lag_ms",
    "unclean_leader_election": "unclean_election",
}
"""Name of the rule that a setting gives, by the field of the setting."""


def _in_kafka(kind: type) -> dict[str, InKafka]:
    """Names in Kafka of the fields of a dataclass that have some, by field."""
    found: dict[str, InKafka] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        given = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, InKafka)]
        names = given[0] if given else InKafka()
        topic = name.replace("_", ".") if names.topic is None else names.topic
        if topic or names.broker:
            found[name] = names._replace(topic=topic)
    return found


_AS_TOPIC = tuple(_in_kafka(Topic))
_ALWAYS = frozenset(
    name for name, hint in get_type_hints(Topic).items() if NoneType not in get_args(hint)
)
"""Settings that a topic always has; null means that they are not given."""

_AS_SNAPSHOTS = {f"snapshot_{name}": name for name in _in_kafka(SnapshotSettings)}
"""Field of `SnapshotSettings`, by the field of the broker's settings."""


def _given_in(section: str, kind: type, prefix: str = "") -> dict[str, Any]:
    """Fields of a section of a file for those settings of a dataclass that the section may have."""
    hints, means = get_type_hints(kind, include_extras=True), attribute_docs(kind)
    found: dict[str, Any] = {}
    for name, known_as in _in_kafka(kind).items():
        if alias := getattr(known_as, section):
            field = Field(None, alias=alias, description=means[name])
            found[prefix + name] = ((known_as.takes or hints[name]) | None, field)
    return found


if not TYPE_CHECKING:
    TopicSettings = create_model(
        "TopicSettings",
        __base__=TopicSettings,
        __doc__=TopicSettings.__doc__,
        **_given_in("topic", Topic),
        **as_printed.fields_of(as_printed.OF_TOPICS),
    )
    BrokerSettings = create_model(
        "BrokerSettings",
        __base__=BrokerSettings,
        __doc__=BrokerSettings.__doc__,
        **_given_in("broker", SnapshotSettings, "snapshot_"),
        **_given_in("broker", Topic),
        **as_printed.fields_of(as_printed.OF_BROKERS),
    )


def with_known_strategy(
    settings: AnySettings, section: str, *, by_key: bool, report: Report
) -> AnySettings:
    """The settings of one section of a file, with its strategy by a name that exists.

    Null means that the setting is not given. Empty means offset, for a topic and for a broker
    (KIP-280, Public Interfaces). The case does not matter: apache/kafka PR 7528,
    SkimpyOffsetMap.init. An unknown name means offset there; it is refused here, as in the
    successor of that code.

    Args:
        settings: The settings.
        section: Name of the section.
        by_key: Whether an unknown name, or `header`, names the header that the header strategy
            reads, as in drafts of KIP-280 (`broker.strategy_names: header_keys`).
        report: Takes an unknown strategy, or a contradiction.
    """
    given = settings.compaction_strategy
    if given is None:
        return settings
    changed: dict[str, Any] = {}
    name = next((name for name in (given, given.strip().lower()) if name in STRATEGIES), None)
    if not given.strip():
        changed = {"compaction_strategy": "offset"}
    elif by_key and name in (None, "header"):
        header = settings.compaction_strategy_header
        if header is not None:
            text = f"{given!r} is the key of a header already, so {header!r} cannot be another one"
            report((section, alias_of(settings, "compaction_strategy_header")), text)
        changed = {"compaction_strategy": "header", "compaction_strategy_header": given}
    elif name is None:
        allowed = f"{', '.join(STRATEGIES)}, or nothing, which is offset"
        text = f"unknown value {given!r}{did_you_mean(given, STRATEGIES)}; allowed: {allowed}"
        report((section, alias_of(settings, "compaction_strategy")), text)
        changed = {"compaction_strategy": None}
    elif name != given:
        changed = {"compaction_strategy": name}
    return settings.model_copy(update=changed) if changed else settings


def unread(settings: TopicSettings | BrokerSettings) -> list[str]:
    """Kafka's names of those given settings that timed scenarios ignore."""
    idle = (*as_printed.OF_TOPICS, *as_printed.OF_BROKERS, "log.cleaner.enable")
    given = [name for name in type(settings).model_fields if name in settings.model_fields_set]
    return [name for name in (alias_of(settings, one) for one in given) if name in idle]


def settings_as_rules(settings: TopicSettings | BrokerSettings) -> dict[str, str | int]:
    """Rules that the settings give, by name."""
    found = {rule: getattr(settings, name, None) for name, rule in _AS_RULES.items()}
    policy = getattr(settings, "cleanup_policy", "compact")
    if "snapshot" in policy:
        found["cleanup"] = "compact_and_snapshot" if "compact" in policy else "snapshot"
    return {rule: value for rule, value in found.items() if value is not None}


def topic_of(topic: TopicSettings, broker: BrokerSettings) -> Topic:
    """Settings of a topic, from `topic`, else from the broker, else the defaults.

    Null in `topic` means no bound, also where the broker has one, if a topic can do without it.
    """
    values: dict[str, Any] = {}
    for name in _AS_TOPIC:
        for settings in (topic, broker):
            given = getattr(settings, name, None)
            if name in settings.model_fields_set and not (given is None and name in _ALWAYS):
                values[name] = None if given == -1 else given
                break
    policy = topic.cleanup_policy
    return Topic(**values, deletes="delete" in policy, compacts=policy != "delete")


def report_lags(topic: TopicSettings, broker: BrokerSettings, report: Report) -> None:
    """Reports a maximum lag in force that is below the minimum.

    The place is that of the setting nearer to the topic; of two in the same section the maximum.
    """
    known = topic_of(topic, broker)
    least, most = known.min_compaction_lag_ms, known.max_compaction_lag_ms
    if most is None or most >= least:
        return
    highest, lowest = [
        ("topic", alias_of(topic, name))
        if name in topic.model_fields_set
        else ("broker", alias_of(broker, name))
        for name in ("max_compaction_lag_ms", "min_compaction_lag_ms")
    ]
    if highest[0] == "broker" and lowest[0] == "topic":
        report(lowest, f"{least} is above broker.{highest[1]}, {most}")
    else:
        beside = "" if highest[0] == lowest[0] else "broker."
        report(highest, f"{most} is below {beside}{lowest[1]}, {least}")


def snapshots_of(broker: BrokerSettings, *, policy: str) -> SnapshotSettings:
    """Snapshots: how replicas take, keep and fetch them.

    With `snapshot` in the topic's cleanup `policy` missing settings are Kafka's defaults; without
    it snapshots are taken only by the settings that are given. Null switches a setting off, but
    gives `chunk_bytes` its default.
    """
    values: dict[str, Any] = {}
    for setting, name in _AS_SNAPSHOTS.items():
        value = getattr(broker, setting)
        if value is not None or (setting in broker.model_fields_set and name != "chunk_bytes"):
            values[name] = NEVER_REACHED if value == -1 else value
    if values.get("interval_ms") == 0:
        values["interval_ms"] = None
    return replace(_snapshot_defaults(policy), **values)


def _snapshot_defaults(policy: str) -> SnapshotSettings:
    """Defaults under a cleanup policy."""
    return KAFKA_SNAPSHOTS if "snapshot" in policy else SnapshotSettings()


def settings_of_topic(topic: Topic, rules: Rules) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sections `topic` and `broker` with the settings of a topic that differ from the defaults.

    In `broker` are those that Kafka has for brokers alone. Settings that are rules are left out.
    """
    standard = Topic()
    of_topic: dict[str, Any] = {}
    of_broker: dict[str, Any] = {}
    if topic.deletes or not topic.compacts:
        of_topic["cleanup.policy"] = _policy_of(rules, topic, takes_snapshots=False)
    for name in _AS_TOPIC:
        value = getattr(topic, name)
        if value != getattr(standard, name):
            section = of_topic if name in TopicSettings.model_fields else of_broker
            section[_kafka_name(name)] = value
    return of_topic, of_broker


def settings_of_snapshots(snapshots: SnapshotSettings, *, policy: str) -> dict[str, int | None]:
    """Settings of snapshots that differ from the defaults, by their names in `broker`."""
    standard = _snapshot_defaults(policy)
    found: dict[str, int | None] = {}
    for setting, name in _AS_SNAPSHOTS.items():
        value = getattr(snapshots, name)
        if value != getattr(standard, name):
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
    """All settings by Kafka's names, whether they are rules or not; None: no bound.

    `topic` and `snapshots` are None for a story, whose only settings are rules. `takes_snapshots`
    says whether the run takes any, which the rule `cleanup: compact_and_snapshot` leaves open.
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
    """Value of `cleanup.policy` under these rules and settings."""
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
    """Kafka's name of a field; where there are two, that of the topic's setting."""
    of_topic = TopicSettings.model_fields
    return (of_topic if name in of_topic else BrokerSettings.model_fields)[name].alias or name


def report_at_odds(
    rules: Mapping[str, object],
    topic: TopicSettings,
    given: Mapping[str, object],
    names: Mapping[str, str],
    report: Report,
) -> None:
    """Reports settings with another value in `topic` than in `rules`.

    Args:
        rules: The file's `rules`.
        topic: Its `topic`.
        given: The rules that `topic` gives, by name.
        names: Name of the rule, by the field of the setting.
        report: Takes the place of a setting, and the problem.
    """
    for name, rule in names.items():
        if rule in rules and rule in given and str(rules[rule]) != str(given[rule]):
            text = f"{given[rule]} here, but rules.{rule} is {rules[rule]}"
            report(("topic", alias_of(topic, name)), text)


def report_conflicts(rules: Mapping[str, object], topic: TopicSettings, report: Report) -> None:
    """Reports settings in `topic` that contradict `rules`."""
    names = {**_AS_RULES, "cleanup_policy": "cleanup"}
    report_at_odds(rules, topic, settings_as_rules(topic), names, report)
    if rules.get("cleanup") == "snapshot" and takes_no_snapshots(topic):
        text = f"{topic.cleanup_policy} here, but rules.cleanup is snapshot"
        report(("topic", "cleanup.policy"), text)


def takes_no_snapshots(topic: TopicSettings) -> bool:
    """True when the topic gives a cleanup policy without snapshots."""
    return "cleanup_policy" in topic.model_fields_set and "snapshot" not in topic.cleanup_policy


def report_nameless_header(
    rules: Mapping[str, object], topic: TopicSettings, broker: BrokerSettings, report: Report
) -> None:
    """Reports a blank name of a header, and settings that ask for the header strategy without one.

    microsoft/kafka PR 45 refuses the latter (LogConfig.validateValues in 4e9967880). The short
    form, `rules.strategy`, reads the header `rules.strategy_header`, which has a default.
    """
    sections = (("topic", topic), ("broker", broker))
    for section, settings in sections:
        if (settings.compaction_strategy_header or "x").isspace():
            report((section, alias_of(settings, "compaction_strategy_header")), "is blank")
    given = [one.compaction_strategy_header for _, one in sections]
    if any(given) or "strategy" in rules or "strategy_header" in rules:
        return
    asking = [one for one in sections if one[1].compaction_strategy is not None]
    for section, settings in asking[:1]:
        if settings.compaction_strategy == "header":
            header = alias_of(settings, "compaction_strategy_header")
            text = f"header needs {header}, the name of the header to read"
            report((section, alias_of(settings, "compaction_strategy")), text)


def alias_of(settings: TopicSettings | BrokerSettings, field: str) -> str:
    """Kafka's name of a field."""
    return type(settings).model_fields[field].alias or field

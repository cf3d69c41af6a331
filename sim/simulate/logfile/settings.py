"""Settings of Kafka's in a log file: `topic`, and for `eligible` also `broker`.

They are read as in a timed scenario (`sim.simulate.scenario.file.configs`). A setting that a log's
own `topic` does not give is taken from the file's `topic`, else from its `broker`, else from
Kafka's defaults. A maximum lag of null means no bound, on any level (LogConfig, CleanerConfig). A
note names the settings that change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from sim.files.document import Complaints, Location, Place
from sim.files.models import shaped
from sim.protocol.compaction.eligibility import EligibilityConfig, LagEstimate
from sim.simulate.logfile.rules import LogRules, TopicOfLog, rules_at
from sim.simulate.logfile.steps import Append, Clean, Step
from sim.simulate.scenario.derived import unread_notes
from sim.simulate.scenario.file.configs import (
    BrokerSettings,
    TopicSettings,
    alias_of,
    report_at_odds,
    report_nameless_header,
    with_known_strategy,
)

Settings = TopicSettings | BrokerSettings

MIN_LAG, MAX_LAG = "min_compaction_lag_ms", "max_compaction_lag_ms"
WHEN = ("min_cleanable_dirty_ratio", MIN_LAG, MAX_LAG, "segment_ms")
"""Settings that decide when a log is cleaned, by the names that `EligibilityConfig` has."""
POLICY = "cleanup_policy"
AS_RULES = {
    "compaction_strategy": "strategy",
    "compaction_strategy_header": "header_key",
    "delete_retention_ms": "delete_retention_ms",
    "index_interval_bytes": "index_interval_bytes",
    "segment_bytes": "segment_bytes",
}
"""Settings of a topic that are rules of a log file as well: field -> name of the rule."""

_TOPIC, _BROKER = TypeAdapter(TopicSettings), TypeAdapter(BrokerSettings)
_ASKED = "only a `clean` without bounds asks for it, and no step is one"


class SettingsLevel(NamedTuple):
    """Settings of one object in a file: of a log, of its topic, or of the broker.

    Attributes:
        settings: The settings.
        place: Place of the object, for errors.
    """

    settings: Settings
    place: Place

    @property
    def given(self) -> dict[str, Any]:
        """Given settings that decide when to clean; a null counts for a maximum lag alone."""
        of, said = self.settings, self.settings.model_fields_set
        values = {name: getattr(of, name) for name in WHEN if name in said}
        return {n: value for n, value in values.items() if value is not None or n == MAX_LAG}

    def name(self, setting: str) -> Place:
        """Place of a setting, for errors."""
        return self.place.at(alias_of(self.settings, setting))

    def unread(self, read: Collection[str]) -> list[str]:
        """Paths of the settings that are given and not among `read`, for a note."""
        said = self.settings.model_fields_set - set(read)
        ordered = (name for name in type(self.settings).model_fields if name in said)
        return [f"{self.place.path}.{alias_of(self.settings, name)}" for name in ordered]


def topic_at(value: object, place: Place) -> SettingsLevel:
    """The settings of a topic at `place`; None stands for an object without settings.

    Raises:
        BadInput: Kafka has no such setting, or the setting no such value.
    """
    settings = TopicSettings() if value is None else shaped(value, place, _TOPIC)
    if "snapshot" in settings.cleanup_policy:
        text = "a log file has no snapshots; allowed: compact, compact,delete, delete"
        place.at("cleanup.policy").fail(text)
    return SettingsLevel(settings, place)


def broker_at(value: object, place: Place) -> SettingsLevel:
    """The settings of a broker at `place`, as `topic_at` reads those of a topic."""
    settings = BrokerSettings() if value is None else shaped(value, place, _BROKER)
    return SettingsLevel(settings, place)


def config_of(levels: Sequence[SettingsLevel], estimate: LagEstimate) -> EligibilityConfig:
    """Settings that apply to one log; the first of `levels` that gives a setting counts.

    Raises:
        BadInput: The minimum lag is above the maximum; the place is that of the nearer level.
    """
    by = {setting: level for level in reversed(levels) for setting in level.given}
    given = {setting: level.given[setting] for setting, level in by.items()}
    least, most = given.get(MIN_LAG, 0), given.get(MAX_LAG)
    if most is not None and least > most:
        nearest, other = sorted((MIN_LAG, MAX_LAG), key=lambda one: levels.index(by[one]))
        where = by[other].name(other)
        beside = alias_of(by[other].settings, other) if by[other] is by[nearest] else where.path
        above = "above" if nearest == MIN_LAG else "below"
        text = f"{given[nearest]} is {above} {beside}, {given[other]}"
        by[nearest].name(nearest).fail(text)
    return EligibilityConfig(lag_estimate=estimate, **given)


def compacts(levels: Iterable[SettingsLevel]) -> bool:
    """True for a log that is compacted; the first of `levels` that gives a policy counts."""
    said = (
        getattr(one.settings, POLICY) for one in levels if POLICY in one.settings.model_fields_set
    )
    return bool(next(said, "compact") != "delete")


class LogSettings(NamedTuple):
    """The `topic` settings of a log file with steps, as rules and as other decisions.

    Attributes:
        level: The settings.
        rules: The rules of the file, with those that the settings give.
        topic: Decisions of the settings that are no rules.
    """

    level: SettingsLevel
    rules: LogRules
    topic: TopicOfLog

    @classmethod
    def read(cls, value: object, place: Place, rules: LogRules) -> LogSettings:
        """Reads the settings at `place`, with the `rules` of the file.

        Only settings that are given make an append roll the log (LogConfig.maxSegmentMs,
        LogSegment.shouldRoll): Kafka's defaults do not. The maximum lag does so for a compacted
        topic alone.

        Raises:
            BadInput: Kafka has no such setting or value; a setting contradicts a rule or another
                setting; a strategy is not known, or needs a header that is not named.
        """
        level = topic_at(value, place)
        values = {"preset": rules.preset, **_rules_by(level, rules.given), **rules.given}
        compacted, given = compacts([level]), level.given
        limits = (given.get("segment_ms"), given.get(MAX_LAG) if compacted else None)
        topic = TopicOfLog(
            config_of([level], "first_timestamp"),
            compacted,
            min([ms for ms in limits if ms is not None], default=None),
            getattr(level.settings, "segment_bytes", None),
        )
        return cls(level, rules_at(values, place), topic)

    def notes(self, steps: Sequence[Step], strategy: str) -> tuple[str, ...]:
        """Notes about settings that change nothing with these steps and this strategy."""
        settings = self.level.settings
        notes = unread_notes(self.level.unread({*AS_RULES, *WHEN, POLICY}))
        asked = any(isinstance(one, Clean) and one.upper_bound is None for one in steps)
        idle = set() if asked else {*WHEN}
        if any(isinstance(one, Append) for one in steps):  # which may roll the log
            idle -= {"segment_ms", *([MAX_LAG] if self.topic.compacts else [])}
        said = [alias_of(settings, name) for name in WHEN if name in {*self.level.given} & idle]
        if said:
            several = "change" if len(said) > 1 else "changes"
            notes.append(f"{', '.join(said)} {several} nothing: {_ASKED}")
        if getattr(settings, "compaction_strategy_header", None) and strategy != "header":
            why = f"the strategy is {strategy}, not header"
            notes.append(f"compaction.strategy.header changes nothing: {why}")
        return tuple(notes)


def _rules_by(topic: SettingsLevel, rules: Mapping[str, object]) -> dict[str, object]:
    """The rules that a topic's settings give, by their names in log files.

    `rules` are those of the file, which the settings may repeat and not contradict.
    """
    document, wrong = topic.place.document, Complaints()

    def report(location: Location, text: str) -> None:
        wrong.add(document.problem(location, text))

    assert isinstance(topic.settings, TopicSettings)
    settings = with_known_strategy(topic.settings, "topic", by_key=False, report=report)
    found = {rule: getattr(settings, field) for field, rule in AS_RULES.items()}
    found = {rule: value for rule, value in found.items() if value is not None}
    report_at_odds(rules, settings, found, AS_RULES, report)
    known = rules if "header_key" not in rules else {**rules, "strategy_header": ""}
    report_nameless_header(known, settings, BrokerSettings(), report)
    wrong.end()
    return found


def notes_of_choice(levels: Sequence[SettingsLevel], estimate: LagEstimate) -> tuple[str, ...]:
    """Notes about settings that change nothing in a file with logs to choose from.

    `segment.ms` counts with `lag_estimate: largest_less_roll` alone.
    """
    read = {*WHEN, POLICY}
    if estimate != "largest_less_roll":
        read.remove("segment_ms")
    return tuple(unread_notes(name for level in levels for name in level.unread(read)))

"""When a log is cleaned, by the settings of its topic, of all topics of the file, or of the broker.

What the log's own `topic` does not say, the file's `topic` says, else the file's `broker`, else
Kafka's defaults. A maximum lag of null is no bound, whoever says it (LogConfig, CleanerConfig).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sim.compaction.eligibility import EligibilityConfig, LagEstimate
from sim.files.document import Place, shown
from sim.files.fields import Fields
from sim.files.rule_values import rule_problem
from sim.limits import CLEANER_THREADS
from sim.rules import Rules

RATIO, MIN_LAG, MAX_LAG, SEGMENT_MS = (
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "segment.ms",
)
OF_BROKER = {
    RATIO: "log.cleaner.min.cleanable.ratio",
    MIN_LAG: "log.cleaner.min.compaction.lag.ms",
    MAX_LAG: "log.cleaner.max.compaction.lag.ms",
    SEGMENT_MS: "log.roll.ms",
}
"""A topic's setting -> the broker's default for it."""

THREADS, IO_RATE, BACKOFF = (
    "log.cleaner.threads",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.backoff.ms",
)
"""Settings of the cleaner threads."""

POLICIES = ("compact", "compact,delete", "delete,compact")
ELSEWHERE = (
    "compression.type",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "index.interval.bytes",
    "max.message.bytes",
    "message.timestamp.type",
    "min.insync.replicas",
    "preallocate",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
)
"""Settings that may be pasted in with the others; they say nothing about when to clean."""

RULES = ("lag_estimate",)
"""Rules that may stand in a file with logs to choose from."""


class Settings(NamedTuple):
    """One object of settings.

    Attributes:
        fields: As given.
        names: A topic's setting -> its name there.
    """

    fields: Fields
    names: dict[str, str]

    def has(self, setting: str) -> bool:
        """Whether it says something, null for no maximum lag included."""
        name = self.names[setting]
        return name in self.fields.values and (setting == MAX_LAG or self.fields.has(name))

    def problem(self, setting: str, text: str) -> None:
        """Raise BadInput about one of them."""
        self.fields.fail(self.names[setting], text)


def topic_settings(value: Any, place: Place) -> Settings:
    """The settings of a topic, checked one by one.

    Raises:
        BadInput: Unknown setting, or a value that none can have.
    """
    names = {name: name for name in OF_BROKER}
    fields = Fields({} if value is None else value, place, (*names, "cleanup.policy", *ELSEWHERE))
    fields.choice("cleanup.policy", POLICIES)
    return _checked(Settings(fields, names))


def broker_settings(value: Any, place: Place) -> Settings:
    """The broker's defaults and its cleaner threads, checked one by one.

    Raises:
        BadInput: Unknown setting, or a value that none can have.
    """
    allowed = (*OF_BROKER.values(), THREADS, IO_RATE, BACKOFF)
    fields = Fields({} if value is None else value, place, allowed)
    fields.maybe_integer(THREADS, minimum=1, limit=CLEANER_THREADS)
    fields.maybe_integer(IO_RATE, minimum=1)
    fields.maybe_integer(BACKOFF, minimum=1)
    return _checked(Settings(fields, OF_BROKER))


def rules_of(values: Any, place: Place, *, base: Rules) -> Rules:
    """The rules at `place`, over `base`.

    Raises:
        BadInput: A rule that decides nothing here, or no value of it.
    """
    fields = Fields({} if values is None else values, place, RULES)
    given = {name: value for name, value in fields.values.items() if value is not None}
    for name, value in given.items():
        problem = rule_problem(name, value)
        if problem is not None:
            fields.fail(name, problem)
    return base.with_values(given)


def config_of(levels: Sequence[Settings], estimate: LagEstimate) -> EligibilityConfig:
    """What applies to one log; the first of `levels` that says something about a setting counts.

    Raises:
        BadInput: The minimum lag is above the maximum: said of the one that is nearer to the log.
    """
    by = {name: next((one for one in levels if one.has(name)), None) for name in OF_BROKER}
    default = EligibilityConfig()
    given = {
        name: None if one is None else one.fields.values[one.names[name]]
        for name, one in by.items()
    }
    least, most = given[MIN_LAG] or default.min_compaction_lag_ms, given[MAX_LAG]
    if most is not None and least > most:
        nearest = min((MIN_LAG, MAX_LAG), key=lambda name: _rank(levels, by[name]))
        other = MAX_LAG if nearest == MIN_LAG else MIN_LAG
        blamed, counterpart = by[nearest], by[other]
        assert blamed is not None  # it was given,
        assert counterpart is not None  # as was the other
        where = counterpart.fields.at(counterpart.names[other])
        beside = counterpart.names[other] if counterpart is blamed else where.path
        above = "above" if nearest == MIN_LAG else "below"
        blamed.problem(nearest, f"{given[nearest]} is {above} {beside}, {given[other]}")
    ratio = given[RATIO]
    return EligibilityConfig(
        min_cleanable_dirty_ratio=default.min_cleanable_dirty_ratio if ratio is None else ratio,
        min_compaction_lag_ms=least,
        max_compaction_lag_ms=most,
        lag_estimate=estimate,
        segment_ms=default.segment_ms if given[SEGMENT_MS] is None else given[SEGMENT_MS],
    )


def _rank(levels: Sequence[Settings], one: Settings | None) -> int:
    return len(levels) if one is None else list(levels).index(one)


def _checked(settings: Settings) -> Settings:
    fields, names = settings
    ratio = fields.values.get(names[RATIO])
    if ratio is not None and (type(ratio) not in (int, float) or not 0 <= ratio <= 1):
        fields.fail(names[RATIO], f"expected a number from 0 to 1, not {shown(ratio)}")
    fields.maybe_integer(names[MIN_LAG])
    fields.maybe_integer(names[MAX_LAG], minimum=1)
    fields.maybe_integer(names[SEGMENT_MS], minimum=1)
    return settings

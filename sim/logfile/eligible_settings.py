"""When a log is cleaned, by the settings of its topic, of all topics of the file, or of the broker.

What the log's own `topic` does not say, the file's `topic` says, else the file's `broker`, else
Kafka's defaults. A maximum lag of null is no bound, whoever says it (LogConfig, CleanerConfig).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le
from pydantic import ConfigDict

from sim.compaction.eligibility import EligibilityConfig, LagEstimate
from sim.files.bounds import Share
from sim.files.document import Place
from sim.files.models import Part
from sim.limits import CLEANER_THREADS
from sim.logfile.batches import Natural, Positive

MIN_LAG, MAX_LAG = "min_compaction_lag_ms", "max_compaction_lag_ms"
OF_BROKER = {
    "min_cleanable_dirty_ratio": "log_cleaner_min_cleanable_ratio",
    MIN_LAG: "log_cleaner_min_compaction_lag_ms",
    MAX_LAG: "log_cleaner_max_compaction_lag_ms",
    "segment_ms": "log_roll_ms",
}
"""A topic's setting, which `EligibilityConfig` has, and the broker's default for it."""
OF_THREADS = (
    "log_cleaner_threads",
    "log_cleaner_io_max_bytes_per_second",
    "log_cleaner_backoff_ms",
)
"""Settings of the cleaner threads."""


def dotted(name: str) -> str:
    """What Kafka calls a setting."""
    return name.replace("_", ".")


class Settings(Part):
    """Settings under Kafka's own names."""

    model_config = ConfigDict(alias_generator=dotted)


class TopicLines(Settings):
    """A topic's; those from `compression.type` on say nothing about when to clean."""

    min_cleanable_dirty_ratio: Share | None = None
    min_compaction_lag_ms: Natural | None = None
    max_compaction_lag_ms: Positive | None = None
    segment_ms: Positive | None = None
    cleanup_policy: Literal["compact", "compact,delete", "delete,compact"] | None = None
    compression_type: Any = None
    delete_retention_ms: Any = None
    file_delete_delay_ms: Any = None
    index_interval_bytes: Any = None
    max_message_bytes: Any = None
    message_timestamp_type: Any = None
    min_insync_replicas: Any = None
    preallocate: Any = None
    retention_bytes: Any = None
    retention_ms: Any = None
    segment_bytes: Any = None
    segment_index_bytes: Any = None
    segment_jitter_ms: Any = None


class BrokerLines(Settings):
    """The broker's defaults, and its cleaner threads."""

    log_cleaner_min_cleanable_ratio: Share | None = None
    log_cleaner_min_compaction_lag_ms: Natural | None = None
    log_cleaner_max_compaction_lag_ms: Positive | None = None
    log_roll_ms: Positive | None = None
    log_cleaner_threads: Annotated[int, Ge(1), Le(CLEANER_THREADS.most)] | None = None
    log_cleaner_io_max_bytes_per_second: Positive | None = None
    log_cleaner_backoff_ms: Positive | None = None


class Level(NamedTuple):
    """What one object of settings says about when to clean.

    Attributes:
        given: The settings by the names that `EligibilityConfig` has.
        names: What each is called there.
        place: Where they stand.
    """

    given: Mapping[str, Any]
    names: Mapping[str, str]
    place: Place

    def name(self, setting: str) -> Place:
        """Where it says something."""
        return self.place.at(self.names[setting])


def level_of(lines: Settings | None, place: Place) -> Level:
    """What settings say: null says nothing, but for a maximum lag, which is none then."""
    own = {setting: setting for setting in OF_BROKER}
    fields = OF_BROKER if isinstance(lines, BrokerLines) else own
    given = {
        setting: getattr(lines, field)
        for setting, field in fields.items()
        if lines is not None
        and field in lines.model_fields_set
        and (setting == MAX_LAG or getattr(lines, field) is not None)
    }
    return Level(given, {setting: dotted(field) for setting, field in fields.items()}, place)


def config_of(levels: Sequence[Level], estimate: LagEstimate) -> EligibilityConfig:
    """What applies to one log; the first of `levels` that says something about a setting counts.

    Raises:
        BadInput: The minimum lag is above the maximum: said of the one that is nearer to the log.
    """
    by = {setting: level for level in reversed(levels) for setting in level.given}
    given = {setting: level.given[setting] for setting, level in by.items()}
    least, most = given.get(MIN_LAG, 0), given.get(MAX_LAG)
    if most is not None and least > most:
        nearest, other = sorted((MIN_LAG, MAX_LAG), key=lambda one: levels.index(by[one]))
        where = by[other].name(other)
        beside = by[other].names[other] if by[other] is by[nearest] else where.path
        above = "above" if nearest == MIN_LAG else "below"
        text = f"{given[nearest]} is {above} {beside}, {given[other]}"
        by[nearest].name(nearest).fail(text)
    return EligibilityConfig(lag_estimate=estimate, **given)

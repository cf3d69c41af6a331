"""Settings as people have them: `kafka-configs --describe`, a `server.properties`, or JSON.

Each becomes the settings of one topic, under the names of a topic. What is not given has Kafka's
default. Source: ServerTopicConfigSynonyms, TopicConfig, LogConfig.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.errors import BadInput
from sim.files.reading import read_text

DEFAULTS: Final[Mapping[str, Any]] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.5,
    "min.compaction.lag.ms": 0,
    "max.compaction.lag.ms": None,
    "delete.retention.ms": 86_400_000,
    "segment.bytes": 1_073_741_824,
    "segment.ms": 604_800_000,
    "index.interval.bytes": 4_096,
}
"""What a topic has that says nothing; a topic that is looked at here is taken to be compacted."""
_OF_BROKER: Final = {
    "log.cleanup.policy": "cleanup.policy",
    "log.cleaner.min.cleanable.ratio": "min.cleanable.dirty.ratio",
    "log.cleaner.min.compaction.lag.ms": "min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms": "max.compaction.lag.ms",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "log.segment.bytes": "segment.bytes",
    "log.roll.ms": "segment.ms",
    "log.index.interval.bytes": "index.interval.bytes",
}
"""A broker's name for the default of a topic's setting."""
_ROLL_HOURS: Final = "log.roll.hours"
MAP_BYTES, MAP_LOAD, THREADS = (
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.threads",
)
EXPIRATION: Final = "producer.id.expiration.ms"
_CLEANER: Final[Mapping[str, float]] = {
    MAP_BYTES: 134_217_728,
    MAP_LOAD: 0.9,
    THREADS: 1,
    EXPIRATION: 86_400_000,
}
"""Settings of a broker that no topic has, with their defaults (CleanerConfig, ProducerStateManager
Config)."""
_SLOT_BYTES: Final = 24
"""A hash and an offset in the cleaner's map (SkimpyOffsetMap)."""
_HEADING: Final = re.compile(
    r"^(?:Dynamic |All |Default )?configs for (topic|broker)s? ?'?([\w.-]*)'?.* are:?",
    re.IGNORECASE | re.MULTILINE,
)
_DESCRIBED: Final = re.compile(
    r"(?:^|[\s,])([a-z]\w*(?:\.\w+)+)=(.*?)(?= sensitive=|,[a-z]\w*(?:\.\w+)+=|$)", re.MULTILINE
)
"""A setting of `kafka-configs`: on a line of its own, or one of a list as up to 2.4."""


_PROPERTY: Final = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:]\s*(.*)")
"""A line of a properties file; one that has only a space between name and value is refused."""


class GivenSettings(NamedTuple):
    """Given settings of a topic, completed by defaults.

    Attributes:
        topic: Settings of the topic, by Kafka's names; every one of `DEFAULTS` is there.
        given: Names of those that were given.
        map_keys: Keys that the map of a cleaner thread holds.
        expiration_ms: `producer.id.expiration.ms`.
        unread: So many names were given that nothing here reads.
        source: The file; None without one.
    """

    topic: Mapping[str, Any]
    given: frozenset[str]
    map_keys: int
    expiration_ms: int
    unread: int = 0
    source: Path | None = None

    def sentence(self, preset: str) -> str:
        """The given settings and the defaults of a release, in a sentence."""
        given = [f"{name}={self.topic[name]}" for name in DEFAULTS if name in self.given]
        others = [name for name in DEFAULTS if name not in self.given]
        shown = ", ".join(
            f"{name}={'none' if (v := self.topic[name]) is None else v}" for name in others
        )
        default = f"defaults of {preset}: {shown}" if others else ""
        unread = f"names given that decide nothing here: {self.unread}" if self.unread else ""
        said = [f"given: {', '.join(given)}" if given else "", unread, default]
        return "; ".join(filter(None, said))


def settings_of(path: Path | None, topic: str) -> GivenSettings:
    """The settings in a file that apply to a topic; without a file the defaults.

    Raises:
        BadInput: The file cannot be read, or holds no settings.
    """
    found = {} if path is None else _values(path, topic)
    values = {name: value for name, value in found.items() if value is not None}
    hours = values.pop(_ROLL_HOURS, None)
    if hours is not None:
        values.setdefault("log.roll.ms", _number(path, _ROLL_HOURS, hours) * 3_600_000)
    for name, alias in _OF_BROKER.items():
        if name in values:
            values.setdefault(alias, values.pop(name))
    cleaner = {name: _number(path, name, values.pop(name, of)) for name, of in _CLEANER.items()}
    known = {name: value for name, value in values.items() if name in DEFAULTS}
    slots = cleaner[MAP_BYTES] / max(1, cleaner[THREADS]) // _SLOT_BYTES
    return GivenSettings(
        {**DEFAULTS, **known},
        frozenset(known),
        int(slots * cleaner[MAP_LOAD]),
        int(cleaner[EXPIRATION]),
        len(values) - len(known),
        path,
    )


def _values(path: Path, topic: str) -> Mapping[str, Any]:
    """Names and values in a file of any of the three kinds."""
    text = read_text(path)
    if text.lstrip().startswith(("{", "[")):
        return _of_json(path, text, topic)
    sections = list(_HEADING.finditer(text))
    if not sections:
        return dict(_properties(path, text))
    ends = [one.start() for one in sections[1:]] + [len(text)]
    found: dict[str, Any] = {}
    named = [one[2] for one in sections if one[1].lower() == "topic" and one[2]]
    if named and topic not in named:
        raise BadInput(f"{path}: settings of {', '.join(named)}, none of topic {topic}")
    for one, end in zip(sections, ends, strict=True):
        if one[1].lower() == "broker" or one[2] in ("", topic):
            found |= dict(_DESCRIBED.findall(text, one.end(), end))
    return found


def _of_json(path: Path, text: str, topic: str) -> Mapping[str, Any]:
    """Settings of a topic, by themselves or below its name; or entries of a name and a value."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{path}: no JSON: {error}") from None
    if isinstance(found, dict):
        found = found.get(topic, found)
    if isinstance(found, dict):
        found = next((value for value in found.values() if _are_entries(value)), found)
    if _are_entries(found):
        found = {one["name"]: one["value"] for one in found}
    if not isinstance(found, dict):
        raise BadInput(f"{path}: expected names with values, or a list of `name` and `value`")
    for name, value in found.items():
        if isinstance(value, dict | list):
            raise BadInput(f"{path}: {name}: expected a value, not {type(value).__name__}")
    return found


def _are_entries(found: Any) -> bool:
    """Checks for a list of settings as administrators' clients give it."""
    return isinstance(found, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and "value" in one
        for one in found
    )


def _properties(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """The lines of a Java properties file; a backslash continues a line, or takes the next letter.

    Source: java.util.Properties.load.
    """
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for number, line in enumerate(joined.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        found = _PROPERTY.fullmatch(line.strip())
        if found is None:
            raise BadInput(f"{path}:{number}: expected name=value, not {line.strip()[:60]!r}")
        name, value = (re.sub(r"\\(.)", r"\1", part) for part in found.groups())
        yield name, value


def _number(path: Path | None, name: str, value: Any) -> float:
    """A number that is finite and not below 0."""
    with suppress(ValueError, TypeError):
        found = float(value)
        if 0 <= found < inf:
            return found
    raise BadInput(f"{path}: {name}: expected a number from 0 on, not {value!r}")

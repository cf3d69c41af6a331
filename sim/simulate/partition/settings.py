"""Settings as people have them: `kafka-configs --describe`, a `server.properties`, or JSON.

Each, and the text of `kafka-topics --describe`, becomes the settings of one topic, under the names
of a topic. What is not given has Kafka's default, but `cleanup.policy`, which is `compact` then.
Source: ServerTopicConfigSynonyms, TopicConfig, LogConfig.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.errors import BadInput
from sim.files.limits import INT
from sim.files.reading import parse_json, read_text

_KNOWN: Final[Mapping[str, tuple[Any, str]]] = {
    "cleanup.policy": ("compact", "log.cleanup.policy"),
    "min.cleanable.dirty.ratio": (0.5, "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": (0, "log.cleaner.min.compaction.lag.ms"),
    "max.compaction.lag.ms": (None, "log.cleaner.max.compaction.lag.ms"),
    "delete.retention.ms": (86_400_000, "log.cleaner.delete.retention.ms"),
    "segment.bytes": (1_073_741_824, "log.segment.bytes"),
    "segment.ms": (604_800_000, "log.roll.ms"),
    "index.interval.bytes": (4_096, "log.index.interval.bytes"),
}
"""Settings of a topic, each with its default and the broker setting that gives another default.

A topic that is looked at here is taken to be compacted; Kafka's default is `delete`.
"""
DEFAULTS: Final = {name: default for name, (default, _) in _KNOWN.items()}
_ROLL_HOURS: Final = "log.roll.hours"
_CLEANS: Final = "log.cleaner.enable"
_CLEANER: Final[Mapping[str, float]] = {
    "log.cleaner.dedupe.buffer.size": 134_217_728,
    "log.cleaner.io.buffer.load.factor": 0.9,
    "log.cleaner.threads": 1,
    "producer.id.expiration.ms": 86_400_000,
}
"""Settings of a broker that no topic has, with their defaults (CleanerConfig, ProducerStateManager
Config)."""
_SLOT_BYTES: Final = 24
"""Bytes of a hash and an offset in the cleaner's map (SkimpyOffsetMap)."""
_HEADING: Final = re.compile(
    r"^(?:(?:Dynamic |All |Default )?configs for )?(topic|broker)s?:? ?'?([\w.-]*)'?"
    r".*?(?: are:?|\tConfigs:)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of `kafka-configs` above settings, or of `kafka-topics` before them."""
_DESCRIBED: Final = re.compile(
    r"(?:^|[\s,])([a-z]\w*(?:\.\w+)+)=(.*?)(?= sensitive=|,[a-z]\w*(?:\.\w+)+=|$)", re.MULTILINE
)
"""A setting of `kafka-configs`: on a line of its own, or one of a list as up to 2.4."""
_AROUND: Final = ("spec", "data", "config", "configs")
"""Names that JSON of tools has around the settings of a topic, from the outside in."""
_PROPERTY: Final = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:]\s*(.*)")
"""A line of a properties file; one that has only a space between name and value is refused."""


class GivenSettings(NamedTuple):
    """Given settings of a topic, completed by defaults.

    Attributes:
        topic: Settings of the topic, by Kafka's names; every one of `DEFAULTS` is there.
        given: Names of those that were given.
        map_keys: Keys that the map of a cleaner thread holds.
        expiration_ms: `producer.id.expiration.ms`.
        unread: Number of given names that nothing here reads.
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
        parts: dict[str, list[str]] = {"given": [], "names given that decide nothing here": []}
        for name, value in self.topic.items():
            group = "given" if name in self.given else f"defaults of {preset}"
            parts.setdefault(group, []).append(f"{name}={'none' if value is None else value}")
        if self.unread:
            parts["names given that decide nothing here"].append(str(self.unread))
        return "; ".join(f"{group}: {', '.join(said)}" for group, said in parts.items() if said)


def settings_of(path: Path | None, topic: str) -> GivenSettings:
    """The settings in a file that apply to a topic; without a file the defaults.

    Raises:
        BadInput: The file cannot be read, holds no settings of the topic, or text for a number.
    """
    found = {} if path is None else _values(path, topic)
    values = {name: value for name, value in found.items() if value is not None}
    if str(values.pop(_CLEANS, True)).strip().lower() == "false":
        raise BadInput(
            f"{path}: {_CLEANS}: a broker without a cleaner compacts nothing; allowed: true"
        )
    if _ROLL_HOURS in values:
        hours = _number(path, _ROLL_HOURS, values.pop(_ROLL_HOURS))
        values.setdefault("log.roll.ms", int(hours * 3_600_000))
    buffer_bytes, load, threads, expiration_ms = (
        _number(path, name, values.pop(name, default)) for name, default in _CLEANER.items()
    )
    given = {}
    for name, (_, of_broker) in _KNOWN.items():
        of_a_broker = values.pop(of_broker, None)
        value = values.pop(name, of_a_broker)
        if value is not None:
            given[name] = "".join(value.split()) if isinstance(value, str) else value
    memory_bytes = min(buffer_bytes / max(1, threads), INT)
    map_keys = int(memory_bytes // _SLOT_BYTES * load)
    topics, unread = DEFAULTS | given, len(values)
    return GivenSettings(topics, frozenset(given), map_keys, int(expiration_ms), unread, path)


def _values(path: Path, topic: str) -> dict[str, Any]:
    """The settings in a file that apply to a topic: those of a broker, then the topic's own."""
    text = read_text(path).replace("\r\n", "\n")
    if text.lstrip().startswith(("{", "[")):
        return _of_json(path, text, topic)
    sections = list(_HEADING.finditer(text))
    if not sections:
        return dict(_properties(path, text))
    ends = [one.start() for one in sections[1:]] + [len(text)]
    named = [one[2] for one in sections if one[1].lower() == "topic" and one[2]]
    if named and topic not in named:
        raise BadInput(f"{path}: settings of {', '.join(named)}, none of topic {topic}")
    found: dict[str, Any] = {}
    for one, end in zip(sections, ends, strict=True):
        if one[1].lower() == "broker" or one[2] in ("", topic):
            described = _DESCRIBED.findall(text, one.end(), end)
            found |= {name: value for name, value in described if value != "null"}
    return found


def _of_json(path: Path, text: str, topic: str) -> dict[str, Any]:
    """Settings of a topic: names with values, or a list of both, also below other names."""
    found: Any = parse_json(text, str(path)).data
    for name in (topic, *_AROUND):
        if isinstance(found, dict) and isinstance(found.get(name), dict | list):
            found = found[name]
    with suppress(KeyError, TypeError):
        if isinstance(found, list):
            found = {one["name"]: one["value"] for one in found}
    if not isinstance(found, dict):
        text = "expected names with values, or a list of `name` and `value`"
        raise BadInput(f"{path}: {text}")
    for name, value in found.items():
        if isinstance(value, dict | list):
            raise BadInput(f"{path}: {name}: expected a value, not {type(value).__name__}")
    return found


def _properties(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Name and value of each line of a Java properties file; a backslash at its end continues it.

    Another backslash is dropped, and the character after it stays as it is.

    Source: java.util.Properties.load.
    """
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\n[ \t]*", r"\1", text)
    for number, line in enumerate(joined.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        found = _PROPERTY.fullmatch(line.strip())
        if found is None:
            raise BadInput(f"{path}:{number}: expected name=value, not {line.strip()[:60]!r}")
        name, value = (re.sub(r"\\(.)", r"\1", part) for part in found.groups())
        yield name, value


def _number(path: Path | None, name: str, value: Any) -> float:
    """The value as a finite number, not below 0. Raises BadInput."""
    with suppress(ValueError, TypeError):
        found = float(value)
        if 0 <= found < inf:
            return found
    raise BadInput(f"{path}: {name}: expected a number from 0 on, not {value!r}")

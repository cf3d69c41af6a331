"""The rules of a log file: those that concern one cleaner, beside a preset of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.compaction.strategies import ENCODERS
from sim.files.document import CommandLine, Place, shown, unknown_field, unknown_value
from sim.files.fields import MAX_LONG, as_object
from sim.files.rule_values import rule_problem
from sim.rules import PRESETS, Rules
from sim.rules.rules import DEFAULTS

DEFAULT_PRESET = "kafka-4.0"

OF_A_PRESET = (
    "tombstone_removal",
    "fix",
    "map_range",
    "map_reads_from",
    "index_entries",
    "header_form",
    "marker_lookup",
    "empty_segments",
    "old_formats",
    "cleaner_bound",
)
"""What a log file takes over from its preset; the strategy is named in the file itself."""

_PLAIN = (
    "strategy",
    "header_form",
    "ties",
    "fix",
    "map_range",
    "map_reads_from",
    "index_entries",
    "tombstone_removal",
    "tombstone_mark",
    "horizon_stamp",
    "horizon_rebase",
    "unstamped_tombstones",
    "marker_removal",
    "marker_lookup",
    "empty_segments",
    "old_formats",
    "cleaner_bound",
    "delete_retention_ms",
    "index_interval_bytes",
)
LAST_MODIFIED = "segment_last_modified_ms"
SEGMENT_BYTES = "segment_bytes"
ALLOWED = ("preset", "strategy", "header_key", *_PLAIN[1:], LAST_MODIFIED, SEGMENT_BYTES)
"""Every rule that may stand in a log file."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """The rules one cleaner works by.

    Attributes:
        preset: Name of the preset that was started from.
        rules: The rules; those that do not concern one cleaner have no meaning here.
        last_modified_ms: Modification time of all segments in ms; None = the time of each pass.
        segment_bytes: Neighbours up to this size become one segment (`segment.bytes`); None = all
            do. An append does not roll for it.
        given: The values beside the preset, as given.
    """

    preset: str
    rules: Rules
    last_modified_ms: int | None = None
    segment_bytes: int | None = None
    given: Mapping[str, object] = field(default_factory=dict)

    def encode(self, version: int) -> bytes:
        """The header value that stands for a version, in the form the rules read.

        Raises:
            OverflowError: It does not fit 64 bits.
        """
        if not -MAX_LONG - 1 <= version <= MAX_LONG:
            raise OverflowError
        return ENCODERS[self.rules.cleaner.header_form](version)

    def with_values(self, values: Mapping[str, object], place: Place) -> LogRules:
        """These rules with some values replaced; a `preset` replaces what came from the old one.

        `place` is where the values stand.

        Raises:
            BadInput: Unknown rule, preset or value; the message lists what is allowed.
        """
        preset = values.get("preset", self.preset)
        given = {**self.given, **{n: v for n, v in values.items() if n != "preset"}}
        return rules_at({"preset": preset, **given}, place)

    def as_dict(self) -> dict[str, object]:
        """The preset and every rule with its value, in the order of `ALLOWED`."""
        plain: dict[str, object] = {**self.rules.as_dict()}
        plain |= {"preset": self.preset, "header_key": plain["strategy_header"]}
        plain |= {LAST_MODIFIED: self.last_modified_ms, SEGMENT_BYTES: self.segment_bytes}
        return {name: plain[name] for name in ALLOWED}


def rules_at(values: object, place: Place) -> LogRules:
    """The rules at `place`: the `rules` object of a log file, or None. Null means not given.

    On a command line numbers come as text.

    Raises:
        BadInput: Unknown rule, preset or value; the message lists what is allowed.
    """
    given = {} if values is None else as_object(values, place)
    for name in given:
        if name not in ALLOWED:
            place.at(name).fail(unknown_field(name, ALLOWED, what="rule"))
    given = {name: value for name, value in given.items() if value is not None}
    preset = given.pop("preset", DEFAULT_PRESET)
    if not isinstance(preset, str) or preset not in PRESETS:
        place.at("preset").fail(unknown_value(preset, PRESETS, what="preset"))
    taken: dict[str, object] = {
        name: value for name, value in PRESETS[preset].values.items() if name in OF_A_PRESET
    }
    for name, value in given.items():
        if name == "header_key":
            taken["strategy_header"] = _rule("strategy_header", value, place.at(name))
        elif name not in (LAST_MODIFIED, SEGMENT_BYTES):
            taken[name] = _rule(name, value, place.at(name))
    rules = Rules().with_values(taken)
    modified = _number(given.get(LAST_MODIFIED), place.at(LAST_MODIFIED), "a time in ms", -1)
    size = _number(given.get(SEGMENT_BYTES), place.at(SEGMENT_BYTES), "a number of bytes", 1)
    return LogRules(preset, rules, modified, size, given)


def _rule(name: str, value: object, place: Place) -> object:
    """The value of a rule, which a log file may call otherwise."""
    typed = isinstance(place.document, CommandLine)
    if not typed and type(DEFAULTS[name]) is int and type(value) is not int:
        place.fail(f"expected a whole number, not {shown(value)}")
    problem = rule_problem(name, value)
    if problem is not None:
        place.fail(problem)
    return value


def _number(value: object, place: Place, what: str, minimum: int) -> int | None:
    typed = isinstance(place.document, CommandLine)
    if typed and isinstance(value, str) and value.isdecimal():
        value = int(value)
    if value is None:
        return None
    if type(value) is not int or not minimum <= value <= MAX_LONG:
        place.fail(f"expected {what}, not {shown(value)}")
    return value

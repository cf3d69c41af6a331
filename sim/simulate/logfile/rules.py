"""The rules of a log file: a preset, and values of the rules that concern one cleaner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.files.document import CommandLine, Complaints, Place, as_object, shown, unknown_field
from sim.files.limits import LONG
from sim.protocol.compaction.eligibility import EligibilityConfig
from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.rules import DEFAULTS, PRESETS, Rules
from sim.simulate.scenario.runnable import check_rule

DEFAULT_PRESET = "kafka-4.0"

LAST_MODIFIED = "segment_last_modified_ms"
SEGMENT_BYTES = "segment_bytes"
_NUMBERS = {LAST_MODIFIED: ("a time in ms", -1), SEGMENT_BYTES: ("a number of bytes", 1)}
"""Entries that are no rules: the expected type in words, and the smallest number."""
ALLOWED = (
    "preset",
    "strategy",
    "header_key",
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
    LAST_MODIFIED,
    SEGMENT_BYTES,
)
"""Names that may stand in `rules`. All rules but the strategy start from the preset's value."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """The rules of one cleaner.

    Attributes:
        preset: Name of the preset that they start from.
        rules: The rules; those that do not concern one cleaner have no meaning here.
        last_modified_ms: Modification time of all segments in ms; None for the time of each pass.
        segment_bytes: Largest size in bytes up to which a pass merges neighbouring segments
            (`segment.bytes`); None without a limit. An append does not roll for it.
        given: The values given in addition to the preset, as they were written.
    """

    preset: str
    rules: Rules
    last_modified_ms: int | None = None
    segment_bytes: int | None = None
    given: Mapping[str, object] = field(default_factory=dict)

    def encode(self, version: int) -> bytes:
        """The header value that stands for a version of 64 bits in the form the rules read."""
        return ENCODERS[self.rules.cleaner.header_form](version)

    def with_values(self, values: Mapping[str, object], place: Place) -> LogRules:
        """These rules with some values replaced; under another `preset` the given values stay.

        `place` is that of the values, for errors.

        Raises:
            BadInput: Unknown rule, preset or value; the message lists what is allowed.
        """
        preset = values.get("preset", self.preset)
        given = {**self.given, **{n: v for n, v in values.items() if n != "preset"}}
        return rules_at({"preset": preset, **given}, place)


@dataclass(frozen=True, slots=True)
class TopicOfLog:
    """Decisions of a log file's `topic` settings that are no rules of the cleaner.

    Attributes:
        config: Settings by which the cleaner's manager decides when the log is cleaned.
        compacts: False if the log is never cleaned.
        roll_ms: Age of the active segment, by timestamps, above which an append rolls the log, in
            ms; None if age never does.
        roll_bytes: Size of the active segment that an append may not exceed without rolling the
            log; None if size never does.
    """

    config: EligibilityConfig = field(default_factory=EligibilityConfig)
    compacts: bool = True
    roll_ms: int | None = None
    roll_bytes: int | None = None


def rules_at(values: object, place: Place, *, allowed: Sequence[str] = ALLOWED) -> LogRules:
    """The rules at `place`: from the `rules` object of a log file, or from the command line.

    A null means that a value is not given. On a command line, numbers come as text.

    Raises:
        BadInput: Unknown rule, preset or value; the message lists what is allowed.
    """
    given = {} if values is None else as_object(values, place)
    wrong = Complaints()
    taken: dict[str, Any] = {}
    for name, value in given.items():
        with wrong:
            if name not in allowed:
                place.at(name).fail(unknown_field(name, allowed, what="rule"))
            if value is not None:
                taken[name] = _value(name, value, place.at(name))
    wrong.end()
    preset = taken.pop("preset", DEFAULT_PRESET)
    beside = dict(taken)
    modified, size = taken.pop(LAST_MODIFIED, None), taken.pop(SEGMENT_BYTES, None)
    if "header_key" in taken:
        taken["strategy_header"] = taken.pop("header_key")
    named = PRESETS[preset].values.items()
    started = {rule: value for rule, value in named if rule in ALLOWED and rule != "strategy"}
    return LogRules(preset, Rules().with_values(started | taken), modified, size, beside)


def _value(name: str, value: object, place: Place) -> object:
    """The value of a rule, checked; `header_key` is a log file's name for `strategy_header`."""
    typed = isinstance(place.document, CommandLine)
    if name in _NUMBERS:
        what, minimum = _NUMBERS[name]
        if typed and isinstance(value, str) and value.isdecimal():
            value = int(value)
        if type(value) is not int or not minimum <= value <= LONG:
            place.fail(f"expected {what}, not {shown(value)}")
        return value
    rule = "strategy_header" if name == "header_key" else name
    if not typed and type(DEFAULTS.get(rule)) is int and type(value) is not int:
        place.fail(f"expected a whole number, not {shown(value)}")
    check_rule(rule, value, place)
    return value

"""The rules of a log file: those that concern one cleaner, beside a preset of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.compaction.strategies import ENCODERS
from sim.errors import BadInput, did_you_mean
from sim.logfile.reading import MAX_LONG, as_object, complain, inside, shown
from sim.rules import PRESETS, Rules
from sim.rules.rules import DEFAULTS, check_value, listed, place_of

DEFAULT_PRESET = "kafka-4.0"

OF_A_PRESET = (
    "tombstone_removal",
    "fix",
    "map_range",
    "header_form",
    "marker_lookup",
    "empty_segments",
)
"""What a log file takes over from its preset; the strategy is named in the file itself."""

_PLAIN = (
    "strategy",
    "header_form",
    "ties",
    "fix",
    "map_range",
    "tombstone_removal",
    "tombstone_mark",
    "horizon_stamp",
    "horizon_rebase",
    "marker_removal",
    "marker_lookup",
    "empty_segments",
    "delete_retention_ms",
)
LAST_MODIFIED = "segment_last_modified_ms"
ALLOWED = ("preset", "strategy", "header_key", *_PLAIN[1:], LAST_MODIFIED)
"""Every rule that may stand in a log file."""


@dataclass(frozen=True, slots=True)
class LogRules:
    """The rules one cleaner works by.

    Attributes:
        preset: Name of the preset that was started from.
        rules: The rules; those that do not concern one cleaner have no meaning here.
        last_modified_ms: Modification time of all segments in ms; None = the time of each pass.
        given: The values beside the preset, as given.
    """

    preset: str
    rules: Rules
    last_modified_ms: int | None = None
    given: Mapping[str, object] = field(default_factory=dict)

    def encode(self, version: int) -> bytes:
        """The header value that stands for a version, in the form the rules read.

        Raises:
            OverflowError: It does not fit 64 bits.
        """
        if not -MAX_LONG - 1 <= version <= MAX_LONG:
            raise OverflowError
        return ENCODERS[self.rules.cleaner.header_form](version)

    def with_values(self, values: Mapping[str, object], *, where: str = "rules") -> LogRules:
        """These rules with some values replaced; a `preset` replaces what came from the old one.

        Raises:
            BadInput: Unknown rule, preset or value; the message lists what is allowed.
        """
        preset = values.get("preset", self.preset)
        given = {**self.given, **{n: v for n, v in values.items() if n != "preset"}}
        return rules_of({"preset": preset, **given}, where=where)

    def as_dict(self) -> dict[str, object]:
        """The preset and every rule with its value, in the order of `ALLOWED`."""
        plain: dict[str, object] = {**self.rules.as_dict()}
        plain |= {"preset": self.preset, "header_key": plain["strategy_header"]}
        plain[LAST_MODIFIED] = self.last_modified_ms
        return {name: plain[name] for name in ALLOWED}


def rules_of(values: object, *, where: str = "rules") -> LogRules:
    """The rules in a log file; `values` is its `rules` object or None. Null means not given.

    Numbers may come as text, as on a command line, only if `where` is not the file's own `rules`.

    Raises:
        BadInput: Unknown rule, preset or value; the message lists what is allowed.
    """
    if values is None:
        values = {}
    values = as_object(values, where)
    unknown = next((name for name in values if name not in ALLOWED), None)
    if unknown is not None:
        complain(
            place_of(unknown, where) if where.startswith("--") else inside(where, unknown),
            f"unknown rule{did_you_mean(unknown, ALLOWED)}; allowed: {listed(ALLOWED)}",
        )
    given = {name: value for name, value in values.items() if value is not None}
    preset = given.pop("preset", DEFAULT_PRESET)
    if not isinstance(preset, str) or preset not in PRESETS:
        close = did_you_mean(str(preset), PRESETS)
        complain(
            place_of("preset", where),
            f"unknown preset {shown(preset)}{close}; allowed: {listed(PRESETS)}",
        )
    taken: dict[str, object] = {
        name: value for name, value in PRESETS[preset].values.items() if name in OF_A_PRESET
    }
    for name, value in given.items():
        if name == "header_key":
            taken["strategy_header"] = _checked("strategy_header", name, value, where)
        elif name != LAST_MODIFIED:
            taken[name] = _checked(name, name, value, where)
    rules = Rules().with_values(taken)
    return LogRules(preset, rules, _last_modified(given.get(LAST_MODIFIED), where), given)


def _checked(rule: str, name: str, value: object, where: str) -> object:
    """The value of a rule, whose name in log files is `name`."""
    default = DEFAULTS[rule]
    if where == "rules" and type(default) is int and type(value) is not int:
        complain(place_of(name, where), f"expected a whole number, not {shown(value)}")
    try:
        return check_value(rule, value, where=where)
    except BadInput as error:
        said, own = place_of(rule, where), place_of(name, where)
        raise BadInput(str(error).replace(said, own, 1)) from None


def _last_modified(value: object, where: str) -> int | None:
    if where != "rules" and isinstance(value, str) and value.isdecimal():
        value = int(value)
    if value is None:
        return None
    if type(value) is not int or not -1 <= value <= MAX_LONG:
        complain(place_of(LAST_MODIFIED, where), f"expected a time in ms, not {shown(value)}")
    return value

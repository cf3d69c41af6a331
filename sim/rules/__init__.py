"""Rules: every disputed behaviour of the protocol and of the cleaner as a named, typed switch."""

from sim.rules.presets import PRESETS, Preset, rules_from
from sim.rules.rules import DEFAULTS, RULES, Rules, RuleSpec

__all__ = ["DEFAULTS", "PRESETS", "RULES", "Preset", "RuleSpec", "Rules", "rules_from"]

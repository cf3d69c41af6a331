"""Rules: every disputed behaviour of the protocol and of the cleaner as a named, typed switch."""

from sim.rules.presets import PRESETS, rules_from
from sim.rules.rules import DEFAULTS, RULES, Rules

"""Rules: every disputed behaviour of the protocol and of the cleaner as a named, typed switch."""

from sim.protocol.rules.presets import PRESETS, rules_from
from sim.protocol.rules.rules import DEFAULTS, RULES, Rules

"""A setting that changes during a run: what may change, and what it makes of a broker's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sim.files.bounds import Count, Milliseconds, Name
from sim.protocol.log.versions import VERSION_SETTINGS, Versions
from sim.protocol.rules.rules import Rules, RuleValue

EVERY_REPLICA = "all"
"""In the place of a replica's name: every replica, at that moment."""

CHANGEABLE = (
    "strategy",
    "strategy_header",
    "header_form",
    "fix",
    "map_range",
    "tombstone_removal",
    "tombstone_mark",
    "delete_retention_ms",
    *VERSION_SETTINGS,
)
"""What may change during a run: rules that one replica's cleaner follows alone, and versions."""


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that changes during the run, when it reaches one broker or one client.

    `replica` and `producer` name whom it reaches, `all` and 0 everybody, None nobody of the kind;
    `consumer` names one. `settings` are rules of the cleaner and versions of the broker with their
    new values; `versions` tells whether the producer sends version headers from then on, None = as
    before; `format` is the client's version from then on (KIP-87), None = as before.
    """

    at_ms: Milliseconds
    replica: Name | None = None
    settings: tuple[tuple[str, RuleValue], ...] = ()
    producer: Count | None = None
    versions: bool | None = True
    consumer: Name | None = None
    format: Literal[2, 3] | None = None


def changed(
    rules: Rules, versions: Versions | None, change: Change
) -> tuple[Rules, Versions | None]:
    """The rules and the versions of a replica after a change has reached it."""
    settings = dict(change.settings)
    given = {name: settings.pop(name) for name in VERSION_SETTINGS if name in settings}
    if given and versions is not None:
        versions = versions.with_settings(given)
    return rules.with_values(settings), versions

"""The vocabulary of events: everything that the core reports.

Checks, counters, timelines, saved traces and digests all read these and nothing else. Every event
names its replica first. Times are not part of an event: the recorder adds them.
"""

from __future__ import annotations

from typing import Final

from sim.protocol.events.cleaning import *
from sim.protocol.events.cluster import *
from sim.protocol.events.cluster import Event

NAMES: Final[dict[type, str]] = {kind: kind.__name__ for kind in Event.__subclasses__()}
"""Class of event -> its kind, as digests and traces have it."""

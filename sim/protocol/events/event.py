"""The base of all events."""

from __future__ import annotations

from msgspec import Struct


class Event(Struct, frozen=True, gc=False, array_like=True):
    """An event that the core reports; the name of its class is its kind.

    Attributes:
        replica: The replica that it happened at, or whose log it concerns.
    """

    replica: str

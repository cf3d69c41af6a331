"""Whoever listens to events has a method for each: `on_leader_elected` takes LeaderElected."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sim.invariant_plugins import events_by_method


def handlers_of(listener: object, *, prefix: str = "") -> dict[type, Callable[..., Any]]:
    """Class of event -> the method of a listener that takes it; names may have a prefix."""
    of: Any = type(listener)
    return {kind: getattr(listener, method) for kind, method in _methods(of, prefix).items()}


@cache
def _methods(listener: type, prefix: str) -> dict[type, str]:
    named = {kind: prefix + method for method, kind in events_by_method().items()}
    return {kind: method for kind, method in named.items() if hasattr(listener, method)}

"""Whoever listens to events has a method for each: `on_leader_elected` takes LeaderElected."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, get_args

from sim.trace import Event


def handlers_of(listener: object) -> dict[type, Callable[..., None]]:
    """Class of event -> the method of a listener that takes it."""
    of: Any = type(listener)
    return {kind: getattr(listener, method) for kind, method in _methods(of).items()}


@cache
def _methods(listener: type) -> dict[type, str]:
    named = {
        "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind
        for kind in get_args(Event)
    }
    return {named[name]: name for name in dir(listener) if name.startswith("on_")}

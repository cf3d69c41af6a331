"""A checker that asks every invariant about every event."""

from collections.abc import Callable

from sim.check import Checker
from sim.protocol.events import Event


def asking_always(checker: Checker) -> Checker:
    """Makes a checker take no event for usual."""

    def never_usual(take_in: Callable[[Event], object]) -> Callable[[Event], object]:
        return lambda event: take_in(event) and False

    handlers = checker.history.handlers
    handlers |= {kind: never_usual(take_in) for kind, take_in in handlers.items()}
    return checker

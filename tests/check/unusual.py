"""A checker that asks every invariant about every event."""

from collections.abc import Callable

from sim.check import Checker
from sim.trace import Event


def asking_always(checker: Checker) -> Checker:
    """Makes a checker take every event for unusual."""

    def unusual(take_in: Callable[[Event], bool]) -> Callable[[Event], bool]:
        return lambda event: take_in(event) or True

    handlers = checker._keeper.handlers
    handlers |= {kind: unusual(take_in) for kind, take_in in handlers.items()}
    return checker

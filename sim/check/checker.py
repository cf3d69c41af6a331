"""The checker: feeds every event to the ledger, then to the invariants that listen to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from sim.check.ledger import Ledger
from sim.check.registry import INVARIANTS, Handler, Kind, Violation, discover
from sim.rules import Rules
from sim.trace import Event


class Checker:
    """Judges a run as it happens.

    Attributes:
        ledger: The oracle.
        violations: Found so far, in order of detection.
    """

    def __init__(
        self,
        rules: Rules,
        names: Iterable[str],
        *,
        label: Callable[[int], str | None] = lambda _: None,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
        within_contract: bool = False,
    ) -> None:
        """A checker for the named invariants.

        `label` names records by uid in sentences; for `zombies_count` and `earlier` see Ledger.
        `within_contract` stops judging where the run leaves the durability contract.
        """
        discover()
        self._within_contract = within_contract
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, str | None, int | None, str | None]] = set()
        self._at = 0
        self.ledger = Ledger(rules, label=label, zombies_count=zombies_count, earlier=earlier)
        wanted = set(names)
        self._invariants = [
            cls(self.ledger, self._record) for name, cls in INVARIANTS.items() if name in wanted
        ]
        self._listeners: list[Mapping[type, Handler]] = []
        self._handlers: dict[type, tuple[Handler, ...]] = {}

    def listen(self, handlers: Mapping[type, Handler]) -> None:
        """Also hand events to `handlers`, by their class, after the invariants have seen them."""
        self._listeners.append(handlers)
        self._handlers.clear()

    def on(self, at: int, event: Event) -> None:
        """Take one event that happened at `at`."""
        self._at = at
        kind = event.__class__
        handlers = self._handlers.get(kind)
        if handlers is None:
            handlers = self._handlers[kind] = self._handlers_of(kind)
        for handler in handlers:
            handler(event)

    def _handlers_of(self, kind: type) -> tuple[Handler, ...]:
        """The ledger's handler first, then the invariants', then those of the listeners."""
        method = _method_for(kind)
        found = [
            self.ledger.handlers.get(kind),
            *[getattr(invariant, method, None) for invariant in self._invariants],
            *[handlers.get(kind) for handlers in self._listeners],
        ]
        return tuple(handler for handler in found if handler is not None)

    def _record(
        self, name: str, replica: str | None, offset: int | None, key: str | None, sentence: str
    ) -> None:
        if self._within_contract and self.ledger.outside is not None:
            return
        identity = (name, replica, offset, key)
        if identity not in self._seen:
            self._seen.add(identity)
            self.violations.append(Violation(name, self._at, replica, offset, key, sentence))


@cache
def _method_for(kind: type) -> str:
    """`on_leader_elected` for `LeaderElected`."""
    return "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def story_invariants(*, liveness: bool) -> list[str]:
    """The invariants of the story format, with or without the liveness ones."""
    discover()
    return [
        name
        for name, cls in INVARIANTS.items()
        if cls.in_stories
        and cls.kind is not Kind.FINDING
        and (liveness or cls.kind is not Kind.LIVENESS)
    ]


def safety_invariants() -> list[str]:
    """Every invariant whose violation breaks a promise of the protocol, liveness left out."""
    discover()
    wanted = (Kind.SAFETY, Kind.AT_REST)
    return [name for name, cls in INVARIANTS.items() if cls.kind in wanted]


def known_invariants() -> list[str]:
    """The name of every invariant."""
    discover()
    return list(INVARIANTS)

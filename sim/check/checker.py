"""The checker: hands every event to the history, then to the invariants that listen to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sim.check.durability import DurabilityContract
from sim.check.history import ClusterHistory
from sim.check.queries import HistoryQueries
from sim.check.registry import INVARIANTS, Handler, Kind, Violation, discover, method_for
from sim.rules import Rules
from sim.trace import Event


def _unlabelled(_: int) -> str | None:
    return None


class Checker:
    """Judges a run as it happens.

    Attributes:
        history: What happened so far.
        queries: Questions about it.
        contract: Whether the run stays within the durability contract.
        violations: Found so far, in order of detection.
    """

    def __init__(
        self,
        rules: Rules,
        names: Iterable[str],
        *,
        label: Callable[[int], str | None] = _unlabelled,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
        within_contract: bool = False,
    ) -> None:
        """A checker for the named invariants.

        `label` names records by uid in sentences; for `zombies_count` and `earlier` see
        ClusterHistory. `within_contract` stops judging where the run leaves the durability
        contract.
        """
        discover()
        self._within_contract = within_contract
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, str | None, int | None, str | None]] = set()
        self._at = 0
        self.history = ClusterHistory(rules, zombies_count=zombies_count, earlier=earlier)
        self.queries = HistoryQueries(self.history, label=label)
        self.contract = DurabilityContract(self.queries)
        wanted = set(names)
        self._invariants = [
            cls(self.queries, self._record) for name, cls in INVARIANTS.items() if name in wanted
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
        """The contract's handler, the history's, the invariants', then those of the listeners."""
        method = method_for(kind)
        found = [
            self.contract.handlers.get(kind),
            self.history.handlers.get(kind),
            *[getattr(invariant, method, None) for invariant in self._invariants],
            *[handlers.get(kind) for handlers in self._listeners],
        ]
        return tuple([handler for handler in found if handler is not None])

    def _record(
        self, name: str, replica: str | None, offset: int | None, key: str | None, sentence: str
    ) -> None:
        if self._within_contract and self.contract.outside is not None:
            return
        identity = (name, replica, offset, key)
        if identity not in self._seen:
            self._seen.add(identity)
            self.violations.append(Violation(name, self._at, replica, offset, key, sentence))


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

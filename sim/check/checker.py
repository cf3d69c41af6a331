"""The checker: hands every event to the history, then to the invariants that listen to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from sim.check.durability import DurabilityContract
from sim.check.facts import NOTHING, Asked, unlabelled
from sim.check.family_by_cause import family_of
from sim.check.history import LOGS_STAY, ClusterHistory
from sim.check.invariant import Invariant, Kind
from sim.check.listening import Handler, handlers_of
from sim.check.registry import INVARIANTS, discover, guarded_handlers_of, registered_invariants
from sim.check.violation import Evidence, Violation
from sim.protocol.events import Event, ReplicaCrashed
from sim.protocol.rules import Rules

Route = tuple[Handler | None, list[Handler]]
"""Where events of a class go: what changes the history by them, None if nothing does; listeners."""


class Checker:
    """Judges a run as it happens.

    Attributes:
        history: What was written and committed so far, and what every replica holds.
        contract: The durability contract, and whether the run left it.
        violations: The violations found so far, in order of detection.
    """

    def __init__(
        self,
        rules: Rules,
        names: Iterable[str],
        *,
        label: Callable[[int], str | None] = unlabelled,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
        within_contract: bool = False,
        unit: str = "steps",
        asked: Mapping[str, Asked] = NOTHING,
    ) -> None:
        """Starts to judge by the named invariants.

        `label` names records by uid in sentences; `within_contract` stops judging where the run
        leaves the durability contract. For the others see ClusterHistory.
        """
        discover()
        wanted = {*names}
        self._within_contract = within_contract
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, str | None, int | None, str | None]] = set()
        self.history = ClusterHistory(
            rules,
            label=label,
            zombies_count=zombies_count,
            earlier=earlier,
            unit=unit,
            asked=asked,
        )
        self.contract = DurabilityContract(self.history)
        self._listeners: list[Mapping[type, Handler]] = []
        self._routes: dict[type, Route] = {}
        self._invariants: dict[str, Invariant] = {}
        plugged = registered_invariants()
        for name in [name for name in INVARIANTS if name in wanted]:
            report = partial(self.report, name)
            if name in plugged:
                self.listen(guarded_handlers_of(plugged[name], self.history, report))
            else:
                invariant = self._invariants[name] = INVARIANTS[name](self.history, report)
                self.listen(handlers_of(invariant))

    def listen(self, handlers: Mapping[type, Handler]) -> None:
        """Also hands events to `handlers`, by their class, after the invariants have seen them."""
        self._listeners.append(handlers)
        self._routes.clear()

    def counters(self) -> dict[str, int]:
        """The counts of the invariants, by name of the counter."""
        found: dict[str, int] = {}
        for invariant in self._invariants.values():
            found |= invariant.counters()
        return found

    def on(self, at: int, event: Event) -> None:
        """Takes one event, of time `at` (ms, or a step)."""
        self.on_all([(at, event)])

    def on_all(self, events: Iterable[tuple[int, Event]]) -> None:
        """Takes events in order, each with its time (ms, or a step)."""
        history, routes = self.history, self._routes
        for at, event in events:
            kind = type(event)
            history.at = at
            history.position += 1
            try:
                change, listening = routes[kind]
            except KeyError:
                change, listening = routes[kind] = self._route_of(kind)
            if change is not None:
                change(event)
                if history.disagreements and kind not in LOGS_STAY:
                    history.find_disagreements()
            for handler in listening:
                handler(event)

    def _route_of(self, kind: type) -> Route:
        change = self._crashed if kind is ReplicaCrashed else self.history.handlers.get(kind)
        return change, [handlers[kind] for handlers in self._listeners if kind in handlers]

    def _crashed(self, event: ReplicaCrashed) -> None:
        """Asks the durability contract, which needs the logs before the crash, then the history."""
        self.contract.on_crash(event)
        self.history.apply(event)

    def report(
        self,
        name: str,
        replica: str | None,
        offset: int | None,
        key: str | None,
        says: str,
        evidence: Evidence = (),
        began: int | None = None,
    ) -> None:
        """Notes a violation that the latest event showed, unless it was noted before."""
        if self._within_contract and self.contract.outside is not None:
            return
        identity = (name, replica, offset, key)
        if identity not in self._seen:
            self._seen.add(identity)
            family = family_of(self.history, INVARIANTS.get(name), replica, offset, key)
            at, position = self.history.at, self.history.position
            self.violations.append(
                Violation(name, at, replica, offset, key, says, family, evidence, position, began)
            )


def story_invariants(*, liveness: bool) -> list[str]:
    """The invariants by which stories are judged, with or without the liveness ones."""
    wanted = {Kind.SAFETY, Kind.AT_REST, *([Kind.LIVENESS] if liveness else [])}
    return [
        n for n in known_invariants() if INVARIANTS[n].in_stories and INVARIANTS[n].kind in wanted
    ]


def safety_invariants() -> list[str]:
    """The invariants whose violation breaks a promise of the protocol, without liveness ones."""
    return [n for n in known_invariants() if INVARIANTS[n].kind in (Kind.SAFETY, Kind.AT_REST)]


def known_invariants() -> list[str]:
    """The names of all invariants."""
    discover()
    return list(INVARIANTS)

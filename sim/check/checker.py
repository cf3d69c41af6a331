"""The checker: hands every event to the history, then to the invariants that listen to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from sim.check.durability import DurabilityContract
from sim.check.family_by_cause import family_of
from sim.check.history import ClusterHistory
from sim.check.history_keeper import HistoryKeeper
from sim.check.invariant import Kind
from sim.check.listening import Handler
from sim.check.queries import HistoryQueries, unlabelled
from sim.check.registry import INVARIANTS, LISTENERS, PLUGGED, discover
from sim.check.violation import Evidence, Violation
from sim.invariant_plugins import watch
from sim.rules import Rules
from sim.trace import NAMES, Event, Named, ReplicaCrashed

TakeIn = Callable[[Any], bool]
"""What takes an event of one class into the history, and says whether it is usual."""

Route = tuple[TakeIn, tuple[list[Handler], list[Handler]]]
"""Where events of a class go: into the history, then to the first handlers if they are unusual, to
the second ones if they are usual."""


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
        label: Callable[[int], str | None] = unlabelled,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
        within_contract: bool = False,
        unit: str = "steps",
    ) -> None:
        """A checker for the named invariants.

        `label` names records by uid in sentences; for `zombies_count`, `earlier` and `unit` see
        ClusterHistory. `within_contract` stops judging where the run leaves the durability
        contract.
        """
        discover()
        asked = {*names}
        self._within_contract = within_contract
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, str | None, int | None, str | None]] = set()
        self.history = ClusterHistory(
            rules, zombies_count=zombies_count, earlier=earlier, unit=unit
        )
        self.queries = HistoryQueries(self.history, label=label)
        self.contract = DurabilityContract(self.queries)
        self._keeper = HistoryKeeper(self.history)
        self._listeners: list[tuple[Mapping[type, Handler], bool]] = []
        self._routes: dict[str, Route] = {}
        self._invariants = {
            name: INVARIANTS[name](self.queries, partial(self._record, name))
            for name in INVARIANTS
            if name in asked and name not in PLUGGED
        }
        for name, made in PLUGGED.items():
            if name in asked:
                self.listen(watch(made, self.queries, partial(self._record, name)))

    def listen(self, handlers: Mapping[type, Handler], *, unusual_only: bool = False) -> None:
        """Also hand events to `handlers`, by their class, after the invariants have seen them.

        `unusual_only` leaves out the usual ones, see `sim.check.history_keeper`.
        """
        self._listeners.append((handlers, unusual_only))
        self._routes.clear()

    def counters(self) -> dict[str, int]:
        """What the invariants counted, by name of the counter."""
        found: dict[str, int] = {}
        for invariant in self._invariants.values():
            found |= invariant.counters()
        return found

    def on(self, at: int, event: Event) -> None:
        """Take one event that happened at `at`."""
        self.on_all([(at, NAMES[type(event)], event)])

    def on_all(self, events: Iterable[Named]) -> None:
        """Take events in order."""
        history, routes = self.history, self._routes
        for at, name, event in events:
            history.at = at
            history.position += 1
            try:
                take_in, handlers = routes[name]
            except KeyError:
                take_in, handlers = routes[name] = self._route_of(type(event))
            for handler in handlers[take_in(event)]:
                handler(event)

    def _route_of(self, kind: type) -> Route:
        """Into the history, then to the invariants, then to the listeners."""
        found = [
            (getattr(invariant, method), invariant.unusual_only)
            for name, method in LISTENERS.get(kind, ())
            if (invariant := self._invariants.get(name)) is not None and invariant.needs(kind)
        ]
        found += [
            (each[kind], unusual_only) for each, unusual_only in self._listeners if kind in each
        ]
        usual = [handler for handler, unusual_only in found if not unusual_only]
        take_in = self._crashed if kind is ReplicaCrashed else self._keeper.apply
        return take_in, ([handler for handler, _ in found], usual)

    def _crashed(self, event: ReplicaCrashed) -> bool:
        """The contract asks what there was before the crash."""
        self.contract.on_crash(event)
        return self._keeper.apply(event)

    def _record(
        self,
        name: str,
        replica: str | None,
        offset: int | None,
        key: str | None,
        says: str,
        evidence: Evidence = (),
        began: int | None = None,
    ) -> None:
        if self._within_contract and self.contract.outside is not None:
            return
        identity = (name, replica, offset, key)
        if identity not in self._seen:
            self._seen.add(identity)
            family = family_of(self.queries, INVARIANTS.get(name), replica, offset, key)
            at, position = self.history.at, self.history.position
            self.violations.append(
                Violation(name, at, replica, offset, key, says, family, evidence, position, began)
            )


def story_invariants(*, liveness: bool) -> list[str]:
    """The invariants of the story format, with or without the liveness ones."""
    wanted = {Kind.SAFETY, Kind.AT_REST, *([Kind.LIVENESS] if liveness else [])}
    return [
        n for n in known_invariants() if INVARIANTS[n].in_stories and INVARIANTS[n].kind in wanted
    ]


def safety_invariants() -> list[str]:
    """Every invariant whose violation breaks a promise of the protocol, liveness left out."""
    return [n for n in known_invariants() if INVARIANTS[n].kind in (Kind.SAFETY, Kind.AT_REST)]


def known_invariants() -> list[str]:
    """The name of every invariant."""
    discover()
    return list(INVARIANTS)

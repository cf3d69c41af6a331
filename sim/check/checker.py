"""The checker: hands every event to the history, then to the invariants that listen to it.

It also asks the durability contract, and finds the family of each violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from sim.check.facts import HOLE, NOTHING, Asked, ReplicaView, unlabelled
from sim.check.folding import highest_of
from sim.check.history import LOGS_STAY, ClusterHistory
from sim.check.invariant import Invariant, Kind
from sim.check.listening import Handler, handlers_of
from sim.check.registry import INVARIANTS, discover, guarded_handlers_of, registered_invariants
from sim.check.violation import (
    DELETED_KEY_RETURNS,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    TRANSACTIONS,
    Evidence,
    Violation,
)
from sim.protocol.events import Event, ReplicaCrashed
from sim.protocol.rules import Rules

OUTSIDE = "outside-durability"
"""Situation of a run that left the contract; the reason for its missing verdict begins so."""


class DurabilityContract:
    """The durability contract: the losses of unflushed records that are no protocol's fault.

    Replication promises that a committed record is never lost as long as enough of the replicas
    that had to have it keep it. Enough is:

    * commit `isr`: one. At every moment some member of the in-sync set is up and has the record:
      that is the condition under which Kafka's documentation gives its guarantee (Design,
      Replication: one in-sync replica alive at all times), and a replica that comes back without
      its tail did not stay alive in that sense. So a loss is outside when it hits the last such
      member: the whole set loses power at once, or one loses its tail while the others are down
      (KIP-101, scenario 2) or have left the set (the last replica standing of KIP-966).
    * commit `majority`: a majority of the voters, up or down, has the record on disk. Raft assumes
      stable storage (Raft, figure 2: persistent state). Replicas without the record are not elected
      because some majority has it, so a lost tail matters as soon as fewer have it, and not before.

    Only tails that a crash takes count: a new disk is what `wipe` is about, and a record that a
    follower never had, a cleaner removed or a truncation cut is the protocol's own doing, hence a
    violation. From the loss on nothing is promised, so a run is not judged by what comes after.

    An unclean election is no loss by itself. A record that the new leader never had is a violation,
    as `unclean.leader.election.enable` warns; one that the last known leader lacks was lost in a
    crash, and either the run has left the contract or an in-sync replica has it. `UncleanElection`
    in the trace tells such violations apart.

    Attributes:
        outside: Sentence about how the run left the contract; None if it did not.
    """

    def __init__(self, history: ClusterHistory) -> None:
        """Starts with a run within the contract."""
        self._history = history
        self.outside: str | None = None

    def on_crash(self, event: ReplicaCrashed) -> None:
        """Judges a crash before the history has taken it in."""
        if self.outside is None:
            crashed = self._history.replicas[event.replica]
            if event.log_end_offset < crashed.log_end_offset:
                self.outside = self._broken_by(crashed, event.log_end_offset)

    def _broken_by(self, crashed: ReplicaView, log_end_offset: int) -> str | None:
        """A sentence about the committed record that a crash takes for good; None without one.

        `crashed` is as before the crash; its log ends at `log_end_offset` (exclusive) after it.
        """
        history, isr = self._history, self._history.by_isr
        members, most = history.who_commits()
        if crashed not in members:
            return None
        others = [view for view in members if view is not crashed and (view.up or not isr)]
        needed = 1 if isr else most
        for offset in range(log_end_offset, min(crashed.log_end_offset, len(history.committed))):
            if offset < crashed.log_start_offset or not history.has_committed(crashed, offset):
                continue
            keepers = sum([history.accounts_for(view, offset) for view in others])
            if keepers < needed:
                record = history.describe(history.committed[offset])
                who = "in-sync replicas that are up" if isr else "voters"
                return (
                    f"{crashed.name} lost committed offset {offset} ({record}) with its unflushed "
                    f"tail; {keepers} {who} still have it, the contract needs {needed}."
                )
        return None


def family_of(
    history: ClusterHistory,
    invariant: Any,
    replica: str | None,
    offset: int | None,
    key: str | None,
) -> str:
    """The family of a violation, by the facts at the moment it is found.

    Args:
        history: The facts.
        invariant: The class of the invariant; one of a plugin is in no family.
        replica: The replica concerned, if there is one.
        offset: The offset concerned, if there is one; with a key, that of the value.
        key: The key concerned, if there is one.
    """
    family: str = getattr(invariant, "family", NO_FAMILY)
    view = history.replicas.get(replica or "")
    if view is None or key is None or not getattr(invariant, "family_by_cause", False):
        return family
    if offset is None:
        held = highest_of(history, view.known_to_be_committed()).get(key, 0)
        return _family_of_key(history, view, held, history.winners.get(key)) or family
    for uid in history.uids_of_key.get(key, ()):
        if history.written[uid].offset == offset and view.uid_at(offset) in (uid, HOLE):
            return _family_of_key(history, view, uid, _tombstone_over(history, uid)) or family
    return family


def _tombstone_over(history: ClusterHistory, value: int) -> int | None:
    """The highest committed tombstone that beats a value."""
    written = history.written
    found = [
        uid
        for uid in history.beating(value)
        if written[uid].tombstone and history.is_committed(uid)
    ]
    return max(found, key=lambda uid: written[uid].version, default=None)


def _family_of_key(
    history: ClusterHistory, view: ReplicaView, held: int, winner: int | None
) -> str | None:
    """The family where a log has uid `held` (0: none) of a key, not `winner`; None = unknown."""
    written = history.written
    if held and not history.in_committed_history(held):
        return LOG_DIVERGENCE
    if held and not history.is_committed(held):
        return TRANSACTIONS
    if winner is None:
        return None
    if written[winner].batch.transactional and history.holds(view, winner) and winner != held:
        return TRANSACTIONS
    if not held or not written[winner].tombstone or written[held].tombstone:
        return None
    late = written[held].offset > written[winner].offset
    return LATE_WRITE if late else DELETED_KEY_RETURNS


Route = tuple[Handler | None, list[Handler]]
"""Handlers of a class of events: that which changes the history, None without one; listeners."""


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
                change = self._crashed if kind is ReplicaCrashed else history.handlers.get(kind)
                listening = [handlers[kind] for handlers in self._listeners if kind in handlers]
                routes[kind] = change, listening
            if change is not None:
                change(event)
                if history.disagreements and kind not in LOGS_STAY:
                    history.find_disagreements()
            for handler in listening:
                handler(event)

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

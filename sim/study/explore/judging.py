"""Which invariants a move or a state breaks, judged by the product's own invariants.

The checker of `sim.check` judges a run event by event, with its whole past. A search meets the same
parts of runs again and again, so each invariant is handed only what it reads: the replicas that a
move touched, a log and the committed history, two logs, a state at rest. Tests compare this with
the checker on random schedules, and the search does on every witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from sim.check.facts import ReplicaView
from sim.check.folding import undone_deletes
from sim.check.history import ClusterHistory
from sim.check.listening import handlers_of, methods_of
from sim.check.registry import INVARIANTS, discover, guarded_handlers_of, registered_invariants
from sim.protocol.events import (
    Appended,
    Copied,
    Event,
    HighWatermarkMoved,
    LeaderElected,
    Quiesced,
    SnapshotTaken,
)
from sim.protocol.rules import Rules
from sim.study.explore.world import History

if TYPE_CHECKING:
    from sim.study.explore.world import World

BY_EVENTS: Final = (
    "follower-position-sound",
    "hw-monotonic",
    "hw-within-log",
    "no-truncation-below-hw",
    "truncation-below-log-start",
    "leader-append-only",
    "leo-preservation",
    "record-offset-uniqueness",
    "snapshot-bound",
    "snapshot-at-log-start",
    "snapshot-never-regresses",
    "snapshot-install-atomic",
    "leader-never-loads-snapshot",
    "prefix-deletion-safety",
)
"""Judged by the events of a move on the replicas that it touches."""
BY_HISTORY: Final = (
    "no-offset-reuse",
    "state-machine-safety",
    "leader-completeness",
    "committed-replicated",
)
"""Judged by the events of a move and the committed history before it."""
BY_PAIRS: Final = ("log-matching", "slot-agreement")
"""Judged by two logs of a state."""
SNAPSHOTS: Final = "snapshot-consistency"
"""Judged by the snapshots of two replicas, and by those of one and the committed history."""
CAUGHT_UP: Final = "no-resurrection"
"""Judged by the log of a live replica that knows everything committed."""
AT_REST: Final = (
    "committed-never-lost",
    "hole-justified",
    "leo-convergence",
    "replica-convergence",
    "winner-retained",
    "materialized-state-equivalence",
)
"""Judged at rest: every live replica has fetched everything."""
QUIESCE: Final = "quiesce"
"""Step at the end of a story that lets followers fetch everything and judges the state at rest."""
JUDGED_BY: Final = {CAUGHT_UP: "check"}
"""Invariant -> the step of a story that judges it in a state that is not at rest."""
JUDGING_STEPS: Final = (QUIESCE, *JUDGED_BY.values())
"""Steps at the end of a story that are no moves."""
JUDGED: Final = (*BY_EVENTS, *BY_HISTORY, *BY_PAIRS, SNAPSHOTS, CAUGHT_UP, *AT_REST)
"""The invariants that a search judges if a plan names none."""
BITS: Final = 32
"""Number of bits of a mask of broken invariants."""
BIT: Final = {name: 1 << place for place, name in enumerate(JUDGED)}
"""Invariant -> its bit in a mask of broken invariants."""


def names_of(mask: int) -> list[str]:
    """The invariants of a mask."""
    return [name for name, bit in BIT.items() if mask & bit]


def searchable() -> tuple[str, ...]:
    """The invariants that a search can judge; adds those of plugins that are judged at rest.

    An invariant of a plugin is one if it listens to `Quiesced` alone and has no constructor, since
    a search meets states in another order than a run: state of its own would mislead it. A mask
    has room for `BITS` invariants; those of plugins beyond that are left out.
    """
    discover()
    plugged = registered_invariants()
    for name, invariant in sorted(plugged.items()):
        at_rest = {*methods_of(invariant)} == {Quiesced} and "__init__" not in vars(invariant)
        if at_rest and name not in BIT and len(BIT) < BITS:
            BIT[name] = 1 << len(BIT)
    return (*JUDGED, *(name for name in BIT if name in plugged))


class _Asked(dict[str, ReplicaView]):
    """The logs that an invariant asked for; others are not among its values."""

    before: Mapping[str, ReplicaView]

    def __missing__(self, name: str) -> ReplicaView:
        view = self[name] = self.before[name]
        return view

    def get(self, name: str, default: Any = None) -> Any:
        """The log of a replica; a search has no names of others."""
        del default
        return self[name]


class _Broken:
    """Takes what invariants report, as a mask."""

    def __init__(self) -> None:
        self.mask = 0

    def by(self, name: str) -> Callable[..., None]:
        bit = BIT[name]

        def report(*_where: object, **_evidence: object) -> None:
            self.mask |= bit

        return report

    def taken(self) -> int:
        mask, self.mask = self.mask, 0
        return mask


class MemberJudge:
    """Judges a move by its events, on the replicas that it touches.

    Attributes:
        history: History with every record that was ever written in the search.
    """

    def __init__(self, rules: Rules) -> None:
        """Starts without any written record."""
        discover()
        self.history = ClusterHistory(rules)
        self.history.replicas = self._asked = _Asked()
        self._broken = _Broken()
        self._handlers: dict[type, list[Callable[[Any], None]]] = {}
        for name in BY_EVENTS:
            invariant = INVARIANTS[name](self.history, self._broken.by(name))
            for kind, handler in handlers_of(invariant).items():
                self._handlers.setdefault(kind, []).append(handler)

    def follow(
        self, events: Sequence[Event], before: Mapping[str, ReplicaView]
    ) -> tuple[dict[str, tuple[int, ...]], int]:
        """Judges events; returns the lineages that they used, by replica, and the broken mask.

        Args:
            events: Events of a move.
            before: The log of each replica before the move.
        """
        if not events:
            return {}, 0
        history = self.history
        self._asked.clear()
        self._asked.before = before
        history.disagreements = []
        for event in events:
            history.contested_offsets.clear()
            take_in = history.handlers.get(type(event))
            if take_in is not None and not isinstance(event, LeaderElected):
                take_in(event)  # who leads, and what is committed by that, is judged elsewhere
            for handler in self._handlers.get(type(event), ()):
                handler(event)
        lineages = {
            name: tuple(one.lineage)
            for name, one in history.replicas.items()
            if "lineage" in vars(one)
        }
        return lineages, self._broken.taken()


class StateJudge:
    """Judges logs by the committed history, and states at rest."""

    def __init__(self, rules: Rules, judge: MemberJudge, world: World) -> None:
        """Judges by the records that `judge` knows."""
        self._rules, self._judge, self._names = rules, judge, world.names
        self._broken = _Broken()
        self._histories: dict[History, ClusterHistory] = {}
        self._own: dict[tuple[str, ReplicaView], ReplicaView] = {}
        self._at_rest: dict[History, list[Callable[[Any], None]]] = {}
        self._replicated: dict[History, Callable[[Any], None]] = {}

    def incomplete(self, view: ReplicaView, was: History) -> bool:
        """Returns True if a new leader lacks a committed record."""
        history = self._history(was)
        self._seat(history, {view.name: view}, view.name)
        known = len(was.committed)
        return history.first_missing(view, known, twice_counts=True) is not None

    def too_few(
        self, views: Sequence[ReplicaView], was: History, leader: str, isr: tuple[str, ...]
    ) -> int:
        """Mask with `committed-replicated` if too few replicas have all that was committed."""
        history, named = self._history(was), self._named(views)
        self._seat(history, named, leader)
        history.isr, history.voters = isr, self._names
        mark = named[leader].high_watermark
        self._replicated[was](HighWatermarkMoved(leader, mark, leading=True))
        return self._broken.taken()

    def shows_deleted(self, view: ReplicaView, was: History) -> bool:
        """Returns True if a live, caught-up replica shows a value of a deleted key."""
        known = len(was.committed)
        if not view.up or view.high_watermark < known or len(view.slots) < known:
            return False
        history = self._history(was)
        if not history.deleted:
            return False
        self._seat(history, {view.name: view}, None)
        return bool(undone_deletes(history, view))

    def contradicts(self, view: ReplicaView, was: History) -> bool:
        """Returns True if a snapshot contradicts the committed history below its end."""
        if not view.snapshots:
            return False
        history = self._history(was)
        self._seat(history, {view.name: view}, None)
        taken = [SnapshotTaken(view.name, *id_, held) for id_, held in view.snapshots.items()]
        self._hand((SNAPSHOTS,), history, taken)
        return self._broken.taken() > 0

    def at_rest(self, views: Sequence[ReplicaView], was: History, leader: str) -> int:
        """Mask of broken invariants at rest, when every live replica has fetched everything."""
        history = self._history(was)
        self._seat(history, self._named(views), leader)
        history.contested_offsets.clear()
        history.contested_offsets.update(range(max(len(view.slots) for view in views)))
        history.find_disagreements()
        event = Quiesced(leader, synced=True)
        for handler in self._at_rest[was]:
            handler(event)
        return self._broken.taken()

    def of_two(self, one: ReplicaView, other: ReplicaView) -> int:
        """Mask of the invariants that two logs break together, by records and snapshots."""
        if one is other:
            return 0
        pair, named = ClusterHistory(self._rules), self._named((one, other))
        pair.written, pair.replicas = self._judge.history.written, dict(named)
        pair.find_disagreements(range(min(len(one.slots), len(other.slots))))
        taken = [
            SnapshotTaken(name, end, epoch, records)
            for name, view in named.items()
            for (end, epoch), records in view.snapshots.items()
        ]
        copied = [Copied(name, "", 0, (), 0) for name in named] if pair.disagreements else []
        self._hand((*BY_PAIRS, SNAPSHOTS), pair, [*taken, *copied])
        return self._broken.taken()

    def after(
        self,
        was: History,
        facts: Sequence[tuple[Any, ...]],
        leader: str | None,
        lineage: tuple[int, ...],
    ) -> tuple[History, int]:
        """The committed history after an act, and a mask of broken invariants.

        Args:
            was: The committed history before.
            facts: The facts of the act's effect.
            leader: Name of the replica that was elected last; None without one.
            lineage: Uids that the log of the committing replica ever held, by offset.
        """
        history, committed = self._history(was), list(was.committed)
        history.recommitted = []
        for fact in facts:
            if fact[0] == "appended":
                batch = history.written[fact[2]].batch
                self._hand(("no-offset-reuse",), history, [Appended("", batch)])
            elif fact[0] == "elected":
                committed += lineage[len(committed) : fact[2]]
            elif fact[1] == leader:
                _, name, before, mark = fact
                history.commit_again(before, list(lineage[before : min(mark, len(committed))]))
                moved = HighWatermarkMoved(name, mark, leading=True)
                self._hand(("state-machine-safety",), history, [moved])
                committed += lineage[len(committed) : mark]
        twice = tuple(sorted(history.committed_twice))
        history.committed_twice = dict.fromkeys(was.twice, 0)
        return History(tuple(committed), twice), self._broken.taken()

    def _hand(self, names: Sequence[str], history: ClusterHistory, events: Sequence[Event]) -> None:
        """Hands events that a history has taken in to invariants."""
        for name in names if events else ():
            handlers = handlers_of(INVARIANTS[name](history, self._broken.by(name)))
            for event in events:
                if type(event) in handlers:
                    handlers[type(event)](event)

    def _named(self, views: Sequence[ReplicaView]) -> dict[str, ReplicaView]:
        """Copies of views under the names of the first replicas; equal logs come as one view."""
        named = {}
        for name, view in zip(self._names, views, strict=False):
            own = self._own.get((name, view))
            if own is None:
                own = self._own[name, view] = copy(view)
                own.name, own.unexplained_offsets = name, set()
            named[name] = own
        return named

    def _seat(
        self, history: ClusterHistory, views: Mapping[str, ReplicaView], leader: str | None
    ) -> None:
        history.replicas.clear()
        history.replicas.update(views)
        history.leader = leader
        for view in views.values():
            view.unexplained_offsets.clear()
            history.compare(view, view.log_start_offset, history.committed[view.log_start_offset :])

    def _history(self, was: History) -> ClusterHistory:
        """The history of the checker for a committed history."""
        found = self._histories.get(was)
        if found is None:
            found = self._histories[was] = ClusterHistory(self._rules)
            found.written = self._judge.history.written
            found.uids_of_key = self._judge.history.uids_of_key
            found.commit(0, list(was.committed))
            found.committed_twice.update(dict.fromkeys(was.twice, 0))
            handlers: list[Callable[[Any], None]] = [
                guarded_handlers_of(INVARIANTS[name], found, self._broken.by(name))[Quiesced]
                for name in searchable()[len(JUDGED) :]
            ]
            for name in AT_REST:
                invariant = INVARIANTS[name](found, self._broken.by(name))
                handlers.append(handlers_of(invariant)[Quiesced])
            self._at_rest[was] = handlers
            name = "committed-replicated"
            replicated = INVARIANTS[name](found, self._broken.by(name))
            self._replicated[was] = handlers_of(replicated)[HighWatermarkMoved]
        return found

"""Voters on the pure core for the state machine: messages in any order, late answers, no clock."""

from collections.abc import Sequence

from sim.check import Checker
from sim.protocol.events import Event, ReplicaAdded
from sim.protocol.log import Record, data_batch
from sim.protocol.replication import Replica, elections, follower, leader
from sim.protocol.replication.messages import FetchResponse
from sim.protocol.replication.recovery import recover
from sim.protocol.replication.replica import crash
from sim.protocol.rules import Rules

VOTERS = ("r1", "r2", "r3", "r4", "r5")

RAFT = (
    "election-safety",
    "epoch-monotonic",
    "hw-monotonic",
    "hw-within-log",
    "leader-append-only",
    "leader-completeness",
    "log-matching",
    "no-truncation-below-hw",
    "offset-epoch-uniqueness",
    "state-machine-safety",
)
"""Raft's five properties, and what they rest on."""


class Quorum:
    """Five voters that elect, replicate and commit by majority; several may believe they lead.

    A checker sees each event.
    """

    def __init__(self, rules: Rules) -> None:
        self.checker = Checker(rules, RAFT, zombies_count=False)
        self.replicas = {name: Replica(name) for name in VOTERS}
        self.rules = rules
        self.late: list[tuple[str, FetchResponse]] = []
        self.events = 0
        self.uids = 0
        self._emit([ReplicaAdded(name) for name in VOTERS])

    def _emit(self, events: Sequence[Event]) -> None:
        for event in events:
            self.events += 1
            self.checker.on(self.events, event)

    def campaign(self, name: str, asked: Sequence[str], *, ahead: int = 1) -> bool:
        """A live voter stands in an epoch above its own; whether it wins with those it asks."""
        candidate = self.replicas[name]
        if not candidate.up:
            return False
        epoch = candidate.epoch + ahead
        voters = [self.replicas[other] for other in asked if other != name]
        granting = elections.wins(
            candidate, voters, voter_count=len(VOTERS), epoch=epoch, rules=self.rules
        )
        elections.votes_for(candidate, epoch, name)
        entry = elections.last_entry(candidate)
        for voter in voters:
            free = elections.is_free(voter, epoch, name, rules=self.rules)
            if voter.up and free and elections.grants_vote(voter, entry):
                elections.votes_for(voter, epoch, name)
            elif voter.up:
                voter.sees(epoch)
        if granting is None:
            return False
        self.uids += 1
        self._emit(
            elections.become_leader(
                candidate,
                epoch,
                isr=VOTERS,
                voters=VOTERS,
                rules=self.rules,
                now_ms=0,
                leader_change_uid=self.uids,
            )
        )
        return True

    def append(self, name: str) -> None:
        """Whoever believes to lead takes a write."""
        writer = self.replicas[name]
        if writer.up and writer.leadership is not None:
            self.uids += 1
            record = Record(writer.log.log_end_offset, "k", "v", 0, (), uid=self.uids)
            batch = data_batch((record,), epoch=writer.leadership.epoch)
            self._emit(leader.append(writer, batch, rules=self.rules, now_ms=0).events)

    def ask(self, name: str, source: str, *, most: int | None) -> None:
        """A follower asks whom it takes for the leader; the answer is on its way."""
        fetcher, answering = self.replicas[name], self.replicas[source]
        if fetcher is answering or not (fetcher.up and answering.up):
            return
        if fetcher.leadership is not None:
            return
        request = follower.fetch_request(fetcher, max_batches=most)
        if answering.leadership is not None and request.epoch > answering.leadership.epoch:
            answering.sees(request.epoch)
        answered = leader.answer_fetch(answering, request, rules=self.rules)
        response, events = answered.response, answered.events
        self._emit(events)
        self.late.append((name, response))

    def deliver(self, index: int, *, again: bool = False) -> None:
        """One of the answers on their way arrives, perhaps not for the last time."""
        if self.late:
            index %= len(self.late)
            name, response = self.late[index] if again else self.late.pop(index)
            if self.replicas[name].up:
                made = self.replicas[name]
                self._emit(
                    follower.receive_fetch(made, response, rules=self.rules, now_ms=0).events
                )

    def crash(self, name: str, *, lose: int) -> None:
        """A voter goes down; a leader may lose what nobody was told it has."""
        down = self.replicas[name]
        if not down.up:
            return
        flushed = down.log.high_watermark
        unsafe = [b for b in down.log.batches() if b.base_offset >= flushed]
        lost = min(lose, len(unsafe)) if down.leadership is not None else 0
        self.late = [(target, answer) for target, answer in self.late if target != name]
        self._emit(crash(down, lost_batches=lost))

    def restart(self, name: str) -> None:
        """A voter comes back with what the rules keep."""
        if not self.replicas[name].up:
            self._emit(recover(self.replicas[name], rules=self.rules))

"""A cluster on the pure core for the state machine: no clock, no network, clean elections only."""

from collections.abc import Sequence

from sim.check import Checker
from sim.protocol.compaction.strategies import encode_version
from sim.protocol.events import Quiesced
from sim.protocol.log import Record, data_batch
from sim.protocol.replication import Replica, elections, follower, leader
from sim.protocol.replication.cleaning import Cleaner, stable_offset
from sim.protocol.replication.replica import crash, restart, wipe
from sim.protocol.rules import Rules
from tests.walks.walking import Watched

NAMES = ("r1", "r2", "r3")

OFFSET_SAFETY = (
    "committed-replicated",
    "compaction-bound",
    "election-safety",
    "follower-position-sound",
    "hole-justified",
    "leader-completeness",
    "log-matching",
    "no-offset-reuse",
    "offset-epoch-uniqueness",
    "record-offset-uniqueness",
    "replica-convergence",
    "slot-agreement",
    "state-machine-safety",
)
"""What a fix for the lost log end has to keep.

`no-truncation-below-hw` is not among it: an epoch without a batch makes a replica that is out of
sync cut committed records, whatever the fix (scenarios/epochs/epochcache_03).
"""


class Cluster(Watched):
    """Three replicas; r1 leads first and all are in sync."""

    def __init__(self, rules: Rules, invariants: Sequence[str]) -> None:
        super().__init__(NAMES, Checker(rules, invariants))
        self.rules = rules
        self.isr: tuple[str, ...] = NAMES
        self.epoch = 0
        self.elect("r1")

    @property
    def acting(self) -> Replica | None:
        """The leader, while it is up."""
        found = self.replicas[self.leading]
        return found if found.up and found.leadership is not None else None

    def elect(self, name: str) -> None:
        """A member of the in-sync set leads the next epoch."""
        self.epoch += 1
        self.leading = name
        self.uids += 1
        self._emit(
            elections.become_leader(
                self.replicas[name],
                self.epoch,
                isr=self.isr,
                voters=NAMES,
                rules=self.rules,
                now_ms=0,
                leader_change_uid=self.uids,
            )
        )

    def append(self, key: str, version: int) -> None:
        """The leader appends a record with a version header."""
        acting = self.acting
        if acting is None:
            return
        self.uids += 1
        header = (self.rules.topic.strategy_header, encode_version(version))
        record = Record(acting.log.log_end_offset, key, "v", 0, (header,), uid=self.uids)
        batch = data_batch((record,), epoch=self.epoch)
        self._emit(leader.append(acting, batch, rules=self.rules, now_ms=0).events)

    def fetch(self, name: str, *, most: int | None = None) -> None:
        """One round trip of a live follower."""
        fetcher, acting = self.replicas[name], self.acting
        if acting is None or not fetcher.up or fetcher is acting:
            return
        request = follower.fetch_request(fetcher, max_batches=most)
        answered = leader.answer_fetch(acting, request, rules=self.rules)
        response, events = answered.response, answered.events
        self._emit(events)
        self._emit(follower.receive_fetch(fetcher, response, rules=self.rules, now_ms=0).events)

    def shrink(self, name: str) -> None:
        """A follower falls out of the in-sync set."""
        acting = self.acting
        if acting is not None and name != acting.name and name in self.isr:
            self.isr = tuple(member for member in self.isr if member != name)
            self._emit(leader.set_isr(acting, self.isr, rules=self.rules))

    def expand(self, name: str) -> None:
        """A live follower asks to join the in-sync set."""
        acting = self.acting
        if acting is not None and acting.leadership is not None and self.replicas[name].up:
            self._emit(leader.expand_isr(acting, name, rules=self.rules))
            self.isr = acting.leadership.isr

    def clean(self, name: str) -> None:
        """One cleaning pass of a live replica."""
        replica = self.replicas[name]
        if replica.up:
            bound = stable_offset(replica, rules=self.rules)
            self._emit(Cleaner(self.rules).run(replica, upper_bound=bound, now_ms=0).events)

    def crash(self, name: str) -> None:
        """A replica goes down; nothing is lost."""
        self._emit(crash(self.replicas[name]))

    def restart(self, name: str) -> None:
        """A replica comes back."""
        if not self.replicas[name].up:
            self._emit(restart(self.replicas[name]))

    def replace(self, name: str) -> None:
        """The disk of a replica out of sync is replaced."""
        if name not in self.isr and name != self.leading:
            self._emit(wipe(self.replicas[name], reason="a new disk"))

    def come_to_rest(self) -> None:
        """Everybody is up, follows and fetches to the end; then the cluster is judged."""
        for name in NAMES:
            self.restart(name)
        for _ in range(2):
            for name in NAMES:
                for _ in range(4):
                    self.fetch(name)
        self._emit([Quiesced(self.leading, synced=True)])

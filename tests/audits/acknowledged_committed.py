"""What `acks: all` promises: whoever is told that a batch is written is told of a committed one."""

from collections import defaultdict

from sim.check.violation import Value
from sim.protocol.events import (
    Acknowledged,
    Appended,
    Copied,
    HighWatermarkMoved,
    LeaderElected,
    Quiesced,
    UncleanElection,
)
from tests.audits.law import Law


class AcknowledgedCommitted(Law):
    """Nothing is acknowledged with acks=all before it is committed by the run's rule.

    When leader L acknowledges [first, last] with acks=all at time t::

        for all o in [first, last]: o < HW(L, t)  and  C[o] = uid(L, o)  and  n(o) >= N

    HW(L, t) is L's high watermark; C[o] is the record that was committed at o first; n(o) is how
    many logs had offset o when it was committed or before (a crash may have taken it, or the
    replica has left since), and N what the rule asks for at least: min.insync.replicas with
    `commit: isr`, else one. That every member of the in-sync set, or a majority of the voters, has
    it is what a high watermark says; `committed-replicated` judges that. A leader that has not
    heard of its successor commits nothing by itself: what it acknowledges has to be C[o] at rest.

    Not judged: acks=1, which promises nothing here (`acknowledged-kept`), and an offset that was
    committed twice, of which `state-machine-safety` tells.
    """

    name = "acknowledged-committed"
    source = "producer configuration acks, topic configuration min.insync.replicas; DelayedProduce"
    says = "{replica} told a producer that {record} at {offset} is committed, but "

    def begin(self) -> None:
        """Nothing is committed yet."""
        rules = self.history.rules
        self._needed = rules.topic.min_isr if self.history.by_isr else 1
        self._seen = 0
        self._taken = False
        self._too_few: dict[int, int] = {}
        self._had_below: defaultdict[str, int] = defaultdict(int)
        self._owed: list[tuple[str, int, int, int]] = []

    def on_appended(self, event: Appended) -> None:
        """So has the leader that wrote it, which may follow another one before it leaves."""
        end, had = event.batch.last_offset + 1, self._had_below
        had[event.replica] = max(end, had[event.replica])

    def on_copied(self, event: Copied) -> None:
        """Once it was there: a leader may have counted it before a crash took it."""
        if event.log_end_offset > self._had_below[event.replica]:
            self._had_below[event.replica] = event.log_end_offset

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Count who has what is committed just now."""
        if event.leading:
            self._count()

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Count who has what a deposed leader has committed, and its successor knows."""
        self._count()

    def _count(self) -> None:
        """Note offsets committed since that fewer logs had than have to."""
        if self._needed == 1:
            return
        committed = len(self.committed)
        for offset in range(self._seen, committed):
            found = sum([self._has(name, offset) for name in {*self.replicas, *self._had_below}])
            if found < self._needed:
                self._too_few[offset] = found
        self._seen = committed

    def _has(self, name: str, offset: int) -> bool:
        """Says whether a replica has an offset, or had it, as one that has left for good."""
        view = self.replicas.get(name)
        had = offset < self._had_below[name]
        return had or (view is not None and self.history.accounts_for(view, offset))

    def on_acknowledged(self, event: Acknowledged) -> None:
        """Compare what the producer is told with what is committed."""
        replica, first, last, acks = (
            event.replica,
            event.first_offset,
            event.last_offset,
            event.acks,
        )
        if acks != "all":
            return
        end, view = last + 1, self.replicas[replica]
        as_committed = self.committed[first:end] == view.lineage[first:end]
        if end <= view.high_watermark and as_committed and not self._too_few:
            return
        for offset in range(first, end):
            uid = view.lineage[offset] if offset < len(view.lineage) else 0
            if offset < view.high_watermark and replica != self.history.leader:
                self._owed.append((replica, uid, offset, self.history.at))
            else:
                self._judge(replica, uid, offset)

    def on_unclean_election(self, event: UncleanElection) -> None:
        """Takes what the leader before commits, until it hears of that, as everything it has."""
        self._taken = True

    def on_quiesced(self, event: Quiesced) -> None:
        """Judge what leaders acknowledged that had not heard of their successors."""
        if self._taken:
            return
        for replica, uid, offset, at in self._owed:
            self._judge(replica, uid, offset, at)

    def _judge(self, replica: str, uid: int, offset: int, began: int | None = None) -> None:
        known, evidence = len(self.committed), dict[str, Value]()
        if began is None and offset >= self.replicas[replica].high_watermark:
            why = "its high watermark is {high_watermark}."
            evidence = {"high_watermark": self.replicas[replica].high_watermark}
        elif offset >= known:
            why = "nothing is committed from {committed_below} on."
            evidence = {"committed_below": known}
        elif self.committed[offset] != uid:
            why, evidence = "{first} is committed there.", {"first": self.committed[offset]}
        elif offset in self._too_few:
            why = "{counted} logs had it then, {needed} are needed."
            evidence = {"counted": self._too_few[offset], "needed": self._needed}
        else:
            return
        if offset not in self.history.committed_twice:
            key = self.history.key_of(uid)
            self.broken(replica, offset, key, self.says + why, record=uid, **evidence)

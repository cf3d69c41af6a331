"""A coordinator answers by nothing older than what was committed before its epoch."""

from sim.check.invariant import ReaderInvariant
from sim.trace import CoordinatorAnswered, CoordinatorLoaded, LeaderElected, Quiesced


class CoordinatorServesLoaded(ReaderInvariant):
    """What a coordinator serves is at least as new as all that was committed when it was elected.

    For the coordinator of (r, e), its election at log end offset s with N committed offsets, a key
    k and w the winner of k among committed, decided records below min(s, N): an answer a for k is
    w, or a record that beats w, or none, if w is a tombstone or a written tombstone beats it. The
    same for transactions that a coordinator completes when it is loaded. Data of a transaction is
    served only when it is committed, in committed history or by the markers of its own log. What it
    answers as the leader of the newest epoch is at least as new as all that is decided below its
    own high watermark by then, too.
    At rest nobody was told to come back and has not: its last answer is no refusal of longer than
    ten times the patience of a producer before others were answered.
    Judged: on each answer, each load, and at rest. Excused: what an unclean election lost, which
    lies at or above s; refusals.
    """

    source = (
        "CoordinatorRuntime, CoordinatorLoaderImpl.doLoad; TransactionStateManager; KIP-630, "
        "Motivation: loading, and tombstones that are lost"
    )
    explained_by = "coordinator"
    in_stories = False
    says = (
        "{replica}, coordinator of epoch {epoch}, {does} {record} for {key}; when it was elected "
        "{winner} was committed."
    )

    def begin(self) -> None:
        """Nobody was elected."""
        self._winners: dict[tuple[str, int], dict[str, int]] = {}
        self._refused: dict[str, tuple[str, int]] = {}
        self._served: set[str] = set()
        self._last_served = 0

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Note what was committed, as far as the new leader has it."""
        self._winners[(event.replica, event.epoch)] = {
            key: uid
            for key, uid in self.history.winners.items()
            if self.written[uid].offset < event.epoch_start_offset
        }

    def on_coordinator_loaded(self, event: CoordinatorLoaded) -> None:
        """Judge what it completes."""
        for record in event.pending:
            if record.key is not None:
                self._judge(event.replica, event.epoch, record.key, record.uid, "completes")

    def on_coordinator_answered(self, event: CoordinatorAnswered) -> None:
        """Judge what it tells."""
        if event.error != "NONE":
            self._refused[event.client] = event.replica, self.history.at
        else:
            self._served.add(event.client)
            self._last_served = self.history.at
            uid = event.records[0].uid if event.records else 0
            self._judge(event.replica, event.epoch, event.key, uid, "answers with")
            self._judge_what_is_new(event, uid)

    def on_quiesced(self, _: Quiesced) -> None:
        """Look who was told to come back, and has not."""
        patience_ms = self.history.patience_ms
        for client, (replica, at_ms) in self._refused.items():
            waited_ms = self._last_served - at_ms
            if client not in self._served and patience_ms and waited_ms > 10 * patience_ms:
                says = "{client} was told by {replica} to come back, and has not in {waited_ms} ms."
                self.violated(replica, None, None, says, client=client, waited_ms=waited_ms)

    def _judge_what_is_new(self, event: CoordinatorAnswered, uid: int) -> None:
        """It leads, and has heard of what was committed since it was elected."""
        history, known = self.history, self.replicas[event.replica].high_watermark
        winner = history.winners.get(event.key)
        leads = event.epoch == history.newest_epoch and event.replica == history.leader
        if winner is None or not leads or known < len(history.committed):
            return
        if winner == self._winners.get((event.replica, event.epoch), {}).get(event.key):
            return  # judged already
        if uid != winner and not self._is_newer(uid, winner):
            says = (
                "{replica}, coordinator of epoch {epoch}, answers with {record} for {key}; "
                "{winner} is committed by now."
            )
            offset = self.written[winner].offset
            told = {"epoch": event.epoch, "record": uid, "winner": winner}
            self.violated(event.replica, offset, event.key, says, **told)

    def _judge(self, replica: str, epoch: int, key: str, uid: int, does: str) -> None:
        history = self.history
        if uid and self.written[uid].batch.transactional and history.status.get(uid) is not True:
            view = self.replicas[replica]
            if history.verdict_in(view, uid) is not True:
                at = self.written[uid].offset
                says = (
                    "{replica}, coordinator of epoch {epoch}, {does} {record}, which is undecided."
                )
                self.violated(replica, at, key, says, epoch=epoch, does=does, record=uid)
        winner = self._winners.get((replica, epoch), {}).get(key)
        if winner is not None and uid != winner and not self._is_newer(uid, winner):
            offset = self.written[winner].offset
            self.violated(replica, offset, key, epoch=epoch, does=does, record=uid, winner=winner)

    def _is_newer(self, uid: int, winner: int) -> bool:
        """An answer other than the winner may come from a record that beats it."""
        newer = self.history.beating(winner)
        return (
            uid in newer
            if uid
            else self.written[winner].tombstone
            or any(
                self.written[other].tombstone and other not in self.history.aborted
                for other in newer
            )
        )

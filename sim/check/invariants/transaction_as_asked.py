"""Transactions: as a whole they become what their producer asked for, one after the other."""

from collections import defaultdict

from sim.check.facts import Asked
from sim.check.invariant import TransactionInvariant
from sim.trace import Appended, Quiesced

_NOT_ENDED = (
    "{replica} appended data of producer {producer} at {offset} while {record}, of the transaction"
    " before, is committed and undecided."
)
_NOT_ASKED = "{record} is committed, but its producer did not ask to commit its transaction."
_IN_PART = "{record} is committed, but {missing}, of the same transaction, is not."


class TransactionAsAsked(TransactionInvariant):
    """A transaction ends as its producer asked, as a whole, and before the next one begins.

    With S(T) the values that a producer sends in its transaction T::

        a value of S(T) is committed, as data of a transaction that was, at rest
            =>  its producer asked to commit T, and every value of S(T) is
        data of another transaction of the producer is appended
            =>  what is committed of S(T), and in the log it is appended to, is decided by then

    since a producer has one request in flight, and its coordinator is answered when the marker is
    committed. Judged: as data is appended, and at rest. Excused: offsets that were committed twice,
    and deletes, which no value tells apart. A transaction whose producer asked to commit it may
    abort all the same: by a newer instance, or since a batch of it was given up.
    """

    source = "KIP-98, Transactional Guarantees; TransactionMarkerChannelManager; KIP-890; KIP-1228"
    in_stories = False

    def begin(self) -> None:
        """What is sent in each transaction is known before."""
        self._values: defaultdict[Asked, set[str]] = defaultdict(set)
        for value, asked in self.history.asked.items():
            self._values[asked].add(value)

    def on_appended(self, event: Appended) -> None:
        """Look for an earlier transaction of the producer that is open."""
        replica, batch = event
        if not (self._values and batch.transactional and batch.control is None):
            return
        own = {asked for each in batch.records if (asked := self._asked(each.value))}
        lineage = self.replicas[replica].lineage
        for uid in self.history.undecided.get(batch.producer_id, ()) if own else ():
            record = self.written[uid].record
            asked = self._asked(record.value)
            if asked is not None and asked not in own and uid in lineage[record.offset :][:1]:
                told = {"producer": batch.producer_id, "record": uid}
                self.violated(replica, batch.base_offset, None, _NOT_ENDED, **told)
                return

    def on_quiesced(self, _: Quiesced) -> None:
        """Compare what is committed with what was asked for."""
        committed: defaultdict[Asked, dict[str, int]] = defaultdict(dict)
        for uid, decided in self.history.status.items() if self._values else ():
            value = self.written[uid].record.value
            asked = self._asked(value)
            if decided and asked is not None and value is not None:
                committed[asked][value] = uid
        for asked, found in committed.items() if not self.history.committed_twice else ():
            uid, missing = min(found.values()), self._values[asked] - found.keys()
            if not asked[-1]:
                self.violated_by(None, uid, None, _NOT_ASKED, transaction=asked[1])
            elif missing:
                self.violated_by(None, uid, None, _IN_PART, missing=min(missing))

    def _asked(self, value: str | None) -> Asked | None:
        return None if value is None else self.history.asked.get(value)

"""A producer's records are written in the order in which it sends them."""

from sim.check.invariant import Invariant
from sim.protocol.events import Appended


class SendsInOrder(Invariant):
    """Records of a producer are written in the order in which it was told to send them.

    With place(x) the place of value x among all that is sent, and x and y appended, x first, by an
    idempotent producer in one epoch under sequence numbers s(x) and s(y)::

        s(x) < s(y)  =>  place(x) < place(y)

    since it has one request in flight. Judged: as data is appended whose numbers are above all that
    were; the others are repeated, or late, which `producer-sequences` judges. Excused: deletes,
    which no value tells apart, and values that are sent twice.
    """

    source = "KIP-98, Idempotent Producer Guarantees; RecordAccumulator.append and .drain"
    explained_by = "sequences"
    in_stories = False
    says = "{replica} appended {record} of producer {producer} after {other_record}, sent later."

    def begin(self) -> None:
        """Nothing was sent."""
        self._newest: dict[tuple[int, int], tuple[int, int]] = {}

    def on_appended(self, event: Appended) -> None:
        """Compare with what the producer has sent before."""
        (replica, batch), places = event, self.history.places
        first, sender = batch.base_sequence, (batch.producer_id, batch.producer_epoch)
        highest, before = self._newest.get(sender, (-1, 0))
        if first <= highest or not places or batch.control is not None:
            return
        for record in batch.records:
            place = places.get(record.value or "")
            if place is not None:
                if before and place < places[self._value_of(before)]:
                    told = {"record": record.uid, "other_record": before}
                    at, key = record.offset, record.key
                    self.violated(replica, at, key, producer=batch.producer_id, **told)
                before = record.uid
        self._newest[sender] = (first + len(batch.records) - 1, before)

    def _value_of(self, uid: int) -> str:
        return self.written[uid].record.value or ""

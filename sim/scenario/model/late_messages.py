"""Messages that come when nobody counts on them any more: again, or long after they are due."""

from __future__ import annotations

from dataclasses import dataclass

from sim.files.bounds import LatencyRange, Loss, Share


@dataclass(frozen=True, slots=True)
class LateMessages:
    """Requests and answers between replicas, and of clients, that come late or again.

    Who waits for an answer closes the connection when its patience is over, and asks again on
    another; what it had sent may be read and acted on after what it sends then. `late`: share of
    the messages that take so much longer. `repeated`: share of them that arrive a second time.
    `later_ms`: by how much, in ms, from and to (inclusive), as likely to be short as long. When the
    faults end, all connections are closed: what is still on its way then does not arrive.
    """

    late: Loss = 0.0
    repeated: Share = 0.0
    later_ms: LatencyRange = (20, 3_000)

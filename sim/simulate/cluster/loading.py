"""The time a state machine takes to load: after a restart, and after a snapshot was installed.

Log and quorum do not wait for it; but a leader whose state machine is not loaded takes no writes
(QuorumController becomes active when it has read its log), and a replica takes no snapshots.
"""

from __future__ import annotations

from simpy.events import ProcessGenerator, Timeout

from sim.protocol.events import StateLoaded
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.waiting import Lives


class StateLoader:
    """The state machine of one replica, as far as it takes time.

    Attributes:
        loading: Whether it is not there yet.
    """

    def __init__(self, broker: Broker) -> None:
        """A state machine that is there."""
        self._broker = broker
        self._lives = Lives(broker.env)
        self._us_per_record = broker.context.scenario.timers.load_us_per_record
        self.loading = False

    def begin(self) -> None:
        """Load the snapshot that the log continues, and the log below the high watermark."""
        broker = self._broker
        if self._us_per_record == 0:
            return
        replica = broker.replica
        base, end = replica.base_snapshot(), replica.log.high_watermark
        from_snapshot = 0 if base is None else len(base.records)
        from_log = sum(
            len(batch.records) for batch in replica.log.batches() if batch.last_offset < end
        )
        took_ms = -(-(from_snapshot + from_log) * self._us_per_record // 1_000)
        self.loading = True
        self._lives.interrupt()
        loaded = StateLoaded(broker.name, end, from_snapshot, from_log, took_ms)
        self._lives.start(self._load(broker.env.timeout(took_ms, loaded)))

    def stop(self) -> None:
        """Forget it, as a crash does."""
        self._lives.interrupt()
        self.loading = False

    def _load(self, done: Timeout) -> ProcessGenerator:
        loaded = yield done
        self.loading = False
        self._broker.context.emit(loaded)

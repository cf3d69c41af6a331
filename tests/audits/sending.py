"""The messages of a run at the moment they are sent, and what one audit of them looks like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from sim.protocol.events import Event, FaultInjected, HighWatermarkMoved
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import Overdue

WITHOUT_ERROR: Final = (of.RECORDS, of.Answer.DIVERGING, of.Answer.SNAPSHOT)
"""Answers to a fetch after which a voter has heard of its leader, and has fetched from it.

Source: KafkaRaftClient.handleFetchResponse.
"""

Audited = Literal["answer", "message", "decision", "disk"]
"""What is looked at: an answer, a message out of date, a decision, a disk after a restart."""

Failed = Callable[[str, Audited, str, object, object], None]
"""Takes what is wrong: at whom, what was looked at, about what, how it is, how it should be."""


class Answers:
    """Base of audits that judge what is sent by what is true of its sender at that moment.

    Attributes:
        nodes: The replicas by name.
        context: The services of the cluster.
        rules: The rules of the run.
        committed: The highest high watermark of a leader so far (exclusive).
        old_epochs: Whether a fault left some replica an older file of epochs than its log.
        failed: Called with what is wrong.
    """

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before the replicas connect."""
        self.nodes = cluster.nodes
        self.context = cluster.context
        self.rules = cluster.context.rules
        self.failed = failed
        self.committed = 0
        self.old_epochs = False

    def sent(self, source: str, target: str, message: Any) -> None:
        """Judges a message from one address to another."""

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes a message that a replica is about to handle."""

    def handled(self, name: str, message: Any) -> None:
        """Looks at a replica that has handled a message."""

    def after(self, event: Event) -> None:
        """Notes what is committed, and whether replicas may know older epochs than their logs."""
        if isinstance(event, HighWatermarkMoved) and event.leading:
            self.committed = max(self.committed, event.high_watermark)
        elif isinstance(event, FaultInjected):
            self.old_epochs = self.old_epochs or "file of epochs" in event.detail

    def wrong(self, replica: str, what: str, found: object, expected: object) -> None:
        """Reports an answer that differs from the truth."""
        if found != expected:
            self.failed(replica, "answer", what, found, expected)


class Listening:
    """Shows messages to audits: those that are sent, and those that replicas handle."""

    def __init__(self, cluster: Cluster, audits: Sequence[Answers]) -> None:
        """Listens to the network of a cluster from now on."""
        self._nodes = cluster.nodes
        self._audits = audits
        network = cluster.context.network
        self._send = network.send
        network.send = self._sent  # type: ignore[method-assign]

    def _sent(self, source: str, target: str, message: Any, delay_ms: int = 0) -> None:
        for audit in self._audits:
            audit.sent(source, target, message)
        self._send(source, target, message, delay_ms)

    def receives(self, name: str, message: Any) -> None:
        """Shows a message that a replica is about to handle, if it is up."""
        overdue = type(message) is Overdue
        if name in self._nodes and self._nodes[name].replica.up:
            for audit in self._audits:
                audit.receives(name, message.message if overdue else message, overdue=overdue)

    def handled(self, name: str, message: Any) -> None:
        """Shows a message that a replica has handled."""
        said = message.message if type(message) is Overdue else message
        if name in self._nodes and self._nodes[name].replica.up:
            for audit in self._audits:
                audit.handled(name, said)

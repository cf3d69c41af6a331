"""The observer of all audits that need more than events: messages, replicas, the scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sim.plugins import Report
from sim.protocol.events import Event
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import CONTROLLER, Overdue
from tests.audits.answers import Said
from tests.audits.caught_up import CaughtUp
from tests.audits.clients import Clients
from tests.audits.decisions import Decisions
from tests.audits.deserved import Deserved
from tests.audits.gates import Gates
from tests.audits.messages import Witness
from tests.audits.sending import Audited, Listening
from tests.audits.sends import Sends, patience_of, places_of
from tests.audits.votes import Votes

NAMES: Final[dict[Audited, tuple[str, str]]] = {
    "answer": ("answer-true", "{replica}: {what}: {found}; it should be {expected}."),
    "message": ("out-of-date-ignored", "{what} had an effect: {found}, {expected} before."),
    "decision": ("decision-justified", "{replica}: {what}: {found}; it should be {expected}."),
    "disk": (
        "restart-finds-disk",
        "{replica} comes back with {found} for its {what}, and went down with {expected}.",
    ),
}
"""What is looked at -> the name of its violations, and what they say."""


class Observer:
    """Looks at every message and, after events, at what replicas keep and decide.

    * `out-of-date-ignored`: a message that is out of date leaves what it speaks of as it was
      (`tests.audits.messages`).
    * `answer-true`: what is sent is true of its sender, and what goes for good may go
      (`tests.audits.answers`, `.deserved`, `.votes`, `.caught_up`, `.gates`, `.clients`).
    * `decision-justified`: who leads, who is in sync and what is committed follows from what is
      true at that moment; `restart-finds-disk`: a replica comes back with its disk as the crash
      left it, and with nothing else (`tests.audits.decisions`).
    * `sends-in-order`, and numbers that are left out (`tests.audits.sends`).
    """

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        scenario = cluster.context.scenario
        self._report = report
        self._context = cluster.context
        self.witness = Witness(cluster, self.failed)
        caught_up = CaughtUp(cluster, self.failed)
        self.decisions = Decisions(self.witness, scenario, caught_up)
        self.answers = (
            self.witness,
            Said(cluster, self.failed),
            Votes(cluster, self.failed),
            caught_up,
            Gates(cluster, self.failed),
            Deserved(cluster, self.failed),
            Clients(cluster, self.failed),
        )
        self._listening = Listening(cluster, self.answers)
        self._sends = Sends(report, places_of(scenario), patience_of(scenario))

    def over(self, name: str, receive: Callable[[Any], None]) -> Callable[[Any], None]:
        """Take the messages for an address, and hand them on."""
        if name == CONTROLLER:
            return lambda message: self.witness.to_controller(receive, message)

        def listen(message: Any) -> None:
            self._listening.receives(name, message)
            if type(message) is Overdue and isinstance(message.message, of.ProduceRequest):
                self._sends.late(self._context.now_ms)
            receive(message)
            self._listening.handled(name, message)

        return listen

    def after(self, at_ms: int, events: Iterable[Event]) -> None:
        """Look at what replicas decide and keep, now that these things have happened."""
        for event in events:
            self._sends.after(at_ms, event)
            for audit in self.answers:
                audit.after(event)
            look = self.decisions.handlers.get(type(event))
            if look is not None:
                look(event)

    def failed(
        self, replica: str, audit: Audited, what: str, found: object, expected: object
    ) -> None:
        """Report what is not as it should be."""
        if str(found) != str(expected):
            name, says = NAMES[audit]
            said = says.format(replica=replica, what=what, found=found, expected=expected)
            self._report(name, said, replica, None)

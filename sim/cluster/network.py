"""The network: links with latency and loss, and what partitions do to them.

A message is one event of the simulator. It is lost when the link drops it, or when the link is cut
at the moment of sending or of arrival; a cut that begins and ends while it travels does not touch
it. Clients (producers and consumers) are outside: partitions never cut them off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import Any

from sim.cluster.clock import Action, Clock
from sim.scenario.model import Network as NetworkSettings

CONTROLLER = "controller"
"""The node of the controller (commit: isr). Its links are cut by partitions but lose nothing."""


class Link:
    """One direction between two nodes.

    Attributes:
        cuts: How many partitions cut it at present.
        lowest_ms: Smallest latency in ms; never below 1.
        span_ms: Number of different latencies.
        loss: Chance that a message is lost.
        draw: Its own stream of numbers in [0, 1).
        network: Where it belongs to.
    """

    __slots__ = ("cuts", "draw", "loss", "lowest_ms", "network", "span_ms")

    def __init__(
        self, network: Network, latency_ms: tuple[int, int], loss: float, random: Random
    ) -> None:
        """A link that works; `latency_ms` is inclusive on both ends."""
        self.network = network
        self.cuts = 0
        self.lowest_ms = max(1, latency_ms[0])
        self.span_ms = max(1, latency_ms[1] - self.lowest_ms + 1)
        self.loss = loss
        self.draw = random.random

    def latency_ms(self) -> int:
        """How long the next message takes, in ms."""
        return self.lowest_ms + int(self.draw() * self.span_ms)

    def loses(self) -> bool:
        """Whether the next message is lost."""
        return self.loss > 0 and self.draw() < self.loss

    def deliver(self, handler: Action, content: tuple[Any, ...]) -> None:
        """A message arrives, unless the link is cut now."""
        if self.cuts:
            self.network.lost += 1
        else:
            handler(*content)


class Network:
    """Who can talk to whom, and how long it takes.

    Attributes:
        links: Source -> target -> the link between them.
        slowest_ms: Largest latency of any link in ms.
        sent: Messages handed to a link.
        lost: Messages that did not arrive.
    """

    def __init__(
        self, clock: Clock, settings: NetworkSettings, random: Callable[[str], Random]
    ) -> None:
        """A network without nodes; `random` gives the stream for a purpose."""
        self._after = clock.after
        self._settings = settings
        self._random = random
        self._exceptions = {(link.source, link.target): link for link in settings.links}
        self.links: dict[str, dict[str, Link]] = {}
        slowest = [settings.latency_ms[1], *(link.latency_ms[1] for link in settings.links)]
        self.slowest_ms = max(1, *slowest)
        self.sent = 0
        self.lost = 0
        self._clients: list[Link] = []

    def add(self, name: str) -> None:
        """Connect a new node with every other one."""
        others = list(self.links)
        self.links[name] = {}
        for other in others:
            self._connect(name, other)
            self._connect(other, name)

    def _connect(self, source: str, target: str) -> None:
        settings = self._exceptions.get((source, target), self._settings)
        reliable = CONTROLLER in (source, target)
        link = Link(
            self,
            settings.latency_ms,
            0.0 if reliable else settings.loss,
            self._random(f"link {source} {target}"),
        )
        self.links[source][target] = link

    def remove(self, name: str) -> None:
        """Disconnect a node for good."""
        self.cut(self.outgoing(name))
        self.cut(self.incoming(name))
        del self.links[name]
        for targets in self.links.values():
            targets.pop(name, None)

    def client(self, name: str) -> Link:
        """A link between a client and whichever replica it talks to."""
        settings = self._settings
        link = Link(self, settings.latency_ms, settings.loss, self._random(name))
        self._clients.append(link)
        return link

    def send(self, source: str, target: str, handler: Action, *content: Any) -> None:
        """Call `handler(*content)` at the target after the link's latency, unless it is lost."""
        link = self.links[source][target]
        self.sent += 1
        if link.cuts or (link.loss and link.draw() < link.loss):
            self.lost += 1
            return
        delay_ms = link.lowest_ms + int(link.draw() * link.span_ms)
        self._after(delay_ms, link.deliver, handler, content)

    def outgoing(self, name: str, peers: Collection[str] = ()) -> list[Link]:
        """The links on which `name` sends, to `peers` if there are any, else to everybody."""
        targets = self.links[name]
        return [link for target, link in targets.items() if not peers or target in peers]

    def incoming(self, name: str, peers: Collection[str] = ()) -> list[Link]:
        """The links on which `name` receives, from `peers` if there are any."""
        return [
            targets[name]
            for source, targets in self.links.items()
            if name in targets and (not peers or source in peers)
        ]

    def reaches(self, source: str, target: str) -> bool:
        """Whether messages from `source` to `target` get through, loss aside."""
        return self.links[source][target].cuts == 0

    def is_sound(self, one: str, other: str) -> bool:
        """Whether no message between two nodes can be lost at present, in either direction."""
        there, back = self.links[one][other], self.links[other][one]
        return not (there.cuts or back.cuts or there.loss or back.loss)

    @staticmethod
    def cut(links: Iterable[Link]) -> None:
        """Cut links once more."""
        for link in links:
            link.cuts += 1

    @staticmethod
    def mend(links: Iterable[Link]) -> None:
        """Undo one cut of each of the links."""
        for link in links:
            link.cuts -= 1

    def heal(self) -> None:
        """Undo every cut, and lose nothing any more."""
        for targets in self.links.values():
            for link in targets.values():
                link.cuts = 0
                link.loss = 0.0
        for link in self._clients:
            link.loss = 0.0

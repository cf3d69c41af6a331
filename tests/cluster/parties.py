"""Who a network carries messages between, in its tests."""

from collections.abc import Callable
from typing import Any

import simpy

from sim.simulate.cluster.network import CONTROLLER, Network


class Parties:
    """Two replicas, a client and the controller, that note what a network brings them."""

    def __init__(self, connect: Callable[[simpy.Environment], Network]) -> None:
        self.env = simpy.Environment()
        self.network = connect(self.env)
        self.got: list[tuple[str, Any, int]] = []
        for name in ("r1", "r2", CONTROLLER):
            self.network.add(name, self.taker(name))
        self.network.add_client("c1", self.taker("c1"))

    def taker(self, name: str) -> Any:
        return lambda message: self.got.append((name, message, int(self.env.now)))

    def after(self, ms: int) -> list[tuple[str, Any, int]]:
        self.env.run(until=self.env.now + ms)
        got, self.got = self.got, []
        return got

"""Links: what arrives, when, and what a cut, a loss or a removal takes."""

from random import Random

import pytest

from sim.simulate.cluster.network import CONTROLLER, Network
from sim.simulate.scenario.model import Link
from sim.simulate.scenario.model import Network as NetworkSettings
from tests.cluster.parties import Parties


def _parties(settings: NetworkSettings) -> Parties:
    return Parties(lambda env: Network(env, settings, Random))


def test_a_message_arrives_after_the_latency_of_its_direction() -> None:
    there = Link("r1", "r2", latency_ms=(9, 9))
    parties = _parties(NetworkSettings((3, 3), links=(there,)))
    parties.network.send("r1", "r2", "there")
    parties.network.send("r2", "r1", "back")
    parties.network.send("c1", "r1", "later", 20)

    assert parties.after(50) == [("r1", "back", 3), ("r2", "there", 9), ("r1", "later", 23)]


def test_a_cut_takes_what_is_sent_and_what_would_arrive_but_not_what_clients_say() -> None:
    parties = _parties(NetworkSettings((5, 5)))
    network = parties.network
    network.send("r1", "r2", "on its way")
    links = network.links_of("r1")
    network.cut(links)
    network.send("r1", CONTROLLER, "lost")
    network.send("r2", "r1", "the other direction")
    network.send("c1", "r1", "from a client")
    network.send("r1", "c1", "to a client")

    assert {message for _, message, _ in parties.after(10)} == {
        "the other direction",
        "from a client",
        "to a client",
    }
    assert (network.sent, network.lost) == (3, 2)
    assert not network.reaches("r1", "r2")
    network.mend(links)
    assert network.reaches("r1", "r2")


def test_a_cut_that_is_mended_before_a_message_would_arrive_takes_what_was_sent_meanwhile() -> None:
    parties = _parties(NetworkSettings((5, 5)))
    network = parties.network
    links = network.links_of("r1")
    network.send("r1", "r2", "before")
    network.cut(links)
    network.send("r1", "r2", "meanwhile")
    network.mend(links)
    network.send("r1", "r2", "after")

    assert [message for _, message, _ in parties.after(10)] == ["before", "after"]


def test_after_the_faults_nothing_is_cut_or_lost() -> None:
    parties = _parties(NetworkSettings((1, 5), loss=0.9))
    network = parties.network
    network.cut([*network.links_of("r1", incoming=True)])
    network.heal()
    for number in range(20):
        network.send("r1", "r2", number)
        network.send("c1", "r1", number)

    assert len(parties.after(10)) == 40


def test_two_cuts_of_a_link_are_mended_one_by_one() -> None:
    network = _parties(NetworkSettings((5, 5))).network
    first, second = (
        network.links_of("r1", ("r2",)),
        network.links_of("r2", ("r1",), incoming=True)[1:],
    )
    network.cut(first)
    network.cut(second)
    network.mend(first)

    assert first == second
    assert not network.reaches("r1", "r2")


def test_links_to_the_controller_lose_nothing() -> None:
    parties = _parties(NetworkSettings((1, 5), loss=0.9))
    for number in range(50):
        parties.network.send("r1", CONTROLLER, number)
        parties.network.send("r1", "r2", number)
    got = [name for name, _, _ in parties.after(10)]

    assert got.count(CONTROLLER) == 50
    assert 0 < got.count("r2") < 25


def test_what_is_on_its_way_to_or_from_a_replica_that_leaves_is_lost() -> None:
    parties = _parties(NetworkSettings((5, 5)))
    network = parties.network
    network.send("r1", "r2", "to it")
    network.send("r2", "c1", "from it")
    network.remove("r2")
    network.send("r1", "r2", "to nobody")

    assert parties.after(10) == []
    assert network.replicas() == ["r1"]


@pytest.mark.parametrize("name", ["r3", "r4"])
def test_a_replica_that_joins_is_connected_with_clients_too(name: str) -> None:
    parties = _parties(NetworkSettings((2, 2)))
    parties.network.add(name, parties.taker(name))
    parties.network.send("c1", name, "ask")
    parties.network.send(name, "c1", "answer")

    assert {got for got, _, _ in parties.after(5)} == {name, "c1"}

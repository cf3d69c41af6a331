"""Versions of brokers and clients in scenario files (KIP-87): what they become, what is refused."""

from pathlib import Path

from sim.protocol.log.formats import NEW, OLD, Versions
from sim.simulate.scenario.model import Change
from tests.scenario.texts import complaints, load

PINNED = (
    f"broker: {{software: {OLD}, inter.broker.protocol.version: {OLD}, "
    f"log.message.format.version: {OLD}}}\n"
)


def test_no_file_tells_of_versions_unless_it_gives_a_software(tmp_path: Path) -> None:
    assert {replica.versions for replica in load(tmp_path, "").replicas} == {None}


def test_a_replica_differs_from_the_broker_settings_in_what_it_gives(tmp_path: Path) -> None:
    text = f"{PINNED}replicas: [a, {{name: b, software: {NEW}}}]\n"

    assert [replica.versions for replica in load(tmp_path, text).replicas] == [
        Versions(OLD, OLD, OLD),
        Versions(NEW, OLD, OLD),
    ]


def test_what_is_not_pinned_stays_open(tmp_path: Path) -> None:
    [replica] = load(tmp_path, f"replicas: 1\nbroker: {{software: {OLD}}}\n").replicas

    assert replica.versions == Versions(OLD)


def test_brokers_and_clients_change_their_versions(tmp_path: Path) -> None:
    text = (
        f"{PINNED}consumers: [{{name: c, format: 2}}]\n"
        "changes:\n"
        f"  - {{at: 1, replica: all, set: {{software: {NEW}}}}}\n"
        f"  - {{at: 2, replica: r1, set: {{inter.broker.protocol.version: {NEW}}}}}\n"
        "  - {at: 3, producer: all, format: 3}\n"
        "  - {at: 4, producer: 1, format: 3, versions: false}\n"
        "  - {at: 5, consumer: c, format: 3}\n"
    )

    assert load(tmp_path, text).changes == (
        Change(1, "all", (("software", NEW),)),
        Change(2, "r1", (("inter.broker.protocol.version", NEW),)),
        Change(3, producer=0, versions=None, format=3),
        Change(4, producer=1, versions=False, format=3),
        Change(5, versions=None, consumer="c", format=3),
    )


def test_a_broker_is_followed_through_its_changes_in_order_of_time(tmp_path: Path) -> None:
    raised = f"{{at: 2, replica: r1, set: {{inter.broker.protocol.version: {NEW}}}}}"
    upgraded = f"{{at: 1, replica: all, set: {{software: {NEW}}}}}"
    late = f"{{at: 3, replica: all, set: {{software: {NEW}}}}}"

    load(tmp_path, f"{PINNED}changes: [{raised}, {upgraded}]\n")
    [problem] = complaints(tmp_path, f"{PINNED}changes: [{raised}, {late}]\n")
    assert "changes[0].set: r1 would not start" in problem


def test_a_replica_that_joins_has_the_versions_of_the_first(tmp_path: Path) -> None:
    joins = "faults: [{at: 1, add_replica: r4}]\n"
    early = f"{{at: 2, replica: r4, set: {{inter.broker.protocol.version: {NEW}}}}}"

    load(tmp_path, f"{PINNED}{joins}changes: [{{at: 1, replica: r4, set: {{software: {NEW}}}}}]\n")
    [problem] = complaints(tmp_path, f"{PINNED}{joins}changes: [{early}]\n")
    assert "changes[0].set: r4 would not start" in problem

"""Versions of brokers and clients in scenario files (KIP-87): what they become, what is refused."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.log.versions import MESSAGE_FORMAT, NEW, OLD, PROTOCOL, Versions
from sim.scenario.file.load import load_scenario
from sim.scenario.model import Change, Scenario

PINNED = (
    f"broker: {{software: {OLD}, inter.broker.protocol.version: {OLD}, "
    f"log.message.format.version: {OLD}}}\n"
)


def load(tmp_path: Path, text: str) -> Scenario:
    path = tmp_path / "x.yaml"
    path.write_text(f"format: replog-scenario/1\n{text}", encoding="utf-8")
    return load_scenario(path)


def complaints(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text)
    return [line.split(": ", 1)[1] for line in str(caught.value).splitlines()]


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("broker: {software: 0.10.3}", 'broker.software: unknown value "0.10.3"'),
        (
            f"replicas: [a, {{name: b, software: {NEW}}}]",
            "replicas[0]: a has no software, others have; `broker.software` gives it",
        ),
        (
            f"replicas: [{{name: b, log.message.format.version: {NEW}}}]",
            "replicas[0].software: missing; `broker.software` gives it for every replica",
        ),
        (
            f"broker: {{inter.broker.protocol.version: {NEW}}}",
            "broker.software: missing; what do the brokers run?",
        ),
        (
            f"{PINNED}replicas: [{{name: b, inter.broker.protocol.version: {NEW}}}]",
            f"replicas[0]: b would not start: {PROTOCOL} 0.10.2 is above the software, 0.10.1",
        ),
        (
            f"{PINNED}changes: [{{at: 1, replica: r2, set: {{{MESSAGE_FORMAT}: {NEW}}}}}]",
            f"changes[0].set: r2 would not start: {MESSAGE_FORMAT} 0.10.2 is above {PROTOCOL}",
        ),
        (
            f"changes: [{{at: 1, replica: r2, set: {{software: {NEW}}}}}]",
            "changes[0].set.software: versions change only where they are given",
        ),
        (
            f"{PINNED}changes: [{{at: 1, replica: r2, set: {{software: 0.11.0}}}}]",
            'changes[0].set.software: unknown value "0.11.0"',
        ),
        (
            "changes: [{at: 1, producer: 1, format: 3}]",
            "changes[0].format: producers have versions only where brokers have",
        ),
        ("changes: [{at: 1, producer: 1, format: 4}]", "changes[0].format: unknown value 4"),
        (
            "changes: [{at: 1, consumer: c1, format: 3}]",
            "changes[0].consumer: there is no consumer 'c1' with a `format` to begin with",
        ),
        (
            "consumers: [{name: c, format: 2}]\nchanges: [{at: 1, consumer: c, versions: true}]",
            "changes[0]: a consumer's change is `format`",
        ),
        (
            f"{PINNED}changes: [{{at: 1, replica: r1, set: {{software: {NEW}}}, format: 3}}]",
            "changes[0].format: only clients have one",
        ),
    ],
)
def test_versions_that_make_no_sense_are_one_clear_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    assert any(line.startswith(problem) for line in complaints(tmp_path, f"{text}\n"))


def test_a_broker_is_followed_through_its_changes_in_order_of_time(tmp_path: Path) -> None:
    raised = f"{{at: 2, replica: r1, set: {{inter.broker.protocol.version: {NEW}}}}}"
    upgraded = f"{{at: 1, replica: all, set: {{software: {NEW}}}}}"
    late = f"{{at: 3, replica: all, set: {{software: {NEW}}}}}"

    load(tmp_path, f"{PINNED}changes: [{raised}, {upgraded}]\n")
    [problem] = complaints(tmp_path, f"{PINNED}changes: [{raised}, {late}]\n")
    assert problem.startswith("changes[0].set: r1 would not start")


def test_a_replica_that_joins_has_the_versions_of_the_first(tmp_path: Path) -> None:
    joins = "faults: [{at: 1, add_replica: r4}]\n"
    early = f"{{at: 2, replica: r4, set: {{inter.broker.protocol.version: {NEW}}}}}"

    load(tmp_path, f"{PINNED}{joins}changes: [{{at: 1, replica: r4, set: {{software: {NEW}}}}}]\n")
    [problem] = complaints(tmp_path, f"{PINNED}{joins}changes: [{early}]\n")
    assert problem.startswith("changes[0].set: r4 would not start")

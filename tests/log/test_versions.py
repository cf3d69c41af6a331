"""What a broker may do at each stage of KIP-87's upgrade."""

import pytest

from sim.protocol.log.formats import (
    MAGIC_OF_CLIENT,
    MESSAGE_FORMAT,
    NEW,
    OLD,
    PROTOCOL,
    RELEASES,
    SOFTWARE,
    Versions,
)


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        (Versions(NEW, OLD, NEW), f"{MESSAGE_FORMAT} {NEW} is above {PROTOCOL}, {OLD}"),
        (Versions(NEW, OLD), f"{MESSAGE_FORMAT} {NEW} is above {PROTOCOL}, {OLD}"),
        (Versions(OLD, NEW, OLD), f"{PROTOCOL} {NEW} is above the software, {OLD}"),
        (Versions(OLD, OLD, NEW), f"{MESSAGE_FORMAT} {NEW} is above {PROTOCOL}, {OLD}"),
    ],
)
def test_a_broker_does_not_start_with_a_format_above_its_protocol_or_software(
    versions: Versions, problem: str
) -> None:
    assert versions.contradiction() == problem


@pytest.mark.parametrize("protocol", RELEASES)
def test_a_broker_that_starts_can_convert_whatever_it_stores_and_fetch_what_leaders_store(
    protocol: str,
) -> None:
    for software in RELEASES:
        for message_format in RELEASES:
            broker = Versions(software, protocol, message_format)
            if broker.contradiction() is None:
                assert broker.stores <= MAGIC_OF_CLIENT[broker.fetch_version] <= broker.understood


def test_a_setting_changes_alone() -> None:
    pinned = Versions(OLD, OLD, OLD)

    assert pinned.with_settings({SOFTWARE: NEW}) == Versions(NEW, OLD, OLD)
    assert pinned.with_settings({SOFTWARE: NEW, PROTOCOL: NEW}) == Versions(NEW, NEW, OLD)
    assert Versions(OLD).with_settings({MESSAGE_FORMAT: OLD}) == Versions(OLD, None, OLD)

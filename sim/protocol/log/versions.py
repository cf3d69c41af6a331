"""What a broker may do at each stage of KIP-87's rolling upgrade: three settings per broker.

| setting                       | 0.10.1                         | 0.10.2                         |
|-------------------------------|--------------------------------|--------------------------------|
| software                      | knows no flag, cleans by null  | knows it, cleans as rules say  |
| inter.broker.protocol.version | fetches in version 2, no flag  | fetches in version 3           |
| log.message.format.version    | stores magic 1, without flag   | stores magic 2                 |

A setting that is not given is as new as the software, so whoever does not pin the two lower ones
has all three at once. Sources: KIP-87, Migration Plan (the versions and their order); KafkaConfig,
which refuses a message format above the protocol; Kafka's upgrade notes (the pinning);
ReplicaFetcherThread (the fetch version goes by the protocol). KIP-97's negotiation of versions came
later: who speaks a version that a broker does not know gets no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.protocol.log.formats import MAGIC_FLAG

OLD, NEW = "0.10.1", "0.10.2"
"""The releases before and with KIP-87."""

RELEASES = (OLD, NEW)

SOFTWARE = "software"
PROTOCOL = "inter.broker.protocol.version"
MESSAGE_FORMAT = "log.message.format.version"
VERSION_SETTINGS = (SOFTWARE, PROTOCOL, MESSAGE_FORMAT)
"""The settings by the names they have in files, the one that bounds the others first."""


class Versions(NamedTuple):
    """The settings of one broker; None = as new as the software.

    Attributes:
        software: Its code.
        protocol: `inter.broker.protocol.version`.
        message_format: `log.message.format.version`.
    """

    software: str
    protocol: str | None = None
    message_format: str | None = None

    @property
    def newest_client(self) -> int:
        """Highest fetch and produce version it understands."""
        return 2 if self.software == OLD else 3

    @property
    def understood(self) -> int:
        """Highest magic it can read, so as to convert it."""
        return 1 if self.software == OLD else MAGIC_FLAG

    @property
    def fetch_version(self) -> int:
        """The version in which it fetches from a leader."""
        return 2 if (self.protocol or self.software) == OLD else 3

    @property
    def stores(self) -> int:
        """The magic in which it appends what producers send."""
        return 1 if (self.message_format or self.software) == OLD else MAGIC_FLAG

    def with_settings(self, settings: Mapping[str, object]) -> Versions:
        """These versions with those that `settings` names by `VERSION_SETTINGS`."""
        given = [settings.get(name, old) for name, old in zip(VERSION_SETTINGS, self, strict=True)]
        return Versions(*given)  # type: ignore[arg-type]

    def contradiction(self) -> str | None:
        """Why a broker would not start with these settings, in one clause; None = it would."""
        protocol = self.protocol or self.software
        message_format = self.message_format or self.software
        if protocol > self.software:
            return f"{PROTOCOL} {protocol} is above the software, {self.software}"
        if message_format > protocol:
            return f"{MESSAGE_FORMAT} {message_format} is above {PROTOCOL}, {protocol}"
        return None

"""What stands behind the producers: whose next instance is who, and which headers they send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class SentHeader(NamedTuple):
    """A header of a record that is not sent with the one header it should have.

    `version` is written as the rules read it (`header_form`); None = the bytes are `raw`. `name`
    None = the version header's, in capitals if `capitals`.
    """

    version: int | None = None
    raw: bytes = b""
    name: str | None = None
    capitals: bool = False


@dataclass(frozen=True, slots=True)
class Applications:
    """What applications do beside sending.

    `instances`: pairs of producers (the later one, the one before it) with the same
    `transactional.id`: the later one has the next epoch of the same producer id, and fences the
    other (KIP-98), which KIP-280 rejected in favour of versions. `headers`: of some sends, by their
    index in the workload, the headers in the place of the version header; a producer that sends no
    versions leaves them out, too.
    """

    instances: tuple[tuple[int, int], ...] = ()
    headers: tuple[tuple[int, tuple[SentHeader, ...]], ...] = ()

    def identity_of(self, producer: int) -> tuple[int, int]:
        """The producer id and the epoch of a producer."""
        before, epoch = dict(self.instances), 0
        while producer in before:
            producer, epoch = before[producer], epoch + 1
        return producer, epoch

"""What mixed software makes of records on their way: producer to log, leader to follower (KIP-87).

Nothing happens here unless the scenario gives the brokers' versions (`sim.log.versions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.log import Batch, Record
from sim.log.formats import (
    MAGIC_OF_CLIENT,
    Served,
    is_allowed,
    produced,
    serve,
    stored,
    values_lost,
)
from sim.trace import AppendRefused, Converted, Event

if TYPE_CHECKING:
    from sim.cluster.node import Node


def speaks(node: Node, client: int | None) -> bool:
    """Whether a broker understands requests of a version; None = versions are not told of."""
    versions = node.versions
    return versions is None or client is None or client <= versions.newest_client


def follower_is_understood(leader: Node, follower: Node) -> bool:
    """Whether a leader understands the version in which a follower fetches."""
    versions = follower.versions
    return versions is None or speaks(leader, versions.fetch_version)


def as_stored(
    node: Node, records: tuple[Record, ...], *, client: int
) -> tuple[tuple[Record, ...], tuple[Event, ...]]:
    """What a leader writes of what a producer of version `client` sends, and what it tells of that.

    No records: it refuses all of them, since one is not allowed.
    """
    versions = node.versions
    if versions is None:
        return records, ()
    sent = [produced(record, client=client) for record in records]
    magic = MAGIC_OF_CLIENT[client]
    forbidden = next((r for r in sent if not is_allowed(r, magic=magic)), None)
    if forbidden is not None:
        return (), (AppendRefused(node.name, forbidden.key, "null_value"),)
    written = tuple(stored(r, produced=magic, message_format=versions.stores) for r in sent)
    lost = tuple(values_lost(sent)) if versions.stores < magic else ()
    return written, (Converted(node.name, node.name, 0, lost),) if lost else ()


def as_fetched(
    leader: Node, follower: Node, batches: tuple[Batch, ...]
) -> tuple[tuple[Batch, ...], tuple[Event, ...]]:
    """What a follower is given of the leader's batches, and what there is to tell of that.

    In Kafka the leader converts them; here it is done where the answer arrives, since answers that
    wait are shared between followers.
    """
    if follower.versions is None or leader.versions is None or not batches:
        return batches, ()
    served = serve(
        batches, understood=leader.versions.understood, client=follower.versions.fetch_version
    )
    return served.batches, conversion(leader.name, follower.name, served)


def conversion(replica: str, reader: str, served: Served) -> tuple[Event, ...]:
    """The event that tells of a conversion, if there was one."""
    if not served.converted_bytes:
        return ()
    return (Converted(replica, reader, served.converted_bytes, served.values_lost),)

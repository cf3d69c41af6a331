"""What `replog replicas` says at each moment of the clusters in `scenarios/seen_on_kafka`.

The moments are those that real clusters were stopped at (`tests.conformance.stories`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sim.simulate.partition.replicas import Finding


class Unsafe(NamedTuple):
    """A finding, its replica by the number at the end of its name: broker 3 is `3`."""

    invariant: str
    replica: str
    key: str | None
    offset: int


_BACK = Unsafe("no-resurrection", "3", "K", 0)
_LOST_END = Unsafe("committed-replicated", "3", None, 1)
_READ = Unsafe("txn-isolation", "3", "K", 0)
_HANGS = Unsafe("txn-marker-safety", "3", "K", 0)
_CUT = Unsafe("txn-isolation", "1", "K", 1)
UNSAFE: Final = {
    **dict.fromkeys(
        (("kafka_01_lost_tombstone", name) for name in ("second_pass", "back", "elected")), _BACK
    ),
    ("kafka_03_lost_log_end", "joined"): _LOST_END,
    **dict.fromkeys(
        (("kafka_05_aborted_record_is_read", one) for one in ("third_pass", "back", "elected")),
        _READ,
    ),
    **dict.fromkeys(
        (("kafka_07_transaction_hangs", one) for one in ("third_pass", "back", "elected")), _HANGS
    ),
    **dict.fromkeys(
        (("kafka_08_cut_marker_nobody_known", one) for one in ("aborted_again", "elected")), _CUT
    ),
    ("kafka_08_cut_marker_nobody_known", "cleaned"): Unsafe("no-resurrection", "2", "K", 0),
}
"""Cluster and moment -> its finding; every other moment has none. `elected` is the failover."""


def unsafe_in(findings: Iterable[Finding]) -> list[Unsafe]:
    """The findings in the form of `UNSAFE`."""
    return [
        Unsafe(one.invariant, one.replica.rpartition("-")[2], one.key, one.offset)
        for one in findings
    ]

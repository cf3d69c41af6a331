"""`replog traffic`, `replog catchup`: what metadata logs cost with deltas, and with snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from sim.cli.arguments import Argument, Json, Number
from sim.cli.output import print_answer, print_table
from sim.limits import COUNT, KEYS, SEED, SENDS

Several = Annotated[int, Argument(Number(1, limit=COUNT), "N")]


def traffic(
    *,
    brokers: Several = 10,
    partitions: Several = 1_000_000,
    as_json: Json = False,
) -> int:
    """Say how many bytes the failure of one broker sends (KIP-630, Amount of Data Replicated).

    Once with a record for each partition, which can be compacted by key, and once with an event
    from which everybody works it out, which cannot. The last column counts record and batch
    headers, too.

    Args:
        brokers: Brokers that share the partitions; each is sent what happens.
        partitions: Partitions of the whole cluster.
    """
    from sim.studies.traffic import traffic_of_a_failure

    found = traffic_of_a_failure(brokers=brokers, partitions=partitions)
    rows = [
        {
            "design": one.design,
            "record": f"{one.record}, {one.record_bytes} B",
            "records": f"{one.records:,}",
            "to each": _bytes(one.per_replica),
            "to all": _bytes(one.to_all),
            "to all, with headers": _bytes(one.framed_to_all),
        }
        for one in found
    ]
    return print_answer(as_json, list(map(asdict, found)), lambda: print_table(rows))


def catchup(
    *,
    keys: Annotated[int, Argument(Number(1, limit=KEYS), "N")] = 50,
    updates: Annotated[int, Argument(Number(1, limit=SENDS), "N")] = 1_000,
    seed: Annotated[int, Argument(Number(0, limit=SEED), "N")] = 0,
    as_json: Json = False,
) -> int:
    """Measure what a new replica costs with a full log, a compacted log, and snapshots.

    The same writes, three simulated clusters: what the replica is sent, how long it takes to catch
    up, and what it loads when it restarts (KIP-630, Motivation). An answer brings 4,096 bytes at
    most, a message takes 5 ms, and a record is loaded in 100 µs.

    Args:
        keys: Keys that are written.
        updates: Records written.
        seed: Of the keys written.
    """
    from sim.studies.catchup import compare

    found = compare(keys=keys, updates=updates, seed=seed)
    rows = [
        {
            "policy": one.policy,
            "bytes sent": f"{one.bytes_sent:,}",
            "answers": one.fetches,
            "caught up after": f"{one.caught_up_ms:,} ms",
            "records loaded": f"{one.snapshot_records + one.log_records:,}",
            "of a snapshot": f"{one.snapshot_records:,}",
            "loaded in": f"{one.load_ms:,} ms",
        }
        for one in found
    ]
    return print_answer(as_json, list(map(asdict, found)), lambda: print_table(rows))


def _bytes(count: int) -> str:
    mebibytes = count / 2**20
    return f"{count:,} B" + (f" = {mebibytes:,.2f} MiB" if mebibytes >= 0.01 else "")

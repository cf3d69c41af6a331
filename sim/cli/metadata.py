"""`replog traffic`, `replog catchup`: what metadata logs cost with deltas, and with snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sim.cli.output import AsJson, print_json, print_table


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command()(traffic)
    app.command()(catchup)


def traffic(
    brokers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Brokers that share the partitions.")
    ] = 10,
    partitions: Annotated[
        int, typer.Option(metavar="N", min=1, help="Partitions of the whole cluster.")
    ] = 1_000_000,
    replication: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Replicas of a partition; the KIP's example has 1."),
    ] = 1,
    receivers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Who is sent the records; default: every broker."),
    ] = None,
    batch_records: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, help="Records in a batch.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Say how many bytes the failure of one broker sends (KIP-630, Amount of Data Replicated).

    Once with a record for each partition, which can be compacted by key, and once with an event
    from which everybody works it out, which cannot. The last column counts record and batch
    headers, too.
    """
    from sim.studies.traffic import traffic_of_a_failure

    found = traffic_of_a_failure(
        brokers=brokers,
        partitions=partitions,
        replication=replication,
        receivers=receivers,
        batch_records=batch_records,
    )
    if as_json:
        print_json([asdict(one) for one in found])
        return
    print_table(
        [
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
    )


def catchup(
    keys: Annotated[int, typer.Option(metavar="N", min=1, help="Keys that are written.")] = 50,
    updates: Annotated[int, typer.Option(metavar="N", min=1, help="Records written.")] = 1_000,
    fetch_bytes: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Most bytes of an answer.")
    ] = 4_096,
    latency_ms: Annotated[
        int, typer.Option("--latency", metavar="MS", min=1, max=100, help="Of one message.")
    ] = 5,
    load_us: Annotated[
        int, typer.Option(metavar="US", min=1, help="Microseconds to load one record.")
    ] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the keys written.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure what a new replica costs with a full log, a compacted log, and snapshots.

    The same writes, three simulated clusters: what the replica is sent, how long it takes to catch
    up, and what it loads when it restarts (KIP-630, Motivation).
    """
    from sim.studies.catchup import compare

    found = compare(
        keys=keys,
        updates=updates,
        fetch_bytes=fetch_bytes,
        latency_ms=latency_ms,
        load_us_per_record=load_us,
        seed=seed,
    )
    if as_json:
        print_json([asdict(one) for one in found])
        return
    print_table(
        [
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
    )


def _bytes(count: int) -> str:
    mebibytes = count / 2**20
    return f"{count:,} B" + (f" = {mebibytes:,.2f} MiB" if mebibytes >= 0.01 else "")

"""`replog traffic`: what a broker's failure costs a metadata log with and without deltas."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sim.cli.output import AsJson, print_json, print_table


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command()(traffic)


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
    from sim.replication.traffic import traffic_of_a_failure

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


def _bytes(count: int) -> str:
    mebibytes = count / 2**20
    return f"{count:,} B" + (f" = {mebibytes:,.2f} MiB" if mebibytes >= 0.01 else "")

"""`replog traffic`, `replog catchup`: what metadata logs cost with deltas, and with snapshots."""

from __future__ import annotations

from dataclasses import asdict

from sim.cli.arguments import Command, Parser, take_json
from sim.cli.bounding import take_bounds
from sim.cli.output import print_json, print_table
from sim.cli.values import Number
from sim.limits import BATCH_RECORDS, COUNT, INT_SETTING, KEYS, LOAD, SEED, SENDS


def _traffic_takes(parser: Parser) -> None:
    def number(option: str, default: int | None, about: str) -> None:
        parser.add_argument(
            option, type=Number(1, limit=COUNT), default=default, metavar="N", help=about
        )

    number("--brokers", 10, "Brokers that share the partitions.")
    number("--partitions", 1_000_000, "Partitions of the whole cluster.")
    number("--replication", 1, "Replicas of a partition; the KIP's example has 1.")
    number("--receivers", None, "Who is sent the records; default: every broker.")
    parser.add_argument(
        "--batch",
        dest="batch_records",
        type=Number(1, limit=BATCH_RECORDS),
        default=1,
        metavar="N",
        help="Records in a batch.",
    )
    take_json(parser)


def traffic(
    *,
    brokers: int,
    partitions: int,
    replication: int,
    receivers: int | None,
    batch_records: int,
    as_json: bool,
) -> int:
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
        return 0
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
    return 0


def _catchup_takes(parser: Parser) -> None:
    def number(option: str, name: str, values: Number, default: int, unit: str, about: str) -> None:
        parser.add_argument(
            option, dest=name, type=values, default=default, metavar=unit, help=about
        )

    number("--keys", "keys", Number(1, limit=KEYS), 50, "N", "Keys that are written.")
    number("--updates", "updates", Number(1, limit=SENDS), 1_000, "N", "Records written.")
    number(
        "--fetch-bytes",
        "fetch_bytes",
        Number(1, limit=INT_SETTING),
        4_096,
        "BYTES",
        "Most bytes of an answer.",
    )
    number("--latency", "latency_ms", Number(1, 100), 5, "MS", "Of one message.")
    number(
        "--load-us", "load_us", Number(1, limit=LOAD), 100, "US", "Microseconds to load one record."
    )
    number("--seed", "seed", Number(0, limit=SEED), 0, "N", "Of the keys written.")
    take_bounds(parser)
    take_json(parser)


def catchup(
    *,
    keys: int,
    updates: int,
    fetch_bytes: int,
    latency_ms: int,
    load_us: int,
    seed: int,
    as_json: bool,
) -> int:
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
        return 0
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
    return 0


def _bytes(count: int) -> str:
    mebibytes = count / 2**20
    return f"{count:,} B" + (f" = {mebibytes:,.2f} MiB" if mebibytes >= 0.01 else "")


COMMANDS = {
    "traffic": Command(traffic, _traffic_takes, is_one_run=True),
    "catchup": Command(catchup, _catchup_takes, is_one_run=True),
}

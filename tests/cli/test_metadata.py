"""`replog traffic`."""

from tests.cli.conftest import Replog


def test_the_traffic_of_a_failure_is_that_of_the_kip(replog: Replog) -> None:
    answer = replog("traffic", "--brokers", 10, "--partitions", 1_000_000)

    assert answer.status == 0
    head, by_key, deltas = answer.out.splitlines()
    assert head.startswith("design")
    for cell in ("IsrChange, 40 B", " 100,000 ", "4,000,000 B = 3.81 MiB", " 40,000,000 B = "):
        assert cell in by_key
    for cell in ("DeleteBroker, 8 B", " 8 B ", " 80 B "):
        assert cell in deltas


def test_the_traffic_as_a_document(replog: Replog) -> None:
    answer = replog(
        "traffic",
        "--brokers",
        100,
        "--partitions",
        1_000_000,
        "--replication",
        3,
        "--receivers",
        99,
        "--batch",
        100,
        "--json",
    )

    by_key, deltas = answer.document
    assert (by_key["per_replica"], by_key["to_all"]) == (1_200_000, 118_800_000)
    assert (deltas["per_replica"], deltas["to_all"]) == (8, 792)
    assert by_key["to_all"] < by_key["framed_to_all"] < 1.3 * by_key["to_all"]


def test_a_number_below_1_is_bad_usage(replog: Replog) -> None:
    answer = replog("traffic", "--brokers", 0)

    assert answer.status == 2
    assert "--brokers" in answer.complaint


def test_the_cost_of_a_new_replica_is_a_table_of_three_policies(replog: Replog) -> None:
    arguments = ("catchup", "--keys", 5, "--updates", 60, "--fetch-bytes", 500)
    answer = replog(*arguments)

    assert answer.status == 0
    assert [line.split("  ")[0] for line in answer.out.splitlines()[1:]] == [
        "full log",
        "compacted log",
        "snapshot",
    ]
    document = replog(*arguments, "--json").document
    assert [one["policy"] for one in document] == ["full log", "compacted log", "snapshot"]
    assert document[0]["log_records"] == 61
    assert f"{document[0]['bytes_sent']:,}" in answer.out

"""Replicas of recorded clusters: what a failover would break is named before it happens."""

import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import sim
from sim.api.partitions import open_replicas
from sim.errors import BadInput
from sim.simulate.logfile.rules import LAST_MODIFIED
from sim.simulate.partition.replicas import Finding
from sim.simulate.partition.segments import PartitionSegment, segment_at
from sim.simulate.run.stories import run_story
from tests.commands import replog
from tests.partition.clusters import UNSAFE, unsafe_in
from tests.partition.conftest import ZIP
from tests.partition.writing import COMMIT, Row, write_batch, write_partition

MOMENTS = sorted(
    {tuple(Path(name).parts[1:3]) for name in ZipFile(ZIP).namelist() if name.count("/") == 4}
)
"""Cluster and moment of each recording."""


def places(recorded: Path, cluster: str, moment: str) -> list[Path]:
    return sorted((recorded / "replicas" / cluster / moment).iterdir())


@pytest.mark.parametrize(("cluster", "moment"), MOMENTS)
def test_key_and_replica_are_named_before_the_failover(
    recorded: Path, cluster: str, moment: str
) -> None:
    answer = replog("replicas", *places(recorded, cluster, moment), "--json")
    found = [Finding(**one) for one in answer.document["violations"]]
    expected = UNSAFE.get((cluster, moment))

    assert unsafe_in(found) == ([expected] if expected else [])
    assert answer.status == (1 if expected else 0)


@pytest.mark.parametrize(("cluster", "moment"), MOMENTS)
def test_the_story_begins_with_the_logs_as_they_are(
    recorded: Path, cluster: str, moment: str
) -> None:
    opened = open_replicas(places(recorded, cluster, moment))

    ran = run_story(opened.story().story)
    begun = ran.moments["start"]

    assert [note for note in ran.notes if "did nothing" in note] == []
    for log, replica in zip(opened.compared.logs, opened.replicas, strict=True):
        held = [int(label.rpartition("@")[2]) for label in begun[log.name].log]
        assert held == list(replica.records.offset)


@pytest.mark.parametrize(
    "unsafe", [one for one in MOMENTS if one in UNSAFE and "cut_marker" not in one[0]], ids="-".join
)
def test_after_the_failover_of_the_story_the_same_invariant_is_violated(
    recorded: Path, unsafe: tuple[str, str]
) -> None:
    opened = open_replicas(places(recorded, *unsafe))

    assert UNSAFE[unsafe].invariant in run_story(opened.story().story).violated


@pytest.mark.parametrize("kind", [Path, str])
def test_a_partitions_folder_is_loaded_as_the_beginning_of_a_story(
    recorded: Path, kind: type[Path] | type[str]
) -> None:
    folder = places(recorded, *MOMENTS[0])[0]

    assert sim.load(kind(folder)).title == "The replicas of kafka_01_lost_tombstone-0"


@pytest.mark.parametrize("name", ["old0-0", "old1-0"])
def test_a_story_begins_with_batches_of_old_formats_which_have_no_epoch(
    recorded: Path, name: str
) -> None:
    opened = open_replicas([recorded / "others" / "before" / name])

    (begun,) = run_story(opened.story().story).moments["start"].values()

    held = [int(label.rpartition("@")[2]) for label in begun.log]
    assert len(held) == len(opened.replicas[0].records)


def test_before_and_after_a_pass_are_replicas_that_agree(recorded: Path) -> None:
    for version in ("3.8.0", "4.3.1"):
        for before in sorted((recorded / version / "before").glob("t*")):
            pair = open_replicas([before, recorded / version / "after" / before.name])
            assert pair.compared.findings == ()


def test_a_picture_shows_the_logs_and_the_failover(tmp_path: Path, recorded: Path) -> None:
    target = tmp_path / "replicas.svg"
    answer = replog(
        "replicas", *places(recorded, "kafka_01_lost_tombstone", "second_pass"), "-o", target
    )

    assert answer.status == 1
    assert "as on the disks" in target.read_text()
    assert "after a failover to broker-3" in target.read_text()


def test_an_anonymous_story_has_no_key(tmp_path: Path, recorded: Path) -> None:
    target = tmp_path / "story.yaml"
    answer = replog(
        "log",
        *places(recorded, "kafka_01_lost_tombstone", "second_pass"),
        "--story",
        "--anonymous",
        "-o",
        target,
    )

    assert answer.status == 0
    assert not re.search(r" [KXYZ]\b|lost_tombstone", target.read_text())
    assert replog("run", target).status == 0


def test_an_offset_with_two_records(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x"), ("l", "y")])])
    second = write_partition(tmp_path / "b" / "t-0", [(0, [("k", "x"), ("l", "z")])])
    third = write_partition(tmp_path / "c" / "t-0", [(0, [("k", "x"), ("l", "y")])])

    (found,) = open_replicas([first, second, third]).compared.findings

    assert (found.invariant, found.replica, found.offset) == ("slot-agreement", "b", 1)


def test_one_record_of_two_epochs(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x")])])
    second = write_partition(tmp_path / "b" / "t-0", [(0, [("k", "x")])], epoch=3)

    (found,) = open_replicas([first, second]).compared.findings

    assert found.invariant == "log-matching"
    assert "epoch 3 on b" in found.sentence


def test_a_log_that_ends_below_its_high_watermark(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x"), ("k", "y")])])
    second = write_partition(tmp_path / "b" / "t-0", [(0, [("k", "x")])])
    (tmp_path / "b" / "replication-offset-checkpoint").write_text("0\n1\nt 0 2\n")

    found = open_replicas([first, second]).compared.findings

    assert [(one.invariant, one.replica) for one in found] == [("hw-within-log", "b")]


@pytest.mark.parametrize("emptied", [False, True])
def test_a_follower_of_a_log_that_lost_its_end(tmp_path: Path, emptied: bool) -> None:
    """An empty batch, which brokers with KAFKA-17076 leave, has a follower fetch the end."""
    batches: list[tuple[int, list[Row]]] = [(0, [("k", "x")])]
    first = write_partition(tmp_path / "a" / "t-0", [*batches, *([(3, [])] if emptied else [])])
    second = write_partition(tmp_path / "b" / "t-0", batches)
    (first / "00000000000000000004.log").touch()
    (tmp_path / "a" / "replication-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    (tmp_path / "b" / "replication-offset-checkpoint").write_text("0\n1\nt 0 1\n")

    found = open_replicas([first, second]).compared.findings

    assert [(one.invariant, one.replica, one.offset) for one in found] == (
        [] if emptied else [("committed-replicated", "b", 1)]
    )


Z, OLD = (0, [("Z", "z")], {"epoch": 1}), (0, [("K", "x")], {"epoch": 1})
NEW, OTHER = ((1, [(key, "y")], {"epoch": 1, "producer": 7}) for key in "KN")
ENDED = (2, [COMMIT], {"epoch": 1, "producer": 7})
LATER = ((3, [("M", "y")], NEW[2]), (4, [COMMIT], NEW[2]))
TAIL, CHANGED = (1, [("K", "t")], {"epoch": 1}), (1, [("L", "y")], {"epoch": 2})
MIDDLE, LATE = (1, [("K", "t")], {"epoch": 2}), (2, [("L", "y")], {"epoch": 3})


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((2, OLD, NEW, ENDED), (2, OLD, NEW), []),
        ((2, OLD, OTHER, ENDED), (2, OLD, OTHER), []),
        ((1, Z, TAIL), (2, Z, CHANGED), []),
        ((1, Z, MIDDLE), (3, Z, (1, [("Y", "y")], {"epoch": 1}), LATE), []),
        ((1, OLD, TAIL), (2, CHANGED), ["no-resurrection a 0"]),
        ((2, OLD, NEW), (5, OLD, *LATER), ["txn-isolation a 1"]),
        (
            (5, OLD, NEW, *LATER),
            (5, OLD, *LATER),
            ["committed-never-lost b 0", "txn-isolation a 1"],
        ),
        (
            (2, Z, TAIL),
            (2, Z, CHANGED),
            ["no-resurrection a 1", "no-resurrection b 1", "slot-agreement b 1"],
        ),
    ],
    ids=["value", "key", "tail", "two tails", "below a tail", "aborted", "visible", "committed"],
)
def test_a_follower_that_only_lags_is_safe(
    tmp_path: Path, first: tuple[Any, ...], second: tuple[Any, ...], found: list[str]
) -> None:
    """It holds data whose marker it is to fetch, or a tail that it is to cut off."""
    for name, (committed, *batches) in {"a": first, "b": second}.items():
        for base_offset, rows, how in batches:
            write_batch(tmp_path / name / "t-0" / f"{0:020d}.log", base_offset, rows, **how)
        checkpoint = tmp_path / name / "replication-offset-checkpoint"
        checkpoint.write_text(f"0\n1\nt 0 {committed}\n")

    compared = open_replicas([tmp_path / name / "t-0" for name in "ab"]).compared

    behind = compared.logs[0]
    told = [f"{one.invariant} {one.replica} {one.offset}" for one in compared.findings]
    is_cut = any("a differs from a newer leader's log at" in one for one in compared.notes())
    assert told == found
    assert is_cut == (behind.counts_to < behind.end)


def test_a_long_log_has_in_a_story_what_violations_are_about(tmp_path: Path) -> None:
    keys = ("k", None)
    rows = [("gone", "x"), *((keys[number % 2], "v") for number in range(1_500))]
    first = write_partition(tmp_path / "a" / "t-0", [(0, rows)])
    second = write_partition(tmp_path / "b" / "t-0", [(1, rows[1:])])
    (tmp_path / "b" / "t-0" / "00000000000000000000.log").touch()
    (tmp_path / "b" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n")

    opened = open_replicas([first, second])
    begun = opened.story()

    assert opened.compared.findings[0].key == "gone"
    assert len(begun.story.steps) < 40
    assert "of 1,501 offsets the story has 1: markers, and the records" in begun.notes[-1]


def test_the_story_has_the_settings_and_the_rules_of_the_question(tmp_path: Path) -> None:
    places = [write_partition(tmp_path / name / "t-0", [(0, [("k", "x")])]) for name in "ab"]
    settings = tmp_path / "settings"
    settings.write_text("delete.retention.ms=7\n")
    rules = {"fix": "empty_batch", "strategy": "header", "header_key": "h"}

    found = (
        open_replicas(places, settings=settings, rules=rules | {LAST_MODIFIED: 5})
        .story()
        .story.rules
    )

    assert (found.topic.delete_retention_ms, found.topic.strategy_header) == (7, "h")
    assert (found.cleaner.fix, found.cleaner.strategy) == ("empty_batch", "header")


def test_a_setting_without_such_a_value_has_no_story(tmp_path: Path) -> None:
    places = [write_partition(tmp_path / name / "t-0", [(0, [("k", "x")])]) for name in "ab"]
    settings = tmp_path / "settings"
    settings.write_text("delete.retention.ms=abc\n")

    with pytest.raises(BadInput, match=r"settings: delete\.retention\.ms: "):
        open_replicas(places, settings=settings).story()


def test_a_tail_that_is_not_committed_is_not_copied(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x")]), (1, [("k", "y")])])
    second = write_partition(tmp_path / "b" / "t-0", [(0, [("k", "x")])])
    for name in "ab":
        (tmp_path / name / "replication-offset-checkpoint").write_text("0\n1\nt 0 1\n")

    begun = run_story(open_replicas([first, second]).story().story).moments["start"]

    assert (begun["a"].offsets, begun["b"].offsets) == ([0, 1], [0])
    assert begun["a"].high_watermark == begun["b"].high_watermark == 1


def test_log_end_retention_is_no_difference(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x")]), (1, [("k", "y")])])
    second = write_partition(tmp_path / "b" / "t-0", [(1, [("k", "y")])])
    (tmp_path / "b" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n")

    compared = open_replicas([first, second]).compared

    assert compared.findings == ()
    assert {log.name: log.cleaned for log in compared.logs} == {"a": 0, "b": 1}


def test_nobody_reads_what_lies_below_the_log_start(tmp_path: Path) -> None:
    first = write_partition(tmp_path / "a" / "t-0", [(0, [("k", "x")]), (8, [("l", "y")])])
    second = write_partition(tmp_path / "b" / "t-0", [(8, [("l", "y")])])
    (tmp_path / "a" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5\n")

    assert open_replicas([first, second]).compared.findings == ()


@pytest.mark.parametrize("cluster", ["3.8.0", "4.3.1"])
def test_a_dump_and_the_folder_that_it_is_of_agree(recorded: Path, cluster: str) -> None:
    for dump in sorted((recorded / cluster).glob("*.dump")):
        pair = open_replicas([dump, recorded / cluster / "before" / dump.stem])
        assert pair.compared.findings == ()


def test_a_broker_writes_while_its_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its high watermark is of before: what is committed meanwhile was not read."""
    places = [write_partition(tmp_path / name / "t-0", [(0, [("k", "x")])]) for name in "ab"]
    committed = tmp_path / "a" / "replication-offset-checkpoint"
    committed.write_text("0\n1\nt 0 1\n")

    def read_and_write(path: Path) -> PartitionSegment:
        segment = segment_at(path)
        write_batch(path, 1, [("k", "y")])
        committed.write_text("0\n1\nt 0 2\n")
        return segment

    monkeypatch.setattr("sim.simulate.partition.segment_at", read_and_write)

    assert open_replicas(places).compared.findings == ()


def test_a_list_without_places_is_refused() -> None:
    with pytest.raises(BadInput, match="no place is given"):
        sim.load([])
    with pytest.raises(BadInput, match="no place is given"):
        open_replicas([])

"""What steps, rules and claims of a story mean, sentence by sentence (`fine_print.yaml`)."""

from pathlib import Path
from typing import Any

import pytest

from sim.check.checker import story_invariants
from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from
from tests.story.running import run_steps

_FILE = Path(__file__).with_name("fine_print.yaml")
SENTENCES = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data
AB = "elect 1 1\nappend 1 a A\nappend 1 b B\n"
DELETED = "elect 1 1\nappend 1 k K\nappend 1 k=null K tombstone=true\n"


@pytest.mark.parametrize(
    ("says", "story"), [(one["says"], s) for one in SENTENCES for s in one["of"]]
)
def test_a_story_ends_as_the_page_says(says: str, story: dict[str, Any]) -> None:
    document = {"format": "replog-story/1", "replicas": ["1", "2"], **story}

    assert run_story(story_from(document, where=says)).differences == ()


@pytest.mark.parametrize(
    ("steps", "options", "kind", "fields", "told"),
    [
        (
            "elect 1 1\nappend 1 a A\nadvance 7\nappend 1 b B\nappend 1 c C ts=3",
            {"replicas": ("1",)},
            "Appended",
            "batch.timestamp_ms",
            [(0,), (7,), (3,)],
        ),
        (AB + "elect 1 4", {}, "LeaderElected", "epoch epoch_start_offset", [(1, 0), (4, 2)]),
        (
            AB + "snapshot 1 2\ndelete_prefix 1 1\nfetch 2 1",
            {"isr": ("1",)},
            "SnapshotOffered",
            "fetch_offset end_offset epoch",
            [(0, 2, 1)],
        ),
        (
            AB + "snapshot 1 1\nsnapshot 1 2\ndelete_prefix 1 2\nfetch 2 1",
            {"isr": ("1",)},
            "SnapshotOffered",
            "end_offset",
            [(2,)],
        ),
        ("elect 1 1\ndelete_prefix 1 3", {}, "PrefixDeleted", "log_start_offset", []),
        (
            AB + "isr 1\nsnapshot 1 2\ndelete_prefix 1 2\ndelete_prefix 1 3",
            {},
            "PrefixDeleted",
            "log_start_offset",
            [(2,)],
        ),
        (AB + "delete_prefix 1 0", {}, "PrefixDeleted", "log_start_offset", []),
        (
            AB + "isr 1\nconsume c 1\nappend 1 d D\n"
            "consume c 1 upto=2\nconsume c 1 upto=1\nconsume c 1",
            {},
            "Consumed",
            "start end",
            [(0, 2), (2, 2), (2, 2), (2, 3)],
        ),
        *[
            (
                AB + "sync 2 1\nisr 1\nappend 1 c C\nconsume c 1\n"
                f"elect 2 2\nappend 2 d D\n{reads} c 2",
                {"rules": {"consumer_validation": "epoch"}},
                "ConsumerReset",
                "replica position cause",
                [("2", 2, "log_truncated")],
            )
            for reads in ("consume", "read_to_end")
        ],
        *[
            (
                f"elect 1 1\nappend 1 a A\nsync 2 1\n{more}elect 2 2\nfetch 1 2",
                {},
                "Truncated",
                "replica",
                cut,
            )
            for more, cut in (("", []), ("append 1 b B\n", [("1",)]))
        ],
        *[
            (
                DELETED + "compact 1\ncompact 1\nisr 1,2\nfetch 2 1\nappend 1 z Z",
                {"isr": ("1",), "rules": {"follower_position": rule, "delete_retention_ms": 0}},
                "PositionRecorded",
                "position",
                [(believed,)],
            )
            for rule, believed in (("request", 0), ("read_end", 2))
        ],
        *[
            (
                "elect 1 1\nappend 1 a A\nfetch 2 1 drop_response=true",
                {"rules": {"follower_position": rule}},
                "PositionRecorded",
                "position",
                [(0,)],
            )
            for rule in ("request", "read_end")
        ],
    ],
)
def test_what_happens_on_the_way_is_told(
    steps: str, options: dict[str, Any], kind: str, fields: str, told: list[tuple[Any, ...]]
) -> None:
    """Of each event of that kind the fields; a dot leads into what a field holds."""
    events = [event for _, event in run_steps(steps, **options).events]

    assert [
        tuple(_value(event, field) for field in fields.split())
        for event in events
        if type(event).__name__ == kind
    ] == told


def _value(value: Any, field: str) -> Any:
    for name in field.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("elect 1 1\nelect 2 1\nelect 1 1\nelect 2 1", [("election-safety", 2)]),
        (
            "isr 1\nelect 1 1\nappend 1 a A\nelect 2 2\nappend 2 b B\nquiesce\ncheck\nquiesce",
            [
                ("leader-completeness", 4),
                ("no-offset-reuse", 5),
                ("state-machine-safety", 6),
                ("no-truncation-below-hw", 6),
            ],
        ),
    ],
)
def test_a_violation_is_told_once_with_its_step(steps: str, told: list[tuple[str, int]]) -> None:
    found = [(each.invariant, each.at) for each in run_steps(steps).violations]

    assert sorted(found) == sorted(told)


def test_liveness_is_judged_where_it_is_asked_for() -> None:
    names = set(story_invariants(liveness=True)) - set(story_invariants(liveness=False))

    assert names == {"leo-convergence", "tombstone-eventually-removed"}
    probed = "elect 1 1\nappend 1 k=null K tombstone=true\n{}expect_tombstone_gone K"
    (found,) = run_steps(probed.format(""), replicas=("1",)).violations
    assert found.invariant == "tombstone-eventually-removed"
    assert run_steps(probed.format("crash 1\n"), replicas=("1",)).seen == ()


@pytest.mark.parametrize(
    "answered_with",
    [
        "append 1 c C",
        "snapshot 1 2\ndelete_prefix 1 2",
        "crash 1 lose=2\nrestart 1\nelect 1 2",
    ],
)
def test_a_dropped_answer_changes_nothing_at_the_follower(answered_with: str) -> None:
    """Records, a snapshot id, a diverging epoch."""
    before = "elect 1 1\nappend 1 a A\nfetch 2 1\nappend 1 b B\n" + answered_with

    one = run_steps(before, isr=("1",))
    other = run_steps(before + "\nfetch 2 1 drop_response=true\nfetch_snapshot 2 1", isr=("1",))

    assert one.replicas["2"] == other.replicas["2"]


def test_a_removed_replica_takes_its_disk_along_and_leaves_the_in_sync_set() -> None:
    behind = "elect 1 1\nappend 1 a A"

    assert run_steps(behind).replicas["1"].high_watermark == 0
    left = run_steps(behind + "\nremove_replica 2").replicas
    assert [(name, view.high_watermark) for name, view in left.items()] == [("1", 1)]

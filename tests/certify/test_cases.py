"""Runs on whose verdict the oracle of traces depends for one thing, and near misses beside them."""

from pathlib import Path

import pytest
import yaml

import sim
from sim.check.certify import Certificate, certify

SCENARIOS = Path(__file__).parents[2] / "scenarios"
STORY = """\
format: replog-story/1
id: prefix
title: "A prefix is deleted, for which a snapshot stands or not"
source: KIP-630
replicas: [r1, r2]
steps:
  - elect r1 1
  - append r1 a A
  - append r1 b B
  - sync r2 r1
  - sync r2 r1
  - snapshot r2 2
{wipe}  - sync r2 r1
  - sync r2 r1
  - delete_prefix r2 2
expect: {{violated: []}}
"""

SCENARIO = """\
format: replog-scenario/1
title: A voter loses its tail while another one is down
source: Raft, figure 2, persistent state
seed: 5
duration_ms: 4000
rules: {{commit: majority, flush: interval}}
topic: {{segment.bytes: 100000}}
workload:
  - {{at: 200, key: A, value: a}}
  - {{at: 300, key: B, value: b}}
faults:
  - {{at: 1000, crash: r3, for_ms: 1500{how}}}
  - {{at: 1200, crash: r2, for_ms: 300, power_loss: true}}
expect: {{violated: []}}
"""


AGREEING = yaml.safe_load(Path(__file__).with_name("agreeing.yaml").read_text(encoding="utf-8"))


def certified(text: str, folder: Path) -> Certificate:
    file = folder / "case.yaml"
    file.write_text(text, encoding="utf-8")
    return certify(sim.run(file).save_trace(folder / "trace.ndjson").read_bytes())


@pytest.mark.parametrize("wiped", [False, True])
def test_the_snapshots_of_an_old_disk_cover_no_prefix(wiped: bool, tmp_path: Path) -> None:
    made = certified(STORY.format(wipe="  - wipe r2\n" * wiped), tmp_path)
    broken = {"prefix-deletion-safety", "snapshot-at-log-start"} if wiped else set()

    assert made.differing == []
    assert broken == set(made.found)


@pytest.mark.parametrize("rest", ["check", "quiesce"])
def test_a_cluster_may_be_at_rest_before_it_has_a_leader(rest: str, tmp_path: Path) -> None:
    story = STORY.format(wipe="").replace("steps:\n", f"steps:\n  - {rest}\n")

    assert certified(story, tmp_path).differing == []


@pytest.mark.parametrize(
    ("story", "broken"),
    [
        ("kip630/kip630_18_an_aborted_delete_saves_nobody", {"no-resurrection"}),
        ("transactions/txn_02_commit_marker_lost", {"lso-progress", "txn-isolation"}),
    ],
)
def test_a_replica_that_is_down_at_rest_counts(
    story: str, broken: set[str], tmp_path: Path
) -> None:
    text = (SCENARIOS / f"{story}.yaml").read_text(encoding="utf-8")
    end = "  - sync r3 r1\n  - crash r3\n  - check\nexpect: {violated: []}\n"

    made = certified(text.partition("  - quiesce\n")[0] + end, tmp_path)

    assert made.differing == []
    assert broken <= {*made.found}


@pytest.mark.parametrize(
    ("how", "left_at"), [("", None), (", power_loss: true", 1200)], ids=["kept", "lost"]
)
def test_a_voter_that_is_down_keeps_what_is_on_its_disk(
    how: str, left_at: int | None, tmp_path: Path
) -> None:
    made = certified(SCENARIO.format(how=how), tmp_path)

    assert made.left_at == left_at


@pytest.mark.parametrize("text", AGREEING, ids=lambda text: text.split("\n")[1][4:])
def test_where_certify_was_wrong_once_it_agrees(text: str, tmp_path: Path) -> None:
    assert certified(text, tmp_path).differing == []

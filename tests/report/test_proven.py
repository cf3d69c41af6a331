"""Reports quote what searches have proven of the rule sets that they compare, and nothing else."""

from typing import Any

import pytest

from sim.simulate.story.format import STORY_DEFAULTS
from sim.study.report.proven import SAID_MAX, proven_of
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import entry, folder_of, pages_of, pair

FIXES = ("none", "leo_retention", "empty_batch")


def folder(fixes: tuple[str, ...] = FIXES, **values: Any) -> SweepFolder:
    """A sweep that compares fixes, under the rules of the committed searches but for `values`."""
    searched = {"strategy": "header", "follower_position": "read_end", **values}
    rule_sets = [
        {
            "index": index,
            "label": fix,
            "swept": {"fix": fix},
            "rules": {
                **STORY_DEFAULTS.with_values({**searched, "fix": fix}).as_dict(),
                "delete_retention_ms": 1_000,
            },
        }
        for index, fix in enumerate(fixes)
    ]
    entries = [entry(index, fix, {"holds": 9}) for index, fix in enumerate(fixes)]
    pairs = [
        pair(one, other, {"holds/holds": 9}) for other in range(len(fixes)) for one in range(other)
    ]
    return folder_of(rule_sets, entries, pairs, plan={"about": ["no-offset-reuse"]})


def test_a_report_begins_with_what_is_proven() -> None:
    out = folder()
    *worlds, unlike = proven_of(out)
    assert len(worlds) == SAID_MAX
    said = next(one for one in worlds if "plan two_replicas_longer" in one)
    assert said.startswith("Every schedule of 2 replicas, r1 in sync, clean elections, at most: ")
    assert "419,647 to 542,090 states, exhausted" in said
    assert "under none no-offset-reuse breaks in 9 moves, and 6 more" in said
    assert said.endswith("under leo_retention, empty_batch nothing breaks.")
    assert unlike.startswith("Of the rules that these plans do not name 1 are not as")

    page = pages_of(out)["report.md"]
    assert page.index("Every schedule of 3 replicas") < page.index("plan two_replicas_longer")
    assert len(page.partition("<details>")[0].split()) < 900


@pytest.mark.parametrize(
    ("fixes", "values"),
    [
        (FIXES, {"commit": "majority", "vote_storage": "none"}),
        (FIXES, {"truncation": "epoch_kip101"}),
        (FIXES, {"follower_position": "request", "tombstone_removal": "leo_gated"}),
        (FIXES[:1], {}),
    ],
)
def test_nothing_is_said_of_what_no_search_compared(
    fixes: tuple[str, ...], values: dict[str, Any]
) -> None:
    assert proven_of(folder(fixes, **values)) == ()

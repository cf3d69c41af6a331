"""The policy of a cleaner: every rule about what a pass decides reaches it by its own value."""

import pytest

from sim.protocol.compaction import STRATEGIES
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.policy import cleaner_policy

BASES: dict[str, dict[str, str]] = {
    "header_form": {"strategy": "header"},
    "ties": {"strategy": "timestamp"},
}
"""What a rule needs beside it to make a difference."""

DECIDING = (
    "strategy",
    "header_form",
    "ties",
    "fix",
    "map_range",
    "tombstone_removal",
    "horizon_stamp",
    "horizon_rebase",
    "unstamped_tombstones",
    "marker_removal",
    "marker_lookup",
    "empty_segments",
    "old_formats",
)


@pytest.mark.parametrize("name", DECIDING)
def test_each_value_of_a_rule_makes_another_policy(name: str) -> None:
    base = Rules.of(**BASES.get(name, {}))
    values = RULES[name].values
    policies = [cleaner_policy(base.with_values({name: value})) for value in values]

    assert all(policies.count(policy) == 1 for policy in policies)


def test_a_flag_is_looked_for_however_it_was_set() -> None:
    marks = {
        name: cleaner_policy(Rules.of(tombstone_mark=str(name))).is_tombstone
        for name in RULES["tombstone_mark"].values
    }

    assert marks["explicit"] is marks["flag"]
    assert len(set(marks.values())) == 4


def test_the_defaults_are_those_of_kafkas_cleaner_with_a_full_map() -> None:
    policy = cleaner_policy(Rules())

    assert policy.strategy is STRATEGIES["offset"]
    assert policy.full_map
    assert policy.stamp_beyond_map
    assert policy.markers_like_tombstones
    assert policy.group_empty_segments
    assert (policy.stamps_again, policy.keeps_deltas) == (False, False)
    assert (policy.markers_by_key, policy.last_abort_only) == (False, False)
    assert policy.unmapped_version is None

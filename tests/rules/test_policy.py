"""The policy of a cleaner: every rule about what a pass decides reaches it by its own value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.log import Record
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.policy import cleaner_policy, cleaner_strategy, state_strategy

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


@given(
    st.sampled_from(sorted(ENCODERS)),
    st.sampled_from(["version", "seq"]),
    st.lists(st.tuples(st.sampled_from(["version", "seq"]), st.integers(0, 9)), max_size=3),
)
def test_cleaner_and_judge_read_the_header_that_the_topic_names_and_no_other(
    form: str, named: str, given: list[tuple[str, int]]
) -> None:
    """KIP-280: `compaction.strategy.header` names it; so nothing else depends on its name."""
    rules = Rules.of(strategy="header", header_form=form, strategy_header=named)
    plain = Rules.of(strategy="header", header_form=form)
    headers = tuple((name, ENCODERS[form](version)) for name, version in given)
    renamed = tuple(("version", value) for name, value in headers if name == named)
    for strategy_of in (cleaner_strategy, state_strategy):
        version = strategy_of(rules).version(Record(0, "k", "v", headers=headers))
        assert version == strategy_of(plain).version(Record(0, "k", "v", headers=renamed))


def test_a_flag_is_looked_for_however_it_was_set() -> None:
    marks = {
        name: cleaner_policy(Rules.of(tombstone_mark=str(name))).is_tombstone
        for name in RULES["tombstone_mark"].values
    }

    assert marks["explicit"] is marks["flag"]
    assert len(set(marks.values())) == 4

"""Rules and presets: defaults, values, and what is said about unknown ones."""

import pickle

import pytest
from msgspec.structs import replace

from sim.protocol.rules import DEFAULTS, PRESETS, RULES, Rules, rules_from


def test_every_rule_is_described_once_with_its_default_first() -> None:
    assert list(RULES) == list(Rules().as_dict())
    for name, spec in RULES.items():
        assert spec.name == name
        assert spec.decides
        assert bool(spec.source) != bool(spec.values)
        if spec.values:
            assert spec.values[0] == DEFAULTS[name]


def test_every_value_says_once_what_it_means_and_who_says_so() -> None:
    for spec in RULES.values():
        told = spec.described()

        assert tuple(value.name for value in told) == spec.values
        assert len({value.means for value in told}) == len(told)
        assert all(value.means and value.source and value.example for value in told), spec.name


def test_rules_change_by_value_and_tell_how_they_differ() -> None:
    changed = Rules().with_values({"fix": "empty_batch", "min_isr": "2", "fencing": "false"})

    assert changed.differing_from(Rules()) == {
        "fix": "empty_batch",
        "min_isr": 2,
        "fencing": False,
    }
    assert Rules().with_values(changed.as_dict()) == changed


def test_rules_travel_to_another_process_whatever_plugins_it_has() -> None:
    given = rules_from({"preset": "redpanda-25.3", "min_isr": 2})
    rules = replace(given, cleaner=replace(given.cleaner, strategy="of a plugin"))

    travelled = pickle.loads(pickle.dumps(rules))  # noqa: S301 - written just now

    assert travelled == rules


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_bundle_of_known_values_with_a_source(name: str) -> None:
    preset = PRESETS[name]

    assert rules_from({"preset": name}) == Rules().with_values(preset.values)
    assert preset.name == name
    assert preset.models
    assert preset.source

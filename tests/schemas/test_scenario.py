"""The schema that editors use says what the loader says."""

from sim.cli.schemas import rules_schema, scenario_schema
from sim.protocol.rules import PRESETS, RULES
from sim.simulate.scenario.file.format import ScenarioFile


def test_it_names_every_field_every_rule_and_every_preset() -> None:
    schema = scenario_schema()
    rules = rules_schema()["properties"]

    assert list(schema["properties"]) == list(ScenarioFile.model_fields)
    assert list(rules) == ["preset", *RULES]
    assert rules["preset"]["enum"] == list(PRESETS)
    assert rules["fencing"]["enum"] == [True, False]
    assert rules["min_isr"]["minimum"] == 1


def test_it_says_of_every_value_what_it_means_and_who_says_so() -> None:
    rules = rules_schema()["properties"]

    for name, spec in RULES.items():
        told = [f"{value.means} ({value.source})" for value in spec.described()]
        assert rules[name].get("enumDescriptions", []) == told
        assert spec.source in rules[name]["description"]


def test_it_allows_no_unknown_fields_anywhere() -> None:
    schema = scenario_schema()
    parts = [schema, *schema["$defs"].values()]

    assert [part for part in parts if part.get("additionalProperties") is not False] == []

"""The orders of KIP-87's upgrade in scenarios/kip87/: twins differ in one part, and show it."""

import pytest

from tests.scenario_files.test_scenarios import FOLDER, differing, result_of, settings, shown

TWINS = (
    ("upgrade_01_recommended_order", "upgrade_02_flag_before_the_message_format", {"workload"}),
    ("upgrade_02_flag_before_the_message_format", "upgrade_03_producers_last", {"changes"}),
    ("upgrade_01_recommended_order", "upgrade_14_cleaners_that_know_the_flag_alone", {"rules"}),
    ("upgrade_01_recommended_order", "upgrade_15_consumers_after_the_flag", {"changes"}),
    (
        "upgrade_04_message_format_before_the_protocol",
        "upgrade_05_protocol_before_the_message_format",
        {"changes"},
    ),
    (
        "upgrade_06_protocol_before_the_software",
        "upgrade_07_software_before_the_protocol",
        {"changes"},
    ),
    ("upgrade_08_nothing_pinned", "upgrade_09_pinned", {"replicas"}),
    (
        "upgrade_10_producers_before_the_software",
        "upgrade_11_software_before_the_producers",
        {"changes"},
    ),
    ("cleaners_to_the_flag_alone", "cleaners_to_the_format", {"changes"}),
    ("not_compacted", "compacted_and_deleted", {"topic"}),
    ("null_that_is_no_delete_is_refused", "null_of_an_old_producer", {"changes"}),
    ("upgrade_12_software_taken_back", "upgrade_13_software_taken_back_in_time", {"changes"}),
    (
        "upgrade_16_software_taken_back_from_a_follower_that_lags",
        "upgrade_17_software_taken_back_from_a_follower_in_time",
        {"changes"},
    ),
)
"""Two scenarios, and the only part in which they differ: when something happens, or one setting."""


IDS = [f"{one}-{other[:10]}" for one, other, _ in TWINS]


@pytest.mark.parametrize(("one", "other", "in_what"), TWINS, ids=IDS)
def test_twins_differ_in_one_part_and_it_shows(one: str, other: str, in_what: set[str]) -> None:
    paths = [FOLDER / "kip87" / f"timed_{name}.yaml" for name in (one, other)]
    places = differing(settings(paths[0]), settings(paths[1]))

    assert {place.partition(".")[0] for place in places} == in_what
    assert shown(result_of(paths[0])) != shown(result_of(paths[1]))

"""What marks a tombstone and which rule lets it go: both sides of every limit (KIP-534, KIP-87)."""

import pytest

from sim.compaction import TOMBSTONE_REMOVALS
from sim.compaction.tombstones import (
    Circumstances,
    record_horizon,
    with_record_horizon,
)
from tests.compaction.logs import (
    record,
)


def circumstances(**changes: object) -> Circumstances:
    """A tombstone at 5 with horizon 100, at 100 ms, below a limit of 6; cleaned up to 6 at 40."""
    facts: dict[str, object] = {
        "offset": 5,
        "horizon_ms": 100,
        "now_ms": 100,
        "removal_limit": 6,
        "segment_last_modified_ms": 50,
        "legacy_horizon_ms": 50,
        "last_cleaning": (6, 40),
        "delete_retention_ms": 60,
    }
    return Circumstances(**(facts | changes))  # type: ignore[arg-type]


GATED: dict[str, object] = {"removal_limit": 5}


@pytest.mark.parametrize(
    ("rule", "changes", "goes"),
    [
        ("horizon", {}, True),
        ("horizon", {"now_ms": 99}, False),
        ("horizon", {"horizon_ms": None}, False),
        ("horizon", GATED, True),
        ("immediate", {"horizon_ms": None, "now_ms": 0}, True),
        ("last_modified", {}, True),
        ("last_modified", {"segment_last_modified_ms": 51}, False),
        ("last_modified", {"segment_last_modified_ms": None}, False),
        ("last_modified", {"legacy_horizon_ms": None}, False),
        ("last_modified", {"horizon_ms": None, "now_ms": 0}, True),
        ("cleaning_checkpoint", {}, True),
        ("cleaning_checkpoint", {"now_ms": 99}, False),
        ("cleaning_checkpoint", {"last_cleaning": (5, 40)}, False),
        ("cleaning_checkpoint", {"last_cleaning": None}, False),
        ("cleaning_checkpoint", {"horizon_ms": None}, True),
        ("record_horizon", {}, True),
        ("record_horizon", {"now_ms": 99}, False),
        ("record_horizon", {"horizon_ms": None}, False),
        ("leo_gated", {}, True),
        ("leo_gated", GATED, False),
        ("leo_gated", {"now_ms": 99}, False),
        ("coordinated", {}, True),
        ("coordinated", GATED, False),
        ("coordinated", {"horizon_ms": None}, False),
        ("never", {}, False),
    ],
)
def test_a_removal_rule_on_both_sides_of_each_of_its_limits(
    rule: str, changes: dict[str, object], goes: bool
) -> None:
    assert TOMBSTONE_REMOVALS[rule].may_remove(circumstances(**changes)) is goes


@pytest.mark.parametrize("horizon_ms", [-5_000, 0, 2**62])
def test_a_record_carries_any_horizon_as_it_is_also_that_of_a_clock_before_1970(
    horizon_ms: int,
) -> None:
    assert record_horizon(with_record_horizon(record(0, "k", None), horizon_ms)) == horizon_ms

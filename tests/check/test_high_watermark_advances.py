"""How long a high watermark may stand still, and what disturbs that."""

import pytest

from sim.check import Checker
from sim.rules import Rules
from sim.trace import Event, FaultEnded, FaultInjected, LeaderElected
from tests.check.events import RULES, appended, batch, cluster, committed, copied

A, B = batch(0, "a"), batch(1, "b")


def stuck(*between: Event, last_ms: int = 10_002, rules: Rules = RULES) -> list[str]:
    """Both have offset 0 from 1 ms on; the leader appends again at `last_ms`, and commits not."""
    events: list[tuple[int, Event]] = [(0, event) for event in cluster("r1", "r2")]
    events += [(0, appended("r1", A)[0]), (1, copied("r2", "r1", 0, A))]
    events += [(1, appended("r1", B)[0])]
    events += [(5_000, event) for event in between]
    return checked_at([*events, (last_ms, appended("r1", batch(2, "c"))[0])], rules)


def checked_at(events: list[tuple[int, Event]], rules: Rules) -> list[str]:
    checker = Checker(rules, ["high-watermark-advances"])
    for at_ms, event in events:
        checker.on(at_ms, event)
    return [violation.sentence for violation in checker.violations]


def test_a_high_watermark_that_stands_still_for_ten_seconds_is_found() -> None:
    [sentence] = stuck()

    assert sentence == (
        "r1 has its high watermark at 0 for 10001 ms; every in-sync replica has its log up to 1."
    )
    assert stuck(last_ms=10_001) == []
    assert stuck(committed("r1", 1)) == []
    assert stuck(rules=RULES.with_values({"min_isr": 3})) == []


@pytest.mark.parametrize(
    "disturbance",
    [
        FaultInjected("r2", "partition", ""),
        FaultInjected("r2", "roll", ""),
        LeaderElected("r1", 2, 2, ("r1", "r2"), ("r1", "r2")),
    ],
)
def test_time_counts_from_the_last_disturbance_on(disturbance: Event) -> None:
    assert stuck(disturbance) == []


def test_a_fault_that_is_over_disturbs_no_more() -> None:
    events: list[tuple[int, Event]] = [(0, event) for event in cluster("r1", "r2")]
    events += [(0, appended("r1", A)[0]), (0, copied("r2", "r1", 0, A))]
    events += [(1, FaultInjected("r2", "partition", "")), (2, appended("r1", B)[0])]
    after = [(3, appended("r1", batch(2, "c"))[0]), (20_000, appended("r1", batch(3, "d"))[0])]

    assert checked_at([*events, *after], RULES) == []
    ended: list[tuple[int, Event]] = [(2, FaultEnded("r2", "partition"))]
    assert len(checked_at([*events, *ended, *after], RULES)) == 1

"""What could have been otherwise in a run, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.api.scenarios import Scenario
from sim.api.tables import frame
from sim.errors import BadInput
from sim.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation


def heals_table(scenario: Scenario, invariant: str, *, within_s: float | None) -> pd.DataFrame:
    """See `Run.heals`."""
    from sim.what_if.heals import heals

    content: Any = scenario.content
    told = heals(content, invariant, within_s=within_s)
    rows: list[tuple[str, str, str | None, str]]
    rows = [(one.change, one.kind, " ".join(one.still), "") for one in told.found]
    rows += [(one.change, one.kind, None, one.error) for one in told.failed]
    kinds = {"change": "string", "kind": "category", "still": "string", "error": "string"}
    return frame(rows, kinds)


def no_return_table(
    scenario: Scenario,
    recorded: Recorded,
    violation: Violation,
    *,
    tries: int,
    within_s: float | None,
) -> pd.DataFrame:
    """See `Run.no_return`.

    Raises:
        BadInput: It is a story.
    """
    if scenario.kind == "story":
        raise BadInput(
            f"{scenario.id}: a story has no chance in it, so no point of no return; ask .heals()"
        )
    from sim.what_if.no_return import point_of_no_return

    content: Any = scenario.content
    found = point_of_no_return(
        content, recorded.events, violation, mix=scenario.mix, tries=tries, within_s=within_s
    )
    rows = [
        (
            *(point.at_ms, point.violated, point.tries),
            point.violated / point.tries if point.tries else float("nan"),
            *(point.interval.low, point.interval.high),
            point.at_ms >= found.first.at_ms,
            point.sentence,
        )
        for point in found.points
    ]
    names = ("at_ms", "violated", "tries", "share", "low", "high", "sealed")
    return frame(rows, dict.fromkeys(names, "") | {"sentence": "string"})

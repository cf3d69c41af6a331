"""What could have been otherwise in a run, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.api.scenarios import Scenario
from sim.api.tables import check_pandas
from sim.errors import BadInput
from sim.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation


def heals_table(scenario: Scenario, invariant: str, *, within_s: float | None) -> pd.DataFrame:
    """See `Run.heals`."""
    check_pandas()
    import pandas as pd

    from sim.what_if.heals import heals

    content: Any = scenario.content
    told = heals(content, invariant, within_s=within_s)
    rows: list[tuple[str, str, str | None, str]]
    rows = [(one.change, one.kind, " ".join(one.still), "") for one in told.found]
    rows += [(one.change, one.kind, None, one.error) for one in told.failed]
    frame = pd.DataFrame(rows, columns=["change", "kind", "still", "error"])
    return frame.astype(
        {"change": "string", "kind": "category", "still": "string", "error": "string"}
    )


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
    check_pandas()
    import pandas as pd

    from sim.what_if.no_return import point_of_no_return

    content: Any = scenario.content
    found = point_of_no_return(
        content, recorded.events, violation, mix=scenario.mix, tries=tries, within_s=within_s
    )
    rows = [
        {
            "at_ms": point.at_ms,
            "violated": point.violated,
            "tries": point.tries,
            "share": point.violated / point.tries if point.tries else float("nan"),
            "low": point.interval.low,
            "high": point.interval.high,
            "sealed": point.at_ms >= found.first.at_ms,
            "sentence": point.sentence,
        }
        for point in found.points
    ]
    return pd.DataFrame(rows).astype({"sentence": "string"})

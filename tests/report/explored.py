"""The searches of `make explore`: their tables in `reports/explore.md`, and the data for reports.

`make explore` runs this module with the folder of the searches. The data are
`scenarios/explore/proven.json`, which grids of reports are made of (`sim.study.report.grid`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.files.foreign import json_text
from sim.files.formats import PROVEN_FORMAT
from sim.protocol.rules import Rules
from sim.study.explore.page import Row, as_answer, budgets_text, table_of, world_text
from sim.study.explore.plan import SearchPlan
from tests.commands import ROOT

BEGIN = "<!-- what follows is written by `make explore` -->"
PAGE = ROOT / "reports/explore.md"
PROVEN = ROOT / "scenarios/explore/proven.json"


def as_proven(documents: Mapping[str, Row]) -> dict[str, Any]:
    """The data that reports need of some searches, `format: replog-proven/2`.

    Comparisons of two rule sets are left out, and so is a plan with a disputed schedule.

    Args:
        documents: Name of a plan -> its `explored.json`.
    """
    plans = [
        _plan(name, one["plan"], [answer for answer in one["answers"] if "against" not in answer])
        for name, one in documents.items()
        if not any("disputed" in each for answer in one["answers"] for each in answer["witnesses"])
    ]
    return {"format": PROVEN_FORMAT, "plans": plans}


def _plan(name: str, written: Row, answers: list[Row]) -> dict[str, Any]:
    """A plan with its answers and its rules other than the defaults; `named`: rules it names."""
    named = {*written["rules"], *[rule for one in written["rule_sets"] for rule in one]}
    plan = SearchPlan.model_validate(written)
    rules = {label: rules.differing_from(Rules()) for label, rules in plan.searched()}
    first, *others = rules.values()
    common = {
        rule: value for rule, value in first.items() if all(o.get(rule) == value for o in others)
    }
    world = plan.world_of()
    return {
        "plan": name,
        "world": world_text(written),
        "bounds": budgets_text(written),
        "replicas": list(world.names),
        "isr": [world.names[one] for one in sorted(world.isr)],
        "clean": world.clean,
        "deletes": world.tombstones,
        "judged": plan.invariants,
        "named": sorted(named - {"preset"}),
        "rules": common,
        "own_rules": {
            label: {rule: value for rule, value in own.items() if rule not in common}
            for label, own in rules.items()
        },
        "answers": [as_answer(one) for one in answers],
    }


if __name__ == "__main__":
    found = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(Path(sys.argv[1]).glob("*/explored.json"))
    }
    before = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    tables = [table_of(one["plan"], one["answers"]) for one in found.values()]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(tables) + "\n", encoding="utf-8")
    PROVEN.write_text(json_text(as_proven(found), indent=1) + "\n", encoding="utf-8")

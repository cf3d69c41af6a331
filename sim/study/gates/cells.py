"""What is judged together: the runs of one rule set in one environment."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.study.gates.finding import Place, Seen
from sim.study.gates.wanted import ABOUT, ANY
from sim.study.report.shares import measure_of
from sim.study.report.sweep_folder import SweepFolder


class Cell(NamedTuple):
    """The runs of a rule set in an environment, and what `tallies.json` counted of them.

    Attributes:
        place: Which they are.
        entry: Their entry in the tallies.
        generate: What the cases of the environment are drawn from.
        rules: The value of every rule.
    """

    place: Place
    entry: dict[str, Any]
    generate: dict[str, Any]
    rules: dict[str, Any]

    def seen(self, name: str) -> Seen:
        """In how many judged runs `name` was violated."""
        counts = self.entry["counts"]
        judged = sum(counts["verdict"][one]["runs"] for one in ("holds", "violated"))
        counted = {ANY: ("verdict", "violated"), ABOUT: ("about", ANY)}
        measure, key = counted.get(name, (measure_of(name), name))
        found = counts[measure].get(key, {"runs": 0, "first_run": None})
        return Seen(min(found["runs"], judged), judged, found["first_run"])


def cells_of(folder: SweepFolder) -> list[Cell]:
    """All of them: per environment of the plan its rule sets."""
    environments = folder.plan["environments"]
    return [
        Cell(
            Place(entry["label"], environment["name"], alone=len(environments) == 1),
            entry,
            environment["generate"],
            rule_set["rules"],
        )
        for environment, tallies in zip(environments, folder.tallies["environments"], strict=True)
        for rule_set, entry in zip(folder.plan["rule_sets"], tallies["rule_sets"], strict=True)
    ]
